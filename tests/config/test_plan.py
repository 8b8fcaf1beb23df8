"""What `make run` plans before it starts anything, and what it tells when everything is up."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.utils import timezone

from config.env import InvalidEnvironment
from config.launcher import BROUGHT
from config.processes import free_port
from config.run import welcome
from config.run.places import Place, read_places, taken
from config.run.plan import Plan, is_database_kept, lost_keys, make_plan, with_sandbox
from notifications.services import keys
from tests import factories

VARIABLES = ("PORT", "HOST", "FLOWER_PORT", "SANDBOX_PORT")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


class TestPlaces:
    def test_are_the_usual_ones_unless_the_environment_says_otherwise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FLOWER_PORT", "5600")

        assert [place.url for place in read_places()] == [
            "http://127.0.0.1:8000",
            "http://127.0.0.1:5600",
            "http://127.0.0.1:8025",
        ]

    def test_that_listen_everywhere_are_called_on_the_loopback(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOST", "0.0.0.0")

        assert read_places()[0].url == "http://127.0.0.1:8000"

    @pytest.mark.parametrize("port", ["many", "0", "65536"])
    def test_must_have_a_port_that_exists(self, monkeypatch: pytest.MonkeyPatch, port: str) -> None:
        monkeypatch.setenv("SANDBOX_PORT", port)

        with pytest.raises(InvalidEnvironment, match="SANDBOX_PORT"):
            read_places()

    def test_that_are_free_are_no_complaint(self) -> None:
        assert taken([Place("web", "PORT", free_port(), "/")]) == []

    def test_that_are_taken_are_named_with_a_way_out_that_works(self, taken_port: int) -> None:
        (complaint,) = taken([Place("web", "PORT", taken_port, "/")])
        said, _, way_out = complaint.partition("PORT=")

        assert said == f"Port {taken_port} for web: address already in use; choose another one, "
        assert taken([Place("web", "PORT", int(way_out.split()[0]), "/")]) == []

    def test_of_the_sandbox_can_be_given_up(self, taken_port: int) -> None:
        (complaint,) = taken([Place("sandbox", "SANDBOX_PORT", taken_port, "/")])

        assert "make run ARGS=--no-sandbox" in complaint

    def test_cannot_be_shared(self) -> None:
        port = free_port()

        (complaint,) = taken([Place("web", "PORT", port, "/"), Place("flower", "FLOWER_PORT", port, "/")])

        assert complaint.startswith(f"Port {port} for flower: another part has it")


class TestPlan:
    def test_lets_providers_report_to_the_port_of_the_web_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PORT", "8123")

        assert make_plan({}).environment["PUBLIC_URL"] == "http://127.0.0.1:8123"
        assert make_plan({"PUBLIC_URL": "https://x.example"}).environment["PUBLIC_URL"] == "https://x.example"

    def test_gives_flower_a_new_login_unless_it_has_one(self) -> None:
        first, second = make_plan({}), make_plan({})
        given = make_plan({"FLOWER_BASIC_AUTH": "me:secret"})

        assert first.environment["FLOWER_BASIC_AUTH"] == first.new_flower_login != second.new_flower_login
        assert (given.environment["FLOWER_BASIC_AUTH"], given.new_flower_login) == ("me:secret", "")

    def test_refuses_to_lose_the_keys_of_a_database_that_stays(self) -> None:
        everything = "ADDRESS_KEY CELERY_BROKER_URL CREDENTIAL_KEYS DATABASE_URL SECRET_KEY"

        assert lost_keys({BROUGHT: everything}) == []
        assert lost_keys({BROUGHT: "CREDENTIAL_KEYS SECRET_KEY"}) == ["CREDENTIAL_KEYS"]
        assert lost_keys({}) == []

    def test_knows_whether_the_database_stays(self) -> None:
        assert is_database_kept({})
        assert not is_database_kept({BROUGHT: "DATABASE_URL"})


@pytest.mark.django_db
class TestSandbox:
    def test_is_started_where_there_is_no_provider_account(self) -> None:
        plan = with_sandbox(make_plan({}))

        assert plan.commands["sandbox"][-3:] == ["sandbox", "--port", "8025"]
        assert list(plan.listening) == ["web", "flower", "sandbox"]

    def test_is_started_where_it_plays_an_account(self) -> None:
        factories.account("real")
        factories.account("played", base_url="http://127.0.0.1:8025/twilio")

        assert "sandbox" in with_sandbox(make_plan({})).commands

    def test_is_started_where_there_are_endpoints_only(self) -> None:
        factories.endpoint("orders", "https://shop.example.org/hooks")

        assert "sandbox" in with_sandbox(make_plan({})).commands

    def test_is_left_out_where_all_accounts_are_real(self) -> None:
        factories.account("real")

        assert "sandbox" not in with_sandbox(make_plan({})).listening


@pytest.mark.django_db
class TestWelcome:
    def told(self, plan: Plan | None = None) -> dict[str, str]:
        lines = welcome.lines(plan or make_plan({}), is_database_kept=True)
        return {line[2:12].strip(): line[12:] for line in lines if line.startswith("  ")}

    def test_makes_a_superuser_and_a_key_that_work(self) -> None:
        told = self.told()

        password = told["Admin"].split("password ")[1].split()[0]
        user: Any = authenticate(username="admin", password=password)
        assert user.is_superuser
        key = keys.authenticate(told["API key"].split()[0], keys.Scope.SUBMIT, now=timezone.now())
        assert key.client.name == "example"
        assert set(key.scopes) == set(keys.Scope)

    def test_makes_neither_a_second_time(self) -> None:
        self.told()

        told = self.told()

        assert told["Admin"] == "http://127.0.0.1:8000/admin/  the logins it has"
        assert told["API key"] == "client example has one"
        assert '"Authorization: Bearer $KEY"' in welcome.lines(make_plan({}), is_database_kept=True)[-2]

    def test_touches_no_user_who_is_called_admin(self, django_user_model: Any) -> None:
        django_user_model.objects.create_user("admin", password="mine")

        assert "createsuperuser" in self.told()["Admin"]
        assert not django_user_model.objects.get().is_superuser

    def test_shows_no_flower_login_that_it_did_not_make(self) -> None:
        assert self.told(make_plan({"FLOWER_BASIC_AUTH": "me:secret"}))["Flower"].endswith("FLOWER_BASIC_AUTH")

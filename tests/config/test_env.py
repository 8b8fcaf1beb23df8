"""What is missing or wrong in the environment is said in one sentence, with every name and no value."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.env import Environment, InvalidEnvironment
from notifications.numbers import Numbers

PASSWORD = "k7Qz/41mX"

WRONG = {  # reader -> a value it does not take, and what it says
    "bool": ("perhaps", "THING is not a valid boolean"),
    "int": ("many", "THING is not a valid integer"),
    "float": ("nan", "THING is special numeric values"),
    "required": (" ", "THING is not set"),
    "words": ("", "THING is not set"),
    "database": (f"postgresql://landfall:{PASSWORD}@localhost/landfall", "THING must be like postgresql://"),
    "broker": (f"redis://:{PASSWORD}@localhost/0", "THING must be like redis://"),
    "level": ("LOUD", "THING must be one of DEBUG, "),
    "dsn": (PASSWORD, "THING must be like https://"),
    "networks": ("10.0.0.0/8, 10.0.0.1/8", "THING must be networks like 10.0.0.0/8"),
}


def sentence(*readers: str) -> str:
    """What is said after THING was read by these readers."""
    env = Environment()
    for reader in readers:
        getattr(env, reader)("THING")
    with pytest.raises(InvalidEnvironment) as raised:
        env.seal()
    return str(raised.value)


class TestWrong:
    @pytest.mark.parametrize(("reader", "value", "said"), [(name, *rest) for name, rest in WRONG.items()])
    def test_values_are_said_by_name_alone(self, monkeypatch, reader, value, said):
        monkeypatch.setenv("THING", value)

        sentence_ = sentence(reader)

        assert said in sentence_
        assert PASSWORD not in sentence_

    @pytest.mark.parametrize("url", ["sqlite:///landfall.db", "mysql://localhost/landfall", "localhost", "postgresql"])
    def test_databases_are_all_but_postgresql(self, monkeypatch, url):
        monkeypatch.setenv("THING", url)

        assert "must be like postgresql://" in sentence("database")

    def test_is_what_django_knows_too(self):
        assert issubclass(InvalidEnvironment, ImproperlyConfigured)


class TestMissing:
    def test_variables_are_named_together_with_a_way_out(self, monkeypatch):
        for name in ("ONE", "TWO", "THREE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("FOUR", "many")
        env = Environment()
        env.required("ONE"), env.words("TWO"), env.database("THREE"), env.int("FOUR", default=1)

        with pytest.raises(InvalidEnvironment) as raised:
            env.seal()

        assert str(raised.value) == (
            "Landfall cannot start: ONE, TWO and THREE are not set; FOUR is not a valid integer. "
            "`python manage.py doctor --example` prints a complete environment."
        )


class TestReaders:
    @pytest.mark.parametrize(
        ("text", "words"), [("a,b", ["a", "b"]), (" a , b ,", ["a", "b"]), ("a", ["a"]), ("", []), (",", [])]
    )
    def test_words_stand_between_commas(self, monkeypatch, text, words):
        monkeypatch.setenv("THING", text)

        assert Environment().words("THING", default=["x"]) == words

    def test_words_have_a_default(self, monkeypatch):
        monkeypatch.delenv("THING", raising=False)

        assert Environment().words("THING", default=["x", "y"]) == ["x", "y"]

    def test_networks_and_ports_stand_between_commas(self, monkeypatch):
        monkeypatch.setenv("NETWORKS", " 10.0.0.0/8,fd00::/8 ,")
        monkeypatch.setenv("PORTS", "443, 8080")
        env = Environment()

        assert env.networks("NETWORKS") == [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]
        assert env.ports("PORTS", default=[1]) == {443, 8080}
        assert (env.networks("NONE"), env.ports("NONE", default=[443])) == ([], {443})

    @pytest.mark.parametrize("ports", ["0", "65536", "https", "443,-1", "٤٤٣"])
    def test_ports_are_numbers(self, monkeypatch, ports):
        monkeypatch.setenv("PORTS", ports)
        env = Environment()
        env.ports("PORTS", default=[443])

        with pytest.raises(InvalidEnvironment, match="PORTS must be ports like 443,8443"):
            env.seal()

    def test_a_level_may_be_small(self, monkeypatch):
        monkeypatch.setenv("THING", "warning")

        assert Environment().level("THING") == "WARNING"

    @pytest.mark.parametrize("url", ["redis://:a%2Fb@h:6379/0", "redis://h:1;redis://h:2", "sentinel://h", "memory://"])
    def test_a_broker_may_be_any(self, monkeypatch, url):
        monkeypatch.setenv("THING", url)
        env = Environment()

        assert env.broker("THING") == url
        env.seal()

    def test_a_database_takes_escapes(self, monkeypatch):
        monkeypatch.setenv("THING", "postgresql://landfall:k7Qz%2F41mX@localhost:5433/landfall")
        env = Environment()

        database: dict[str, Any] = env.database("THING", conn_max_age=600)

        assert (database["PASSWORD"], database["PORT"], database["CONN_MAX_AGE"]) == (PASSWORD, 5433, 600)

    def test_numbers_keep_their_defaults(self, monkeypatch):
        monkeypatch.setenv("TRIES", "3")
        env = Environment()

        numbers = Numbers(**env.numbers())

        assert numbers.tries == 3
        assert numbers.batch_size == Numbers.batch_size
        env.seal()

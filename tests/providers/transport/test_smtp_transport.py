"""The transport for mails: what is told of every way in which a mail server can fail, and that no mail leaves twice."""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from providers.errors import NotStarted, OutcomeUnknown, ProviderError, Unavailable
from providers.messages import MailRequest, MailResponse, MailSecurity, MailStep
from providers.transport import smtp
from providers.transport.base import Answer, Call
from providers.transport.choice import make_transport
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from providers.transport.smtp import SmtpTransport
from tests.providers.transport.calls import post
from tests.providers.transport.certificates import for_loopback
from tests.providers.transport.mail_server import (
    BODY,
    END,
    FEATURES,
    GREETING,
    Turn,
    close,
    drip,
    features,
    hang,
    mail,
    mail_server,
    reset,
)
from tests.providers.transport.misbehaving import OK, answer, serve, silent_port

NOW = datetime(2027, 1, 15, 10, 0, tzinfo=UTC)
DATED = b"Date: Fri, 15 Jan 2027 10:00:00 +0000\r\n" + BODY
PATIENCE = 2.0  # seconds, where an answer is expected
BREAKS: dict[str, Turn] = {"closes": close, "resets": reset, "hangs": hang, "drips": drip, "says nonsense": b"hm\r\n"}


@pytest.fixture(scope="module")
def loopback(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    return for_loopback(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def transport(loopback: tuple[ssl.SSLContext, Path]) -> Iterator[SmtpTransport]:
    transport = SmtpTransport(concurrency=4, ca_file=str(loopback[1]), now=lambda: NOW)
    yield transport
    transport.close()


def hand_over(transport: Any, *requests: Any, seconds: float = PATIENCE, **call: Any) -> list[Any]:
    """Hand over mails. Returns what became of each, in order."""
    calls = [Call(number, request, seconds, **call) for number, request in enumerate(requests)]
    answers: list[Answer] = [answer for batch in send_many(transport, calls) for answer in batch]
    assert sorted(answer.key for answer in answers) == list(range(len(requests)))
    assert all(answer.seconds < seconds + 0.2 for answer in answers)
    return [answer.result for answer in sorted(answers, key=lambda answer: answer.key)]


def failure(transport: SmtpTransport, request: MailRequest, seconds: float = PATIENCE) -> ProviderError:
    [error] = hand_over(transport, request, seconds=seconds)
    assert isinstance(error, ProviderError), error
    assert "127.0.0.1" not in str(error)
    assert "ana@" not in str(error)
    return error


class TestTaken:
    def test_arrives_as_it_was_written_with_its_date(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, heard):
            [answer] = hand_over(transport, mail(server))

        assert answer == MailResponse(250, b"2.0.0 Ok: queued as 4BXyz", MailStep.END)
        [arrived] = heard.mails
        assert arrived == DATED.replace(b"\r\n.\r\n", b"\r\n..\r\n")  # RFC 5321, 4.5.2

    def test_no_text_begins_another_mail(self, transport: SmtpTransport) -> None:
        smuggled = b"Subject: x\r\n\r\n.\r\nMAIL FROM:<evil@evil.example>\r\n.\r\n..\r\n"
        with mail_server() as (server, heard):
            hand_over(transport, mail(server, body=smuggled))

        assert len(heard.mails) == 1
        assert heard.verbs() == [b"EHLO", b"MAIL", b"RCPT", b"DATA"]

    def test_says_who_and_how_much(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, heard):
            hand_over(transport, mail(server))

        ehlo, sender, recipient, _ = heard.commands
        assert ehlo.lower() == b"ehlo [127.0.0.1]"
        assert sender.lower() == b"mail from:<no-reply@example.com> size=%d" % len(DATED)
        assert recipient.lower() == b"rcpt to:<ana@example.org>"

    def test_will_be_forwarded(self, transport: SmtpTransport) -> None:
        with mail_server({"RCPT": b"251 2.1.5 Will forward\r\n"}) as (server, heard):
            [answer] = hand_over(transport, mail(server))

        assert (answer.status, len(heard.mails)) == (250, 1)

    def test_many_share_few_connections(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, heard):
            answers = hand_over(transport, *[mail(server)] * 20)

            assert server.connection_count <= 4
        assert [answer.status for answer in answers] == [250] * 20
        assert len(heard.mails) == 20


class TestSecurity:
    def test_starttls_then_sign_in(self, transport: SmtpTransport, loopback: tuple[ssl.SSLContext, Path]) -> None:
        offering = {"EHLO": features(*FEATURES[:-1], b"STARTTLS")}
        with mail_server(offering, starttls=loopback[0]) as (server, heard):
            [answer] = hand_over(transport, mail(server, MailSecurity.STARTTLS, username="u", password="p"))

        assert answer.status == 250
        assert heard.verbs() == [b"EHLO", b"STARTTLS", b"EHLO", b"AUTH", b"MAIL", b"RCPT", b"DATA"]

    def test_tls_from_the_first_byte(self, transport: SmtpTransport, loopback: tuple[ssl.SSLContext, Path]) -> None:
        with mail_server(tls=loopback[0]) as (server, heard):
            [answer] = hand_over(transport, mail(server, MailSecurity.TLS))

        assert (answer.status, len(heard.mails)) == (250, 1)

    def test_without_starttls_nothing_is_said(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, heard):
            [answer] = hand_over(transport, mail(server, MailSecurity.STARTTLS, username="u", password="p"))

        assert answer == MailResponse(0, step=MailStep.SECURITY, lacks="STARTTLS")
        assert heard.verbs() == [b"EHLO"]

    def test_a_certificate_of_nobody_we_trust(self, loopback: tuple[ssl.SSLContext, Path]) -> None:
        transport = SmtpTransport(concurrency=1)
        offering = {"EHLO": features(*FEATURES[:-1], b"STARTTLS")}
        with mail_server(offering, starttls=loopback[0]) as (server, heard):
            [error] = hand_over(transport, mail(server, MailSecurity.STARTTLS, username="u", password="p"))
        transport.close()

        assert type(error) is Unavailable
        assert str(error).startswith("securing the connection: SSLCertVerificationError")
        assert b"AUTH" not in heard.verbs()

    def test_what_was_sent_before_tls_does_not_count(
        self, transport: SmtpTransport, loopback: tuple[ssl.SSLContext, Path]
    ) -> None:
        """A man in the middle puts an answer behind the 220, to be read as the server's first one inside TLS."""
        with mail_server({"EHLO": features(b"x", b"STARTTLS"), "STARTTLS": b"220 Go\r\n250 Mine\r\n"}) as (
            server,
            heard,
        ):
            error = failure(transport, mail(server, MailSecurity.STARTTLS))

        assert type(error) is Unavailable
        assert heard.mails == []

    def test_no_way_to_sign_in(self, transport: SmtpTransport) -> None:
        with mail_server({"EHLO": features(b"x", b"AUTH GSSAPI")}, {"EHLO": features(b"x")}) as (server, _):
            answers = [hand_over(transport, mail(server, username="u", password="p"))[0] for _ in range(2)]

        assert answers == [MailResponse(0, step=MailStep.LOGIN, lacks="AUTH")] * 2


class TestMailUnicodeLocalPart:
    def test_travels_as_it_is(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, heard):
            [answer] = hand_over(transport, mail(server, recipient="jörg@example.com", needs_smtputf8=True))

        assert answer.status == 250
        assert heard.commands[1].endswith(b"SMTPUTF8 BODY=8BITMIME")
        assert "jörg@example.com".encode() in heard.commands[2]

    def test_without_smtputf8_nothing_is_asked(self, transport: SmtpTransport) -> None:
        with mail_server({"EHLO": features(b"mail.example.net", b"8BITMIME")}) as (server, heard):
            request = mail(server, recipient="jörg@example.com", needs_smtputf8=True)
            answers = hand_over(transport, request) + hand_over(transport, mail(server))

        assert answers[0] == MailResponse(0, step=MailStep.SENDER, lacks="SMTPUTF8")
        assert answers[1].status == 250  # and the connection is as good as before
        assert heard.verbs() == [b"EHLO", b"MAIL", b"RCPT", b"DATA"]


class TestRefused:
    @pytest.mark.parametrize(
        ("turn", "step"),
        [
            (GREETING, "greeting"),
            ("EHLO", "greeting"),
            ("AUTH", "login"),
            ("MAIL", "sender"),
            ("RCPT", "recipient"),
            ("DATA", "data"),
            (END, "end"),
        ],
    )
    def test_is_told_with_the_step(self, transport: SmtpTransport, turn: str, step: str) -> None:
        no = b"554-5.7.1 No,\r\n554 5.7.1 never\r\n"
        script = {turn: no, **({"HELO": no} if turn == "EHLO" else {})}
        with mail_server(script) as (server, _):
            [answer] = hand_over(transport, mail(server, username="u", password="p"))

        assert answer == MailResponse(554, b"5.7.1 No,\n5.7.1 never", MailStep(step))

    def test_the_next_mail_begins_anew_on_the_same_connection(self, transport: SmtpTransport) -> None:
        with mail_server({"RCPT": b"550 5.1.1 Unknown\r\n"}) as (server, heard):
            for _ in range(2):
                hand_over(transport, mail(server))

            assert server.connection_count == 1
        assert heard.verbs() == [b"EHLO", b"MAIL", b"RCPT", b"RSET", b"MAIL", b"RCPT"]


class TestBroken:
    """Until the last dot has left nothing can have been taken; from then on nobody knows."""

    @pytest.mark.parametrize("turn", [GREETING, "EHLO", "MAIL", "RCPT", "DATA"])
    @pytest.mark.parametrize("how", BREAKS)
    def test_before_the_end_is_not_sent(self, transport: SmtpTransport, turn: str, how: str) -> None:
        with mail_server({turn: BREAKS[how]}) as (server, heard):
            error = failure(transport, mail(server), seconds=0.1)

        assert type(error) is Unavailable
        assert heard.mails == []

    @pytest.mark.parametrize("how", BREAKS)
    def test_after_the_end_is_unclear(self, transport: SmtpTransport, how: str) -> None:
        with mail_server({END: BREAKS[how]}) as (server, heard):
            error = failure(transport, mail(server), seconds=0.5 if how in ("hangs", "drips") else PATIENCE)

        assert type(error) is OutcomeUnknown
        assert str(error).startswith("waiting for the answer: ")
        assert len(heard.mails) == 1

    def test_in_the_middle_of_the_mail_is_not_sent(self, transport: SmtpTransport) -> None:
        def read_a_little_and_reset(peer: Any) -> None:
            peer.send(b"354 Go on\r\n")
            peer.connection.recv(1)
            reset(peer)

        with mail_server({"DATA": read_a_little_and_reset}) as (server, heard):
            error = failure(transport, mail(server, body=b"X: y\r\n\r\n" + b"x" * 70 * 200_000))

        assert type(error) is Unavailable
        assert heard.mails == []

    def test_refused_port(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, _):
            request = mail(server)
        time.sleep(0.02)

        assert str(failure(transport, request)) == "connecting: ECONNREFUSED"

    def test_port_that_does_not_answer(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, _), silent_port() as port:
            server.port = port

            assert str(failure(transport, mail(server), seconds=0.1)) == "connecting: the deadline passed"

    def test_an_answer_without_end(self, transport: SmtpTransport) -> None:
        def talk(peer: Any) -> None:
            while True:
                peer.send(b"250-x\r\n" * 10_000)

        with mail_server({END: talk}) as (server, _):
            [error] = hand_over(transport, mail(server))

        assert type(error) is OutcomeUnknown
        assert str(error) == "waiting for the answer: the answer is too long"

    def test_too_late_to_begin(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, heard):
            [error] = hand_over(transport, mail(server), start_by=time.monotonic() - 1)

        assert type(error) is NotStarted
        assert heard.commands == []


class TestKeptConnection:
    @pytest.mark.parametrize("how", ["closes", "resets", "says nonsense"])
    @pytest.mark.parametrize("turn", ["MAIL", "RCPT"])
    def test_that_fails_before_the_end_is_replaced_once(self, transport: SmtpTransport, turn: str, how: str) -> None:
        count = 0

        def the_second_time(peer: Any) -> None:
            nonlocal count
            count += 1
            if count == 1:
                peer.send(b"250 Ok\r\n")
            elif isinstance(broken := BREAKS[how], bytes):
                peer.send(broken)
            else:
                broken(peer)

        with mail_server({turn: the_second_time}, {}) as (server, heard):
            first, second = (hand_over(transport, mail(server))[0] for _ in range(2))

            assert server.connection_count == 2
        assert (first.status, second.status, len(heard.mails)) == (250, 250, 2)

    def test_whose_server_said_goodbye_meanwhile_is_replaced(self, transport: SmtpTransport) -> None:
        count = 0

        def idle_too_long(peer: Any) -> None:
            nonlocal count
            count += 1
            peer.send(b"250 Ok\r\n" if count == 1 else b"421 4.4.2 Idle too long\r\n")

        with mail_server({"MAIL": idle_too_long}, {}) as (server, heard):
            answers = [hand_over(transport, mail(server))[0].status for _ in range(2)]

            assert server.connection_count == 2
        assert (answers, len(heard.mails)) == ([250, 250], 2)

    def test_that_fails_after_the_end_is_not_tried_again(self, transport: SmtpTransport) -> None:
        count = 0

        def lost(peer: Any) -> None:
            nonlocal count
            count += 1
            if count == 2:
                raise OSError("closes")
            peer.send(b"250 Ok\r\n")

        with mail_server({END: lost}) as (server, heard):
            first, second = (hand_over(transport, mail(server))[0] for _ in range(2))

        assert (first.status, type(second)) == (250, OutcomeUnknown)
        assert len(heard.mails) == 2

    def test_a_fresh_one_that_fails_is_not_replaced(self, transport: SmtpTransport) -> None:
        with mail_server({"MAIL": close}) as (server, _):
            error = failure(transport, mail(server))

            assert server.connection_count == 1
        assert type(error) is Unavailable

    def test_of_another_user_is_not_his(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, heard):
            for name in ("u", "v"):
                hand_over(transport, mail(server, username=name, password="p"))

            assert server.connection_count == 2
        assert heard.verbs().count(b"AUTH") == 2

    def test_is_left_before_its_server_closes_it(self, loopback: tuple[ssl.SSLContext, Path]) -> None:
        ahead = 0.0
        transport = SmtpTransport(concurrency=1, monotonic=lambda: time.monotonic() + ahead)
        with mail_server() as (server, _):
            hand_over(transport, mail(server))
            ahead = smtp.IDLE_SECONDS
            hand_over(transport, mail(server), seconds=5)

            assert server.connection_count == 2
        transport.close()

    def test_carries_no_more_than_servers_allow(
        self, transport: SmtpTransport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(smtp, "MAILS_PER_CONNECTION", 2)
        with mail_server() as (server, _):
            for _ in range(4):
                hand_over(transport, mail(server))

            assert server.connection_count == 2

    def test_is_cut_by_no_deadline_of_an_earlier_mail(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, heard):
            hand_over(transport, mail(server), seconds=0.15)
            time.sleep(0.15)
            [answer] = hand_over(transport, mail(server))

            assert server.connection_count == 1
        assert (answer.status, len(heard.mails)) == (250, 2)

    def test_ends_with_a_goodbye(self) -> None:
        transport = SmtpTransport(concurrency=1)
        with mail_server() as (server, heard):
            hand_over(transport, mail(server))
            transport.close()
            deadline = time.monotonic() + 2
            while b"QUIT" not in heard.verbs() and time.monotonic() < deadline:
                time.sleep(0.005)

            assert heard.verbs()[-1] == b"QUIT"

    def test_a_child_process_has_its_own(self, transport: SmtpTransport) -> None:
        with mail_server() as (server, heard):
            hand_over(transport, mail(server))
            ours, theirs = socket.socketpair()
            if not (pid := os.fork()):
                [result] = hand_over(transport, mail(server))
                theirs.sendall(str(getattr(result, "status", result)).encode())
                os._exit(0)
            with ours, theirs:
                assert ours.recv(100) == b"250"
            os.waitpid(pid, 0)
            [again] = hand_over(transport, mail(server))

            assert server.connection_count == 2
        assert (again.status, len(heard.mails)) == (250, 3)


class TestBoth:
    def test_calls_and_mails_go_in_one_batch(self) -> None:
        transport = make_transport("requests", 4)
        with mail_server() as (mails, heard), serve(answer(OK)) as web:
            results = hand_over(transport, post(web.url()), mail(mails), post(web.url()), mail(mails))
        transport.close()

        assert [result.status for result in results] == [200, 250, 200, 250]
        assert len(heard.mails) == 2

    def test_a_slow_mail_server_keeps_no_call_waiting(self) -> None:
        transport = make_transport("requests", 4)
        with mail_server({END: hang}) as (mails, _), serve(answer(OK)) as web:
            calls = [Call("mail", mail(mails), 0.3), Call("call", post(web.url()), 0.3)]
            keys = [answer.key for batch in send_many(transport, calls, flush_seconds=0.01) for answer in batch]
        transport.close()

        assert keys == ["call", "mail"]

    def test_calls_alone_need_no_transport_for_mails(self) -> None:
        transport = make_transport("requests", 2)
        with serve(answer(OK)) as web:
            [result] = hand_over(transport, post(web.url()))

        assert (result.status, transport._made) == (200, {})
        assert isinstance(transport.http, RequestsTransport)
        transport.close()

"""Curl's handles, made to let a request leave once and to tell whether it has."""

from __future__ import annotations

import errno
import math
import re
import socket
from typing import Any

import pycurl  # type: ignore[import-untyped]

from providers.errors import AddressForbidden, OutcomeUnknown, Unavailable
from providers.messages import HttpRequest, HttpResponse
from providers.transport.answers import header_lines, read_answer, read_beginning
from providers.transport.base import ANSWER_LIMIT_BYTES, Answer, Call
from providers.transport.flights import BadAnswer
from providers.transport.foreign import FOREIGN_ANSWER_BYTES, ForeignRules
from providers.transport.wires import Wire, Wires

# Of several names for a number the first counts; numbers of the multi interface mean something else.
ERRORS = {
    getattr(pycurl, name): name[2:]
    for name in sorted(dir(pycurl), reverse=True)
    if name.startswith("E_") and "MULTI" not in name
}

_refusal = re.compile(rb"HTTP/2 stream \d+ refused by server")


class Handle:
    """One call at a time, from `begin` to `end`. `wires` is shared by all handles; `rules` are for foreign requests."""

    def __init__(self, ca_file: str, wires: Wires, rules: ForeignRules) -> None:
        self.curl = pycurl.Curl()
        self._wires = wires
        self._rules = rules
        self._is_guarded = False  # curl asks before it opens a connection
        self._original: socket.socket | None = None  # opened by ourselves
        self._fault = ""  # why an address may not be called; the last of them
        self._limit = ANSWER_LIMIT_BYTES  # of the answer's body
        self._wire: Wire | None = None
        self._opened: list[int] = []  # descriptors, for this call
        self._call: Call
        self._last: HttpRequest | None = None  # what curl's options for a request say
        self._began_at = 0.0
        self._has_left = False  # bytes of the request may have left this machine
        self._is_dead = False
        self._is_too_long = False
        self._is_stray = False  # the answer is: it was there before the request
        self._head: list[bytes] = []
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._bytes_before = 0  # received on this connection before the request left, 0 if not counted
        self._set_up(ca_file)

    def _set_up(self, ca_file: str) -> None:
        options = {
            pycurl.NOSIGNAL: 1,
            pycurl.PROXY: "",  # none from the environment either
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.FOLLOWLOCATION: 0,
            pycurl.PATH_AS_IS: 1,
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_2TLS,
            pycurl.SSLVERSION: pycurl.SSLVERSION_TLSv1_2,
            pycurl.CAINFO: ca_file,
            pycurl.USERAGENT: "Landfall",
            pycurl.SOCKOPTFUNCTION: self._before_connecting,
            pycurl.PREREQFUNCTION: self._before_sending,
            pycurl.DEBUGFUNCTION: self._overhear,
            pycurl.HEADERFUNCTION: self._take_line,
            pycurl.WRITEFUNCTION: self._take,
        }
        for option, value in options.items():
            self.curl.setopt(option, value)
        self.curl.unsetopt(pycurl.CAPATH)  # whom else a build of curl may trust

    def begin(self, call: Call, now: float) -> None:
        """Make ready for a call. Raises ValueError or pycurl.error if the request cannot be written."""
        self._forget_answer()
        self._call, self._began_at, self._fault = call, now, ""
        if call.request.is_foreign is not self._is_guarded:
            self._guard(call.request.is_foreign)
        self._has_left = self._is_too_long = self._is_stray = self._is_dead = False
        self._opened.clear()
        self._write(call.request)
        self.curl.setopt(pycurl.FRESH_CONNECT, 0)
        self._set_deadline(call.deadline_seconds)

    def begin_again(self, now: float) -> bool:
        """Make ready for the same call on a new connection, if the old one proved dead before anything was sent."""
        if not self._is_dead:
            return False
        self._is_dead = False
        self.curl.setopt(pycurl.FRESH_CONNECT, 1)
        self._set_deadline(self._call.deadline_seconds - (now - self._began_at))
        return True

    def end(self, code: int, now: float) -> Answer:
        """Say what became of the call. `code` is curl's."""
        result: HttpResponse | Unavailable | AddressForbidden | OutcomeUnknown
        try:
            result = self._result(code)
        except BaseException as error:  # whatever it is, the call is answered
            result = self._breakdown(error)
        self._forget_answer()
        return Answer(self._call.key, result, now - self._began_at)

    def give_up(self, error: BaseException, now: float) -> Answer:
        """Answer a call that an exception elsewhere put an end to."""
        return Answer(self._call.key, self._breakdown(error), now - self._began_at)

    def _result(self, code: int) -> HttpResponse | Unavailable | AddressForbidden | OutcomeUnknown:
        if self._fault and not self._opened and not self._has_left:
            return AddressForbidden(self._fault)
        if self._is_guarded and (not code or self._is_too_long):
            return read_beginning(self._head, self._body)
        return self._failure(code) if code else read_answer(self._head, self._body, self._call.request.method)

    def _guard(self, is_foreign: bool) -> None:
        self._is_guarded = is_foreign
        self._limit = FOREIGN_ANSWER_BYTES if is_foreign else ANSWER_LIMIT_BYTES
        self.curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket if is_foreign else None)

    def _write(self, request: HttpRequest) -> None:
        if not request.url.lower().startswith(("http://", "https://")):
            raise ValueError("no address")  # curl would guess
        set_option = self.curl.setopt
        last, self._last = self._last, None  # set again when all of this one is
        is_new = last is None or (last.url, last.method) != (request.url, request.method)
        if is_new:
            set_option(pycurl.URL, request.url)
        if request.body or request.method == "POST":
            set_option(pycurl.POSTFIELDS, request.body)  # and makes it a POST
        elif is_new or (last is not None and last.body):
            set_option(pycurl.HTTPGET, 1)
        if is_new:
            set_option(pycurl.NOBODY, request.method == "HEAD")
            set_option(pycurl.CUSTOMREQUEST, request.method)
        if last is None or last.headers != request.headers:
            set_option(pycurl.HTTPHEADER, header_lines(request.headers))
        set_option(pycurl.VERBOSE, request.url[4] in "sS" and _origin(request.url) in self._wires.http2_origins)
        self._last = request

    def _set_deadline(self, seconds: float) -> None:
        self.curl.setopt(pycurl.TIMEOUT_MS, max(math.ceil(seconds * 1000), 1))  # 0 would mean for ever

    # A foreign request is checked where curl connects, so that no other look-up, reader of URLs or redirect comes between;
    # and before it leaves, since a kept connection may be another call's, which was free to go there.

    def _open_socket(self, purpose: int, address: Any) -> Any:
        fault = self._rules.address_fault(*address.addr[:2])
        if fault:
            self._fault = fault
            return pycurl.SOCKET_BAD
        self._original = socket.socket(address.family, address.socktype, address.protocol)
        return self._original

    # On its own curl sends a request again, up to five times, when a kept-alive connection dies before a byte of the
    # answer came. The server may have read it, so both callbacks refuse what would come after the first time.

    def _before_connecting(self, descriptor: int, *_: object) -> int:
        self._opened.append(descriptor)
        if self._original is not None:
            self._original.close()  # pycurl has made a duplicate
            self._original = None
        return int(pycurl.SOCKOPT_ERROR if self._has_left else pycurl.SOCKOPT_OK)

    def _before_sending(self, *ends: Any) -> int:
        """Called on every connection, new or kept, when the next thing is the request's first byte."""
        if self._is_guarded and (fault := self._rules.address_fault(ends[0], ends[2])):
            self._fault = fault
            return int(pycurl.PREREQFUNC_ABORT)
        if not self._has_left:
            self._wire = self._wires.add(self._opened, ends) if self._opened else self._wires.find(ends)
            self._is_dead = not self._opened and self._wire is not None and self._wire.is_unfit()
            self._bytes_before = self._count_bytes()
        if self._has_left or self._is_dead:
            return int(pycurl.PREREQFUNC_ABORT)
        self._has_left = True
        return int(pycurl.PREREQFUNC_OK)

    def _overhear(self, kind: int, text: bytes) -> None:
        """Let curl send again what an HTTP/2 server promises not to have processed, as it does with what comes after its GOAWAY.

        Only what curl tells says so. It is asked to where HTTP/2 is spoken: its talk costs 6 us or more of a call's 50.
        """
        if kind == pycurl.INFOTYPE_TEXT and _refusal.match(text):
            self._has_left = False
            self._opened.clear()

    def _count_bytes(self) -> int:
        is_worth_it = self._wire is not None and self._wire.speaks_http1 and self._call.request.url[4] in "sS"
        return self._wire.bytes_received() if is_worth_it and self._wire else 0

    def _take_line(self, line: bytes) -> int:
        # Over TLS curl reads ahead, where nothing sees it, and takes what it finds there for this call's answer.
        if not self._head and self._bytes_before and self._count_bytes() == self._bytes_before:
            self._is_stray = True
            return -1
        self._head.append(line)
        return len(line)

    def _take(self, data: bytes) -> int:
        self._body_bytes += len(data)
        self._body.append(data)
        if self._body_bytes > self._limit:
            self._is_too_long = True
            return -1
        return len(data)

    def _forget_answer(self) -> None:
        if self._wire is not None and self._head:
            self._wire.speaks_http1 = self._head[0].startswith(b"HTTP/1.")
            if not self._wire.speaks_http1:
                self._wires.http2_origins.add(_origin(self._call.request.url))
        self._head.clear()
        self._body.clear()
        self._body_bytes = 0

    def _breakdown(self, error: BaseException) -> Unavailable | OutcomeUnknown:
        reason = str(error) if isinstance(error, BadAnswer) else type(error).__name__
        return (OutcomeUnknown if self._has_left else Unavailable)(f"{self._step()}: {reason}")

    def _failure(self, code: int) -> Unavailable | OutcomeUnknown:
        return (OutcomeUnknown if self._has_left else Unavailable)(f"{self._step(code)}: {self._reason(code)}")

    def _reason(self, code: int) -> str:
        """Name what went wrong. Curl's own texts hold addresses."""
        if code == pycurl.E_OPERATION_TIMEDOUT:
            return "the deadline passed"
        if self._is_too_long:
            return "the answer is too long"
        if self._is_stray:
            return "another answer came first"
        if self._has_left and code in (pycurl.E_ABORTED_BY_CALLBACK, pycurl.E_COULDNT_CONNECT):
            return "the connection was lost"  # and a second one refused
        if code == pycurl.E_COULDNT_CONNECT:
            return errno.errorcode.get(self.curl.getinfo(pycurl.OS_ERRNO), "COULDNT_CONNECT")
        return ERRORS.get(code, str(code))

    def _step(self, code: int = 0) -> str:
        if self._has_left:
            return "reading the answer" if self._head else "waiting for the answer"
        if code in (pycurl.E_OK, pycurl.E_URL_MALFORMAT, pycurl.E_UNSUPPORTED_PROTOCOL):
            return "writing the request"
        if not self.curl.getinfo(pycurl.NAMELOOKUP_TIME):
            return "looking up the name"
        return "securing the connection" if self.curl.getinfo(pycurl.CONNECT_TIME) else "connecting"


def _origin(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])

# SPDX-License-Identifier: Apache-2.0
"""Serves the pages of a folder to the browsers of one person.

The standard library's server is enough: it serves the loopback interface, pages without any script. What it must refuse
(other methods, other hosts, other files, whoever has no token) is said here in full, which no framework would shorten.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import sys
import threading
import traceback
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from steelyard.errors import SteelyardError
from steelyard.keep.folder import Complain
from steelyard.lab.browser import Browser, NotThereError
from steelyard.show import ui as pages

#: Nothing is loaded but the one style and the icon, nothing is executed, no page is framed or sent anywhere else.
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: The report brings its own policy, which allows its script by its hash; this only adds to it.
_REPORT_POLICY = "connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: Connections that are served at once, and those that wait; of more the kernel lets the clients try again.
_MOST_CONNECTIONS = 64
_MOST_WAITING = 1024
#: A client has this long to send its request and to take each part of the answer.
PATIENCE_S = 10.0
#: What `--token` takes for a server that asks for none.
NO_TOKEN = "none"  # noqa: S105 - a word, and no secret


class Server(ThreadingHTTPServer):
    """A server of a folder on the loopback interface, not yet serving.

    ``token``: what a browser must bring to be let in; drawn when None, and none is asked for with NO_TOKEN.
    """

    daemon_threads = True
    request_queue_size = _MOST_WAITING

    def __init__(self, folder: Path, port: int = 0, token: str | None = None, *, complain: Complain) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self._complain = complain
        self.site = Browser(folder, complain)
        self.token = None if token == NO_TOKEN else token or secrets.token_urlsafe(24)
        self.address = f"http://127.0.0.1:{self.server_port}/"
        # A browser sends its cookies to every port of a host.
        self.cookie = f"steelyard-{self.server_port}"
        self._places = threading.BoundedSemaphore(_MOST_CONNECTIONS)

    @property
    def entrance(self) -> str:
        """The address by which a person comes in."""
        return self.address if self.token is None else f"{self.address}?{urlencode({'token': self.token})}"

    def lets_in(self, token: str | None) -> bool:
        """Whether this is the token."""
        return self.token is None or (token is not None and hmac.compare_digest(token.encode(), self.token.encode()))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin to serve a connection when there is a place for it."""
        self._places.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and give its place to the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Say what went wrong in this program; a client that went away is not an error."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            where = traceback.extract_tb(sys.exc_info()[2])[-1]
            self._complain(f"a page, by a defect of Steelyard: {error!r} at {where.filename}:{where.lineno}")


class _Handler(BaseHTTPRequestHandler):
    """One request on one connection. Only GET and HEAD, and only by a name of the loopback interface."""

    server: Server
    server_version = "steelyard"
    sys_version = ""
    # Connections are not kept: one that waits would hold a place.
    protocol_version = "HTTP/1.0"
    # What a request is taken for that says no version, or none that is one: it gets headers as well.
    default_request_version = "HTTP/1.0"
    timeout = PATIENCE_S

    def handle(self) -> None:
        """Read the request in the time that it has altogether, and answer it."""
        self._too_slow = threading.Timer(PATIENCE_S, self._give_up)
        self._too_slow.daemon = True
        self._too_slow.start()
        try:
            super().handle()
        finally:
            self._too_slow.cancel()

    def _give_up(self) -> None:
        try:
            self.connection.shutdown(socket.SHUT_RD)
        except OSError:
            return

    def parse_request(self) -> bool:
        """Read the head of the request; whatever it is, it is answered."""
        try:
            read = super().parse_request()
        except ValueError as error:
            self.send_error(HTTPStatus.BAD_REQUEST, explain=str(error))
            read = False
        self._too_slow.cancel()
        return read

    def do_GET(self) -> None:
        """Answer with a page."""
        try:
            self._answer()
        except NotThereError as error:
            self._refuse(HTTPStatus.NOT_FOUND, str(error))
        except (SteelyardError, ValueError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # a page that fails is answered, whatever it is
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"A defect of Steelyard: {type(error).__name__}: {error}")
            raise

    do_HEAD = do_GET  # noqa: N815 - the name that the library looks for

    def _answer(self) -> None:
        server = self.server
        # A page of another site may point its own name at this address; the browser then sends that name.
        if self.headers.get("Host") not in (f"127.0.0.1:{server.server_port}", f"localhost:{server.server_port}"):
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, f"Use the address {server.address}.")
            return
        address = urlsplit(self.path)
        asked = parse_qs(address.query, max_num_fields=20)
        if address.path == "/style.css":
            self._send(HTTPStatus.OK, pages.style(), kind="text/css")
        elif address.path == "/icon.svg":
            self._send(HTTPStatus.OK, pages.ICON, kind="image/svg+xml")
        elif "token" in asked and server.lets_in(asked["token"][0]):
            # The token moves from the address, which histories and screens show, into a cookie.
            left = urlencode({name: values for name, values in asked.items() if name != "token"}, doseq=True)
            cookie = f"{server.cookie}={server.token or NO_TOKEN}; Path=/; HttpOnly; SameSite=Strict"
            there = {"Location": f"/{address.path.lstrip('/')}{'?' * bool(left)}{left}", "Set-Cookie": cookie}
            self._send(HTTPStatus.SEE_OTHER, "", **there)
        elif not server.lets_in(self._cookie()):
            self._refuse(HTTPStatus.FORBIDDEN, "Open the address that `steelyard ui` printed: it has a token in it.")
        elif address.path not in server.site.routes:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such page.")
        else:
            page = server.site.page(address.path, asked)
            self._send(HTTPStatus.OK, page, policy=_REPORT_POLICY if address.path == "/report" else _POLICY)

    def _cookie(self) -> str | None:
        try:
            sent = SimpleCookie(self.headers.get("Cookie", ""))
        except CookieError:
            return None
        return sent[self.server.cookie].value if self.server.cookie in sent else None

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        self._send(status, pages.message(status.phrase, sentence))

    def _send(
        self, status: HTTPStatus, text: str, *, kind: str = "text/html", policy: str = _POLICY, **headers: str
    ) -> None:
        contents = text.encode(errors="replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(contents)))
        self.send_header("Content-Security-Policy", policy)
        for name, value in (_HEADERS | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(contents)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what the library refuses (an unreadable request, an unknown method) like every other refusal."""
        self._refuse(HTTPStatus(code), explain or message or HTTPStatus(code).description)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of each request: what matters is on the page."""

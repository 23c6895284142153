# SPDX-License-Identifier: Apache-2.0
"""The sessions of a folder in the browser.

The standard library's server is enough: it serves one person, on the loopback interface, pages without any script. What
it must refuse (other methods, other hosts, other files) is said here in full, which no framework would shorten.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from steelyard.errors import SteelyardError, UsageError
from steelyard.judge import comparisons, rules
from steelyard.judge.findings import judge
from steelyard.judge.report import report
from steelyard.keep import folder as folders
from steelyard.keep.folder import Complain
from steelyard.keep.session import read
from steelyard.lab import studies
from steelyard.lab.many import history_of
from steelyard.show import html
from steelyard.show import ui as pages

_MARGIN = 0.02
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


def make_server(folder: Path, port: int = 0, complain: Complain = print) -> ThreadingHTTPServer:
    """A server of this folder on the loopback interface, not yet serving."""
    browser = Browser(folder, complain)

    class Handler(_Handler):
        site = browser

    server = _Server(("127.0.0.1", port), Handler)
    Handler.server_port = server.server_port
    return server


class _Server(ThreadingHTTPServer):
    """A server that a browser which closes its window does not disturb."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong in here; that the other side went away is nothing wrong."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _NotThereError(Exception):
    """What was asked for is not in the folder."""


class Browser:
    """The pages of one folder. What a page may show is what `find` lists: no path comes from a request."""

    def __init__(self, folder: Path, complain: Complain) -> None:
        self._folder, self._complain = folder, complain
        self._known: dict[tuple[Path, int, int], folders.Overview | str] = {}
        # One request at a time: two pages of one person never compete for the machine.
        self._lock = threading.Lock()
        self.routes: Mapping[str, Callable[[Mapping[str, list[str]]], str]] = {
            "/": self._list,
            "/session": self._session,
            "/compare": self._compare,
            "/history": self._history,
            "/report": self._report,
        }

    def page(self, path: str, asked: Mapping[str, list[str]]) -> str:
        """The page of this path; raises KeyError for no page, SteelyardError with a sentence for one that can't be."""
        with self._lock:
            return self.routes[path](asked)

    def _paths(self) -> dict[str, Path]:
        """The session files by their names in the folder."""
        return {str(path.relative_to(self._folder)): path for path in folders.find([self._folder])}

    def _overviews(self) -> tuple[list[pages.Listed], list[str]]:
        """The sessions, newest first, and a sentence for each file that can't be used."""
        found, unusable = [], []
        known: dict[tuple[Path, int, int], folders.Overview | str] = {}
        for name, path in self._paths().items():
            try:
                state = path.stat()
            except OSError:
                continue
            key = (path, state.st_size, state.st_mtime_ns)
            look = self._known.get(key)
            if look is None:
                try:
                    look = folders.overview(path)
                except SteelyardError as error:
                    look = str(error)
            known[key] = look
            if isinstance(look, str):
                unusable.append(look)
            else:
                blocks = look.end.blocks if look.end else None
                found.append(pages.Listed(name=name, header=look.header, blocks=blocks))
        self._known = known
        return sorted(found, key=lambda one: (one.header.started, one.name), reverse=True), unusable

    def _cases(self) -> list[str]:
        found, _ = self._overviews()
        return sorted({case.name for one in found for case in one.header.selection})

    def _list(self, asked: Mapping[str, list[str]]) -> str:
        words = " ".join(asked.get("words", []))
        found, unusable = self._overviews()
        left = [one for one in found if one.matches(words)]
        return pages.sessions(left, words, len(found), str(self._folder), unusable)

    def _chosen(self, asked: Mapping[str, list[str]], counts: Sequence[int], sentence: str) -> list[tuple[str, Path]]:
        names = list(dict.fromkeys(asked.get("session", [])))
        if len(names) not in counts:
            raise UsageError(sentence)
        paths = self._paths()
        if missing := [name for name in names if name not in paths]:
            raise _NotThereError(f"There is no session {missing[0]} in {self._folder}.")
        return [(name, paths[name]) for name in names]

    def _session(self, asked: Mapping[str, list[str]]) -> str:
        [(name, path)] = self._chosen(asked, (1,), "Choose one session from the list.")
        return pages.session(name, judge(read(path), studies.library()))

    def _compare(self, asked: Mapping[str, list[str]]) -> str:
        chosen = self._chosen(asked, (2,), "Pick two sessions in the list, not fewer and not more.")
        both = sorted(((name, read(path)) for name, path in chosen), key=lambda one: one[1].header.started)
        found = comparisons.compare_sessions(both[0][1], both[1][1], margin=_MARGIN)
        return pages.compared((both[0][0], both[1][0]), found)

    def _history(self, asked: Mapping[str, list[str]]) -> str:
        text = " ".join(asked.get("case", [])).strip()
        cases = self._cases()
        if not text:
            return pages.ask_history(cases)
        paths = self._paths()
        try:
            found = history_of(text, list(paths.values()), _MARGIN, self._complain)
        except SteelyardError as error:
            return pages.ask_history(cases, text, str(error))
        return pages.case_history(found, cases, {str(path): name for name, path in paths.items()})

    def _report(self, asked: Mapping[str, list[str]]) -> str:
        chosen = self._chosen(asked, (1, 2), "Choose one session from the list, or two.")
        sessions = sorted((read(path) for _, path in chosen), key=lambda session: session.header.started)
        made = report(sessions, margin=_MARGIN, library=studies.library())
        return html.page(made, rules.check(made))


class _Handler(BaseHTTPRequestHandler):
    """One request. Only GET and HEAD, and only by a name of the loopback interface."""

    site: Browser
    server_port: int
    server_version = "steelyard"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Answer with a page."""
        status, kind, text, policy = self._answer()
        contents = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(contents)))
        self.send_header("Content-Security-Policy", policy)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(contents)

    do_HEAD = do_GET  # noqa: N815 - the name that the library looks for

    def _answer(self) -> tuple[HTTPStatus, str, str, str]:
        """Status, kind, contents and policy."""
        # A page of another site may point its own name at this address; the browser then sends that name.
        port = self.server_port
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return self._refusal(HTTPStatus.MISDIRECTED_REQUEST, f"Use the address http://127.0.0.1:{port}/.")
        address = urlsplit(self.path)
        if address.path == "/style.css":
            return HTTPStatus.OK, "text/css", pages.style(), _POLICY
        if address.path == "/icon.svg":
            return HTTPStatus.OK, "image/svg+xml", pages.ICON, _POLICY
        if address.path not in self.site.routes:
            return self._refusal(HTTPStatus.NOT_FOUND, "There is no such page.")
        try:
            page = self.site.page(address.path, parse_qs(address.query, max_num_fields=20))
        except _NotThereError as error:
            return self._refusal(HTTPStatus.NOT_FOUND, str(error))
        except (SteelyardError, ValueError) as error:
            return self._refusal(HTTPStatus.BAD_REQUEST, str(error))
        return HTTPStatus.OK, "text/html", page, _REPORT_POLICY if address.path == "/report" else _POLICY

    def _refusal(self, status: HTTPStatus, sentence: str) -> tuple[HTTPStatus, str, str, str]:
        return status, "text/html", pages.message(status.phrase, sentence), _POLICY

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of each request: what matters is on the page."""

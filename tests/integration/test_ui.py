# SPDX-License-Identifier: Apache-2.0
"""`steelyard ui` over HTTP and in a browser: what it serves and refuses, and that nothing of a file is executed."""

import contextlib
import http.client
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import msgspec
import pytest

from steelyard.keep.session import read
from steelyard.lab import server as serving_module
from steelyard.lab.server import NO_TOKEN, Server
from tests import processes
from tests.many import WHOLE, a_history, lines_of, write

CASE = "example/swept[n=10,kind=thread]@same"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("ui")
    a_history(place)
    (place / "broken.session.jsonl").write_text("broken\n")
    return place


def serving(place, token=NO_TOKEN, complain=print):
    server = Server(place, token=token, complain=complain)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="module")
def port(folder):
    server = serving(folder)
    yield server.server_port
    server.shutdown()
    server.server_close()


def ask(port, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{port}")
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_it_listens_on_the_loopback_interface_only(folder):
    server = Server(folder, complain=pytest.fail)
    assert server.server_address[0] == "127.0.0.1"
    server.server_close()


PAGES = {
    "/": "12 sessions",
    "/?words=2020-01-03": "1 of 12 sessions",
    "/session?session=00003.session.jsonl": "example/brittle",
    "/compare?session=00009.session.jsonl&session=00002.session.jsonl": "different, worse",
    f"/history?case={quote(CASE)}": "kernel: 6.1 → 6.12",
    "/history": "History of a case",
    "/report?session=00003.session.jsonl": "<h1",
    "/style.css": "--paper",
    "/icon.svg": "<svg",
}


@pytest.mark.parametrize(("path", "there"), PAGES.items())
def test_a_page_is_there_and_says_what_may_be_loaded(port, path, there):
    answer, text = ask(port, path)
    assert answer.status == 200
    assert there in text
    policy = answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    if not path.startswith("/report"):
        assert policy.startswith("default-src 'none'")
        assert "script-src" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_list_names_the_file_that_cannot_be_used(port):
    assert "broken.session.jsonl:1: not a line of a session file" in ask(port, "/")[1]


def test_a_comparison_puts_the_older_session_first(port):
    _, text = ask(port, "/compare?session=00009.session.jsonl&session=00002.session.jsonl")
    assert text.index("00002.session.jsonl") < text.index("00009.session.jsonl")


def test_head_is_get_without_the_page(port):
    got, text = ask(port, "/")
    answer, nothing = ask(port, "/", "HEAD")
    assert (answer.status, nothing) == (200, "")
    assert answer.headers["Content-Length"] == str(len(text.encode())) == got.headers["Content-Length"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_it_only_reads(port, method):
    assert ask(port, "/", method)[0].status in (405, 501)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", "[::1]"])
def test_another_host_name_is_refused(port, host):
    """What a page of another site gets that points its own name at this address."""
    answer, text = ask(port, "/", host=host)
    assert answer.status == 421
    assert "sessions" not in text


def test_the_name_localhost_is_as_good(port):
    assert ask(port, "/", host=f"localhost:{port}")[0].status == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/../etc/passwd", 404),
        ("/session?session=../../../etc/passwd", 404),
        ("/session?session=%2Fetc%2Fpasswd", 404),
        ("/session", 400),
        ("/session?session=broken.session.jsonl", 400),
        ("/compare?session=00001.session.jsonl", 400),
        ("/compare?session=00001.session.jsonl&session=00002.session.jsonl&session=00003.session.jsonl", 400),
        ("/?" + "&".join("a=1" for _ in range(30)), 400),
    ],
)
def test_what_is_not_there_is_a_page_with_a_sentence(port, path, status):
    answer, text = ask(port, path)
    assert answer.status == status
    assert 'role="alert"' in text
    assert "root:" not in text


def test_a_case_that_nobody_measured_is_asked_for_again(port):
    answer, text = ask(port, "/history?case=no/body")
    assert answer.status == 200
    assert "no session has measured" in text


# --- who is let in ----------------------------------------------------------------------------------------------------


@pytest.fixture
def guarded(folder):
    server = serving(folder, token=None)
    yield server
    server.shutdown()
    server.server_close()


def raw(port, request, patience_s=60):
    """What is answered to these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience_s) as connection:
        connection.sendall(request)
        with contextlib.suppress(OSError):  # answered before all of it was read, and closed
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def with_cookie(server, path, cookie):
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\nCookie: {cookie}\r\n\r\n"
    return raw(server.server_port, request.encode())


@pytest.mark.parametrize("path", ["/", "/session?session=00003.session.jsonl", "/report", "/?token=", "/?token=µ"])
def test_without_the_token_nobody_reads_a_session(guarded, path):
    answer, text = ask(guarded.server_port, quote(path, safe="/?=&"))
    assert answer.status == 403
    assert "call/" not in text
    assert "sessions of" not in text


def test_each_server_draws_a_token_of_its_own(folder):
    first, second = (Server(folder, complain=pytest.fail) for _ in range(2))
    assert len({first.token, second.token}) == 2
    assert min(len(first.token), len(second.token)) >= 32
    first.server_close()
    second.server_close()


def test_the_printed_address_lets_in_and_the_cookie_stays_in_use(guarded):
    answer, _ = ask(guarded.server_port, guarded.entrance.partition(str(guarded.server_port))[2] + "&words=2020")
    assert (answer.status, answer.headers["Location"]) == (303, "/?words=2020")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert b" 200 " in with_cookie(guarded, "/", cookie.partition(";")[0]).splitlines()[0]
    for wrong in ("", f"{guarded.cookie}=wrong", "steelyard-1=" + guarded.token, "\xff;;=,", 'a="'):
        assert b" 403 " in with_cookie(guarded, "/", wrong).splitlines()[0]


def test_an_address_with_the_token_sends_nobody_elsewhere(guarded):
    answer, _ = ask(guarded.server_port, f"//evil.example/?token={guarded.token}")
    assert answer.headers.get("Location", "/").startswith("/")
    assert not answer.headers.get("Location", "/").startswith("//")


def head(line, *fields):
    return "\r\n".join([line, *fields, "", ""]).encode("latin-1")


#: Requests that no browser sends; PORT is that of the server.
MALFORMED = {
    "an address that is none": head("GET http://[::1 HTTP/1.1", "Host: 127.0.0.1:PORT"),
    "an address with a wrong port": head("GET http://a:b/ HTTP/1.1", "Host: 127.0.0.1:PORT"),
    "a wrong number of fields": head("GET / ?session=1 HTTP/1.1", "Host: 127.0.0.1:PORT"),
    "no host": head("GET / HTTP/1.1"),
    "two hosts": head("GET / HTTP/1.1", "Host: 127.0.0.1:PORT", "Host: evil.example"),
    "only a method": b"GET\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "a version that is none": head("GET / HTTP/x.y", "Host: 127.0.0.1:PORT"),
    "a version of the future": head("GET / HTTP/9.9", "Host: 127.0.0.1:PORT"),
    "an unknown method": head("FROB / HTTP/1.1", "Host: 127.0.0.1:PORT"),
    "a long address": head("GET /" + "a" * 100_000 + " HTTP/1.1", "Host: 127.0.0.1:PORT"),
    "a long header": head("GET / HTTP/1.1", "Host: 127.0.0.1:PORT", "X: " + "a" * 100_000),
    "many headers": head("GET / HTTP/1.1", "Host: 127.0.0.1:PORT", *(f"X{n}: a" for n in range(1000))),
    "a header without a colon": head("GET / HTTP/1.1", "Host 127.0.0.1:PORT", "nonsense"),
    "zeros": b"\0" * 100 + b"\r\n\r\n",
    "bytes that are not text": head("GET /?session=\xff\xfe\0 HTTP/1.1", "Host: 127.0.0.1:PORT"),
    "a zero in a name": head("GET /session?session=%00 HTTP/1.1", "Host: 127.0.0.1:PORT"),
    "half a character": head("GET /session?session=%c3%28%ed%a0%80 HTTP/1.1", "Host: 127.0.0.1:PORT"),
    "an open pattern": head("GET /history?case=%5b%2a%28 HTTP/1.1", "Host: 127.0.0.1:PORT"),
    "a body": head("GET / HTTP/1.1", "Host: 127.0.0.1:PORT", "Content-Length: 5") + b"hello",
    "a negative length": head("GET / HTTP/1.1", "Host: 127.0.0.1:PORT", "Content-Length: -1"),
    "an upgrade": head("GET / HTTP/1.1", "Host: 127.0.0.1:PORT", "Connection: Upgrade", "Upgrade: h2c"),
    "the start of TLS": bytes([22, 3, 1, 0, 5, 1, 0, 0, 1, 3]) + b"\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("request_", MALFORMED.values(), ids=MALFORMED)
def test_every_malformed_request_is_answered(port, request_, capfd):
    answer = raw(port, request_.replace(b"PORT", str(port).encode()))
    first = answer.split(b"\r\n")[0].split()
    assert first[0] in (b"HTTP/1.0", b"HTTP/1.1")
    assert 200 <= int(first[1]) < 600
    assert int(first[1]) != 500, answer
    assert b"Content-Security-Policy: " in answer
    said = "".join(capfd.readouterr())
    assert "Traceback" not in said
    assert "defect" not in said
    assert ask(port, "/")[0].status == 200


def test_a_page_that_fails_is_answered_all_the_same_and_said_where_the_server_was_started(folder, monkeypatch, capfd):
    def fail(*_):
        raise KeyError("unheard of")

    said = []
    server = serving(folder, complain=said.append)
    monkeypatch.setitem(server.site.routes, "/", fail)
    answer, text = ask(server.server_port, "/")
    assert (answer.status, "KeyError" in text) == (500, True)
    processes.until(lambda: said, "the defect is said")
    assert "KeyError('unheard of')" in said[0]
    assert "test_ui.py" in said[0]
    assert "".join(capfd.readouterr()) == "", "nothing goes past the one door"
    server.shutdown()
    server.server_close()


def test_a_slow_client_is_given_up_and_keeps_nobody_waiting(folder, monkeypatch):
    monkeypatch.setattr(serving_module, "PATIENCE_S", 1.0)
    server = serving(folder)
    slow = [socket.create_connection(("127.0.0.1", server.server_port), timeout=60) for _ in range(70)]
    for connection in slow:
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
    assert ask(server.server_port, "/")[0].status == 200
    for connection in slow:  # each is told, or its connection ends
        connection.recv(65536)
        connection.close()
    server.shutdown()
    server.server_close()


def test_many_clients_at_once_are_all_served(port):
    with ThreadPoolExecutor(100) as clients:
        found = list(clients.map(lambda _: ask(port, "/icon.svg")[0].status, range(300)))
    assert found == [200] * 300


def test_the_list_marks_a_void_session(tmp_path):
    lines = lines_of(read(WHOLE))
    drifted = [
        msgspec.structs.replace(
            line,
            values=tuple(msgspec.structs.replace(v, wall_ns=v.wall_ns * 3, user_ns=v.user_ns * 3) for v in line.values),
        )
        if getattr(line, "role", "") == "sentinel" and line.block > 0
        else line
        for line in lines
    ]
    write(tmp_path / "good.session.jsonl", lines)
    write(tmp_path / "drifted.session.jsonl", drifted)
    server = serving(tmp_path)
    _, text = ask(server.server_port, "/")
    rows = {name: text[: text.index(f'value="{name}')].count("<tr") for name in ("good.session", "drifted.session")}
    cells = dict(enumerate(text.split("<tr")))
    assert "void" in cells[rows["drifted.session"]]
    assert "void" not in cells[rows["good.session"]]
    server.shutdown()
    server.server_close()


# --- in a browser -----------------------------------------------------------------------------------------------------

NASTY = (
    "</title></script></style><script>alert(1)</script><img src=https://evil.example/x onerror=alert(1)>"
    "<svg onload=alert(1)>'\"--><a href=javascript:alert(1)>x</a>${alert(1)}{{alert(1)}}"
)


IN_A_NAME = "thread<img src=x onerror=alert(1)>"
#: What must be as it is for the file to be a session: words of an enumeration, names that refer to others, the moment.
KEPT = {"type", "role", "status", "statistic", "better", "placement", "placements", "moment", "severity", "over", "per"}
KEPT |= {"unit", "baseline", "case", "probe", "started"}


def spoiled(data):
    """Markup after every text that a file may have."""
    if isinstance(data, list):
        return [spoiled(one) for one in data]
    if isinstance(data, dict):
        kept = {key for key in data if key in KEPT or (key == "parameters" and isinstance(data[key], dict))}
        kept |= {"reason"} if data.get("type") == "end" else set()
        return {key: value if key in kept else spoiled(value) for key, value in data.items()}
    return f"{data}{NASTY}" if isinstance(data, str) else data


def hostile(place):
    """Two sessions with markup in every text, in the name of a case and in the name of the file."""
    for number in range(2):
        path = write(place / f"{number}<img src=x onerror=alert(1)>.session.jsonl", lines_of(read(WHOLE)))
        contents = path.read_text().replace("kind=thread", f"kind={IN_A_NAME}")
        contents = contents.replace('"kind":"thread"', f'"kind":"{IN_A_NAME}"')
        lines = [spoiled(msgspec.json.decode(line)) for line in contents.splitlines()]
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        assert NASTY in read(path).header.machine.facts["cpu"]


@pytest.fixture
def watched(browser):
    """A page, and all that it must not do."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    said = []
    page.on("dialog", lambda dialog: (said.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda error: said.append(f"error {error}"))
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: said.append(request.url) if "//127.0.0.1:" not in request.url else None)
    yield page, said
    context.close()


def test_a_person_lists_filters_compares_and_follows_a_case(port, watched):
    page, said = watched
    page.goto(f"http://127.0.0.1:{port}/")
    page.get_by_label("Filter").fill("2020-01-0")
    page.keyboard.press("Enter")
    page.wait_for_url("**words=2020-01-0*")
    assert page.get_by_role("checkbox").count() == 9
    page.get_by_role("checkbox").nth(0).check()
    page.get_by_role("checkbox").nth(8).check()
    page.get_by_role("button", name="Compare the two").click()
    assert "7 different" in page.inner_text("main")
    page.get_by_role("link", name=CASE).click()
    assert "kernel: 6.1 → 6.12" in page.inner_text("main")
    assert page.locator("svg.history circle").count() == 12
    page.get_by_role("link", name=re.compile("2020-01-12")).click()
    page.get_by_role("link", name="The report").click()
    assert page.locator("h1").count() == 1
    assert said == []


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_the_window(port, browser, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    for path in [path for path in PAGES if "." not in path.partition("?")[0] and "report" not in path]:
        page.goto(f"http://127.0.0.1:{port}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    context.close()


def test_nothing_of_a_hostile_file_is_executed(tmp_path, watched):
    hostile(tmp_path)
    page, said = watched
    server = serving(tmp_path)
    base = f"http://127.0.0.1:{server.server_port}"
    names = [quote(path.name) for path in sorted(tmp_path.iterdir())]
    both = "&".join(f"session={name}" for name in names)
    case = quote(CASE.replace("thread", IN_A_NAME))
    visited = ["/", f"/?words={quote(NASTY)}", f"/session?session={names[0]}", f"/compare?{both}"]
    visited += ["/history", f"/history?case={case}", f"/history?case={quote(NASTY)}"]
    visited += [f"/report?session={names[0]}", f"/report?{both}"]
    try:
        for path in visited:
            answer = page.goto(base + path)
            assert answer.status == 200, path
            page.wait_for_load_state("networkidle")
            assert said == [], path
        page.goto(base)
        assert NASTY in page.inner_text("main")
    finally:
        server.shutdown()
        server.server_close()

# SPDX-License-Identifier: Apache-2.0
"""PEP 3333, clause by clause, however the application is called."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path

import pytest
from applications.contract import STARTS
from running import serving, until
from talking import Client

APPLICATIONS = Path(__file__).parent / "applications"
WAYS = {
    "inline": [],
    "threads": ["--threads", "3"],
    "streamed": ["--threads", "3", "--input", "streamed"],
}


@pytest.fixture(scope="module", params=WAYS)
def server(request):
    limits = ["--spool", "1000", "--limit-body", "40000000"]
    with serving("contract:application", *WAYS[request.param], *limits, folder=APPLICATIONS) as running:
        running.way = request.param
        yield running


@pytest.fixture
def client(server):
    with Client(server) as connection:
        yield connection


def seen(server) -> list[str]:
    """What the applications noted since this was last asked."""
    with Client(server) as connection:
        return json.loads(connection.ask("/seen").body)


# Responses


def test_a_list_of_one_piece(client):
    answer = client.ask("/hello")
    assert (answer.status, answer.reason, answer.body) == (200, "OK", b"hello")
    assert answer.headers["Content-Length"] == "5"
    assert answer.headers["Date"].endswith(" GMT")
    assert client.ask("/hello").body == b"hello"  # on the same connection


def test_the_length_of_a_list_is_known(client):
    answer = client.ask("/unsized")
    assert (answer.headers["Content-Length"], answer.body) == ("14", b"several pieces")
    answer = client.ask("/empty")
    assert (answer.headers["Content-Length"], answer.body) == ("0", b"")


def test_a_generator_is_chunked(client):
    answer = client.ask("/generator")
    assert (answer.headers["Transfer-Encoding"], answer.headers["Content-Length"]) == ("chunked", None)
    assert answer.body == b"0\n1\n2\n"
    assert client.ask("/late-start").status == 201


def test_http_1_0_gets_no_chunks(server):
    with Client(server) as client:
        client.send(b"GET /generator HTTP/1.0\r\n\r\n")
        answer = client.answer()
        assert (answer.body, answer.headers["Transfer-Encoding"]) == (b"0\n1\n2\n", None)
        assert client.is_closed()
    with Client(server) as client:
        client.send(b"GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" * 2)
        for _ in range(2):
            answer = client.answer()
            assert (answer.body, answer.headers["Connection"]) == (b"hello", "keep-alive")


def test_pieces_are_sent_before_the_next_is_asked_for(server, client, tmp_path):
    client.send(f"GET /lockstep?{tmp_path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    for number in range(3):
        while b"piece" not in (line := client.file.readline()):
            assert line
        assert line == b"piece %d\r\n" % number
        (tmp_path / str(number)).touch()
    assert client.file.readline() == b"0\r\n"


def test_close_is_called_whatever_happens(server, client):
    seen(server)
    assert client.ask("/closing?list").body == b"ab"
    assert client.ask("/closing?head", method="HEAD").body == b""
    assert client.ask("/fails-in-iteration").status == 500
    assert client.ask("/fails-midway").cut
    assert client.is_closed()
    assert seen(server) == ["closed list", "closed head", "closed failing", "closed midway"]


def test_close_is_called_when_the_client_goes_away(server):
    seen(server)
    with Client(server) as client:
        client.send(b"GET /big?33554432 HTTP/1.1\r\nHost: h\r\n\r\n")
        assert client.file.read(100)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    until(lambda: "closed big" in seen(server), "close() of a response that nobody takes")


@pytest.mark.parametrize("way", ["big", "big-list", "writes-much"])
def test_slow_clients_get_everything_in_order(server, way):
    seen(server)
    size = 16 << 20
    with Client(server) as slow:
        slow.send(f"GET /{way}?{size} HTTP/1.1\r\nHost: h\r\n\r\nGET /hello HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        # The application is not held up by its client: what it gave is in a file.
        done = {"writes-much": "wrote", "big": "closed big"}.get(way)
        if done:
            until(lambda: done in seen(server), "the end of the application")
        with Client(server) as other:
            assert other.ask("/hello").body == b"hello"
        answer = slow.answer()
        assert answer.body == b"".join(bytes([65 + index % 26]) * 65536 for index in range(size // 65536))
        assert slow.answer().body == b"hello"


def test_responses_of_slow_clients_keep_their_context_variables(server):
    """More responses than threads, whose clients all wait."""
    count = 6
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server)) for _ in range(count)]
        for number, client in enumerate(clients):
            client.send(f"GET /contexts?c{number} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        with Client(server) as other:
            assert other.ask("/context").body == b"nothing"
        for number, client in reversed(list(enumerate(clients))):
            assert client.answer().body == (f"c{number}".encode().ljust(65536)) * 256 + b"nothing"


def test_write(client):
    answer = client.ask("/writes")
    assert (answer.body, answer.headers["Transfer-Encoding"]) == (b"first second third", "chunked")
    assert client.ask("/writes", method="HEAD").body == b""
    assert client.ask("/hello").body == b"hello"


def test_no_byte_beyond_the_declared_length(client):
    for path in ("/too-long", "/too-long-stream"):
        assert client.ask(path).body == b"hello"
    assert client.ask("/hello").body == b"hello"


def test_too_few_bytes_end_the_connection(server, client):
    answer = client.ask("/too-short")
    assert answer.cut
    assert answer.body == b"hello"
    assert client.is_closed()
    server.wait_for("the application gave (5 of|more than) the 50? bytes of its Content-Length at GET /too-")


def test_head_has_the_head_alone(client):
    for path, length in (("/hello", "5"), ("/unsized", "14"), ("/generator", None), ("/wrapped?file", "3000")):
        answer = client.ask(path, method="HEAD")
        assert (answer.status, answer.headers["Content-Length"], answer.body) == (200, length, b"")
    assert client.ask("/hello").body == b"hello"


def test_answers_without_a_body(client):
    answer = client.ask("/no-content")
    assert (answer.status, answer.body, answer.headers["Content-Length"]) == (204, b"", None)
    answer = client.ask("/not-modified")
    assert (answer.status, answer.body, answer.headers["Content-Length"]) == (304, b"", "5")
    assert client.ask("/hello").body == b"hello"


def test_the_date_is_the_applications_if_it_gives_one(client):
    assert client.ask("/dated").headers.get_all("Date") == ["Thu, 01 Jan 1970 00:00:00 GMT"]


# Failures


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/fails", "KeyError: 'before'"),
        ("/fails-in-iteration", "ZeroDivisionError"),
        ("/exits", "SystemExit: 3"),
        ("/never-starts", "did not call start_response"),
        ("/gives-str", "gave str, not bytes"),
        ("/started-twice", "a second time without exc_info"),
        ("/nowhere", "KeyError: 'nowhere'"),
    ],
)
def test_a_failure_is_answered_and_told(server, client, path, said):
    answer = client.ask(path)
    assert (answer.status, answer.body) == (500, b"Internal Server Error: the application failed\n")
    server.wait_for(f"the application failed at GET {path}")
    server.wait_for("Traceback" if path != "/never-starts" else "RuntimeError")
    server.wait_for(said)
    assert client.ask("/hello").body == b"hello"  # the connection is as good as before


def test_a_failure_in_close_is_told(server, client):
    assert client.ask("/close-fails").body == b"fine"
    server.wait_for("RuntimeError: close")


def test_exc_info_replaces_what_is_not_sent(client):
    answer = client.ask("/replaced")
    assert (answer.status, answer.body, answer.headers["X-First"]) == (503, b"sorry", None)
    answer = client.ask("/replaced-too-late")
    assert (answer.status, answer.body, answer.cut) == (200, b"good", True)


@pytest.mark.parametrize("case", STARTS)
def test_start_response_refuses(client, case):
    answer = client.ask(f"/refused-start?{case}")
    assert answer.status == 200
    assert answer.text.startswith(("TypeError", "ValueError")), answer.text


def test_start_response_takes_names_and_latin_1(client):
    answer = client.ask("/fine-start")
    assert (answer.body, answer.reason) == (b"fine", "Très bien")
    assert answer.headers["X-Latin"].strip() == "é"
    assert answer.headers["X-Empty"] == ""
    assert answer.headers.get_all("Set-Cookie") == ["a=b", "c=d"]


def test_headers_of_the_server_are_left_out_with_one_warning(server):
    for _ in range(2):
        with Client(server) as client:
            answer = client.ask("/hop-by-hop")
            assert (answer.status, answer.body, answer.headers["X-Own"]) == (200, b"fine", "yes")
            assert set(answer.headers) == {"Content-Type", "X-Own", "Date", "Content-Length"}
            assert client.ask("/hello").body == b"hello"  # the connection goes on
    server.wait_for("gave the header Connection")
    assert sum("gave the header Connection, which is for the server" in line for line in server.said) == 1


def test_what_an_application_keeps_is_dead_afterwards(client):
    assert client.ask("/keeps", b"body").body == b"kept"
    answer = client.ask("/misuses", b"other")
    assert answer.status == 200
    assert "injected" not in answer.text
    assert answer.text.count("after the end of the request") + answer.text.count("was called in") >= 1


def test_another_thread_may_not_answer(client):
    assert b"in the thread that the application was called in" in client.ask("/foreign-thread").body


def test_wsgi_errors(server, client):
    client.ask("/errors")
    server.wait_for("^said to wsgi.errors$")
    server.wait_for("^one two$")


# The environ


def test_environ(server, client):
    answer = client.ask("/env/caf%C3%A9%2f%zz?q=%20&r", X_Some="  a b\t", Accept="x", Cookie="a=b")
    env = json.loads(answer.body) if answer.status == 200 else {}
    assert env == {}, "the name of an application is the whole path"
    env = json.loads(client.ask("/env?q=%20&r", X_Some="  a b\t", Accept="x", Cookie="a=b").body)
    assert env["REQUEST_METHOD"] == "GET"
    assert (env["SCRIPT_NAME"], env["PATH_INFO"], env["QUERY_STRING"]) == ("", "/env", "q=%20&r")
    assert (env["SERVER_NAME"], env["SERVER_PORT"]) == ("127.0.0.1", str(server.port))
    assert (env["SERVER_PROTOCOL"], env["REMOTE_ADDR"]) == ("HTTP/1.1", "127.0.0.1")
    assert (env["HTTP_X_SOME"], env["HTTP_ACCEPT"], env["HTTP_COOKIE"], env["HTTP_HOST"]) == ("a b", "x", "a=b", "test")
    assert (env["wsgi.version"], env["wsgi.url_scheme"]) == ([1, 0], "http")
    assert (env["wsgi.multithread"], env["wsgi.multiprocess"], env["wsgi.run_once"]) == (
        server.way != "inline",
        False,
        False,
    )
    assert env["wsgi.input_terminated"] is True
    assert "CONTENT_LENGTH" not in env
    assert "CONTENT_TYPE" not in env


def path_info(client, target: str) -> str:
    """By way of a failure, whose report names no path: the application is chosen by it."""
    client.send(b"GET " + target.encode("latin-1") + b" HTTP/1.1\r\nHost: h\r\n\r\n")
    return json.loads(client.answer().body)["PATH_INFO"]


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/%65nv", "/env"),
        ("/env/", "/env/"),
        ("//env", "//env"),
        ("/%2fenv", "//env"),
        ("http://other/env?x", "/env"),
        ("/env#fragment", "/env"),
    ],
)
def test_path_info(client, target, path):
    assert path_info(client, target) == path


def test_the_authority_of_the_target_is_the_host(client):
    client.send(b"GET http://other:81/env HTTP/1.1\r\nHost: h\r\n\r\n")
    assert json.loads(client.answer().body)["HTTP_HOST"] == "other:81"


def test_nobody_fakes_the_environ(client):
    client.send(
        b"POST /env HTTP/1.1\r\nHost: h\r\nProxy: evil\r\nX_Forwarded_For: evil\r\n"
        b"Content_Length: 3\r\nContent_Type: e\r\n"
        b"wsgi.url_scheme: https\r\nRemote-Addr: 1.2.3.4\r\nContent-Type: a\r\nContent-Length: 0\r\n\r\n"
    )
    env = json.loads(client.answer().body)
    assert not [key for key, value in env.items() if value in ("evil", "e")]
    assert (env["CONTENT_TYPE"], env["CONTENT_LENGTH"], env["wsgi.url_scheme"]) == ("a", "0", "http")
    assert (env["REMOTE_ADDR"], env["HTTP_REMOTE_ADDR"]) == ("127.0.0.1", "1.2.3.4")


def test_fields_of_one_name_are_joined(client):
    client.send(
        b"GET /env HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\nX-A: 3\r\nCookie: a=b\r\ncookie: c=d\r\n"
        + b"".join(b"X-Rare-%d: r\r\nx-rAre-%d: s\r\n" % (number, number) for number in range(20))
        + b"\r\n"
    )
    env = json.loads(client.answer().body)
    assert (env["HTTP_X_A"], env["HTTP_COOKIE"]) == ("1,2,3", "a=b; c=d")
    assert all(env[f"HTTP_X_RARE_{number}"] == "r,s" for number in range(20))


def test_names_without_end_take_no_memory_and_are_still_right(server, client):
    """Beyond what is remembered a name is looked at anew each time."""
    for turn in range(16):
        names = b"".join(b"X-%d-%d: a\r\nx-%d-%d: b\r\n" % (turn, n, turn, n) for n in range(45))
        client.send(b"GET /env HTTP/1.1\r\nHost: h\r\n" + names + b"\r\n")
        env = json.loads(client.answer().body)
        assert all(env[f"HTTP_X_{turn}_{n}"] == "a,b" for n in range(45))


# Input

BODY = b"first\nsecond line\n\nlast"
READ = {
    "read": BODY,
    "pieces": BODY,
    "line": b"first\n|second line\n|\n|last",
    "line5": b"first|\n|secon|d lin|e\n|\n|last",
    "lines": b"first\n|second line\n|\n|last",
    "hint": b"first\n+second line\n\nlast",
    "iterate": b"first\n|second line\n|\n|last",
    "all": BODY,
    "some": b"fir",
    "none": b"",
}


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize("how", READ)
def test_input(client, how):
    expected = READ["hint"] if how == "hint" else READ[how]
    hint = b"first\n|second line\n+\nlast" if how == "hint" else expected
    answer = client.ask(f"/reads?{how}", BODY)
    assert (answer.body, answer.headers["X-Length"]) in ((expected, str(len(BODY))), (hint, str(len(BODY))))
    if answer.headers["Connection"] == "close":
        return  # unread and streamed: what is left cannot be told from the next request
    client.send(
        b"POST /reads?%s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" % how.encode() + chunked(BODY, 6)
    )
    assert client.answer().body in (expected, hint)


def test_input_in_pieces_from_the_network(client):
    head = b"POST /reads?line HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(BODY)
    for byte in head + BODY:
        client.send(bytes([byte]))
    assert client.answer().body == READ["line"]


def test_a_decoded_body_has_its_length(server, client):
    client.send(b"POST /reads?read HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(BODY, 5))
    assert client.answer().headers["X-Length"] == str(len(BODY))
    env = None
    client.send(b"POST /env HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    env = json.loads(client.answer().body)
    assert "HTTP_TRANSFER_ENCODING" not in env


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_large_body_is_not_held(client, framing):
    body = bytes(range(256)) * 80_000
    if framing == "length":
        answer = client.ask("/counts", body)
    else:
        client.send(b"POST /counts HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body, 999_999))
        answer = client.answer()
    assert answer.body == f"{len(body)} {sum(range(256)) * 80_000}".encode()


def test_expect_continue(server, client):
    client.send(b"POST /reads?read HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    assert client.file.readline() == b"HTTP/1.1 100 Continue\r\n"
    assert client.file.readline() == b"\r\n"
    client.send(b"hello")
    assert client.answer().body == b"hello"
    # one that has sent its body already need not be told
    client.send(b"POST /reads?read HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello")
    assert client.file.readline() == b"HTTP/1.1 200 OK\r\n"


def test_an_application_that_reads_nothing_asks_for_nothing(server, client):
    if server.way != "streamed":
        pytest.skip("the application is called when the body is there")
    client.send(b"POST /refuses-body HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    answer = client.answer()
    assert (answer.status, answer.headers["Connection"]) == (401, "close")


# file_wrapper


@pytest.mark.parametrize("kind", ["file", "raw", "large", "offset", "memory", "gzip", "part"])
def test_file_wrapper(server, client, kind):
    seen(server)
    size = 3_000_000 if kind == "large" else 3000
    content = bytes(range(250)) * (size // 250)
    content = {"offset": content[1001:], "part": content[:100]}.get(kind, content)
    answer = client.ask(f"/wrapped?{kind}")
    assert answer.body == content
    regular = kind not in ("memory", "gzip")
    assert answer.headers["Content-Length"] == (str(len(content)) if regular else None)
    assert client.ask("/hello").body == b"hello"
    assert seen(server) == ["closed file"]


# wsgiref.validate


@pytest.mark.parametrize("path", ["/valid", "/valid-stream", "/valid?a=%20b", "/valid-stream?"])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_validate(server, client, path, method):
    before = len(server.said)
    answer = client.ask(path, b"some\nbody" if method == "POST" else None, method=method, Content_Type="text/plain")
    sent = b"some\nbody" if method == "POST" else b""
    expected = b"written given" + sent if "stream" in path else b"<" + sent + b">"
    assert (answer.status, answer.body) == (200, b"" if method == "HEAD" else expected), server.said
    assert not [line for line in server.said[before:] if "AssertionError" in line or "WSGIWarning" in line]

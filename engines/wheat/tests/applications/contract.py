# SPDX-License-Identifier: Apache-2.0
"""One WSGI application a path, each for one clause of PEP 3333. What they see they write to `seen`: `/seen` tells."""

import gzip
import io
import json
import sys
import tempfile
import threading
import time
from contextvars import ContextVar
from pathlib import Path
from wsgiref.validate import validator

TEXT = [("Content-Type", "text/plain")]
seen = []
said = ContextVar("said", default="nothing")


class Closing:
    """An iterable whose close() is noted."""

    def __init__(self, name, chunks):
        self.name = name
        self.chunks = iter(chunks)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.chunks)

    def close(self):
        seen.append(f"closed {self.name}")


def hello(environ, start_response):
    start_response("200 OK", [*TEXT, ("Content-Length", "5")])
    return [b"hello"]


def unsized(environ, start_response):
    start_response("200 OK", TEXT)
    return [b"several ", b"", b"pieces"]


def empty(environ, start_response):
    start_response("200 OK", TEXT)
    return []


def generator(environ, start_response):
    start_response("200 OK", TEXT)
    for number in range(3):
        yield b"%d\n" % number


def late_start(environ, start_response):
    """start_response is called when the first piece is asked for."""
    start_response("201 Created", TEXT)
    yield b"late"


def closing(environ, start_response):
    start_response("200 OK", TEXT)
    return Closing(environ["QUERY_STRING"], [b"a", b"b"])


def lockstep(environ, start_response):
    """Each piece only once the client says that it has the one before."""
    start_response("200 OK", TEXT)
    folder = environ["QUERY_STRING"]

    def pieces():
        for number in range(3):
            yield b"piece %d" % number
            while not Path(folder, str(number)).exists():
                time.sleep(0.001)

    return pieces()


def big(environ, start_response):
    size = int(environ["QUERY_STRING"])
    start_response("200 OK", [*TEXT, ("Content-Length", str(size))])
    return Closing("big", [bytes([65 + index % 26]) * 65536 for index in range(size // 65536)])


def big_list(environ, start_response):
    size = int(environ["QUERY_STRING"])
    start_response("200 OK", TEXT)
    return [bytes([65 + index % 26]) * 65536 for index in range(size // 65536)]


def contexts(environ, start_response):
    """What a response set in a context variable stays its own, however often others come between."""
    token = said.set(environ["QUERY_STRING"])
    start_response("200 OK", TEXT)

    def pieces():
        for _ in range(256):
            yield said.get().encode().ljust(65536)
        said.reset(token)
        yield said.get().encode()

    return pieces()


def context(environ, start_response):
    start_response("200 OK", TEXT)
    return [said.get().encode()]


def writes(environ, start_response):
    write = start_response("200 OK", TEXT)
    write(b"first ")
    write(b"")
    write(b"second ")
    return [b"third"]


def writes_much(environ, start_response):
    size = int(environ["QUERY_STRING"])
    write = start_response("200 OK", [*TEXT, ("Content-Length", str(size))])
    for index in range(size // 65536):
        write(bytes([65 + index % 26]) * 65536)
    seen.append("wrote")
    return []


def too_long(environ, start_response):
    start_response("200 OK", [*TEXT, ("Content-Length", "5")])
    return [b"hello", b" world"]


def too_long_stream(environ, start_response):
    start_response("200 OK", [*TEXT, ("Content-Length", "5")])
    return Closing("long", [b"hel", b"lo w", b"orld"])


def too_short(environ, start_response):
    start_response("200 OK", [*TEXT, ("Content-Length", "50")])
    return [b"hello"]


def not_modified(environ, start_response):
    start_response("304 Not Modified", [("ETag", '"a"'), ("Content-Length", "5")])
    return [b"hello"]


def no_content(environ, start_response):
    start_response("204 No Content", [("Content-Length", "0")])
    return [b"hello"]


def dated(environ, start_response):
    start_response("200 OK", [*TEXT, ("date", "Thu, 01 Jan 1970 00:00:00 GMT")])
    return [b""]


def fails(environ, start_response):
    raise KeyError("before")


def fails_in_iteration(environ, start_response):
    start_response("200 OK", TEXT)
    return Closing("failing", (1 // 0 for _ in range(1)))


def fails_midway(environ, start_response):
    start_response("200 OK", TEXT)

    def pieces():
        yield b"good"
        raise RuntimeError("midway")

    return Closing("midway", pieces())


def exits(environ, start_response):
    sys.exit(3)


def never_starts(environ, start_response):
    return [b"hello"]


def gives_str(environ, start_response):
    start_response("200 OK", TEXT)
    return ["hello"]


def close_fails(environ, start_response):
    class Failing(Closing):
        def close(self):
            raise RuntimeError("close")

    start_response("200 OK", TEXT)
    return Failing("", [b"fine"])


def replaced(environ, start_response):
    """An error page in place of what was begun, which is allowed until something is sent."""
    try:
        start_response("200 OK", [*TEXT, ("X-First", "1")])
        raise ValueError("oops")  # noqa: TRY301
    except ValueError:
        start_response("503 Oops", [("Content-Type", "text/html")], sys.exc_info())
        return [b"sorry"]


def replaced_too_late(environ, start_response):
    start_response("200 OK", TEXT)
    yield b"good"
    try:
        raise ValueError("too late")  # noqa: TRY301
    except ValueError:
        start_response("500 Oops", TEXT, sys.exc_info())
    yield b"never"


def started_twice(environ, start_response):
    start_response("200 OK", TEXT)
    start_response("200 OK", TEXT)
    return []


STARTS = {
    "no-status": ("", TEXT),
    "status-100": ("100 Continue", TEXT),
    "status-99": ("99 Low", TEXT),
    "status-word": ("OK 200", TEXT),
    "status-split": ("200 OK\r\nX: y", TEXT),
    "status-bytes": (b"200 OK", TEXT),
    "headers-tuple": ("200 OK", tuple(TEXT)),
    "header-list": ("200 OK", [["A", "b"]]),
    "header-three": ("200 OK", [("A", "b", "c")]),
    "header-number": ("200 OK", [("A", 1)]),
    "header-bytes": ("200 OK", [(b"A", b"b")]),
    "header-wide": ("200 OK", [("A", "\u0100")]),
    "name-empty": ("200 OK", [("", "b")]),
    "name-space": ("200 OK", [("A ", "b")]),
    "name-colon": ("200 OK", [("A:", "b")]),
    "name-split": ("200 OK", [("A\r\nB", "c")]),
    "value-cr": ("200 OK", [("A", "b\rc")]),
    "value-lf": ("200 OK", [("A", "b\nc")]),
    "value-crlf": ("200 OK", [("A", "b\r\nSet-Cookie: c")]),
    "value-nul": ("200 OK", [("A", "b\0c")]),
    "value-del": ("200 OK", [("A", "b\x7f")]),
    "length-word": ("200 OK", [("Content-Length", "five")]),
    "length-sign": ("200 OK", [("Content-Length", "+5")]),
    "length-twice": ("200 OK", [("Content-Length", "5"), ("content-length", "5")]),
}


def refused_start(environ, start_response):
    """What start_response raises becomes the answer."""
    status, headers = STARTS[environ["QUERY_STRING"]]
    try:
        start_response(status, headers)
    except (AssertionError, TypeError, ValueError) as error:
        start_response("200 OK", TEXT)
        return [f"{type(error).__name__}: {error}".encode()]
    return [b"not refused"]


def fine_start(environ, start_response):
    start_response(
        status="200 Très bien",
        headers=[*TEXT, ("X-Latin", "é\t"), ("X-Empty", ""), ("Set-Cookie", "a=b"), ("Set-Cookie", "c=d")],
        exc_info=None,
    )
    return [b"fine"]


def hop_by_hop(environ, start_response):
    """Headers that are for the server to set."""
    names = ["Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "TE", "Trailer", "Trailers"]
    names += ["Proxy-Authenticate", "Proxy-Authorization"]
    start_response("200 OK", [*TEXT, *((name, "close") for name in names), ("X-Own", "yes")])
    return [b"fine"]


def keeps(environ, start_response):
    """An application that keeps what it should not: the next request is not hers."""
    seen.append(start_response)
    write = start_response("200 OK", TEXT)
    seen.append(write)
    seen.append(environ["wsgi.input"])
    return [b"kept"]


def misuses(environ, start_response):
    """After `keeps`: its functions are dead."""
    said = []
    stream, write, start = seen.pop(), seen.pop(), seen.pop()
    for call in (lambda: write(b"injected"), lambda: start("200 OK", TEXT)):
        try:
            call()
            said.append("taken")
        except (AssertionError, RuntimeError) as error:
            said.append(str(error))
    said.append(repr(stream.read()))
    start_response("200 OK", TEXT)
    return ["; ".join(said).encode()]


def foreign_thread(environ, start_response):
    """start_response in another thread than the one that was called."""
    raised = []

    def start():
        try:
            start_response("200 OK", TEXT)
        except RuntimeError as error:
            raised.append(str(error))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    start_response("200 OK", TEXT)
    return [raised[0].encode()]


def env(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    shown = {
        key: value if isinstance(value, str | bool | list | tuple) else type(value).__name__
        for key, value in environ.items()
    }
    return [json.dumps(shown).encode()]


def reads(environ, start_response):
    stream = environ["wsgi.input"]
    how = environ["QUERY_STRING"]
    if how == "read":
        got = stream.read()
    elif how == "pieces":
        got = b"".join(iter(lambda: stream.read(7), b""))
    elif how == "line":
        got = b"|".join(iter(stream.readline, b""))
    elif how == "line5":
        got = b"|".join(iter(lambda: stream.readline(5), b""))
    elif how == "lines":
        got = b"|".join(stream.readlines())
    elif how == "hint":
        got = b"|".join(stream.readlines(6)) + b"+" + stream.read()
    elif how == "iterate":
        got = b"|".join(stream)
    elif how == "none":
        got = b""
    elif how == "some":
        got = stream.read(3)
    else:
        got = stream.read(0) + stream.read(None) + stream.read(-1) + stream.read() + stream.readline()
    start_response("200 OK", [*TEXT, ("X-Length", environ.get("CONTENT_LENGTH", "none"))])
    return [got]


def counts(environ, start_response):
    """A body too large to be held: its length and the sum of its bytes."""
    length = total = 0
    while block := environ["wsgi.input"].read(100_000):
        length += len(block)
        total += sum(block)
    start_response("200 OK", TEXT)
    return [f"{length} {total}".encode()]


def refuses_body(environ, start_response):
    """Answers by the head alone."""
    start_response("401 Unauthorized", TEXT)
    return [b"who are you?"]


def wrapped(environ, start_response):
    """A file by file_wrapper."""
    wanted = environ["QUERY_STRING"]
    size = 3_000_000 if wanted == "large" else 3000
    content = bytes(range(250)) * (size // 250)
    if wanted == "memory":
        file = io.BytesIO(content)
    elif wanted == "gzip":
        packed = io.BytesIO(gzip.compress(content))
        file = gzip.GzipFile(fileobj=packed)
    else:
        file = tempfile.TemporaryFile(buffering=0 if wanted == "raw" else -1)  # noqa: SIM115
        file.write(content)
        file.seek(0 if wanted != "offset" else 1000)
    if wanted == "offset":
        file.read(1)
    headers = [*TEXT, ("Content-Length", "100")] if wanted == "part" else TEXT
    start_response("200 OK", headers)
    answer = environ["wsgi.file_wrapper"](file, 512)
    close = answer.close

    def noted():
        seen.append("closed file")
        close()

    answer.close = noted
    return answer


def errors(environ, start_response):
    environ["wsgi.errors"].write("said to wsgi.errors\n")
    environ["wsgi.errors"].writelines(["one ", "two\n"])
    environ["wsgi.errors"].flush()
    start_response("200 OK", TEXT)
    return [b""]


def tell(environ, start_response):
    told = json.dumps([item for item in seen if isinstance(item, str)]).encode()
    seen.clear()
    start_response("200 OK", TEXT)
    return [told]


@validator
def valid(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response("200 OK", [*TEXT, ("Content-Length", str(len(body) + 2))])
    return [b"<", body, b">"]


@validator
def valid_stream(environ, start_response):
    write = start_response("200 OK", TEXT)
    write(b"written ")
    lines = environ["wsgi.input"].readlines() if environ["REQUEST_METHOD"] == "POST" else list(environ["wsgi.input"])
    return iter([b"given", *lines])


def application(environ, start_response):
    name = environ["PATH_INFO"].strip("/").replace("-", "_")
    return globals()["tell" if name == "seen" else name or "hello"](environ, start_response)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way in which a server can go wrong. As a probe it is called request/<way>; its server is this file again.

It finds the instrument of the real probes by ROGUE_SUPPORT.
"""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WAY = Path(sys.argv[0]).stem
BODY = b"hello world"
requests = itertools.count(1)


class Answering(BaseHTTPRequestHandler):
    """Right, unless its way says otherwise."""

    protocol_version = "HTTP/1.1"
    way = ""

    def do_GET(self):
        number = next(requests)
        if self.way == "dies_under_load" and number > 30:
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.way == "leaves_child" and number == 1:
            subprocess.Popen(["sleep", "600"], start_new_session=True)
        status, body = 200, BODY
        if self.way == "wrong_body" or (self.way == "wrong_under_load" and number > 30):
            body = BODY[::-1]
        if self.way == "wrong_status_under_load" and number > 30:
            status = 500
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Keeping(ThreadingHTTPServer):
    """Never closes what a client has closed."""

    kept = []  # noqa: RUF012 - for ever

    def shutdown_request(self, request):
        self.kept.append(request)


def serve(way, port):
    """Be a server of this way."""
    if way == "exits":
        sys.exit("the last word")
    if way == "never_ready":
        time.sleep(600)
    if way == "goes_into_background" and os.fork():
        os._exit(0)
    if way == "ignores_the_end":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    kind = Keeping if way == "leaks_connections" else ThreadingHTTPServer
    kind.request_queue_size = 128
    kind.daemon_threads = True
    handler = type("Handler", (Answering,), {"way": way})
    threading.stack_size(1 << 16)
    kind(("127.0.0.1", port), handler).serve_forever()


if len(sys.argv) == 4 and sys.argv[1] == "--serve":
    serve(sys.argv[2], int(sys.argv[3]))

sys.path[0] = os.environ["ROGUE_SUPPORT"]

from server import Server, main  # noqa: E402


class Rogue(Server):
    """The adapter."""

    title = "the rogue"
    most_workers = most_threads = 1
    # Short for the way that is to miss it; a busy machine makes none of the others.
    ready_within_s = 1.0 if WAY == "never_ready" else 60.0
    lets_go_within_s = 0.5 if WAY == "leaks_connections" else 60.0
    ends_within_s = 0.5 if WAY == "ignores_the_end" else 60.0

    def command(self):
        return [sys.executable, str(Path(sys.argv[0]).resolve()), "--serve", WAY, str(self.port)]


main(Rogue)

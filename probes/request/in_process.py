#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""in_process - the application called without any server: its own share of what a request costs.

It gets an environ as PEP 3333 asks for, new for each call, and its answer is taken in pieces and closed, as a server
would. It runs on the CPU where the servers run.
Known answer: the body of each application.  Overhead: making the environ, about 0.2 us, and comparing the body.
Limits: no network, no connections, no parsing. Files are read, where a server would have the kernel send them.
Source: PEP 3333.
"""

import io
import os
import shutil
import sys
import tempfile
from itertools import repeat

_SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")
sys.path[0] = os.path.join(_SUPPORT, "request")
sys.path.insert(1, os.path.join(_SUPPORT, "python"))

from wsgiref.util import FileWrapper  # noqa: E402 - only now: a probe beside this one has that name

import workloads  # noqa: E402
from generators import BROWSER_HEADERS  # noqa: E402
from probe import Choice, Integer, Metric, Probe, main  # noqa: E402


class InProcess(Probe):
    question = "What does a request cost the application alone, called without any server?"
    operation = "one call of the application with an environ of its own, its answer taken whole and closed"
    source = "PEP 3333"
    statistic = "median"
    placements = workloads.PLACEMENTS
    uses = ("cpu",)
    metrics = (
        Metric("cpu", "s", "lower", "cpu", "operations", "CPU time of one call"),
        Metric("call", "s", "lower", "wall", "operations", "time of one call"),
    )
    parameters = (
        Choice("application", "what is called", workloads.NAMES, ("hello",)),
        Integer("headers", "headers of a request, Host included", "1", (1,), 1, 1 + len(BROWSER_HEADERS)),
    )

    def setup(self):
        self.folder = tempfile.mkdtemp(prefix="request-")
        self.workload = workloads.make(self.given["application"], self.folder)
        self.application = self.workload.load()
        headers = (("Host", "127.0.0.1:8000"), *BROWSER_HEADERS)[: self.given["headers"]]
        self.environ = {
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": "",
            "PATH_INFO": self.workload.path.partition("?")[0],
            "QUERY_STRING": self.workload.path.partition("?")[2],
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "8000",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "wsgi.file_wrapper": FileWrapper,
            **{f"HTTP_{name.upper().replace('-', '_')}": text for name, text in headers},
        }

    def call(self):
        """One call, as a server makes it; returns status and body."""
        said = []

        def start_response(status, headers, exc_info=None):  # noqa: ARG001 - PEP 3333
            said[:] = [status]
            return written.append

        written = []
        environ = self.environ.copy()
        environ["wsgi.input"] = io.BytesIO()
        answer = self.application(environ, start_response)
        try:
            written.extend(answer)
        finally:
            close = getattr(answer, "close", None)
            if close is not None:
                close()
        return said[0], b"".join(written)

    def batch(self, operations, value):
        right, body, call = 0, self.workload.body, self.call
        value.start()
        for _ in repeat(None, operations):
            status, given = call()
            right += status[:3] == "200" and (body is None or given == body)
        value.stop()
        value.counts["checked"] = right

    def teardown(self):
        shutil.rmtree(self.folder)


main(InProcess)

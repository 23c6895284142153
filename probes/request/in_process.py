#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""in_process - the application called without any server: its own share of what a request costs.

It gets an environ as PEP 3333 asks for, new for each call, and its answer is taken in pieces and closed, as a server
would. It runs on the CPU where the servers run.
Known answer: the body of each application.  Overhead: making the environ, about 0.2 us, and comparing the body.
Limits: no network, no connections, no parsing. Files are read, where a server would have the kernel send them. What a
database or a search daemon takes is in the time of a call, not in its CPU time.
Source: PEP 3333.
"""

import os
import shutil
import sys
import tempfile
from itertools import repeat

_SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")
sys.path[0] = os.path.join(_SUPPORT, "request")
sys.path.insert(1, os.path.join(_SUPPORT, "python"))

import calling  # noqa: E402
import workloads  # noqa: E402
from generators import BROWSER_HEADERS  # noqa: E402
from probe import Choice, Integer, Metric, Probe, main  # noqa: E402


class InProcess(Probe):
    title = "the application, without a server"
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
        Choice("application", workloads.DOC, workloads.NAMES, ("hello",)),
        Integer("headers", "headers of a request, Host included", "1", (1,), 1, 1 + len(BROWSER_HEADERS)),
    )

    def setup(self):
        self.folder = tempfile.mkdtemp(prefix="request-")
        self.workload = workloads.make(self.given["application"], self.folder, self.cpu_of(1))
        self.application = self.workload.load()
        self.environ = calling.environ_for(self.workload.path, BROWSER_HEADERS[: self.given["headers"] - 1])

    def batch(self, operations, value):
        right, body, call = 0, self.workload.body, calling.call
        application, environ = self.application, self.environ
        value.start()
        for _ in repeat(None, operations):
            answered = call(application, environ)
            right += answered.status[:3] == "200" and (body is None or answered.body == body)
        value.stop()
        value.counts["checked"] = right

    def teardown(self):
        if self.workload.store:
            self.workload.store.end()
        shutil.rmtree(self.folder)


main(InProcess)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""epoll_floor - the least that answers: one thread of C, three system calls a request, no server at all.

What a server costs beyond it, it spends on being one. Known answer: the body.
Limits: hello alone; a request is whatever ends with an empty line.
Source: probes/support/request/epoll_floor.c.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "request")

from server import Server, main, workloads  # noqa: E402


class EpollFloor(Server):
    title = "a bare epoll loop"
    cannot = dict.fromkeys({*workloads.NAMES} - {"hello"}, "answers every request alike")
    most_workers = most_threads = 1

    def command(self):
        return [self.support("epoll_floor"), str(self.port), "hello world"]


main(EpollFloor)

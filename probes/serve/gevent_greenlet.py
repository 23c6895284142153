#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gevent_greenlet - a greenlet for each connection: blocking code on gevent's loop, as the study of 2013 compares with.

Known answer: checksum and result of each request.  Limits: one CPU.
Source: the documentation of gevent's StreamServer.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "serve")

import serve  # noqa: E402


def _serve() -> None:
    from gevent import monkey

    monkey.patch_all()
    from gevent.lock import Semaphore
    from gevent.server import StreamServer

    serve.lock = Semaphore()
    StreamServer(serve.listening(), lambda taken, _address: serve.connection(taken)).serve_forever()


serve.main("greenlet a connection, by gevent", "documentation of gevent", _serve, "gevent")

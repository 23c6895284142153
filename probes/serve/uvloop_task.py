#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""uvloop_task - the same task for each connection on uvloop, the loop of libuv.

Known answer: checksum and result of each request.  Limits: one CPU.
Source: Selivanov, uvloop: Blazing fast Python networking (2016).
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "serve")

import asyncio  # noqa: E402

import serve  # noqa: E402
import streams  # noqa: E402


def _serve() -> None:
    import uvloop

    uvloop.install()
    asyncio.run(streams.service())


serve.main("asyncio task on uvloop", "Selivanov, uvloop (2016)", _serve, "uvloop")

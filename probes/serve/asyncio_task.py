#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""asyncio_task - a task for each connection on asyncio's own loop, by its streams.

Known answer: checksum and result of each request.  Limits: one CPU.
Source: the documentation of asyncio's streams.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "serve")

import asyncio  # noqa: E402

import serve  # noqa: E402
import streams  # noqa: E402

serve.main("asyncio task a connection", "documentation of asyncio", lambda: asyncio.run(streams.service()))

# SPDX-License-Identifier: Apache-2.0
"""The service by asyncio's streams, whichever loop runs them."""

from __future__ import annotations

import asyncio
import socket
from typing import List, Optional, Tuple

import serve

#: The lock of the service: one, made when there is a loop.
_locks: List[asyncio.Lock] = []


class _Asked:
    """A connection's own to the service that its requests wait for, made for the first question."""

    def __init__(self) -> None:
        self._streams: Optional[Tuple[asyncio.StreamReader, asyncio.StreamWriter]] = None

    async def wait(self, wait_us: int) -> None:
        """Ask and wait for the answer; sleep where there is nobody to ask."""
        if serve.asked_port is None:
            await asyncio.sleep(wait_us / 1e6)
            return
        if self._streams is None:
            self._streams = await asyncio.open_connection(serve.HOST, serve.asked_port)
        reader, writer = self._streams
        asked = serve.question(wait_us)
        writer.write(asked)
        await reader.readexactly(len(asked))

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


async def _deep(request: serve.Request, steps: int, depth: int, asked: _Asked) -> int:
    if depth > 1:
        return await _deep(request, steps, depth - 1, asked)
    state = serve.work(request.crc, steps // 2)
    if request.wait_us:
        await asked.wait(request.wait_us)
    if request.lock:
        async with _locks[0]:
            return serve.work(state, steps - steps // 2)
    return serve.work(state, steps - steps // 2)


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    data = b""
    asked = _Asked()
    try:
        while True:
            request = serve.parse(data)
            if request is not None:
                steps = serve.steps_of(request)
                writer.write(serve.answer(request, steps, await _deep(request, steps, request.depth, asked)))
                await writer.drain()
                data = data[request.size :]
                continue
            chunk = await reader.read(1 << 16)
            if not chunk:
                break
            data += chunk
    except ValueError:
        writer.write(serve.REFUSAL)
    except ConnectionError:
        pass
    asked.close()
    writer.close()


async def service() -> None:
    """Serve for ever."""
    _locks.append(asyncio.Lock())
    listener = serve.listening()
    start = asyncio.start_unix_server if listener.family == socket.AF_UNIX else asyncio.start_server
    server = await start(_connection, sock=listener, backlog=4096)
    await server.serve_forever()

# SPDX-License-Identifier: Apache-2.0
"""The service by asyncio's streams, whichever loop runs them."""

from __future__ import annotations

import asyncio
from typing import List

import serve

#: The lock of the service: one, made when there is a loop.
_locks: List[asyncio.Lock] = []


async def _deep(request: serve.Request, steps: int, depth: int) -> int:
    if depth > 1:
        return await _deep(request, steps, depth - 1)
    state = serve.work(request.crc, steps // 2)
    if request.wait_us:
        await asyncio.sleep(request.wait_us / 1e6)
    if request.lock:
        async with _locks[0]:
            return serve.work(state, steps - steps // 2)
    return serve.work(state, steps - steps // 2)


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    data = b""
    try:
        while True:
            request = serve.parse(data)
            if request is not None:
                steps = serve.steps_of(request)
                writer.write(serve.answer(request, steps, await _deep(request, steps, request.depth)))
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
    writer.close()


async def service() -> None:
    """Serve for ever."""
    _locks.append(asyncio.Lock())
    server = await asyncio.start_server(_connection, sock=serve.listening(), backlog=4096)
    await server.serve_forever()

# SPDX-License-Identifier: Apache-2.0
"""`wrk` and `oha`: the load of `serve/` by generators that nobody here wrote, on the same programs at the same rate.

Started by itself, `python -m benchmarks.peers.loads`, this is the peer's side: it starts a model of the service on the
last CPU, loads it from the first, and prints the CPU time of a request and the latencies as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

from benchmarks.peers import Peer
from steelyard.measure import catalog

_TARGET = "/50000/1000/1/0/100"
_ASKED = "work_ns=50000,wait_us=1000,depth=1,size=0,answer=100"
_CONNECTIONS = 50
#: oha's clock has a step of a millisecond, and a request of this service ends 1.05 ms after it begins: where requests
#: come more often than that, a service is woken once for two of them or not, as their phases happen to lie.
_RATE = 500
_SECONDS = 3.0
_WARM_S = 0.3
_READY_WITHIN_S = 10.0


def _peer(generator: str, model: str, metric: str, target: tuple[float, float]) -> Peer:
    rate = _RATE if generator == "oha" else 0
    offered = f"rate={rate},arrivals=constant" if rate else "arrivals=closed"
    return Peer(
        name=f"{generator} {metric}, {model}",
        case=f"serve/{model}[{offered},connections={_CONNECTIONS},{_ASKED}]@cross",
        metric=metric,
        command=(sys.executable, "-m", "benchmarks.peers.loads", generator, model, str(rate)),
        figure=lambda printed: float(json.loads(printed)[metric]),
        same=f"{_CONNECTIONS} connections, {f'{rate} a second' if rate else 'a closed loop'}; GET where ours is POST",
        target=target,
        values=60 if rate else 30,  # a p99 takes 1000 requests
        needs=(generator,),
    )


PEERS = tuple(
    _peer(generator, model, metric, target)
    for generator in ("oha", "wrk")
    for model in ("epoll", "thread", "goroutine")
    for metric, target in (("cpu", (0.95, 1.05)), ("p99", (0.85, 1.15)))
)


def _clock(pid: int) -> int:
    """The id of the CPU clock of all threads of a process (clock_getcpuclockid)."""
    return (~pid << 3) | 2


def _measure(generator: str, model: str, rate: int) -> dict[str, float]:
    """The same figures as a probe has them, by another generator."""
    support = catalog.native_folder() / "probes" / "support"
    sys.path[:0] = [str(support / name) for name in ("python", "request", "serve")]
    import drive
    import generators

    cpus = sorted(os.sched_getaffinity(0))
    port = drive.free_port()
    program = catalog.find_programs(catalog.probe_folders())[f"serve/{model}"]
    command = [*catalog.command(program), "--serve", str(port), str(_CONNECTIONS)]
    service = subprocess.Popen(["taskset", "-c", str(cpus[-1]), *command])
    os.sched_setaffinity(0, cpus[:1])
    try:
        end = time.monotonic() + _READY_WITHIN_S
        while time.monotonic() < end:
            try:
                drive.ask(port, _TARGET, b"")
                break
            except OSError:
                time.sleep(0.01)
        with tempfile.TemporaryDirectory() as folder:
            demand = generators.Demand(
                url=f"http://{drive.HOST}:{port}{_TARGET}",
                connections=_CONNECTIONS,
                keep_alive=True,
                headers=(),
                rate=rate,
                length=100,
                folder=folder,
            )
            one = generators.GENERATORS[generator]
            one.load(demand, 1000, _WARM_S)
            began = time.clock_gettime_ns(_clock(service.pid))
            load = one.load(demand, round(_SECONDS * 20_000), _SECONDS)
            cpu_ns = time.clock_gettime_ns(_clock(service.pid)) - began
    finally:
        service.kill()
        service.wait()
    return {"cpu": cpu_ns / 1e9 / load.answered, "p99": load.percentiles["p99"]}


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], sys.argv[2], int(sys.argv[3]))))

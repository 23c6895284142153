# SPDX-License-Identifier: Apache-2.0
"""Sessions that may be published, and what is published of them: a few cases of probes with their controls."""

from __future__ import annotations

import msgspec

from steelyard.judge.publication import Prepared, prepare
from steelyard.records import Descriptor, End, Publication, Session
from tests.making import a_machine
from tests.reporting import CONTROLS
from tests.unit.judge.sessions import steady, weighed

FACTS = {
    "architecture": "x86_64",
    "cpu": "AMD EPYC 7B13",
    "cpu family/model/stepping": "25/1/1",
    "logical cpus": "2",
    "cores": "1",
    "numa nodes": "1",
    "caches": "L1d 32K, L1i 32K, L2 512K, L3 32768K",
    "memory": "8 GiB",
    "hypervisor": "yes",
}
ENVIRONMENT = {
    "kernel": "6.1.0-13-cloud-amd64",
    "kernel version": "#1 SMP built by root@build7",
    "libc": "glibc 2.36",
    "mitigations": "spectre_v1: Mitigation: usercopy/swapgs barriers and __user pointer sanitization; mds: Vulnerable",
    "governor": "schedutil",
    "clocksource": "tsc",
    "smt": "1",
    "aslr": "2",
    "transparent huge pages": "madvise",
    "timer slack ns": "50000",
    "cgroup cpu limit": "max",
    "microcode": "0xa0011d1",
    "platform": "Google",
    "instance type": "unknown",
    "boot id": "b0a37259-2547-48e9-b096-e074143b227a",
}
COSTS = {
    "call/loop@same": 0.3e-9,
    "call/direct@same": 1.4e-9,
    "switch/yield[contexts=2,kind=thread]@same": 4e-7,
    "message/latency_pipe[size=1,kind=process]@cross": 1.1e-5,
}
TITLES = {"call/direct": "function call", "switch/yield": "sched_yield", "message/latency_pipe": "pipe"}
BLOCKS = 8


def a_session(
    *, factor: float = 1.0, seed: int = 7, started: str = "2026-01-02T03:04:05+00:00", **facts: str
) -> Session:
    """A session that may be published, so many times slower than the usual one, of a machine with these facts."""
    costs = {name: steady(cost * factor, BLOCKS) for name, cost in COSTS.items()}
    session = weighed(
        costs | {name: steady(cost, BLOCKS) for name, cost in CONTROLS.items()},
        baselines={"call/direct@same": "call/loop@same"},
        titles=TITLES,
    )
    probes = {
        name: msgspec.structs.replace(
            found,
            sha256="ab" * 32,
            descriptor=msgspec.structs.replace(found.descriptor, placements=("same", "cross", "free")),
        )
        for name, found in session.header.probes.items()
    }
    header = msgspec.structs.replace(
        session.header,
        probes=probes,
        machine=a_machine(facts=FACTS | facts, environment=ENVIRONMENT),
        seed=seed,
        started=started,
        versions={"steelyard": "0.1.0", "python": "3.11.7"},
        command=("run", "call/*", "-o", "/home/alice/a.session.jsonl"),
    )
    cases = tuple(
        msgspec.structs.replace(planned, control=planned.case.name in CONTROLS) for planned in session.plan.cases
    )
    built = {"compiler": "gcc-compatible 12.2.0", "flags": "-O2 -g -Wall"}
    return msgspec.structs.replace(
        session,
        header=header,
        plan=msgspec.structs.replace(session.plan, blocks=BLOCKS, cases=cases),
        runs=tuple(msgspec.structs.replace(run, **built) for run in session.runs),
        end=End(at="2026-01-02T03:09:05+00:00", reason="blocks", blocks=BLOCKS, wall_s=300.0, timed_s=200.0),
    )


def known(session: Session) -> dict[str, Descriptor]:
    """What the probes of a session say of themselves."""
    return {name: found.descriptor for name, found in session.header.probes.items()}


def prepared(session: Session, **more: object) -> Prepared:
    """What is published of a session all of whose probes are ours, and what is not."""
    return prepare(session, known(session), **more)


def a_publication(*, instance: str = "", usd_an_hour: float | None = None, **about: object) -> Publication:
    """A published session; the keywords are those of `a_session`."""
    return prepared(a_session(**about), instance=instance, usd_an_hour=usd_an_hour).publication


def sealed(of: Publication, **changes: object) -> Publication:
    """A publication with other fields and the digest that belongs to them."""
    changed = msgspec.structs.replace(of, **changes)
    return msgspec.structs.replace(changed, digest=changed.checksum)

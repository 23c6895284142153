# SPDX-License-Identifier: Apache-2.0
"""What many suspended contexts of one kind take of memory: common to the Python probes under memory/.

All contexts are made once, before the first batch. In a batch each of them is resumed, counts, and is suspended again:
that is the proof that they are there, and its time is reported. Then the resident memory is read and compared with what
it was before the first was made. The objects of Python that belong to a context are in the figure; what it would hold
in its variables is not.
"""

from __future__ import annotations

import gc
from typing import NamedTuple

from probe import Integer, Metric, Probe, Value, skip

METRICS = (
    Metric(
        "resident", "B", "lower", "resident_bytes", "operations", "resident bytes of user space a suspended context"
    ),
    Metric("page_tables", "B", "lower", "page_table_bytes", "operations", "page tables a suspended context"),
    Metric("resume", "s", "lower", "wall", "operations", "time to resume a context and suspend it again"),
)


class Memory(NamedTuple):
    """Memory of this process, in bytes."""

    resident: int
    page_tables: int


def memory_now() -> Memory:
    """Resident pages of user space, and page tables; skips the run where the kernel does not say."""
    return Memory(_field("/proc/self/smaps_rollup", "Rss"), _field("/proc/self/status", "VmPTE"))


def _field(path: str, name: str) -> int:
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        skip(f"{path} cannot be read: this kernel does not say what memory it uses")
    return 0


class MemoryProbe(Probe):
    """A probe whose contexts are made by `suspend_all` and resumed, each once, by `resume_all`."""

    source = "proc_pid_smaps(5): Rss"
    operation = "one context among many, resumed and suspended again; memory is read while all are suspended"
    statistic = "median"
    placements = ("same",)
    uses = ("cpu",)
    metrics = METRICS
    rehearsals = 0  # bytes are the subject, and each batch is of all contexts
    parameters = (
        Integer("contexts", "contexts that are suspended", "1", (10_000, 100_000), 23, 2_000_000, brief=(10_000,)),
    )

    def prepare(self) -> None:
        """What must be there before the memory is read for the first time: modules, an event loop."""

    def suspend_all(self, contexts: int) -> None:
        """Make that number of them, and have each run until it is suspended."""
        raise NotImplementedError

    def resume_all(self) -> int:
        """Resume each once; returns how many have counted it and are suspended again."""
        raise NotImplementedError

    def setup(self) -> None:
        """Make them all."""
        self.prepare()
        gc.collect()
        self.before = memory_now()
        self.suspend_all(self.given["contexts"])

    def batch(self, operations: int, value: Value) -> None:  # noqa: ARG002 - a round is of all contexts
        """Resume them all, however few were asked for, and read the memory."""
        value.operations = self.given["contexts"]
        value.start()
        resumed = self.resume_all()
        value.stop()
        now = memory_now()
        value.counts["checked"] = resumed
        value.counts["resident_bytes"] = max(0, now.resident - self.before.resident)
        value.counts["page_table_bytes"] = max(0, now.page_tables - self.before.page_tables)

# SPDX-License-Identifier: Apache-2.0
"""Probe protocol 1 for probes written in Python; docs/reference/protocol.md is its contract.

A probe derives from `Probe` and ends in `main(...)`. The rest is done here: --describe, --selftest, key=value, finding
the number of operations, values, JSON lines, the deadline. probes/call/python_loop.py is the skeleton to copy. Identity
(question/way) comes from the path of the file: no name is typed twice.

Standard library only, and Python 3.8 or later: what is measured is the interpreter that runs the probe, and older ones
are to be compared as well. The garbage collector runs as it does in any program.

Exit codes: 0 right, 1 failed, 2 wrong usage, 77 cannot run here (the reason is the last line on stderr).
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple, Type, Union

PROTOCOL = 1
_SELFTEST_OPERATIONS = 23  # a prime, so that rounding to a batch size shows
_MOST_OPERATIONS = 1 << 40
_COUNTED_VALUES = 3  # counts vary little: three tell an outlier
_USAGE = "(--describe, --selftest, --operations, --values, --target, --deadline, --placement, --json, key=value)"


class Metric(NamedTuple):
    """One reported figure: quantity `over` divided by quantity `per` of the same value.

    A quantity is "wall" (seconds on the clock times `lanes`), "cpu", "user", "system" (seconds), "operations", "one",
    or the name of a count or reading of the value.
    """

    name: str
    unit: str  #: base unit: "s", "B", "B/s", "1"
    better: str  #: "lower", "higher" or "neither"
    over: str
    per: str
    doc: str


class Integer(NamedTuple):
    """An integer parameter from `minimum` to `maximum`; the first of `sweep` is used when nothing is said."""

    name: str
    doc: str
    unit: str
    sweep: Tuple[int, ...]
    minimum: int
    maximum: int
    brief: Tuple[int, ...] = ()
    curves: Tuple[str, ...] = ()  #: metrics that are drawn over it beside the main one

    def read(self, text: str) -> int:
        """The value that a text stands for; ends the probe when it is out of limits."""
        try:
            number = int(text)
        except ValueError:
            number = self.minimum - 1
        if not self.minimum <= number <= self.maximum:
            _refuse(f'{self.name} is an integer from {self.minimum} to {self.maximum}, not "{text}"')
        return number

    def described(self) -> Dict[str, Any]:
        """The entry of the descriptor."""
        kind = {"name": self.name, "type": "integer", "doc": self.doc, "unit": self.unit}
        limits = {"minimum": self.minimum, "maximum": self.maximum, "sweep": self.sweep}
        more = {name: words for name, words in (("brief", self.brief), ("curves", self.curves)) if words}
        return {**kind, **limits, **more}


class Choice(NamedTuple):
    """A parameter that is one of some words; the first of `sweep` is used when nothing is said."""

    name: str
    doc: str
    choices: Tuple[str, ...]
    sweep: Tuple[str, ...]
    brief: Tuple[str, ...] = ()

    def read(self, text: str) -> str:
        """The word, if it is one of the choices; ends the probe if not."""
        if text not in self.choices:
            _refuse(f'{self.name} is one of {",".join(self.choices)}, not "{text}"')
        return text

    def described(self) -> Dict[str, Any]:
        """The entry of the descriptor."""
        kind = {"name": self.name, "type": "choice", "doc": self.doc, "choices": self.choices, "sweep": self.sweep}
        return {**kind, **({"brief": self.brief} if self.brief else {})}


class _Usage(NamedTuple):
    """What the process has used so far, in nanoseconds and numbers."""

    user: int
    system: int
    voluntary: int
    involuntary: int
    faults: int
    delay: int


class Value:
    """One timed batch. `operations` is preset to what was asked for; a batch that did another number says so here."""

    def __init__(self, operations: int, counters: Any = None) -> None:
        self.operations = operations
        self.wall_ns = 0
        self.lanes = 1  #: CPUs on which operations went on at the same time
        self.counts: Dict[str, int] = {}
        self.readings: Dict[str, float] = {}
        self._before: Optional[_Usage] = None
        self._used = _Usage(0, 0, 0, 0, 0, 0)
        self._began_ns = 0
        self._of_others = False
        self._counters = counters
        self._counted: Dict[str, Any] = {}
        self.again: Optional[Value] = None  #: the batch that was run again for the counters

    def start(self) -> None:
        """Begin the timed part: the clock is read last."""
        self._before = _usage_now()
        if self._counters is not None:
            self._counted = self._counters.read()
        self._began_ns = now_ns()

    def stop(self) -> None:
        """End the timed part: the clock is read first."""
        ended_ns = now_ns()
        if self._counters is not None:
            last = self._counters.read()
            self._counted = {
                name: [after - before for before, after in zip(first, last[name])]
                for name, first in self._counted.items()
            }
        after = _usage_now()
        if self._before is None:
            fail("a batch stopped what it never started")
        self.wall_ns = ended_ns - self._began_ns
        self._used = _Usage(*(last - first for last, first in zip(after, self._before)))

    def stands_for(self, wall_ns: int, cpu_ns: int) -> None:
        """Put the times of what was measured in place of those of this process, which only started it."""
        self.wall_ns = wall_ns
        self._used = _Usage(user=cpu_ns, system=0, voluntary=0, involuntary=0, faults=0, delay=0)
        self._of_others = True

    @property
    def switches(self) -> int:
        """How often the process's threads were switched away from in the timed part."""
        return self._used.voluntary + self._used.involuntary

    @property
    def timed(self) -> bool:
        """Whether a batch has called start()."""
        return self._before is not None

    def line(self) -> Dict[str, Any]:
        """The line of the protocol."""
        own = {
            "user_ns": self._used.user,
            "system_ns": self._used.system,
            "voluntary": self._used.voluntary,
            "involuntary": self._used.involuntary,
            "minor_faults": self._used.faults,
            "run_delay_ns": self._used.delay,
        }
        return {
            "type": "value",
            "operations": self.operations,
            "wall_ns": self.wall_ns,
            "lanes": self.lanes,
            "cpu_ns": self._used.user + self._used.system,
            **({} if self._of_others else own),
            "counts": self.counts,
            "readings": self.readings,
            **({"counters": self.again.counted()} if self.again else {}),
        }

    def counted(self) -> Dict[str, Any]:
        """What the processor counted in this batch."""
        return {"operations": self.operations, "events": self._counted}


class Probe:
    """What a probe says about itself, and what it does. Everything that has no value here is required."""

    question: str  #: the question in a sentence
    operation: str  #: what ONE operation is: one way or round trip, with or without creation
    source: str  #: where the measurement comes from in the literature
    statistic: str  #: "lower_quartile" for pure CPU cost, "median" where waiting is the subject
    placements: Tuple[str, ...]  #: those of same, cross, free that make sense, the default first
    uses: Tuple[str, ...]  #: those of cpu, sched, ipc, disk, net that it loads
    metrics: Tuple[Metric, ...]  #: the first is the main figure
    value_ms: int = 0  #: a session's values need be no longer; 0: as long as it asks for
    #: Shortest batches before the first value. From Python 3.11 on a function is specialised when it has been called
    #: some times, 8 in 3.11, however long it runs: values before that are of other code than those after.
    rehearsals: int = 10
    #: Whether this process does the work, so that what the processor counts in it is the work's.
    works_itself: bool = True
    parameters: Tuple[Union[Integer, Choice], ...] = ()
    title: Optional[str] = None  #: what people call it, in a few plain words
    properties: Dict[str, str] = {}  #: what is known of it without measuring, for whoever has to choose
    family: Optional[str] = None  #: the name under which ways of one question are drawn and tabled together
    baseline: Optional[str] = None  #: "question/way" of the case that measures this one's overhead

    # Of this run, set before setup() is called:
    placement: str
    cpus: Tuple[int, ...]  #: where this run may go, in order
    given: Dict[str, Any]  #: the parameters' values by name

    def __init__(self) -> None:
        self.caveats: List[Dict[str, Any]] = []
        self.values: List[Value] = []  #: of this run, when teardown() is called

    @classmethod
    def lacks(cls) -> Optional[str]:
        """Why it cannot run here, and what to install; None where nothing is missing. Asked before anything else."""
        return None

    def setup(self) -> None:
        """Called once before the first batch, untimed."""

    def batch(self, operations: int, value: Value) -> None:
        """Do operations between value.start() and value.stop(); counts["checked"] gets how many are proven."""
        raise NotImplementedError

    def teardown(self) -> None:
        """Called once after the last batch, untimed."""

    def selftest(self) -> None:
        """A known answer beyond `checked`; fail() if wrong."""

    def histograms(self) -> Dict[str, Dict[int, int]]:
        """Nanoseconds of the run that were taken one by one, by name: how many, by the least that a bucket holds.

        Asked after teardown(). The buckets are those of probes/support/c/histogram.h.
        """
        return {}

    def versions(self) -> Dict[str, str]:
        """Versions of what is measured beside the interpreter, for the record of each run; asked after setup()."""
        return {}

    def caveat(self, text: str, metrics: Tuple[str, ...] = (), fault: bool = False) -> None:
        """Note a doubt that travels with the result; once a run however often it is said.

        metrics: those that it concerns, if not all. fault: it says what the measured program does wrong.
        """
        caveat = {"text": text, **({"metrics": metrics} if metrics else {}), **({"fault": True} if fault else {})}
        if caveat not in self.caveats:
            self.caveats.append(caveat)

    def cpu_of(self, party: int) -> Optional[int]:
        """The CPU of a party: with `same` all share one, with `cross` they alternate, with `free` None."""
        return None if self.placement == "free" else self.cpus[party % len(self.cpus)]

    def place(self, party: int) -> None:
        """Move the calling thread to the CPU of its party; does nothing with `free`."""
        cpu = self.cpu_of(party)
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})


# --- ends and clocks --------------------------------------------------------------------------------------------------


def identity() -> str:
    """The program's question/way, from its path."""
    path = os.path.abspath(sys.argv[0])
    return os.path.basename(os.path.dirname(path)) + "/" + os.path.splitext(os.path.basename(path))[0]


def _leave(code: int, reason: str) -> NoReturn:
    os.write(2, f"{identity()}: {reason}\n".encode())
    os._exit(code)  # from any thread, and without the interpreter's own end


def fail(reason: str) -> NoReturn:
    """End the whole probe: it went wrong."""
    _leave(1, reason)


def skip(reason: str) -> NoReturn:
    """End the whole probe: it can't run here."""
    _leave(77, reason)


def _refuse(reason: str) -> NoReturn:
    _leave(2, reason)


now_ns = time.monotonic_ns  #: CLOCK_MONOTONIC


def _run_delay_reader() -> Callable[[], int]:
    try:
        file = os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        int(os.pread(file, 64, 0).split()[1])
    except (OSError, IndexError, ValueError):  # the kernel does not keep it
        return lambda: 0
    return lambda: int(os.pread(file, 64, 0).split()[1])


_run_delay_ns = _run_delay_reader()


def _usage_now() -> _Usage:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return _Usage(
        user=round((own.ru_utime + children.ru_utime) * 1e9),
        system=round((own.ru_stime + children.ru_stime) * 1e9),
        voluntary=own.ru_nvcsw + children.ru_nvcsw,
        involuntary=own.ru_nivcsw + children.ru_nivcsw,
        faults=own.ru_minflt + children.ru_minflt,
        delay=_run_delay_ns(),
    )


# --- the command line -------------------------------------------------------------------------------------------------


class _Options:
    def __init__(self) -> None:
        self.operations: Optional[int] = None
        self.target_ns = 10_000_000
        self.values = 9
        self.deadline_s = 60


def _count(option: str, text: str) -> int:
    if not (text.isdigit() and 0 < int(text) <= _MOST_OPERATIONS):
        _refuse(f'{option} takes a number from 1 to 2^40, not "{text}"')
    return int(text)


def _duration_ns(option: str, text: str) -> int:
    number = text.rstrip("nums")
    factor = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}.get(text[len(number) :])
    if factor and number.count(".") < 2 and number.replace(".", "").isdigit() and 0 < float(number) * factor < 1e18:
        return int(float(number) * factor)
    return _refuse(f'{option} takes a duration such as 10ms, not "{text}"')


def _parse(probe: Probe, arguments: Sequence[str]) -> _Options:
    options = _Options()
    probe.placement = probe.placements[0]
    probe.given = {parameter.name: parameter.sweep[0] for parameter in probe.parameters}
    known = {parameter.name: parameter for parameter in probe.parameters}
    words = iter(arguments)
    for word in words:
        name, equals, text = word.partition("=")
        if word == "--json":
            continue  # it prints nothing else
        if word.startswith("--"):
            argument = next(words, None)
            if argument is None:
                _refuse(f"{word} takes an argument")
            _set_option(probe, options, word, argument)
        elif not equals:
            _refuse(f'"{word}" is neither an option nor key=value')
        elif name not in known:
            _refuse(f'no parameter is called "{name}"; --describe lists them')
        else:
            probe.given[name] = known[name].read(text)
    return options


def _set_option(probe: Probe, options: _Options, option: str, argument: str) -> None:
    if option == "--operations":
        options.operations = _count(option, argument)
    elif option == "--values":
        options.values = _count(option, argument)
    elif option == "--target":
        options.target_ns = _duration_ns(option, argument)
    elif option == "--deadline":
        options.deadline_s = max(1, _duration_ns(option, argument) // 1_000_000_000)
    elif option == "--placement":
        if argument not in probe.placements:
            _refuse(f'--placement is one of {",".join(probe.placements)}, not "{argument}"')
        probe.placement = argument
    else:
        _refuse(f"unknown option {option} {_USAGE}")


def _place(probe: Probe) -> None:
    """Where nobody restricted the CPUs, `same` takes the last one: CPU 0 is the one that interrupts prefer."""
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    probe.cpus = allowed[-1:] if probe.placement == "same" else allowed
    if probe.placement == "cross" and len(allowed) < 2:
        skip("placement cross needs two CPUs and this process may use one")
    probe.place(0)


# --- running ----------------------------------------------------------------------------------------------------------


def _batch(probe: Probe, operations: int, counters: Any = None) -> Value:
    value = Value(operations, counters)
    probe.batch(operations, value)
    if not value.timed:
        fail("a batch never began its timed part")
    if value.operations == 0:
        fail("a batch did no operation at all")
    checked = value.counts.get("checked")
    if checked is None:
        fail('a value lacks the count "checked"')
    if checked != value.operations:
        fail(f"{value.operations} operations were timed but {checked} were proven to have happened")
    return value


def _find_operations(probe: Probe, target_ns: int) -> int:
    """The number of operations whose batch takes about target_ns.

    Grows by at most 10 so that a slow first batch (the interpreter specialises, pages are touched) does not settle it.
    """
    operations = 1
    for attempt in range(40):
        value = _batch(probe, operations)
        factor = target_ns / max(1, value.wall_ns)
        # From what was done, not from what was asked for: a probe may do far more, and then the time was for that.
        wanted = max(1, round(value.operations * min(10.0, factor)))
        if wanted > _MOST_OPERATIONS:
            return operations
        settled = 0.8 * operations <= wanted <= 1.2 * operations
        close_enough = 0.25 < factor < 4 and attempt > 20  # a noisy machine never settles
        operations = wanted
        if settled or close_enough:
            break
    return operations


def _selftest(probe: Probe) -> None:
    probe.setup()
    value = _batch(probe, _SELFTEST_OPERATIONS)
    # How many others do in a time is up to the machine.
    asked = _SELFTEST_OPERATIONS if probe.works_itself else 1
    if value.operations < asked:
        fail(f"{asked} operations were asked for and {value.operations} done")
    probe.teardown()
    probe.selftest()


def _count_values(probe: Probe, operations: int, values: Sequence[Value]) -> Dict[str, str]:
    """Run batches like those that were timed with the counters open; returns what the line `meta` says of it."""
    if not probe.works_itself:
        return {"counters_absent": "the work is done by another process"}
    import counters  # with ctypes it takes as long as a value: when all are timed

    try:
        opened = counters.Counters()
    except counters.Absent as absent:
        return {"counters_absent": str(absent)}
    for value in values[:_COUNTED_VALUES]:
        value.again = _batch(probe, operations, opened)
    opened.close()
    return {"counters": opened.scope, **({"counters_absent": opened.absent} if opened.absent else {})}


def _measure(probe: Probe, options: _Options) -> None:
    probe.setup()
    for _ in range(probe.rehearsals):
        _batch(probe, 1)
    search_ns = 0
    if options.operations is None:
        began_ns = now_ns()
        operations = _find_operations(probe, options.target_ns)
        search_ns = now_ns() - began_ns
    else:
        operations = options.operations
        _batch(probe, 1 + operations // 8)  # warm-up: a first batch's page faults are not the subject
    versions = probe.versions()
    probe.values = values = [_batch(probe, operations) for _ in range(options.values)]
    counted = _count_values(probe, operations, values)
    probe.teardown()
    meta = {
        "type": "meta",
        "protocol": PROTOCOL,
        "probe": identity(),
        "parameters": probe.given,
        "placement": probe.placement,
        "cpus": probe.cpus,
        "operations": operations,
        "compiler": interpreter(),
        "flags": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "clock": "CLOCK_MONOTONIC",
        "search_ns": search_ns,
        **counted,
    }
    caveats = [{"type": "caveat", **caveat} for caveat in probe.caveats]
    histograms = [
        {"type": "histogram", "name": name, "unit": "s", "scale": 1e-9, "buckets": sorted(buckets.items())}
        for name, buckets in probe.histograms().items()
    ]
    lines = (*(value.line() for value in values), *caveats, *histograms, {"type": "end", "values": len(values)})
    _print(meta, *lines)


def _print(*lines: Dict[str, Any]) -> None:
    try:
        for line in lines:
            sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
        sys.stdout.flush()
    except OSError as error:
        fail(f"cannot write to standard output: {error.strerror}")


def interpreter() -> str:
    """Name and version of the interpreter, and what is unusual about it."""
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)
    locked: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    return f"{name} {sys.version.split()[0]}{'' if locked else ' without the global interpreter lock'}"


def _describe(kind: Type[Probe]) -> None:
    lacks = kind.lacks()
    description = {
        "protocol": PROTOCOL,
        "probe": identity(),
        **{name: getattr(kind, name) for name in ("question", "operation", "source", "statistic", "baseline")},
        **{name: getattr(kind, name) for name in ("title", "family") if getattr(kind, name)},
        **({"properties": kind.properties} if kind.properties else {}),
        "placements": kind.placements,
        "uses": kind.uses,
        "metrics": [metric._asdict() for metric in kind.metrics],
        "parameters": [parameter.described() for parameter in kind.parameters],
        **({"value_ms": kind.value_ms} if kind.value_ms else {}),
        **({"lacks": lacks} if lacks else {}),
    }
    _print(description)


def _out_of_time(_signal: int, _frame: object) -> NoReturn:
    fail("not finished within the deadline")


def main(kind: Type[Probe]) -> NoReturn:
    """Do what the command line asks of this probe, and end the process."""
    arguments = sys.argv[1:]
    if arguments == ["--describe"]:
        _describe(kind)
    else:
        test = arguments == ["--selftest"]
        probe = kind()
        options = _parse(probe, [] if test else arguments)
        if lacks := kind.lacks():
            skip(lacks)
        _place(probe)
        signal.signal(signal.SIGALRM, _out_of_time)
        signal.alarm(options.deadline_s)
        try:
            if test:
                _selftest(probe)
            else:
                _measure(probe, options)
        except Exception as error:
            traceback.print_exc()
            fail(f"{type(error).__name__}: {error}")  # at once, whatever threads there are
    os._exit(0)  # a batch's threads and objects need no orderly end

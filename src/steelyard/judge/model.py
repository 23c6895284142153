# SPDX-License-Identifier: Apache-2.0
"""Which model of concurrency should serve a load: predicted from measured parts, before anything is built.

The CPU time of a request is the work that is asked for and what the model adds to it, which a session of serve/ has:
measured without work at this very rate, wait and number of connections, or near them. What that makes of a CPU says how
much a model can do. The latency is the measured one without work, the work, and what a request waits longer for a CPU
that is busier, by the tail of the wait for Poisson arrivals and equal work (M/D/c; Asmussen 2003, Applied Probability
and Queues, XIII.5, for one CPU).

Outside of what was measured nothing is predicted. An interval is that of resampled blocks (Efron 1979), widened by how
far such predictions were off when they were checked (`steelyard prove --choose`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from steelyard.errors import UsageError
from steelyard.judge.choose import Load, Way, figure_of, sample_of
from steelyard.judge.controls import controls, void_reason
from steelyard.judge.curves import way_of
from steelyard.judge.reasons import Said
from steelyard.judge.samples import CaseRuns, FloatArray, case_runs
from steelyard.judge.stats.summary import middle
from steelyard.records import Record, Scalar, Session
from steelyard.units import parse_bytes, parse_duration, parse_rate

#: Its probes are the models of the service.
FAMILY = "serve"
#: The client is one CPU's; what it was checked with beside oha.
MOST_RATE = 200_000
#: A measured case stands for loads each of whose numbers is within this factor of its own. What is added to both before
#: is how much makes no difference: a request has other bytes beside its body.
_WITHIN = 4.0
_ADDED = {"rate": 0, "connections": 0, "wait_us": 100, "depth": 10, "size": 1000, "answer": 1000}
#: A value that both have or neither.
_ALIKE = {"wait_us": 0, "locked_percent": 0, "arrivals": "burst"}
#: How far a prediction may be off beside what its blocks say: see the module's text.
MODEL_ERROR = 0.15
_RESAMPLES = 400
_SEED = 1
_KEEPS_UP = 0.98
#: The share of requests that may take longer than the latency that is predicted.
_TAIL = 0.01

EXAMPLE = """\
# A load for `steelyard choose model`. What is left out is as here, but for rate and cpu, which must be said.

# What arrives.
rate = "1k/s"           # requests a second
arrivals = "poisson"    # at random; or "constant", or "burst": a hundred at a time
connections = 100       # open at the same time
request = "100"         # bytes of a request's body: "64KiB"
answer = "100"          # bytes of an answer's body

# What a request does.
cpu = "50us"            # of work
wait = "1ms"            # for something else, such as a database; "0" if it never waits
depth = 1               # calls below which it waits
lock_share = 0.0        # of the requests, those that do half of their work under one lock

# What there is.
cores = 1               # CPUs for the service
# memory = "1GiB"       # for all connections together; left out: any
# languages = ["c", "go"]  # that may be used; left out: all

# What is wanted. The cheapest model that keeps it is recommended.
[goal]
p99 = "20ms"
"""


class Goal(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What has to be kept."""

    p99: str


class LoadFile(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A load as a person writes it: EXAMPLE says what each is."""

    rate: str
    cpu: str
    arrivals: Literal["poisson", "constant", "burst"] = "poisson"
    connections: int = 100
    request: str = "100"
    answer: str = "100"
    wait: str = "1ms"
    depth: int = 1
    lock_share: float = 0.0
    cores: int = 1
    memory: str | None = None
    languages: tuple[str, ...] = ()
    goal: Goal | None = None


class Serving(Load, frozen=True, kw_only=True):
    """Requests to a service, as serve/ takes them."""

    noun = "model"
    question = "serve"

    rate: int
    work_ns: int
    wait_us: int = 1000
    arrivals: str = "poisson"
    connections: int = 100
    size: int = 100
    answer: int = 100
    depth: int = 1
    locked_percent: int = 0
    cores: int = 1
    memory_bytes: int | None = None
    languages: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """Models of the service."""
        return FAMILY

    @property
    def figures(self) -> tuple[str, ...]:
        """CPU time first: it is what a request takes from everything else."""
        return ("cpu", "p50", "p99", "p999")

    @property
    def points(self) -> tuple[dict[str, Scalar], ...]:
        """There is one."""
        return (self._parameters(self.work_ns),)

    @property
    def without_work(self) -> dict[str, Scalar]:
        """The parameters of the same load whose requests do nothing."""
        return self._parameters(0)

    @property
    def to_measure(self) -> tuple[dict[str, Scalar], ...]:
        """What is measured to predict; on several CPUs also how many of them a model can keep busy."""
        busy = {**self._parameters(self.work_ns), "arrivals": "closed", "rate": 0, "wait_us": 0}
        return (self.without_work, busy) if self.cores > 1 else (self.without_work,)

    def _parameters(self, work_ns: int) -> dict[str, Scalar]:
        names = ("rate", "arrivals", "connections", "wait_us", "depth", "locked_percent", "size", "answer", "cores")
        return {"work_ns": work_ns, **{name: getattr(self, name) for name in names}}


class Predicted(Record, frozen=True, kw_only=True):
    """What a model would do with a load; times in seconds.

    basis: the case that was measured. beside_s: what the model adds to the work. capacity: requests a second that it
    could do. keeps_until: the rate up to which it keeps the goal, or keeps up where there is none. memory_bytes: of all
    connections; fits: whether that is as little as may be; fits_until: so many connections would be, None where that is
    not known or no limit was given. lacks: why it is not recommended, a clause each.
    """

    way: str
    title: str
    language: str
    basis: str
    work_s: float
    beside_s: float
    cpu_s: float
    low_s: float
    high_s: float
    capacity: float
    p99_s: float | None
    keeps_until: float
    memory_bytes: float | None
    fits: bool = True
    fits_until: int | None = None
    lacks: tuple[str, ...] = ()


class Predictions(Record, frozen=True, kw_only=True):
    """All models that were measured near the load, the best first. ``cannot``: by model, why nothing is predicted."""

    path: str
    machine: str
    load: Serving
    models: tuple[Predicted, ...]
    cannot: dict[str, str]
    void: Said | None

    @property
    def able(self) -> tuple[Predicted, ...]:
        """Those that would keep the goal."""
        return tuple(model for model in self.models if not model.lacks)


class Verified(Record, frozen=True, kw_only=True):
    """A prediction beside what was measured of the very load: measured over predicted."""

    way: str
    title: str
    predicted_s: float
    measured_s: float
    ratio: float
    within: bool


def read(text: bytes, name: str, params: Sequence[str] = ()) -> Serving:
    """The load that a file describes, with other entries by ``name=value``; raises UsageError with what is wrong."""
    given = dict(param.partition("=")[::2] for param in params)
    if wrong := [param for param in params if "" in param.partition("=")]:
        raise UsageError(f'--param takes an entry of the load and its value, such as rate=2k/s, not "{wrong[0]}"')
    try:
        entries = {**msgspec.toml.decode(text, type=dict[str, Any]), **given}
        for entry, value in given.items():
            table, dot, key = entry.partition(".")
            if dot:
                entries[table] = {key: entries.pop(entry)}
            elif entry == "languages":
                entries[entry] = value.split(",")
        file = msgspec.convert(entries, LoadFile, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: {error}; `steelyard choose model --example` prints a load that is right") from error
    rate = round(parse_rate(file.rate))
    if not 1 <= rate <= MOST_RATE:
        raise UsageError(f"{name}: rate {file.rate}: the client sends from 1 to {MOST_RATE:,} requests a second")
    if not 0 <= file.lock_share <= 1:
        raise UsageError(f"{name}: lock_share {file.lock_share:g}: a share lies between 0 and 1")
    return Serving(
        rate=rate,
        work_ns=_none_or(file.cpu, 1e9),
        wait_us=_none_or(file.wait, 1e6),
        arrivals=file.arrivals,
        connections=file.connections,
        size=parse_bytes(file.request),
        answer=parse_bytes(file.answer),
        depth=file.depth,
        locked_percent=round(100 * file.lock_share),
        cores=file.cores,
        memory_bytes=None if file.memory is None else parse_bytes(file.memory),
        languages=file.languages,
        goal=None if file.goal is None else "p99",
        at_most=None if file.goal is None else parse_duration(file.goal.p99),
    )


def _none_or(text: str, units_a_second: float) -> int:
    return 0 if text == "0" else round(parse_duration(text) * units_a_second)


def waits(load: float, cpu_s: float, cpus: float, arrivals: str) -> float:
    """How long 99 of 100 requests wait at most for a busy CPU; infinite where it cannot keep up.

    ``load`` is requests a second. Equal work: its variance is none. A burst is one arrival with the work of 100.
    Not a number where it is not known how many CPUs there are.
    """
    busy = load * cpu_s / cpus
    if math.isnan(busy):
        return math.nan
    if busy >= 1:
        return math.inf
    if arrivals == "constant" or busy <= 0:
        return 0.0
    at_once = 100 if arrivals == "burst" else 1
    decay = _decay(busy)
    # How likely a wait is with several CPUs, by Sakasegawa's approximation (1977), which is exact for one.
    several = busy ** (math.sqrt(2 * (cpus + 1)) - 2)
    longer = several * (1 - busy) / (busy * math.exp(decay) - 1)
    queue = math.log(longer / _TAIL) / decay if min(longer, several * busy) > _TAIL else 0.0
    return (at_once * queue + at_once - 1) * cpu_s / cpus


def _decay(busy: float) -> float:
    """By which exponent a wait that is longer by the length of one service is less likely (Cramér & Lundberg's)."""

    def beyond(rate: float) -> bool:
        return busy * math.expm1(rate) > rate

    low, high = 0.0, 1.0
    while not beyond(high):
        high *= 2
    for _ in range(60):
        between = (low + high) / 2
        low, high = (low, between) if beyond(between) else (between, high)
    return high


def predict(session: Session, load: Serving, languages: Mapping[str, str]) -> Predictions:
    """What each model would do with the load. ``languages``: by probe, what it is written in."""
    by_name = {runs.planned.case.name: runs for runs in case_runs(session)}
    by_probe: dict[str, list[CaseRuns]] = {}
    for runs in by_name.values():
        if runs.descriptor.family == load.family and not runs.planned.control:
            by_probe.setdefault(runs.planned.case.probe, []).append(runs)
    models, cannot = [], {}
    for probe, cases in by_probe.items():
        way, language = way_of(probe), languages.get(probe, "")
        if load.languages and language not in load.languages:
            cannot[way] = f"is written in {language or 'an unknown language'}"
            continue
        basis = _nearest(cases, load)
        if basis is None:
            cannot[way] = "was not measured near this load"
        else:
            models.append(_predict(basis, cases, load, language))
    for skip in session.skips:
        probe, _, way = skip.subject.partition("[")[0].partition("@")[0].partition("/")
        if probe == load.question and way not in cannot and f"{probe}/{way}" not in by_probe:
            cannot[way] = skip.reason
    return Predictions(
        path=session.path,
        machine=session.header.machine.facts.get("cpu", "a machine"),
        load=load,
        models=tuple(sorted(models, key=_order)),
        cannot=cannot,
        void=void_reason(controls(session, by_name)),
    )


def together(found: Predictions, more: Predictions) -> Predictions:
    """The predictions of one session with those of another, of models that the first one lacks."""
    models = (*found.models, *more.models)
    there = {model.way for model in models}
    cannot = {way: reason for way, reason in (found.cannot | more.cannot).items() if way not in there}
    return msgspec.structs.replace(
        found,
        path=f"{found.path} and {more.path}",
        models=tuple(sorted(models, key=_order)),
        cannot=cannot,
        void=found.void or more.void,
    )


def _order(model: Predicted) -> tuple[bool, float]:
    """What keeps the goal before what does not, then the cheapest."""
    return bool(model.lacks), model.cpu_s


def _nearest(cases: Iterable[CaseRuns], load: Serving) -> CaseRuns | None:
    """The case that is most like the load, of those that are near enough."""

    def far(runs: CaseRuns) -> float:
        at = runs.planned.case.parameters
        if at.get("arrivals") == "closed" or at.get("waits_for", "timer") != "timer":
            return math.inf
        own = {**load.without_work, **at}
        if own["cores"] != load.cores or not own["rate"]:
            return math.inf
        if any((own[name] == value) != (getattr(load, name) == value) for name, value in _ALIKE.items()):
            return math.inf
        if runs.planned.case.placement != load.placement or not sample_of(runs, "beside_work").size:
            return math.inf
        steps = [
            abs(math.log((int(own[name]) + added) / (getattr(load, name) + added))) for name, added in _ADDED.items()
        ]
        steps.append(abs(math.log((int(own["work_ns"]) + 1e4) / (load.work_ns + 1e4))) / 10)
        return math.inf if max(steps) > math.log(_WITHIN) else sum(steps)

    near = min(cases, key=far, default=None)
    return None if near is None or math.isinf(far(near)) else near


def _predict(basis: CaseRuns, cases: Sequence[CaseRuns], load: Serving, language: str) -> Predicted:
    work_s = load.work_ns / 1e9
    beside = sample_of(basis, "beside_work")
    beside_s = middle(beside)
    cpu_s = work_s + beside_s
    cpus = _cpus(cases, load)
    own_s = figure_of(basis, "cpu") or beside_s
    at = basis.planned.case.parameters
    measured_p99 = figure_of(basis, "p99")
    measured_rate = int(at["rate"])

    def p99(rate: float) -> float:
        if measured_p99 is None:
            return math.nan
        before = waits(measured_rate, own_s, cpus, str(at.get("arrivals", load.arrivals)))
        longer_s = (load.wait_us - int(at.get("wait_us", 0))) / 1e6 + work_s - int(at.get("work_ns", 0)) / 1e9
        return max(0.0, measured_p99 - before) + longer_s + waits(rate, cpu_s, cpus, load.arrivals)

    p99_s = p99(load.rate)
    low_s, high_s = _interval(beside, cpu_s, work_s)
    capacity = cpus / cpu_s if cpu_s > 0 else math.inf
    each = figure_of(basis, "busy_connection")
    fits_until = math.floor(load.memory_bytes / each) if each and load.memory_bytes is not None else None
    fits = fits_until is None or load.connections <= fits_until
    return Predicted(
        way=way_of(basis.planned.case.probe),
        title=basis.descriptor.called,
        language=language,
        basis=basis.planned.case.name,
        work_s=work_s,
        beside_s=beside_s,
        cpu_s=cpu_s,
        low_s=low_s,
        high_s=high_s,
        capacity=capacity,
        p99_s=None if math.isnan(p99_s) else p99_s,
        keeps_until=_keeps_until(p99, capacity, load),
        memory_bytes=None if each is None else each * load.connections,
        fits=fits,
        fits_until=fits_until,
        lacks=tuple(_lacks(p99_s, capacity, basis, load, fits=fits)),
    )


def _cpus(cases: Iterable[CaseRuns], load: Serving) -> float:
    """How many of its CPUs a model can use: what it did where each connection asked again at once."""
    closed = [runs for runs in cases if runs.planned.case.parameters.get("arrivals") == "closed"]
    shares = [figure_of(runs, "share") for runs in closed if runs.planned.case.parameters.get("cores") == load.cores]
    known = [share for share in shares if share]
    return load.cores * min(1.0, max(known)) if known else (1.0 if load.cores == 1 else math.nan)


def _interval(beside: FloatArray, cpu_s: float, work_s: float) -> tuple[float, float]:
    """Of resampled blocks at 90 %, widened by the error of the model."""
    draws = np.random.default_rng(_SEED).choice(beside, size=(_RESAMPLES, beside.size))
    low, high = np.quantile(np.median(draws, axis=1), [0.05, 0.95])
    return float((work_s + low) * (1 - MODEL_ERROR)), float(max(work_s + high, cpu_s) * (1 + MODEL_ERROR))


def _lacks(p99_s: float, capacity: float, basis: CaseRuns, load: Serving, *, fits: bool) -> Iterable[str]:
    share = figure_of(basis, "of_rate")
    if (share is not None and share < _KEEPS_UP) or load.rate >= _KEEPS_UP * capacity:
        yield "does not keep up"
    elif load.at_most is not None and math.isnan(p99_s):
        yield "its latency is not known"
    elif load.at_most is not None and p99_s > load.at_most:
        yield "would miss the goal"
    if not fits:
        yield "takes more memory"


def _keeps_until(p99: Callable[[float], float], capacity: float, load: Serving) -> float:
    """The rate up to which the goal is kept, by halving; the capacity where there is no goal."""
    if load.at_most is None or not math.isfinite(capacity):
        return capacity
    low, high = 0.0, capacity
    for _ in range(50):
        between = (low + high) / 2
        low, high = (between, high) if p99(between) <= load.at_most else (low, between)
    return low


def verified(predictions: Predictions, ways: Iterable[Way]) -> tuple[Verified, ...]:
    """What was predicted of the CPU time of a request beside what it is."""
    models = {model.way: model for model in predictions.models}
    found = [(models[way.way], way.figures.get("cpu")) for way in ways if way.way in models]
    return tuple(
        Verified(
            way=model.way,
            title=model.title,
            predicted_s=model.cpu_s,
            measured_s=measured,
            ratio=measured / model.cpu_s,
            within=model.low_s <= measured <= model.high_s,
        )
        for model, measured in found
        if measured and model.cpu_s > 0
    )

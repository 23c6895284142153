# SPDX-License-Identifier: Apache-2.0
"""How often a healthy fleet has a machine accused, and how often an odd one is found: on synthetic fleets.

200 machines, ten families of six cases, 20 blocks. Two machines of a kind differ: by 0.4 % in a family and 0.4 % more
in each case; two sessions of one machine by 0.3 %; two processes by 1 %. What the machine does meanwhile comes on top,
and is one wander for each session. The planted machine is 5 % slower in one family, or in every fifth run of one family
a fifth slower. Besides ours stand the statistic of CONFIRM with runs shuffled as if machines of a kind were identical,
and the rule of thumb of three standard deviations. The sizes are assumptions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from steelyard.judge.fleet import FleetCase, FleetData, FleetMachine, judge_fleet, levels, log_costs
from steelyard.judge.proving import EFFECT, NOISES, Noise, binomial_bound
from steelyard.judge.stats import mmd

Generator: TypeAlias = np.random.Generator

MACHINES = 200
FAMILIES = 10
CASES_A_FAMILY = 6
BLOCKS = 20

_MACHINE_FAMILY, _MACHINE_CASE, _SESSION, _PROCESS = 0.004, 0.004, 0.003, 0.01
_SHUFFLES = 999
_PLANTED_EVERY = 4
_SCATTER_SHARE, _SCATTER = 0.2, math.log(1.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of fleet. ``wider``: a factor for how far apart machines and sessions lie."""

    name: str
    noise: Noise
    sessions: int = 1
    wider: float = 1.0
    disturbed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """What a rule does with fleets of one kind; rates from 0 to 1.

    accused_rate: healthy fleets in which any machine is called different, with its exact upper 95 % bound.
    planted: fleets into which a machine was planted. power: it is called different, for its family; bystanders_rate:
    another one is as well.
    scatter_power: the same for one whose runs scatter; NaN where the rule was not tried.
    """

    rule: str
    fleet: str
    fleets: int
    accused_rate: float
    accused_bound: float
    planted: int
    power: float
    bystanders_rate: float
    scatter_power: float


_BY_NAME = {noise.name: noise for noise in NOISES}
KINDS = (
    Kind(name="quiet", noise=_BY_NAME["iid"]),
    Kind(name="three sessions a machine", noise=_BY_NAME["iid"], sessions=3),
    Kind(name="machines twice as far apart", noise=_BY_NAME["iid"], wider=2.0),
    Kind(name="drift", noise=_BY_NAME["drift"]),
    Kind(name="step", noise=_BY_NAME["step"]),
    Kind(name="token bucket", noise=_BY_NAME["token bucket"]),
    Kind(name="one run in ten disturbed", noise=_BY_NAME["iid"], disturbed=0.1),
)

OURS = "Steelyard: real and unusual"
FleetRule: TypeAlias = Callable[[FleetData], dict[int, set[str]]]


def a_fleet(rng: Generator, kind: Kind) -> FleetData:
    """A healthy fleet of this kind."""
    sessions, cases = MACHINES * kind.sessions, FAMILIES * CASES_A_FAMILY
    owner = np.repeat(np.arange(MACHINES), kind.sessions)
    of_family = rng.normal(0, kind.wider * _MACHINE_FAMILY, (MACHINES, FAMILIES)).repeat(CASES_A_FAMILY, axis=1)
    of_machine = of_family + rng.normal(0, kind.wider * _MACHINE_CASE, (MACHINES, cases))
    of_session = rng.normal(0, kind.wider * _SESSION, (sessions, FAMILIES)).repeat(CASES_A_FAMILY, axis=1)
    level = (of_machine[owner] + of_session)[:, :, np.newaxis]
    times = (np.arange(BLOCKS)[:, np.newaxis] + rng.random((sessions, BLOCKS, cases))) / BLOCKS
    met = kind.noise.environment(rng, times.reshape(sessions, -1)).reshape(sessions, BLOCKS, cases).transpose(0, 2, 1)
    logs = level + met + rng.normal(0, _PROCESS, (sessions, cases, BLOCKS))
    if kind.disturbed:
        logs = logs + np.log(rng.uniform(1.1, 2, logs.shape)) * (rng.random(logs.shape) < kind.disturbed)
    return FleetData(
        tuple(FleetMachine(name=f"n{number}", key="0") for number in range(MACHINES)),
        tuple(
            FleetCase(name=f"f{family}/c{case}@same", unit="s", better="lower")
            for family in range(FAMILIES)
            for case in range(CASES_A_FAMILY)
        ),
        owner,
        np.exp(logs),
    )


def _changed(data: FleetData, machine: int, family: int, more: npt.ArrayLike) -> FleetData:
    """The fleet with a machine that costs so much more (logarithms) in one family."""
    numbers = data.numbers.copy()
    cases = slice(family * CASES_A_FAMILY, (family + 1) * CASES_A_FAMILY)
    rows = np.flatnonzero(data.owner == machine)
    numbers[rows, cases] *= np.exp(more)
    return FleetData(data.machines, data.cases, data.owner, numbers)


def slower(data: FleetData, machine: int, family: int, effect: float = EFFECT) -> FleetData:
    """The fleet with one machine that is slower in one family."""
    return _changed(data, machine, family, effect)


def scattering(rng: Generator, data: FleetData, machine: int, family: int) -> FleetData:
    """The fleet with one machine on which every fifth run of one family is a fifth slower."""
    sessions = int((data.owner == machine).sum())
    struck = rng.random((sessions, CASES_A_FAMILY, BLOCKS)) < _SCATTER_SHARE
    return _changed(data, machine, family, struck * _SCATTER)


# --- the rules: which machines are accused, of what families --------------------------------------------------------


def ours(data: FleetData) -> dict[int, set[str]]:
    """The machines that our rule calls different, with the families in which they are."""
    [group] = judge_fleet(data).groups
    return {
        number: {oddity.what.partition("/")[0] for oddity in machine.oddities}
        for number, machine in enumerate(group.machines)
        if machine.verdict == "different"
    }


def _by_shuffling(data: FleetData) -> dict[int, set[str]]:
    """The discrepancy of each machine's runs from all others', all shuffled, held over the machines by Bonferroni.

    The p-value of so few shuffles cannot be small enough for 200 machines: beyond all of them counts.
    """
    logs = log_costs(data)
    middle = np.median(levels(logs, data.owner, len(data.machines)), axis=0)
    off = (logs - middle[np.newaxis, :, np.newaxis]).transpose(0, 2, 1)
    owner = np.repeat(data.owner, off.shape[1])
    found = mmd.features(off.reshape(len(owner), -1))
    apart = mmd.discrepancies(found, owner, len(data.machines)).sum(axis=1)
    size = int((owner == 0).sum())
    chance = mmd.shuffled(found, size, _SHUFFLES, np.random.default_rng(0)).sum(axis=1)
    return {int(number): set() for number in np.flatnonzero(apart > chance.max())}


def _three_deviations(data: FleetData) -> dict[int, set[str]]:
    """More than three standard deviations from the mean of the machines, in any case."""
    off = levels(log_costs(data), data.owner, len(data.machines))
    score = np.abs(off - off.mean(axis=0)) / off.std(axis=0, ddof=1)
    accused: dict[int, set[str]] = {}
    for machine, case in np.argwhere(score > 3):
        accused.setdefault(int(machine), set()).add(data.cases[case].family)
    return accused


OTHER_RULES: tuple[tuple[str, FleetRule], ...] = (
    ("discrepancy, runs shuffled", _by_shuffling),
    ("three standard deviations", _three_deviations),
)


def prove_fleets(seed: int, fleets: int = 200) -> tuple[FleetRow, ...]:
    """The rows of all kinds; something is planted into every fourth fleet only, which is enough to see power.

    The same seed and size give the same rows. Raises ValueError when the size is below 1.
    """
    if fleets < 1:
        raise ValueError("a proof needs at least one fleet")
    rows = [prove_kind(np.random.default_rng([seed, number]), fleets, kind) for number, kind in enumerate(KINDS)]
    rng = np.random.default_rng([seed, len(KINDS)])
    return (*rows, *(_other(rng, -(-fleets // _PLANTED_EVERY), name, rule) for name, rule in OTHER_RULES))


def prove_kind(rng: Generator, fleets: int, kind: Kind) -> FleetRow:
    """Our rule on fleets of one kind: healthy, with one slower machine, with one that scatters."""
    accused = found = bystanders = scatters = planted_fleets = 0
    for number in range(fleets):
        data = a_fleet(rng, kind)
        accused += bool(ours(data))
        if number % _PLANTED_EVERY:
            continue
        planted_fleets += 1
        machine, family = int(rng.integers(MACHINES)), int(rng.integers(FAMILIES))
        planted = ours(slower(data, machine, family))
        found += f"f{family}" in planted.get(machine, set())
        bystanders += bool(planted.keys() - {machine})
        scatters += f"f{family}" in ours(scattering(rng, data, machine, family)).get(machine, set())
    return FleetRow(
        rule=OURS,
        fleet=kind.name,
        fleets=fleets,
        accused_rate=accused / fleets,
        accused_bound=binomial_bound(accused, fleets),
        planted=planted_fleets,
        power=found / planted_fleets,
        bystanders_rate=bystanders / planted_fleets,
        scatter_power=scatters / planted_fleets,
    )


def _other(rng: Generator, fleets: int, name: str, rule: FleetRule) -> FleetRow:
    accused = found = 0
    for _ in range(fleets):
        data = a_fleet(rng, KINDS[0])
        accused += bool(rule(data))
        found += 0 in rule(slower(data, 0, 0))
    return FleetRow(
        rule=name,
        fleet=KINDS[0].name,
        fleets=fleets,
        accused_rate=accused / fleets,
        accused_bound=binomial_bound(accused, fleets),
        planted=fleets,
        power=found / fleets,
        bystanders_rate=math.nan,
        scatter_power=math.nan,
    )

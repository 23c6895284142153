# SPDX-License-Identifier: Apache-2.0
"""From a selection to a kept session."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

import steelyard
from steelyard.errors import SelectionError, SessionFileError, UsageError
from steelyard.judge.answers import operands
from steelyard.keep import session as sessions
from steelyard.lab.messages import Messages, Silent
from steelyard.lab.signals import ended_in_order
from steelyard.measure import catalog, conduct, machine, plan
from steelyard.measure.audit import audit
from steelyard.measure.energy import Meter
from steelyard.measure.runner import ProcessRunner, scratch_folder
from steelyard.records import SCHEMA, Audit, Case, End, Header, Line, Resumed, Session, Skip, Variant
from steelyard.settings import Settings

#: What `--param` takes for a parameter of every probe in Python: the interpreters that run it.
PYTHON = "python"


#: A range of whole numbers; N is the number of CPUs that may be used.
_RANGE = re.compile(r"(\d+)\.\.(\d+|N)")


def parse_params(texts: Sequence[str], cpus: int) -> dict[str, list[str]]:
    """``name=value,value`` texts as overridden sweeps; ``1..N`` stands for values up to the number of CPUs."""
    parsed: dict[str, list[str]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not equals or not name or not listed:
            raise UsageError(f'--param takes name=value[,value…], not "{text}"')
        for value in listed.split(","):
            parsed.setdefault(name, []).extend(_values(value, cpus))
    return parsed


def _values(text: str, cpus: int) -> list[str]:
    """The values that a text stands for: itself, or of a range both ends and the 2^k and 3 * 2^k between them.

    Two points in each doubling show a knee on hundreds of CPUs in a score of cases.
    """
    span = _RANGE.fullmatch(text)
    if span is None:
        return [text]
    first, last = int(span[1]), cpus if span[2] == "N" else int(span[2])
    if first > last:
        raise UsageError(f"--param: the range {text} is empty, because it ends at {last}")
    between = {times << power for times in (1, 3) for power in range(last.bit_length())}
    return [str(number) for number in sorted({first, last, *(n for n in between if first < n < last)})]


def interpreter(name: str, option: str) -> Variant:
    """The variant that runs probes by the Python interpreter of this name or path; ``option`` is what named it."""
    try:
        found = catalog.find_interpreter(name)
    except SelectionError as error:
        raise UsageError(f"{option}: {error}") from error
    # Paths often end alike, in "python"; their versions tell them apart.
    return Variant(label=f"python{found.version}" if os.sep in name else name, python=found.path)


class Lab:
    """The machine at hand, its probes and where they lie; measures sessions and keeps them.

    ``folders`` hold further probes, which hide others of the same name. ``only``: the names of the probes that will be
    needed, when that is known, or ``selectors`` that name them: not asking the others saves seconds.
    """

    def __init__(
        self,
        folders: Sequence[Path] = (),
        only: Collection[str] | None = None,
        messages: Messages | None = None,
        selectors: Sequence[str] = (),
    ) -> None:
        self.host = machine.survey()
        everywhere = [*folders, *catalog.probe_folders()]
        if only is None and (names := catalog.named(everywhere, selectors)):
            only = names | {plan.NULL}
        self.found = catalog.load(everywhere) if only is None else catalog.load_only(everywhere, only)
        self.messages = messages or Silent()

    def select(
        self, selectors: Sequence[str], params: Sequence[str], placements: Sequence[str], *, brief: bool = False
    ) -> list[Case]:
        """The cases that a command line stands for."""
        return catalog.select(self.found, selectors, parse_params(params, len(self.host.cpus)), placements, brief=brief)

    def first_session(self, *, known: bool) -> list[Case]:
        """The cases of a first session that this machine can measure; ``known``: of its best-known prices alone."""
        wanted = dict.fromkeys(o.case for o in operands(known=known) if o.pattern.probe in self.found.probes)
        return self.select(list(wanted), [], [], brief=True)

    def select_variants(
        self, selectors: Sequence[str], params: Sequence[str], placements: Sequence[str], *, brief: bool = False
    ) -> tuple[list[Case], list[Variant]]:
        """As `select`; with ``python`` among the parameters, a variant of the cases in Python for each interpreter."""
        given = parse_params(params, len(self.host.cpus))
        variants = [interpreter(name, "--param python") for name in given.pop(PYTHON, ())]
        chosen = catalog.select(self.found, selectors, given, placements, brief=brief)
        if not variants:
            return chosen, []
        labels = [variant.label for variant in variants]
        if len(set(labels)) < len(labels):
            raise UsageError(f"--param python names two interpreters alike: {', '.join(labels)}")
        in_python = set(self.in_python(chosen, "--param python"))
        ways = {case: variants if case in in_python else [None] for case in chosen}
        return [
            case if variant is None else msgspec.structs.replace(case, variant=variant.label)
            for case in chosen
            for variant in ways[case]
        ], variants

    def in_python(self, cases: Sequence[Case], option: str) -> list[Case]:
        """The cases whose probe an interpreter runs; raises UsageError if there is none, naming ``option``."""
        found = [case for case in cases if catalog.needs_interpreter(self.found.probes[case.probe].path)]
        if not found:
            raise UsageError(f"{option}: no selected probe is written in Python")
        return found

    def header(self, selection: Sequence[Case], settings: Settings, variants: Sequence[Variant] = ()) -> Header:
        """The header of a new session."""
        settings.check()
        controls = [case for case in plan.controls() if case.probe in self.found.probes]
        helpers = [neighbour.case for variant in variants for neighbour in variant.beside]
        used = {case.probe for case in (*selection, *controls, *helpers, *self._baselines(selection).values())}
        return Header(
            schema=SCHEMA,
            id=os.urandom(8).hex(),
            started=sessions.now(),
            seed=settings.with_seed().seed or 0,
            machine=self.host,
            versions={
                "steelyard": steelyard.__version__,
                "python": sys.version.split()[0],
                "numpy": version("numpy"),
            },
            command=tuple(sys.argv[1:]),
            selection=tuple(selection),
            controls=tuple(controls),
            probes={name: self.found.probes[name].facts() for name in sorted(used)},
            blocks=settings.planned_blocks,
            budget_s=settings.budget_s,
            target_ns=round(settings.target_s * 1e9),
            target_given=settings.target is not None,
            tails_ns=round(settings.tails_s * 1e9),
            values=settings.planned_values,
            variants=tuple(variants),
        )

    def _baselines(self, cases: Iterable[Case]) -> dict[str, Case]:
        """The baseline of each case that has one, of the same variant."""
        found = {}
        for case in cases:
            if baseline := catalog.baseline_of(case, self.found):
                found[case.name] = msgspec.structs.replace(baseline, variant=case.variant)
        return found

    def _programs(self, header: Header) -> dict[str, Path]:
        """The program of each probe, and of each probe of a variant that has its own folder."""
        programs = {name: self.found.probes[name].path for name in header.probes}
        for variant in header.variants:
            if variant.probes is None:
                continue
            there = catalog.find_programs([Path(variant.probes)])
            for name in {case.probe for case in header.selection if case.variant == variant.label}:
                if name not in there:
                    raise SelectionError(f"{variant.probes} has no probe {name}: build it there, or select another")
                catalog.describe(there[name], name)
                programs[f"{name}~{variant.label}"] = there[name].resolve()
        return programs

    def measure(
        self,
        header: Header,
        path: Path | None,
        settings: Settings,
        *,
        before: Session | None = None,
        enough: conduct.Enough = lambda _block: False,
        groups: Mapping[str, str] | None = None,
        fewer: Mapping[str, int] | None = None,
        repays: bool = True,
        planner: conduct.Planner | None = None,
    ) -> Session:
        """Conduct a session to its end and keep it; returns it as read from its file.

        ``groups`` names, by case, what is to run one after the other in each block; ``fewer`` says, by case, in how
        many of the first blocks it runs, if not in all. ``repays``: see conduct.Work; ``planner``: see conduct.Planner.
        """
        where = path or sessions.new_path(self.host.key)
        try:
            with ended_in_order(), machine.lock(self.say_that_it_waits, settings.wait_s) as held:
                if before and sessions.read(where) != before:
                    raise SessionFileError(
                        f"another program resumed {where} while this one waited: look at it, then resume it again"
                    )
                with self.messages.progress(str(where), header.titles) as shown:
                    return self.measure_alone(
                        header,
                        where,
                        held,
                        shown,
                        settings,
                        before=before,
                        enough=enough,
                        groups=groups,
                        fewer=fewer,
                        repays=repays,
                        planner=planner,
                    )
        except KeyboardInterrupt:
            if where.exists():
                self.messages.say("interrupted; all finished runs are kept: go on with")
                self.messages.say(f"  steelyard run --resume {where}")
            raise

    def say_that_it_waits(self, holder: str) -> None:
        """Say which process measures on this machine."""
        self.messages.say(f"{holder} measures on this machine; waiting for it")

    def measure_alone(
        self,
        header: Header,
        where: Path,
        held: tuple[int, ...],
        shown: conduct.Progress,
        settings: Settings,
        *,
        before: Session | None = None,
        enough: conduct.Enough = lambda _block: False,
        groups: Mapping[str, str] | None = None,
        fewer: Mapping[str, int] | None = None,
        repays: bool = True,
        planner: conduct.Planner | None = None,
        skips: Sequence[Skip] = (),
        last_words: Callable[[], Sequence[Line]] = tuple,
    ) -> Session:
        """Conduct a session for a caller who holds the lock of the machine by the descriptors ``held``.

        ``skips`` are recorded with those of the catalog; ``last_words`` gives the lines before the end of the session.
        """
        cases = [*header.selection, *header.controls]
        work = conduct.Work(
            header=header,
            programs=self._programs(header),
            baselines=self._baselines(cases),
            deadline_s=settings.deadline_s,
            before=before,
            groups=groups or {},
            fewer=fewer or {},
            repays=repays,
        )
        scratch, meter = scratch_folder(), Meter()
        try:
            writer = sessions.SessionWriter.reopen(where) if before else sessions.SessionWriter.create(where, header)
            with writer:

                def append(line: Line) -> None:
                    for extra in last_words() if isinstance(line, End) else ():
                        writer.append(extra)
                    writer.append(line)

                if before:
                    append(Resumed(at=sessions.now(), machine_key=self.host.key))
                else:
                    for skip in (*self.found.skips, *meter.skips, *skips):
                        append(skip)
                append(Audit(moment="before", disturbances=audit(self.host), idle_w=meter.idle_w()))
                runner = ProcessRunner(catalog.native_folder() / "launch", self.host.cpus, scratch, held)
                with _OutOfTheWay(self.host.cpus):
                    conduct.Conductor(work, runner, append, shown, enough=enough, planner=planner).conduct()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return sessions.read(where)

    def check_interrupted(self, before: Session) -> None:
        """Raise SessionFileError for a session that is complete, or whose machine or probes are not what they were."""
        header, path = before.header, before.path
        if before.end is not None:
            raise SessionFileError(f"{path} is complete: there is nothing to resume; `steelyard show {path}` shows it")
        if header.machine.key != self.host.key:
            raise SessionFileError(
                f"{path} was begun on machine {header.machine.key} and this is {self.host.key}: go on there"
            )
        for name, facts in header.probes.items():
            if name not in self.found.probes or self.found.probes[name].facts().sha256 != facts.sha256:
                raise SessionFileError(f"{path}: probe {name} is not the program it was: begin a new session")


class _OutOfTheWay:
    """Keeps the lab off the CPU on which pinned probes run, where there is another one."""

    def __init__(self, cpus: tuple[int, ...]) -> None:
        self._cpus = cpus

    def __enter__(self) -> None:
        if len(self._cpus) > 1:
            os.sched_setaffinity(0, self._cpus[:-1])

    def __exit__(self, *_: object) -> None:
        os.sched_setaffinity(0, self._cpus)

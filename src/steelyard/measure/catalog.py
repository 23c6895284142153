# SPDX-License-Identifier: Apache-2.0
"""What can be measured here: asks every probe on disk, and says why not where not."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import functools
import hashlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

import steelyard
from steelyard.errors import InstallationError, ProtocolError, SelectionError
from steelyard.measure import protocol
from steelyard.records import Case, CasePattern, Descriptor, Loops, Placement, ProbeFacts, Scalar, Skip

#: Long, because a virtual machine answers late where others keep it from the CPU; one that hangs is rare.
_DESCRIBE_TIMEOUT_S = 30
_DESCRIBE_LIMIT = 1 << 20
#: Every probe has it: by which Python it starts an instrument that is written in it.
ENVIRONMENT: Mapping[str, str] = {"STEELYARD_PYTHON": sys.executable}


@dataclass(frozen=True, slots=True)
class Probe:
    """A program on disk, what it says about itself, and how long it took to start and say it."""

    path: Path
    descriptor: Descriptor
    start_s: float = 0.0

    def facts(self) -> ProbeFacts:
        """The descriptor, a digest of the program and what the build kept of its loops, for the session's header."""
        return ProbeFacts(
            descriptor=self.descriptor,
            sha256=hashlib.sha256(self.path.read_bytes()).hexdigest(),
            loops=loops(self.path),
        )


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter: its own path, because a name may lead to a script, and its version, with t if free-threaded."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class Catalog:
    """The probes that answered, by id, and those that can't be used with the reason."""

    probes: Mapping[str, Probe]
    skips: tuple[Skip, ...]


def native_folder() -> Path:
    """Where the installed launcher and probes are; raises InstallationError when they are not."""
    for package in steelyard.__path__:
        folder = Path(package) / "_native"
        if (folder / "launch").exists():
            return folder
    raise InstallationError(
        "the launcher and the probes are not installed beside the Python package: "
        "run `make build` in a checkout, or `pip install .` with a C compiler and cmake at hand"
    )


def probe_folders() -> list[Path]:
    """Folders that are searched for probes: those of STEELYARD_PROBES (colon separated) first, then our own."""
    extra = [Path(entry) for entry in os.environ.get("STEELYARD_PROBES", "").split(":") if entry]
    return [*extra, native_folder() / "probes"]


def find_programs(folders: Iterable[Path]) -> dict[str, Path]:
    """Programs by id ``question/way``; an earlier folder hides a later one."""
    found: dict[str, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise InstallationError(f"{folder} is not a folder of probes, which holds <question>/<way>: name another")
        for path in sorted(folder.glob("*/*")):
            if path.is_file() and (os.access(path, os.X_OK) or path.suffix == ".skip"):
                found.setdefault(f"{path.parent.name}/{path.stem}", path)
    return found


def languages(folders: Iterable[Path]) -> dict[str, str]:
    """The language of each of our probes, built here or not; of a user's own it is not known."""
    lists = [folder / "languages" for folder in folders]
    lines = [line for file in lists if file.is_file() for line in file.read_text().splitlines()]
    return {probe: language for probe, _, language in (line.partition(" ") for line in lines)}


def loops(program: Path) -> dict[str, Loops]:
    """The loops of a timed part with variants, by function; empty where the build kept none."""
    kept = program.with_name(f"{program.name}.loops.json")
    if not kept.exists():
        return {}
    try:
        return msgspec.json.decode(kept.read_bytes(), type=dict[str, Loops])
    except msgspec.DecodeError as error:
        raise InstallationError(f"{kept} is not as the build wrote it ({error}): build again") from error


class _Language(msgspec.Struct, frozen=True):
    """A language whose probes an interpreter runs: ``probes/support/<language>/interpreter.toml``."""

    name: str
    suffix: str
    oldest: tuple[int, int]
    about: str  #: program that prints the interpreter's own path, its version, and its build if that is special
    program: str = sys.executable


@functools.cache
def _languages(support: Path) -> dict[str, _Language]:
    """The languages whose probes need an interpreter, by folder; all other probes are programs of their own."""
    files = sorted(support.glob("*/interpreter.toml"))
    return {file.parent.name: msgspec.toml.decode(file.read_bytes(), type=_Language) for file in files}


def _language_of(program: Path) -> _Language | None:
    languages = _languages(native_folder() / "probes" / "support").values()
    return next((language for language in languages if language.suffix == program.suffix), None)


def needs_interpreter(program: Path) -> bool:
    """Whether an interpreter runs a program, which a user may choose."""
    return _language_of(program) is not None


def command(program: Path, interpreter: str | None = None) -> list[str]:
    """How a program is started: by the interpreter that is named, else by that of its language, if it has one."""
    if interpreter is None and (language := _language_of(program)):
        interpreter = language.program
    return [interpreter, str(program)] if interpreter else [str(program)]


def find_interpreter(name: str, folder: str = "python") -> Interpreter:
    """The interpreter of this name or path; raises SelectionError when it can't run the probes of the language."""
    language = _languages(native_folder() / "probes" / "support")[folder]
    program = shutil.which(name)
    if program is None:
        raise SelectionError(f"{name} is not found; name an installed interpreter or its path")
    try:
        asked = subprocess.run(
            [program, "-c", language.about], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=_DESCRIBE_TIMEOUT_S,
        )  # fmt: skip
        path, version, build = asked.stdout.splitlines()
        found = tuple(map(int, version.split(".")[:2]))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SelectionError(f"{name} does not run: {error}") from error
    except ValueError as error:
        said = f' (it says "{asked.stderr.splitlines()[0]}")' if asked.stderr.strip() else ""
        words = f"{name} does not run as a {language.name} interpreter{said}; name an installed one"
        raise SelectionError(words) from error
    if found < language.oldest:
        oldest = ".".join(map(str, language.oldest))
        raise SelectionError(f"{name} is {language.name} {version} and the probes need {oldest} or later: name another")
    return Interpreter(path=path or program, version=version + build)


def describe(path: Path, name: str) -> Descriptor:
    """Ask a probe what it is; raises ProtocolError with what is wrong."""
    try:
        # A session of its own, so that whatever it starts can be ended; files, so that it cannot flood the lab.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            asked = subprocess.Popen(
                [*command(path), "--describe"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env={**os.environ, **ENVIRONMENT},
            )
            try:
                code = asked.wait(_DESCRIBE_TIMEOUT_S)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(asked.pid, signal.SIGKILL)
                asked.wait()
            printed, words = _head(out), _head(err)
    except OSError as error:
        raise ProtocolError(f"{name} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise ProtocolError(f"{name} --describe took longer than {_DESCRIBE_TIMEOUT_S} s") from None
    if code != 0:
        _, why = protocol.describe_exit(code, -code if code < 0 else None, words)
        raise ProtocolError(f"{name} --describe {why}")
    return protocol.parse_descriptor(printed, name)


def _head(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(_DESCRIBE_LIMIT)


def load_only(folders: Sequence[Path], names: Iterable[str]) -> Catalog:
    """Ask the probes of these names and those that measure their overhead; a name that is not there is passed over."""
    programs = find_programs(folders)
    probes: dict[str, Probe] = {}
    skips: list[Skip] = []
    left = set(names) & programs.keys()
    while left:
        found = _ask({name: programs[name] for name in sorted(left)})
        probes.update(found.probes)
        skips += found.skips
        baselines = {probe.descriptor.baseline for probe in found.probes.values()}
        left = {name for name in baselines if name in programs} - probes.keys() - {skip.subject for skip in skips}
    return Catalog(probes=probes, skips=tuple(skips))


def load(folders: Sequence[Path]) -> Catalog:
    """Ask every probe in these folders."""
    return _ask(find_programs(folders))


def _ask(found: Mapping[str, Path]) -> Catalog:
    def asked(name: str, path: Path) -> Probe | Skip:
        if path.suffix == ".skip":  # written by the build where a compiler was missing
            return Skip(subject=name, reason=path.read_text().strip())
        began = time.monotonic()
        try:
            descriptor = describe(path, name)
            return Probe(path=path.resolve(), descriptor=descriptor, start_s=time.monotonic() - began)
        except ProtocolError as error:
            return Skip(subject=name, reason=str(error))

    # Each answer is a process to be waited for, of an interpreter or a virtual machine perhaps.
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        programs = sorted(found.items())
        answers = list(pool.map(asked, *zip(*programs, strict=True))) if programs else []
    return Catalog(
        probes={answer.descriptor.probe: answer for answer in answers if isinstance(answer, Probe)},
        skips=tuple(answer for answer in answers if isinstance(answer, Skip)),
    )


def _close(word: str, words: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(words), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else "; `steelyard list` shows what there is"


def named(folders: Sequence[Path], selectors: Sequence[str]) -> set[str] | None:
    """The programs that these selectors name; None where all have to be asked: without one, or if one names nothing."""
    programs = find_programs(folders)
    found = [_named(selector, programs) for selector in selectors]
    return set().union(*found) if found and all(found) else None


def _named(selector: str, names: Iterable[str]) -> list[str]:
    """Those of these names that a selector stands for, be they probes or what is skipped."""
    known = list(names)
    pattern = CasePattern.parse(selector)
    if pattern is not None and pattern.probe in known:
        return [pattern.probe]
    # A bare question ("switch") or way ("yield") is what a person types first.
    return [name for name in known if fnmatch.fnmatchcase(name, selector) or selector in name.split("/")]


def _matching(catalog: Catalog, selector: str) -> list[CasePattern]:
    names = _named(selector, catalog.probes)
    if not names:
        reasons = {skip.subject: skip.reason for skip in catalog.skips}
        for name in _named(selector, reasons):
            raise SelectionError(f"{name} cannot be measured here: {reasons[name]}")
        raise SelectionError(f'no probe matches "{selector}"{_close(selector, catalog.probes)}')
    pattern = CasePattern.parse(selector)
    return [pattern] if pattern is not None and names == [pattern.probe] else [CasePattern(probe=n) for n in names]


def _sweep(
    descriptor: Descriptor, pattern: CasePattern, given: Mapping[str, Sequence[str]], *, brief: bool
) -> Iterable[dict[str, Scalar]]:
    axes: list[list[tuple[str, Scalar]]] = []
    for parameter in descriptor.parameters:
        if parameter.name in pattern.parameters:
            texts: Sequence[str] = [pattern.parameters[parameter.name]]
        else:
            sweep = (parameter.brief or parameter.sweep) if brief else parameter.sweep
            texts = given.get(parameter.name, [str(value) for value in sweep])
        axes.append([(parameter.name, protocol.parse_parameter(descriptor, parameter.name, text)) for text in texts])
    return (dict(combination) for combination in itertools.product(*axes))


def _placements(descriptor: Descriptor, pattern: CasePattern, given: Sequence[str]) -> list[Placement]:
    wanted = [pattern.placement] if pattern.placement else given
    return [placement for placement in descriptor.placements if not wanted or placement in wanted]


def select(
    catalog: Catalog,
    selectors: Sequence[str],
    parameters: Mapping[str, Sequence[str]],
    placements: Sequence[str],
    *,
    brief: bool = False,
) -> list[Case]:
    """The cases that the selectors, overridden sweeps and placements stand for, without repetition.

    Without selectors: everything but the question ``null``, which is there to weigh the lab itself.
    ``brief``: of each sweep only what its probe wants in a first session of a few minutes.
    Raises SelectionError for a selector, parameter, value or placement that matches nothing.
    """
    if selectors:
        patterns = [pattern for selector in selectors for pattern in _matching(catalog, selector)]
    else:
        patterns = [CasePattern(probe=name) for name in catalog.probes if not name.startswith("null/")]
    chosen = [catalog.probes[pattern.probe].descriptor for pattern in patterns]
    for name in parameters:
        if not any(descriptor.parameter(name) for descriptor in chosen):
            known = {parameter.name for descriptor in chosen for parameter in descriptor.parameters}
            raise SelectionError(f'no selected probe has a parameter "{name}"{_close(name, known)}')
    cases: dict[str, Case] = {}
    for pattern, descriptor in zip(patterns, chosen, strict=True):
        for name in pattern.parameters:
            if descriptor.parameter(name) is None:
                raise SelectionError(f"{descriptor.probe} has no parameter {name!r}")
        try:
            for combination in _sweep(descriptor, pattern, parameters, brief=brief):
                for placement in _placements(descriptor, pattern, placements):
                    case = Case(probe=descriptor.probe, parameters=combination, placement=placement)
                    cases.setdefault(case.name, case)
        except ValueError as error:
            raise SelectionError(str(error)) from error
    if not cases:
        wanted = ", ".join(placements) or "that placement"
        raise SelectionError(f"no selected probe can be placed as {wanted}; `steelyard list --json` shows placements")
    return list(cases.values())


def baseline_of(case: Case, catalog: Catalog) -> Case | None:
    """The case that measures this case's overhead: parameters of the same name are passed on, others by default."""
    name = catalog.probes[case.probe].descriptor.baseline
    if name is None or name not in catalog.probes:
        return None
    descriptor = catalog.probes[name].descriptor
    if case.placement not in descriptor.placements:
        return None
    parameters = {p.name: case.parameters.get(p.name, p.sweep[0]) for p in descriptor.parameters}
    return Case(probe=name, parameters=parameters, placement=case.placement)

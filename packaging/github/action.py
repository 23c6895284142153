# SPDX-License-Identifier: Apache-2.0
"""The steps of `action.yml`: whether a commit is slower than its base.

``plan`` finds the two commits. ``check`` builds and measures them, says the verdict in the log, the summary and the
outputs of the job, and ends with the exit code of `steelyard check`. ``comment`` puts the table under the pull request.

Inputs are the variables INPUT_<NAME>; all else is what a runner sets (GITHUB_EVENT_PATH, GITHUB_OUTPUT,
GITHUB_STEP_SUMMARY, GITHUB_WORKSPACE, RUNNER_TEMP …), so that it runs wherever these are set.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import steelyard
from steelyard.errors import BusyError, SteelyardError, UsageError

_VERDICTS = {0: "pass", 1: "worse", 2: "undecided"}
#: Pages of a hundred comments in which ours is looked for.
_PAGES = 10
#: The probe that times a command: one operation is one run of it, in the tree of its commit.
_COMMAND = '''\
#!/usr/bin/env python3
"""command - the command of a workflow, timed as a whole.

Known answer: exit code 0.  Overhead: the start of bash.  Limits: what it prints is thrown away.
"""

import os
import subprocess
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Metric, Probe, fail, main

BASH = ["bash", "-euo", "pipefail", "-c", {command!r}]
TREE = {tree!r}


class Command(Probe):
    title = "the command"
    question = "How long does this command take?"
    operation = "one run of the command by bash, from its start to its end, exit code 0 checked"
    source = "the workflow that runs it"
    statistic = "median"
    placements = ("free",)
    uses = ("cpu", "sched", "disk")
    value_ms = 1  # a value is one run of it, however short that is
    rehearsals = 1
    works_itself = False
    metrics = (Metric("run", "s", "lower", "wall", "operations", "time of one run"),)

    def batch(self, operations, value):
        done = 0
        value.start()
        for _ in range(operations):
            code = subprocess.call(BASH, cwd=TREE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            if code != 0:
                fail("the command ended with exit code %d: run it by hand in %s" % (code, TREE))
            done += 1
        value.stop()
        value.counts["checked"] = done


main(Command)
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of the action that its steps read. An empty one is one that was left out."""

    command: str = ""
    probes: str = ""
    selectors: str = ""
    build: str = ""
    base: str = ""
    against: str = "commit"
    budget: str = ""
    threshold: str = "2%"
    undecided: str = "pass"
    options: str = ""
    token: str = ""

    @classmethod
    def given(cls) -> Inputs:
        """The inputs of this step; raises UsageError for one that means nothing."""
        texts = {field.name: os.environ.get(f"INPUT_{field.name.upper()}", "").strip() for field in fields(cls)}
        found = cls(**{name: text for name, text in texts.items() if text})
        for name, text, allowed in (
            ("against", found.against, ("commit", "session")),
            ("undecided", found.undecided, ("pass", "fail")),
        ):
            if text not in allowed:
                raise UsageError(f'the input `{name}` is {" or ".join(allowed)}, not "{text}"')
        return found

    @property
    def measured(self) -> str:
        """A short digest of what is measured: sessions of something else are not compared."""
        told = (steelyard.__version__, self.command, self.probes, self.selectors, self.build)
        return hashlib.sha256("\0".join(told).encode()).hexdigest()[:8]


# --- the runner -------------------------------------------------------------------------------------------------------


def _work() -> Path:
    """The folder of all that this writes."""
    return Path(os.environ["RUNNER_TEMP"]) / "steelyard"


def _tree() -> Path:
    """The checkout of the commit that is judged."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())


def _event() -> dict[str, Any]:
    """What started the workflow."""
    path = os.environ.get("GITHUB_EVENT_PATH")
    found = json.loads(Path(path).read_text()) if path else {}
    return found if isinstance(found, dict) else {}


def _append(variable: str, text: str) -> None:
    """Append to the file that a variable of the runner names, if it names one."""
    if path := os.environ.get(variable):
        with Path(path).open("a") as file:
            file.write(text)


def _output(**named: object) -> None:
    _append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in named.items()))


def _annotate(kind: str, sentence: str) -> None:
    """Say a sentence beside the job: as an error, a warning or a notice."""
    escaped = sentence.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{kind} title=Steelyard::{escaped}", flush=True)


# --- the two commits --------------------------------------------------------------------------------------------------


def _git(*arguments: str) -> str | None:
    """What git answers in the checkout; None where it refuses."""
    done = subprocess.run(["git", *arguments], cwd=_tree(), capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _commit(revision: str) -> str:
    """The full name of a commit, fetched if the checkout does not have it."""
    if found := _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"):
        return found
    fetched = _git("fetch", "--quiet", "--depth=1", "origin", revision) is not None
    if fetched and (found := _git("rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}")):
        return found
    raise UsageError(f"the checkout has no commit {revision}: give actions/checkout `fetch-depth: 0`")


def commits(inputs: Inputs, event: dict[str, Any]) -> tuple[str, str]:
    """The base and the commit that is judged, by their full names; raises UsageError where there are not two."""
    request, group = (event.get(name) or {} for name in ("pull_request", "merge_group"))
    asked = inputs.base or request.get("base", {}).get("sha") or group.get("base_sha") or event.get("before") or "HEAD^"
    if not asked.strip("0"):  # a branch that is pushed for the first time
        asked = "HEAD^"
    head, base = _commit("HEAD"), _commit(asked)
    if inputs.base != base:  # what the base has got since the two parted is no change of this commit
        base = _git("merge-base", base, head) or base
    if base == head:
        raise UsageError(f"the base is the commit itself, {head[:12]}: name another one by the input `base`")
    return base, head


def plan() -> int:
    """Write the two commits and the keys of their sessions to the outputs."""
    inputs = Inputs.given()
    base, head = commits(inputs, _event())
    _output(base=base, head=head, base_key=f"{base}-{inputs.measured}", head_key=f"{head}-{inputs.measured}")
    print(f"steelyard: {head[:12]} is held against {base[:12]}")
    return 0


@contextlib.contextmanager
def _checked_out(commit: str) -> Iterator[Path]:
    """A tree of a commit beside the checkout, while it is needed."""
    tree = _work() / "trees" / commit[:12]
    _git("worktree", "remove", "--force", str(tree))  # of a step that was ended
    if _git("worktree", "add", "--detach", "--force", str(tree), commit) is None:
        raise UsageError(f"git cannot check out {commit} to {tree}")
    try:
        yield tree
    finally:
        _git("worktree", "remove", "--force", str(tree))


def probes_of(tree: Path, commit: str, inputs: Inputs) -> Path:
    """The folder of a commit's probes after its build, under a name that the table can show."""
    if inputs.build:
        print(f"::group::build of {commit[:12]}", flush=True)
        code = subprocess.call(["bash", "-euo", "pipefail", "-c", inputs.build], cwd=tree)
        print("::endgroup::", flush=True)
        if code != 0:
            raise UsageError(f"the build of {commit[:12]} ended with exit code {code}; what it printed stands above")
    name = _work() / commit[:12]
    if name.is_symlink():
        name.unlink()
    shutil.rmtree(name, ignore_errors=True)
    if inputs.command:
        _write_command(name, tree, inputs.command)
    elif not inputs.probes:
        raise UsageError("nothing to measure is named: give the input `command`, or `probes`")
    elif not (tree / inputs.probes).is_dir():
        raise UsageError(f"{commit[:12]} has no folder {inputs.probes} after its build: name another by `probes`")
    else:
        name.symlink_to(tree / inputs.probes)
    return name


def _write_command(folder: Path, tree: Path, command: str) -> None:
    """A folder with the one probe that times a command."""
    from steelyard.measure import catalog

    support = catalog.native_folder() / "probes" / "support" / "python"
    shutil.copytree(support, folder / "support" / "python")
    probe = folder / "workflow" / "command.py"
    probe.parent.mkdir(parents=True)
    probe.write_text(_COMMAND.format(command=command, tree=str(tree)))
    probe.chmod(0o755)


# --- measuring --------------------------------------------------------------------------------------------------------


def _steelyard(*arguments: object, probes: Path | None = None) -> tuple[int, str]:
    """The exit code of a command of Steelyard, and what it printed for programs."""
    own = {"STEELYARD_PROBES": str(probes)} if probes else {}
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *map(str, arguments)],
        cwd=_work(),
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def _measuring(inputs: Inputs) -> list[str]:
    return [*(["--budget", inputs.budget] if inputs.budget else []), *shlex.split(inputs.options)]


def _kept(commit: str, inputs: Inputs) -> Path:
    """Where the session of a commit is kept from run to run."""
    from steelyard.keep import session

    return session.sessions_folder() / f"{commit}-{inputs.measured}{session.SUFFIX}"


def _measured_alone(folder: Path, head: str, inputs: Inputs) -> Path:
    """A session of the new commit alone."""
    from steelyard.measure import catalog

    path = _kept(head, inputs)
    path.unlink(missing_ok=True)  # of an earlier attempt of this job
    selectors = shlex.split(inputs.selectors) or sorted(catalog.find_programs([folder]))
    code, _ = _steelyard("run", *selectors, *_measuring(inputs), "-o", path, probes=folder)
    if code != 0:
        raise UsageError(f"steelyard run ended with exit code {code}; what it said stands above")
    return path


def _of_this_machine(base: Path, new: Path) -> bool:
    """Whether there is a session of the base, measured on a machine like that of the new one."""
    from steelyard.keep import session

    if not base.exists():
        return False
    return session.read(base).header.machine.key == session.read(new).header.machine.key


def _judged(base: str, head: str, inputs: Inputs, written: Sequence[object]) -> tuple[int, str, bool]:
    """Exit code and JSON of `steelyard check`, and whether it compared two sessions.

    It does where that was asked for and is possible, and else measures two folders of probes in turn.
    """
    new = probes_of(_tree(), head, inputs)
    judging = ["--margin", inputs.threshold, *_measuring(inputs), *written, "--json"]
    if inputs.against == "session":
        session = _measured_alone(new, head, inputs)
        if _of_this_machine(_kept(base, inputs), session):
            return *_steelyard("check", _kept(base, inputs), session, *judging, probes=new), True
        print(
            f"steelyard: the cache has no session of {base[:12]} of such a machine: both are measured now", flush=True
        )
    with _checked_out(base) as tree:
        old = probes_of(tree, base, inputs)
        return *_steelyard("check", old.name, new.name, *shlex.split(inputs.selectors), *judging), False


def check() -> int:
    """Measure, judge and say it; the exit code is that of the verdict, or of the error that stopped it."""
    inputs = Inputs.given()
    _work().mkdir(parents=True, exist_ok=True)
    base, head = commits(inputs, _event())
    junit, table = _work() / "junit.xml", _work() / "table.md"
    _body().unlink(missing_ok=True)
    code, printed, sessions = _judged(base, head, inputs, ("--junit", junit, "--markdown", table))
    if code == BusyError.exit_code:
        raise BusyError("others use the machine of this job too much for a verdict: run the job again")
    if code not in _VERDICTS:
        raise UsageError(f"steelyard check ended with exit code {code}; what it said stands above")
    verdict = _VERDICTS[code]
    sentence = conclusion(json.loads(printed), base[:12], inputs.threshold, sessions=sessions)
    _output(verdict=verdict, junit=junit, markdown=table)
    said = f"### Steelyard: {verdict}\n\n{sentence}\n\n{table.read_text()}\n"
    _append("GITHUB_STEP_SUMMARY", said)
    _body().write_text(f"{_mark(inputs)}\n{said}")
    fails = code == 1 or (code == 2 and inputs.undecided == "fail")
    _annotate("error" if fails else "notice" if code == 0 else "warning", sentence)
    return code if fails else 0


def conclusion(cases: Sequence[dict[str, Any]], base: str, threshold: str, *, sessions: bool) -> str:
    """One sentence on what `steelyard check --json` found: what is worse, and what the undecided ones need.

    sessions: two sessions were compared, which no number of blocks brings nearer to each other.
    """
    from steelyard.units import counted, format_duration

    if not cases:
        return "Nothing could be compared: both commits need a probe in common."
    if any(case["void"] for case in cases):
        return "The controls of the session failed, so that it decides nothing: run the job again."
    worse = [case for case in cases if case["worse"]]
    undecided = [case for case in cases if case["verdict"] == "undecided"]
    among = counted(len(cases), "case")
    found = [f"{len(worse)} of {among} {_are(worse)} worse than {base} by more than {threshold}."] if worse else []
    if not worse and not undecided:
        return f"No case of {len(cases)} is worse than {base} by more than {threshold}."
    if undecided:
        told = [case for case in undecided if case["more_blocks"] is not None]
        needs = f"{len(undecided)} of {among} {_are(undecided)} undecided"
        if len(told) < len(undecided):
            names = _names(undecided, told)
            needs += (
                f"; two sessions cannot tell {names}: give `against: commit`"
                if sessions
                else f"; too near the threshold of {threshold} for any number of blocks: {names}"
            )
        if told:
            blocks = max(case["n"] + case["more_blocks"] for case in told)
            seconds = [case["more_seconds"] for case in told if case["more_seconds"] is not None]
            longer = f", about {format_duration(max(seconds))} longer" if seconds else ""
            needs += f"; {blocks} blocks would decide {_names(told)}{longer}: give `options: --blocks {blocks}`"
        found.append(f"{needs}.")
    return " ".join(found)


def _are(cases: Sequence[object]) -> str:
    return "is" if len(cases) == 1 else "are"


def _names(cases: Sequence[dict[str, Any]], without: Sequence[dict[str, Any]] = ()) -> str:
    return ", ".join(case["case"] for case in cases if case not in without)


# --- the comment ------------------------------------------------------------------------------------------------------


def _body() -> Path:
    """The text of the comment, kept from step to step."""
    return _work() / "comment.md"


def _mark(inputs: Inputs) -> str:
    """What a comment of ours begins with; another use of the action in the same workflow has another."""
    return f"<!-- steelyard {inputs.measured} -->"


def comment() -> int:
    """Write the comment under the pull request, or in the place of the one that is there."""
    number = (_event().get("pull_request") or {}).get("number")
    if number is None or not _body().exists():
        return 0
    body = _body().read_text()
    place = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        ours = _ours(f"{place}/{number}/comments", body.partition("\n")[0])
        if ours is None:
            _ask("POST", f"{place}/{number}/comments", {"body": body})
        else:
            _ask("PATCH", f"{place}/comments/{ours}", {"body": body})
    except OSError as error:
        _annotate(
            "warning",
            f"the comment could not be written ({error}): give the job `permissions: pull-requests: write`; the table "
            "is in the summary of the job",
        )
    return 0


def _ours(comments: str, mark: str) -> int | None:
    """The number of the comment that begins with our mark."""
    for page in range(1, _PAGES + 1):
        found = _ask("GET", f"{comments}?per_page=100&page={page}")
        for one in found:
            if str(one.get("body", "")).startswith(mark):
                return int(one["id"])
        if len(found) < 100:
            return None
    return None


def _ask(method: str, url: str, data: object = None) -> Any:
    """The answer of the API, whatever JSON it is; raises OSError where the API refuses or is not there."""
    request = urllib.request.Request(  # noqa: S310 - the runner says where its API is
        url,
        method=method,
        data=None if data is None else json.dumps(data).encode(),
        headers={
            "Authorization": f"Bearer {Inputs.given().token}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


_STEPS = {"plan": plan, "check": check, "comment": comment}


def main(arguments: Sequence[str]) -> int:
    """Do one step; an error is one sentence beside the job."""
    if len(arguments) != 1 or arguments[0] not in _STEPS:
        print(f"usage: action.py {'|'.join(_STEPS)}", file=sys.stderr)
        return UsageError.exit_code
    try:
        return _STEPS[arguments[0]]()
    except SteelyardError as error:
        _output(verdict="error")
        _annotate("error", str(error))
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

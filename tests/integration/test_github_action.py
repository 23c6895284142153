# SPDX-License-Identifier: Apache-2.0
"""The GitHub Action outside GitHub: the steps of action.yml are done by bash as a runner does them, on a repository
whose probes print made-up figures. So no machine decides a verdict here."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree as ET

import pytest
import yaml

from steelyard.errors import BusyError, UsageError
from steelyard.measure import catalog
from tests import processes
from tests.long import LONG

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
SCRIPT = ROOT / "packaging" / "github" / "action.py"
_spec = importlib.util.spec_from_file_location("action", SCRIPT)
action = importlib.util.module_from_spec(_spec)
sys.modules["action"] = action
_spec.loader.exec_module(action)

STEPS = {step.get("id") or step["name"].lower(): step for step in ACTION["runs"]["steps"]}
#: A probe in sh. One operation takes COST steps, and the clock of null/null stands in its delay.
PROBE = """#!/bin/sh
case $1 in --describe) cat <<'END'
DESCRIPTOR
END
exit ;; esac
operations=1000 values=1 delay=0 given=
while [ $# -gt 0 ]; do
  case $1 in
  --operations) operations=$2; shift ;;
  --values) values=$2; shift ;;
  --target | --placement | --deadline) shift ;;
  *=*) given="$given${given:+,}\\"${1%%=*}\\":${1#*=}"; case $1 in delay_percent=*) delay=${1#*=} ;; esac ;;
  esac
  shift
done
cost=COST
meta='{"type":"meta","protocol":1,"probe":"NAME","placement":"same","cpus":[0],"search_ns":0'
printf '%s,"parameters":{%s},"operations":%d}\\n' "$meta" "$given" "$operations"
for n in $(seq "$values"); do
  printf '{"type":"value","operations":%d,"wall_ns":%d,"counts":{"checked":%d,"steps":%d}}\\n' \\
    "$operations" $((operations * (100 + delay))) "$operations" $((operations * cost))
done
printf '{"type":"end","values":%d}\\n' "$values"
"""


def wild(stride: int) -> str:
    """A cost that is another one in each run, between 80 and 120: the same numbers each time."""
    return f'$(n=$(($(cat "$0.n" 2>/dev/null || echo 0) + 1)); echo $n >"$0.n"; echo $((80 + n * {stride} % 41)))'


def a_probe(folder: Path, name: str, cost: object, *parameters: str) -> None:
    metric = {"name": "work", "unit": "1", "better": "lower", "over": "steps", "per": "operations", "doc": "steps"}
    if name == "null/null":
        metric |= {"unit": "s", "over": "wall"}
    descriptor = {
        **{"protocol": 1, "probe": name, "question": "What?", "operation": "one", "source": "made up", "value_ms": 1},
        **{"statistic": "median", "placements": ["same"], "uses": ["cpu"], "metrics": [metric]},
        "parameters": [
            {"name": parameter, "type": "integer", "doc": "of the control", "sweep": [0], "minimum": 0, "maximum": 9}
            for parameter in parameters
        ],
    }
    text = PROBE.replace("DESCRIPTOR", json.dumps(descriptor)).replace("NAME", name).replace("COST", str(cost))
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Repository:
    """A repository of a few commits, each with the folder `source`, which its build copies to `probes`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=example", "-c", "user.email=example@example.org")
        return subprocess.run(
            [processes.tool("git"), *who, *arguments], cwd=self.folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, **costs: object) -> str:
        for way, cost in costs.items():
            a_probe(self.folder / "source", f"work/{way}", cost)
        a_probe(self.folder / "source", "null/null", 1, "delay_percent", "copy")
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", "a commit")
        return self.git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    made = Repository(tmp_path_factory.mktemp("example") / "repository")
    made.base = made.commit(steps=100, rest=100, wild=wild(6))
    made.head = made.commit(steps=105, wild=wild(21))
    return made


class Runner:
    """What a runner is to a step: files for what it says, an event, and the inputs with their defaults."""

    def __init__(self, folder: Path, repository: Repository, monkeypatch) -> None:
        self.folder, self.repository, self.monkeypatch = folder, repository, monkeypatch
        python = folder / "steelyard" / "venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        self.event = {"pull_request": {"number": 7, "base": {"sha": repository.base}}}
        self.files = {name: folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}

    def environment(self, api: str = "") -> dict[str, str]:
        event = self.folder / "event.json"
        event.write_text(json.dumps(self.event))
        return {
            **{name: str(path) for name, path in self.files.items()},
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_WORKSPACE": str(self.repository.folder),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_REPOSITORY": "somebody/something",
            "GITHUB_API_URL": api,
            "RUNNER_TEMP": str(self.folder),
        }

    def outputs(self) -> dict[str, str]:
        path = self.files["GITHUB_OUTPUT"]
        return dict(line.split("=", 1) for line in path.read_text().splitlines()) if path.exists() else {}

    def step(self, name: str, api: str = "", **inputs: str) -> subprocess.CompletedProcess[str]:
        """Do a step of action.yml with these inputs, as a runner would."""
        known = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        known |= {"token": "a-token", **inputs}

        def filled(match: re.Match[str]) -> str:
            kind, _, rest = match[1].partition(".")
            if kind == "inputs":
                return known[rest]
            if kind == "steps":
                return self.outputs()[rest.split(".")[-1]]
            return {"runner.temp": str(self.folder)}[match[1]]

        env = {key: re.sub(r"\$\{\{ (\S+) \}\}", filled, text) for key, text in STEPS[name]["env"].items()}
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", STEPS[name]["run"]],
            cwd=self.repository.folder,
            env={**os.environ, **self.environment(api), **env},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=processes.PATIENCE_S,
        )


BUILD = "rm -rf probes && cp -r source probes"
BRIEF = "--blocks 6 --values 2 --seed 1"


@pytest.fixture
def runner(tmp_path, repository, monkeypatch):
    return Runner(tmp_path, repository, monkeypatch)


def judged(runner, **inputs):
    """The steps `plan` and `check`."""
    given = {"probes": "probes", "build": BUILD, "options": BRIEF, **inputs}
    planned = runner.step("plan", **given)
    assert planned.returncode == 0, planned.stdout + planned.stderr
    return runner.step("check", **given)


def test_a_commit_that_is_slower_by_five_per_cent_fails_and_what_is_undecided_says_what_it_needs(runner, repository):
    done = judged(runner, selectors="work/steps 'work/w*'")
    assert done.returncode == 1, done.stdout + done.stderr
    short = repository.base[:12]
    assert f"::error title=Steelyard::1 of 2 cases is worse than {short} by more than 2%25. " in done.stdout
    outputs, summary = runner.outputs(), runner.files["GITHUB_STEP_SUMMARY"].read_text()
    assert outputs["verdict"] == "worse"
    assert re.search(r"1 of 2 cases is undecided; \d+ blocks would decide work/wild@same, .*--blocks \d+`", summary)
    assert re.search(r"`work/steps@same` .* \*\*worse\*\*: different by \+5", summary)
    assert f"a: `{short}`, b: `{repository.head[:12]}`" in summary
    suite = ET.parse(outputs["junit"]).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    assert (runner.folder / "steelyard" / "comment.md").read_text().startswith("<!-- steelyard ")
    assert repository.git("worktree", "list").count("\n") == 0  # the tree of the base is gone


def test_an_equal_commit_passes(runner, repository):
    done = judged(runner, selectors="work/rest")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"::notice title=Steelyard::No case of 1 is worse than {repository.base[:12]}" in done.stdout
    assert runner.outputs()["verdict"] == "pass"


def a_case(name, verdict, *, worse=False, n=6, more=None, seconds=None, void=None):
    return {
        **{"case": name, "verdict": verdict, "worse": worse, "n": n, "void": void},
        **{"more_blocks": more, "more_seconds": seconds},
    }


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ([a_case("a", "equivalent")], "No case of 1 is worse than base by more than 2%."),
        ([a_case("a", "different", worse=True)], "1 of 1 case is worse than base by more than 2%."),
        (
            [a_case("a", "undecided", more=14, seconds=180), a_case("b", "equivalent")],
            "1 of 2 cases is undecided; 20 blocks would decide a, about 3 min 00 s longer: give `options: --blocks",
        ),
        (
            [a_case("a", "undecided", more=4), a_case("b", "undecided")],
            "2 of 2 cases are undecided; too near the threshold of 2% for any number of blocks: b; 10 blocks would "
            "decide a: give `options: --blocks 10`.",
        ),
        ([a_case("a", "equivalent", void={"why": "drift"})], "The controls of the session failed, so that it decides "),
        ([], "Nothing could be compared"),
    ],
)
def test_the_conclusion_is_a_sentence_that_says_what_to_do(cases, said):
    assert action.conclusion(cases, "base", "2%", sessions=False).startswith(said)


def test_what_two_sessions_cannot_tell_is_to_be_measured_in_turn():
    said = action.conclusion([a_case("a", "undecided")], "base", "2%", sessions=True)
    assert said == "1 of 1 case is undecided; two sessions cannot tell a: give `against: commit`."


@pytest.mark.parametrize(("undecided", "code"), [("pass", 0), ("fail", 2)])
def test_what_an_undecided_verdict_does_is_chosen(undecided, code, runner, repository, monkeypatch):
    for name, value in runner.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("INPUT_UNDECIDED", undecided)
    (runner.folder / "steelyard" / "table.md").write_text("a table\n")
    cases = [a_case("work/wild@same", "undecided", more=14, seconds=60)]
    monkeypatch.setattr(action, "_judged", lambda *_: (2, json.dumps(cases), False))
    assert action.main(["check"]) == code
    assert runner.outputs()["verdict"] == "undecided"


def test_a_machine_that_is_not_free_is_said(runner, monkeypatch, capfd):
    for name, value in runner.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(action, "_judged", lambda *_: (BusyError.exit_code, "", False))
    assert action.main(["check"]) == BusyError.exit_code
    assert "::error title=Steelyard::others use the machine of this job" in capfd.readouterr().out
    assert runner.outputs()["verdict"] == "error"


@pytest.mark.parametrize(
    ("event", "asked", "wanted"),
    [
        ({"pull_request": {"base": {"sha": "BASE"}}}, "", "BASE"),
        ({"merge_group": {"base_sha": "BASE"}}, "", "BASE"),
        ({"before": "BASE"}, "", "BASE"),
        ({"before": "0" * 40}, "", "BASE"),  # a new branch: what the last commit stands on
        ({}, "", "BASE"),
        ({}, "main~1", "BASE"),
        ({"pull_request": {"base": {"sha": "LATER"}}}, "", "BASE"),  # the base went on after the branch was made
    ],
)
def test_the_base_is_what_the_event_says(event, asked, wanted, runner, repository, monkeypatch):
    for name, value in runner.environment().items():
        monkeypatch.setenv(name, value)
    tree = repository.git("rev-parse", f"{repository.base}^{{tree}}")
    later = repository.git("commit-tree", tree, "-p", repository.base, "-m", "later")
    told = json.loads(json.dumps(event).replace("BASE", repository.base).replace("LATER", later))
    found = action.commits(action.Inputs(base=asked), told)
    assert found == (repository.base, repository.head)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"base": "nowhere"}, "the checkout has no commit nowhere: give actions/checkout `fetch-depth: 0`"),
        ({"base": "HEAD"}, "name another one by the input `base`"),
        ({"base": "HEAD^", "probes": ""}, "give the input `command`, or `probes`"),
        ({"base": "HEAD^", "build": "exit 3"}, "ended with exit code 3"),
        ({"base": "HEAD^", "probes": "elsewhere"}, "has no folder elsewhere after its build"),
        ({"base": "HEAD^", "undecided": "maybe"}, 'the input `undecided` is pass or fail, not "maybe"'),
    ],
)
def test_what_stops_it_is_one_sentence(inputs, said, runner, repository, monkeypatch, capfd):
    for name, value in runner.environment().items():
        monkeypatch.setenv(name, value)
    for name, value in {"probes": "probes", "build": BUILD, **inputs}.items():
        monkeypatch.setenv(f"INPUT_{name.upper()}", value)
    assert action.main(["check"]) == UsageError.exit_code
    [annotation] = [line for line in capfd.readouterr().out.splitlines() if line.startswith("::error")]
    assert said in annotation
    assert runner.outputs()["verdict"] == "error"


def test_a_command_becomes_a_probe_that_proves_that_it_succeeded(tmp_path):
    folder = tmp_path / "made"
    action._write_command(folder, tmp_path, "test -d made")
    assert list(catalog.find_programs([folder])) == ["workflow/command"]
    program = folder / "workflow" / "command.py"
    assert catalog.describe(program, "workflow/command").operation.startswith("one run of the command")
    failing = tmp_path / "failing"
    action._write_command(failing, tmp_path, "echo 'no' >&2; exit 9")
    for made, code in ((folder, 0), (failing, 1)):
        command = [sys.executable, made / "workflow" / "command.py", "--operations", "1", "--values", "1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
    assert "the command ended with exit code 9" in done.stderr


class Api(BaseHTTPRequestHandler):
    """Comments of a pull request: those of others, and whatever is written."""

    comments: ClassVar[list[dict[str, object]]] = []
    refuses = False

    def do_GET(self):
        page = int(self.path.rpartition("page=")[2])
        self.answer(self.comments[100 * (page - 1) : 100 * page])

    def do_POST(self):
        if self.refuses:
            self.send_error(403)
            return
        assert self.headers["Authorization"] == "Bearer a-token"
        assert self.path == "/repos/somebody/something/issues/7/comments"
        self.comments.append({"id": len(self.comments), **self.data()})
        self.answer({})

    def do_PATCH(self):
        number = int(self.path.removeprefix("/repos/somebody/something/issues/comments/"))
        self.comments[number] |= self.data()
        self.answer({})

    def data(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, data):
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def api(monkeypatch):
    monkeypatch.setattr(Api, "comments", [{"id": number, "body": "of another one"} for number in range(130)])
    monkeypatch.setattr(Api, "refuses", False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_comment_is_written_once_and_then_replaced(runner, api):
    body = runner.folder / "steelyard" / "comment.md"
    for said in ("first", "second"):
        body.write_text(f"<!-- steelyard 01234567 -->\n{said}")
        done = runner.step("comment", api)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert [one["body"].splitlines()[1] for one in Api.comments[130:]] == ["second"]


def test_a_comment_that_may_not_be_written_is_a_warning(runner, api, monkeypatch):
    monkeypatch.setattr(Api, "refuses", True)
    (runner.folder / "steelyard" / "comment.md").write_text("<!-- steelyard 01234567 -->\nsaid")
    done = runner.step("comment", api)
    assert done.returncode == 0, done.stderr
    assert "::warning title=Steelyard::the comment could not be written (HTTP Error 403" in done.stdout
    assert "pull-requests: write" in done.stdout


def test_every_input_and_output_that_is_named_exists():
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(ACTION["inputs"])
    written = set(re.findall(r"(\w+)=", " ".join(re.findall(r"_output\((.*)\)", SCRIPT.read_text()))))
    assert set(re.findall(r"steps\.\w+\.outputs\.(\w+)", text)) <= written
    for name in ("plan", "check", "comment"):
        given = {key.removeprefix("INPUT_").lower() for key in STEPS[name]["env"] if key.startswith("INPUT_")}
        assert given <= {field.name for field in action.fields(action.Inputs)}
        assert f'"$GITHUB_ACTION_PATH/packaging/github/action.py" {name}' in STEPS[name]["run"]
    read = {field.name for field in action.fields(action.Inputs)}
    assert read <= set(ACTION["inputs"])
    for field in action.fields(action.Inputs):
        assert ACTION["inputs"][field.name].get("default", "") in (field.default, "${{ github.token }}")
    assert STEPS["install"]["run"].count("INPUT_INSTALL") == 1


@pytest.mark.skipif(not LONG, reason="measures for some minutes: make test-all")
@pytest.mark.parametrize("against", ["commit", "session"])
def test_a_command_that_takes_three_times_as_long_is_found_in_earnest(against, runner, tmp_path_factory):
    repository = runner.repository = Repository(tmp_path_factory.mktemp("earnest") / "repository")
    commits = []
    for turns in (1_000_000, 1_000_000, 3_000_000):
        (repository.folder / "work.py").write_text(f"for _ in range({turns}): pass\n")
        commits.append(repository.commit())
    inputs = {"command": "python3 work.py", "build": "", "probes": "", "against": against, "options": "--blocks 12"}
    if against == "session":  # the job on the branch of the base leaves the session of the base
        repository.git("checkout", "--quiet", commits[1])
        first = judged(runner, base=commits[0], **inputs)
        assert "the cache has no session" in first.stdout, first.stdout + first.stderr
        repository.git("checkout", "--quiet", commits[2])
    done = judged(runner, base=commits[1], **inputs)
    assert "the cache has no session" not in done.stdout
    if runner.outputs()["verdict"] == "undecided" or done.returncode == BusyError.exit_code:
        pytest.skip(f"others use this machine: {done.stdout}")
    assert done.returncode == 1, done.stdout + done.stderr

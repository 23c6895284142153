# SPDX-License-Identifier: Apache-2.0
"""`steelyard choose message` from a recorded session, and what cannot be asked."""

import gzip
import json
from pathlib import Path

import pytest

from steelyard.__main__ import main
from steelyard.errors import SelectionError, UsageError
from steelyard.judge import model
from steelyard.judge.proving_choices import draw
from steelyard.lab import proving_choices as proving
from steelyard.measure import catalog
from steelyard.settings import Settings
from tests.integration.laboratory import words
from tests.long import LONG
from tests.many import lines_of, write
from tests.processes import compiled
from tests.unit.judge.test_model import served

RECORDED = Path(__file__).parents[1] / "golden" / "first.session.jsonl.gz"
PLANTED = Path(__file__).parent / "planted.c"
#: What costs so much more is dearer also where others take the CPU; on a quiet machine 5 µs are enough.
PLANTED_NS = 5_000 if LONG else 200_000


@pytest.fixture
def recorded(tmp_path):
    """A real session; its messages have one byte."""
    path = tmp_path / "recorded.session.jsonl"
    path.write_bytes(gzip.decompress(RECORDED.read_bytes()))
    return str(path)


def test_a_session_answers_on_one_screen_and_for_programs(recorded, capsys):
    assert main(["choose", "message", "--size", "1", "--session", recorded]) == 0
    text = capsys.readouterr().out
    assert "messages of 1 B between two processes on two CPUs" in text
    assert "1 B: take ring in shared memory; " in text
    assert len(text.splitlines()) < 30
    assert main(["choose", "message", "--size", "1", "--session", recorded, "--json"]) == 0
    [choice] = json.loads(capsys.readouterr().out)["choices"]
    assert choice["recommended"] == "latency_shm_ring"
    assert choice["verdict"]["verdict"] == "different"


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (["--size", "none"], UsageError, '"none" is not a size'),
        (["--needs", "boundaries"], UsageError, "--needs takes a name and a value, such as boundaries=yes"),
        (["--goal", "p98=1ms"], UsageError, "--goal p98: the figures of a channel are round_trip, p99"),
        (["--goal", "p99=soon"], UsageError, '"soon" is not a duration'),
        (["--rate", "10/s"], UsageError, "--rate 10/s: so few messages a second never wait for each other"),
        (["--rate", "0"], UsageError, '"0" is not a rate'),
        (
            ["--rate", "100M/s"],
            SelectionError,
            "no channel can do what is asked: each is not measured at rate=1000",
        ),
        (["--by", "response"], UsageError, "--by response: the figures of a channel are round_trip, p99"),
        (["--needs", "colour=red"], UsageError, "--needs colour: no channel says that of itself; there are boundaries"),
        (["--size", "1GiB"], SelectionError, "no channel can do what is asked"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence_before_anything_is_measured(arguments, error, sentence, capsys):
    assert main(["choose", "message", *arguments]) == error.exit_code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in words(printed.err)


def test_every_channel_says_the_same_things_of_itself():
    """A property that one channel lacks could not be asked for; only a limit need not be there."""
    found = catalog.load(catalog.probe_folders()).probes.values()
    channels = [probe.descriptor for probe in found if probe.descriptor.family in ("latency", "paced")]
    said = {frozenset(descriptor.properties) - {"limit"} for descriptor in channels}
    assert said == {frozenset({"boundaries", "readers", "when full", "other side gone", "hosts"})}
    locks = [probe.descriptor for probe in found if probe.descriptor.family == "held"]
    assert {frozenset(lock.properties) for lock in locks} == {frozenset({"fair", "readers", "waiting", "owner dies"})}


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (["--contexts", "1000000"], SelectionError, "each is not measured at contexts=1000000"),
        (["--contexts", "0"], SelectionError, "each is not measured at contexts=0"),
        (["--hold", "1h"], SelectionError, "each is not measured at hold_ns=3600000000000"),
        (["--share-read", "2"], UsageError, "--share-read 2: a share lies between 0 and 1"),
        (["--goal", "p99=1ms"], UsageError, "--goal p99: the figures of a lock are each, wait, wait_p99, cpu"),
        (["--needs", "colour=red"], UsageError, "--needs colour: no lock says that of itself; there are fair"),
    ],
)
def test_what_no_lock_can_is_one_sentence(arguments, error, sentence, capsys):
    assert main(["choose", "lock", *arguments]) == error.exit_code
    assert sentence in words(capsys.readouterr().err)


def test_locks_are_measured_and_one_is_named(laboratory):
    """The only real measurement of locks here: two ways, one block."""
    done = laboratory.do(
        *("choose", "lock", "--needs", "fair=yes", "--contexts", "2", "--blocks", "1", "--target", "1ms", "--json")
    )
    assert done.returncode == 0, done.stderr
    chosen = json.loads(done.stdout)
    assert {way["way"] for way in chosen["choices"][0]["ways"]} == {"held_mcs", "held_ticket"}
    assert chosen["cannot"] == {}
    assert chosen["load"]["hold_ns"] == 200


def test_channels_are_measured_at_a_rate(laboratory):
    done = laboratory.do(
        *("choose", "message", "--rate", "5k/s", "--needs", "when full=message is lost", "--blocks", "1"),
        *("--target", "2ms", "--json"),
    )
    assert done.returncode == 0, done.stderr
    [way] = json.loads(done.stdout)["choices"][0]["ways"]
    assert way["way"] == "paced_udp"
    assert way["figures"]["response"] >= 0
    assert way["head_room"] > 0


@pytest.fixture(scope="module")
def pipes(tmp_path_factory):
    """Pipes as a program, by their name and by what is planted into each of their messages."""
    probes = Path(__file__).parents[2] / "probes"
    support = [probes / "support/c" / name for name in ("probe.c", "contexts.c", "counters.c")]
    folders = [f"-I{probes / 'message'}", f"-I{probes / 'support/c'}"]
    folder = tmp_path_factory.mktemp("pipes")

    def built(way, planted_ns):
        named = [f'-DPROBE_ID="message/{way}"', f"-DPLANTED_NS={planted_ns}"]
        return compiled(PLANTED, folder / f"{way}-{planted_ns}", *support, *folders, *named)

    return built


@pytest.mark.parametrize(("dearer", "taken"), [("latency_pipe", "latency_copy"), ("latency_copy", "latency_pipe")])
def test_a_planted_dearer_switch_turns_the_choice(laboratory, pipes, dearer, taken):
    """Two programs that are alike but for what one message of one of them costs."""
    for way in (dearer, taken):
        laboratory.add(pipes(way, PLANTED_NS if way == dearer else 0), f"message/{way}")
    done = laboratory.do(
        *("choose", "message", "--size", "1", "--placement", "same", "--needs", "readers=several", "--json"),
        *("--needs", "boundaries=no", "--blocks", "2", "--values", "3", "--target", "1ms"),
    )
    assert done.returncode == 0, done.stderr
    [choice] = json.loads(done.stdout)["choices"]
    ways = {way["way"]: way["figures"]["round_trip"] for way in choice["ways"]}
    assert list(ways) == [taken, dearer]
    assert ways[dearer] - ways[taken] > PLANTED_NS / 1e9


@pytest.fixture
def described(tmp_path):
    """A load, and a session of models that was measured near it."""
    load = tmp_path / "load.toml"
    load.write_text(model.EXAMPLE)
    session = write(tmp_path / "there.session.jsonl", lines_of(served({"epoll": 20e-6, "thread": 90e-6})))
    return [str(load), "--predict-only", "--session", str(session)]


def test_a_model_is_predicted_from_a_session_of_another_machine(described, capsys):
    assert main(["choose", "model", *described]) == 0
    assert "take epoll, by prediction; thread is next, at 2.00 times its CPU a request" in capsys.readouterr().out
    assert main(["choose", "model", *described, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recommended_by_prediction"] == "epoll"
    assert main(["choose", "model", *described, "--param", "rate=2k/s", "-p", "connections=50"]) == 0
    assert capsys.readouterr().out.startswith("2,000 requests a second over 50 connections")


def test_the_example_is_printed_and_can_be_read(capsys):
    assert main(["choose", "model", "--example"]) == 0
    assert model.read(capsys.readouterr().out.encode(), "example").rate == 1000


@pytest.mark.parametrize(
    ("changed", "error", "sentence"),
    [
        (("connections = 100 ", "connections = 1000000 "), SelectionError, "each is not measured at connections=1000"),
        (("depth = 1 ", "depth = 0 "), SelectionError, "each is not measured at depth=0"),
        (('wait = "1ms"', 'wait = "1h"'), UsageError, "a wait of 1 h 00 min is too long for the 4m that all may take"),
        (('rate = "1k/s"', 'rate = "10/s"'), UsageError, "a rate of 10/s is too low for a goal"),
        (("# languages = [", "languages = ['cobol', "), UsageError, "no model is written in cobol; there are c"),
        (("cores = 1 ", "coers = 1 "), UsageError, "unknown field `coers`"),
    ],
)
def test_a_load_that_nothing_can_serve_is_one_sentence(changed, error, sentence, tmp_path, capsys):
    load = tmp_path / "load.toml"
    assert changed[0] in model.EXAMPLE
    load.write_text(model.EXAMPLE.replace(*changed).replace("# languages = [", 'languages = ["c"] # ['))
    assert main(["choose", "model", str(load)]) == error.exit_code
    assert sentence in words(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [([], "name a file that describes the load"), (["nowhere.toml"], "nowhere.toml cannot be read (No such file")],
)
def test_a_load_has_to_be_there(arguments, sentence, capsys):
    assert main(["choose", "model", *arguments]) == UsageError.exit_code
    assert sentence in words(capsys.readouterr().err)


def test_a_choice_is_proved_by_a_second_session(monkeypatch, tmp_path, capsys):
    """One drawn load, by sessions of a second: that both are measured and compared is the subject."""
    short = dict.fromkeys(proving._MEASURED, Settings(budget="1s", quick=True))
    monkeypatch.setattr(proving, "_MEASURED", short)
    seed = next(seed for seed in range(100) if draw(seed, 1)[0][0] == "lock")
    page = tmp_path / "page.md"
    assert main(["prove", "--choose", "--loads", "1", "--seed", str(seed), "--markdown", str(page), "--json"]) == 0
    printed = capsys.readouterr()
    [made] = json.loads(printed.out)["choices"]
    assert made["kind"] == "lock"
    assert made["best"] is not None
    assert "1 of 1:" in words(printed.err)
    assert "# Error rates of choices" in page.read_text()


@pytest.mark.parametrize("arguments", [["--loads", "0"], ["--quick"], ["--fleets", "2"]])
def test_what_cannot_be_proved_is_one_sentence(arguments, capsys):
    assert main(["prove", "--choose", *arguments]) == UsageError.exit_code
    assert "Traceback" not in capsys.readouterr().err

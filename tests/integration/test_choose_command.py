# SPDX-License-Identifier: Apache-2.0
"""`steelyard choose message` from a recorded session, and what cannot be asked."""

import gzip
import json
from pathlib import Path

import pytest

from steelyard.__main__ import main
from steelyard.errors import SelectionError, UsageError
from steelyard.measure import catalog
from tests.integration.laboratory import words

RECORDED = Path(__file__).parents[1] / "golden" / "first.session.jsonl.gz"


@pytest.fixture
def recorded(tmp_path):
    """A real session; its messages have one byte."""
    path = tmp_path / "recorded.session.jsonl"
    path.write_bytes(gzip.decompress(RECORDED.read_bytes()))
    return str(path)


def test_a_session_answers_on_one_screen_and_for_programs(recorded, capsys):
    assert main(["choose", "message", "--size", "1", "--session", recorded]) == 0
    text = capsys.readouterr().out
    assert "messages between two processes on two CPUs" in text
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

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
    channels = [probe.descriptor for probe in found if probe.descriptor.probe.startswith("message/latency_")]
    said = {frozenset(descriptor.properties) - {"limit"} for descriptor in channels}
    assert said == {frozenset({"boundaries", "readers", "when full", "other side gone", "hosts"})}

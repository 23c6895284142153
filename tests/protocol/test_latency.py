# SPDX-License-Identifier: Apache-2.0
"""What message/latency_* say of single messages: never a quantile that too few of them were timed for."""

import itertools
import subprocess

import pytest

from steelyard.measure import catalog, protocol
from steelyard.records import Case, Transcript

PROGRAMS = catalog.find_programs(catalog.probe_folders())
BEYOND = 10
ENOUGH = {"enough_for_p99": 100 * BEYOND, "enough_for_p99_9": 1000 * BEYOND}


def measured(probe: str, operations: int, values: int) -> Transcript:
    found = catalog.describe(PROGRAMS[probe], probe)
    case = Case(probe=probe, parameters={"size": 1, "kind": "process"}, placement=found.placements[0])
    arguments = protocol.run_arguments(case, values=values, deadline_s=30, operations=operations)
    done = subprocess.run([PROGRAMS[probe], *arguments], capture_output=True, timeout=60, check=False)
    if done.returncode == protocol.SKIPPED_EXIT_CODE:
        pytest.skip(done.stderr.decode())
    return protocol.parse_transcript(done.stdout, case, found)


@pytest.mark.parametrize("probe", ["message/latency_pipe", "message/latency_unix_stream"])
def test_a_quantile_of_single_messages_exists_once_ten_are_expected_beyond_it(probe):
    values = measured(probe, operations=3000, values=8).values
    timed = itertools.accumulate(value.counts["timed"] for value in values)
    for value, so_far in zip(values, timed, strict=True):
        assert value.counts["timed"] <= value.operations
        for name, enough in ENOUGH.items():
            assert value.counts[name] == (so_far >= enough)
        assert value.readings["median"] <= value.readings["p99"] <= value.readings["p99_9"]


def test_a_few_messages_have_a_mean_and_no_quantiles_and_it_is_said_why():
    transcript = measured("message/latency_pipe", operations=15, values=2)
    for value in transcript.values:
        assert value.counts["timed"] > 0
        assert not any(value.counts[name] for name in ("enough_for_median", *ENOUGH))
    assert any(caveat.startswith("p99 and p99_9: too few messages") for caveat in transcript.caveats)

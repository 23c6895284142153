# SPDX-License-Identifier: Apache-2.0
"""What wake/* say of wake-ups: every one of them is in the histogram, and no quantile is of too few."""

import itertools
import os
import subprocess

import pytest

from steelyard.measure import catalog, protocol
from steelyard.records import Case, Transcript
from tests import processes

PROGRAMS = catalog.find_programs(catalog.probe_folders())
ENOUGH = {"enough_for_median": 20, "enough_for_p99": 1000, "enough_for_p99_9": 10_000, "enough_for_p99_99": 100_000}
WAYS = ["timer", "futex", "futex by request"]


def measured(asked: str, operations: int, values: int, mark: str = "", **parameters: object) -> Transcript:
    way, _, by = asked.partition(" by ")
    if by:
        parameters["by"] = by
    found = catalog.describe(PROGRAMS[f"wake/{way}"], f"wake/{way}")
    given = {parameter.name: parameter.sweep[0] for parameter in found.parameters} | {"interval": 100} | parameters
    case = Case(probe=found.probe, parameters=given, placement="same")
    arguments = protocol.run_arguments(case, values=values, deadline_s=60, operations=operations)
    environment = {**os.environ, processes.MARK: mark}
    done = subprocess.run(
        [PROGRAMS[found.probe], *arguments],
        env=environment,
        capture_output=True,
        timeout=processes.PATIENCE_S,
        check=False,
    )
    if done.returncode == protocol.SKIPPED_EXIT_CODE:
        pytest.skip(done.stderr.decode())
    assert done.returncode == 0, done.stderr
    return protocol.parse_transcript(done.stdout, case, found)


def quantile(buckets, share: float) -> float:
    """The least number that this share of all does not exceed."""
    wanted = share * sum(times for _, times in buckets)
    sums = itertools.accumulate(times for _, times in buckets)
    return next(number for (number, _), so_far in zip(buckets, sums, strict=True) if so_far >= wanted)


@pytest.mark.parametrize("way", WAYS)
def test_every_wake_up_is_in_the_histogram_of_its_run(way):
    transcript = measured(way, operations=600, values=3)
    [histogram] = transcript.histograms
    assert (histogram.unit, histogram.scale) == ("s", 1e-9)
    assert sum(times for _, times in histogram.buckets) == sum(value.operations for value in transcript.values)
    last = transcript.values[-1]
    longest, p99 = last.readings["longest"] * 1e9, last.readings["p99"] * 1e9
    number, _ = histogram.buckets[-1]
    assert number <= longest <= number * (1 + 1 / 128) + 1
    assert p99 == pytest.approx(quantile(histogram.buckets, 0.99), rel=0.01)


@pytest.mark.parametrize("way", WAYS)
def test_a_quantile_exists_once_ten_wake_ups_are_expected_beyond_it(way):
    so_far = 0
    for value in measured(way, operations=600, values=3).values:
        so_far += value.operations
        assert {name: value.counts[name] for name in ENOUGH} == {
            name: int((value.operations if name == "enough_for_median" else so_far) >= enough)
            for name, enough in ENOUGH.items()
        }


def test_however_few_are_asked_for_a_value_has_a_median():
    for value in measured("timer", operations=1, values=2).values:
        assert value.operations == 100
        assert value.counts["enough_for_median"] == 1


def test_who_asks_to_be_woken_sleeps_twice_for_each_wake_up_and_its_caller_once():
    [on_timer] = measured("futex", operations=200, values=1).values
    [asked] = measured("futex by request", operations=200, values=1).values
    assert on_timer.voluntary / on_timer.operations < 2.5 < asked.voluntary / asked.operations


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("load", ["spin", "memory", "messages"])
def test_what_works_beside_is_gone_afterwards(way, load):
    mark = processes.a_mark()
    transcript = measured(way, operations=100, values=1, mark=mark, load=load, interval=1000)
    assert transcript.values[0].operations >= 100
    assert processes.gone(mark)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", ["batch", "fifo", "rr"])
def test_the_sleeper_may_have_another_policy(way, policy):
    assert measured(way, operations=100, values=1, policy=policy).values[0].operations >= 100


@pytest.mark.parametrize("way", ["timer", "futex"])
def test_a_nice_value_that_may_not_be_taken_is_a_skip(way):
    program = PROGRAMS[f"wake/{way}"]
    nobody = ("setpriv", "--reuid", "65534", "--clear-groups", "--regid", "65534")
    if os.getuid() != 0:
        nobody = ()
    done = subprocess.run(
        [*nobody, program, "nice=-5", "--operations", "100", "--values", "1"], capture_output=True, check=False
    )
    if done.returncode == 127:
        pytest.skip("the probes are where an ordinary user can't start them")
    assert done.returncode == protocol.SKIPPED_EXIT_CODE, done.stderr
    assert b"CAP_SYS_NICE" in done.stderr

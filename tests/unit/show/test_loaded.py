# SPDX-License-Identifier: Apache-2.0
"""Latency by bandwidth, in rows and words."""

import io

import msgspec

from steelyard.judge.findings import judge
from steelyard.show import loaded
from steelyard.show.console import Console
from tests.unit.judge.test_loaded import CURVE, session


def test_a_table_has_a_row_a_point_and_says_what_the_most_load_does():
    text = io.StringIO()
    loaded.show(judge(session(CURVE)).loaded, Console(file=text, width=120))
    lines = [line.strip() for line in text.getvalue().splitlines() if line.strip()]
    assert lines[0] == "load, size 64, one CPU: latency by the bandwidth of others"
    assert [line.split()[:2] for line in lines[2:5]] == [["1.00", "GB/s"], ["10.0", "GB/s"], ["20.0", "GB/s"]]
    assert lines[-1].startswith("at 20.0 GB/s it takes 2 times (")
    assert lines[-1].endswith(") as long as at 1.00 GB/s")


def test_few_blocks_and_none_in_common_are_said():
    [few] = judge(session(CURVE, blocks=2)).loaded
    assert "(too few blocks for an interval)" in loaded.sentence(few)
    assert loaded.sentence(msgspec.structs.replace(few, most=None)) == "no block has both 1.00 GB/s and 20.0 GB/s"

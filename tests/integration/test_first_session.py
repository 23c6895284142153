# SPDX-License-Identifier: Apache-2.0
"""What a person sees who types `steelyard run` and nothing else."""

import pytest

from steelyard.judge.answers import operands
from steelyard.keep import session as sessions
from steelyard.measure import catalog
from tests.integration.laboratory import a_laboratory


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A quick look, with values far too short to be believed."""
    with a_laboratory(tmp_path_factory.mktemp("first")) as laboratory:
        done = laboratory.do("run", "--quick", "--blocks", "6", "--target", "1ms", "-o", laboratory.session_path)
        yield laboratory, done


def test_every_case_of_a_first_session_is_one_that_its_probe_knows():
    found = catalog.load(catalog.probe_folders())
    missing = {skip.subject for skip in found.skips}
    for operand in operands():
        if operand.pattern.probe not in missing:
            assert catalog.select(found, [operand.case], {}, [], brief=True), operand.case


def test_a_quick_look_measures_the_best_known_prices_and_ends_in_one_screen(quick):
    laboratory, done = quick
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 60
    measured = {case.probe for case in sessions.read(laboratory.session_path).header.selection}
    assert measured <= {operand.pattern.probe for operand in operands(known=True)}
    assert "call/syscall" in measured


def test_show_prints_the_same_and_all_of_it_where_it_is_asked_for(quick):
    laboratory, done = quick
    assert laboratory.do("show", laboratory.session_path).stdout == done.stdout
    everything = laboratory.do("show", laboratory.session_path, "--all").stdout
    assert "machine key" in everything
    assert len(everything.splitlines()) > len(done.stdout.splitlines())

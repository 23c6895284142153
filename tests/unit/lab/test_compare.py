# SPDX-License-Identifier: Apache-2.0
"""What `--vary` stands for before anything is asked of a probe."""

import pytest

from steelyard.errors import UsageError
from steelyard.lab.compare import selected


@pytest.fixture
def folders(tmp_path):
    """`--vary` of two folders, of which one has a probe more."""
    for name in ("old/novelty/mine", "new/novelty/mine", "new/novelty/another"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o755)
    return f"probe-dir:{tmp_path}/old,{tmp_path}/new"


def test_of_two_folders_only_what_both_have_is_asked_for(folders):
    assert selected(folders, []) == ["novelty/mine"]


@pytest.mark.parametrize("text", ["env:A=1,2", "param:size=1,2", "probe-dir:nowhere,elsewhere"])
def test_what_names_no_folders_leaves_the_selectors_as_they_are(text):
    assert selected(text, []) == []


def test_what_is_selected_is_asked_for_and_nothing_else(folders):
    assert selected(folders, ["null"]) == ["null"]


def test_folders_without_a_probe_in_common_are_wrong_usage(folders, tmp_path):
    (tmp_path / "new" / "novelty" / "mine").unlink()
    with pytest.raises(UsageError, match="no probe in common"):
        selected(folders, [])

# SPDX-License-Identifier: Apache-2.0
import pytest

from steelyard.errors import SessionFileError
from steelyard.keep import folder
from steelyard.keep.session import read, sessions_folder
from tests.many import WHOLE, a_history


def test_a_folder_stands_for_all_session_files_in_and_below_it(tmp_path):
    there = a_history(tmp_path / "deep" / "er", 2)
    (tmp_path / "notes.txt").write_text("no session")
    assert folder.find([tmp_path]) == there


def test_files_patterns_and_folders_may_overlap_and_each_file_counts_once(tmp_path):
    there = a_history(tmp_path, 3)
    assert folder.find([there[1], tmp_path / "*.jsonl"]) == [there[1], there[0], there[2]]


def test_no_place_is_the_sessions_folder():
    there = a_history(sessions_folder(), 1)
    assert folder.find([]) == there


@pytest.mark.parametrize("place", ["empty", "nowhere", "*.nothing"])
def test_a_place_without_a_session_is_named(tmp_path, place):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SessionFileError, match=place.replace("*", r"\*")):
        folder.find([tmp_path / place])


def test_a_malformed_file_is_named_and_the_others_are_read(tmp_path):
    paths = a_history(tmp_path, 3)
    paths[1].write_text("{}\n")
    complaints = []
    assert [session.path for session in folder.readable(paths, complaints.append)] == [str(paths[0]), str(paths[2])]
    assert [str(paths[1]) in complaint for complaint in complaints] == [True]


def test_an_overview_is_what_the_first_and_the_last_line_say():
    session = read(WHOLE)
    look = folder.overview(WHOLE)
    assert (look.header, look.end) == (session.header, session.end)


def test_an_overview_of_a_session_that_was_killed_has_no_end(tmp_path):
    [path] = a_history(tmp_path, 1)
    path.write_bytes(path.read_bytes()[:-10])
    look = folder.overview(path)
    assert look.header.id == "0" * 16
    assert look.end is None

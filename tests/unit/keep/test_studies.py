# SPDX-License-Identifier: Apache-2.0
"""Folders of studies are found where a user names them, each once; what cannot be read is named."""

import os
from pathlib import Path

import pytest

from steelyard.errors import StudyError
from steelyard.keep import studies


def a_study(folder):
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text("title = 1")
    return folder


def test_there_is_none_where_nobody_has_one():
    assert studies.folders() == []


def test_a_folder_is_of_one_study_or_of_several(tmp_path):
    one, two = a_study(tmp_path / "all" / "one"), a_study(tmp_path / "all" / "two")
    (tmp_path / "all" / ".git").mkdir()
    assert studies.folders([tmp_path / "all"]) == [one, two]
    assert studies.folders([one]) == [one]


def test_each_is_read_once_wherever_it_is_named(tmp_path, monkeypatch):
    one, two = a_study(tmp_path / "all" / "one"), a_study(tmp_path / "two")
    mine = a_study(studies.own_folder() / "mine")
    monkeypatch.setenv("STEELYARD_STUDIES", f"{one}:{two}:")
    assert studies.folders([tmp_path / "all"]) == [one, two, mine]


def test_the_folder_where_one_stands_has_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(a_study(tmp_path / "here"))
    assert [folder.name for folder in studies.folders([Path()])] == ["here"]


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_a_study_is_named(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError, match=name):
        studies.folders([tmp_path / name])


def test_files_are_given_by_name_and_others_are_left_alone(tmp_path):
    folder = a_study(tmp_path / "one")
    (folder / "README.md").write_text("words")
    assert studies.files(folder) == {"study.toml": b"title = 1"}


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    folder = a_study(tmp_path / "one")
    os.mkfifo(folder / "claims.toml")
    with pytest.raises(StudyError, match=r"claims\.toml"):
        studies.files(folder)


def test_a_file_that_is_far_too_large_is_not_read(tmp_path):
    folder = a_study(tmp_path / "one")
    with (folder / "claims.toml").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(StudyError, match=r"claims\.toml"):
        studies.files(folder)


def test_a_data_folder_of_somebody_else_is_a_sentence(monkeypatch):
    def refused(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", refused)
    with pytest.raises(StudyError, match="set HOME or XDG_DATA_HOME"):
        studies.folders()

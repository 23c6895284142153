# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from steelyard.keep.bounded import UnreadableError, open_regular, read_regular


def test_a_regular_file_is_read_through_links_as_well(tmp_path):
    (tmp_path / "a").write_bytes(b"contents")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert read_regular(tmp_path / "link", 8) == b"contents"
    with open_regular(tmp_path / "a", 8) as file:
        assert file.readline(4) == b"cont"


def test_what_is_too_large_is_refused_unread(tmp_path):
    with (tmp_path / "a").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnreadableError, match="has 1048576 MiB, and at most 1 MiB are read"):
        open_regular(tmp_path / "a", 1 << 20)


def test_a_fifo_does_not_hang_and_a_device_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "a")
    for path in (tmp_path / "a", "/dev/zero"):
        with pytest.raises(UnreadableError, match="not a regular file"):
            read_regular(path, 10)


@pytest.mark.parametrize("name", ["nothing", "a\0b", "x" * 5000])
def test_what_cannot_be_opened_is_said(name, tmp_path):
    with pytest.raises(UnreadableError, match="cannot be read: "):
        open_regular(tmp_path / name, 10)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UnreadableError, match="cannot be read: "):
        read_regular(tmp_path, 10)

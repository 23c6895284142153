# SPDX-License-Identifier: Apache-2.0
import secrets

import pytest

from steelyard.errors import SessionFileError
from steelyard.keep import places
from tests.many import WHOLE

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def url():
    """A folder in the object store of this process, with two sessions of which one is torn."""
    files, name = fsspec.filesystem("memory"), f"/{secrets.token_hex(4)}/fleet"
    files.pipe_file(f"{name}/sessions/n1.1.session.jsonl", WHOLE.read_bytes())
    files.pipe_file(f"{name}/sessions/n2.1.session.jsonl", b"what?\n")
    files.pipe_file(f"{name}/fleet.json", b"{}")
    return f"memory:/{name}"


def test_sessions_are_read_from_folders_and_urls_in_one_go(url, tmp_path):
    (tmp_path / WHOLE.name).write_bytes(WHOLE.read_bytes())
    complaints = []
    found = list(places.sessions([str(tmp_path), url], complaints.append))
    assert len({one.header.id for one in found}) == 1
    assert [one.path.rpartition("/")[2] for one in found] == [WHOLE.name, "n1.1.session.jsonl"]
    assert len(complaints) == 1
    assert "n2.1.session.jsonl:1: not a line of a session file" in complaints[0]


def test_one_file_may_be_named(url):
    [found] = places.sessions([f"{url}/sessions/n1.1.session.jsonl"], pytest.fail)
    assert found.end is not None


def test_a_place_without_sessions_is_named(url):
    with pytest.raises(SessionFileError, match="no session in memory://nowhere"):
        list(places.sessions(["memory://nowhere"], pytest.fail))
    complaints = []
    assert list(places.sessions([f"{url}/other.session.jsonl"], complaints.append)) == []
    assert "cannot be read" in complaints[0]

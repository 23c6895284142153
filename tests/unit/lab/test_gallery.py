# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from steelyard.lab import gallery

GALLERY = Path(__file__).parents[3] / "gallery"


def test_every_file_of_the_gallery_that_comes_along_can_be_used():
    complaints: list[str] = []
    found = gallery.read(GALLERY, complaints.append)
    assert complaints == []
    assert len(found) == len(list(GALLERY.iterdir()))

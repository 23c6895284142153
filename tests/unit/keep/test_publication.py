# SPDX-License-Identifier: Apache-2.0
import hashlib
import json

import msgspec
import pytest

from steelyard.errors import GalleryError
from steelyard.keep import publication
from tests.publishing import a_publication, sealed


@pytest.fixture(scope="module")
def whole():
    return a_publication(instance="m7a.large", usd_an_hour=0.1)


def test_what_is_written_is_read(whole):
    assert publication.decode(whole.text.encode(), "a file") == whole


def test_the_digest_is_what_the_reference_says_it_is(whole):
    fields = json.loads(whole.text)
    digest = fields.pop("digest")
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(canonical.encode()).hexdigest() == digest


def changed(whole, **fields) -> bytes:
    """A file with other fields under a digest that was made anew, as whoever changes it on purpose makes it."""
    data = {**json.loads(whole.text), **fields}
    del data["digest"]
    digest = hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return json.dumps({**data, "digest": digest}).encode()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda whole: b"", "not a published session"),
        (lambda whole: b"\xff\xfe", "not a published session"),
        (lambda whole: b"[" * 100_000, "not a published session"),
        (lambda whole: b"[]", "not a published session"),
        (lambda whole: b'{"type":"session"}', "is a session: `steelyard publish"),
        (lambda whole: changed(whole, version=2), "newer Steelyard"),
        (lambda whole: changed(whole, version=10**400), "newer Steelyard|not a published session"),
        (lambda whole: changed(whole, host="build7"), "unknown field `host`"),
        (lambda whole: changed(whole, date="yesterday"), "date"),
        (lambda whole: changed(whole, instance="two words"), "instance"),
        (lambda whole: changed(whole, usd_an_hour=-1), "usd_an_hour"),
        (lambda whole: changed(whole, facts={"cpu": "a\nb"}), "facts"),
        (lambda whole: changed(whole, facts={"a\nb" * 1000: "x"}), "key"),
        (lambda whole: changed(whole, cases=[]), "cases"),
        (lambda whole: whole.text.replace('"seed": 7', '"seed": 8').encode(), "was changed"),
        (changed, "laid out"),
        (lambda whole: whole.text.encode() + b" ", "laid out"),
        (lambda whole: whole.text.replace('"seed": 7', '"seed": 9,\n "seed": 7').encode(), "laid out"),
    ],
)
def test_what_else_somebody_may_send_is_refused_in_one_sentence(whole, spoil, why):
    with pytest.raises(GalleryError, match=why) as refused:
        publication.decode(spoil(whole), "a file")
    assert str(refused.value).startswith("a file ")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500


def test_numbers_that_no_machine_has_are_refused(whole):
    text = whole.text.replace("[8,", "[8e400,", 1)
    assert text != whole.text
    with pytest.raises(GalleryError, match="not a published session"):
        publication.decode(text.encode(), "a file")


def test_a_file_that_is_none_or_too_large_is_refused(tmp_path):
    with pytest.raises(GalleryError, match="cannot be read"):
        publication.contents_of(tmp_path)
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(GalleryError, match="at most 1 MiB"):
        publication.contents_of(large)


def test_a_gallery_is_a_folder_of_files_of_that_name(tmp_path, whole):
    assert publication.files(tmp_path / "absent") == []
    for name in ("b.published.json", "a.published.json", "readme.md", "a.published.json.sig"):
        (tmp_path / name).write_text("")
    assert [path.name for path in publication.files(tmp_path)] == ["a.published.json", "b.published.json"]
    with pytest.raises(GalleryError, match="which is a folder"):
        publication.files(tmp_path / "readme.md")


def test_other_fields_have_another_digest(whole):
    other = sealed(whole, seed=8)
    assert other.digest != whole.digest
    assert publication.decode(other.text.encode(), "a file") == other
    assert msgspec.structs.replace(other, seed=7).checksum == whole.digest

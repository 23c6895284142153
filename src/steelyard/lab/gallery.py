# SPDX-License-Identifier: Apache-2.0
"""Galleries: folders of published sessions, each checked before it goes in, and the pages that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.errors import GalleryError
from steelyard.judge.gallery import gallery
from steelyard.keep import publication as published
from steelyard.keep.folder import Complain
from steelyard.lab.output import write
from steelyard.lab.publication import check, file_name, is_signed
from steelyard.records import Publication
from steelyard.show.page.gallery import pages


def read(folder: Path, complain: Complain) -> list[Publication]:
    """The published sessions of a gallery; one that is wrong is named in a complaint and left out.

    Raises GalleryError where none is left.
    """
    found = _usable(published.files(folder), complain)
    if not found:
        raise GalleryError(f"{folder} has no published session that can be used: `steelyard gallery add` adds some")
    return found


def _usable(files: Sequence[Path], complain: Complain) -> list[Publication]:
    found = []
    for path in files:
        try:
            found.append(check(published.contents_of(path), str(path)))
        except GalleryError as error:
            complain(str(error))
    return found


def add(folder: Path, files: Sequence[Path], complain: Complain) -> list[Path]:
    """Copy published sessions into a gallery, with their signatures, under names of their own; returns where they are.

    All or none: raises GalleryError for the first that is wrong, or that is there already.
    """
    there = {_which(one): "the gallery" for one in _usable(published.files(folder), complain)}
    copies: dict[Path, bytes] = {}
    for file in files:
        contents = published.contents_of(file)
        found = check(contents, str(file))
        if where := there.get(_which(found)):
            raise GalleryError(f"{file} is in {where} already: the same session of {found.date} with seed {found.seed}")
        there[_which(found)] = str(file)
        to = folder / file_name(found)
        copies[to] = contents
        signature = file.with_name(file.name + published.SIGNATURE)
        if signature.exists():
            copies[to.with_name(to.name + published.SIGNATURE)] = _signature(signature, contents, complain)
    for to, contents in copies.items():
        write(to, contents, new=True)
    return list(copies)


def _which(of: Publication) -> tuple[str, int, str]:
    """Which session it is, however often it is published."""
    return of.date, of.seed, of.facts.get("cpu", "")


def _signature(path: Path, signed: bytes, complain: Complain) -> bytes:
    """A signature that is one of the file; raises GalleryError if it is not."""
    contents = published.contents_of(path)
    good = is_signed(signed, path)
    if good is None:
        complain(f"{path} is copied and not checked: ssh-keygen is not installed")
    elif not good:
        raise GalleryError(f"{path} is no signature of the file beside it: sign it again, or send it without")
    return contents


def build(folder: Path, site: Path, complain: Complain) -> int:
    """Write the pages of a gallery; returns how many there are. Raises GalleryError and OutputError."""
    made = pages(gallery(read(folder, complain)))
    for name, text in made.items():
        write(site / name, text)
    return len(made)

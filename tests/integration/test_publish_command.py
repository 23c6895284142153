# SPDX-License-Identifier: Apache-2.0
"""A session is published, checked into a gallery, and seen among others, as a person types it."""

import gzip
import io
import json
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from steelyard.__main__ import main
from steelyard.errors import GalleryError, OutputError, PublishError, UsageError
from steelyard.keep import publication
from steelyard.keep import session as sessions
from tests.many import lines_of, write
from tests.publishing import a_publication, a_session, sealed
from tests.reporting import GOLDEN

OTHER = {"cpu": "Intel(R) Xeon(R) CPU @ 2.20GHz"}


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """A recorded first session, of which only the calls and the controls are kept: their probes answer at once."""
    whole = sessions.decode(gzip.decompress((GOLDEN / "first.session.jsonl.gz").read_bytes()), "first")
    ours = ("call/", "null/")
    probes = {name: facts for name, facts in whole.header.probes.items() if name.startswith(ours)}
    few = msgspec.structs.replace(
        whole,
        header=msgspec.structs.replace(
            whole.header,
            probes=probes,
            selection=tuple(case for case in whole.header.selection if case.probe.startswith(ours)),
        ),
        plan=msgspec.structs.replace(
            whole.plan, cases=tuple(one for one in whole.plan.cases if one.case.probe.startswith(ours))
        ),
        runs=tuple(run for run in whole.runs if run.case.startswith(ours)),
    )
    return write(tmp_path_factory.mktemp("recorded") / "calls.session.jsonl", lines_of(few))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_session_is_published_and_stands_in_a_gallery(calls, folder, capsys):
    assert main(["publish", str(calls), "--instance", "m7a.large", "--price", "0.12"]) == 0
    [file] = folder.iterdir()
    assert file.name.startswith("m7a-large-amd-epyc-2-cpus-24-gib-2026-11-22-")
    said = capsys.readouterr().out
    assert said.startswith(f"{file.name}: ")
    assert "left out: the command" in said
    of = json.loads(file.read_text())
    assert (of["instance"], of["usd_an_hour"], of["facts"]["kernel"]) == ("m7a.large", 0.12, "6.18.44")
    assert "call/syscall@same" in {case["case"] for case in of["cases"]}
    for private in ("fc-v509", "b0a37259", "kernel version", str(Path.home())):
        assert private not in file.read_text()
    mine = publication.decode(file.read_bytes(), "mine")
    Path("theirs.json").write_text(sealed(mine, seed=8, facts={**mine.facts, **OTHER}, instance="").text)
    assert main(["gallery", "add", "gallery", str(file), "theirs.json"]) == 0
    assert len(list(Path("gallery").iterdir())) == 2
    assert main(["gallery", "build", "gallery", "-o", "site"]) == 0
    assert "m7a.large, AMD EPYC" in Path("site/index.html").read_text()
    capsys.readouterr()
    assert main(["show", str(calls), "--among", "gallery"]) == 0
    assert "alike with 1 machine" in capsys.readouterr().out
    assert main(["show", str(calls), "--among", "gallery", "--json"]) == 0
    assert "call/direct@same" in {one["case"] for one in json.loads(capsys.readouterr().out)}


def test_on_a_terminal_it_shows_what_it_writes_and_asks(calls, folder, capsys, monkeypatch):
    def answered(word: str) -> str:
        stdin = io.StringIO(f"{word}\n")
        monkeypatch.setattr(stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        assert main(["publish", str(calls), "-o", "a.published.json"]) == 0
        return capsys.readouterr().out

    said = answered("n")
    assert "nothing is written" in said
    assert "call/syscall" in said
    assert list(folder.iterdir()) == []
    answered("y")
    assert Path("a.published.json").exists()


def test_a_file_is_signed_by_a_key_and_a_gallery_checks_the_signature(calls, folder, capsys):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "alice", "-f", "key"], check=True)
    assert main(["publish", str(calls), "-o", "a.json", "--sign", "key"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "a.json.sig"
    assert main(["gallery", "add", "gallery", "a.json"]) == 0
    assert [path.suffix for path in sorted(Path("gallery").iterdir())] == [".json", ".sig"]
    Path("b.json").write_text(a_publication(**OTHER).text)
    shutil.copy("a.json.sig", "b.json.sig")
    assert main(["gallery", "add", "gallery", "b.json"]) == GalleryError.exit_code
    assert "is no signature of the file beside it" in capsys.readouterr().err
    assert main(["publish", str(calls), "-o", "c.json", "--sign", "absent"]) == PublishError.exit_code
    assert "c.json is written and not signed" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        (["--instance", "two words"], UsageError.exit_code, "--instance takes"),
        (["--price", "0"], UsageError.exit_code, "--price takes"),
        (["--price", "nan"], UsageError.exit_code, "--price takes"),
    ],
)
def test_what_cannot_be_published_is_one_sentence(calls, folder, capsys, options, code, why):
    assert main(["publish", str(calls), *options]) == code
    said = capsys.readouterr().err
    assert why in said
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["interrupted", "whole"])
def test_a_session_that_nobody_should_rely_on_is_not_published(folder, capsys, name):
    assert main(["publish", str(GOLDEN / f"{name}.session.jsonl")]) == PublishError.exit_code
    assert capsys.readouterr().err.startswith("steelyard: ")
    assert list(folder.iterdir()) == []


def test_a_session_is_not_replaced_by_what_is_published_of_it(calls):
    before = calls.read_bytes()
    assert main(["publish", str(calls), "-o", str(calls)]) == OutputError.exit_code
    assert calls.read_bytes() == before


HOSTILE = {
    "a session": lambda good: (GOLDEN / "interrupted.session.jsonl").read_bytes(),
    "nothing": lambda good: b"",
    "deep": lambda good: b"[" * 100_000,
    "changed": lambda good: good.text.replace('"seed": 7', '"seed": 8').encode(),
    "impossible": lambda good: sealed(good, date="2999-01-01").text.encode(),
    "uncontrolled": lambda good: sealed(good, controls=()).text.encode(),
    "a person's": lambda good: sealed(good, facts={"host": "build7"}).text.encode(),
    "huge": lambda good: b" " * (2 << 20),
    "acting": lambda good: b'{"\x1b]0;pwn\x07": 1}',
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_one_sentence_and_does_not_come_in(folder, capsys, make):
    good = a_publication()
    Path("good.json").write_text(good.text)
    Path("bad.json").write_bytes(make(good))
    assert main(["gallery", "add", "gallery", "good.json", "bad.json"]) == GalleryError.exit_code
    said = capsys.readouterr().err
    assert said.startswith("steelyard: bad.json ")
    assert len(said.splitlines()) == 1
    assert "\x1b" not in said
    assert not Path("gallery").exists(), "all or none"
    Path("gallery").mkdir()
    shutil.copy("good.json", "gallery/good.published.json")
    shutil.copy("bad.json", "gallery/bad.published.json")
    assert main(["gallery", "build", "gallery"]) == 0
    assert "left out: gallery/bad.published.json" in capsys.readouterr().err


def test_the_same_session_does_not_come_in_twice(folder, capsys):
    Path("a.json").write_text(a_publication().text)
    Path("b.json").write_text(a_publication(usd_an_hour=1.0).text)
    assert main(["gallery", "add", "gallery", "a.json", "b.json"]) == GalleryError.exit_code
    assert main(["gallery", "add", "gallery", "a.json"]) == 0
    assert main(["gallery", "add", "gallery", "b.json"]) == GalleryError.exit_code
    assert "b.json is in the gallery already" in " ".join(capsys.readouterr().err.split())


def test_without_files_or_without_a_gallery_there_is_one_sentence(folder, capsys):
    assert main(["gallery", "add", "gallery"]) == UsageError.exit_code
    assert main(["gallery", "build", "gallery"]) == GalleryError.exit_code
    assert (
        main(["show", "--among", "gallery", str(write(folder / "a", lines_of(a_session())))]) == GalleryError.exit_code
    )
    Path("file").write_text("")
    assert main(["gallery", "build", "file"]) == GalleryError.exit_code
    assert len(capsys.readouterr().err.splitlines()) == 4

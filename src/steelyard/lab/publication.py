# SPDX-License-Identifier: Apache-2.0
"""Makes published sessions, with the probes that come with Steelyard as witnesses of every name; signs them."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from steelyard.errors import GalleryError, PublishError
from steelyard.judge import publication
from steelyard.judge.gallery import name_of
from steelyard.judge.plausible import objection
from steelyard.judge.publication import Prepared
from steelyard.keep.publication import SIGNATURE, SUFFIX, decode
from steelyard.lab.output import write
from steelyard.measure import catalog
from steelyard.records import Publication, Session

#: What a signature is for, so that it holds for nothing else.
_NAMESPACE = "steelyard"
_SIGNING_S = 60
_LONGEST_NAME = 60


def prepare(session: Session, *, instance: str = "", usd_an_hour: float | None = None) -> Prepared:
    """What of a session may be published.

    The probes of the session that come with Steelyard are asked what they are: all names that are published are theirs.
    Raises PublishError as `judge.publication` does, and GalleryError for what a gallery would refuse.
    """
    folder = catalog.native_folder() / "probes"
    ours = catalog.languages([folder]).keys() & session.header.probes.keys()
    known = {name: probe.descriptor for name, probe in catalog.load_only([folder], ours).probes.items()}
    prepared = publication.prepare(session, known, instance=instance, usd_an_hour=usd_an_hour)
    check(prepared.publication.text.encode(), session.path)
    return prepared


def check(contents: bytes, path: str) -> Publication:
    """A published session that may go into a gallery; raises GalleryError with the first thing that is wrong."""
    found = decode(contents, path)
    today = datetime.now(UTC).date().isoformat()
    if why := objection(found, today):
        raise GalleryError(f"{path} cannot be true: {why}")
    return found


def file_name(of: Publication) -> str:
    """The name of the file: what the machine is called, the day, and the beginning of the digest."""
    called = re.sub(r"[^a-z0-9]+", "-", name_of(of.facts, of.instance).casefold()).strip("-")[:_LONGEST_NAME]
    return f"{called.strip('-')}-{of.date}-{of.digest[:8]}{SUFFIX}"


def sign(path: Path, key: Path) -> Path:
    """Sign a file by an ssh key, as `ssh-keygen -Y sign` does; returns where the signature is.

    Raises PublishError if ssh-keygen is missing or refuses.
    """
    done = _ssh_keygen("sign", "-f", str(key), contents=path.read_bytes())
    if done is None:
        raise PublishError(f"{path} is written and not signed: ssh-keygen is not installed (openssh-client)")
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise PublishError(f"{path} is written and not signed: ssh-keygen says: {said}")
    to = path.with_name(path.name + SIGNATURE)
    write(to, done.stdout)
    return to


def is_signed(contents: bytes, signature: Path) -> bool | None:
    """Whether a signature is one of these bytes, by whatever key; None where ssh-keygen is missing."""
    done = _ssh_keygen("check-novalidate", "-s", str(signature), contents=contents)
    return None if done is None else done.returncode == 0


def _ssh_keygen(do: str, *arguments: str, contents: bytes) -> subprocess.CompletedProcess[bytes] | None:
    program = shutil.which("ssh-keygen")
    if program is None:
        return None
    try:
        return subprocess.run(
            [program, "-Y", do, "-n", _NAMESPACE, *arguments], input=contents, capture_output=True, check=False,
            timeout=_SIGNING_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PublishError(f"ssh-keygen does not work here: {error}") from error

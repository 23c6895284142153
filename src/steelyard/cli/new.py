# SPDX-License-Identifier: Apache-2.0
"""`steelyard new`: a probe of one's own, which works at once and is then changed."""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.lab.output import write
from steelyard.measure import catalog

_NAME = re.compile(r"[a-z0-9_]+")


def command(path: Path) -> None:
    """Write a probe that works, to be changed into one that measures what you want to know.

    Parameters
    ----------
    path
        Where to: ``FOLDER/QUESTION/WAY.py`` or ``.c``. What the protocol needs is copied into FOLDER/support, so that
        the folder can be given to others as it is.
    """
    support = catalog.native_folder() / "probes" / "support"
    skeletons = {skeleton.suffix: skeleton for skeleton in sorted(support.glob("*/skeleton.*"))}
    if path.suffix not in skeletons:
        raise UsageError(f"{path} should end with one of {', '.join(skeletons)}, the languages that have a skeleton")
    way, question, folder = path.stem, path.absolute().parent.name, path.absolute().parent.parent
    for name in (question, way):
        if not _NAME.fullmatch(name):
            raise UsageError(
                f'"{name}" in {path} is not a name of a probe: use a-z, 0-9 and _, as in probes/call/parse.py'
            )
    skeleton = skeletons[path.suffix]
    ours = folder / "support" / skeleton.parent.name
    write(path, skeleton.read_text().replace("QUESTION", question).replace("WAY", way), new=True)
    for part in sorted(skeleton.parent.iterdir()):
        if part.is_file() and part != skeleton:
            write(ours / part.name, part.read_bytes())
    path.chmod(0o755 if path.suffix == ".py" else 0o644)
    build = "" if path.suffix == ".py" else "; how it is compiled stands in its head"
    output.say(f"wrote {path}{build}")
    output.say(f"STEELYARD_PROBES={folder} steelyard run {question}/{way}")

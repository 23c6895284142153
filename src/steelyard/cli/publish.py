# SPDX-License-Identifier: Apache-2.0
"""`steelyard publish`: a session as a small file that holds nothing private."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.keep import session as sessions
from steelyard.lab import publication
from steelyard.lab.output import write
from steelyard.records import Instance, Price
from steelyard.show import publication as shown


def command(
    session: Path | None = None,
    *,
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    instance: str = "",
    price: float | None = None,
    sign: Path | None = None,
    yes: bool = False,
) -> None:
    """Make of a session a small file for a gallery, of listed fields alone: nothing in it says who or where you are.

    On a terminal it shows what it writes and asks first. A void session is refused.

    Parameters
    ----------
    session
        Session file; the newest one of the sessions folder when left out.
    output_file
        File to write; its name is made of machine, day and digest when left out.
    instance
        What the cloud calls this kind of machine, such as ``m7i.large``.
    price
        What an hour of the machine costs, in US dollars.
    sign
        Also sign the file by this ssh key, as ``ssh-keygen -Y sign`` does.
    yes
        Write without asking.
    """
    _check(instance, Instance, "--instance takes up to 40 letters, digits, dots and dashes, such as m7i.large")
    if price is not None:
        _check(price, Price, "--price takes US dollars an hour, above zero, such as 0.096")
    kept = sessions.read(session or sessions.latest())
    prepared = publication.prepare(kept, instance=instance, usd_an_hour=price)
    to = output_file or Path(publication.file_name(prepared.publication))
    if not yes and sys.stdin.isatty() and sys.stdout.isatty():
        console = output.console()
        shown.show(prepared, console)
        console.print(f"Write this to {to}? [y/N]", soft_wrap=True)
        if sys.stdin.readline().strip().casefold() not in {"y", "yes"}:
            output.say("nothing is written")
            return
    write(to, prepared.publication.text)
    output.say(f"{to}: {shown.summary(prepared.publication)}")
    for said in shown.left_out(prepared):
        output.say(f"left out: {said}")
    if sign is not None:
        output.say(str(publication.sign(to, sign)))


def _check(value: object, kind: object, sentence: str) -> None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UsageError(sentence) from error

# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet pack`: the numbers of many sessions as Parquet."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.lab.store import pack


def command(*places: str, to: Annotated[str, Parameter(name=["--output", "-o"])]) -> None:
    """Bring the numbers of sessions, one a run, into a store of Parquet that `fleet report` and `fleet query` read.

    Sessions that are there already are passed over, so the same folder may be packed again when it has grown. The
    session files stay the record: values, caveats and audits are only in them.

    Parameters
    ----------
    places
        Folders, files or patterns of session files, or URLs (``s3://bucket/fleet``); the sessions folder when left out.
    to
        Folder of the store, or its URL.
    """
    packed, passed = pack(places, to, output.complain)
    output.say(f"{packed} sessions packed into {to}, {passed} were there already")

# SPDX-License-Identifier: Apache-2.0
"""`steelyard choose model`: which model of concurrency should serve a load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._output import Margin, Measuring
from steelyard.errors import UsageError
from steelyard.judge import choose
from steelyard.judge import model as judging
from steelyard.keep import session as sessions
from steelyard.lab.model import lab_for, languages, to_predict, to_verify, with_missing
from steelyard.lab.session import Lab
from steelyard.settings import Settings
from steelyard.show import model as shown


def command(
    load: Path | None = None,
    /,
    *,
    param: Annotated[list[str] | None, Parameter(name=["--param", "-p"])] = None,
    example: bool = False,
    predict_only: bool = False,
    session: Path | None = None,
    margin: Margin = choose.MARGIN,
    settings: Measuring = Settings(),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> None:
    """Say which model of concurrency should serve a load: predicted from measured parts, then verified by building it.

    Takes at most 4 minutes: first each model is measured without the work, then the best three serve the load itself.

    Parameters
    ----------
    load
        File that describes the load.
    param
        An entry of it, in place of what the file says or without a file: ``rate=2k/s``, ``goal.p99=20ms``. May be
        repeated.
    example
        Print such a file, with a comment for each entry.
    predict_only
        Build nothing: for a machine that you cannot touch, with a session of ``serve/`` that was brought from there.
    session
        Predict from this session; models that it lacks are measured, unless it is of another machine.
    output_file
        Session file of the verification.
    json
        Print one object with all predictions and what was measured.
    """
    if example:
        output.print_data(judging.EXAMPLE)
        return
    if load is None and not param:
        raise UsageError("name a file that describes the load; `steelyard choose model --example` prints one")
    asked = judging.read(_contents(load), str(load or "--param"), param or [])
    lab = None if session and predict_only else lab_for(asked, output.Terminal())
    found = sessions.read(session) if session else to_predict(_there(lab), asked, settings)
    predicted = judging.predict(found, asked, languages())
    if session and lab:
        predicted = with_missing(lab, found, predicted, settings)
    chosen = None if predict_only else to_verify(_there(lab), predicted, settings, output_file, margin)
    if json:
        output.print_json(shown.as_json(predicted, chosen))
    else:
        shown.show(predicted, chosen, output.console())


def _contents(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name a file that describes the load") from error


def _there(lab: Lab | None) -> Lab:
    assert lab is not None, "it is there whenever something is measured"  # noqa: S101
    return lab

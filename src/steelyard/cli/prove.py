# SPDX-License-Identifier: Apache-2.0
"""`steelyard prove`: how often the verdicts are wrong, ours and those of others."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.judge import error_rates, proving, proving_fleets
from steelyard.lab.output import write
from steelyard.show import proof


def command(
    *,
    seed: int = 1,
    quick: bool = False,
    markdown: Path | None = None,
    data: Path | None = None,
    fleets: int | None = None,
    json: bool = False,
) -> None:
    """Measure, on seeded synthetic noise, the error rates of our rules beside the rules that other tools ship.

    Parameters
    ----------
    seed
        Seed of the noise; another one gives the same rates within their bounds.
    quick
        Fewer trials: under 20 s.
    markdown
        Write the page of the documentation here.
    data
        Write the table here as `steelyard report` ships it.
    fleets
        Measure instead how often `steelyard fleet report` is wrong, on this number of simulated fleets of each kind.
    json
        Print one object a row.
    """
    if fleets is not None:
        if quick or data is not None:
            raise UsageError("--fleets has a number of its own and no --data: leave --quick and --data away")
        if fleets < 1:
            raise UsageError("--fleets must be at least 1")
        _prove_fleets(seed, fleets, markdown, json=json)
        return
    table = proving.prove_quickly(seed) if quick else proving.prove(seed)
    if markdown is not None:
        write(markdown, proof.markdown(table))
    if data is not None:
        write(data, error_rates.write(table))
    if json:
        output.print_json(proof.as_json(table))
    else:
        proof.show(table, output.console())


def _prove_fleets(seed: int, fleets: int, markdown: Path | None, *, json: bool) -> None:
    rows = proving_fleets.prove_fleets(seed, fleets)
    if markdown is not None:
        write(markdown, proof.fleets_markdown(rows, seed, fleets))
    if json:
        output.print_json(proof.fleets_as_json(rows))
    else:
        proof.show_fleets(rows, output.console())

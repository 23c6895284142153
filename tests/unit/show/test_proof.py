# SPDX-License-Identifier: Apache-2.0
import dataclasses
import io

from steelyard.judge.proving import FamilyRow, ProofRow, ProofTable, SequentialRow
from steelyard.judge.proving_fleets import FleetRow
from steelyard.show import proof
from steelyard.show.console import Console


def a_row(kind: type, **more):
    """A row whose every share is a quarter."""
    words = {"rule": "ours", "noise": "iid"} if kind is not FleetRow else {"rule": "ours"}
    fields = {field.name: 0.25 for field in dataclasses.fields(kind)}
    return kind(**{**fields, **words, **more})


TABLE = ProofTable(
    seed=5,
    rows=(a_row(ProofRow, trials=100, coverage=float("nan")),),
    family=(a_row(FamilyRow, sessions=10, cases=100),),
    sequential=(a_row(SequentialRow, trials=100),),
)


def test_a_share_is_a_percentage_and_what_is_not_known_a_dash():
    out = io.StringIO()
    proof.show(TABLE, Console(file=out, width=200))
    assert "25.0 %" in out.getvalue()
    assert "–" in out.getvalue()
    assert "seed 5" in out.getvalue()


def test_every_line_of_a_table_in_markdown_has_as_many_cells_as_its_head():
    for part in proof.markdown(TABLE).split("## ")[1:]:
        table = [line for line in part.splitlines() if line.startswith("|")]
        assert len(table) == 3
        assert len({line.count("|") for line in table}) == 1


def test_for_programs_there_is_one_object_a_row_without_nan():
    rows = proof.as_json(TABLE)
    assert [row["kind"] for row in rows] == ["comparison", "family", "sequential"]
    assert rows[0]["coverage"] is None
    assert rows[0]["power"] == 0.25


def test_fleets_are_a_table_of_their_own():
    rows = (a_row(FleetRow, fleet="quiet", fleets=200, planted=50, scatter_power=float("nan")),)
    out = io.StringIO()
    proof.show_fleets(rows, Console(file=out, width=200))
    assert "25.0 %" in out.getvalue()
    assert "200 machines" in out.getvalue()
    page = proof.fleets_markdown(rows, seed=5, fleets=200)
    assert "steelyard prove --fleets 200 --seed 5" in page
    assert "| ours | quiet | 200 | 25.0 % | 25.0 % | 50 | 25.0 % | 25.0 % | – |" in page
    assert proof.fleets_as_json(rows)[0]["scatter_power"] is None

# SPDX-License-Identifier: Apache-2.0
import ast
import dataclasses
import inspect

import msgspec
import pytest

from steelyard.cli import build_app
from steelyard.errors import UsageError
from steelyard.measure import plan
from steelyard.records import FleetPlan
from steelyard.settings import Settings, parse_margin

OPTIONS = [field.name for field in dataclasses.fields(Settings)]
#: Values of every option that are not its default.
OTHER = {int: 3, int | None: 3, str: "7s", str | None: "7s", bool: True}
MEASURING = [("run",), ("compare",), ("check",), ("explain",), ("wsgi",), ("fleet", "plan")]


def other(**more):
    kinds = inspect.get_annotations(Settings, eval_str=True)
    return Settings(**{name: OTHER[kinds[name]] for name in OPTIONS} | more)


@pytest.fixture(scope="module")
def app():
    return build_app()


@pytest.mark.parametrize("command", MEASURING, ids=" ".join)
def test_every_option_is_one_of_every_command_that_measures(app, command):
    documented = app[command[0]] if len(command) == 1 else app[command[0]][command[1]]
    text = documented.generate_docs(output_format="markdown")
    for name in OPTIONS:
        assert f"--{name.replace('_', '-')}" in text, name


@pytest.mark.parametrize("command", MEASURING, ids=" ".join)
def test_what_is_said_of_every_option_arrives_as_settings(app, command):
    given = other()
    words = []
    for name in OPTIONS:
        value = getattr(given, name)
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    before = ["a", "b"] if command == ("check",) else ["a:b"] if command == ("wsgi",) else []
    _, bound, _ = app.parse_args([*command, *before, *words], exit_on_error=False, print_error=False)
    assert bound.arguments["settings"] == given


def test_every_option_travels_in_the_plan_of_a_fleet():
    made = FleetPlan(id="0", steelyard="0", cases=(), settings=other())
    assert msgspec.json.decode(msgspec.json.encode(made), type=FleetPlan) == made


def test_every_option_is_documented_where_it_is_declared():
    body = ast.parse(inspect.getsource(Settings)).body[0].body
    fields = [number for number, node in enumerate(body) if isinstance(node, ast.AnnAssign)]
    assert [body[number].target.id for number in fields] == OPTIONS
    for number in fields:
        assert isinstance(body[number + 1], ast.Expr), ast.unparse(body[number])


def test_a_quick_session_is_the_least_that_gives_an_interval():
    quick = Settings(quick=True)
    assert (quick.planned_blocks, quick.planned_values) == (plan.FEWEST_BLOCKS, plan.FEWEST_VALUES)


def test_a_comparison_has_its_own_number_of_blocks_unless_another_was_given():
    assert Settings().with_blocks(20).planned_blocks == 20
    assert Settings(quick=True).with_blocks(20).planned_blocks == 20
    assert Settings(blocks=7).with_blocks(20).planned_blocks == 7
    assert Settings(budget="3m").with_blocks(20).planned_blocks is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"blocks": 3, "budget": "3m"}, "--blocks and --budget"),
        ({"blocks": 0}, "--blocks must be at least 1"),
        ({"values": 0}, "--values must be at least 1"),
        ({"target": "soon"}, "not a duration"),
        ({"deadline": "0s"}, "above zero"),
        ({"wait": "soon"}, "not a duration"),
        ({"wait": "5m", "no_wait": True}, "--wait and --no-wait"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given, said):
    with pytest.raises(UsageError, match=said):
        Settings(**given).check()


def test_how_long_to_wait_for_the_machine():
    assert [one.wait_s for one in (Settings(), Settings(wait="5m"), Settings(no_wait=True))] == [None, 300.0, 0.0]


def test_a_margin_is_a_share():
    assert (parse_margin("2%"), parse_margin("0.02")) == (0.02, 0.02)
    for wrong in ("", "100%", "-1%", "much"):
        with pytest.raises(UsageError, match="--margin takes a share"):
            parse_margin(wrong)

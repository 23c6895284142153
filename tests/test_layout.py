# SPDX-License-Identifier: Apache-2.0
"""The wings hold: who may import whom, and what is pure. Read from the source, so that no import order hides it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "steelyard"
WINGS = ("measure", "keep", "judge", "show")
#: What stands above the wings, each above the one before it.
ABOVE = ("lab", "cli")


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((PACKAGE / folder).rglob("*.py"))]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> set[str]:
    """Full names of all that a file imports, wherever in the file; `from a import b` is both a and a.b."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: imports are absolute"
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def reaches(imported: set[str], package: str) -> set[str]:
    return {name for name in imported if name == package or name.startswith(package + ".")}


PURE = [*modules("judge"), PACKAGE / "measure" / "plan.py", PACKAGE / "measure" / "protocol.py", PACKAGE / "units.py"]


@pytest.mark.parametrize("wing", ["measure", "keep", "judge"])
def test_wings_stand_side_by_side(wing):
    for path in modules(wing):
        for other in {*WINGS, *ABOVE} - {wing}:
            assert not reaches(imports(path), f"steelyard.{other}"), f"{name_of(path)} imports {other}"


def test_show_renders_findings_and_nothing_else():
    for path in modules("show"):
        imported = imports(path)
        for other in ("measure", "keep", *ABOVE, "judge.stats", "judge.samples"):
            assert not reaches(imported, f"steelyard.{other}"), f"{name_of(path)} imports {other}"


def writers(text: str) -> list[int]:
    """Lines that write a file by its path."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (
            node.func.attr in ("write_text", "write_bytes")
            or (node.func.attr == "open" and any(ast.unparse(one)[1:2] in ("w", "x", "a") for one in node.args))
        )
    ]


def test_commands_write_files_in_one_place_that_replaces_no_session():
    for path in modules("lab", "cli"):
        if path != PACKAGE / "lab" / "output.py":
            assert writers(path.read_text()) == [], name_of(path)


@pytest.mark.parametrize(
    "text", ["path.write_text(x)", "path.write_bytes(x)", "path.open('w')", "path.open(mode, 'xb')"]
)
def test_a_second_place_that_writes_would_be_found(text):
    assert writers(text)


def test_the_lab_does_not_know_the_command_line():
    for path in modules("lab"):
        for other in ("steelyard.cli", "steelyard.__main__", "cyclopts"):
            assert not reaches(imports(path), other), f"{name_of(path)} imports {other}"


def test_records_errors_units_and_settings_stand_below_the_wings():
    below = ("records", "errors", "limits", "units", "settings")
    for path in (*modules("nouns"), *(PACKAGE / f"{name}.py" for name in below)):
        for room in (*WINGS, *ABOVE):
            assert not reaches(imports(path), f"steelyard.{room}"), f"{name_of(path)} imports {room}"


def test_a_record_is_taken_from_the_module_that_has_them_all():
    for path in (path for path in modules(".") if path.parent.name != "nouns" and path.name != "records.py"):
        assert not reaches(imports(path), "steelyard.nouns"), f"{name_of(path)} imports a module of nouns"


def room_of(module: str) -> str:
    """The room of a module of the package: its first two names, such as steelyard.measure."""
    return ".".join(module.split(".")[:2])


def private_names(path: Path, room: str) -> set[str]:
    """What a file of ``room`` imports of other rooms that is private there, by its own name or by a module's."""
    return {
        name
        for name in reaches(imports(path), "steelyard")
        if room_of(name) != room and any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    }


def test_no_room_uses_what_is_private_in_another():
    inside = {path: room_of(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)) for path in modules(".")}
    outside = dict.fromkeys([*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "docs").rglob("*.py")], "")
    found = {name_of(path): private_names(path, room) for path, room in (inside | outside).items()}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    ["from steelyard.cli._output import console", "import steelyard.cli._output", "from steelyard.keep import _x"],
)
def test_a_private_import_would_be_found(text, tmp_path):
    path = tmp_path / "a.py"
    path.write_text(text)
    assert private_names(path, "steelyard.lab")


#: Rich's own console would print what `steelyard.show.console` makes visible, and obey its markup. Of rich, others use
#: what is given to that console.
OF_RICH = {"rich.table", "rich.text", "rich.padding", "rich.progress"}
#: What writes to a stream by itself.
DOORS = ("logging", "pprint", "syslog", "curses")
STREAMS = ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")
#: What may be asked of a stream elsewhere than in `steelyard.lab.output`.
ASKED = {"sys.stdout.isatty", "sys.stdout.flush"}


def past_the_door(text: str) -> list[str]:
    """Ways of this source to a terminal that are not the one door of untrusted text."""
    tree = ast.parse(text)
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    asked = {id(node.value) for node in attributes if ast.unparse(node) in ASKED}
    found = [ast.unparse(node) for node in attributes if ast.unparse(node) in STREAMS and id(node) not in asked]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found += [name for name in names if name.partition(".")[0] in DOORS]
            found += [name for name in names if name.partition(".")[0] == "rich" and name not in OF_RICH]
            found += [name for name in names if name == "sys" and isinstance(node, ast.ImportFrom)]
        elif isinstance(node, ast.Name) and node.id in ("print", "breakpoint"):
            found.append(node.id)
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            by_hand = called.split(".")[0] in ("Text", "Visible") or called in ("os.write", "sys.displayhook")
            bare = called == "warnings.warn" and not ast.unparse(node).startswith("warnings.warn(visible(")
            if by_hand or bare or called.startswith("traceback.print_"):
                found.append(called)
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=name_of)
def test_all_that_reaches_a_terminal_takes_the_one_door(path):
    """What is `Visible` mypy knows; that nothing else leaves is read here from the source."""
    doors = ("show/console.py", "show/visible.py", "lab/output.py", "no_libraries.py")
    if path not in [PACKAGE / door for door in doors]:
        assert past_the_door(path.read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        "print(x)",
        "def f(complain=print): ...",
        "import rich",
        "from rich import print as show",
        "from rich.console import Console",
        "from rich.live import Live",
        "import rich.pretty",
        "import sys\nsys.stdout.write(x)",
        "import sys\nsys.stderr.buffer.write(x)",
        "import sys\nout = sys.stdout",
        "import sys\nsys.__stdout__.write(x)",
        "from sys import stdout",
        "import os\nos.write(1, x)",
        "import logging",
        "import warnings\nwarnings.warn(x)",
        "import traceback\ntraceback.print_exc()",
        "Visible(x)",
        "Text(x)",
    ],
)
def test_another_way_to_a_terminal_would_be_found(text):
    assert past_the_door(text)


def test_objects_for_programs_are_made_by_as_json_wherever_they_are_made():
    """One name: whoever knows one module of show knows where the JSON of the others is. ``X_as_json`` makes a part."""
    for path in modules("show"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.returns is not None and not node.name.startswith("_"):
                objects = ast.unparse(node.returns) in ("list[dict[str, Any]]", "dict[str, Any]")
                assert not objects or node.name.endswith("as_json"), f"{name_of(path)}: {node.name}"


def test_only_the_module_of_markup_says_that_a_text_is_html():
    """Elsewhere only what this program brings along may be: an empty piece, its style, its script, its charts."""
    ours = {"", "charts.svg(spec | {'width': 720})", "(_ASSETS / 'style.css').read_text()"}
    for path in modules("show"):
        if path.name == "markup.py":
            continue
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            if ast.unparse(call.func) == "Markup":
                given = ", ".join(map(ast.unparse, call.args))
                assert given in ours or given.startswith("bundle.replace("), f"{name_of(path)}:{call.lineno}: {given}"


@pytest.mark.parametrize("path", PURE, ids=name_of)
def test_what_is_pure_starts_no_process_and_asks_no_clock(path):
    for impure in ("os", "time", "subprocess", "datetime", "secrets", "threading", "socket", "tempfile", "psutil"):
        assert not reaches(imports(path), impure), f"{name_of(path)} imports {impure}"


def unseeded(tree: ast.AST) -> list[int]:
    """Lines that draw random numbers by anything but a generator made from a seed."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random"):
            lines.append(node.lineno)
        if not isinstance(node, ast.Attribute):
            continue
        owner = ast.unparse(node.value)
        if owner == "random" and node.attr != "Random":
            lines.append(node.lineno)
        # Types of numpy.random may be named; of its functions only default_rng(seed) is a generator with a seed.
        if owner in ("np.random", "numpy.random") and node.attr not in ("default_rng", "Generator", "SeedSequence"):
            lines.append(node.lineno)
    generators = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("Random", "default_rng")
    ]
    return lines + [node.lineno for node in generators if not node.args and not node.keywords]


@pytest.mark.parametrize("path", PURE, ids=name_of)
def test_what_is_pure_draws_no_unseeded_random_number(path):
    assert unseeded(ast.parse(path.read_text())) == []


@pytest.mark.parametrize(
    "text",
    [
        "import random\nrandom.random()",
        "import random\nrandom.Random()",
        "np.random.rand(3)",
        "np.random.default_rng()",
    ],
)
def test_an_unseeded_random_number_would_be_found(text):
    assert unseeded(ast.parse(text))


def test_engines_do_not_know_the_lab():
    for path in (ROOT / "engines").rglob("*.py"):
        assert not reaches(imports(path), "steelyard"), f"{name_of(path)} imports steelyard"


def test_probes_do_not_know_the_lab():
    for path in (ROOT / "probes").rglob("*.py"):
        assert not reaches(imports(path), "steelyard"), f"{name_of(path)} imports steelyard"


def without_twin() -> list[str]:
    """Modules of the wings without a test file of their name. What only holds a folder together needs none, and plugins
    that all do the same may be tested together, under the name of their folder."""
    tests = ROOT / "tests" / "unit"
    return [
        name_of(path)
        for wing in WINGS
        for path in modules(wing)
        if path.name != "__init__.py"
        and not list((tests / wing).rglob(f"test_{path.name}"))
        and not list((tests / wing).rglob(f"{path.parent.name}/test_{path.parent.name}.py"))
    ]


def test_every_module_of_the_wings_has_a_test_of_its_name():
    assert without_twin() == []

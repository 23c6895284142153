# SPDX-License-Identifier: Apache-2.0
"""The wings hold: who may import whom, and what is pure. Read from the source, so that no import order hides it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "steelyard"
WINGS = ("measure", "keep", "judge", "show")


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
        for other in {"measure", "keep", "judge", "show", "cli"} - {wing}:
            assert not reaches(imports(path), f"steelyard.{other}"), f"{name_of(path)} imports {other}"


def test_show_renders_findings_and_nothing_else():
    for path in modules("show"):
        imported = imports(path)
        for other in ("measure", "keep", "cli", "judge.stats", "judge.samples"):
            assert not reaches(imported, f"steelyard.{other}"), f"{name_of(path)} imports {other}"


def test_records_errors_and_units_stand_below_the_wings():
    for name in ("records", "errors", "units"):
        for wing in (*WINGS, "cli"):
            assert not reaches(imports(PACKAGE / f"{name}.py"), f"steelyard.{wing}")


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

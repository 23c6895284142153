# SPDX-License-Identifier: Apache-2.0
"""The modules of the crate use each other in one direction, and so do its rooms (the folders of `src`)."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src"
#: The roots of the two crates: they join everything.
ROOTS = {"lib", "main"}

Graph = dict[str, set[str]]


def module(path: Path) -> str:
    """`serve/tls.rs` is `serve::tls`, `serve/mod.rs` is `serve`."""
    parts = path.with_suffix("").parts
    return "::".join(parts[:-1] if parts[-1] == "mod" else parts)


def expanded(tree: str) -> list[str]:
    """The paths of a use tree: `a::{b, c::{d, e}}` has three."""
    head, brace, rest = tree.partition("{")
    if not brace:
        return [tree.strip()]
    depth, piece, pieces = 0, "", []
    for character in rest.rpartition("}")[0] + ",":
        if character == "," and depth == 0:
            pieces.append(piece)
            piece = ""
            continue
        depth += {"{": 1, "}": -1}.get(character, 0)
        piece += character
    return [head.strip() + path for piece in pieces if piece.strip() for path in expanded(piece)]


def used(name: str, text: str, modules: set[str]) -> set[str]:
    """The modules that one module names."""
    text = re.sub(r"//.*", "", text)
    paths = [path for tree in re.findall(r"\buse ([^;]+);", text) for path in expanded(tree)]
    paths += re.findall(r"\b(?:crate|super)(?:::\w+)+", re.sub(r"\buse [^;]+;", "", text))
    children = [other for other in modules if other.rpartition("::")[0] == name]
    paths += [child for child in children if re.search(rf"(?<!:)\b{child.rpartition('::')[2]}::", text)]
    found = set()
    for path in paths:
        parts, here = path.split("::"), name.split("::")
        while parts[0] == "super":
            parts, here = parts[1:], here[:-1]
            if parts[:1] != ["super"]:
                parts = ["crate", *here, *parts]
        whole = "::".join(parts[1:] if parts[0] == "crate" else parts)
        known = [other for other in modules if f"{whole}::".startswith(f"{other}::")]
        found |= {max(known, key=len)} if known else set()
    return found - {name}


def modules_of(sources: dict[str, str]) -> Graph:
    return {name: used(name, text, set(sources)) for name, text in sources.items()}


def rooms_of(graph: Graph) -> Graph:
    def room(name: str) -> str:
        return name.partition("::")[0]

    rooms: Graph = {}
    for name, others in graph.items():
        rooms.setdefault(room(name), set()).update({room(other) for other in others} - {room(name)})
    return rooms


def circle(graph: Graph) -> list[str]:
    """The modules of one circle; none if there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def graph() -> Graph:
    paths = sorted(SOURCES.rglob("*.rs"))
    sources = {module(path.relative_to(SOURCES)): path.read_text() for path in paths if path.name != "tests.rs"}
    return modules_of({name: text for name, text in sources.items() if name not in ROOTS})


def test_modules_have_no_circle(graph: Graph) -> None:
    assert circle(graph) == []


def test_rooms_have_no_circle(graph: Graph) -> None:
    assert circle(rooms_of(graph)) == []


def test_every_room_is_seen_and_so_is_what_it_uses(graph: Graph) -> None:
    assert {"serve", "supervise", "observe", "http", "files", "wsgi", "config", "options"} <= set(rooms_of(graph))
    assert {"serve::requests", "supervise::handover", "clock"} <= graph["serve::worker"]
    assert {"wsgi", "wsgi::object"} <= graph["wsgi::serving"]


@pytest.mark.parametrize(
    "sources",
    [
        {"a": "use crate::b::Thing;", "b": "fn f() { crate::a::g() }"},
        {"r": "pub mod a;\npub mod b;", "r::a": "use super::b::{self, C};", "r::b": "use crate::{x, r::{y, a::D}};"},
        {"r": "pub mod a;\nuse a::Thing;", "r::a": "use super::Other;"},
    ],
)
def test_a_circle_is_found(sources: dict[str, str]) -> None:
    assert circle(modules_of(sources))


def test_a_circle_of_rooms_is_found_where_modules_have_none() -> None:
    sources = {"r": "", "r::a": "use crate::s::b::B;", "s": "", "s::b": "", "s::c": "use crate::r::d::D;", "r::d": ""}
    graph = modules_of(sources)
    assert circle(graph) == []
    assert circle(rooms_of(graph))


def test_a_comment_is_no_use() -> None:
    sources = {"a": "// crate::b\n", "b": "use crate::a::A;"}
    assert modules_of(sources) == {"a": set(), "b": {"a"}}


def test_the_tests_of_a_module_stand_in_units() -> None:
    for path in SOURCES.rglob("*.rs"):
        for module, declared in re.findall(r"#\[cfg\(test\)\]\n((?:#\[.*\n)*)(mod .*)", path.read_text()):
            assert (declared, '#[path = "../' in module) == ("mod tests;", True), path

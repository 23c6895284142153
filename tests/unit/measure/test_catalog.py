# SPDX-License-Identifier: Apache-2.0
import shutil
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from steelyard.errors import InstallationError, ProtocolError, SelectionError
from steelyard.measure import catalog
from steelyard.records import Skip
from tests.making import NULL, a_case, a_choice, a_descriptor, an_integer

SUPPORT = Path(__file__).parents[3] / "probes" / "support"
YIELD = a_descriptor(
    "switch/yield",
    parameters=(an_integer("contexts", 1, 2, 4, maximum=64), a_choice("kind", "thread", "process")),
    placements=("same", "free"),
    baseline="call/loop",
)
PIPE = a_descriptor("switch/pipe", parameters=(an_integer("size", 1),), placements=("same", "cross"))
LOOP = a_descriptor("call/loop", parameters=(an_integer("contexts", 1, maximum=64), an_integer("depth", 3)))


def a_catalog(*descriptors, skips=()):
    probes = {d.probe: catalog.Probe(path=Path("/dev/null"), descriptor=d) for d in descriptors}
    return catalog.Catalog(probes=dict(sorted(probes.items())), skips=tuple(skips))


CATALOG = a_catalog(YIELD, PIPE, LOOP, NULL, skips=[Skip(subject="switch/fibre", reason="no compiler for it")])


def selected(*selectors: str, placements=(), **parameters: str) -> list[str]:
    given = {name: values.split(",") for name, values in parameters.items()}
    return [case.name for case in catalog.select(CATALOG, selectors, given, placements)]


def refusal(*selectors: str, placements=(), **parameters: str) -> str:
    with pytest.raises(SelectionError) as refused:
        selected(*selectors, placements=placements, **parameters)
    return str(refused.value)


def test_without_selectors_all_is_selected_but_what_weighs_the_lab():
    probes = {name.split("[")[0].split("@")[0] for name in selected()}
    assert probes == {"switch/yield", "switch/pipe", "call/loop"}


def test_a_probe_is_swept_over_parameters_and_placements():
    assert len(selected("switch/yield")) == 3 * 2 * 2
    assert selected("switch/yield")[0] == "switch/yield[contexts=1,kind=thread]@same"


@pytest.mark.parametrize("selector", ["switch/*", "switch", "*/[py]*"])
def test_globs_and_bare_questions(selector):
    assert {name.split("[")[0] for name in selected(selector)} == {"switch/yield", "switch/pipe"}


def test_a_bare_way():
    assert {name.split("[")[0] for name in selected("pipe")} == {"switch/pipe"}


def test_what_weighs_the_lab_is_selected_by_name():
    assert selected("null") == ["null/null[delay_percent=0,copy=0]@same"]


def test_a_case_is_itself():
    name = "switch/yield[contexts=2,kind=process]@free"
    assert selected(name) == [name]


def test_a_case_may_leave_things_open():
    assert selected("switch/yield[kind=thread]@same") == [
        f"switch/yield[contexts={n},kind=thread]@same" for n in (1, 2, 4)
    ]


def test_a_case_may_go_beyond_the_sweep_within_the_limits():
    assert selected("switch/yield[contexts=64,kind=thread]@same") == ["switch/yield[contexts=64,kind=thread]@same"]


def test_parameters_override_sweeps_of_the_probes_that_have_them():
    assert selected("switch", contexts="8", kind="thread", placements=["same"]) == [
        "switch/pipe[size=1]@same",
        "switch/yield[contexts=8,kind=thread]@same",
    ]


def test_no_case_is_selected_twice():
    names = selected("switch/yield", "switch", "yield", "switch/yield[contexts=1]")
    assert len(names) == len(set(names))


def test_only_placements_that_are_asked_for():
    assert selected("switch", placements=["cross"]) == ["switch/pipe[size=1]@cross"]


@pytest.mark.parametrize(
    ("selectors", "options", "sentence"),
    [
        (["switch/yeild"], {}, 'no probe matches "switch/yeild"; did you mean switch/yield'),
        (["zzz"], {}, "`steelyard list` shows what there is"),
        (["switch/fibre"], {}, "switch/fibre cannot be measured here: no compiler for it"),
        (["fibre"], {}, "no compiler for it"),
        (["switch"], {"context": "1"}, 'no selected probe has a parameter "context"; did you mean contexts?'),
        (["switch"], {"contexts": "65"}, "switch/yield contexts is from 0 to 64, not 65"),
        (["switch"], {"kind": "fibre"}, "switch/yield kind is one of thread, process, not 'fibre'"),
        (["switch/yield[depth=1]"], {}, "switch/yield has no parameter 'depth'"),
        (["switch/yield[contexts=x]"], {}, "contexts is an integer, not 'x'"),
        (["switch/yield@cross"], {}, "that placement"),
        (["call"], {"placements": ["cross"]}, "no selected probe can be placed as cross"),
        (["call"], {"placements": ["upstairs"]}, "upstairs"),
    ],
)
def test_what_selects_nothing_is_told_and_helped(selectors, options, sentence):
    assert sentence in refusal(*selectors, **options)


# --- baselines -------------------------------------------------------------------------------------------------------


def test_a_baseline_gets_the_parameters_of_its_name_and_its_own_defaults():
    baseline = catalog.baseline_of(a_case("switch/yield", contexts=2, kind="thread"), CATALOG)
    assert baseline.name == "call/loop[contexts=2,depth=3]@same"


def test_no_baseline_where_it_cannot_stand_in_the_same_place():
    assert catalog.baseline_of(a_case("switch/yield", "free", contexts=2, kind="thread"), CATALOG) is None


def test_no_baseline_where_none_is_named_or_none_is_there():
    assert catalog.baseline_of(a_case("switch/pipe", size=1), CATALOG) is None
    assert catalog.baseline_of(a_case("switch/yield", contexts=1, kind="thread"), a_catalog(YIELD)) is None


# --- programs on disk ------------------------------------------------------------------------------------------------


def a_program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def describing(descriptor) -> str:
    return f"cat <<'END'\n{msgspec.json.encode(descriptor).decode()}\nEND"


def test_probes_are_found_by_looking(tmp_path):
    a_program(tmp_path, "example/steady", describing(a_descriptor()))
    found = catalog.load([tmp_path])
    assert list(found.probes) == ["example/steady"]
    assert found.skips == ()
    facts = found.probes["example/steady"].facts()
    assert facts.descriptor == a_descriptor()
    assert len(facts.sha256) == 64


def test_only_what_is_wanted_is_asked_and_what_measures_its_overhead(tmp_path):
    a_program(tmp_path, "switch/yield", describing(YIELD))
    a_program(tmp_path, "call/loop", describing(LOOP))
    a_program(tmp_path, "switch/pipe", f"touch {tmp_path}/asked")
    (tmp_path / "switch" / "gosched.skip").write_text("no Go compiler")
    found = catalog.load_only([tmp_path], ["switch/yield", "switch/gosched", "switch/nowhere"])
    assert set(found.probes) == {"switch/yield", "call/loop"}
    assert found.skips == (Skip(subject="switch/gosched", reason="no Go compiler"),)
    assert not (tmp_path / "asked").exists()


def test_what_is_no_program_is_no_probe(tmp_path):
    (tmp_path / "example").mkdir()
    (tmp_path / "example" / "README").write_text("hello")
    (tmp_path / "example" / "folder").mkdir()
    assert catalog.find_programs([tmp_path]) == {}


def test_an_earlier_folder_hides_a_later_one(tmp_path):
    first = a_program(tmp_path / "first", "example/steady", describing(a_descriptor()))
    a_program(tmp_path / "second", "example/steady", "exit 1")
    assert catalog.find_programs([tmp_path / "first", tmp_path / "second"]) == {"example/steady": first}


def test_a_note_of_the_build_is_a_skip_with_its_reason(tmp_path):
    (tmp_path / "example").mkdir()
    (tmp_path / "example" / "gosched.skip").write_text("no Go compiler\n")
    assert catalog.load([tmp_path]).skips == (Skip(subject="example/gosched", reason="no Go compiler"),)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo hello", "did not print a descriptor"),
        ("exit 0", "did not print a descriptor"),
        ("echo out of order >&2; exit 3", "example/odd --describe exited with code 3: out of order"),
        ("kill -SEGV $$", "example/odd --describe was ended by signal 11"),
        (describing(a_descriptor("example/other")), "calls itself 'example/other'"),
    ],
    ids=["garbage", "nothing", "exit", "signal", "another name"],
)
def test_a_probe_that_cannot_describe_itself_is_a_skip(tmp_path, script, sentence):
    a_program(tmp_path, "example/odd", script)
    a_program(tmp_path, "example/steady", describing(a_descriptor()))
    found = catalog.load([tmp_path])
    assert list(found.probes) == ["example/steady"]
    [skip] = found.skips
    assert skip.subject == "example/odd"
    assert sentence in skip.reason


def test_a_program_that_cannot_be_started_is_told(tmp_path):
    path = tmp_path / "example" / "odd"
    path.parent.mkdir()
    path.write_text("no program")
    path.chmod(0o755)
    with pytest.raises(ProtocolError, match="example/odd cannot be started"):
        catalog.describe(path, "example/odd")


def test_a_probe_that_does_not_answer_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(catalog, "_DESCRIBE_TIMEOUT_S", 0.1)
    path = a_program(tmp_path, "example/odd", "exec sleep 60")
    with pytest.raises(ProtocolError, match=r"--describe took longer than 0\.1 s"):
        catalog.describe(path, "example/odd")


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InstallationError, match="is not a folder of probes"):
        catalog.find_programs([tmp_path / "nowhere"])


def test_further_folders_come_from_the_environment_and_come_first(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_PROBES", f"{tmp_path}:/elsewhere")
    assert catalog.probe_folders()[:2] == [tmp_path, Path("/elsewhere")]


@pytest.fixture
def languages(tmp_path, monkeypatch):
    """An installation in which Python says by which interpreter it is run, and another language does so as well."""
    support = tmp_path / "native" / "probes" / "support"
    shutil.copytree(SUPPORT / "python", support / "python")
    (support / "tea").mkdir()
    (support / "tea" / "interpreter.toml").write_text(
        'name = "Tea"\nsuffix = ".tea"\noldest = [2, 0]\nabout = ""\nprogram = "/usr/bin/pot"\n'
    )
    monkeypatch.setattr(catalog, "native_folder", lambda: tmp_path / "native")


@pytest.mark.usefixtures("languages")
def test_a_program_is_run_by_the_interpreter_of_its_language_and_others_by_themselves():
    assert catalog.command(Path("a/b.tea")) == ["/usr/bin/pot", "a/b.tea"]
    assert [catalog.needs_interpreter(Path(name)) for name in ("a/b", "a/b.py", "a/b.tea")] == [False, True, True]
    assert catalog.command(Path("a/b")) == ["a/b"]
    assert catalog.command(Path("a/b.py")) == [sys.executable, "a/b.py"]
    assert catalog.command(Path("a/b.py"), "/other/python") == ["/other/python", "a/b.py"]


def an_interpreter(tmp_path, *lines):
    program = tmp_path / "python"
    program.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.mark.usefixtures("languages")
def test_an_interpreter_is_asked_for_its_own_path_and_version(tmp_path):
    shim = an_interpreter(tmp_path, "echo /real/python", "echo 3.13.1", "echo t")
    assert catalog.find_interpreter(shim) == catalog.Interpreter(path="/real/python", version="3.13.1t")


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (("echo which version? >&2", "exit 1"), 'does not run as a Python interpreter \\(it says "which version\\?"'),
        (("echo hello",), "does not run as a Python interpreter; name"),
        (("echo /old/python", "echo 3.7.16", "echo"), "is Python 3.7.16 and the probes need 3.8 or later"),
    ],
)
@pytest.mark.usefixtures("languages")
def test_what_is_no_interpreter_of_use_is_told(tmp_path, lines, sentence):
    with pytest.raises(SelectionError, match=sentence):
        catalog.find_interpreter(an_interpreter(tmp_path, *lines))


def test_only_what_is_named_has_to_be_asked(tmp_path):
    for name in ("switch/pipe", "switch/yield", "lock/mutex"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch(mode=0o755)
    asked = [(("switch/*",), {"switch/pipe", "switch/yield"}), (("mutex", "lock"), {"lock/mutex"})]
    asked += [(("switch/pipe[kind=thread]@same",), {"switch/pipe"})]
    for selectors, names in asked:
        assert catalog.named([tmp_path], selectors) == names


@pytest.mark.parametrize("selectors", [(), ("swich/pipe",), ("switch/*", "swich/pipe")])
def test_all_are_asked_where_that_gives_the_better_answer(tmp_path, selectors):
    (tmp_path / "switch").mkdir()
    (tmp_path / "switch" / "pipe").touch(mode=0o755)
    assert catalog.named([tmp_path], selectors) is None


def test_a_case_of_a_probe_that_cannot_be_used_says_why():
    found = a_catalog(skips=(Skip(subject="switch/go_chan", reason="needs Go"),))
    with pytest.raises(SelectionError, match="switch/go_chan cannot be measured here: needs Go"):
        catalog.select(found, ["switch/go_chan[contexts=2]@same"], {}, [])

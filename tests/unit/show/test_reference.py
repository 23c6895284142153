# SPDX-License-Identifier: Apache-2.0
from steelyard.cli import build_app
from steelyard.judge import studies
from steelyard.records import Skip
from steelyard.show import reference
from tests.making import a_choice, a_descriptor, an_integer


def test_every_probe_is_a_row_of_its_question():
    descriptors = [a_descriptor("call/direct"), a_descriptor("call/indirect"), a_descriptor("switch/yield")]
    text = reference.probes(descriptors, [])
    assert text.count("| mechanism |") == 2
    assert (
        text.index("## call") < text.index("`call/indirect`") < text.index("## switch") < text.index("`switch/yield`")
    )


def test_a_row_has_parameters_with_their_limits():
    descriptor = a_descriptor(parameters=(an_integer("n", 1, 8, maximum=64), a_choice("kind", "a", "b")))
    text = reference.probes([descriptor], [])
    assert "`n=1,8` (the n; 0 to 64)" in text
    assert "`kind=a,b` (the kind; a, b)" in text


def test_a_bar_in_a_text_does_not_end_its_cell():
    assert r"one \| other" in reference.probes([a_descriptor(operation="one | other")], [])


def test_what_was_not_there_is_listed_with_its_reason():
    assert "- `a/b`: no compiler" in reference.probes([], [Skip(subject="a/b", reason="no compiler")])


def test_the_manual_has_every_command_of_the_parser():
    text = reference.manual(build_app().generate_docs(output_format="rst", recursive=True))
    assert all(command in text for command in ("run", "show", "list", "doctor"))
    assert "EXIT STATUS" in text


def test_every_claim_is_listed_with_what_is_wrong_with_it():
    text = reference.claims(studies.library().claims)
    for sourced in studies.library().claims:
        assert f"| `{sourced.claim.id}` |" in text
    assert text.count("| claim |") == len({sourced.source.id for sourced in studies.library().claims})


def test_every_published_figure_is_listed_in_its_unit():
    text = reference.published(studies.library().figures)
    assert text.count("\n| ") - 2 * text.count("| mechanism |") == len(studies.library().figures)
    assert "4.36 ns" in text


def test_the_session_file_has_every_line_and_every_record_that_a_line_is_made_of():
    text = reference.session_file()
    for title in ("`session`", "`run`", "`end`", "Value", "Descriptor", "Disturbance"):
        assert f"\n## {title}\n" in text
    assert "| `values` | list of Value | `[]` |" in text
    assert "| `status` | `failed` or `ok` or `skipped` | required |" in text
    assert "| `error` | string or null | `null` |" in text


def test_the_errata_say_first_what_the_oldest_study_got_right():
    text = reference.errata(studies.library().studies)
    oldest = next(study for study in studies.library().studies if study.source.name == "linux-scheduler-1999")
    assert text.index(oldest.right) < text.index("| where |")
    assert text.count("\n| ") - 2 * text.count("| where |") == sum(len(one.errata) for one in studies.library().studies)


def test_a_mechanism_has_its_title_before_what_can_be_typed():
    text = reference.probes([a_descriptor("switch/yield", title="sched_yield"), a_descriptor("switch/mine")], [])
    assert "| sched_yield, `switch/yield`: What" in text
    assert "| `switch/mine`: What" in text

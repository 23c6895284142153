# SPDX-License-Identifier: Apache-2.0
"""A word that a descriptor of cache/ offers and the probe has no code for ends in a sentence, not beyond an array."""

import re
import subprocess
from pathlib import Path

import pytest

from tests import processes

PROBES = Path(__file__).parents[2] / "probes"
SUPPORT = [PROBES / f"support/c/{name}.c" for name in ("probe", "contexts", "counters")]
CHOICE = re.compile(r'(\.name = "(\w+)",[^{}]*?)\.choices = WORDS\(\w+\), *\.sweep = WORDS\(\w+\)')
INCLUDE = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)


def texts(source):
    """A source and the headers beside it that it includes, by name."""
    text = source.read_text()
    beside = [path for name in INCLUDE.findall(text) if (path := source.with_name(name)).exists()]
    return {source.name: text} | {path.name: path.read_text() for path in beside}


#: Each source that takes a word from such a list, and the parameter.
CHOOSING = [
    (source, choice[2])
    for source in sorted(PROBES.glob("cache/*.c"))
    for text in texts(source).values()
    for choice in CHOICE.finditer(text)
]


def test_there_are_sources():
    assert len(CHOOSING) > 1


@pytest.mark.parametrize(("source", "parameter"), CHOOSING, ids=[source.stem for source, _ in CHOOSING])
def test_a_choice_without_code_is_refused(tmp_path, source, parameter):
    for name, text in texts(source).items():
        (tmp_path / name).write_text(CHOICE.sub(r'\1.choices = "forgotten", .sweep = "forgotten"', text))
    program = tmp_path / source.stem
    subprocess.run(
        [processes.tool("cc"), "-std=gnu17", "-O1", f'-DPROBE_ID="cache/{source.stem}"', f"-I{PROBES}/support/c",
         f"-I{PROBES}/cache", tmp_path / source.name, *SUPPORT, "-o", program, "-pthread"],
        check=True,
    )  # fmt: skip
    arguments = [program, "--operations", "7", "--values", "1", f"{parameter}=forgotten"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=processes.PATIENCE_S, check=False)
    assert done.returncode == 1
    assert f"{parameter}=forgotten" in done.stderr

# SPDX-License-Identifier: Apache-2.0
"""A word that a descriptor of cache/ offers and the probe has no code for ends in a sentence, not beyond an array."""

import re
import subprocess
from pathlib import Path

import pytest

from tests import processes

PROBES = Path(__file__).parents[2] / "probes"
SUPPORT = [PROBES / f"support/c/{name}.c" for name in ("probe", "contexts", "counters")]
CHOICES = re.compile(r"\.choices = .*?, *\s*\.brief", re.DOTALL)


@pytest.mark.parametrize(("way", "parameter"), [("atomic", "step"), ("false_sharing", "layout")])
def test_a_choice_without_code_is_refused(tmp_path, way, parameter):
    source = tmp_path / f"{way}.c"
    text, found = CHOICES.subn(
        '.choices = "forgotten", .sweep = "forgotten", .brief', (PROBES / f"cache/{way}.c").read_text()
    )
    assert found == 1
    source.write_text(text)
    program = tmp_path / way
    subprocess.run(
        [processes.tool("cc"), "-std=gnu17", "-O1", f'-DPROBE_ID="cache/{way}"', f"-I{PROBES}/support/c",
         f"-I{PROBES}/cache", source, *SUPPORT, "-o", program, "-pthread"],
        check=True,
    )  # fmt: skip
    arguments = [program, "--operations", "7", "--values", "1", f"{parameter}=forgotten"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=processes.PATIENCE_S, check=False)
    assert done.returncode == 1
    assert f"{parameter}=forgotten" in done.stderr

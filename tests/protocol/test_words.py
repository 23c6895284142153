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


@pytest.mark.parametrize(
    ("way", "parameter", "written_in"),
    [("atomic", "step", "atomic.c"), ("false_sharing", "layout", "numbers_of_own.h")],
)
def test_a_choice_without_code_is_refused(tmp_path, way, parameter, written_in):
    source = tmp_path / f"{way}.c"
    source.write_text((PROBES / f"cache/{way}.c").read_text())
    text, found = CHOICES.subn(
        '.choices = "forgotten", .sweep = "forgotten", .brief', (PROBES / "cache" / written_in).read_text()
    )
    assert found == 1
    (tmp_path / written_in).write_text(text)  # found before that of cache/, as it lies beside the source
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

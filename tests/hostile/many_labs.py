# SPDX-License-Identifier: Apache-2.0
"""A lab after the other in processes of their own, to be killed: reads paths of sessions, prints process ids.

What a lab needs is imported once, so that a thousand of them are had in minutes. Each measures two rogues, of which one
leaves processes and objects behind, beside the controls.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from steelyard.lab.session import Lab
from steelyard.measure import audit
from steelyard.settings import Settings

#: As short as a session can be.
QUICK = Settings(blocks=1, target="1ms", values=2, deadline="20s", seed=1)


def main() -> None:
    """Serve until the input ends."""
    audit._LOOK_S = 0.01  # so that few of them are killed while they only look at the machine
    lab = Lab([Path(sys.argv[1])], only={"rogue/well", "rogue/messy", "null/null"})
    cases = lab.select(["rogue/well", "rogue/messy"], [], [])
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.setsid()
            os.environ["ROGUE_LOG"] = f"{line.strip()}.log"  # what a killed lab had begun may write later than the next
            lab.measure(lab.header(cases, QUICK), Path(line.strip()), QUICK)
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("over", flush=True)


if __name__ == "__main__":
    main()

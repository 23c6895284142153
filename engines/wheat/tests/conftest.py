# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests of wheat: they import their helpers by name, whatever folder pytest was started in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# SPDX-License-Identifier: Apache-2.0
"""Lets another environment's interpreter find what it lacks, servers above all, in Steelyard's: its own comes first."""

import os
import sys

sys.path += filter(None, [os.environ.get("STEELYARD_REQUEST_BORROW")])

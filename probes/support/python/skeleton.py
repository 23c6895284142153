#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lookup - a value found in a dictionary by its key. Replace all of this by what you want to know.

Known answer: the values found add up to the number of lookups.
Overhead: a turn of a for loop and an addition.  Limits: one small dictionary, always in the cache.
"""

import os
import sys
from itertools import repeat

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python")

from probe import Integer, Metric, Probe, main  # noqa: E402


class Lookup(Probe):
    title = "lookup in a dictionary"
    question = "What does a lookup in a dictionary cost?"
    operation = "one value found by its key and added up"
    source = "written for this purpose"
    statistic = "lower_quartile"  # "median" where waiting or contention is the subject
    placements = ("same",)  # with several parties also "cross" and "free"
    uses = ("cpu",)
    parameters = (Integer("entries", "entries of the dictionary", "1", (1, 1000), 1, 10_000_000),)
    metrics = (Metric("lookup", "s", "lower", "wall", "operations", "time of one lookup"),)

    def setup(self):
        """Called once, untimed."""
        self.table = dict.fromkeys(range(self.given["entries"]), 1)

    def batch(self, operations, value):
        table, found = self.table, 0
        value.start()  # what stands between start and stop is timed
        for _ in repeat(None, operations):
            found += table[0]
        value.stop()
        value.counts["checked"] = found  # the proof: must be the number of operations


main(Lookup)

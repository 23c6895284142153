# SPDX-License-Identifier: Apache-2.0
"""Measure: find the probes, plan the blocks, start the runs, know the machine. Knows nothing of verdicts."""

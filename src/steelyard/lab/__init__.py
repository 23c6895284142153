# SPDX-License-Identifier: Apache-2.0
"""What drives a measurement, from a selection to a judged session: for the command line, notebooks and benchmarks."""

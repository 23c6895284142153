# SPDX-License-Identifier: Apache-2.0
"""Judge: from sessions to findings. Pure: no process, no clock, no file but its own library, no unseeded randomness."""

# SPDX-License-Identifier: Apache-2.0
"""Many machines: the same plan on each of them, and whether one is unlike the others."""

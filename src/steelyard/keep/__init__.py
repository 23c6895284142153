# SPDX-License-Identifier: Apache-2.0
"""Keep: session files, written once and read often."""

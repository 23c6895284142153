# SPDX-License-Identifier: Apache-2.0
"""engines/coro beside its peers."""

# SPDX-License-Identifier: Apache-2.0
"""The tests. `making` builds records, `processes` looks after programs."""

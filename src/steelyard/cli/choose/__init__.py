# SPDX-License-Identifier: Apache-2.0
"""What to take: an answer for a load that you describe, with its evidence."""

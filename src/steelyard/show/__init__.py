# SPDX-License-Identifier: Apache-2.0
"""Show: findings as text, tables and pages. Computes nothing."""

# SPDX-License-Identifier: Apache-2.0
"""The records, a module a subject; `steelyard.records` has them all, and whoever uses one takes it from there."""

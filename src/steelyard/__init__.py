# SPDX-License-Identifier: Apache-2.0
"""Steelyard weighs what it costs to run and to connect work on a computer."""

__version__ = "0.1.0"

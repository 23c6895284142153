# SPDX-License-Identifier: Apache-2.0
"""The methods by which samples are judged: one file a method, each citing its source.

A sample here is an array with one number a run. Nothing in this folder pools the values inside a run, reads a clock,
starts a process or draws an unseeded random number.
"""

# SPDX-License-Identifier: Apache-2.0
"""Many machines of many people: a folder of published sessions, and pages of what things cost on them."""

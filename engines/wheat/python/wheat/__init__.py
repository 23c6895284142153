# SPDX-License-Identifier: Apache-2.0
"""A WSGI and static-file server; the command is `wheat`."""

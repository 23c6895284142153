// SPDX-License-Identifier: Apache-2.0
//! WSGI applications (PEP 3333) by CPython's own interface.

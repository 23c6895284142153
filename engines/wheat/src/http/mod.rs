// SPDX-License-Identifier: Apache-2.0
//! HTTP/1.1 as RFC 9112 has it, strictly. Pure: no socket, no clock.

// SPDX-License-Identifier: Apache-2.0
// Empty: beside an assembly file the compiler accepts functions without a body, as contexts.go has them.

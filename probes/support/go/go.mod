// SPDX-License-Identifier: Apache-2.0
module steelyard/probe

go 1.21

# SPDX-License-Identifier: Apache-2.0
# fish reads this at the first TAB after `steelyard`; commands and options are those of the program that is installed.
steelyard completion fish | source

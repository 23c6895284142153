# SPDX-License-Identifier: Apache-2.0
"""Writes what the simulator says into the library, after the difference was read and found right."""

from tests.simulated import schedulers

if __name__ == "__main__":
    for file, said in schedulers.files().items():
        file.write_bytes(said)

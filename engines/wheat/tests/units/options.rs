// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/options.rs`.

use super::*;

#[test]
fn cpus_read_as_ranges() {
    assert_eq!(shown_cpus(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    let first = allowed_cpus()[0];
    assert_eq!(affinity(&first.to_string()), Ok(Affinity::Cpus(vec![first])));
}

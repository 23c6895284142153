// SPDX-License-Identifier: Apache-2.0
//! Tells the code which Python it is compiled for (`cfg(Py_3_12)`, `cfg(Py_GIL_DISABLED)` …).

fn main() {
    #[cfg(feature = "python")]
    pyo3_build_config::use_pyo3_cfgs();
}

// SPDX-License-Identifier: Apache-2.0
//! What the processor counted in a value, by ../c/counters.h as a library; of every thread of this process. Opened when
//! all values have been timed, for batches that are run again for the counts alone.

use std::ffi::{c_char, c_int, CStr};

/// What cargo compares, to link again when the library has changed.
const _LIBRARY: Option<&str> = option_env!("PROBE_COUNTERS");
const MOST: usize = 4; // COUNTERS_MAX

/// A count, the time for which it was enabled and the time for which it was counted.
pub type Counter = [u64; 3];

/// Events by name, each with what was counted.
pub type Counted = Vec<(String, Counter)>;

/// The open counters; none are where nothing can be counted, and `absent` says why.
#[derive(Default)]
pub struct Counters {
    open: bool,
    pub scope: String,
    pub absent: String,
}

impl Counters {
    pub fn open() -> Self {
        // SAFETY: no other process is named, and the texts are the library's own.
        unsafe {
            let open = counters_open(std::ptr::null(), 0);
            Counters { open, scope: text(counters_scope()), absent: text(counters_absent()) }
        }
    }

    pub fn are_open(&self) -> bool {
        self.open
    }

    pub fn read(&self) -> Counted {
        let mut counted = [Counter::default(); MOST];
        // SAFETY: there is room for as many as the library has.
        if !unsafe { counters_read(counted.as_mut_ptr()) } {
            crate::fail(&format!("cannot read the counters: {}", std::io::Error::last_os_error()));
        }
        // SAFETY: a name is a text of the library's own or null.
        let name = |event| unsafe { counters_name(event as c_int) };
        let opened = counted.into_iter().enumerate().filter(|(event, _)| !name(*event).is_null());
        // SAFETY: as above, and not null.
        opened.map(|(event, counter)| (unsafe { text(name(event)) }, counter)).collect()
    }
}

/// What was counted between two readings.
pub fn between(begin: &Counted, end: Counted) -> Counted {
    end.into_iter()
        .zip(begin)
        .map(|((name, last), (_, first))| (name, [last[0] - first[0], last[1] - first[1], last[2] - first[2]]))
        .collect()
}

unsafe fn text(of_library: *const c_char) -> String {
    CStr::from_ptr(of_library).to_string_lossy().into_owned()
}

#[link(name = "counters_static", kind = "static")]
extern "C" {
    fn counters_open(processes: *const c_int, count: c_int) -> bool;
    fn counters_read(counted: *mut Counter) -> bool;
    fn counters_name(event: c_int) -> *const c_char;
    fn counters_scope() -> *const c_char;
    fn counters_absent() -> *const c_char;
}

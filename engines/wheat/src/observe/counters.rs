// SPDX-License-Identifier: Apache-2.0
//! What a worker counts. Each worker writes its own slot of a memory that it shares with the master and with `wheat stat`;
//! nobody waits for anybody. When a worker is gone the master adds its totals to those of the workers that ended: they
//! survive it, and the sum over all slots is exact.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::clock::monotonic_ns;
use crate::options::MOST_WORKERS;

/// A counter with one writer (the thread of the event loop), hence without the locked instruction that `fetch_add` is.
#[derive(Default)]
#[repr(transparent)]
pub struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }
    /// Where several threads of the worker write it.
    #[inline]
    pub fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
    #[inline]
    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
#[repr(C, align(128))]
pub struct Slot {
    pub requests: Counter,
    /// Responses by class: 1xx … 5xx.
    pub responses: [Counter; 5],
    pub bytes_in: Counter,
    pub bytes_out: Counter,
    pub connections_accepted: Counter,
    pub connections_open: Counter,
    pub in_flight: Counter,
    /// Deadlines that passed, by `timers::Kind`.
    pub timeouts: [Counter; 5],
    /// Requests that were refused before any application saw them, by what: malformed, limit, unsupported.
    pub rejected: [Counter; 3],
    /// Connections refused because there were too many.
    pub connections_refused: Counter,
    pub application_errors: Counter,
    /// Lines of the access log that its file or reader did not take in time.
    pub log_lines_dropped: Counter,
    /// Monotonic nanoseconds since which the worker could take on nothing new: the begin of a turn of the event loop or,
    /// with threads, the moment since which a call waits for one. 0: it can.
    pub busy_since: Counter,
    /// Grows while calls get on: with their ends, with each piece of a response, and while a client is waited for.
    pub progress: Counter,
    /// The rest is written by the master, before the worker starts or after it ended.
    pub state: Counter,
    pub pid: Counter,
    pub index: Counter,
    /// Which load of the application: counts from 1.
    pub generation: Counter,
    /// Monotonic nanoseconds.
    pub started: Counter,
}

/// `Slot::state`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum State {
    Free = 0,
    Starting = 1,
    Ready = 2,
    Finishing = 3,
}

impl State {
    fn of(n: u64) -> Self {
        match n {
            1 => Self::Starting,
            2 => Self::Ready,
            3 => Self::Finishing,
            _ => Self::Free,
        }
    }
}

/// A total and its parts: what the tables, OpenMetrics and the addition of ended workers go over.
pub struct Family {
    pub name: &'static str,
    /// Appended to the name in OpenMetrics.
    pub unit: Option<&'static str>,
    pub help: &'static str,
    /// The name of the label and its values, one for each counter.
    pub labels: Option<(&'static str, &'static [&'static str])>,
    pub counters: fn(&Slot) -> &[Counter],
}

const fn one(name: &'static str, help: &'static str, counters: fn(&Slot) -> &[Counter]) -> Family {
    Family { name, unit: None, help, labels: None, counters }
}

/// Everything in a slot that only grows.
pub const FAMILIES: &[Family] = &[
    one("requests", "requests that were answered or given up", |s| std::slice::from_ref(&s.requests)),
    Family {
        name: "responses",
        unit: None,
        help: "responses by class of their status",
        labels: Some(("class", &["1xx", "2xx", "3xx", "4xx", "5xx"])),
        counters: |s| &s.responses,
    },
    Family {
        name: "received",
        unit: Some("bytes"),
        help: "bytes read from clients",
        labels: None,
        counters: |s| std::slice::from_ref(&s.bytes_in),
    },
    Family {
        name: "sent",
        unit: Some("bytes"),
        help: "bytes written to clients",
        labels: None,
        counters: |s| std::slice::from_ref(&s.bytes_out),
    },
    one("connections_accepted", "connections accepted", |s| std::slice::from_ref(&s.connections_accepted)),
    one("connections_refused", "connections refused because there were too many", |s| {
        std::slice::from_ref(&s.connections_refused)
    }),
    Family {
        name: "timeouts",
        unit: None,
        help: "connections ended by a deadline, by what they waited for",
        labels: Some(("kind", &["head", "body", "idle", "send", "linger"])),
        counters: |s| &s.timeouts,
    },
    Family {
        name: "rejected",
        unit: None,
        help: "requests refused before any application saw them",
        labels: Some(("reason", &["malformed", "limit", "unsupported"])),
        counters: |s| &s.rejected,
    },
    one("application_errors", "exceptions of the application and breaches of its contract", |s| {
        std::slice::from_ref(&s.application_errors)
    }),
    one("log_lines_dropped", "lines of the access log that were not taken in time", |s| {
        std::slice::from_ref(&s.log_lines_dropped)
    }),
];

const TEXT: usize = 1024;

/// Written by the master alone.
#[repr(C, align(128))]
struct Head {
    /// Which layout this is: `MAGIC`.
    magic: Counter,
    pid: Counter,
    /// Odd while the totals of an ended worker are on their way.
    sequence: AtomicU64,
    /// Slots beyond it were never used.
    used: Counter,
    wanted: Counter,
    generation: Counter,
    /// Monotonic nanoseconds.
    started: Counter,
    died: Counter,
    hung: Counter,
    /// Name and addresses: UTF-8, their lengths first. Written once, before the first worker.
    name_length: Counter,
    addresses_length: Counter,
    name: [Counter; TEXT / 8],
    addresses: [Counter; TEXT / 8],
}

/// The sum of the ended workers, then two for each worker: while one generation takes over from another both are there.
const SLOTS: usize = 1 + 2 * MOST_WORKERS;
const ENDED: usize = 0;

#[repr(C)]
struct Layout {
    head: Head,
    slots: [Slot; SLOTS],
}

/// "wheat" and the size of the layout: another one is not read.
const MAGIC: u64 = 0x7768_6561_7401_0000 | size_of::<Layout>() as u64 & 0xff_ffff;
pub const MEMFD_NAME: &str = "wheat-counters";

/// The shared memory, mapped. Only pages that are written cost anything.
pub struct Memory {
    layout: NonNull<Layout>,
    file: OwnedFd,
}

// SAFETY: all that it points to are atomics, and the mapping lasts as long as the value.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// New memory, all zeros, of a size that can't change: no reader can be made to fault.
    pub fn create(name: &str, addresses: &str) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create(MEMFD_NAME, flags)?;
        rustix::fs::ftruncate(&file, size_of::<Layout>() as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let memory = Self::map(file, ProtFlags::READ | ProtFlags::WRITE)?;
        let head = memory.head();
        put(&head.name, &head.name_length, name);
        put(&head.addresses, &head.addresses_length, addresses);
        head.pid.set(u64::from(std::process::id()));
        head.started.set(monotonic_ns());
        head.used.set(1);
        head.magic.set(MAGIC);
        Ok(memory)
    }

    /// The memory of a running server, to read it.
    pub fn look(file: File) -> io::Result<Self> {
        let other = || io::Error::other("its counters have another layout: it is of another version");
        if file.metadata()?.len() != size_of::<Layout>() as u64 {
            return Err(other());
        }
        let memory = Self::map(file.into(), ProtFlags::READ)?;
        if memory.head().magic.get() == MAGIC { Ok(memory) } else { Err(other()) }
    }

    /// A worker's own slot, in the memory that it inherited.
    pub fn slot_for_life(file: OwnedFd, slot: usize) -> io::Result<&'static Slot> {
        let memory = Self::map(file, ProtFlags::READ | ProtFlags::WRITE)?;
        if memory.head().magic.get() != MAGIC || slot >= SLOTS {
            return Err(io::Error::other("the counters are of another version"));
        }
        let memory: &'static Self = Box::leak(Box::new(memory));
        Ok(memory.slot(slot))
    }

    fn map(file: OwnedFd, protection: ProtFlags) -> io::Result<Self> {
        // SAFETY: a new mapping where the kernel likes; the file is as long, and sealed so that it stays so.
        let address = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), size_of::<Layout>(), protection, MapFlags::SHARED, &file, 0)?
        };
        let layout = NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mapped at address zero"))?;
        Ok(Self { layout, file })
    }

    fn layout(&self) -> &Layout {
        // SAFETY: mapped with this size, page-aligned, alive as long as self; any bytes are valid atomics.
        unsafe { self.layout.as_ref() }
    }

    fn head(&self) -> &Head {
        &self.layout().head
    }

    pub fn slot(&self, slot: usize) -> &Slot {
        &self.layout().slots[slot]
    }

    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// A slot for a worker that is about to start. None: all are taken.
    pub fn take(&self, index: usize, generation: u64) -> Option<usize> {
        let free = (1..SLOTS).find(|slot| self.slot(*slot).state.get() == State::Free as u64)?;
        let slot = self.slot(free);
        slot.index.set(index as u64);
        slot.generation.set(generation);
        slot.started.set(monotonic_ns());
        slot.state.set(State::Starting as u64);
        self.head().used.set(self.head().used.get().max(free as u64 + 1));
        Some(free)
    }

    /// The worker of this slot is gone: keep its totals, free the slot.
    pub fn give_back(&self, slot: usize) {
        let (gone, ended) = (self.slot(slot), self.slot(ENDED));
        let sequence = &self.head().sequence;
        let n = sequence.load(Ordering::Relaxed);
        sequence.store(n + 1, Ordering::Relaxed);
        fence(Ordering::Release); // readers that see any of what follows see the odd number
        for family in FAMILIES {
            for (from, to) in (family.counters)(gone).iter().zip((family.counters)(ended)) {
                to.add(from.get());
                from.set(0);
            }
        }
        for gauge in [&gone.connections_open, &gone.in_flight, &gone.busy_since, &gone.pid, &gone.state] {
            gauge.set(0);
        }
        sequence.store(n + 2, Ordering::Release);
    }

    pub fn note_wanted(&self, workers: usize, generation: u64) {
        self.head().wanted.set(workers as u64);
        self.head().generation.set(generation);
    }

    pub fn note_died(&self) {
        self.head().died.add(1);
    }

    pub fn note_hung(&self) {
        self.head().hung.add(1);
    }

    /// All counters at one moment, as far as workers that count on allow: no ended worker is missing or counted twice.
    pub fn snapshot(&self) -> Snapshot {
        let head = self.head();
        loop {
            let before = head.sequence.load(Ordering::Acquire);
            let snapshot = self.read(head);
            fence(Ordering::Acquire);
            if before % 2 == 0 && head.sequence.load(Ordering::Relaxed) == before {
                return snapshot;
            }
            std::hint::spin_loop();
        }
    }

    fn read(&self, head: &Head) -> Snapshot {
        let totals =
            |slot: &Slot| FAMILIES.iter().map(|f| (f.counters)(slot).iter().map(Counter::get).collect()).collect();
        let used = (head.used.get() as usize).min(SLOTS);
        let workers = (1..used).map(|slot| self.slot(slot)).filter(|slot| slot.state.get() != State::Free as u64);
        Snapshot {
            name: get(&head.name, &head.name_length),
            addresses: get(&head.addresses, &head.addresses_length),
            pid: head.pid.get(),
            up_ns: monotonic_ns().saturating_sub(head.started.get()),
            wanted: head.wanted.get(),
            generation: head.generation.get(),
            died: head.died.get(),
            hung: head.hung.get(),
            ended: Totals(totals(self.slot(ENDED))),
            workers: workers
                .map(|slot| WorkerSnapshot {
                    index: slot.index.get(),
                    pid: slot.pid.get(),
                    state: State::of(slot.state.get()),
                    up_ns: monotonic_ns().saturating_sub(slot.started.get()),
                    connections_open: slot.connections_open.get(),
                    in_flight: slot.in_flight.get(),
                    totals: Totals(totals(slot)),
                })
                .collect(),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this mapping, of this size; nothing borrowed from it outlives self.
        let _ = unsafe { rustix::mm::munmap(self.layout.as_ptr().cast(), size_of::<Layout>()) };
    }
}

pub struct Snapshot {
    pub name: String,
    pub addresses: String,
    pub pid: u64,
    pub up_ns: u64,
    pub wanted: u64,
    pub generation: u64,
    pub died: u64,
    pub hung: u64,
    pub ended: Totals,
    pub workers: Vec<WorkerSnapshot>,
}

pub struct WorkerSnapshot {
    pub index: u64,
    pub pid: u64,
    pub state: State,
    pub up_ns: u64,
    pub connections_open: u64,
    pub in_flight: u64,
    pub totals: Totals,
}

/// The counters of `FAMILIES`, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals(pub Vec<Vec<u64>>);

impl Totals {
    /// The sum of a family's counters. The name is one of `FAMILIES`.
    pub fn of(&self, name: &str) -> u64 {
        self.parts(name).iter().sum()
    }

    pub fn parts(&self, name: &str) -> &[u64] {
        let family = FAMILIES.iter().position(|family| family.name == name).expect("a family of counters");
        &self.0[family]
    }

    fn add(&mut self, other: &Self) {
        for (to, from) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *to = to.wrapping_add(*from);
        }
    }
}

impl Snapshot {
    /// The totals of all workers, those that ended included.
    pub fn totals(&self) -> Totals {
        let mut sum = self.ended.clone();
        for worker in &self.workers {
            sum.add(&worker.totals);
        }
        sum
    }
}

/// Text in words, cut at a character when it is too long.
fn put(words: &[Counter], length: &Counter, text: &str) {
    let mut end = text.len().min(words.len() * 8);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (word, bytes) in words.iter().zip(text.as_bytes()[..end].chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.set(u64::from_ne_bytes(whole));
    }
    length.set(end as u64);
}

fn get(words: &[Counter], length: &Counter) -> String {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.get().to_ne_bytes()).collect();
    bytes.truncate(length.get() as usize);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[path = "../../tests/units/observe/counters.rs"]
mod tests;

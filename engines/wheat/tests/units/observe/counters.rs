// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/observe/counters.rs`.

use super::*;

fn memory() -> Memory {
    Memory::create("shop", "http://127.0.0.1:8000").unwrap()
}

fn look(memory: &Memory) -> Memory {
    Memory::look(File::from(memory.file().try_clone_to_owned().unwrap())).unwrap()
}

#[test]
fn totals_survive_their_worker() {
    let memory = memory();
    let other = look(&memory);
    let slot = memory.take(0, 1).unwrap();
    memory.slot(slot).requests.add(23);
    memory.slot(slot).responses[1].add(22);
    memory.slot(slot).in_flight.set(1);
    let seen = other.snapshot();
    assert_eq!((seen.totals().of("requests"), seen.workers.len(), seen.workers[0].in_flight), (23, 1, 1));
    memory.give_back(slot);
    let seen = other.snapshot();
    assert_eq!((seen.totals().of("requests"), seen.workers.len()), (23, 0));
    assert_eq!(seen.totals().parts("responses"), [0, 22, 0, 0, 0]);
    let again = memory.take(0, 2).unwrap();
    assert_eq!(again, slot, "a slot is used again");
    assert_eq!((memory.slot(again).requests.get(), memory.slot(again).in_flight.get()), (0, 0));
    memory.slot(again).requests.add(1);
    assert_eq!(other.snapshot().totals().of("requests"), 24);
}

#[test]
fn no_reader_sees_a_worker_twice_or_not_at_all() {
    let memory = memory();
    let other = look(&memory);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20_000 {
                let slot = memory.take(0, 1).unwrap();
                memory.slot(slot).requests.add(1);
                memory.slot(slot).bytes_out.add(1);
                memory.give_back(slot);
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut last = 0;
        while !done.load(Ordering::Relaxed) {
            let totals = other.snapshot().totals();
            let (requests, sent) = (totals.of("requests"), totals.of("sent"));
            assert!(requests >= last, "{requests} after {last}");
            assert!(requests - sent <= 1, "{requests} requests and {sent} bytes");
            last = requests;
        }
    });
    assert_eq!(other.snapshot().totals().of("requests"), 20_000);
}

#[test]
fn what_a_slot_counts_is_in_one_family_and_only_there() {
    let slot = Slot::default();
    for counter in FAMILIES.iter().flat_map(|family| (family.counters)(&slot)) {
        counter.add(1);
    }
    let gauges = [&slot.connections_open, &slot.in_flight, &slot.busy_since];
    assert!(gauges.iter().all(|gauge| gauge.get() == 0));
    let values = FAMILIES.iter().flat_map(|family| (family.counters)(&slot)).map(Counter::get);
    assert!(values.clone().all(|value| value == 1));
    // requests, responses, bytes, connections accepted and refused, timeouts, rejected, errors, dropped lines
    assert_eq!(values.count(), 1 + 5 + 2 + 2 + 5 + 3 + 1 + 1);
    for family in FAMILIES {
        assert_eq!(family.labels.map_or(1, |(_, values)| values.len()), (family.counters)(&slot).len());
    }
}

#[test]
fn names_are_kept_and_cut_at_a_character() {
    let seen = Memory::create(&"é".repeat(600), "").unwrap().snapshot();
    assert_eq!((seen.name.len(), seen.addresses.as_str()), (1024, ""));
    assert_eq!(memory().snapshot().name, "shop");
}

#[test]
fn memory_of_another_kind_is_refused() {
    let file = rustix::fs::memfd_create("other", MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, 10).unwrap();
    assert!(Memory::look(file.try_clone().unwrap().into()).is_err());
    rustix::fs::ftruncate(&file, size_of::<Layout>() as u64).unwrap();
    assert!(Memory::look(file.into()).is_err());
}

#[test]
fn slots_are_not_endless() {
    let memory = memory();
    for n in 1..SLOTS {
        assert_eq!(memory.take(n, 1), Some(n));
    }
    assert_eq!(memory.take(0, 1), None);
}

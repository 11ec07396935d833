//! Compares the counts that a SPARC strand and an R10000 report with the true counts.

use guest_abi::event::SparcEvent;
use platform::models::r10000::R10000Event;
use simulator::analysis::profile::SampledUnit;
use simulator::recording::{Chunk, Class, Flow, Kind, Recording, Reference};

use crate::{continue_always, every, fetch, job, profile};

/// Returns a program of `length` instructions on 20 pages. Every second instruction loads, stores, or does both. The data addresses are
/// scattered over 4 MB, and each is used twice, so there are misses of every kind, and lines are written back. Every fifth instruction is a
/// branch: taken, not taken, or indirect. The instructions that both load and store are atomic, and use one block of the secondary cache.
/// Every eighth instruction is a floating-point instruction.
fn program_with_branches(length: u64) -> Vec<Reference> {
    let mut references = Vec::new();
    for number in 0..length {
        let data = 0x100_0000 + number % (length / 2) * 0x9e37_79b9 % 0x40_0000;
        let (kind, data_kind) = match number % 8 {
            0 | 4 => (Kind::FetchLoad, Some(Kind::Load)),
            2 => (Kind::FetchStore, Some(Kind::Store)),
            6 => (Kind::FetchModify, Some(Kind::Modify)),
            _ => (Kind::FetchOther, None),
        };
        let data = if number % 8 == 6 { 0x90_0000 } else { data };
        let flow = match number % 15 {
            0 => Flow::Taken,
            5 => Flow::NotTaken,
            10 => Flow::Jump,
            _ => Flow::Next,
        };
        let class = match number % 8 {
            6 => Class::Atomic,
            7 => Class::FloatingPoint,
            _ => Class::Other,
        };
        let fetch = fetch(0x40_0000 + number * 7 % 20_000 * 4, kind, flow);
        references.push(Reference { class, ..fetch });
        references.extend(data_kind.map(|kind| Reference::new(data, 8, kind)));
    }
    references
}

/// Returns the program as lackey writes it, without branches.
fn program() -> String {
    let line = |reference: Reference| {
        let lead = match reference.kind {
            Kind::Load => " L",
            Kind::Store => " S",
            Kind::Modify => " M",
            _ => "I ",
        };
        format!("{lead} {:x},{}\n", reference.address, reference.size)
    };
    program_with_branches(12_000).into_iter().map(line).collect()
}

/// Samples each event in a separate run. Each of `processors` processors executes a thread. Asserts that the counts are exact, that there
/// is a sample (taken or missed) for every seventh event, and that the report says which events have no model. Exactly `occur` of the
/// events must occur.
fn all_events<'a>(
    unit: SampledUnit,
    processors: usize,
    names: impl Iterator<Item = (String, &'a str)>,
    occur: u64,
) {
    let chunk = Chunk::new(program_with_branches(12_000), Vec::new());
    let threads = vec![vec![chunk]; processors];
    let mut happened = 0;
    for (selector, name) in names {
        let program = Recording::from_threads("test", threads.clone());
        let job = job(program, every(7)).processors(processors);
        let report = job.run(unit, &selector, continue_always).unwrap();
        let event = &report.first;
        assert_eq!((&*report.unit, &*event.event), (unit.name(), name));
        assert_eq!((event.count, event.count_error), (event.exact_count, Some(0)), "{name}");
        assert_eq!(event.lost, 0, "{name}");
        assert_eq!(event.modelled, event.exact_count > 0, "{name}");
        assert_eq!(event.modelled, event.absence.is_none(), "{name}");
        let (samples, missed) = (event.samples, event.missed);
        // A strand is interrupted at each overflow. An R10000 may overflow again before it is interrupted.
        let most = event.count / 7;
        let least = (most + 1).saturating_sub(processors as u64);
        assert!((least..=most).contains(&(samples + missed)), "{name}");
        let stand_for: u64 = event.rows.iter().map(|row| row.events).sum();
        assert_eq!(stand_for, (samples + missed) * 7, "{name}");
        let exact: u64 = event.rows.iter().map(|row| row.exact).sum();
        assert_eq!(exact, event.exact_count, "{name}");
        happened += u64::from(event.modelled);
    }
    assert_eq!(happened, occur);
}

#[test]
fn every_event_of_a_strand() {
    let names = SparcEvent::ALL.iter().map(|event| event.name());
    all_events(SampledUnit::Sparc, 1, names.map(|name| (name.to_owned(), name)), 16);
}

/// Two processors use the same data. All 32 events occur except virtual coherency (no two addresses map to the same memory) and ECC errors
/// (memory has no faults).
#[test]
fn every_event_of_an_r10000() {
    let names = R10000Event::ALL.iter().map(|event| event.name());
    all_events(SampledUnit::R10000, 2, (0..).map(|number: u32| number.to_string()).zip(names), 30);
}

/// A lackey recording does not say which instructions are branches.
#[test]
fn branches_need_a_recording_that_has_them() {
    for (unit, event) in [
        (SampledUnit::R10000, "decoded_branches"),
        (SampledUnit::R10000, "mispredicted_branches"),
        (SampledUnit::Sparc, "Br_completed"),
        (SampledUnit::Sparc, "Br_taken"),
    ] {
        let first = profile(unit, &program(), event, every(7)).unwrap().first;
        let absence = "the recording does not tell branches from other instructions";
        assert_eq!((first.absence.as_deref(), first.count), (Some(absence), 0), "{event}");
    }
}

/// Of 12,000 instructions, 3,000 load, 1,500 store, and 1,500 do both. Lackey's text does not say that the last 1,500 are atomic.
#[test]
fn instructions_by_what_they_do() {
    let counts = |unit, events: &str| -> Vec<u64> {
        let report = profile(unit, &program(), events, every(100)).unwrap();
        report.events().map(|event| event.count).collect()
    };
    for (unit, events, expected) in [
        (SampledUnit::Sparc, "Instr_cnt,Instr_ld", [12_000, 4_500]),
        (SampledUnit::Sparc, "Instr_st,Atomics", [3_000, 0]),
        (SampledUnit::R10000, "graduated_instructions,graduated_loads", [12_000, 4_500]),
        (SampledUnit::R10000, "Failed store conditionals,Graduated stores", [0, 3_000]),
    ] {
        assert_eq!(counts(unit, events), expected, "{events}");
    }
}

/// Two events take turns on one counter. The other counter counts a third event all the time.
#[test]
fn more_events_than_counters_take_turns() {
    // The program is uniform, so both events are equally frequent in every turn.
    let program = program().repeat(30);
    for (unit, events) in [
        (SampledUnit::Sparc, "Instr_cnt,Instr_ld,Instr_st,DC_miss,CPU_ld_to_PCX"),
        (SampledUnit::R10000, "25,26,18,2"),
    ] {
        let report = profile(unit, &program, events, every(31)).unwrap();
        assert_eq!(report.events().count(), events.split(',').count());
        for event in report.events() {
            let name = &event.event;
            let error = event.count_error.unwrap();
            assert!(error > 0 && error < event.exact_count / 10, "{name}: {error}");
            let apart = event.count.abs_diff(event.exact_count);
            assert!(apart <= 4 * error, "{name}: {apart} is not {error}");
            assert!(event.samples > 100 && event.lost == 0, "{name}: {} samples", event.samples);
            assert!(event.total_variation < 0.3, "{name}");
        }
    }
}

/// Events that either counter can count are spread over both, so no event has to take turns.
#[test]
fn both_counters_are_used() {
    for events in [
        "cycles,issued_loads",
        "cycles,graduated_loads",
        "cycles,graduated_instructions",
        "cycles,cycles",
        "graduated_loads,instructions",
    ] {
        let report = profile(SampledUnit::R10000, &program(), events, every(100)).unwrap();
        for event in report.events() {
            assert_eq!((event.count, event.count_error), (event.exact_count, Some(0)), "{events}");
        }
    }
}

/// Between two timer ticks, there are more samples than the guest's ring can hold.
#[test]
fn samples_that_are_lost_are_counted() {
    let program = crate::fetches((0..100_000).map(|step| 0x1000 + step % 8 * 4));
    for unit in SampledUnit::ALL {
        let report = profile(unit, &program, "instructions", every(1)).unwrap();
        let event = &report.first;
        assert!(event.lost > 0, "{unit:?}");
        assert_eq!(event.samples + event.lost + event.missed, 100_000, "{unit:?}");
        assert_eq!(event.count, 100_000, "the count is right nevertheless");
    }
}

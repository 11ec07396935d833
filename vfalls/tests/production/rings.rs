//! Tests the events that the production image records in its rings while guests run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::rc::Rc;

use hv_core::trace::{Heartbeat, TraceEvent};
use perfctr_service::trace::Get;
use platform::interfaces::Interface;
use simulator::events::kinds::EventKinds;
use simulator::events::layouts::LayoutName;
use simulator::events::rings::{Dump, Rings};
use simulator::events::summary::Summary;
use simulator::events::{StreamEntry, Trace};
use simulator::execute::calls::Call;
use simulator::execute::recorded::{Compared, compare};
use simulator::execute::{Limits, Stop, map};
use simulator::machine::clock::HZ;
use simulator::machine::guests::NamedGuest;
use tests::machine::strand;
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use super::lists::{Entry, GET, HUB_PCR, REPEAT_LIST, SET, core, counted, fast, repeated};
use super::{Booted, Guest, Task, image};

/// Switches on the booted image's event recording. Returns the image's rings, whose address is in one of the image's notes.
fn switched_on(booted: &mut Booted, production: Production) -> Rings {
    let file = image(production);
    let file = elf::parse(&file).unwrap();
    let interfaces = elf::interfaces(&file).unwrap();
    let kinds = elf::event_kinds(&file).unwrap();
    assert_eq!(kinds, EventKinds::default(), "the section describes the kinds");
    assert!(elf::size(&file, ".vfalls_events") > 0);
    let at = interfaces.at(Interface::Events).unwrap();
    let rings = Rings::new(&booted.0, at, Some(LayoutName::Clock27), kinds).unwrap();
    let (address, value) = rings.switch_on();
    booted.0.load(address, &value.to_be_bytes()).unwrap();
    rings
}

/// Returns the list of a CPU under load: calls of every kind, some of which are refused, and
/// repeated calls for a hub that all CPUs use.
fn load(cpu: u64) -> Vec<Entry> {
    vec![
        fast(GET, 2 + cpu % 16, 0),
        fast(SET, 2 + (cpu + 1) % 16, cpu),
        repeated(GET, HUB_PCR + 18 * (cpu % 2), 0),
        fast(SET, 0, cpu << 4),
        fast(GET, 0, 0),
        repeated(SET, HUB_PCR + 2, cpu),
        fast(GET, 1, 0),
        fast(SET, 1, cpu % 4),
        fast(GET, 90 + cpu, 0),
        fast(SET, u64::MAX, cpu),
        fast(0x16, 0, 0),
        fast(1 << 40, 0, 0),
        core(0, 0x205, 1),
        core(3, 0x205, 0),
        core(0, 0x777, 1),
        REPEAT_LIST,
    ]
}

/// Boots two guests with 64 strands in total on two nodes. The second guest has few rights.
fn under_load(production: Production) -> (Booted, Vec<NamedGuest>) {
    let strands: Vec<usize> = (0..32).chain(64..96).collect();
    let (first, second) = strands.split_at(48);
    let guests = [Guest::with_lists(first, "global,htstrand"), Guest::with_lists(second, "strand")];
    let mut booted = Booted::new(production, &guests);
    for (number, guest) in (0..).zip(&guests) {
        for cpu in 0..guest.strands.len() as u64 {
            booted.list(number, cpu, &load(cpu));
        }
    }
    let named = |(number, guest): (usize, &Guest<'_>)| NamedGuest {
        name: format!("guest {number}"),
        config: perfctr_service::GuestConfig::new(
            guest.strands.iter().map(|number| strand(*number)).collect(),
            perfctr_service::Grant::NONE,
        ),
    };
    (booted, guests.iter().enumerate().map(named).collect())
}

/// Executes `instructions` instructions, and reads the rings after every `between` instructions. Returns the calls that were made
/// meanwhile.
fn recorded(
    booted: &mut Booted,
    rings: &mut Rings,
    calls: &Rc<RefCell<Vec<Call>>>,
    (instructions, between): (u64, u64),
) -> Vec<Call> {
    for _ in 0..instructions / between {
        assert_eq!(booted.0.run(Limits::instructions(between)), Stop::Limit);
        rings.read(&booted.0);
    }
    calls.borrow().clone()
}

/// With 64 strands under load, each event is either recorded as the machine saw it, or lost and counted as lost. The test prints the
/// counts.
#[test]
#[ignore = "builds images"]
fn recorded_and_lost_are_what_the_machine_saw() {
    for (production, all, between, loses) in [
        (Production::Shipped, 1 << 24, 1 << 14, false),
        (Production::Shipped, 1 << 26, 1 << 26, true),
        (Production::SmallRings, 1 << 24, 1 << 14, false),
        (Production::SmallRings, 1 << 24, 1 << 21, true),
    ] {
        let (mut booted, guests) = under_load(production);
        let mut rings = switched_on(&mut booted, production);
        let calls = booted.calls();
        let calls = recorded(&mut booted, &mut rings, &calls, (all, between));
        let trace = rings.trace(&booted.0, HZ, Vec::new());
        assert_eq!((trace.streams.len(), trace.missed), (64, 0));
        let unreturned: Vec<_> = booted.0.unreturned().collect();
        let found = compare(&trace.streams, 1, (&calls, &unreturned), &guests).unwrap();
        println!("{production:?}, read after each {between} instructions: {found}");
        let Compared { seen, recorded, lost, others, others_lost, .. } = found;
        assert_eq!(recorded + lost, seen);
        assert_eq!((lost > 0, others, others_lost), (loses, 0, 0), "{found}");
        // The calls cpu_start and cpu_myid belong to another service, so they are not recorded.
        let of_another = calls.iter().filter(|call| [0x10, 0x16].contains(&call.function));
        assert_eq!(found.unrecorded, of_another.count() as u64);
        let kept: usize = trace.events();
        assert_eq!(kept as u64, recorded + found.unreturned);
        assert_eq!(trace.lost(), lost);
        // The comparison must find an event that differs from what the machine saw. The test therefore changes an event, but not one of a
        // stream's last events, because their calls might not have returned yet.
        let mut bent = trace.streams;
        let event = bent[40].entries.iter_mut().rev().skip(2).find_map(|entry| match entry {
            StreamEntry::Event(event) if event.id == Get::ID => Some(event),
            _ => None,
        });
        event.unwrap().payload[2] ^= 1;
        let error = compare(&bent, 1, (&calls, &unreturned), &guests).unwrap_err();
        assert!(error.to_string().contains("but the machine saw"), "{error}");
    }
}

/// Prints the number of instructions of each call with tracing off and with tracing on. Each call is made twice, and only the second one is
/// printed, because an event that begins a packet takes more instructions.
#[test]
#[ignore = "builds images"]
fn what_recording_costs() {
    let calls: BTreeMap<&str, Entry> = [
        ("get of a channel", fast(GET, 3, 0)),
        ("set of a channel", fast(SET, 3, 0x55)),
        ("get of the PCR", fast(GET, 0, 0)),
        ("set of the PCR", fast(SET, 0, 0x55)),
        ("set of the PCR with HT", fast(SET, 0, 0x5d)),
        ("get of a hub", fast(GET, 62, 0)),
        ("set of a hub", fast(SET, 62, 0x55)),
        ("get of L2 control", fast(GET, 1, 0)),
        ("set of L2 control", fast(SET, 1, 2)),
        ("EINVAL", fast(GET, 90, 0)),
        ("ENOACCESS", fast(GET, 7, 0)),
        ("unknown FAST function", fast(5, 0, 0)),
        ("cpu_myid", fast(0x16, 0, 0)),
        ("api_set_version", core(0, 0x205, 1)),
        ("api_get_version", core(3, 0x205, 0)),
    ]
    .into();
    let list: Vec<Entry> = calls.values().flat_map(|entry| [*entry, *entry]).collect();
    let [off, on] = [false, true].map(|traced| {
        let mut booted =
            Booted::new(Production::Shipped, &[Guest::with_lists(&[0], "global,htstrand")]);
        if traced {
            switched_on(&mut booted, Production::Shipped);
        }
        counted(&mut booted, &list)
    });
    for (number, name) in calls.keys().enumerate() {
        println!("{name}: {} off, {} on", off[2 * number + 1], on[2 * number + 1]);
    }
}

/// The command `vfalls events --memory` decodes the latest events from the memory of a stopped
/// machine. Here the machine stops in the middle of a call.
#[test]
#[ignore = "builds images"]
fn a_dump_has_the_last_events() {
    let (mut booted, guests) = under_load(Production::Shipped);
    switched_on(&mut booted, Production::Shipped);
    let calls = booted.calls();
    booted.0.run(Limits::instructions(1 << 26));
    let in_a_call = |booted: &Booted| booted.0.unreturned().any(|call| call.strand == strand(0));
    while !in_a_call(&booted) {
        booted.0.run(Limits::instructions(1));
    }
    let mut bytes = vec![0; (map::HYPERVISOR.end - map::HYPERVISOR.start) as usize];
    booted.0.read(map::HYPERVISOR.start, &mut bytes).unwrap();
    let dump = Dump { first: map::HYPERVISOR.start, bytes: &bytes };
    let trace = dump.rings(Some(LayoutName::Clock27), EventKinds::default()).unwrap().trace(
        &dump,
        HZ,
        Vec::new(),
    );
    let (calls, unreturned) = (calls.borrow(), booted.0.unreturned().collect::<Vec<_>>());
    let found = compare(&trace.streams, 1, (&calls, &unreturned), &guests).unwrap();
    println!("{found}");
    assert!(found.lost > 0 && found.recorded > 64 * 400, "{found}");

    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("dump.bin");
    fs::write(&file, &bytes).unwrap();
    let tool = |arguments: &str| {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_vfalls"));
        tool.current_dir(place.path()).args(arguments.split(' ')).output().unwrap()
    };
    let ended = tool("events --memory dump.bin --layout clock27 --events-out events --json a.json");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let there = fs::read_to_string(place.path().join("a.json")).unwrap();
    assert_eq!(there.trim(), serde_json::to_string_pretty(&Summary::new(&trace)).unwrap());
    let again = simulator::events::ctf::read(&place.path().join("events")).unwrap();
    assert_eq!(again, Trace { layout: LayoutName::Clock27, ..trace });
    let ended = tool("events --memory dump.bin --layout clock19");
    let error = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(error.contains("have layout clock27, expected clock19"), "{error}");
    fs::write(&file, &bytes[..1 << 20]).unwrap();
    let ended = tool("events --memory dump.bin");
    assert_eq!(ended.status.code(), Some(2));
}

/// A strand that is asked for a heartbeat records a heartbeat event, whether it executes a guest or waits. While tracing is off, it records
/// nothing.
#[test]
#[ignore = "builds images"]
fn strands_record_heartbeats() {
    for traced in [true, false] {
        let guests = [Guest::new(Task::Endless, &[3, 4])];
        let mut booted = Booted::new(Production::Shipped, &guests);
        let mut rings = switched_on(&mut booted, Production::Shipped);
        if !traced {
            booted.0.load(rings.switch_on().0, &[0; 8]).unwrap();
        }
        booted.0.run(Limits::instructions(1_000_000));
        let asked = booted.0.now();
        [3, 4].into_iter().for_each(|number| booted.0.heartbeat(strand(number)));
        booted.0.run(Limits::instructions(10_000));
        rings.read(&booted.0);
        let trace = rings.trace(&booted.0, HZ, Vec::new());
        let heartbeats = trace.streams.iter().flat_map(|stream| {
            let beats = stream.events().filter(|event| event.id == Heartbeat::ID);
            beats.map(|event| (stream.strand, event.time - asked < 1000, event.payload.to_vec()))
        });
        let expected: &[_] = match traced {
            true => &[(strand(3), true, vec![3]), (strand(4), true, vec![4])],
            false => &[],
        };
        assert_eq!(heartbeats.collect::<Vec<_>>(), expected);
    }
}

//! Tests the options for an execution's events: `--events-out`, `--observed-out` and `--dump`.

use std::fs;

use vfalls::cmd::boot::elf;

use crate::program::TestDirectory;

/// Returns the last line of a report.
fn last(said: &str) -> &str {
    said.lines().last().unwrap().trim()
}

#[test]
fn what_the_hypervisor_records_is_what_the_machine_sees() {
    let place = TestDirectory::new("boot-recorded");
    let arguments =
        "boot --fast --strands 0,64 --events-out events --observed-out observed --dump dump.bin";
    let said = place.run(arguments).assert_success();
    let compared = last(&said);
    let (recorded, rest) = compared.split_once(" recorded + 0 lost = ").expect(compared);
    let seen = rest.split_once(" that the machine saw").expect(compared).0;
    assert_eq!(recorded, seen);

    // Only the number of calls in each trace is compared. The other fields can differ: the hypervisor records an event a little before the
    // guest continues, and a dump does not contain the guests' names.
    let calls = |directory: &str| {
        place.run(&format!("events {directory} --json calls.json --force")).assert_success();
        let json = place.json("calls.json");
        let calls = json["calls"].as_array().unwrap();
        let own = calls.iter().filter(|call| call["call"] != "fast");
        let counts = own.map(|call| ["call", "object", "by_status"].map(|name| call[name].clone()));
        counts.collect::<Vec<_>>()
    };
    assert_eq!(calls("events"), calls("observed"));

    place
        .run("events --memory dump.bin --layout clock27 --events-out dumped --json a.json")
        .assert_success();
    assert_eq!(calls("dumped"), calls("events"), "the rings of a short run have all events");
    place
        .run("events --memory dump.bin --layout clock19")
        .assert_failure("dump.bin: the rings at 0x");
    place
        .run("events --memory dump.bin --at 0x100004")
        .assert_failure("'0x100004', expected a multiple of 8");
    place.file("short.bin", vec![0; 4096]);
    place.run("events --memory short.bin").assert_failure("short.bin: found no event rings");
    place.run("events --layouts --events-out other").assert_failure("expected --memory FILE");
}

/// A hypervisor without rings boots like any other hypervisor. The machine still sees the guest's
/// calls.
#[test]
fn a_hypervisor_without_rings() {
    let place = TestDirectory::new("boot-unrecorded");
    // The image is `ba .; nop`.
    let image = elf::program(0x10_0000, &[0x1080_0000, 0x0100_0000]);
    place.file("mine.elf", image);
    let ended = place.run(
        "boot --fast --hypervisor mine.elf --limit 1000 --events-out events --observed-out seen",
    );
    assert!(
        ended.stderr.contains("mine.elf records no events; --observed-out"),
        "{}",
        ended.stderr
    );
    assert!(!place.path().join("events").exists());
    assert!(fs::exists(place.path().join("seen/metadata")).unwrap());
}

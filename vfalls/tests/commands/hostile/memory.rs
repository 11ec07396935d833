//! The budget of memory.

use crate::program::Place;

#[test]
fn a_command_that_takes_too_much_memory_ends() {
    let place = Place::new("hostile-memory");
    for line in [
        "stat --memory-limit 12 --bundled --details --json j.json --html h.html",
        "report --memory-limit 12 --bundled --html h.html",
        "boot --memory-limit 12 --json j.json",
    ] {
        let ended = place.run(line);
        assert_eq!(
            (ended.status, ended.stderr.lines().last().unwrap_or_default()),
            (2, "error: takes more than 12 MB of memory; --memory-limit allows more"),
            "{line}"
        );
        let left = std::fs::read_dir(place.path()).unwrap().count();
        assert_eq!(left, 0, "{line}");
    }
    place.run("regs --memory-limit 100").well();
    place.run("regs --memory-limit 0").badly("0 is not in 1..=16777216");
}

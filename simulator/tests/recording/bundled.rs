//! The recording that comes with the program, and its symbols.

use std::sync::LazyLock;

use simulator::recording::{Kind, Reference, bundled};

use crate::blocks;

static BUNDLED: LazyLock<Vec<Reference>> = LazyLock::new(|| blocks(bundled()).unwrap().concat());

#[test]
fn the_bundled_recording_is_real() {
    let references = &*BUNDLED;
    assert_eq!(references.len(), 2_873_811);
    let kinds = || references.iter().map(|reference| reference.kind);
    assert_eq!(kinds().filter(|kind| kind.is_fetch()).count(), 2_315_866);
    let count = |kind| kinds().filter(|other| *other == kind).count();
    let data = [Kind::Load, Kind::Store, Kind::Modify].map(count);
    assert_eq!(data, [313_962, 235_733, 8_250]);
    // More than the 65536 lines of 64 bytes that a 4 MB cache holds.
    let mut lines: Vec<u64> = references
        .iter()
        .map(|reference| reference.address / 64)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    assert!(lines.len() > 70_000, "{}", lines.len());
}

#[test]
fn the_symbols_are_those_of_the_recording() {
    let symbols: Vec<(u64, u64, &str)> = include_str!("../../bundled/workload.symbols")
        .lines()
        .map(|line| {
            let mut fields = line.splitn(3, ' ');
            let mut number = || u64::from_str_radix(fields.next().unwrap(), 16).unwrap();
            (number(), number(), fields.next().unwrap())
        })
        .collect();
    assert!(
        symbols
            .windows(2)
            .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
    );
    let mut fetches = vec![0u64; symbols.len()];
    let (mut all, mut named) = (0u64, 0u64);
    for reference in BUNDLED.iter().filter(|reference| reference.kind.is_fetch()) {
        all += 1;
        let Some(at) = symbols
            .partition_point(|symbol| symbol.0 <= reference.address)
            .checked_sub(1)
        else {
            continue;
        };
        if reference.address < symbols[at].0 + symbols[at].1 {
            fetches[at] += 1;
            named += 1;
        }
    }
    assert!(fetches.iter().all(|&count| count > 0));
    assert!(named * 1000 > all * 999, "{named} of {all}");
    let hottest = (0..symbols.len()).max_by_key(|&at| fetches[at]).unwrap();
    assert_eq!(symbols[hottest].2, "workload::build_index");
    assert_eq!(
        symbols
            .iter()
            .filter(|symbol| symbol.2.starts_with("workload::"))
            .count(),
        12
    );
}

//! The guest in Rust that says what it finds: see `tests/images/kernel`.

use std::fs;

use simulator::execution::mailbox::GuestState;
use simulator::memory::Config;
use xtask::qemu::build::{self, Production};
use xtask::qemu::toolchain::Toolchain;

use super::{Booted, Guest, MEMORY, REAL};

/// Two guests find their own CPUs and memory in their machine descriptions, and nothing of each other. Each CPU counts exactly what a
/// loop executes, and has as many samples in each of four loops as theory says; each channel counts exactly the lines of a stream.
#[test]
#[ignore = "builds images"]
fn guests_find_themselves_and_count_what_they_do() {
    let program = fs::read(build::kernel(&Toolchain::find().unwrap()).unwrap()).unwrap();
    let guest = |strands, rights| Guest {
        program: &program,
        words: None,
        strands,
        rights,
        real: REAL,
    };
    let strands: [&[usize]; 2] = [&[2, 3, 64], &[8, 65]];
    let guests = [
        guest(strands[0], "global,strand"),
        guest(strands[1], "strand"),
    ];
    let mut booted = Booted::with(Production::Shipped, &guests, Some(Config::default()));
    booted.end();
    let consoles = booted.consoles();
    // The first guest alone may read the memory channels. Its second stream has 8192 lines, of which every eighth is in each channel of
    // node 0.
    let reads = [
        "8192 lines: reads 1024 1024",
        "no right to memory channels: NoAccess",
    ];
    for (number, (strands, reads)) in strands.into_iter().zip(reads).enumerate() {
        assert_eq!(booted.0.guest(number), GuestState::Exited(0));
        let mut lines = consoles[number].lines();
        let mut next = || lines.next().unwrap_or_default();
        let first = next();
        assert!(
            first.starts_with("description: ")
                && first.ends_with(" bytes, refused without room: true"),
            "{first}"
        );
        assert_eq!(next(), "root:");
        assert_eq!(next(), format!("platform: max-cpus {}", strands.len()));
        assert_eq!(next(), "memory:");
        assert_eq!(next(), format!("mblock: base {REAL} size {MEMORY}"));
        assert_eq!(next(), "cpus:");
        for (cpu, strand) in strands.iter().enumerate() {
            assert_eq!(next(), format!("cpu: id {cpu} pid {strand}"));
        }
        for cpu in 0..strands.len() {
            judge(cpu, next());
        }
        assert_eq!(next(), reads);
        assert_eq!(lines.next(), None);
    }
}

/// Compares what a CPU says with what its program does. Rounds of 240 atomic instructions, 16, 32, 64 and 128 in four loops, are sampled
/// with a period of 240: each time at the same place. With periods that are equally likely from 120 to 360, every place of a round is
/// equally likely, whatever the last was: of n samples those in a loop are distributed binomially, with its share of the round. Of 20 such
/// numbers one is further than 4 standard deviations from its mean once in 800 programs.
fn judge(cpu: usize, line: &str) {
    let numbers: Vec<f64> = (line.split(|character: char| !character.is_ascii_digit()))
        .filter_map(|part| part.parse().ok())
        .collect();
    // 2000 times of a loop, of an atomic instruction and three others.
    assert_eq!(numbers[..3], [cpu as f64, 2000.0, 8000.0], "{line}");
    let (fixed, random) = numbers[3..].split_at(5);
    assert_eq!(fixed.iter().copied().fold(0.0, f64::max), 1000.0, "{line}");
    assert_eq!(fixed.iter().sum::<f64>(), 1000.0, "{line}");
    let n: f64 = random.iter().sum();
    // The mean period is 240, of 240,000 atomic instructions; its standard deviation is the 240 / sqrt(12) of what is equally likely.
    let deviation = (1000.0_f64 / 12.0).sqrt();
    assert!((n - 1000.0).abs() < 4.0 * deviation, "{line}");
    for (found, times) in random.iter().zip([16.0, 32.0, 64.0, 128.0, 0.0]) {
        let share = times / 240.0;
        let deviation = (n * share * (1.0 - share)).sqrt();
        assert!((found - n * share).abs() <= 4.0 * deviation, "{line}");
    }
}

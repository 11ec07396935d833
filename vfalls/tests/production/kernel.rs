//! Boots two guests with the Rust kernel of `tests/images/kernel`, which prints what it finds.

use std::fs;

use simulator::execute::mailbox::GuestState;
use simulator::memory::Config;
use xtask::qemu::build::{self, Production};
use xtask::qemu::toolchain::Toolchain;

use super::{Booted, Guest, MEMORY, REAL};

/// Two guests find only their own CPUs and memory in their machine descriptions. Each CPU counts exactly the instructions of a loop. Each
/// CPU also samples four loops, and the number of samples in each loop agrees with theory. Each channel counts exactly the lines of a
/// stream.
#[test]
#[ignore = "builds images"]
fn guests_find_themselves_and_count_what_they_do() {
    let program = fs::read(build::kernel(&Toolchain::find().unwrap()).unwrap()).unwrap();
    let guest =
        |strands, rights| Guest { program: &program, words: None, strands, rights, real: REAL };
    let strands: [&[usize]; 2] = [&[2, 3, 64], &[8, 65]];
    let guests = [guest(strands[0], "global,strand"), guest(strands[1], "strand")];
    let mut booted = Booted::with(Production::Shipped, &guests, Some(Config::default()));
    booted.end();
    let consoles = booted.consoles();
    // Only the first guest may read the memory channels. Its second stream has 8192 cache lines. Each channel of node 0 serves an eighth of
    // them.
    let reads = ["8192 lines: reads 1024 1024", "no right to memory channels: NoAccess"];
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

/// Compares a CPU's output with what its program does. The CPU repeats a round of 240 atomic instructions: 16, 32, 64 and 128 in four
/// loops. A fixed sampling period of 240 always samples the same instruction. With random periods from 120 to 360, every instruction of a
/// round is sampled with the same probability, independently of the previous sample. The number of samples in a loop therefore has a
/// binomial distribution, whose probability is the loop's share of the round. With a correct program, the probability that any of 20 such
/// numbers is more than 4 standard deviations from its mean is 1 in 800.
fn judge(cpu: usize, line: &str) {
    let numbers: Vec<f64> = (line.split(|character: char| !character.is_ascii_digit()))
        .filter_map(|part| part.parse().ok())
        .collect();
    // The counted loop has one atomic instruction and three others, and executes 2000 times.
    assert_eq!(numbers[..3], [cpu as f64, 2000.0, 8000.0], "{line}");
    let (fixed, random) = numbers[3..].split_at(5);
    assert_eq!(fixed.iter().copied().fold(0.0, f64::max), 1000.0, "{line}");
    assert_eq!(fixed.iter().sum::<f64>(), 1000.0, "{line}");
    let n: f64 = random.iter().sum();
    // With a mean period of 240, the 240,000 atomic instructions give about 1000 samples. The standard deviation of a period that is
    // uniform from 120 to 360 is 240 / sqrt(12), that is, 1 / sqrt(12) times the mean. The standard deviation of the number of samples is
    // therefore sqrt(1000) / sqrt(12).
    let deviation = (1000.0_f64 / 12.0).sqrt();
    assert!((n - 1000.0).abs() < 4.0 * deviation, "{line}");
    for (found, times) in random.iter().zip([16.0, 32.0, 64.0, 128.0, 0.0]) {
        let share = times / 240.0;
        let deviation = (n * share * (1.0 - share)).sqrt();
        assert!((found - n * share).abs() <= 4.0 * deviation, "{line}");
    }
}

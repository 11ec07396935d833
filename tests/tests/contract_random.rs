//! Compares long random sequences of calls, resets, faults and transfers with the reference model.
//! The seeds are constant, so every run is the same.

use tests::hypercalls::{self, Coverage};
use tests::random::Random;

const WORLDS: u64 = 250;
const STEPS: usize = 1500;

/// Generates the machine, guests and steps as an input for [`hypercalls`].
fn input(random: &mut Random) -> Vec<u8> {
    let mut bytes = random.next_u64().to_le_bytes().to_vec();
    // Disables few channels.
    bytes[1] &= bytes[2] & bytes[3];
    for _ in 0..STEPS {
        step(random, &mut bytes);
    }
    // These bytes end the last step, and make all strands acknowledge.
    bytes.extend([223; 16]);
    bytes
}

/// Adds a step. The step is usually a call that is valid or nearly valid.
fn step(random: &mut Random, bytes: &mut Vec<u8>) {
    let any = random.next_u64().to_le_bytes();
    let [strand, low, ..] = any;
    let id = match random.below(12) {
        0 => 0,
        1 | 2 => 1,
        3..=5 => 2 + low % 16,
        6..=10 => 18 + low % 72,
        _ => low,
    };
    match random.below(100) {
        0..38 => bytes.extend([0, strand, id]),
        38..56 => bytes.extend([64, strand, id, random.one_of(&[0, 2]), low]),
        56..72 => {
            bytes.extend([64, strand, id, 3]);
            bytes.extend(random.next_u64().to_le_bytes());
        }
        72..84 => {
            let group = random.one_of(&[0, 0, 0, 0, 0, 0, 3, 4, 6]);
            let (major, minor) = (random.one_of(&[0, 1, 1, 1, 1, 1, 1, 1, 2]), low % 3);
            bytes.extend([128, strand, group, 0, major, 0, minor, low >> 6]);
        }
        // Makes one strand, or all strands, acknowledge.
        84..90 => bytes.extend([210, strand]),
        90..92 => bytes.push(222),
        // Makes a hub busy for some calls.
        92..95 => bytes.extend([242, strand, low % 4, id, low >> 7]),
        _ => bytes.extend(any),
    }
}

#[test]
fn random_sequences() {
    let mut sum = Coverage::default();
    for seed in 0..WORLDS {
        let reached = hypercalls::check(&input(&mut Random(seed)));
        for (sum, calls) in sum.statuses.iter_mut().zip(reached.statuses) {
            *sum += calls;
        }
        sum.pending += reached.pending;
        sum.changes += reached.changes;
        sum.broken += reached.broken;
    }
    tests::print_line(format_args!("random_sequences: {sum:?}"));
    assert!(sum.statuses.iter().sum::<u32>() >= 300_000 && sum.pending >= 50_000);
    assert!(sum.changes >= 3_000 && sum.broken >= 800 && sum.statuses[9] >= 500);
    // The sequences must reach each of these statuses often.
    for status in [0, 6, 7, 10, 13] {
        assert!(sum.statuses[status] >= 10_000, "status {status}: {sum:?}");
    }
}

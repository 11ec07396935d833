//! Mutants, and a sample of them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// One change of the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mutant {
    /// The name that cargo-mutants gives it: `hv-core/src/caller.rs:26:9: replace GuestId::index -> usize with 1`.
    pub(crate) name: String,
    /// The file: `hv-core/src/caller.rs`.
    pub(crate) file: String,
    /// The package: `hv-core`.
    pub(crate) package: String,
}

impl Mutant {
    /// Returns the change without its place: `replace GuestId::index -> usize with 1`. Edits elsewhere in the file do not
    /// affect it. Several mutants of a file may have the same.
    #[must_use]
    pub(crate) fn change(&self) -> &str {
        // The place ends at the first colon that a space follows.
        self.name
            .split_once(": ")
            .map_or(&*self.name, |(_, change)| change)
    }

    /// Returns a regular expression that matches only the name.
    #[must_use]
    pub(crate) fn pattern(&self) -> String {
        let mut pattern = String::from("^");
        for character in self.name.chars() {
            if r"\.+*?()|[]{}^$".contains(character) {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern + "$"
    }
}

/// Draws `count` of the mutants, or all if there are fewer, and keeps their order. The sample depends on the seed, the files
/// and the changes, but not on line numbers: mutants of code that moves stay in the sample.
#[must_use]
pub(crate) fn sample(mutants: &[Mutant], seed: u64, count: usize) -> Vec<Mutant> {
    let mut alike = HashMap::new();
    let mut drawn: Vec<(u64, usize)> = mutants
        .iter()
        .enumerate()
        .map(|(index, mutant)| {
            let number = alike.entry((&mutant.file, mutant.change())).or_insert(0u64);
            *number += 1;
            (draw(seed, mutant, *number), index)
        })
        .collect();
    drawn.sort_unstable();
    drawn.truncate(count);
    drawn.sort_unstable_by_key(|(_, index)| *index);
    drawn
        .into_iter()
        .map(|(_, index)| mutants[index].clone())
        .collect()
}

/// Returns the mutant's number in the draw. FNV-1a does not change with versions of the standard library, as its hash may;
/// the last steps of MurmurHash3 let the whole seed affect the high bits.
fn draw(seed: u64, mutant: &Mutant, number: u64) -> u64 {
    let bytes = mutant
        .file
        .bytes()
        .chain([0])
        .chain(mutant.change().bytes());
    let all = bytes.chain(number.to_be_bytes()).chain(seed.to_be_bytes());
    let hash = all.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn mutant(name: &str) -> Mutant {
        Mutant {
            name: name.to_owned(),
            file: name.split(':').next().unwrap().to_owned(),
            package: name.split('/').next().unwrap().to_owned(),
        }
    }

    #[test]
    fn a_change_has_no_line_number() {
        let mutant = mutant("a/src/b.rs:26:9: replace <T as A::B>::c -> u8 with 1");
        assert_eq!(mutant.change(), "replace <T as A::B>::c -> u8 with 1");
    }

    #[test]
    fn a_pattern_is_the_name_alone() {
        let mutant = mutant("a/b.rs:1:2: replace |= with &= in X<'a>::y -> Option<[u8; 2]> (*z)");
        assert_eq!(
            mutant.pattern(),
            r"^a/b\.rs:1:2: replace \|= with &= in X<'a>::y -> Option<\[u8; 2\]> \(\*z\)$"
        );
    }

    /// A hundred mutants, of which ten each share a change, and whose lines begin at `line`.
    fn hundred(line: usize) -> Vec<Mutant> {
        (0..100)
            .map(|n| mutant(&format!("a/b.rs:{}:1: change {}", line + n, n / 10)))
            .collect()
    }

    fn indices(all: &[Mutant], chosen: &[Mutant]) -> Vec<usize> {
        chosen
            .iter()
            .map(|one| all.iter().position(|other| one == other).unwrap())
            .collect()
    }

    #[test]
    fn a_sample_has_so_many_in_their_order() {
        let all = hundred(1);
        for count in [0, 1, 40, 99, 100] {
            let chosen = indices(&all, &sample(&all, 1, count));
            assert_eq!(chosen.len(), count);
            assert!(chosen.is_sorted_by(|a, b| a < b), "{chosen:?}");
        }
        assert_eq!(sample(&all, 1, 1000), all);
    }

    #[test]
    fn a_sample_depends_on_the_seed_and_not_on_lines() {
        let (all, moved) = (hundred(1), hundred(77));
        let chosen = |all: &[Mutant], seed| indices(all, &sample(all, seed, 40));
        assert_eq!(chosen(&all, 1), chosen(&moved, 1));
        let seeds: Vec<_> = [1, 2, 1 << 40, u64::MAX]
            .map(|seed| chosen(&all, seed))
            .into();
        for (index, one) in seeds.iter().enumerate() {
            assert!(!seeds[..index].contains(one), "seed {index}");
            // Every tenth of the list is drawn from.
            assert!((0..10).all(|tenth| one.iter().any(|index| index / 10 == tenth)));
        }
    }

    #[test]
    fn a_larger_sample_contains_a_smaller() {
        let all = hundred(1);
        let (large, small) = (sample(&all, 3, 60), sample(&all, 3, 20));
        assert!(small.iter().all(|one| large.contains(one)));
    }
}

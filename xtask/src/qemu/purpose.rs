//! The purpose of each instruction of a call on the leaf path.

use std::collections::BTreeMap;

use super::report::Report;
use crate::table::Table;

/// The calls, by the names of their counts.
const CALLS: [&str; 6] = [
    "get_dram",
    "set_dram",
    "get_pcr",
    "set_pcr",
    "get_zambezi",
    "set_zambezi",
];

/// The version of LLVM that the table holds for. Another version compiles the same Rust to other instructions.
const LLVM: &str = "22";

/// Purposes, and the number of instructions for each of them in each of [`CALLS`].
const TABLE: [(&str, [u64; CALLS.len()]); 16] = [
    ("PSTATE and GL of the hypervisor", [2, 2, 2, 2, 2, 2]),
    (
        "the strand's block, from the scratchpad",
        [2, 2, 2, 2, 2, 2],
    ),
    ("which function, and its number back", [3, 6, 3, 6, 3, 6]),
    ("which kind of register", [3, 3, 1, 1, 6, 6]),
    ("%o7 kept, and back", [2, 2, 2, 2, 2, 2]),
    ("%o4, for the context, kept and back", [2, 2, 2, 2, 2, 2]),
    ("%o0 and %o1 kept, for a refusal", [2, 2, 0, 2, 2, 2]),
    ("%o2 and %o3 kept, and back", [0, 0, 0, 0, 0, 4]),
    (
        "the context, and into Rust and out of it",
        [3, 3, 3, 3, 3, 3],
    ),
    ("what the guest may do", [6, 6, 5, 7, 8, 8]),
    ("the hub, taken and given back", [0, 0, 0, 0, 16, 16]),
    ("the address", [3, 3, 0, 0, 3, 3]),
    ("the bits that may be written", [0, 3, 0, 3, 0, 3]),
    ("the register", [1, 1, 1, 1, 1, 1]),
    ("the count of calls", [4, 4, 4, 4, 4, 4]),
    ("the verdict, and done", [3, 3, 2, 2, 4, 4]),
];

/// Returns the table and a check that its sums are what was counted; or, for code of another LLVM, a line that says so.
#[must_use]
pub fn lines(counted: &BTreeMap<String, u64>, llvm: &str) -> String {
    let mut table = Table::new(&format!("instructions|>{}", CALLS.join("|>")));
    for (what, counts) in TABLE {
        table.row([what.to_owned()].into_iter().chain(cells(counts)));
    }
    table.row(["all".to_owned()].into_iter().chain(cells(sums())));
    let name = "what each instruction is for adds up to what was counted";
    if llvm.split('.').next() != Some(LLVM) {
        return format!(
            "(what each instruction is for is known of code by LLVM {LLVM}, not {llvm})\n"
        );
    }
    // A machine without hubs counts no calls for them.
    let wrong = CALLS.iter().zip(sums()).find_map(|(call, sum)| {
        let count = *counted.get(*call)?;
        (count != sum).then(|| format!("{call} takes {count}, and {sum} are told"))
    });
    format!("{table}{}", Report::line(name, wrong.as_deref()))
}

fn cells(counts: [u64; CALLS.len()]) -> impl Iterator<Item = String> {
    counts.into_iter().map(|count| match count {
        0 => "-".into(),
        count => count.to_string(),
    })
}

fn sums() -> [u64; CALLS.len()] {
    let mut sums = [0; CALLS.len()];
    for (_, counts) in TABLE {
        sums.iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(get_dram: u64) -> BTreeMap<String, u64> {
        BTreeMap::from([("get_dram".into(), get_dram), ("refused".into(), 48)])
    }

    #[test]
    fn adds_up_or_not() {
        let lines = |counts| lines(&counts, "22.1.0");
        assert!(lines(counted(36)).ends_with("was counted: passed\n"));
        assert!(lines(counted(37)).ends_with("FAILED, get_dram takes 37, and 36 are told\n"));
    }

    #[test]
    fn says_of_which_compiler_it_knows() {
        let lines = lines(&counted(40), "23.0");
        assert_eq!(
            lines,
            "(what each instruction is for is known of code by LLVM 22, not 23.0)\n"
        );
    }
}

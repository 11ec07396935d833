//! The purpose of each instruction of a call on the fast path.

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
const TABLE: [(&str, [u64; CALLS.len()]); 17] = [
    (
        "switch to the hypervisor's PSTATE and GL",
        [2, 2, 2, 2, 2, 2],
    ),
    (
        "load the strand's block from the scratchpad",
        [2, 2, 2, 2, 2, 2],
    ),
    ("compare the function, restore %o5", [3, 6, 3, 6, 3, 6]),
    ("compare the kind of register", [3, 3, 1, 1, 6, 6]),
    ("save and restore %o7", [2, 2, 2, 2, 2, 2]),
    (
        "save and restore %o4, which holds the context",
        [2, 2, 2, 2, 2, 2],
    ),
    ("save %o0 and %o1 for a refusal", [2, 2, 0, 2, 2, 2]),
    ("save and restore %o2", [0, 0, 0, 0, 0, 2]),
    ("find the context, enter and leave Rust", [3, 3, 3, 3, 3, 6]),
    ("check what the guest may use", [6, 6, 5, 7, 8, 8]),
    ("take and release the hub", [0, 0, 0, 0, 15, 15]),
    ("compute the address", [3, 3, 0, 0, 3, 3]),
    ("mask the value", [0, 3, 0, 3, 0, 3]),
    ("access the register", [1, 1, 1, 1, 1, 1]),
    ("wait until the store is complete", [0, 0, 0, 0, 0, 1]),
    ("count the call", [4, 4, 4, 4, 4, 4]),
    ("set the status, done", [3, 3, 2, 2, 4, 4]),
];

/// Returns the table and a check that its sums equal the counts, or, if another LLVM compiled the code, a line that says so.
#[must_use]
pub fn lines(counted: &BTreeMap<String, u64>, llvm: &str) -> String {
    let mut table = Table::new(&format!("instructions|>{}", CALLS.join("|>")));
    for (what, counts) in TABLE {
        table.row([what.to_owned()].into_iter().chain(cells(counts)));
    }
    table.row(["all".to_owned()].into_iter().chain(cells(sums())));
    let name = "purposes of instructions add up to the count";
    if llvm.split('.').next() != Some(LLVM) {
        return format!("(purposes of instructions are known for LLVM {LLVM}, not for {llvm})\n");
    }
    // A machine without hubs counts no calls for them.
    let wrong = CALLS.iter().zip(sums()).find_map(|(call, sum)| {
        let count = *counted.get(*call)?;
        (count != sum).then(|| format!("{call} takes {count}, the table has {sum}"))
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
        assert!(lines(counted(36)).ends_with("up to the count: passed\n"));
        assert!(lines(counted(37)).ends_with("FAILED, get_dram takes 37, the table has 36\n"));
    }

    #[test]
    fn another_compiler_is_named() {
        let lines = lines(&counted(40), "23.0");
        assert_eq!(
            lines,
            "(purposes of instructions are known for LLVM 22, not for 23.0)\n"
        );
    }
}

//! The purpose of each instruction of a call on the fast path, as the comments in its source say it.

use std::collections::BTreeMap;

use super::report::Report;
use crate::table::Table;

const TRAP_TABLE: &str = include_str!("../../../platform/src/sparc64/table.rs");
const FAST_PATH: &str = include_str!("../../../perfctr-service/src/sparc64/fast_path.rs");

/// The calls, by the names of their counts, and the labels that each of them branches to.
const CALLS: [(&str, &[&str]); 6] = [
    ("get_dram", &["perfctr_get"]),
    ("set_dram", &["perfctr_not_get"]),
    ("get_pcr", &["perfctr_get", "perfctr_get_pcr"]),
    ("set_pcr", &["perfctr_not_get", "perfctr_set_pcr"]),
    ("get_zambezi", &["perfctr_get", "perfctr_get_hub"]),
    ("set_zambezi", &["perfctr_not_get", "perfctr_set_hub"]),
];

/// The words for purposes in the source, and what they stand for.
const PURPOSES: [(&str, &str); 12] = [
    ("state", "switch to the hypervisor's PSTATE and GL"),
    ("block", "load the strand's block from the scratchpad"),
    ("function", "compare the function"),
    ("kind", "compare the kind of register"),
    ("rights", "check what the guest may use"),
    ("hub", "take and release the hub"),
    ("address", "look up the address"),
    ("mask", "mask the value"),
    ("access", "access the register"),
    ("wait", "wait until the store is complete"),
    ("count", "count the call"),
    ("return", "set the status, done"),
];

/// A line of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Label(&'static str),
    /// An instruction, and the word for its purpose.
    Instruction(&'static str, &'static str),
}

impl Line {
    /// Returns what is in a line, if it is a label or an instruction with a purpose.
    fn new(line: &'static str) -> Option<Self> {
        let line = line.trim().trim_end_matches(',').trim_matches('"').trim();
        let (code, comment) = line
            .split_once(" ! ")
            .or_else(|| line.split_once(" // "))
            .unwrap_or((line, ""));
        let code = code.trim();
        if let Some(label) = code.strip_suffix(':') {
            return Some(Self::Label(label));
        }
        let word = comment.split(' ').next().unwrap_or_default();
        let known = PURPOSES.iter().any(|(purpose, _)| *purpose == word);
        known.then_some(Self::Instruction(code, word))
    }
}

/// Returns the source, from the trap on.
fn source() -> Vec<Line> {
    let entry = TRAP_TABLE
        .lines()
        .skip_while(|line| !line.contains("! 0x180"))
        .take_while(|line| !line.contains("$entry"));
    let rest = FAST_PATH
        .lines()
        .skip_while(|line| !line.contains("entry: {"));
    entry.chain(rest).filter_map(Line::new).collect()
}

/// Returns the purposes of the instructions of a call that branches to these labels.
fn purposes(source: &[Line], labels: &[&'static str]) -> Vec<&'static str> {
    let mut labels = labels.iter().peekable();
    let mut purposes = Vec::new();
    let mut at = 0;
    while let Some(line) = source.get(at) {
        at += 1;
        let Line::Instruction(code, purpose) = line else {
            continue;
        };
        purposes.push(*purpose);
        if *code == "done" {
            break;
        }
        let operand = code.rsplit(' ').next();
        if let Some(label) = labels.next_if(|label| operand == Some(**label)) {
            // What is annulled is not executed.
            if let (false, Some(Line::Instruction(_, slot))) =
                (code.starts_with("ba,a"), source.get(at))
            {
                purposes.push(*slot);
            }
            let label = source.iter().position(|line| *line == Line::Label(label));
            at = label.unwrap_or(source.len());
        }
    }
    purposes
}

/// Returns a table and a check that its sums equal the counts.
#[must_use]
pub fn lines(counted: &BTreeMap<String, u64>) -> String {
    let source = source();
    let calls = CALLS.map(|(_, labels)| purposes(&source, labels));
    let names = CALLS.map(|(name, _)| name).join("|>");
    let mut table = Table::new(&format!("instructions|>{names}"));
    for (word, what) in PURPOSES {
        let of_call = |call: &Vec<&str>| call.iter().filter(|purpose| **purpose == word).count();
        table.row(
            [what.to_owned()]
                .into_iter()
                .chain(cells(calls.each_ref().map(of_call))),
        );
    }
    let sums = calls.each_ref().map(Vec::len);
    table.row(["all".to_owned()].into_iter().chain(cells(sums)));
    // A machine without hubs counts no calls for them.
    let wrong = CALLS.iter().zip(sums).find_map(|((call, _), sum)| {
        let count = *counted.get(*call)?;
        (count != sum as u64).then(|| format!("{call} takes {count}, the table has {sum}"))
    });
    let name = "purposes of instructions add up to the count";
    format!("{table}{}", Report::line(name, wrong.as_deref()))
}

fn cells(counts: [usize; CALLS.len()]) -> impl Iterator<Item = String> {
    counts.into_iter().map(|count| match count {
        0 => "-".into(),
        count => count.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(get_dram: u64) -> BTreeMap<String, u64> {
        BTreeMap::from([("get_dram".into(), get_dram), ("refused".into(), 48)])
    }

    #[test]
    fn adds_up_or_not() {
        let lines = |get_dram| lines(&counted(get_dram));
        assert!(lines(23).ends_with("up to the count: passed\n"));
        assert!(lines(24).ends_with("FAILED, get_dram takes 24, the table has 23\n"));
    }

    #[test]
    fn lines_of_the_source() {
        let instruction = |code, purpose| Some(Line::Instruction(code, purpose));
        for (line, expected) in [
            ("    perfctr_get:", Some(Line::Label("perfctr_get"))),
            (
                "  perfctr_set_pcr:      ! sets of HT take the slow path",
                Some(Line::Label("perfctr_set_pcr")),
            ),
            (
                "     clr %o0       ! return (EOK)",
                instruction("clr %o0", "return"),
            ),
            (
                "   \"xor %o5, {GET}, %g2   ! function\",",
                instruction("xor %o5, {GET}, %g2", "function"),
            ),
            (
                "   $crate::read!(), // access",
                instruction("$crate::read!(),", "access"),
            ),
            ("   ldub [%g4], %g4     ! of something else", None),
            ("   .globl perfctr_get", None),
        ] {
            assert_eq!(Line::new(line), expected, "{line}");
        }
    }

    #[test]
    fn a_call_executes_what_it_branches_to() {
        let source: Vec<_> = [
            "brz %o0, there ! kind",
            " ldx [%g5], %g4 ! rights",
            "ba,a here ! function",
            "there:",
            "clr %o0 ! return",
            "done ! return",
            "here:",
            "stx %g4, [%g3] ! access",
            "done ! return",
        ]
        .into_iter()
        .filter_map(Line::new)
        .collect();
        let there = ["kind", "rights", "return", "return"];
        assert_eq!(purposes(&source, &["there"]), there);
        let here = ["kind", "rights", "function", "access", "return"];
        assert_eq!(purposes(&source, &["here"]), here);
    }
}

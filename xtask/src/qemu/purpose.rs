//! Shows what each instruction of a call is for, from comments in the source. All instructions of Rust code share one row of the table.

use std::array;
use std::collections::BTreeMap;

use super::report::Report;
use vfalls::table;

const TRAP_TABLE: &str = include_str!("../../../platform/src/sparc64/table.rs");
const FAST_PATH: &str = include_str!("../../../perfctr-service/src/sparc64/fast_path.rs");
const SLOW_PATH: &str = include_str!("../../../platform/src/sparc64/general.rs");

/// A call: the name of its count, the comment at its trap table entry, and the labels to which it branches, in order of execution.
type Call = (&'static str, &'static str, &'static [&'static str]);

const CALLS: [Call; 10] = [
    ("get_dram", FAST, &["perfctr_get"]),
    ("set_dram", FAST, &["perfctr_not_get", "perfctr_set"]),
    ("get_pcr", FAST, &["perfctr_get", "perfctr_get_pcr"]),
    ("set_pcr", FAST, &["perfctr_not_get", "perfctr_set", "perfctr_set_pcr"]),
    ("get_zambezi", FAST, &["perfctr_get", "perfctr_get_hub"]),
    ("set_zambezi", FAST, &["perfctr_not_get", "perfctr_set", "perfctr_set_hub"]),
    ("unknown_fast", FAST, &["perfctr_not_get"]),
    ("get_version", CORE, &["sun4v_core"]),
    ("set_version", CORE, &["sun4v_core"]),
    ("set_version_negotiated", CORE, &["sun4v_core", "sun4v_kept"]),
];

const FAST: &str = "! 0x180";
const CORE: &str = "! 0x1ff";

/// The words for purposes in the source, and their meanings.
const PURPOSES: [(&str, &str); 16] = [
    ("state", "switch to the hypervisor's PSTATE and GL"),
    ("block", "load the strand's block from the scratchpad"),
    ("function", "compare the function"),
    ("kind", "compare the kind of register"),
    ("rights", "check what the guest may use"),
    ("hub", "take and release the hub"),
    ("address", "look up the address"),
    ("mask", "mask the value"),
    ("access", "access the register"),
    ("wait", "wait until stores are complete"),
    ("count", "count the call"),
    ("traced", "ask whether calls are traced"),
    ("keep", "keep and restore the guest's registers"),
    ("windows", "keep, clear and restore the guest's windows"),
    (ENTER, "enter and leave Rust"),
    ("return", "set the status, done"),
];

/// The word for instructions that enter and leave Rust code.
const ENTER: &str = "enter";

/// A line of the assembly source that is a label or an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Label(&'static str),
    /// An instruction, and the word for its purpose.
    Instruction(&'static str, &'static str),
}

impl Line {
    /// Parses a line of the source: a label, or an instruction whose comment names its purpose.
    fn new(line: &'static str) -> Option<Self> {
        let line = line.trim().trim_end_matches(',').trim_matches('"').trim();
        let (code, comment) =
            line.split_once(" ! ").or_else(|| line.split_once(" // ")).unwrap_or((line, ""));
        let code = code.trim();
        if let Some(label) = code.strip_suffix(':') {
            return Some(Self::Label(label));
        }
        let word = comment.split(' ').next().unwrap_or_default();
        let known = PURPOSES.iter().any(|(purpose, _)| *purpose == word);
        known.then_some(Self::Instruction(code, word))
    }
}

/// Returns the labels and instructions of the source, starting with this trap table entry.
fn source(entry: &str) -> Vec<Line> {
    let entry = TRAP_TABLE
        .lines()
        .skip_while(|line| !line.contains(entry))
        .take_while(|line| !line.contains("$entry") && !line.contains(".align"));
    let fast = FAST_PATH.lines().skip_while(|line| !line.contains("entry: {"));
    let inserted = || {
        let macros =
            SLOW_PATH.lines().skip_while(|line| !line.contains("macro_rules! sun4v_unclaimed"));
        macros.take_while(|line| *line != "}")
    };
    let mut lines: Vec<_> = entry.collect();
    for line in fast {
        match line.contains("sun4v_unclaimed!") {
            true => lines.extend(inserted()),
            false => lines.push(line),
        }
    }
    lines.extend(SLOW_PATH.lines());
    let mut source = Vec::new();
    repeat(&mut lines.into_iter(), 1, &mut source);
    source
}

/// Adds the lines up to the next `.endr`, and repeats them `times` times. (A macro sets the number
/// after `.rept`.)
fn repeat(
    lines: &mut (impl Iterator<Item = &'static str> + Clone),
    times: usize,
    source: &mut Vec<Line>,
) {
    let start = lines.clone();
    for _ in 0..times {
        *lines = start.clone();
        while let Some(line) = lines.next() {
            match line.split_whitespace().next() {
                Some(".rept") if line.contains("{FIRST}") => repeat(lines, FIRST_WINDOWS, source),
                Some(".rept") => repeat(lines, 1, source),
                Some(".irp") => repeat(lines, line.split(',').count() - 1, source),
                Some(".endr") => break,
                _ => source.extend(Line::new(line)),
            }
        }
    }
}

/// The value of `platform::sparc64::layout::FIRST_WINDOWS`, which is in a module that the host does not compile.
const FIRST_WINDOWS: usize = 2;

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
            // An annulled instruction is not executed, so it has no purpose.
            if let (false, Some(Line::Instruction(_, slot))) =
                (code.starts_with("ba,a"), source.get(at))
            {
                purposes.push(*slot);
            }
            let label = source.iter().position(|line| *line == Line::Label(label));
            at = label.unwrap_or(source.len());
        } else if code.split(' ').next().is_some_and(|mnemonic| mnemonic.contains(",a")) {
            at += 1;
        }
    }
    purposes
}

/// Returns a table of purposes, and the result of checking that its sums equal the counts.
pub fn lines(counted: &BTreeMap<String, u64>) -> String {
    let calls = CALLS.map(|(_, entry, labels)| purposes(&source(entry), labels));
    let names = CALLS.map(|(name, ..)| name).join("|>");
    let mut table = table::with_header(&format!("instructions|>{names}"));
    for (word, what) in PURPOSES {
        let of_call = |call: &Vec<&str>| call.iter().filter(|purpose| **purpose == word).count();
        table.add_row([what.to_owned()].into_iter().chain(cells(calls.each_ref().map(of_call))));
    }
    // If a call enters Rust code, the rest of its counted instructions are in that code.
    let rust: [usize; CALLS.len()] = array::from_fn(|call| {
        let (count, assembly) = (counted.get(CALLS[call].0), &calls[call]);
        let enters = count.filter(|_| assembly.contains(&ENTER));
        enters.map_or(0, |count| (*count as usize).saturating_sub(assembly.len()))
    });
    table.add_row(["serve the call, in Rust".to_owned()].into_iter().chain(cells(rust)));
    let sums = array::from_fn(|call| calls[call].len() + rust[call]);
    table.add_row(["all".to_owned()].into_iter().chain(cells(sums)));
    // A machine without hubs has no counts for calls to hubs.
    let wrong = CALLS.iter().zip(sums).find_map(|((call, ..), sum)| {
        let count = *counted.get(*call)?;
        (count != sum as u64).then(|| format!("{call} takes {count}, the table has {sum}"))
    });
    let name = "purposes of instructions add up to the count";
    format!("{}{}", table::text(&table), Report::line(name, wrong.as_deref()))
}

fn cells(counts: [usize; CALLS.len()]) -> impl Iterator<Item = String> {
    counts.into_iter().map(|count| match count {
        0 => "-".into(),
        count => count.to_string(),
    })
}

#[cfg(test)]
#[path = "tests/purpose.rs"]
mod tests;

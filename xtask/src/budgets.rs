//! Budgets. They limit how many instructions a call of each kind takes, and how many instructions `vfalls stat` takes to replay a
//! reference. They also limit the cost of the views that `vfalls stat` shows in addition to its summary. `cargo xtask bench` and
//! `cargo xtask qemu` print the budgets beside their counts. `cargo xtask test` fails if a count is above its budget.

use std::collections::BTreeMap;

use anyhow::bail;

use simulator::conform::sun;
use vfalls::table;

/// The limit of one count. Most counts are numbers of instructions: for a call, or for the replay of one reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The name of the count, as in the files that `bench --json` and `qemu --json` write.
    pub name: &'static str,
    /// The number of instructions that another project's most similar function takes. On SPARC V9, this function is Sun's code for the
    /// UltraSPARC T2, assembled and executed in the same way.
    pub others: Option<u64>,
    /// The maximum number of instructions. A larger number is a defect.
    pub limit: u64,
    /// The number of instructions to aim for, at most `limit`.
    pub aim: u64,
}

const fn row(name: &'static str, others: Option<u64>, [limit, aim]: [u64; 2]) -> Budget {
    Budget { name, others, limit, aim }
}

/// The budgets of calls on SPARC V9. A count includes the trap, `done`, and all instructions in between. A row that is named after a
/// status, such as `get_no_access`, covers the calls for every kind of register that can be refused with this status. Their largest count
/// must be within the budget.
pub const SPARC: [Budget; 22] = [
    row("get_dram", Some(sun::GET_DRAM), [23, 21]),
    row("set_dram", Some(sun::SET_DRAM), [29, 27]),
    row("get_pcr", Some(sun::GET_PCR), [16, 16]),
    row("set_pcr", Some(sun::SET_PCR), [23, 23]),
    row("get_zambezi", None, [33, 30]),
    row("set_zambezi", None, [39, 36]),
    row("get_bad_trap", None, [37, 33]),
    row("set_bad_trap", None, [37, 33]),
    row("get_invalid", None, [37, 33]),
    row("set_invalid", None, [37, 33]),
    row("get_not_supported", None, [40, 36]),
    row("set_not_supported", None, [40, 36]),
    row("get_no_access", None, [40, 36]),
    row("set_no_access", None, [40, 36]),
    row("get_l2", None, [34, 33]),
    row("set_l2", None, [103, 90]),
    row("would_block", None, [50, 45]),
    row("would_block_set", None, [50, 49]),
    row("unknown_fast", Some(sun::UNKNOWN_FAST), [20, 13]),
    row("get_version", Some(sun::GET_VERSION), [63, 50]),
    row("set_version", Some(sun::SET_VERSION), [82, 60]),
    row("set_version_negotiated", Some(sun::SET_VERSION_NEGOTIATED), [175, 150]),
];

/// The budgets on x86-64. They limit the instructions of three kinds of operations:
///
/// - a call, from the guest's registers in memory to the answer in memory;
/// - the recording of an event (`record_event`);
/// - the replay of one reference by `vfalls stat`, from the file to the counters (`reference_...`).
pub const X86: [Budget; 19] = [
    // rustsbi's call has fewer features than ours.
    row("get_dram", Some(17), [26, 20]),
    row("set_dram", None, [25, 20]),
    row("get_pcr", None, [21, 16]),
    row("set_pcr", None, [23, 18]),
    row("get_zambezi", None, [41, 35]),
    row("set_zambezi", None, [40, 35]),
    row("get_bad_trap", None, [40, 25]),
    row("set_bad_trap", None, [40, 25]),
    row("get_invalid", None, [40, 25]),
    row("set_invalid", None, [40, 25]),
    row("get_not_supported", None, [40, 25]),
    row("set_not_supported", None, [40, 25]),
    row("get_no_access", None, [40, 25]),
    row("set_no_access", None, [40, 25]),
    // A tracer that is switched off must not cost any instruction.
    row("get_dram_tracer_off", None, [26, 20]),
    row("get_dram_traced", None, [70, 50]),
    row("record_event", None, [25, 25]),
    row("reference_lackey", None, [130, 130]),
    row("reference_own", None, [70, 70]),
];

/// The budgets of `vfalls stat`: the instructions of the whole process, divided by the number of references. The recordings are generated
/// by the package `made`.
pub const STAT: [Budget; 7] = [
    row("one_thread", None, [43, 12]),
    row("stream", None, [93, 35]),
    row("8_threads", None, [120, 25]),
    row("64_threads", None, [307, 25]),
    row("200_threads", None, [510, 25]),
    row("false_sharing", None, [507, 120]),
    row("bundled", None, [243, 60]),
];

/// The budgets of runs in which `vfalls stat` shows a view in addition to its summary, as a percentage of the instructions of a run without
/// the view.
pub const VIEWS: [Budget; 3] = [
    row("details_one_thread", None, [165, 130]),
    row("details_8_threads", None, [148, 130]),
    row("html_bundled", None, [168, 130]),
];

/// All budgets of one kind for one instruction set, and the project that they are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Budgets {
    /// The quantity that is counted, as tables and messages name it.
    pub what: &'static str,
    /// The name of the instruction set.
    pub name: &'static str,
    /// The name of the project whose counts are in [`Budget::others`].
    pub others: &'static str,
    /// The budgets, in the order of the table.
    pub all: &'static [Budget],
}

pub const SPARC_BUDGETS: Budgets =
    Budgets { what: "instructions", name: "SPARC V9", others: "Sun", all: &SPARC };

pub const X86_BUDGETS: Budgets =
    Budgets { what: "instructions", name: "x86-64", others: "rustsbi", all: &X86 };

pub const STAT_BUDGETS: Budgets = Budgets {
    what: "instructions a reference of vfalls stat",
    name: X86_BUDGETS.name,
    others: "-",
    all: &STAT,
};

pub const VIEW_BUDGETS: Budgets = Budgets {
    what: "percent of plain vfalls stat",
    name: X86_BUDGETS.name,
    others: "-",
    all: &VIEWS,
};

impl Budgets {
    /// Returns the budget of the count `name`; `None` if this count has no budget.
    pub fn budget(&self, name: &str) -> Option<&'static Budget> {
        self.all.iter().find(|budget| budget.name == name)
    }

    /// Returns an error message if `count` is above the budget named `name`; otherwise `None`.
    pub fn violation(&self, name: &str, count: u64) -> Option<String> {
        let reach = self.budget(name)?.limit;
        let wrong = || {
            format!("{name} takes {count} {} on {}, the budget is {reach}", self.what, self.name)
        };
        (count > reach).then(wrong)
    }

    /// Fails if a count is above its budget. The error names the first such count.
    pub fn check(&self, counted: &BTreeMap<impl AsRef<str> + Ord, u64>) -> anyhow::Result<()> {
        let mut wrong =
            counted.iter().filter_map(|(name, count)| self.violation(name.as_ref(), *count));
        wrong.next().map_or(Ok(()), |wrong| bail!(wrong))
    }

    /// Returns a table of counts and their budgets. Counts without a budget are at the end.
    pub fn table(&self, counted: &BTreeMap<impl AsRef<str> + Ord, u64>) -> String {
        let header =
            format!("{}, {}|>counted|>{}|>to reach|>to aim for", self.what, self.name, self.others);
        let mut table = table::with_header(&header);
        let count = |of: &str| counted.iter().find(|(name, _)| name.as_ref() == of);
        for budget in self.all {
            if let Some((_, count)) = count(budget.name) {
                let others = budget.others.map_or("-".into(), |others| others.to_string());
                let numbers = [count, &budget.limit, &budget.aim].map(ToString::to_string);
                let [count, reach, aim] = numbers;
                table.add_row([budget.name.to_owned(), count, others, reach, aim]);
            }
        }
        for (name, count) in counted {
            if self.budget(name.as_ref()).is_none() {
                table.add_row([name.as_ref().to_owned(), count.to_string()]);
            }
        }
        table::text(&table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_budget_is_wrong() {
        let wrong = |name, count| SPARC_BUDGETS.violation(name, count);
        assert_eq!(wrong("get_invalid", 37), None);
        assert_eq!(
            wrong("get_invalid", 38).unwrap(),
            "get_invalid takes 38 instructions on SPARC V9, the budget is 37"
        );
        assert_eq!(wrong("no such call", 1_000), None);
        assert_eq!(X86_BUDGETS.violation("record_event", 25), None);
        assert!(X86_BUDGETS.violation("record_event", 26).is_some());
    }

    #[test]
    fn an_error_says_what_is_counted() {
        assert_eq!(VIEW_BUDGETS.violation("html_bundled", 100), None);
        assert_eq!(
            VIEW_BUDGETS.violation("html_bundled", 10_000).unwrap(),
            format!(
                "html_bundled takes 10000 percent of plain vfalls stat on x86-64, the budget is {}",
                VIEW_BUDGETS.budget("html_bundled").unwrap().limit
            )
        );
    }

    #[test]
    fn counts_stand_beside_their_budgets() {
        let counted = BTreeMap::from([("unknown_fast", 14), ("negotiate", 300), ("get_pcr", 27)]);
        assert_eq!(
            SPARC_BUDGETS.table(&counted),
            "instructions, SPARC V9  counted  Sun  to reach  to aim for\n\
             get_pcr                      27   27        16          16\n\
             unknown_fast                 14   13        20          13\n\
             negotiate                   300\n"
        );
    }
}

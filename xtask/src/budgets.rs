//! The budgets of instructions for each kind of call, and for a reference that `vfalls stat` replays. `cargo xtask bench` and
//! `cargo xtask qemu` print them beside their counts, and `cargo xtask test` fails if a count is above its budget.

use std::collections::BTreeMap;

use anyhow::bail;

use vfalls::table;

/// The budget of a kind of call, or of a reference of a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The name of the count, as in the files of `bench --json` and `qemu --json`.
    pub name: &'static str,
    /// The instructions of the nearest function of another project: on SPARC V9, Sun's code for the UltraSPARC T2, assembled and
    /// executed in the same way.
    pub others: Option<u64>,
    /// The most instructions: more is a defect.
    pub reach: u64,
    /// The aim, at most `reach`.
    pub aim: u64,
}

const fn budget(name: &'static str, others: Option<u64>, [reach, aim]: [u64; 2]) -> Budget {
    Budget { name, others, reach, aim }
}

/// Calls on SPARC V9, from the trap to `done`, both included.
pub const SPARC: [Budget; 12] = [
    budget("get_dram", Some(61), [24, 21]),
    budget("set_dram", Some(63), [30, 27]),
    budget("get_pcr", Some(27), [17, 16]),
    budget("set_pcr", Some(30), [26, 23]),
    budget("get_zambezi", None, [42, 33]),
    budget("set_zambezi", None, [49, 40]),
    budget("refused", None, [52, 40]),
    budget("refused_set", None, [52, 40]),
    budget("unknown_fast", Some(13), [30, 13]),
    budget("get_version", Some(88), [100, 60]),
    budget("set_version", Some(100), [120, 80]),
    budget("set_version_negotiated", Some(175), [300, 150]),
];

/// Calls on x86-64, from the guest's registers in memory to the answer in memory; an event; and references that `vfalls stat`
/// replays, from the file to the counters.
pub const X86: [Budget; 11] = [
    // rustsbi's call has none of our features.
    budget("get_dram", Some(17), [26, 20]),
    budget("set_dram", None, [25, 20]),
    budget("get_pcr", None, [21, 16]),
    budget("set_pcr", None, [23, 18]),
    budget("get_zambezi", None, [44, 35]),
    budget("set_zambezi", None, [45, 35]),
    // A tracer that is off takes no instruction.
    budget("get_dram_tracer_off", None, [26, 20]),
    budget("get_dram_traced", None, [70, 50]),
    budget("record_event", None, [25, 25]),
    budget("reference_lackey", None, [130, 130]),
    budget("reference_own", None, [70, 70]),
];

/// An instruction set whose calls have budgets.
#[derive(Clone, Copy, Debug)]
pub struct Budgets {
    /// The name in tables and messages.
    pub name: &'static str,
    /// The project whose counts are [`Budget::others`].
    pub others: &'static str,
    all: &'static [Budget],
}

/// Budgets for SPARC V9.
pub const OF_SPARC: Budgets = Budgets { name: "SPARC V9", others: "Sun", all: &SPARC };

/// Budgets for x86-64.
pub const OF_X86: Budgets = Budgets { name: "x86-64", others: "rustsbi", all: &X86 };

impl Budgets {
    /// Returns all budgets.
    pub fn all(&self) -> impl Iterator<Item = &'static Budget> {
        self.all.iter()
    }

    /// Returns the budget of a count, if it has one.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<&'static Budget> {
        self.all.iter().find(|budget| budget.name == name)
    }

    /// Returns an error message if a count is above its budget.
    #[must_use]
    pub fn wrong(&self, name: &str, count: u64) -> Option<String> {
        let reach = self.of(name)?.reach;
        let wrong =
            || format!("{name} takes {count} instructions on {}, the budget is {reach}", self.name);
        (count > reach).then(wrong)
    }

    /// Compares counts with their budgets.
    ///
    /// # Errors
    /// A count is above its budget.
    pub fn keep(&self, counted: &BTreeMap<String, u64>) -> anyhow::Result<()> {
        let mut wrong = (counted.iter()).filter_map(|(name, count)| self.wrong(name, *count));
        wrong.next().map_or(Ok(()), |wrong| bail!(wrong))
    }

    /// Returns a table of counts and their budgets. Counts without a budget come last.
    #[must_use]
    pub fn table(&self, counted: &BTreeMap<impl AsRef<str> + Ord, u64>) -> String {
        let header =
            format!("instructions, {}|>counted|>{}|>to reach|>to aim for", self.name, self.others);
        let mut table = table::with_header(&header);
        let count = |of: &str| counted.iter().find(|(name, _)| name.as_ref() == of);
        for budget in self.all {
            if let Some((_, count)) = count(budget.name) {
                let others = budget.others.map_or("-".into(), |others| others.to_string());
                let numbers = [count, &budget.reach, &budget.aim].map(ToString::to_string);
                let [count, reach, aim] = numbers;
                table.add_row([budget.name.to_owned(), count, others, reach, aim]);
            }
        }
        for (name, count) in counted {
            if self.of(name.as_ref()).is_none() {
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
        let wrong = |name, count| OF_SPARC.wrong(name, count);
        assert_eq!(wrong("refused", 52), None);
        assert_eq!(
            wrong("refused", 53).unwrap(),
            "refused takes 53 instructions on SPARC V9, the budget is 52"
        );
        assert_eq!(wrong("no such call", 1_000), None);
        assert_eq!(OF_X86.wrong("record_event", 25), None);
        assert!(OF_X86.wrong("record_event", 26).is_some());
    }

    #[test]
    fn counts_stand_beside_their_budgets() {
        let counted = BTreeMap::from([("unknown_fast", 14), ("negotiate", 300), ("get_pcr", 27)]);
        assert_eq!(
            OF_SPARC.table(&counted),
            "instructions, SPARC V9  counted  Sun  to reach  to aim for\n\
             get_pcr                      27   27        17          16\n\
             unknown_fast                 14   13        30          13\n\
             negotiate                   300\n"
        );
    }
}

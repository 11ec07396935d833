//! Scenario files.

use std::path::Path;

use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::{Right, Unit};
use platform::Machine;
use serde::Deserialize;
use toml::Spanned;

use crate::guests::{self, FileError, Guest, Text};
use crate::nearest::unknown;
use crate::simulation::setup::Simulation;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The operator gives a guest one more right.
    Grant(GuestId, Right),
    /// The operator takes a right from a guest.
    Revoke(GuestId, Right),
    /// The operator takes a right from one guest and gives it to another.
    Transfer(Right, GuestId, GuestId),
    /// A guest is reset.
    Reset(GuestId),
    /// A device faults from now on.
    Fault(Unit),
    /// A device works again, and the operator returns it to service.
    Mend(Unit),
    /// A strand dies: it takes no more cross-calls.
    Kill(StrandId),
}

impl Action {
    /// Returns what it does, in words.
    pub(crate) fn describe(self, name: impl Fn(GuestId) -> String) -> String {
        match self {
            Self::Grant(guest, right) => format!("{} is granted {right}", name(guest)),
            Self::Revoke(guest, right) => format!("{right} is taken from {}", name(guest)),
            Self::Transfer(right, from, to) => {
                format!("{right} goes from {} to {}", name(from), name(to))
            }
            Self::Reset(guest) => format!("{} is reset", name(guest)),
            Self::Fault(unit) => format!("{unit} breaks"),
            Self::Mend(unit) => format!("{unit} is mended and returned to service"),
            Self::Kill(strand) => format!("strand {strand} dies"),
        }
    }
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of references before it; on a machine that executes, of instructions.
    pub at: u64,
    /// Its line in the file, from 1.
    pub line: usize,
    /// What it does.
    pub action: Action,
}

/// A scenario.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The name of its file.
    pub name: String,
    /// Its steps in the order of time.
    pub steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    guest: Vec<guests::Entry>,
    #[serde(default)]
    step: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    at: Spanned<u64>,
    #[serde(rename = "do")]
    action: Spanned<String>,
    guest: Option<Spanned<String>>,
    from: Option<Spanned<String>>,
    to: Option<Spanned<String>>,
    right: Option<Spanned<String>>,
    unit: Option<Spanned<String>>,
    strand: Option<Spanned<u64>>,
}

/// The actions, and the keys of each.
const ACTIONS: [(&str, &[&str]); 7] = [
    ("grant", &["guest", "right"]),
    ("revoke", &["guest", "right"]),
    ("transfer", &["right", "from", "to"]),
    ("reset", &["guest"]),
    ("fault", &["unit"]),
    ("mend", &["unit"]),
    ("kill", &["strand"]),
];

/// A scenario whose steps have not been checked.
pub struct Unchecked {
    text: Text,
    /// The guests that the file describes, if any.
    pub guests: Vec<Guest>,
    steps: Vec<Spanned<Entry>>,
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// ```toml
    /// [[guest]]              # as in a file of guests; may be left out
    /// name = "solaris"
    /// strands = "0-127"
    /// grant = "global"
    ///
    /// [[step]]
    /// at = 1_000_000         # references that the program has executed
    /// do = "revoke"          # grant, revoke, transfer, reset, fault, mend, kill
    /// right = "global"       # strand, htstrand, global
    /// guest = "solaris"
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, or is not such a file.
    pub fn read(path: &Path) -> Result<Unchecked, FileError> {
        let text = Text::read(path)?;
        let file: File = text.parse()?;
        if file.step.is_empty() {
            let problem = "there is no step, expected at least one [[step]]";
            return Err(text.wrong(None, problem));
        }
        Ok(Unchecked {
            text,
            guests: file.guest.into_iter().map(Guest::from).collect(),
            steps: file.step,
        })
    }
}

impl Unchecked {
    /// Checks the steps against the guests and the machine of a simulation. A strand that executes the program or makes a
    /// guest's calls may not die.
    ///
    /// # Errors
    /// A step is impossible.
    pub fn check(self, simulation: &Simulation) -> Result<Scenario, FileError> {
        let callers = simulation.callers().map(|(_, strand)| strand);
        let busy: Vec<StrandId> = callers
            .chain(simulation.strands().iter().copied())
            .collect();
        let guests = simulation.setup().guests.iter();
        let names: Vec<&str> = guests.map(|guest| guest.name.as_str()).collect();
        self.check_for(simulation.setup().machine, &names, &busy)
    }

    /// Checks the steps against a machine and guests with these names. A strand that is `busy` may not die.
    ///
    /// # Errors
    /// A step is impossible.
    pub fn check_for(
        self,
        machine: Machine,
        guests: &[&str],
        busy: &[StrandId],
    ) -> Result<Scenario, FileError> {
        let Self { text, steps, .. } = self;
        let mut checked: Vec<Step> = Vec::new();
        for step in steps {
            let table = step.span().start;
            let checker = Checker {
                table,
                machine,
                guests,
                busy,
            };
            let earlier = checked.last().map_or(0, |step| step.at);
            let (at, action) = checker
                .step(step.into_inner(), earlier)
                .map_err(|(at, problem)| text.wrong(Some(at), problem))?;
            let line = text.line(table);
            checked.push(Step { at, line, action });
        }
        Ok(Scenario {
            name: text.name,
            steps: checked,
        })
    }
}

/// Checks one step. An error has the position of the fault in the file, in bytes.
struct Checker<'a> {
    table: usize,
    machine: Machine,
    guests: &'a [&'a str],
    busy: &'a [StrandId],
}

type Checked<T> = Result<T, (usize, String)>;

impl Checker<'_> {
    fn step(&self, entry: Entry, earlier: u64) -> Checked<(u64, Action)> {
        let at = *entry.at.get_ref();
        if at < earlier {
            return self.wrong(
                &entry.at,
                format!("found {at} after {earlier}, expected steps in the order of time"),
            );
        }
        let action = entry.action.get_ref().as_str();
        let Some((_, wanted)) = ACTIONS.iter().find(|(name, _)| *name == action) else {
            let names = ACTIONS.iter().map(|(name, _)| *name);
            return self.wrong(&entry.action, unknown("action", action, names));
        };
        let given = [
            ("guest", entry.guest.is_some()),
            ("from", entry.from.is_some()),
            ("to", entry.to.is_some()),
            ("right", entry.right.is_some()),
            ("unit", entry.unit.is_some()),
            ("strand", entry.strand.is_some()),
        ];
        for (key, is_given) in given {
            if is_given != wanted.contains(&key) {
                let found = if is_given { "found" } else { "missing is" };
                let list = wanted.join(", ");
                return self.wrong(
                    &entry.action,
                    format!("{found} '{key}'; {action} takes {list}"),
                );
            }
        }
        let action = match action {
            "grant" => Action::Grant(self.guest(entry.guest)?, self.right(entry.right)?),
            "revoke" => Action::Revoke(self.guest(entry.guest)?, self.right(entry.right)?),
            "transfer" => Action::Transfer(
                self.right(entry.right)?,
                self.guest(entry.from)?,
                self.guest(entry.to)?,
            ),
            "reset" => Action::Reset(self.guest(entry.guest)?),
            "fault" => Action::Fault(self.unit(entry.unit)?),
            "mend" => Action::Mend(self.unit(entry.unit)?),
            _ => Action::Kill(self.strand(entry.strand)?),
        };
        Ok((at, action))
    }

    fn wrong<T, V>(&self, place: &Spanned<V>, problem: String) -> Checked<T> {
        Err((place.span().start, problem))
    }

    /// Looks a name up.
    fn find<T>(
        &self,
        given: Option<Spanned<String>>,
        look: impl FnOnce(&str) -> Result<T, String>,
    ) -> Checked<T> {
        let at = given
            .as_ref()
            .map_or(self.table, |given| given.span().start);
        let text = given.map(Spanned::into_inner).unwrap_or_default();
        look(&text).map_err(|problem| (at, problem))
    }

    fn guest(&self, given: Option<Spanned<String>>) -> Checked<GuestId> {
        self.find(given, |name| {
            let place = self.guests.iter().position(|guest| *guest == name);
            let names = self.guests.iter().copied();
            place
                .and_then(GuestId::new)
                .ok_or_else(|| unknown("guest", name, names))
        })
    }

    fn right(&self, given: Option<Spanned<String>>) -> Checked<Right> {
        self.find(given, |name| {
            let names = Right::ALL.iter().map(|right| right.name());
            Right::from_name(name).ok_or_else(|| unknown("right", name, names))
        })
    }

    fn unit(&self, given: Option<Spanned<String>>) -> Checked<Unit> {
        self.find(given, |name| {
            let units = Unit::all().filter(|unit| unit.is_in(self.machine));
            let named: Vec<_> = units.map(|unit| (unit.to_string(), unit)).collect();
            let names = named.iter().map(|(name, _)| name.as_str());
            let found = named.iter().find(|(other, _)| other == name);
            found
                .map(|(_, unit)| *unit)
                .ok_or_else(|| unknown("unit", name, names))
        })
    }

    fn strand(&self, given: Option<Spanned<u64>>) -> Checked<StrandId> {
        let at = given
            .as_ref()
            .map_or(self.table, |given| given.span().start);
        let number = given.map_or(0, Spanned::into_inner);
        let strand = usize::try_from(number)
            .ok()
            .filter(|number| *number < self.machine.strands())
            .and_then(StrandId::new);
        let problem = match strand {
            None => format!(
                "there is no strand {number}; this machine has strands 0 to {}",
                self.machine.strands() - 1
            ),
            Some(strand) if self.busy.contains(&strand) => format!(
                "strand {number} executes the program or makes a guest's calls, expected another"
            ),
            Some(strand) => return Ok(strand),
        };
        Err((at, problem))
    }
}

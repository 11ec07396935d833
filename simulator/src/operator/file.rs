//! Reads and checks scenario files.

use std::path::Path;
use std::str::FromStr;

use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::{Right, Unit};
use platform::Machine;
use serde::Deserialize;
use toml::Spanned;

use crate::machine::clocks::{Change, Clock, Drift};
use crate::machine::guests::{self, FileError, NamedGuest, TomlText};
use crate::nearest::unknown;

/// A step's action, which changes rights, hardware or clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Action {
    Grant(GuestId, Right),
    Revoke(GuestId, Right),
    /// Revokes a right from the first guest and grants it to the second.
    Transfer(Right, GuestId, GuestId),
    Reset(GuestId),
    /// Breaks a device. Every access to the device faults from now on.
    Fault(Unit),
    /// Repairs a device and returns its unit to service.
    Mend(Unit),
    /// Stops a strand forever, and reports its death to the hypervisor.
    Kill(StrandId),
    /// Makes a clock deviate from true time, or ends its deviation.
    Clock(Clock, Change),
}

impl Action {
    /// Describes the action in a sentence without a full stop. `name` returns a guest's name.
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
            Self::Clock(clock, change) => format!("{clock} {change}"),
        }
    }
}

/// A checked step of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The time at which the step is due. In a replay, this is how many references all programs have made. In an execution, this is how
    /// many instructions all strands have executed.
    pub at: u64,
    /// The line number of `[[step]]` in the file, from 1.
    pub line: usize,
    #[allow(missing_docs, reason = "its name says it")]
    pub action: Action,
}

/// A file's checked steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// The file's path, for messages; `text` if there is no file.
    pub name: String,
    /// The steps in chronological order.
    pub steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    guest: Vec<guests::GuestEntry>,
    #[serde(default)]
    step: Vec<Spanned<StepEntry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepEntry {
    at: Spanned<u64>,
    #[serde(rename = "do")]
    action: Spanned<String>,
    guest: Option<Spanned<String>>,
    from: Option<Spanned<String>>,
    to: Option<Spanned<String>>,
    right: Option<Spanned<String>>,
    unit: Option<Spanned<String>>,
    strand: Option<Spanned<u64>>,
    clock: Option<Spanned<String>>,
    drift: Option<Spanned<i64>>,
    stop: Option<Spanned<bool>>,
    jump: Option<Spanned<i64>>,
    lose: Option<Spanned<u64>>,
}

/// The actions' names. A step with this action must have the keys in the first list, and may have those in the second list.
const ACTIONS: [(&str, &[&str], &[&str]); 8] = [
    ("grant", &["guest", "right"], &[]),
    ("revoke", &["guest", "right"], &[]),
    ("transfer", &["right", "from", "to"], &[]),
    ("reset", &["guest"], &[]),
    ("fault", &["unit"], &[]),
    ("mend", &["unit"], &[]),
    ("kill", &["strand"], &[]),
    (CLOCK, &["clock"], &["strand", "drift", "stop", "jump", "lose"]),
];

/// The action that is possible only in an execution.
const CLOCK: &str = "clock";

/// The names of the clocks that a step can change.
const CLOCKS: [&str; 3] = ["%stick", "%tick", "ptimer"];

/// A scenario that has not been checked against a machine and its guests.
#[derive(Debug)]
pub struct UncheckedScenario {
    text: TomlText,
    /// The guests in the scenario file; empty if another file describes the guests.
    pub guests: Vec<NamedGuest>,
    steps: Vec<Spanned<StepEntry>>,
}

impl Scenario {
    /// Reads the scenario of a replay or of an execution from a file.
    ///
    /// ```toml
    /// [[guest]]              # as in a file with guests; left out if the guests are described elsewhere
    /// name = "solaris"
    /// strands = "0-127"
    /// grant = "global"
    ///
    /// [[step]]
    /// at = 1_000_000         # a replay: references of all programs; an execution: instructions of all strands
    /// do = "revoke"          # grant, revoke, transfer, reset, fault, mend, kill, clock
    /// right = "global"       # strand, htstrand, global
    /// guest = "solaris"
    ///
    /// [[step]]
    /// at = 2_000_000
    /// do = "clock"           # only in an execution: a clock goes wrong
    /// clock = "%stick"       # %stick, %tick, ptimer
    /// strand = 8             # without it: %stick or %tick of all strands
    /// drift = 500            # one of: drift, in parts per million; stop = true, until a step with drift;
    ///                        # jump, in ns, negative to step back; lose, the ns for which the clock stands still
    /// ```
    ///
    /// The guests of an execution come from its machine description, together with their programs. So `vfalls boot` refuses a file
    /// that describes guests.
    ///
    /// # Errors
    /// The file cannot be read, or is not a scenario.
    pub fn read(path: &Path) -> Result<UncheckedScenario, FileError> {
        UncheckedScenario::new(TomlText::read(path)?)
    }
}

/// Parses the text of a [scenario file](Scenario::read).
impl FromStr for UncheckedScenario {
    type Err = FileError;

    fn from_str(text: &str) -> Result<Self, FileError> {
        Self::new(text.into())
    }
}

impl UncheckedScenario {
    fn new(text: TomlText) -> Result<Self, FileError> {
        let file: File = text.parse()?;
        if file.step.is_empty() {
            let problem = "there is no step, expected at least one [[step]]";
            return Err(text.wrong(None, problem));
        }
        let guests = file.guest.into_iter().map(NamedGuest::from).collect();
        Ok(Self { text, guests, steps: file.step })
    }

    /// Returns an error if a step changes a clock.
    pub(crate) fn without_clocks(self) -> Result<Self, FileError> {
        let mut actions = self.steps.iter().map(|step| &step.get_ref().action);
        match actions.find(|action| action.get_ref() == CLOCK) {
            Some(action) => {
                let problem = "a replay has no clocks that can go wrong, expected no step 'clock'";
                Err(self.text.wrong(Some(action.span().start), problem))
            }
            None => Ok(self),
        }
    }

    /// Checks the steps against a machine and its guests. A step must not kill a `busy` strand. A busy strand executes a replay's
    /// program, or makes a guest's calls.
    ///
    /// # Errors
    /// A step is impossible.
    pub fn check(
        self,
        machine: Machine,
        guests: &[NamedGuest],
        busy: &[StrandId],
    ) -> Result<Scenario, FileError> {
        let Self { text, steps, .. } = self;
        let mut checked: Vec<Step> = Vec::new();
        for step in steps {
            let table = step.span().start;
            let checker = Checker { table, machine, guests, busy };
            let earlier = checked.last().map_or(0, |step| step.at);
            let (at, action) = checker
                .step(step.into_inner(), earlier)
                .map_err(|(at, problem)| text.wrong(Some(at), problem))?;
            let line = text.line(table);
            checked.push(Step { at, line, action });
        }
        Ok(Scenario { name: text.name, steps: checked })
    }
}

/// Checks one step. An error has the position of the mistake in the file, in bytes.
struct Checker<'a> {
    /// The position in the file where the step's table begins.
    table: usize,
    machine: Machine,
    guests: &'a [NamedGuest],
    busy: &'a [StrandId],
}

type Checked<T> = Result<T, (usize, String)>;

impl Checker<'_> {
    fn step(&self, entry: StepEntry, earlier: u64) -> Checked<(u64, Action)> {
        let at = *entry.at.get_ref();
        if at < earlier {
            return self.error_at(
                &entry.at,
                format!("found {at} after {earlier}, expected steps in the order of time"),
            );
        }
        let action = entry.action.get_ref().as_str();
        let Some((_, wanted, other)) = ACTIONS.iter().find(|(name, ..)| *name == action) else {
            let names = ACTIONS.iter().map(|(name, ..)| *name);
            return self.error_at(&entry.action, unknown("action", action, names));
        };
        let given = [
            ("guest", entry.guest.is_some()),
            ("from", entry.from.is_some()),
            ("to", entry.to.is_some()),
            ("right", entry.right.is_some()),
            ("unit", entry.unit.is_some()),
            ("strand", entry.strand.is_some()),
            ("clock", entry.clock.is_some()),
            ("drift", entry.drift.is_some()),
            ("stop", entry.stop.is_some()),
            ("jump", entry.jump.is_some()),
            ("lose", entry.lose.is_some()),
        ];
        for (key, is_given) in given {
            if is_given != wanted.contains(&key) && !other.contains(&key) {
                let found = if is_given { "found" } else { "missing is" };
                let list = [*wanted, *other].concat().join(", ");
                return self
                    .error_at(&entry.action, format!("{found} '{key}'; {action} takes {list}"));
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
            "kill" => Action::Kill(self.strand(entry.strand)?),
            _ => {
                let change = self.change(&entry)?;
                Action::Clock(self.clock(entry.clock, entry.strand)?, change)
            }
        };
        Ok((at, action))
    }

    fn error_at<T, V>(&self, place: &Spanned<V>, problem: String) -> Checked<T> {
        Err((place.span().start, problem))
    }

    /// Returns a key's value. [`step`](Self::step) has already reported missing keys.
    fn find<T>(
        &self,
        given: Option<Spanned<String>>,
        look: impl FnOnce(&str) -> Result<T, String>,
    ) -> Checked<T> {
        let at = given.as_ref().map_or(self.table, |given| given.span().start);
        let text = given.map(Spanned::into_inner).unwrap_or_default();
        look(&text).map_err(|problem| (at, problem))
    }

    fn guest(&self, given: Option<Spanned<String>>) -> Checked<GuestId> {
        self.find(given, |name| {
            let names = self.guests.iter().map(|guest| guest.name.as_str());
            let number = names.clone().position(|guest| guest == name);
            number.and_then(GuestId::new).ok_or_else(|| unknown("guest", name, names))
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
            let units = Unit::ALL.iter().copied().filter(|unit| unit.is_in(self.machine));
            let named: Vec<_> = units.map(|unit| (unit.to_string(), unit)).collect();
            let names = named.iter().map(|(name, _)| name.as_str());
            let found = named.iter().find(|(other, _)| other == name);
            found.map(|(_, unit)| *unit).ok_or_else(|| unknown("unit", name, names))
        })
    }

    fn clock(&self, name: Option<Spanned<String>>, strand: Option<Spanned<u64>>) -> Checked<Clock> {
        let of = strand.clone().map(|strand| self.strand(Some(strand))).transpose()?;
        let clock = self.find(name, |name| match name {
            "%stick" => Ok(Clock::Stick(of)),
            "%tick" => Ok(Clock::Tick(of)),
            "ptimer" => Ok(Clock::Ptimer),
            _ => Err(unknown("clock", name, CLOCKS.into_iter())),
        })?;
        match strand {
            Some(strand) if clock == Clock::Ptimer => self.error_at(
                &strand,
                "found 'strand', but the ptimer belongs to no strand".to_owned(),
            ),
            _ => Ok(clock),
        }
    }

    fn change(&self, entry: &StepEntry) -> Checked<Change> {
        match (&entry.drift, &entry.stop, &entry.jump, &entry.lose) {
            (Some(ppm), None, None, None) => match Drift::new(*ppm.get_ref()) {
                Some(drift) => Ok(Change::Drift(drift)),
                None => {
                    let most = Drift::MAX_PPM;
                    let problem = format!("found {}, expected -{most} to {most}", ppm.get_ref());
                    self.error_at(ppm, problem)
                }
            },
            (None, Some(stop), None, None) if *stop.get_ref() => Ok(Change::Stop),
            (None, Some(stop), None, None) => {
                self.error_at(stop, "found false, expected true; drift ends a stop".to_owned())
            }
            (None, None, Some(jump), None) => Ok(Change::Jump(*jump.get_ref())),
            (None, None, None, Some(lose)) => Ok(Change::Lose(*lose.get_ref())),
            _ => self
                .error_at(&entry.action, "expected one of drift, stop, jump and lose".to_owned()),
        }
    }

    fn strand(&self, given: Option<Spanned<u64>>) -> Checked<StrandId> {
        let at = given.as_ref().map_or(self.table, |given| given.span().start);
        let (number, last) = (given.map_or(0, Spanned::into_inner), self.machine.strands() - 1);
        let problem = match usize::try_from(number).ok().and_then(StrandId::new) {
            Some(strand) if self.busy.contains(&strand) => format!(
                "strand {number} executes the program or makes a guest's calls, expected another"
            ),
            Some(strand) if strand.index() <= last => return Ok(strand),
            _ => format!("there is no strand {number}; this machine has strands 0 to {last}"),
        };
        Err((at, problem))
    }
}

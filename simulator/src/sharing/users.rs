//! Who uses which bytes of a line.

use std::collections::{BTreeMap, HashMap, HashSet};

use guest_abi::StrandId;
use serde::{Serialize, Serializer};

use crate::memory::geometry::{ADDRESS_BITS, ADDRESS_MASK, LINE_SHIFT};
use crate::nearest::known_hexadecimal;
use crate::recording::{Kind, Reference};
use crate::strands::ranges;

/// What an instruction does to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "&'static str")]
pub enum Use {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads and writes at once.
    Modify,
    /// It is in the line itself.
    Fetch,
}

impl Use {
    /// Returns what it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Modify => "modify",
            Self::Fetch => "fetch",
        }
    }
}

impl From<Use> for &'static str {
    fn from(what: Use) -> Self {
        what.name()
    }
}

/// Returns the bytes whose bits are set, such as `0-7,16`.
#[must_use]
pub fn byte_list(bits: u64) -> String {
    ranges((0..64).filter(|byte| bits >> byte & 1 != 0))
}

/// One instruction of one thread that uses a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// The thread.
    pub thread: usize,
    /// The strand, by its number.
    #[serde(serialize_with = "number")]
    pub strand: StrandId,
    /// The address of the instruction; `None` if no instruction is known.
    #[serde(serialize_with = "known_hexadecimal")]
    pub instruction: Option<u64>,
    /// What it does.
    pub what: Use,
    /// Which bytes of the line: byte n is bit n; as text such as `0-7,16`.
    #[serde(serialize_with = "listed")]
    pub bytes: u64,
    /// How often.
    pub times: u64,
}

fn number<S: Serializer>(strand: &StrandId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(strand.index() as u64)
}

fn listed<S: Serializer>(bytes: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&byte_list(*bytes))
}

impl User {
    /// Whether it writes.
    #[must_use]
    pub const fn writes(&self) -> bool {
        matches!(self.what, Use::Store | Use::Modify)
    }
}

const LINE: u64 = 1 << LINE_SHIFT;

/// Memory is free or not in regions of 2 to this power bytes.
const REGION_SHIFT: u32 = 24;

/// All users of some lines.
pub(crate) struct Users {
    /// The lines by number, each with its address in the program, once it is known.
    lines: HashMap<u64, u64>,
    users: HashMap<(u64, usize, Option<u64>, Use), User>,
    /// The instruction that each thread executes.
    instructions: Vec<Option<u64>>,
    /// The regions that the program uses.
    regions: HashSet<u64>,
}

impl Users {
    pub(crate) fn new(lines: impl Iterator<Item = u64>) -> Self {
        Self {
            lines: lines.map(|line| (line, line << LINE_SHIFT)).collect(),
            users: HashMap::new(),
            instructions: Vec::new(),
            regions: HashSet::new(),
        }
    }

    /// Notes the users of one more line from now on.
    pub(crate) fn add(&mut self, line: u64) {
        self.lines.entry(line).or_insert(line << LINE_SHIFT);
    }

    /// Returns the lines, in no order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = u64> {
        self.lines.keys().copied()
    }

    /// Returns how many lines there are.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Forgets all lines but these.
    pub(crate) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.lines.retain(|line, _| keep(*line));
        self.users.retain(|key, _| keep(key.0));
    }

    /// A thread has made a reference. Its addresses are `offset` less than those of memory.
    pub(crate) fn note(
        &mut self,
        thread: usize,
        strand: StrandId,
        offset: u64,
        reference: &Reference,
    ) {
        if self.instructions.len() <= thread {
            self.instructions.resize(thread + 1, None);
        }
        let what = match reference.kind {
            Kind::Load => Use::Load,
            Kind::Store => Use::Store,
            Kind::Modify => Use::Modify,
            _ => {
                self.instructions[thread] = Some(reference.address);
                Use::Fetch
            }
        };
        let (mut at, mut left) = (reference.address, u64::from(reference.size).max(1));
        while left > 0 {
            let first = at % LINE;
            let count = left.min(LINE - first);
            let physical = at.wrapping_add(offset) & ADDRESS_MASK;
            let number = physical >> LINE_SHIFT;
            self.regions.insert(physical >> REGION_SHIFT);
            if let Some(address) = self.lines.get_mut(&number) {
                *address = at - first;
                let instruction = self.instructions[thread];
                let key = (number, thread, instruction, what);
                let user = self.users.entry(key).or_insert(User {
                    thread,
                    strand,
                    instruction,
                    what,
                    bytes: 0,
                    times: 0,
                });
                user.bytes |= (u64::MAX >> (LINE - count)) << first;
                user.times += 1;
            }
            at = at.wrapping_add(count);
            left -= count;
        }
    }

    /// Returns the address of a line in the program, and its users: by thread, those that use it most first.
    pub(crate) fn of(&self, line: u64) -> (u64, Vec<User>) {
        let users = self.users.iter().filter(|(key, _)| key.0 == line);
        // In an order that does not depend on the table's.
        let users: BTreeMap<_, _> = (users.map(|(key, user)| {
            let more_first = u64::MAX - user.times;
            ((key.1, more_first, key.2, key.3), *user)
        }))
        .collect();
        let address = self.lines.get(&line).copied().unwrap_or(line << LINE_SHIFT);
        (address, users.into_values().collect())
    }

    /// Returns the address of a region that the program does not use; `None` if it uses them all.
    pub(super) fn free(&self) -> Option<u64> {
        let mut regions = 0..1 << (ADDRESS_BITS - REGION_SHIFT);
        regions
            .rfind(|region| !self.regions.contains(region))
            .map(|region| region << REGION_SHIFT)
    }
}

/// How many bytes a region has.
pub(super) const REGION: u64 = 1 << REGION_SHIFT;

//! Records which instructions use a memory line, and which of its bytes they use.

use std::cmp::Reverse;
use std::collections::HashSet;

use guest_abi::{Node, StrandId};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json;
use crate::lookup::{Key, Lookup, mix};
use crate::machine::strands::ranges;
use crate::memory::geometry::{ADDRESS_BITS, ADDRESS_MASK, LINE_SHIFT};
use crate::recording::{Kind, Reference};

/// How an instruction uses a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Use {
    /// The instruction reads from the line.
    Load,
    /// The instruction writes to the line.
    Store,
    /// The instruction reads and writes the line in a single step, as an atomic instruction does.
    Modify,
    /// The line contains the instruction itself, so its fetch uses the line.
    Fetch,
}

impl Use {
    /// Returns the name in tables and JSON.
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

/// Lists the positions of the set bits as ranges, such as `0-7,16`.
#[must_use]
pub fn byte_list(bits: u64) -> String {
    ranges((0..64).filter(|byte| bits >> byte & 1 != 0))
}

/// An instruction that uses a line, and the thread that executes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct User {
    pub thread: usize,
    /// The strand that executes the thread. In JSON, this is the strand's number.
    #[serde(with = "json")]
    pub strand: StrandId,
    /// The instruction's address; `None` for references without an instruction, as in handwritten recordings.
    #[serde(with = "json")]
    pub instruction: Option<u64>,
    pub what: Use,
    /// The bytes of the line that the instruction uses. Bit n represents byte n. In JSON, this is a list such as `0-7,16`.
    #[serde(serialize_with = "listed", deserialize_with = "bytes")]
    pub bytes: u64,
    pub times: u64,
    /// Where the instruction is; `None` until a tool that has the program's symbols sets this field.
    #[serde(flatten)]
    pub code: Option<Code>,
}

/// Where an instruction is, in the machine and in the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The node that executes the instruction. In JSON, this is the node's number.
    #[serde(with = "json")]
    pub node: Node,
    /// The function's name, or the instruction's address if the function is unknown. `None` if there is no instruction.
    pub function: Option<String>,
    /// The source line as `FILE:LINE`; `None` if it is unknown.
    pub source: Option<String>,
}

fn listed<S: Serializer>(bytes: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&byte_list(*bytes))
}

/// Parses a list of bytes in [`byte_list`]'s form.
fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    let wrong = || Error::custom(format_args!("found '{text}', expected bytes 0 to 63"));
    let number = |text: &str| text.parse().ok().filter(|byte| *byte < 64).ok_or_else(wrong);
    let mut bits = 0;
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (number(first)?, number(last)?);
        bits |= (first..=last).fold(0, |bits, byte| bits | 1 << byte);
    }
    Ok(bits)
}

impl User {
    /// Returns `true` if the instruction writes to the line.
    #[must_use]
    pub const fn writes(&self) -> bool {
        matches!(self.what, Use::Store | Use::Modify)
    }
}

const LINE: u64 = 1 << LINE_SHIFT;

/// The binary logarithm of a region's size. [`Users`] records which memory regions a program uses.
const REGION_SHIFT: u32 = 24;
pub(super) const REGION: u64 = 1 << REGION_SHIFT;

/// What identifies a [`User`]: the line, the thread, the instruction, and how it uses the line.
type UserKey = (u64, usize, Option<u64>, Use);

impl Key for UserKey {
    #[inline(always)]
    fn hash_value(&self) -> u64 {
        let (line, thread, instruction, what) = *self;
        // No instruction is in the last byte of the address space, so this byte's address represents `None`.
        let instruction = instruction.unwrap_or(u64::MAX);
        mix(line ^ (thread as u64) << 40, instruction ^ (what as u64) << 56)
    }
}

pub(crate) struct Users {
    /// Each line's address in a program, and the program's offset. The key is the line's number in memory.
    lines: Lookup<u64, (u64, u64)>,
    users: Lookup<UserKey, User>,
    /// The address of each thread's latest instruction.
    instructions: Vec<Option<u64>>,
    regions: HashSet<u64>,
    /// The region that was used most recently.
    region: u64,
}

impl Users {
    pub(crate) fn new(lines: impl Iterator<Item = u64>) -> Self {
        let mut users = Self {
            lines: Lookup::default(),
            users: Lookup::default(),
            instructions: Vec::new(),
            regions: HashSet::new(),
            region: u64::MAX,
        };
        lines.for_each(|line| users.add(line));
        users
    }

    /// Adds a line, whose users are recorded from now on.
    pub(crate) fn add(&mut self, line: u64) {
        self.lines.or_insert_with(line, || (line << LINE_SHIFT, u64::MAX));
    }

    /// Returns whether a line's users are recorded.
    pub(crate) fn has(&self, line: u64) -> bool {
        self.lines.get(&line).is_some()
    }

    /// Returns the numbers of the lines, in no particular order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = u64> {
        self.lines.iter().map(|(line, _)| *line)
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns the total number of users of all lines.
    pub(crate) fn users(&self) -> usize {
        self.users.len()
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.lines.retain(|line, _| keep(*line));
        self.users.retain(|key, _| keep(key.0));
    }

    /// Records a thread's reference. The program's address plus `offset` is the address in memory.
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
        if reference.kind.is_fetch() {
            self.instructions[thread] = Some(reference.address);
        }
        let instruction = self.instructions[thread];
        let (mut at, mut left) = (reference.address, u64::from(reference.size).max(1));
        while left > 0 {
            let count = left.min(LINE - at % LINE);
            let region = (at.wrapping_add(offset) & ADDRESS_MASK) >> REGION_SHIFT;
            if region != self.region {
                self.regions.insert(region);
                self.region = region;
            }
            at = at.wrapping_add(count);
            left -= count;
        }
        self.note_use((thread, strand, instruction), offset, reference);
    }

    /// Records that a thread's instruction uses the lines that a reference touches.
    pub(crate) fn note_use(
        &mut self,
        (thread, strand, instruction): (usize, StrandId, Option<u64>),
        offset: u64,
        reference: &Reference,
    ) {
        let what = match reference.kind {
            Kind::Load => Use::Load,
            Kind::Store => Use::Store,
            Kind::Modify => Use::Modify,
            _ => Use::Fetch,
        };
        let (mut at, mut left) = (reference.address, u64::from(reference.size).max(1));
        while left > 0 {
            let first = at % LINE;
            let count = left.min(LINE - first);
            let number = (at.wrapping_add(offset) & ADDRESS_MASK) >> LINE_SHIFT;
            if let Some((address, of)) = self.lines.get_mut(&number) {
                // If processes share memory, the process that mapped the memory first has the lowest number, and so the lowest
                // offset. The line's address in this process is kept.
                if offset <= *of {
                    (*address, *of) = (at - first, offset);
                }
                let new = || {
                    let (bytes, times, code) = (0, 0, None);
                    User { thread, strand, instruction, what, bytes, times, code }
                };
                let key = (number, thread, instruction, what);
                let user = self.users.or_insert_with(key, new);
                user.bytes |= (u64::MAX >> (LINE - count)) << first;
                user.times += 1;
            }
            at = at.wrapping_add(count);
            left -= count;
        }
    }

    /// Returns a line's address in the program, and the line's users sorted by thread. Within a thread, the user with the most uses comes
    /// first.
    pub(crate) fn users_of(&self, line: u64) -> (u64, Vec<User>) {
        let users = self.users.iter().filter(|(key, _)| key.0 == line);
        let mut users: Vec<User> = users.map(|(_, user)| user.clone()).collect();
        users.sort_by_key(|user| (user.thread, Reverse(user.times), user.instruction, user.what));
        let address = self.lines.get(&line).map_or(line << LINE_SHIFT, |(address, _)| *address);
        (address, users)
    }

    /// Returns the address of a region that the program does not use; `None` if it uses every region.
    pub(super) fn free_region(&self) -> Option<u64> {
        let mut regions = 0..1 << (ADDRESS_BITS - REGION_SHIFT);
        regions.rfind(|region| !self.regions.contains(region)).map(|region| region << REGION_SHIFT)
    }
}

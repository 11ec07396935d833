//! The machine description that a guest gets, in the format of `platform::md`. Its words are computed one by one, and never stored.
//!
//! | node | properties |
//! |---|---|
//! | `root` | arcs to `platform`, `memory`, `cpus` and, if it exists, `latency-groups` |
//! | `platform` | `name`, `banner-name`, `stick-frequency`, `max-cpus` |
//! | `memory` | arc to `mblock` |
//! | `mblock` | `base` and `size`, in real addresses; `address-congruence-offset`, the physical address minus the real address |
//! | `cpus` | an arc to each `cpu` |
//! | `cpu` | `id`, `pid`, `clock-frequency`, `compatible`, `nwins`, `maxtl`, `maxgl`; an arc to a `memory-latency-group` for each stripe of memory |
//! | `latency-groups` | an arc to each `group` |
//! | `group` | an arc to one `memory-latency-group` for each stripe, the group's own stripe first; an arc back to each CPU of the group |
//! | `memory-latency-group` | `latency` in ps; `address-mask` and `address-match` of physical addresses; an arc to `mblock` |
//!
//! Each stripe of memory has one `group`, and two `memory-latency-group`s: one for the CPUs on the stripe's node, one for the other CPUs.
//!
//! `pid` is the strand's number. In Sun's firmware, only the descriptions for hypervisors have `pid`. Linux and illumos read the other
//! properties.
//!
//! The stripes are those of [`platform::homes`]. If memory interleaves by less than a page, or one node has all memory, a guest cannot
//! choose the node of a page. The description then has no latency groups. (illumos ignores groups whose mask is smaller than a page, and
//! states that latencies are in ps: `usr/src/uts/sun4v/os/mpo.c`. Linux also reads `latency-groups` and `group`:
//! `arch/sparc/mm/init_64.c`.) The latency values are *assumed*.

use guest_abi::{HvError, Node, StrandId};
use platform::Homes;

/// What guests see of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The name of the platform, such as `SUNW,T5440`.
    pub name: &'static str,
    /// The name for display, such as `SPARC Enterprise T5440`.
    pub banner: &'static str,
    /// The frequency of %stick in Hz.
    pub stick_frequency: u64,
    /// The frequency of the strands in Hz.
    pub clock_frequency: u64,
    /// The map from physical addresses to nodes; `None` for a platform without nodes.
    pub homes: Option<Homes>,
}

/// A guest's memory, which is one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The first real address of the block, a multiple of 64.
    pub base: u64,
    /// The size of the block in bytes, a multiple of 64.
    pub size: u64,
    /// The physical address of the block, a multiple of the page size.
    pub physical: u64,
}

impl Memory {
    /// Checks that `size` bytes from address `real` are in this memory, and that `real` is a multiple of `alignment`.
    pub(crate) const fn check(self, real: u64, size: u64, alignment: u64) -> Result<(), HvError> {
        if !real.is_multiple_of(alignment) {
            return Err(HvError::BadAlignment);
        }
        self.contains(real, size)
    }

    pub(crate) const fn contains(self, real: u64, size: u64) -> Result<(), HvError> {
        let Some(offset) = real.checked_sub(self.base) else {
            return Err(HvError::NoRealAddress);
        };
        if offset > self.size || size > self.size - offset {
            return Err(HvError::NoRealAddress);
        }
        Ok(())
    }
}

macro_rules! names {
    ($($name:ident = $text:literal,)*) => {
        /// The names of nodes and properties.
        #[derive(Clone, Copy)]
        enum Label {
            $($name,)*
        }

        const NAMES: &[&str] = &[$($text,)*];
    };
}

names! {
    Root = "root",
    Platform = "platform",
    Memory = "memory",
    Mblock = "mblock",
    Cpus = "cpus",
    Cpu = "cpu",
    LatencyGroups = "latency-groups",
    Group = "group",
    MemoryLatencyGroup = "memory-latency-group",
    Forward = "fwd",
    Back = "back",
    Name = "name",
    BannerName = "banner-name",
    StickFrequency = "stick-frequency",
    MaxCpus = "max-cpus",
    Base = "base",
    Size = "size",
    Offset = "address-congruence-offset",
    Latency = "latency",
    Mask = "address-mask",
    Match = "address-match",
    Id = "id",
    Pid = "pid",
    ClockFrequency = "clock-frequency",
    Compatible = "compatible",
    Windows = "nwins",
    MaxTl = "maxtl",
    MaxGl = "maxgl",
}

/// The offset of each name in the name block, and the size of the block, which is a multiple of 16.
const OFFSETS: ([u16; NAMES.len()], usize) = {
    let mut offsets = [0; NAMES.len()];
    let mut end = 0;
    let mut index = 0;
    while index < NAMES.len() {
        offsets[index] = end as u16;
        end += NAMES[index].len() + 1;
        index += 1;
    }
    (offsets, end.next_multiple_of(16))
};

const NAME_WORDS: [u64; OFFSETS.1 / 8] = {
    let mut words = [0; OFFSETS.1 / 8];
    let mut name = 0;
    while name < NAMES.len() {
        let mut index = 0;
        while index < NAMES[name].len() {
            let at = OFFSETS.0[name] as usize + index;
            words[at / 8] |= (NAMES[name].as_bytes()[index] as u64) << (56 - at % 8 * 8);
            index += 1;
        }
        name += 1;
    }
    words
};

/// The processors with which the CPUs are compatible: two strings, the more specific first.
const COMPATIBLE: &str = "SUNW,UltraSPARC-T2+\0SUNW,sun4v";

/// The latency of memory on the CPU's own node, and on another node, in ps.
const LATENCIES: [u64; 2] = [184_000, 251_000];

// Each constant is the index of a node's first element, except `ROOT_END`, the index of the last element of `root`. The constants are for a
// `root` without an arc to `latency-groups`. With this arc, add 1 to each constant except `ROOT`.
const ROOT: u64 = 0;
const ROOT_END: u64 = ROOT + 4;
const PLATFORM: u64 = ROOT_END + 1;
const MEMORY: u64 = PLATFORM + 7;
const MBLOCK: u64 = MEMORY + 4;
const CPUS: u64 = MBLOCK + 6;
/// The number of elements in the node `cpus`, without the arcs to the CPUs.
const LIST: u64 = 3;
/// The number of elements in a CPU's node, without the arcs to latency groups.
const CPU: u64 = 10;
/// The number of elements in the node `latency-groups`, and in each `group`, without `fwd` arcs and arcs to CPUs: the start of the node,
/// the arc to its parent, and its end.
const GROUP: u64 = 3;
/// The number of elements in a `memory-latency-group`.
const MEMORY_LATENCY: u64 = 6;
/// The number of 64-bit words in the header.
const HEADER: u64 = 2;

#[derive(Clone, Copy)]
pub(crate) struct Description {
    platform: Platform,
    cpus: u64,
    memory: Memory,
}

impl Description {
    pub(crate) const fn new(platform: Platform, cpus: u64, memory: Memory) -> Self {
        Self { platform, cpus, memory }
    }

    /// Returns the number of memory stripes in the latency groups; 0 if the description has no latency groups.
    fn stripes(&self) -> u64 {
        self.platform.homes.map_or(0, Homes::page_stripe_count)
    }

    const fn first_cpu(&self) -> u64 {
        CPUS + LIST + self.cpus
    }

    /// Returns the number of elements in a CPU's node.
    fn cpu(&self) -> u64 {
        CPU + self.stripes()
    }

    /// Returns the index of the first element of the node `latency-groups`.
    fn groups(&self) -> u64 {
        self.first_cpu() + self.cpu() * self.cpus
    }

    /// Returns the number of elements in the description. The count includes the end of the list, and the root's arc to `latency-groups` if
    /// there is one.
    fn elements(&self) -> u64 {
        let stripes = self.stripes();
        let groups = match stripes {
            0 => 0,
            // Each CPU is in one group.
            _ => 1 + (1 + stripes) * (GROUP + stripes) + self.cpus + 2 * stripes * MEMORY_LATENCY,
        };
        self.groups() + groups + 1
    }

    const fn data(&self) -> [&'static str; 3] {
        [self.platform.name, self.platform.banner, COMPATIBLE]
    }

    /// Returns the offset of a string in the data block. For index 3, returns the total size of the strings.
    fn data_offset(&self, index: usize) -> u64 {
        let before = self.data().into_iter().take(index);
        before.map(|string| (string.len() as u64 + 1).next_multiple_of(8)).sum()
    }

    /// Returns the size of the description in bytes, a multiple of 16.
    pub(crate) fn size(&self) -> u64 {
        let data = self.data_offset(3).next_multiple_of(16);
        8 * HEADER + 16 * self.elements() + 8 * NAME_WORDS.len() as u64 + data
    }

    /// Returns the 64-bit word at `index` of the description. `pid` returns a CPU's strand number.
    pub(crate) fn word(&self, index: u64, pid: impl Fn(u64) -> u8) -> u64 {
        let elements = HEADER + 2 * self.elements();
        if index < elements {
            return match index {
                // The version, 1.0, and the sizes of the three blocks.
                0 => 1 << 48 | (16 * self.elements()),
                1 => (8 * NAME_WORDS.len() as u64) << 32 | self.data_offset(3).next_multiple_of(16),
                _ => self.element((index - HEADER) / 2, pid)[(index % 2) as usize],
            };
        }
        let index = (index - elements) as usize;
        match NAME_WORDS.get(index) {
            Some(word) => *word,
            None => self.data_word(index - NAME_WORDS.len()),
        }
    }

    fn data_word(&self, index: usize) -> u64 {
        let mut first = 0;
        for string in self.data() {
            let words = string.len() / 8 + 1;
            if index < first + words {
                let from = 8 * (index - first);
                return (from..from + 8).fold(0, |word, at| {
                    let byte = string.as_bytes().get(at).copied().unwrap_or(0);
                    word << 8 | u64::from(byte)
                });
            }
            first += words;
        }
        0
    }

    #[inline(always)]
    fn element(&self, index: u64, pid: impl Fn(u64) -> u8) -> [u64; 2] {
        let Self { platform, memory, .. } = self;
        let (first_cpu, groups) = (self.first_cpu(), self.groups());
        let more = u64::from(self.stripes() > 0);
        let string = |name, index: usize| {
            let length = self.data().get(index).map_or(0, |string| string.len() as u64 + 1);
            element(b's', name, length << 32 | self.data_offset(index))
        };
        let node = |name, next| element(b'N', name, next + more);
        let arc =
            |name, target| element(b'a', name, if target == ROOT { 0 } else { target + more });
        // The arc to `latency-groups` is the last element before the end of `root`.
        let index = match index {
            ROOT_END if more > 0 => return arc(Label::Forward, groups),
            0..=ROOT_END => index,
            _ => index - more,
        };
        match index {
            0 => node(Label::Root, PLATFORM),
            1 => arc(Label::Forward, PLATFORM),
            2 => arc(Label::Forward, MEMORY),
            3 => arc(Label::Forward, CPUS),
            ROOT_END => END,
            5 => node(Label::Platform, MEMORY),
            6 => string(Label::Name, 0),
            7 => string(Label::BannerName, 1),
            8 => number(Label::StickFrequency, platform.stick_frequency),
            9 => number(Label::MaxCpus, self.cpus),
            10 => arc(Label::Back, ROOT),
            11 => END,
            12 => node(Label::Memory, MBLOCK),
            13 => arc(Label::Forward, MBLOCK),
            14 => arc(Label::Back, ROOT),
            15 => END,
            16 => node(Label::Mblock, CPUS),
            17 => number(Label::Base, memory.base),
            18 => number(Label::Size, memory.size),
            19 => number(Label::Offset, memory.physical.wrapping_sub(memory.base)),
            20 => arc(Label::Back, MEMORY),
            21 => END,
            CPUS => node(Label::Cpus, first_cpu),
            _ if index < CPUS + 1 + self.cpus => {
                arc(Label::Forward, first_cpu + self.cpu() * (index - CPUS - 1))
            }
            _ if index == first_cpu - 2 => arc(Label::Back, ROOT),
            _ if index == first_cpu - 1 => END,
            _ if index < groups => {
                let (cpu, element) =
                    ((index - first_cpu) / self.cpu(), (index - first_cpu) % self.cpu());
                match element {
                    0 => node(Label::Cpu, first_cpu + self.cpu() * (cpu + 1)),
                    1 => number(Label::Id, cpu),
                    2 => number(Label::Pid, pid(cpu).into()),
                    3 => number(Label::ClockFrequency, platform.clock_frequency),
                    4 => {
                        let [_, data] = string(Label::Compatible, 2);
                        self::element(b'd', Label::Compatible, data)
                    }
                    5 => number(Label::Windows, 8),
                    6 | 7 => number(if element == 6 { Label::MaxTl } else { Label::MaxGl }, 2),
                    8 => arc(Label::Back, CPUS),
                    _ if element < self.cpu() - 1 => {
                        let node = node_of(pid(cpu));
                        let stripe = element - 9 + self.group_of(node);
                        arc(Label::Forward, self.latency_from(node, stripe))
                    }
                    _ => END,
                }
            }
            _ => self.latency_element(index - groups, pid).unwrap_or([0, 0]),
        }
    }

    /// Returns an element of the latency groups; `None` after their last element. `index` counts from the start of `latency-groups`.
    fn latency_element(&self, index: u64, pid: impl Fn(u64) -> u8) -> Option<[u64; 2]> {
        let (stripes, groups) = (self.stripes(), self.groups());
        // The indices `next` and `target` do not count the root's arc to `latency-groups`, so these closures add 1.
        let node = |name, next| element(b'N', name, next + 1);
        let arc = |name, target| element(b'a', name, target + 1);
        let (size, homes) = (GROUP + stripes, self.platform.homes?);
        if stripes == 0 {
            return None;
        }
        if index < size {
            let group = |number| groups + size + self.before(number, &pid);
            return Some(match index {
                0 => node(Label::LatencyGroups, group(0)),
                _ if index <= stripes => arc(Label::Forward, group(index - 1)),
                _ if index == stripes + 1 => element(b'a', Label::Back, ROOT),
                _ => END,
            });
        }
        let index = index - size;
        for stripe in 0..stripes {
            let [first, next] = [stripe, stripe + 1].map(|stripe| self.before(stripe, &pid));
            if index >= next {
                continue;
            }
            let own = (0..self.cpus).filter(|cpu| self.group_of(node_of(pid(*cpu))) == stripe);
            return Some(match index - first {
                0 => node(Label::Group, groups + size + next),
                at if at <= stripes => arc(
                    Label::Forward,
                    self.latency_from(Some(homes.node(stripe)), stripe + at - 1),
                ),
                at if at == stripes + 1 => arc(Label::Back, groups),
                at => match { own }.nth((at - stripes - 2) as usize) {
                    Some(cpu) => arc(Label::Back, self.first_cpu() + self.cpu() * cpu),
                    None => END,
                },
            });
        }
        let index = index.checked_sub(self.before(stripes, &pid))?;
        let (group, at) = (index / MEMORY_LATENCY, index % MEMORY_LATENCY);
        let stripe = homes.page_stripes().nth((group / 2) as usize)?;
        let latency = LATENCIES.get((group % 2) as usize)?;
        Some(match at {
            0 => node(
                Label::MemoryLatencyGroup,
                groups + self.latencies() + MEMORY_LATENCY * (group + 1),
            ),
            1 => number(Label::Latency, *latency),
            2 => number(Label::Mask, stripe.mask),
            3 => number(Label::Match, stripe.matches),
            4 => arc(Label::Forward, MBLOCK),
            _ => END,
        })
    }

    /// Returns the total number of elements in the groups that come before group number `group`.
    fn before(&self, group: u64, pid: impl Fn(u64) -> u8) -> u64 {
        let cpus = (0..self.cpus).filter(|cpu| self.group_of(node_of(pid(*cpu))) < group);
        group * (GROUP + self.stripes()) + cpus.count() as u64
    }

    /// Returns the distance from the node `latency-groups` to the first `memory-latency-group`.
    fn latencies(&self) -> u64 {
        (1 + self.stripes()) * (GROUP + self.stripes()) + self.cpus
    }

    /// Returns the group that holds a node's CPUs, by its number. This is the number of the node's first stripe, or 0 if the node has no
    /// memory.
    fn group_of(&self, node: Option<Node>) -> u64 {
        let mut stripes = self.platform.homes.into_iter().flat_map(Homes::page_stripes);
        stripes.position(|stripe| Some(stripe.home) == node).unwrap_or(0) as u64
    }

    /// Returns the index of the `memory-latency-group` for a stripe and a node's CPUs. Takes `stripe` modulo the number of stripes.
    fn latency_from(&self, node: Option<Node>, stripe: u64) -> u64 {
        let stripe = stripe.checked_rem(self.stripes()).unwrap_or(0);
        let remote = self.platform.homes.map(|homes| homes.node(stripe)) != node;
        self.groups() + self.latencies() + MEMORY_LATENCY * (2 * stripe + u64::from(remote))
    }
}

/// The element that ends a node.
const END: [u64; 2] = [(b'E' as u64) << 56, 0];

/// Returns the node of the strand with the number `pid`; `None` if no strand has this number.
fn node_of(pid: u8) -> Option<Node> {
    StrandId::new(pid.into()).map(StrandId::node)
}

fn number(name: Label, value: u64) -> [u64; 2] {
    element(b'v', name, value)
}

/// Encodes an element. The first word holds the tag, and the length and offset of the name. The second word holds the value.
fn element(tag: u8, name: Label, value: u64) -> [u64; 2] {
    let index = name as usize;
    let length = NAMES.get(index).map_or(0, |name| name.len() as u64);
    let offset = OFFSETS.0.get(index).copied().unwrap_or(0);
    [u64::from(tag) << 56 | length << 48 | u64::from(offset), value]
}

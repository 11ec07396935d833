//! The machine description that a guest gets, in the format of `platform::md`. Its words are computed one by one, and never stored.
//!
//! | node | properties |
//! |---|---|
//! | `root` | arcs to `platform`, `memory` and `cpus` |
//! | `platform` | `name`, `banner-name`, `stick-frequency`, `max-cpus` |
//! | `memory` | arc to `mblock` |
//! | `mblock` | `base` and `size`, of real addresses |
//! | `cpus` | an arc to each `cpu` |
//! | `cpu` | `id`, `pid`, `clock-frequency`, `compatible`, `nwins`, `maxtl`, `maxgl` |
//!
//! `pid` is the number of the strand. In Sun's firmware, only the descriptions for hypervisors have `pid`. Linux and illumos read the other
//! properties.

use guest_abi::HvError;

/// The properties of the platform that guests see.
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
}

/// The memory of a guest, which is one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The first real address of the block, a multiple of 64.
    pub base: u64,
    /// The size of the block in bytes, a multiple of 64.
    pub size: u64,
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
    Forward = "fwd",
    Back = "back",
    Name = "name",
    BannerName = "banner-name",
    StickFrequency = "stick-frequency",
    MaxCpus = "max-cpus",
    Base = "base",
    Size = "size",
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

// The index of the first element of node `root`. The constants below give this index for the other nodes that come before the CPUs.
const ROOT: u64 = 0;
const PLATFORM: u64 = ROOT + 5;
const MEMORY: u64 = PLATFORM + 7;
const MBLOCK: u64 = MEMORY + 4;
const CPUS: u64 = MBLOCK + 5;
/// The number of elements of the node `cpus`, without the arcs to the CPUs.
const LIST: u64 = 3;
/// The number of elements of a CPU's node.
const CPU: u64 = 10;
/// The number of 64-bit words of the header.
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

    const fn first_cpu(&self) -> u64 {
        CPUS + LIST + self.cpus
    }

    /// Returns the number of elements, including the element that ends the list.
    const fn elements(&self) -> u64 {
        self.first_cpu() + CPU * self.cpus + 1
    }

    const fn data(&self) -> [&'static str; 3] {
        [self.platform.name, self.platform.banner, COMPATIBLE]
    }

    /// Returns the offset of a string in the data block. For index 3, returns the size of all strings.
    fn data_offset(&self, index: usize) -> u64 {
        let before = self.data().into_iter().take(index);
        before.map(|string| (string.len() as u64 + 1).next_multiple_of(8)).sum()
    }

    /// Returns the size of the description in bytes, a multiple of 16.
    pub(crate) fn size(&self) -> u64 {
        let data = self.data_offset(3).next_multiple_of(16);
        8 * HEADER + 16 * self.elements() + 8 * NAME_WORDS.len() as u64 + data
    }

    /// Returns the 64-bit word at this index of the description. `pid` returns the number of a CPU's strand.
    pub(crate) fn word(&self, index: u64, pid: impl FnOnce(u64) -> u8) -> u64 {
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
    fn element(&self, index: u64, pid: impl FnOnce(u64) -> u8) -> [u64; 2] {
        let Self { platform, memory, .. } = self;
        let first_cpu = self.first_cpu();
        let string = |name, index: usize| {
            let length = self.data().get(index).map_or(0, |string| string.len() as u64 + 1);
            element(b's', name, length << 32 | self.data_offset(index))
        };
        let node = |name, next| element(b'N', name, next);
        let arc = |name, target| element(b'a', name, target);
        let number = |name, value| element(b'v', name, value);
        const END: [u64; 2] = [(b'E' as u64) << 56, 0];
        match index {
            0 => node(Label::Root, PLATFORM),
            1 => arc(Label::Forward, PLATFORM),
            2 => arc(Label::Forward, MEMORY),
            3 => arc(Label::Forward, CPUS),
            4 => END,
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
            19 => arc(Label::Back, MEMORY),
            20 => END,
            CPUS => node(Label::Cpus, first_cpu),
            _ if index < CPUS + 1 + self.cpus => {
                arc(Label::Forward, first_cpu + CPU * (index - CPUS - 1))
            }
            _ if index == first_cpu - 2 => arc(Label::Back, ROOT),
            _ if index == first_cpu - 1 => END,
            _ if index < first_cpu + CPU * self.cpus => {
                let (cpu, element) = ((index - first_cpu) / CPU, (index - first_cpu) % CPU);
                match element {
                    0 => node(Label::Cpu, first_cpu + CPU * (cpu + 1)),
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
                    _ => END,
                }
            }
            _ => [0, 0],
        }
    }
}

/// Encodes an element. The first word holds the tag, and the length and offset of the name. The second word holds the value.
fn element(tag: u8, name: Label, value: u64) -> [u64; 2] {
    let index = name as usize;
    let length = NAMES.get(index).map_or(0, |name| name.len() as u64);
    let offset = OFFSETS.0.get(index).copied().unwrap_or(0);
    [u64::from(tag) << 56 | length << 48 | u64::from(offset), value]
}

//! The machine, its guests and their memory: from the machine description, or one guest without it.
//!
//! Beside what [`perfctr_service::description`] reads, a `guest` has these properties, whose names are this project's:
//!
//! | property | meaning |
//! |---|---|
//! | number `memory-base` | the physical address of its memory |
//! | number `memory-size` | the size of that in bytes |
//! | number `real-base` | the real address of its memory; 0x80000000 without it |
//! | number `entry` | the real address at which its first strand begins; `real-base` without it |
//!
//! Addresses and sizes are multiples of 8 KiB, and a guest's strands are translated to its memory only.

use core::fmt;
use core::slice;

use guest_abi::StrandId;
use heapless::Vec;
use hv_core::GuestId;
use perfctr_service::description::{self, DescribedGuest};
use perfctr_service::{Grant, GuestConfig};
use platform::md::Md;
use platform::sparc64::Partition;
use platform::{Machine, Model};

/// Words at the end of the hypervisor's memory, which the program that starts the machine writes: for a machine without a description.
/// The machine is 0 for a Batoka with four nodes; else the number of nodes in bits 7:0, and bit 8 for a Maramba.
const MACHINE: *const u64 = 0x3ff_fff8 as *const u64;
/// The address at which the guest begins: 0 for the first byte of its memory.
const ENTRY: *const u64 = 0x3ff_fff0 as *const u64;
/// The size of the guest's memory: 0 for 128 MiB.
const MEMORY: *const u64 = 0x3ff_ffe8 as *const u64;
/// Seconds from 1970 to when the machine was switched on.
const TIME: *const u64 = 0x3ff_ffe0 as *const u64;

/// The machine description, and the most that it can have.
const DESCRIPTION: *const u8 = 0x1f_1200_0000 as *const u8;
const MOST: usize = 512 << 10;

const REAL: u64 = 0x8000_0000;
const PAGE: u64 = 8 << 10;

/// What is said of one guest.
#[derive(Clone, Copy, Debug)]
pub struct Guest {
    pub config: GuestConfig,
    pub memory: Partition,
    pub entry: u64,
}

/// What is said of the machine.
#[derive(Debug)]
pub struct Layout {
    pub machine: Machine,
    pub guests: Vec<Guest, { GuestId::COUNT }>,
    /// Whether there is a description.
    pub described: bool,
    /// The frequency of %stick in Hz.
    pub frequency: u64,
    /// Seconds from 1970 to when the machine was switched on.
    pub time: u64,
}

/// The frequency of a T5440's strands, if no description says it.
const FREQUENCY: u64 = 1_165_379_275;

impl Layout {
    /// Reads it. What is wrong goes to `tell`.
    pub fn read(tell: impl Fn(&dyn fmt::Display)) -> Option<Self> {
        let bytes = description();
        // SAFETY: memory of the machine that the image does not use.
        let time = unsafe { TIME.read_volatile() };
        let mut layout = Self {
            machine: machine()?,
            guests: Vec::new(),
            described: !bytes.is_empty(),
            frequency: FREQUENCY,
            time,
        };
        if !layout.described {
            layout.guests.push(only_guest()?).ok()?;
            return Some(layout);
        }
        let md = Md::new(bytes).map_err(|error| tell(&error)).ok()?;
        let machine = md.machine().map_err(|error| tell(&error)).ok()?;
        layout.machine = machine.unwrap_or(layout.machine);
        if let Some(platform) = md.platform().map_err(|error| tell(&error)).ok()? {
            layout.frequency = platform.stick_frequency.unwrap_or(FREQUENCY);
        }
        let guests = description::guests(md, Some(layout.machine));
        for described in guests.map_err(|error| tell(&error)).ok()? {
            let guest = guest(&described).map_err(|error| tell(&error)).ok()?;
            let Some(guest) = guest else {
                tell(&"the memory of a guest is no multiple of 8 KiB, or not there");
                return None;
            };
            layout.guests.push(guest).ok()?;
        }
        Some(layout)
    }

    /// Returns a guest.
    pub fn guest(&self, guest: GuestId) -> Option<&Guest> {
        self.guests.get(guest.index())
    }

    /// Returns the guest that a strand is for.
    pub fn guest_of(&self, strand: StrandId) -> Option<(GuestId, &Guest)> {
        let mut guests = self.guests.iter().enumerate();
        let (number, guest) = guests.find(|(_, guest)| guest.config.strands.has(strand))?;
        Some((GuestId::new(number)?, guest))
    }

    /// Returns the memory of a guest, with the number by which the strands of a core tell its translations: that of the guest, or if
    /// there are too many guests for that, that of its first strand on the core.
    pub fn partition(&self, guest: &Guest, number: GuestId, strand: StrandId) -> Partition {
        let core = strand.index() & !7;
        let mut strands = guest.config.strands.iter();
        let first = strands.find(|strand| strand.index() >= core);
        let of_core = first.map_or(0, |first| first.index() % 8);
        let id = match self.guests.len() {
            0..=8 => number.index(),
            _ => of_core,
        };
        let bytes = match cfg!(feature = "unbounded") {
            true => 1 << 36,
            false => guest.memory.bytes,
        };
        Partition {
            id: id as u8,
            bytes,
            ..guest.memory
        }
    }
}

/// Returns the bytes of the description; none if there is no header of one.
fn description() -> &'static [u8] {
    let word = |number: usize| {
        // SAFETY: memory of the machine, of which QEMU's has 8 KiB.
        u32::from_be(unsafe { DESCRIPTION.cast::<u32>().add(number).read_volatile() })
    };
    let [version, nodes, names, data] = [0, 1, 2, 3].map(word);
    let size = 16 + u64::from(nodes) + u64::from(names) + u64::from(data);
    if version >> 16 != 1 || size > MOST as u64 {
        return &[];
    }
    // SAFETY: as above. Nobody writes it.
    unsafe { slice::from_raw_parts(DESCRIPTION, size as usize) }
}

fn machine() -> Option<Machine> {
    // SAFETY: memory of the machine that the image does not use.
    let machine = unsafe { MACHINE.read_volatile() };
    let model = match machine & 0x100 {
        0 => Model::Batoka,
        _ => Model::Maramba,
    };
    let nodes = match machine & 0xff {
        0 => model.max_nodes(),
        nodes => nodes as usize,
    };
    let all = || Machine::new(model, model.max_nodes());
    Machine::new(model, nodes).or_else(|_| all()).ok()
}

fn only_guest() -> Option<Guest> {
    // SAFETY: memory of the machine that the image does not use.
    let (entry, bytes) = unsafe { (ENTRY.read_volatile(), MEMORY.read_volatile()) };
    Some(Guest {
        config: GuestConfig {
            strands: StrandId::new(0).into_iter().collect(),
            grant: Grant::ALL,
            compatible: false,
        },
        memory: Partition {
            real: REAL,
            physical: REAL,
            bytes: if bytes == 0 { 128 << 20 } else { bytes },
            id: 0,
        },
        entry: if entry == 0 { REAL } else { entry },
    })
}

/// Reads the node of a guest. `None` if its memory cannot be.
fn guest<'a>(described: &DescribedGuest<'a>) -> Result<Option<Guest>, platform::md::NodeError<'a>> {
    let node = described.node;
    let real = node.number("real-base")?.unwrap_or(REAL);
    let memory = Partition {
        real,
        physical: node.needed_number("memory-base")?,
        bytes: node.needed_number("memory-size")?,
        id: 0,
    };
    let entry = node.number("entry")?.unwrap_or(real);
    let whole = (memory.real | memory.physical | memory.bytes) % PAGE == 0;
    Ok(
        (whole && memory.physical(entry, 4).is_some()).then_some(Guest {
            config: described.config,
            memory,
            entry,
        }),
    )
}

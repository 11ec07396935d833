//! The machine, its guests and their memory, from the machine description. Without a description there is one guest.
//!
//! Besides what [`perfctr_service::description`] reads, a `guest` has the properties of [`platform::memory_map::property`]. The
//! addresses that a guest uses are translated to the guest's memory only.

use core::fmt;
use core::slice;

use guest_abi::StrandId;
use heapless::Vec;
use hv_core::GuestId;
use perfctr_service::description::{self, DescribedGuest};
use perfctr_service::{Grant, GuestConfig};
use platform::Machine;
use platform::md::Md;
use platform::memory_map::{
    DEFAULT_GUEST_BYTES, DESCRIPTION, PAGE, PARTITION, REAL, property, start,
};
use platform::sparc64::Partition;

use super::day::TimesOfDay;

/// A guest: its configuration and its memory.
#[derive(Clone, Copy, Debug)]
pub struct GuestLayout {
    /// The guest's strands and rights.
    pub config: GuestConfig,
    /// The guest's memory. The `id` in this value is not set: see [`Layout::partition`].
    pub memory: Partition,
    /// The real address at which the first strand starts.
    pub entry: u64,
    /// The name of the guest in the description.
    pub name: Option<&'static str>,
}

/// The machine, its guests and their memory, as read at startup.
#[derive(Debug)]
pub struct Layout {
    /// The machine's family, and which nodes and memory channels it has.
    pub machine: Machine,
    /// The guests, indexed by number.
    pub guests: Vec<GuestLayout, { GuestId::COUNT }>,
    /// `true` if the machine has a description; `false` if the layout is the default, with one guest.
    pub has_description: bool,
    /// The frequency of %stick in Hz.
    pub frequency: u64,
    /// The guests' times of day, which the guests read and set with hypercalls.
    pub days: TimesOfDay,
    /// The time between two clock comparisons, in nanoseconds; 0 if the clocks are not compared.
    pub clocks: u64,
}

/// The frequency of a T5440's strands in Hz, used if no description gives another frequency.
const FREQUENCY: u64 = 1_165_379_275;

impl Layout {
    /// Reads the description, and takes the rest, such as the time of power-on, from the [start words](start). If the description is wrong,
    /// passes the error to `report_error` and returns `None`.
    pub(super) fn read(report_error: impl Fn(&dyn fmt::Display)) -> Option<Self> {
        let bytes = description();
        let mut layout = Self {
            machine: start::machine(start_word(start::MACHINE))?,
            guests: Vec::new(),
            has_description: !bytes.is_empty(),
            frequency: FREQUENCY,
            days: TimesOfDay::new(start_word(start::TIME)),
            clocks: start_word(start::CLOCKS).saturating_mul(1000),
        };
        if !layout.has_description {
            layout.guests.push(default_guest()?).ok()?;
            return Some(layout);
        }
        let md = Md::new(bytes).map_err(|error| report_error(&error)).ok()?;
        let machine = md.machine().map_err(|error| report_error(&error)).ok()?;
        layout.machine = machine.unwrap_or(layout.machine);
        if let Some(platform) = md.platform().map_err(|error| report_error(&error)).ok()? {
            layout.frequency = platform.stick_frequency.unwrap_or(FREQUENCY);
        }
        let guests = description::guests(md, Some(layout.machine));
        for described in guests.map_err(|error| report_error(&error)).ok()? {
            let guest = guest(&described).map_err(|error| report_error(&error)).ok()?;
            let Some(guest) = guest else {
                report_error(
                    &"the memory of a guest is not made of pages of 8 KiB, or does not contain its entry",
                );
                return None;
            };
            layout.guests.push(guest).ok()?;
        }
        Some(layout)
    }

    /// Returns guest number `guest`; `None` if the layout has no such guest.
    pub fn guest(&self, guest: GuestId) -> Option<&GuestLayout> {
        self.guests.get(guest.index())
    }

    /// Returns the guest to which a strand belongs; `None` if no guest has the strand.
    pub fn guest_of(&self, strand: StrandId) -> Option<(GuestId, &GuestLayout)> {
        let mut guests = self.guests.iter().enumerate();
        let (number, guest) = guests.find(|(_, guest)| guest.config.strands.contains(strand))?;
        Some((GuestId::new(number)?, guest))
    }

    /// Returns a guest's memory, with the `id` that marks the guest's translations in the TLBs of the strand's core. If there are at most
    /// eight guests, the id is the guest's number. Otherwise, it is the guest's first strand on the core, numbered within the core.
    pub fn partition(&self, guest: &GuestLayout, number: GuestId, strand: StrandId) -> Partition {
        let core = strand.index() & !7;
        let mut strands = guest.config.strands.iter();
        let first = strands.find(|strand| strand.index() >= core);
        let of_core = first.map_or(0, |first| first.index() % 8);
        let id = match self.guests.len() {
            0..=8 => number.index(),
            _ => of_core,
        };
        Partition { id: id as u8, ..guest.memory }
    }
}

/// Returns `true` if the machine has a description.
pub(super) fn is_described() -> bool {
    !description().is_empty()
}

/// Returns the bytes of the description; an empty slice if no header is found.
fn description() -> &'static [u8] {
    let word = |number: usize| {
        // SAFETY: the machine has at least 8 KiB of memory at this address.
        u32::from_be(unsafe { (DESCRIPTION.start as *const u32).add(number).read_volatile() })
    };
    let [version, nodes, names, data] = [0, 1, 2, 3].map(word);
    let size = 16 + u64::from(nodes) + u64::from(names) + u64::from(data);
    if version >> 16 != 1 || size > DESCRIPTION.end - DESCRIPTION.start {
        return &[];
    }
    // SAFETY: the machine has memory at these addresses, and nothing writes to it after the start.
    unsafe { slice::from_raw_parts(DESCRIPTION.start as *const u8, size as usize) }
}

fn start_word(address: u64) -> u64 {
    // SAFETY: the word is in memory that belongs to the hypervisor, and the image uses it for nothing else.
    unsafe { (address as *const u64).read_volatile() }
}

fn default_guest() -> Option<GuestLayout> {
    let [entry, bytes] = [start::ENTRY, start::MEMORY].map(start_word);
    Some(GuestLayout {
        config: GuestConfig::new(StrandId::new(0).into_iter().collect(), Grant::ALL),
        memory: Partition {
            real: REAL,
            physical: PARTITION,
            bytes: if bytes == 0 { DEFAULT_GUEST_BYTES } else { bytes },
            id: 0,
        },
        entry: if entry == 0 { REAL } else { entry },
        name: None,
    })
}

/// Reads a guest's node. Returns `None` if the guest's memory is not made of whole pages, or does not contain the guest's entry.
fn guest(
    described: &DescribedGuest<'static>,
) -> Result<Option<GuestLayout>, platform::md::NodeError<'static>> {
    let node = described.node;
    let real = node.number(property::REAL_BASE)?.unwrap_or(REAL);
    let memory = Partition {
        real,
        physical: node.required_number(property::MEMORY_BASE)?,
        bytes: node.required_number(property::MEMORY_SIZE)?,
        id: 0,
    };
    let entry = node.number(property::ENTRY)?.unwrap_or(real);
    let whole = (memory.real | memory.physical | memory.bytes) % PAGE == 0;
    Ok((whole && memory.physical(entry, 4).is_some()).then_some(GuestLayout {
        config: described.config,
        memory,
        entry,
        name: described.name,
    }))
}

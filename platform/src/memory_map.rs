//! The memory map of the project's hypervisor. The image `hypervisor/`, the simulator and tools that load the image use this map.
//!
//! | physical addresses | content |
//! |---|---|
//! | [`HYPERVISOR`] | the image, its stacks, and in the last pages [`MAILBOX`] and the [start words](start) |
//! | [`PARTITION`] and up | guests' memory |
//! | [`CONSOLES`] and up | one 16550 UART for each guest, then [`LOG`] |
//! | [`ptimer::REGISTERS`] and up | the [PTIMER](ptimer) |
//! | [`DESCRIPTION`] | the machine description |
//! | [`ROM`] | [`RESET_CODE`] at [`RESET`] |
//!
//! RAM, ROM and the first console have the same addresses as in QEMU's machine `niagara`. The other addresses are this project's own.

use core::ops::Range;

/// The hypervisor's memory. The image is linked and entered at the first address.
pub const HYPERVISOR: Range<u64> = 0x10_0000..0x400_0000;
/// The [mailbox]: a page of the hypervisor's memory.
pub const MAILBOX: u64 = 0x3fe_0000;
/// The first byte of guests' memory.
pub const PARTITION: u64 = 0x8000_0000;
/// The real address of a guest's memory, unless the guest's description states another address.
pub const REAL: u64 = 0x8000_0000;
/// The size in bytes of the guest's memory on a machine without a description, unless [`start::MEMORY`] states another size.
pub const DEFAULT_GUEST_BYTES: u64 = 128 << 20;
/// The size of a page in bytes. The addresses and sizes of guests' memory are multiples of this number.
pub const PAGE: u64 = 8 << 10;
/// The address of the first console. (It is *assumed* that a machine has several consoles.)
pub const CONSOLES: u64 = 0x1f_1000_0000;
/// The distance in bytes from one console to the next.
pub const CONSOLE_STRIDE: u64 = 0x1000;
/// The 16550 UART of the hypervisor's own console, after the UARTs of 256 guests. A machine without a description does not have this UART.
pub const LOG: u64 = CONSOLES + 256 * CONSOLE_STRIDE;
/// The machine description. The program that starts the machine writes it. Without a description this memory is zero.
pub const DESCRIPTION: Range<u64> = 0x1f_1200_0000..0x1f_1208_0000;
/// The PTIMER, and how its interrupt reaches a strand. No real machine combines a PTIMER with these processors, so all addresses
/// here are the project's own. QEMU's machine `niagara` has no PTIMER. Guests cannot access the PTIMER.
pub mod ptimer {
    /// The physical address of the register space (BAR 0): each [`Register`](crate::ptimer::Register) is at this address plus its offset.
    /// The registers accept only 32-bit accesses. The device is an [NV41](crate::ptimer::Input::NV41).
    pub const REGISTERS: u64 = 0x1f_1100_0000;
    /// A 64-bit register with the number of the strand that receives the alarm's interrupt. The register is 0 after reset. If the machine
    /// does not have the strand, no interrupt is sent.
    pub const TARGET: u64 = REGISTERS + 0x1_0000;
    /// The vector of the alarm's interrupt. The interrupt is sent once when INTR and INTR_EN are both set. It is sent again only after INTR
    /// or INTR_EN has been clear in between.
    pub const VECTOR: u8 = 5;
}

/// The memory that contains the first instruction after power-on.
pub const ROM: Range<u64> = 0xff_f000_0000..0xff_f040_0000;
/// The address of the first instruction after power-on.
pub const RESET: u64 = ROM.start + 0x20;

/// The instructions at [`RESET`]: `sethi %hi(HYPERVISOR.start), %g1; jmp %g1; nop`.
pub const RESET_CODE: [u32; 3] =
    [0x0300_0000 | (HYPERVISOR.start >> 10) as u32, 0x81c0_4000, 0x0100_0000];

/// Words at the end of [`HYPERVISOR`]. The program that starts the machine writes them, and may leave any of them 0.
pub mod start {
    use crate::{Interleave, Machine, Model};

    use super::HYPERVISOR;

    /// The word that states the machine, unless a description states the machine's nodes: see [`machine_word`].
    pub const MACHINE: u64 = HYPERVISOR.end - 0x08;
    /// The real address at which the guest starts on a machine without a description. 0 means the first byte of the guest's memory.
    pub const ENTRY: u64 = HYPERVISOR.end - 0x10;
    /// The size in bytes of the guest's memory on a machine without a description. 0 means [`DEFAULT_GUEST_BYTES`](super::DEFAULT_GUEST_BYTES) bytes.
    pub const MEMORY: u64 = HYPERVISOR.end - 0x18;
    /// The time at which the machine was switched on, in seconds since 1970.
    pub const TIME: u64 = HYPERVISOR.end - 0x20;
    /// The period in microseconds after which the hypervisor compares the machine's clocks again. 0 means that the hypervisor does not
    /// compare them.
    pub const CLOCKS: u64 = HYPERVISOR.end - 0x28;
    const MODEL_SHIFT: u32 = 8;
    /// The highest bit of the word `MACHINE`. It is set if memory interleaves by 1 GB, and clear if memory interleaves by 512 bytes.
    const GIGABYTE: u64 = 1 << 63;

    /// Returns the word for a machine. Bits 7:0 are the number of nodes, and bits 62:8 are the [model's number](Model::number). Bit 63 is
    /// set if the memory [interleaves](Interleave) by 1 GB.
    #[must_use]
    pub const fn machine_word(machine: Machine) -> u64 {
        let gigabyte = match machine.interleave() {
            Interleave::Bytes512 => 0,
            Interleave::Gigabyte => GIGABYTE,
        };
        gigabyte | machine.nodes() as u64 | (machine.model().number() as u64) << MODEL_SHIFT
    }

    /// Returns the machine for a word; `None` if no model has this number. If the number of nodes is impossible, returns the largest
    /// machine of the model.
    #[must_use]
    pub fn machine(word: u64) -> Option<Machine> {
        let model = Model::from_number((word & !GIGABYTE) >> MODEL_SHIFT)?;
        let nodes = (word & ((1 << MODEL_SHIFT) - 1)) as usize;
        let largest = || Machine::new(model, model.max_nodes());
        let machine = Machine::new(model, nodes).or_else(|_| largest()).ok()?;
        Some(match word & GIGABYTE {
            0 => machine,
            _ => machine.with_interleave(Interleave::Gigabyte),
        })
    }
}

/// A page for messages between the operator and the hypervisor. Guests cannot access it. An image with a mailbox has
/// a [note](crate::interfaces) that states the address of the page. These are the words in version 1 of this interface:
///
/// | word | content |
/// |---|---|
/// | 0 up to [`OPERATOR_WORDS`](mailbox::OPERATOR_WORDS) | the operator's steps: see `perfctr_service::mailbox` |
/// | [`STATES`](mailbox::STATES) + n | the state of guest n |
/// | [`CODES`](mailbox::CODES) + n | the exit code of guest n |
/// | [`DROPPED_MESSAGES`](mailbox::DROPPED_MESSAGES) | the number of messages that the hypervisor has left out of its log |
/// | [`POWER`](mailbox::POWER) | 1: the machine is switched off |
/// | [`RECORDS`](mailbox::RECORDS) | the number of records that the hypervisor has begun to write for the operator |
/// | the words that follow | the latest [records](mailbox::record) |
pub mod mailbox {
    /// The number of words for the operator's steps.
    pub const OPERATOR_WORDS: usize = 256;
    /// The word with the [state] of guest 0. The states of the other guests follow.
    pub const STATES: usize = OPERATOR_WORDS;
    /// The word with the exit code of guest 0. The codes of the other guests follow.
    pub const CODES: usize = STATES + GUESTS;
    /// The maximum number of guests with a state and a code in the page.
    pub const GUESTS: usize = 16;
    /// The word with the number of messages that are missing from the hypervisor's console [`LOG`](super::LOG). If messages are missing
    /// because a guest caused too many of them, the failures that they report have no [record] either.
    pub const DROPPED_MESSAGES: usize = POWER - 1;
    /// The word that the hypervisor sets to 1 to switch the machine off.
    pub const POWER: usize = 511;
    /// The word with the number of [records](record).
    pub const RECORDS: usize = POWER + 1;
    /// The vector of the interrupt with which the operator announces a step.
    pub const VECTOR: u8 = 2;

    /// The states of a guest. 0 means that there is no guest with this number.
    pub mod state {
        /// The guest has been started and has not ended.
        pub const RUNS: u64 = 1;
        /// The guest has ended itself. The exit code of guest n is in word [`CODES`](super::CODES) + n.
        pub const EXITED: u64 = 2;
        /// A trap that the guest cannot take has ended the guest.
        pub const TRAPPED: u64 = 3;
        /// The last strand of the guest has died, or the hypervisor has failed on one of the guest's strands.
        pub const FAILED: u64 = 4;
    }

    /// A failure report for the operator. Record n is in slot n modulo [`SLOTS`](record::SLOTS). A slot has [`WORDS`](record::WORDS) words.
    pub mod record {
        use super::RECORDS;

        /// The value of word [`VERSION`] in a complete record. While the hypervisor writes the record, the word has another value.
        pub const CURRENT: u64 = 1;
        /// The value of a word that does not apply to the failure.
        pub const NONE: u64 = u64::MAX;
        #[allow(missing_docs, reason = "the names say it")]
        pub const VERSION: usize = 0;
        /// The word with the record's [`Reason`], by its number.
        pub const REASON: usize = 1;
        /// The unit that is out of service, by its number (`perfctr_service::Unit::number`).
        pub const UNIT: usize = 2;
        /// The strand that found the failure.
        pub const STRAND: usize = 3;
        /// The guest that owns the strand in word [`STRAND`].
        pub const GUEST: usize = 4;
        /// The physical address of the failed access, or the source line of the panic.
        pub const ADDRESS: usize = 5;
        /// The first of the words with a trap's %tt, %tpc, %tnpc, %tstate, HTSTATE, %tl, then %g1 to %g7, then %o0 to %o7.
        pub const REGISTERS: usize = 6;
        /// The number of words from [`REGISTERS`] on.
        pub const REGISTER_COUNT: usize = 6 + 7 + 8;
        /// The number of words in a record.
        pub const WORDS: usize = REGISTERS + REGISTER_COUNT;
        /// The number of records in the page. A new record replaces the oldest.
        pub const SLOTS: usize = 18;

        /// What a record reports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason {
            /// An access to the unit failed.
            Fault = 1,
            /// The unit stayed busy for too long.
            Stuck = 2,
            /// A strand died while it accessed the unit.
            Died = 3,
            /// The unit could not be scrubbed.
            NotScrubbed = 4,
            /// A store failed, and the processor did not report its address.
            AddressUnknown = 5,
            /// A store failed at an address that belongs to no unit.
            NoUnit = 6,
            /// The hypervisor took a trap for which it has no handler.
            Trap = 7,
            /// The hypervisor panicked. Word [`ADDRESS`] holds the source line.
            Panic = 8,
            /// A trap that the guest cannot take has ended the guest.
            GuestTrap = 9,
        }

        impl Reason {
            /// All reasons, by number.
            pub const ALL: [Self; 9] = [
                Self::Fault,
                Self::Stuck,
                Self::Died,
                Self::NotScrubbed,
                Self::AddressUnknown,
                Self::NoUnit,
                Self::Trap,
                Self::Panic,
                Self::GuestTrap,
            ];
        }

        /// Returns the first word of a record's slot.
        #[must_use]
        pub const fn slot(number: usize) -> usize {
            RECORDS + 1 + number % SLOTS * WORDS
        }
    }
}

/// This project's own names for properties of a `guest` in the machine description. All values are numbers.
pub mod property {
    /// The physical address of the guest's memory, a multiple of [`PAGE`](super::PAGE).
    pub const MEMORY_BASE: &str = "memory-base";
    /// The size of the guest's memory in bytes, a multiple of [`PAGE`](super::PAGE).
    pub const MEMORY_SIZE: &str = "memory-size";
    /// The real address of the guest's memory, a multiple of [`PAGE`](super::PAGE); by default [`REAL`](super::REAL).
    pub const REAL_BASE: &str = "real-base";
    /// The real address at which the first strand starts; by default the first address of the memory.
    pub const ENTRY: &str = "entry";
}

/// The message on a guest's console when the guest ends. An image writes this message if the image has no [mailbox] or the machine has no
/// description, because the operator then cannot read the guest's state. The message is [`DLE`](escape::DLE), [`END`](escape::END), a
/// decimal number and LF. If the message is on the first console and the number is one of this module's, the hypervisor itself has ended.
/// The hypervisor doubles each DLE that the guest writes. A guest therefore cannot forge the message, as long as only one strand writes to
/// the console at a time and the console accepts each byte.
pub mod escape {
    /// The byte that is doubled if the guest writes it.
    pub const DLE: u8 = 0x10;
    /// The byte after DLE that announces the exit code.
    pub const END: u8 = b'X';

    // The hypervisor's codes are above all guests' codes, because a guest's code has 32 bits.
    /// The hypervisor cannot start.
    pub const NOT_STARTED: u64 = 1 << 32;
    /// A trap has ended the guest or the hypervisor.
    pub const TRAPPED: u64 = NOT_STARTED + 1;
    /// The hypervisor has panicked, or an interrupt has ended its guest.
    pub const PANICKED: u64 = NOT_STARTED + 2;
}

const _: () = {
    assert!(MAILBOX >= HYPERVISOR.start && MAILBOX + PAGE <= start::CLOCKS);
    assert!(
        8 * (mailbox::record::slot(mailbox::record::SLOTS - 1) + mailbox::record::WORDS) as u64
            <= PAGE
    );
    assert!(mailbox::CODES + mailbox::GUESTS <= mailbox::DROPPED_MESSAGES);
    assert!(LOG + CONSOLE_STRIDE <= ptimer::REGISTERS && ptimer::TARGET + 8 <= DESCRIPTION.start);
    assert!(RESET_CODE[0] == 0x0300_0400);
};

#[cfg(test)]
mod tests {
    use super::start::{machine, machine_word};
    use crate::{Interleave, Machine, Model};

    #[test]
    fn words_of_machines() {
        for model in Model::ALL.iter().copied() {
            for nodes in 1..=model.max_nodes() {
                for interleave in Interleave::ALL {
                    let one = Machine::new(model, nodes).unwrap().with_interleave(interleave);
                    assert_eq!(machine(machine_word(one)), Some(one));
                }
            }
        }
        let batoka = Machine::new(Model::Batoka, 4).unwrap();
        assert_eq!(machine_word(batoka), 4);
        assert_eq!(machine(0), Some(batoka), "an impossible number of nodes");
        assert_eq!(machine(0x201), None, "a model that does not exist");
    }
}

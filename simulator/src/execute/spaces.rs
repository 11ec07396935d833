//! Alternate spaces of registers (OpenSPARC T2 Programmer's Reference Manual, chapters 3, 9, 12 and 14).
//!
//! Registers without an effect here read what was written to them, and the first access to each is in the log.

use guest_abi::{Node, StrandId};

use super::cost::Cost;
use super::interrupts;
use super::log::What;
use super::reach::Reach;
use super::shared::Order;
use super::stores::{self, LateStore};
use super::tlb::Entry;
use crate::interpreter::{At, Level, Trap};

/// A register: its space, and its address in it.
type Register = (u8, u64);

/// ASI_SCRATCHPAD, of privileged software, and ASI_HYP_SCRATCHPAD. They are the same eight registers, of which two are the
/// hypervisor's alone.
const SCRATCHPAD: u8 = 0x20;
const HYP_SCRATCHPAD: u8 = 0x4f;

/// The registers of ASI_CMP that say which strands there are and which run: of node 0. Those of the next node are 0x1000 further
/// (*assumed*).
const CMP: u8 = 0x41;

/// ASI_CMP_CORE: the number of the strand by which interrupts are sent to it, and ASI_CMP_CORE_ID, which has the number in bits 7:0,
/// the greatest number in bits 23:16, and the last strand of a core in bits 34:32. The T2 has six bits for each number: that the
/// machine has one number for all strands of all nodes is *assumed*.
const CORE: u8 = 0x63;
const INTR_ID: Register = (CORE, 0);
const CORE_ID: Register = (CORE, 0x10);

/// Interrupts: those that were received, a register that sends one, and one that returns and clears the highest.
const INTR_RECEIVE: u8 = 0x72;
const INTR_W: u8 = 0x73;
const INTR_R: u8 = 0x74;

/// The registers of translation of instructions, and of data: in each the tag access register; of data the address of a fault, and
/// the partition's number, which is for both.
pub(super) const INSTRUCTION_TAG: Register = (0x50, 0x30);
pub(super) const DATA_TAG: Register = (0x58, 0x30);
pub(super) const DATA_FAULT: Register = (0x58, 0x20);
const PARTITION: Register = (0x58, 0x80);

/// Loads of an entry, and demaps.
const INSTRUCTION_IN: u8 = 0x54;
const DATA_IN: u8 = 0x5c;
const INSTRUCTION_DEMAP: u8 = 0x57;
const DATA_DEMAP: u8 = 0x5f;

impl<C: Cost> Reach<'_, C> {
    /// Loads from a register in an alternate space.
    #[cold]
    pub(super) fn load_register(&mut self, at: At, shift: u8) -> Result<u64, Trap> {
        let register = place(at);
        check(at, shift)?;
        Ok(match register {
            (HYP_SCRATCHPAD, _) | INSTRUCTION_TAG | DATA_TAG | DATA_FAULT => self.echoed(register),
            PARTITION => self.local.partition.into(),
            (CMP, address) => {
                let node = Node::new((address >> 12) as usize);
                let has = node.is_some_and(|node| self.shared.machine.has_node(node));
                match (node, address & 0xfff) {
                    (Some(_), 0x00 | 0x10) if has => u64::MAX,
                    (Some(node), 0x50 | 0x58) if has => self.shared.running[node.index()],
                    _ => self.unknown(register),
                }
            }
            INTR_ID => self.id.index() as u64,
            CORE_ID => {
                let last = self.shared.machine.strands() as u64 - 1;
                let last_of_core = StrandId::PER_CORE as u64 - 1;
                last_of_core << 32 | last << 16 | self.id.index() as u64
            }
            (INTR_RECEIVE, _) => self.local.vectors,
            (INTR_R, _) => {
                let highest = self.local.vectors.checked_ilog2();
                self.done.touched = true;
                highest.map_or(0, |highest| {
                    self.local.vectors &= !(1 << highest);
                    highest.into()
                })
            }
            stores::DFESR => {
                self.local.reported = self.local.failed.take();
                self.local.reported.map_or(0, |_| self.shared.stores.status())
            }
            stores::STORE_BUFFER => {
                let failed = self.local.reported.as_ref();
                failed.map_or(0, LateStore::entry)
            }
            _ => self.unknown(register),
        })
    }

    /// Stores to a register in an alternate space.
    #[cold]
    pub(super) fn store_register(&mut self, at: At, shift: u8, value: u64) -> Result<(), Trap> {
        let register = place(at);
        check(at, shift)?;
        let partition = self.local.partition;
        let core = self.id.core();
        match register {
            (HYP_SCRATCHPAD, _) | INSTRUCTION_TAG | DATA_TAG | DATA_FAULT => {
                self.local.registers.insert(register, value);
            }
            PARTITION => {
                self.local.partition = value as u8 & 7;
                self.local.forget_pages();
            }
            (INSTRUCTION_IN, at) => {
                let tag = self.echoed(INSTRUCTION_TAG);
                if let Some(entry) = Entry::new(partition, at, tag, value) {
                    self.shared.cores[core].instructions.insert(entry);
                    self.translation_changed();
                } else {
                    self.log(What::Store(register.0, register.1));
                }
            }
            (DATA_IN, at) => {
                let tag = self.echoed(DATA_TAG);
                if let Some(entry) = Entry::new(partition, at, tag, value) {
                    self.shared.cores[core].data.insert(entry);
                    self.translation_changed();
                } else {
                    self.log(What::Store(register.0, register.1));
                }
            }
            (INSTRUCTION_DEMAP, at) => {
                self.shared.cores[core].instructions.demap(partition, at);
                self.translation_changed();
            }
            (DATA_DEMAP, at) => {
                self.shared.cores[core].data.demap(partition, at);
                self.translation_changed();
            }
            (CMP, address) => self.set_running(register, address, value),
            (INTR_RECEIVE, _) => {
                self.local.vectors &= value;
                self.done.touched = true;
            }
            (INTR_W, _) => {
                let to = StrandId::new((value >> 8 & 0xff) as usize);
                let to = to.filter(|to| to.index() < self.shared.machine.strands());
                if let Some(to) = to {
                    let arrives = self.now + interrupts::latency(self.id, to);
                    let vector = value as u8 & 0x3f;
                    self.shared.orders.push(Order::Interrupt(to, arrives, vector));
                }
            }
            _ => {
                self.log(What::Store(register.0, register.1));
                self.local.registers.insert(register, value);
            }
        }
        Ok(())
    }

    /// Returns what was written to a register.
    pub(super) fn echoed(&self, register: Register) -> u64 {
        let word = self.local.registers.get(&register);
        word.copied().unwrap_or_default()
    }

    fn unknown(&mut self, (space, address): Register) -> u64 {
        self.log(What::Load(space, address));
        self.echoed((space, address))
    }

    fn log(&mut self, what: What) {
        self.shared.log.note(self.id, self.pc, what);
    }

    fn translation_changed(&mut self) {
        self.local.forget_pages();
        let core = self.id.core();
        self.shared.orders.push(Order::Translation(core));
    }

    /// Parks strands of a node, or lets them run.
    fn set_running(&mut self, register: Register, address: u64, value: u64) {
        let node = Node::new((address >> 12) as usize);
        let node = node.filter(|node| self.shared.machine.has_node(*node));
        let Some(node) = node else {
            return self.log(What::Store(register.0, register.1));
        };
        let running = &mut self.shared.running[node.index()];
        *running = match address & 0xfff {
            0x50 => value,
            0x60 => *running | value,
            0x68 => *running & !value,
            _ => return self.log(What::Store(register.0, register.1)),
        };
        self.shared.orders.push(Order::Run(node, *running));
    }
}

/// Returns the register of an access. Both scratchpads are one.
const fn place(at: At) -> Register {
    match at.space {
        SCRATCHPAD => (HYP_SCRATCHPAD, at.address),
        space => (space, at.address),
    }
}

/// Registers are accessed as a whole, and privileged software does not reach two of its scratchpad.
fn check(at: At, shift: u8) -> Result<(), Trap> {
    let hypervisors = at.space == SCRATCHPAD && matches!(at.address, 0x20 | 0x28);
    if shift != 3 || hypervisors && at.level < Level::Hyperprivileged {
        return Err(Trap::DATA_ACCESS_EXCEPTION);
    }
    Ok(())
}

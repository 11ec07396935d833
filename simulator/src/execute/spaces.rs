//! Registers in alternate spaces (OpenSPARC T2 Programmer's Reference Manual, chapters 3, 9, 12 and 14).
//!
//! A load from a register that has no effect in this machine returns the value last stored. The log has the first load from each such
//! register, and the first store to it.

use guest_abi::{Node, StrandId};

use super::cost::Cost;
use super::effects::Effect;
use super::interrupts;
use super::log::What;
use super::reach::Reach;
use super::stores;
use super::tlb::{CoreTlbs, DATA_FAULT, DATA_TAG, Entry, INSTRUCTION_TAG, Tlb};
use crate::interpreter::{At, Level, Trap};

/// A register in an alternate address space: its ASI, and its address there.
type SpaceRegister = (u8, u64);

/// ASI_SCRATCHPAD, for privileged software, and ASI_HYP_SCRATCHPAD. Both spaces have the same eight registers, two of which only the
/// hypervisor may use.
const SCRATCHPAD: u8 = 0x20;
const HYP_SCRATCHPAD: u8 = 0x4f;

/// ASI_CMP, whose registers say which strands exist and which run. Node 0's registers come first. Each further node's registers are 0x1000
/// higher (*assumed*).
const CMP: u8 = 0x41;

/// ASI_CMP_CORE. `INTR_ID` holds the strand's number as an interrupt target. `CORE_ID` (ASI_CMP_CORE_ID) holds the strand's number in bits
/// 7:0, the highest strand number in bits 23:16, and the number of a core's last strand in bits 34:32. On the T2, strand numbers have six
/// bits. It is *assumed* that strands are numbered across all nodes.
const CORE: u8 = 0x63;
const INTR_ID: SpaceRegister = (CORE, 0);
const CORE_ID: SpaceRegister = (CORE, 0x10);

/// The ASI of the register that has a bit for each vector: 1 if the vector was received but not served.
const INTR_RECEIVE: u8 = 0x72;
/// A store to this ASI sends an interrupt.
const INTR_W: u8 = 0x73;
/// A load from this ASI returns the highest received vector and clears the vector.
const INTR_R: u8 = 0x74;

/// The register that holds the number of the partition whose real addresses the strand uses.
const PARTITION: SpaceRegister = (0x58, 0x80);

/// ASIs of the TLB registers. A store to a data-in register loads an entry. A store to a demap register removes entries.
const INSTRUCTION_IN: u8 = 0x54;
const DATA_IN: u8 = 0x5c;
const INSTRUCTION_DEMAP: u8 = 0x57;
const DATA_DEMAP: u8 = 0x5f;

impl<C: Cost> Reach<'_, C> {
    #[cold]
    pub(super) fn load_register(&mut self, at: At, shift: u8) -> Result<u64, Trap> {
        let register = register_at(at);
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
                let highest = self.local.vectors.checked_ilog2().unwrap_or(0);
                self.done.touched = true;
                self.local.vectors &= !(1 << highest);
                highest.into()
            }
            stores::DFESR => {
                self.local.reported = self.local.failed.take();
                let status = |store| self.shared.stores.status(store);
                self.local.reported.as_ref().map_or(0, status)
            }
            (space, at) if (space, at & !stores::SELECTS) == stores::STORE_BUFFER => {
                self.local.entries.read(at)
            }
            _ => self.unknown(register),
        })
    }

    #[cold]
    pub(super) fn store_register(&mut self, at: At, shift: u8, value: u64) -> Result<(), Trap> {
        let register = register_at(at);
        check(at, shift)?;
        let partition = self.local.partition;
        match register {
            (HYP_SCRATCHPAD, _) | INSTRUCTION_TAG | DATA_TAG | DATA_FAULT => {
                self.local.registers.insert(register, value);
            }
            PARTITION => {
                self.local.partition = value as u8 & 7;
                self.local.forget_pages();
            }
            (space @ (INSTRUCTION_IN | DATA_IN), at) => {
                let is_data = space == DATA_IN;
                let tag = self.echoed(if is_data { DATA_TAG } else { INSTRUCTION_TAG });
                if let Some(entry) = Entry::new(partition, at, tag, value) {
                    self.change_tlb(is_data, |tlb| tlb.insert(entry));
                } else {
                    self.log(What::Store(space, at));
                }
            }
            (space @ (INSTRUCTION_DEMAP | DATA_DEMAP), at) => {
                self.change_tlb(space == DATA_DEMAP, |tlb| tlb.demap(partition, at));
            }
            (CMP, address) => self.set_running(address, value),
            (INTR_RECEIVE, _) => {
                self.local.vectors &= value;
                self.done.touched = true;
            }
            (INTR_W, _) => {
                let to = StrandId::new((value >> 8 & 0xff) as usize);
                if let Some(to) = to.filter(|to| to.index() < self.shared.machine.strands()) {
                    let arrives = self.now + interrupts::latency(self.id, to);
                    let vector = value as u8 & 0x3f;
                    self.shared.effects.push(Effect::Interrupt(to, arrives, vector));
                }
            }
            (space, address) => {
                self.log(What::Store(space, address));
                self.local.registers.insert(register, value);
            }
        }
        Ok(())
    }

    /// Returns what was last written to a register that has no effect.
    fn echoed(&self, register: SpaceRegister) -> u64 {
        let word = self.local.registers.get(&register);
        word.copied().unwrap_or_default()
    }

    fn unknown(&mut self, (space, address): SpaceRegister) -> u64 {
        self.log(What::Load(space, address));
        self.echoed((space, address))
    }

    fn log(&mut self, what: What) {
        self.shared.log.note(self.id, self.pc, what);
    }

    fn change_tlb(&mut self, is_data: bool, change: impl FnOnce(&mut Tlb)) {
        let core = self.id.core();
        let CoreTlbs { instructions, data } = &mut self.shared.cores[core];
        change(if is_data { data } else { instructions });
        self.local.forget_pages();
        self.shared.effects.push(Effect::Translation(core));
    }

    /// Parks or starts a node's strands.
    fn set_running(&mut self, address: u64, value: u64) {
        let node = Node::new((address >> 12) as usize);
        let Some(node) = node.filter(|node| self.shared.machine.has_node(*node)) else {
            return self.log(What::Store(CMP, address));
        };
        let running = &mut self.shared.running[node.index()];
        *running = match address & 0xfff {
            0x50 => value,
            0x60 => *running | value,
            0x68 => *running & !value,
            _ => return self.log(What::Store(CMP, address)),
        };
        self.shared.effects.push(Effect::Run(node, *running));
    }
}

/// Returns the register that an access reaches. The two scratchpad spaces have the same registers.
const fn register_at(at: At) -> SpaceRegister {
    match at.space {
        SCRATCHPAD => (HYP_SCRATCHPAD, at.address),
        space => (space, at.address),
    }
}

/// Returns a trap if the access is not 64 bits wide, or if software other than the hypervisor accesses a scratchpad that only the
/// hypervisor may use.
fn check(at: At, shift: u8) -> Result<(), Trap> {
    let hypervisors = at.space == SCRATCHPAD && matches!(at.address, 0x20 | 0x28);
    if shift != 3 || hypervisors && at.level < Level::Hyperprivileged {
        return Err(Trap::DATA_ACCESS_EXCEPTION);
    }
    Ok(())
}

//! What an instruction can access: translated memory, devices and alternate spaces.

use guest_abi::StrandId;
use platform::models::Devices;
use platform::{AccessError, Bus, PhysicalAddress};

use super::buffers::{BufferedStore, Target};
use super::cost::Cost;
use super::effects::{Effect, Observed};
use super::log::What;
use super::map::Device;
use super::physical::PageNumber;
use super::shared::Shared;
use super::stores::{self, PendingStore};
use super::strand::{Local, State};
use super::tlb::{DATA_FAULT, DATA_TAG, INSTRUCTION_TAG};
use crate::interpreter::{At, CounterRegister, Environment, Instruction, Level, Trap};
use crate::machine::clock::access_cycles;
use crate::recording::{Kind, Reference};

/// The parts of the machine that a strand can reach during its turn.
pub(super) struct Reach<'a, C> {
    pub(super) id: StrandId,
    /// The time at which the current instruction began, in cycles.
    pub(super) now: u64,
    pub(super) pc: u64,
    pub(super) local: &'a mut Local,
    pub(super) shared: &'a mut Shared,
    pub(super) devices: &'a Devices,
    pub(super) cost: &'a mut C,
    pub(super) done: InstructionEffects,
}

/// What the current instruction has done.
#[derive(Clone, Copy, Debug)]
pub(super) struct InstructionEffects {
    /// The instruction and its physical address; `None` if the fetch failed.
    pub(super) fetched: Option<(Instruction, u64)>,
    /// The memory access; `None` if there is none. An atomic instruction has a single access.
    pub(super) data: Option<Reference>,
    /// The number of cycles that the instruction takes, not counting its memory accesses.
    pub(super) cycles: u64,
    /// The time at which the strand tries the instruction again; `None` if the instruction does not have to wait. An instruction that
    /// waits has changed nothing.
    pub(super) retry_at: Option<u64>,
    /// Whether the instruction has changed the pending interrupts without writing a control register.
    pub(super) touched: bool,
}

impl InstructionEffects {
    pub(super) const NOTHING: Self =
        Self { fetched: None, data: None, cycles: 0, retry_at: None, touched: false };
}

enum Location {
    Memory(PageNumber, u64),
    /// Memory in a machine with store buffers. Strands do not remember this memory's pages. So an access to a remembered page never needs
    /// to check for store buffers.
    Buffered(PageNumber, u64),
    Device(u64),
}

impl<C: Cost> Reach<'_, C> {
    #[inline(always)]
    pub(super) const fn begin(&mut self, now: u64, pc: u64) {
        (self.now, self.pc) = (now, pc);
        self.done.fetched = None;
        self.done.data = None;
        self.done.cycles = 0;
        self.done.retry_at = None;
        self.done.touched = false;
    }

    /// Returns what is at the address of a load or store: memory or a device.
    #[inline(always)]
    fn locate(&mut self, at: At, write: bool) -> Result<Location, Trap> {
        let bypass = is_physical(at);
        match self.local.data(at.address, bypass, write) {
            Some((page, physical)) => Ok(Location::Memory(page, physical)),
            None => self.locate_untranslated(at, bypass, write),
        }
    }

    #[cold]
    fn locate_untranslated(&mut self, at: At, bypass: bool, write: bool) -> Result<Location, Trap> {
        let (physical, writable) =
            if bypass { (at.address, true) } else { self.translated(at.address, write)? };
        let Some(page) = self.shared.physical.page(physical) else {
            return Ok(Location::Device(physical));
        };
        if self.shared.buffers {
            return Ok(Location::Buffered(page, physical));
        }
        self.local.know_data(at.address, bypass, page, physical, writable);
        Ok(Location::Memory(page, physical))
    }

    /// Returns the physical address for a data access's real address, and whether stores are allowed.
    fn translated(&mut self, real: u64, write: bool) -> Result<(u64, bool), Trap> {
        let Shared { niagara, physical, .. } = &*self.shared;
        if let Some(physical) = niagara.untranslated(physical, real) {
            return physical
                .map(|physical| (physical, true))
                .ok_or(Trap::DATA_REAL_TRANSLATION_MISS);
        }
        let core = &self.shared.cores[self.id.core()];
        let Some(entry) = core.data.find(self.local.partition, real) else {
            self.local.registers.insert(DATA_TAG, real & !0x1fff);
            return Err(Trap::DATA_REAL_TRANSLATION_MISS);
        };
        if write && !entry.writable {
            self.local.registers.insert(DATA_FAULT, real);
            return Err(Trap::DATA_ACCESS_EXCEPTION);
        }
        Ok((entry.translated(real), entry.writable))
    }

    #[inline(always)]
    fn note(&mut self, kind: Kind, level: Level, physical: u64, shift: u8, value: u64) {
        let size = 1 << shift;
        // If the instruction has already accessed data, this access is the store of an atomic instruction.
        let whole = if self.done.data.is_some() { Kind::Modify } else { kind };
        self.done.data = Some(Reference::new(physical, size, whole));
        if self.shared.observes {
            self.observe(kind, level, physical, size, value);
        }
    }

    #[cold]
    fn observe(&mut self, kind: Kind, level: Level, physical: u64, size: u16, value: u64) {
        let (strand, time) = (self.id, self.now);
        let access = Observed { strand, time, level, physical, size, kind, value };
        if let Some(observer) = &mut self.shared.observer {
            observer(&access);
        }
        if self.shared.watch.as_ref().is_some_and(|stops| stops(&access)) {
            self.shared.effects.push(Effect::Watched(access));
        }
    }

    fn device_at(&self, physical: u64) -> Device {
        let Shared { consoles, log_address, .. } = &*self.shared;
        Device::at(physical, consoles.len(), *log_address)
    }

    #[cold]
    fn load_device(&mut self, at: At, physical: u64, shift: u8) -> Result<u64, Trap> {
        let mut earlier = self.local.stores.iter().rev();
        if let Some(store) = earlier.find(|store| store.is_same_device(physical)) {
            self.done.retry_at = Some(store.completes);
            return Err(Trap::DATA_ACCESS_ERROR);
        }
        self.complete_device_at(physical)?;
        let value = match self.device_at(physical) {
            Device::Console(number, register) => self.shared.consoles[number].read(register),
            Device::Log(register) => self.shared.hypervisor.read(register),
            _ if self.shared.niagara.has_no_devices() => 0,
            device => {
                self.cost.update_counters(self.id, self.now);
                let address = PhysicalAddress(physical);
                let read = match (device, shift) {
                    (Device::Ptimer, _) => self.shared.ptimer.read(physical, shift, self.now),
                    (_, 3) => self.devices.read(self.id, address),
                    _ => Err(AccessError::Fault),
                };
                let Ok(value) = read else {
                    self.nothing(physical);
                    self.local.registers.insert(DATA_FAULT, at.address);
                    return Err(Trap::DATA_ACCESS_ERROR);
                };
                self.done.cycles = stores::DEVICE_LATENCY + access_cycles(address);
                value
            }
        };
        self.observe(Kind::Load, at.level, physical, 1 << shift, value);
        Ok(value)
    }

    /// Issues a store to a device. The store completes later.
    #[cold]
    fn store_device(&mut self, at: At, physical: u64, shift: u8, value: u64) -> Result<(), Trap> {
        match self.device_at(physical) {
            Device::Console(number, register) => {
                self.shared.consoles[number].write(register, value)
            }
            Device::Log(register) => self.shared.hypervisor.write(register, value),
            _ if self.shared.niagara.has_no_devices() => {}
            _ if self.shared.buffers => {
                let store = BufferedStore { address: physical, shift, value };
                self.wait(Target::Device, store);
            }
            _ => {
                let stores = &mut self.local.stores;
                if stores.len() == stores::MAX_STORES {
                    self.done.retry_at = stores.front().map(|store| store.completes);
                    return Err(Trap::DATA_ACCESS_ERROR);
                }
                let after = stores.back().map_or(0, |store| store.completes);
                let entry = self.local.entries.take(physical);
                let conduct = &mut self.shared.stores;
                let access = (physical, shift, value);
                let store = PendingStore::new(access, entry, conduct, self.now, after);
                stores.push_back(store);
                self.local.due = self.local.due.min(store.completes);
            }
        }
        self.observe(Kind::Store, at.level, physical, 1 << shift, value);
        Ok(())
    }

    fn nothing(&mut self, physical: u64) {
        self.shared.log.note(self.id, self.pc, What::NoDevice(physical));
    }

    #[cold]
    fn new_code(&mut self, address: u64, level: Level) -> Result<Instruction, Trap> {
        let bypass = level == Level::Hyperprivileged;
        let Shared { niagara, physical, .. } = &*self.shared;
        let physical = if bypass {
            address
        } else if let Some(physical) = niagara.untranslated(physical, address) {
            physical.ok_or(Trap::INSTRUCTION_REAL_TRANSLATION_MISS)?
        } else {
            let core = &self.shared.cores[self.id.core()];
            match core.instructions.find(self.local.partition, address) {
                Some(entry) => entry.translated(address),
                None => {
                    self.local.registers.insert(INSTRUCTION_TAG, address & !0x1fff);
                    return Err(Trap::INSTRUCTION_REAL_TRANSLATION_MISS);
                }
            }
        };
        let Some(page) = self.shared.physical.page(physical) else {
            self.nothing(physical);
            return Err(Trap::INSTRUCTION_ACCESS_ERROR);
        };
        self.local.know_code(address, bypass, page, physical);
        Ok(self.fetched(page, physical, level))
    }

    #[inline(always)]
    fn fetched(&mut self, page: PageNumber, physical: u64, level: Level) -> Instruction {
        let instruction = self.shared.physical.instruction(page, physical);
        self.done.fetched = Some((instruction, physical));
        if self.shared.observes {
            let word = self.shared.physical.read(page, physical, 2);
            self.observe(Kind::FetchOther, level, physical, 4, word);
        }
        instruction
    }
}

impl<C: Cost> Environment for Reach<'_, C> {
    #[inline(always)]
    fn fetch(&mut self, address: u64, level: Level) -> Result<Instruction, Trap> {
        match self.local.code(address, level == Level::Hyperprivileged) {
            Some((page, physical)) => Ok(self.fetched(page, physical, level)),
            None => self.new_code(address, level),
        }
    }

    #[inline(always)]
    fn load(&mut self, at: At, shift: u8) -> Result<u64, Trap> {
        if !is_memory(at.space) {
            return self.load_register(at, shift);
        }
        match self.locate(at, false)? {
            Location::Memory(page, physical) => {
                let value = self.shared.physical.read(page, physical, shift);
                self.note(Kind::Load, at.level, physical, shift, value);
                Ok(value)
            }
            Location::Buffered(page, physical) => {
                let value = self.shared.physical.read(page, physical, shift);
                let value = self.forwarded(physical, shift, value);
                self.note(Kind::Load, at.level, physical, shift, value);
                Ok(value)
            }
            Location::Device(physical) => self.load_device(at, physical, shift),
        }
    }

    #[inline(always)]
    fn store(&mut self, at: At, shift: u8, value: u64) -> Result<(), Trap> {
        if !is_memory(at.space) {
            return self.store_register(at, shift, value);
        }
        match self.locate(at, true)? {
            Location::Memory(page, physical) => {
                self.shared.physical.write(page, physical, shift, value);
                self.note(Kind::Store, at.level, physical, shift, value);
                if physical == self.shared.power && value & 1 == 1 {
                    self.shared.effects.push(Effect::Off);
                }
                Ok(())
            }
            Location::Buffered(_, physical) => {
                self.wait(Target::Memory, BufferedStore { address: physical, shift, value });
                self.note(Kind::Store, at.level, physical, shift, value);
                Ok(())
            }
            Location::Device(physical) => self.store_device(at, physical, shift, value),
        }
    }

    #[inline(always)]
    fn change(&mut self, at: At, shift: u8, changed: impl FnOnce(u64) -> u64) -> Result<u64, Trap> {
        if self.shared.buffers {
            self.complete_memory();
        }
        let old = self.load(at, shift)?;
        self.store(at, shift, changed(old))?;
        if self.shared.buffers {
            self.complete_memory();
        }
        Ok(old)
    }

    fn read(&mut self, register: CounterRegister, level: Level) -> Result<u64, Trap> {
        let niagara = self.shared.niagara;
        Ok(match register {
            CounterRegister::Tick => self.local.tick.read(niagara, self.now),
            CounterRegister::Stick => self.local.stick.read(niagara, self.now),
            CounterRegister::Status => 1,
            CounterRegister::Pcr => {
                self.cost.update_counters(self.id, self.now);
                self.devices.strand_unit(self.id).pcr()
            }
            CounterRegister::Pic => {
                self.cost.update_counters(self.id, self.now);
                let unit = self.devices.strand_unit(self.id);
                // If %pcr.PRIV is set, nonprivileged software may not access %pic.
                if level == Level::User && unit.pcr() & 1 != 0 {
                    return Err(Trap::PRIVILEGED_ACTION);
                }
                unit.pic()
            }
        })
    }

    fn write(&mut self, register: CounterRegister, value: u64, level: Level) -> Result<(), Trap> {
        match register {
            CounterRegister::Tick => self.local.tick.write(value, self.shared.niagara, self.now),
            CounterRegister::Stick => self.local.stick.write(value, self.shared.niagara, self.now),
            CounterRegister::Status if value & 1 == 0 => self.local.state = State::Halted,
            CounterRegister::Status => {}
            CounterRegister::Pcr => {
                self.cost.update_counters(self.id, self.now);
                let mut unit = self.devices.strand_unit(self.id);
                match level {
                    Level::Hyperprivileged => unit.set_pcr(value),
                    _ => unit.set_pcr_privileged(value),
                }
            }
            CounterRegister::Pic => {
                self.cost.update_counters(self.id, self.now);
                let mut unit = self.devices.strand_unit(self.id);
                if level == Level::User && unit.pcr() & 1 != 0 {
                    return Err(Trap::PRIVILEGED_ACTION);
                }
                unit.set_pic(value);
            }
        }
        Ok(())
    }

    fn membar(&mut self, mask: u8) -> Result<(), Trap> {
        // #Sync is bit 2 of cmask, which is bits 6:4 of the mask.
        if mask & 1 << 6 != 0
            && let Some(last) = self.local.stores.back()
        {
            self.done.retry_at = Some(last.completes);
            return Err(Trap::STORE_ERROR);
        }
        if self.shared.buffers { self.complete_for(mask) } else { Ok(()) }
    }
}

#[inline(always)]
fn is_physical(at: At) -> bool {
    at.level == Level::Hyperprivileged && !matches!(at.space, 0x14 | 0x15)
}

/// Returns whether an ASI is for memory: for ordinary loads and stores, for real addresses, or for nonfaulting loads.
#[inline(always)]
const fn is_memory(space: u8) -> bool {
    matches!(space, 0x04 | 0x10 | 0x11 | 0x14 | 0x15 | 0x24 | 0x80..)
}

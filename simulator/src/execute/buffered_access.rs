//! A strand's accesses and barriers while its stores wait in [store buffers](super::buffers).

use super::buffers::{BufferedStore, StoreBuffer, Target, completes};
use super::cost::Cost;
use super::effects::Effect;
use super::reach::Reach;
use super::shared::Shared;
use super::stores::{PendingStore, is_same_device};
use crate::interpreter::Trap;

impl<C: Cost> Reach<'_, C> {
    /// Returns the value that the strand loads from an address where memory contains `value`. The strand also sees its own waiting stores.
    #[cold]
    pub(super) fn forwarded(&self, address: u64, shift: u8, value: u64) -> u64 {
        self.local.waiting.forwarded(address, shift, value)
    }

    #[cold]
    pub(super) fn wait(&mut self, target: Target, store: BufferedStore) {
        let StoreBuffer { memory, devices } = &mut self.local.waiting;
        match target {
            Target::Memory => memory.push_back(store),
            Target::Device => devices.push_back(store),
        }
    }

    /// Completes and returns the oldest store to memory or to devices; `None` if no store waits.
    pub(super) fn complete(&mut self, target: Target) -> Option<BufferedStore> {
        let StoreBuffer { memory, devices } = &mut self.local.waiting;
        let store = match target {
            Target::Memory => memory.pop_front(),
            Target::Device => devices.pop_front(),
        }?;
        let BufferedStore { address, shift, value } = store;
        match target {
            Target::Memory => {
                let page = self.shared.physical.page(address).expect("a store to memory");
                self.shared.physical.write(page, address, shift, value);
                if address == self.shared.power && value & 1 == 1 {
                    self.shared.effects.push(Effect::Off);
                }
            }
            Target::Device => {
                let entry = self.local.entries.take(address);
                let late = PendingStore::at(self.now, (address, shift, value), entry);
                self.cost.update_counters(self.id, self.now);
                let Shared { ptimer, effects, .. } = self.shared;
                if late.complete(self.id, self.devices, ptimer, effects, self.now).is_err() {
                    self.local.note_failed(late, self.now);
                }
                self.cost.settings_changed();
            }
        }
        Some(store)
    }

    /// Completes all stores to memory.
    #[cold]
    pub(super) fn complete_memory(&mut self) {
        while self.complete(Target::Memory).is_some() {}
    }

    /// Completes all stores to devices up to the last store to the device at this address.
    ///
    /// # Errors
    /// A store has failed. After the trap, the strand retries the instruction.
    #[cold]
    pub(super) fn complete_device_at(&mut self, address: u64) -> Result<(), Trap> {
        let devices = &self.local.waiting.devices;
        let last = devices.iter().rposition(|store| is_same_device(store.address, address));
        self.complete_devices(last.map_or(0, |last| last + 1))
    }

    fn complete_devices(&mut self, number: usize) -> Result<(), Trap> {
        for _ in 0..number {
            self.complete(Target::Device);
        }
        if number > 0 && self.local.failing {
            self.local.due = self.now;
            self.done.retry_at = Some(self.now);
            return Err(Trap::STORE_ERROR);
        }
        Ok(())
    }

    /// Executes a `membar`.
    ///
    /// # Errors
    /// A store to a device has failed. After the trap, the strand retries the instruction.
    #[cold]
    pub(super) fn complete_for(&mut self, membar: u8) -> Result<(), Trap> {
        let [memory, devices] = completes(membar);
        if memory {
            self.complete_memory();
        }
        if devices {
            self.complete_devices(self.local.waiting.devices.len())?;
        }
        Ok(())
    }
}

//! The bus and the strand's registers of the service: real devices, or models of them.

use platform::Machine;

#[cfg(not(any(feature = "models", feature = "faults", feature = "memory")))]
mod real {
    use platform::sparc64::{Mmio, StrandRegs};

    pub type Board = Mmio;
    pub type Registers = StrandRegs;

    pub fn new(_: super::Machine) -> (Board, Registers) {
        // SAFETY: this is a hypervisor with the MMU off and one strand. What the service asks for are device registers.
        unsafe { (Mmio::new(), StrandRegs::new(super::cross_call)) }
    }
}

#[cfg(feature = "models")]
mod models {
    use platform::models::Devices;

    use crate::room::Room;

    pub type Board = &'static Devices;
    pub type Registers = &'static Devices;

    static DEVICES: Room<Devices> = Room::new();

    pub fn new(machine: super::Machine) -> (Board, Registers) {
        // SAFETY: the image makes another machine only when it does not use this one any more.
        let devices = unsafe { DEVICES.put(Devices::new(machine)) };
        devices.start_caches();
        (devices, devices)
    }

    /// The models know all strands.
    #[cfg(feature = "control")]
    pub fn become_strand(_: guest_abi::StrandId) {}
}

#[cfg(all(feature = "faults", not(feature = "models")))]
mod faults {
    use guest_abi::StrandId;
    use platform::sparc64::{Mmio, StrandRegs};
    use platform::{AccessError, Bus, PhysicalAddress};

    /// Real devices, but the addresses of channel 1 of node 0 and of hub 3 are changed to ones that are not aligned, and trap. A
    /// store to hub 1 traps only where the strand waits for it: see [`trap_in_wait`].
    pub struct Board(Mmio);

    pub type Registers = StrandRegs;

    pub fn new(_: super::Machine) -> (Board, Registers) {
        // SAFETY: this is a hypervisor with the MMU off and one strand. What the service asks for are device registers,
        // and the trap handler answers for those that are not. No hypercall has been made yet.
        unsafe { trap_in_wait() };
        // SAFETY: as above.
        unsafe { (Board(Mmio::new()), StrandRegs::new(super::cross_call)) }
    }

    /// Replaces the instruction in which the fast path of a hub's set waits for the store. QEMU's stores fault at once or never.
    /// The new one, `ldx [%o1 + 0], %g0`, loads from the address that equals the value of the call: it traps if the value is not
    /// a multiple of eight.
    ///
    /// # Safety
    /// Called before the first hypercall.
    unsafe fn trap_in_wait() {
        unsafe extern "C" {
            static mut sun4v_set_hub_wait: u32;
        }
        // SAFETY: the MMU is off, so that the instruction can be written, and it has not been executed.
        unsafe { (&raw mut sun4v_set_hub_wait).write_volatile(0xc05a_6000) }
    }

    #[inline(always)]
    fn bent(PhysicalAddress(address): PhysicalAddress) -> PhysicalAddress {
        // One register at a time, so that leaf functions stay leaf functions. Bits 39:34 are 0b111011 for hub 3, and a one
        // more changes bit 36 then only. Bit 12 is the number of a channel; bit 38 tells hubs from memory controllers.
        let address = address | (address + (1 << 34)) >> 34 & 4;
        PhysicalAddress(address | (address & !(address >> 26)) >> 10 & 4)
    }

    impl Bus for Board {
        fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
            self.0.read(strand, bent(address))
        }

        fn write(
            &self,
            strand: StrandId,
            address: PhysicalAddress,
            value: u64,
        ) -> Result<(), AccessError> {
            // Bits 39:34 are 0b111001 for hub 1.
            let late = u64::from(address.0 >> 34 == 0b11_1001) << 2;
            self.0
                .write(strand, PhysicalAddress(bent(address).0 | late), value)
        }

        fn is_direct() -> bool {
            true
        }

        #[inline(always)]
        fn read_or_trap(
            &self,
            strand: StrandId,
            address: PhysicalAddress,
        ) -> Result<u64, AccessError> {
            self.0.read_or_trap(strand, bent(address))
        }

        #[inline(always)]
        fn write_or_trap(
            &self,
            strand: StrandId,
            address: PhysicalAddress,
            value: u64,
        ) -> Result<(), AccessError> {
            self.0.write_or_trap(strand, bent(address), value)
        }

        #[inline(always)]
        fn complete_writes(&self, strand: StrandId) {
            self.0.complete_writes(strand);
        }
    }
}

#[cfg(feature = "memory")]
pub use crate::memory::*;
#[cfg(all(feature = "faults", not(feature = "models")))]
pub use faults::*;
#[cfg(feature = "models")]
pub use models::*;
#[cfg(not(any(feature = "models", feature = "faults", feature = "memory")))]
pub use real::*;

const _: fn(Machine) -> (Board, Registers) = new;

/// Only what the operator does sends cross-calls, and this image has no operator.
#[cfg(not(any(feature = "models", feature = "memory")))]
fn cross_call(_: guest_abi::StrandId) {}

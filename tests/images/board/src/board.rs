//! The bus and the strand registers that the service uses, either real or modelled.

#[cfg(not(feature = "memory"))]
use platform::Machine;

#[cfg(not(any(feature = "models", feature = "faults", feature = "memory")))]
mod real {
    use platform::sparc64::{Mmio, StrandRegs};

    pub type Bus = Mmio;
    pub type Registers = StrandRegs;

    pub fn new(_: super::Machine) -> (Bus, Registers) {
        // SAFETY: this is a hypervisor with the MMU off and one strand. The service accesses only device registers.
        unsafe { (Mmio::new(), StrandRegs::new(hypervisor::cross_call)) }
    }
}

#[cfg(feature = "models")]
mod models {
    use platform::models::Devices;

    use crate::static_slot::StaticSlot;

    pub type Bus = &'static Devices;
    pub type Registers = &'static Devices;

    static DEVICES: StaticSlot<Devices> = StaticSlot::new();

    pub fn new(machine: super::Machine) -> (Bus, Registers) {
        // SAFETY: when the image creates another machine, it no longer uses the previous one.
        let devices = unsafe { DEVICES.put(Devices::new(machine)) };
        devices.start_caches();
        (devices, devices)
    }

    /// Has no effect, because the models hold the registers of all strands.
    #[cfg(feature = "control")]
    pub fn become_strand(_: guest_abi::StrandId) {}
}

#[cfg(all(feature = "faults", not(feature = "models")))]
mod faults {
    use guest_abi::StrandId;
    use perfctr_service::sparc64::layout;
    use platform::sparc64::{FastPath, Mmio, StrandRegs};
    use platform::{AccessError, PhysicalAddress};

    /// Real devices, except that a store to hub 1 traps. On the fast path, the strand takes the trap where it waits for the store:
    /// see [`trap_in_wait`].
    pub struct Bus(Mmio);

    pub type Registers = StrandRegs;

    pub fn new(_: super::Machine) -> (Bus, Registers) {
        // SAFETY: no hypercall has been made yet.
        unsafe { trap_in_wait() };
        // SAFETY: this is a hypervisor with the MMU off and one strand. An access outside of the device registers traps.
        unsafe { (Bus(Mmio::new()), StrandRegs::new(hypervisor::cross_call)) }
    }

    /// On the fast path, a call that sets a hub register waits at one instruction until the store is done. Replaces that instruction with
    /// one that can trap, because a store in QEMU faults immediately or never. The new instruction, `ldx [%o1 + 0], %g0`, uses the call's
    /// value as an address, and traps if the value is not a multiple of eight.
    ///
    /// # Safety
    /// The image must call this function before the first hypercall.
    unsafe fn trap_in_wait() {
        unsafe extern "C" {
            static mut perfctr_wait_hub: u32;
        }
        // SAFETY: the MMU is off, so the instruction can be written. The strand has not executed the instruction yet.
        unsafe { (&raw mut perfctr_wait_hub).write_volatile(0xc05a_6000) }
    }

    /// Misaligns the addresses of node 0's channel 1 and of hub 3 in the service's register table, so that accesses to them trap.
    ///
    /// # Safety
    /// The image must call this function before the first hypercall, on a strand of node 0.
    pub unsafe fn bend_table(context: &impl FastPath) {
        let rows = context.words()[layout::word::ROWS] as *mut u64;
        for register in [4, 5].into_iter().chain(72..90) {
            // SAFETY: the table has a row for each register, and the row begins with the address. While the
            // MMU is off, constants can be written. The service reads the table through pointers only.
            unsafe {
                let row = rows.byte_add(register << layout::ROW_SHIFT);
                row.write_volatile(row.read_volatile() | 4);
            }
        }
    }

    impl platform::Bus for Bus {
        fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
            self.0.read(strand, address)
        }

        fn write(
            &self,
            strand: StrandId,
            address: PhysicalAddress,
            value: u64,
        ) -> Result<(), AccessError> {
            // In hub 1's addresses, bits 39:34 are 0b111001. Adding 4 misaligns the address, so the store traps.
            let late = u64::from(address.0 >> 34 == 0b11_1001) << 2;
            self.0.write(strand, PhysicalAddress(address.0 | late), value)
        }

        fn is_direct() -> bool {
            true
        }

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

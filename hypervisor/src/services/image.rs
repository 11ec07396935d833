//! Defines what the services need from the hypervisor image.

use guest_abi::{HvError, StrandId};
use hv_core::{Caller, Embedder, GuestId};

use super::description::{Memory, Platform};

/// What a guest reads from its console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleInput {
    /// A byte that the terminal has sent.
    Byte(u8),
    /// The break condition of a serial line.
    Break,
    /// The other end of the console has hung up.
    HangUp,
}

/// The hypervisor image below the services. Methods with a [`Caller`] execute on the caller's strand. Output goes to [`Embedder::console`].
pub trait Image: Embedder {
    /// Returns the strand of a guest's virtual CPU; `None` if there is no such CPU. CPUs are numbered from 0. The strand of a CPU never
    /// changes.
    fn strand(&self, guest: GuestId, cpu: u64) -> Option<StrandId>;

    /// Returns the calling virtual CPU's number.
    fn cpu(&self, caller: Caller) -> u64;

    /// Returns the address and size of the guest's memory.
    fn memory(&self, guest: GuestId) -> Memory;

    /// Returns the 64-bit word at a real address, which is a multiple of 8 within [`memory`](Self::memory).
    fn load(&self, guest: GuestId, real: u64) -> u64;

    /// Writes a 64-bit word. The address is as for [`load`](Self::load).
    fn store(&self, guest: GuestId, real: u64, value: u64);

    /// Interrupts `strand`, which then calls [`Cpus::take`](super::Cpus::take) and sees all the caller's earlier stores.
    fn notify(&self, strand: StrandId);

    /// Waits until an interrupt is pending for the caller. May return earlier.
    fn suspend(&self, caller: Caller);

    /// Records that the guest has ended with this code. The caller's strand leaves the guest next. The guest's other strands have already
    /// been told to leave it.
    fn exited(&self, caller: Caller, code: u64);

    /// Removes and returns one item of input from the guest's console; `None` if there is no input.
    fn console_input(&self, caller: Caller) -> Option<ConsoleInput>;

    /// Returns the guest's time of day, in seconds since 1970-01-01 00:00:00 UTC. Fails with ENOTSUPPORTED if the machine has no
    /// time-of-day clock, and with EWOULDBLOCK if the clock cannot be read now.
    fn time_of_day(&self, caller: Caller) -> Result<u64, HvError>;

    /// Sets the guest's time of day. The other guests' times of day do not change. Fails like [`time_of_day`](Self::time_of_day), and with
    /// EINVAL if the image cannot keep this time.
    fn set_time_of_day(&self, caller: Caller, seconds: u64) -> Result<(), HvError>;

    /// Returns the platform, for machine descriptions.
    fn platform(&self) -> Platform;
}

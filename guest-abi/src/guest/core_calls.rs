//! The calls of CORE_TRAP, which every guest has (sun4v specification, "core services").

use core::fmt;

use super::Hypercall;
use crate::group::{ApiGroup, Version};
use crate::status::HvError;
use crate::trap::{API_GET_VERSION, API_SET_VERSION, CONS_BREAK, CONS_PUTCHAR, EXIT, Trap};

/// Makes the calls that need no negotiation. Also writes to the guest's console, as a [`fmt::Write`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Core<H> {
    hypercall: H,
}

impl<H: Hypercall> Core<H> {
    /// Returns a client that makes its calls through `hypercall`.
    pub const fn new(hypercall: H) -> Self {
        Self { hypercall }
    }

    /// Requests a version of a group for the whole guest. Returns the granted version, whose minor number may be lower than the
    /// requested one. Major 0 releases the group.
    ///
    /// # Errors
    /// EINVAL if the hypervisor does not know the group, ENOTSUPPORTED if it does not know the major number.
    pub fn api_set_version(&self, group: ApiGroup, version: Version) -> Result<Version, HvError> {
        let arguments = [group.0, version.major, version.minor, 0, 0];
        let [minor, ..] = self.call(API_SET_VERSION, arguments)?;
        Ok(Version::new(version.major, minor))
    }

    /// Returns the negotiated version of a group; [`Version::NONE`] before negotiation. Fails with
    /// EINVAL if the hypervisor does not know the group.
    pub fn api_get_version(&self, group: ApiGroup) -> Result<Version, HvError> {
        let [major, minor, ..] = self.call(API_GET_VERSION, [group.0, 0, 0, 0, 0])?;
        Ok(Version::new(major, minor))
    }

    /// Writes one character to the guest's console. Fails with EWOULDBLOCK while the console is
    /// busy.
    pub fn putchar(&self, character: u8) -> Result<(), HvError> {
        self.call(CONS_PUTCHAR, [character.into(), 0, 0, 0, 0]).map(drop)
    }

    /// Sends a break to the guest's console. Fails like [`putchar`](Self::putchar).
    pub fn send_break(&self) -> Result<(), HvError> {
        self.call(CONS_PUTCHAR, [CONS_BREAK, 0, 0, 0, 0]).map(drop)
    }

    /// Stops the guest with an exit code. Returns only if the transport simulates the call, or if the hypervisor refuses it.
    pub fn exit(&self, code: u64) -> Result<(), HvError> {
        self.call(EXIT, [code, 0, 0, 0, 0]).map(drop)
    }

    /// Prints to the guest's console. `write!` and `writeln!` call this method. Fails like [`putchar`](Self::putchar); the characters
    /// before the refused one have been written.
    pub fn write_fmt(&self, text: fmt::Arguments<'_>) -> Result<(), HvError> {
        let mut printer = Printer { console: self, result: Ok(()) };
        let printed = fmt::Write::write_fmt(&mut printer, text);
        // If no call was refused, the only possible failure is a value that cannot be formatted.
        printer.result.and(printed.map_err(|_| HvError::Invalid))
    }

    fn call(&self, function: u64, arguments: [u64; 5]) -> Result<[u64; 5], HvError> {
        self.hypercall.call(Trap::Core, function, arguments)
    }
}

impl<H: Hypercall> fmt::Write for Core<H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| self.putchar(byte)).map_err(|_| fmt::Error)
    }
}

/// Keeps the status of a failed call, because [`fmt::Error`] cannot hold a status.
struct Printer<'a, H> {
    console: &'a Core<H>,
    result: Result<(), HvError>,
}

impl<H: Hypercall> fmt::Write for Printer<'_, H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.result = text.bytes().try_for_each(|byte| self.console.putchar(byte));
        self.result.map_err(|_| fmt::Error)
    }
}

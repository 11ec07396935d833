//! The context of a group that needs to know only which strand of which guest calls.

use guest_abi::{HvError, Registers};
use hv_core::{Caller, Context, NegotiatedVersion, Reply};

/// A group of functions that have no fast path.
pub trait Group {
    /// Serves a call of one of the group's functions, on the caller's strand. The error is the status of the call.
    fn call(&self, caller: Caller, function: u64, registers: &Registers) -> Result<Reply, HvError>;
}

/// The context of one strand at a group.
#[derive(Debug)]
pub struct GroupContext<'a, G> {
    pub(crate) group: &'a G,
    pub(crate) caller: Caller,
}

impl<G: Group> Context for GroupContext<'_, G> {
    #[inline(always)]
    fn slow_path(
        &self,
        function: u64,
        _: NegotiatedVersion,
        registers: &Registers,
    ) -> Result<Reply, HvError> {
        self.group.call(self.caller, function, registers)
    }

    #[inline(always)]
    fn is_current(&self, _: NegotiatedVersion) -> bool {
        true
    }
}

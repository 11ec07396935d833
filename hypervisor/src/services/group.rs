//! The context for a group that only needs to know the calling guest and strand.

use guest_abi::Registers;
use hv_core::{CallError, Caller, Context, Group, NegotiatedVersion, Reply};

/// A group of functions without a fast path.
pub trait Calls: Group {
    /// Serves a call of one of the group's functions, on the calling strand. The error is the status of the call.
    fn call(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Result<Reply, CallError>;
}

/// The context of a group for one strand: the group, and the strand with its guest.
#[derive(Debug)]
pub struct GroupContext<'a, G> {
    pub(crate) group: &'a G,
    pub(crate) caller: Caller,
}

impl<G: Calls> Context for GroupContext<'_, G> {
    type Group = G;

    #[inline(always)]
    fn call(
        &self,
        function: u64,
        _: NegotiatedVersion<G>,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        self.group.call(self.caller, function, registers)
    }

    #[inline(always)]
    fn is_current(&self, _: NegotiatedVersion<G>) -> bool {
        true
    }
}

//! Decodes hypercalls from the events of a trace.

use guest_abi::PerfReg;
use hv_core::trace::HypervisorEvent;
use perfctr_service::trace::ServiceEvent;

use super::DecodedEvent;

/// What a hypercall asks for: the function, with its register, group or number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TracedFunction {
    /// A read of the performance register with this number.
    Get(u64),
    /// A write of the performance register with this number.
    Set(u64),
    /// A negotiation of a version for the API group with this number.
    SetVersion(u64),
    /// A call to FAST_TRAP with this function number, which neither reads nor writes a performance
    /// register.
    Fast(u64),
}

impl TracedFunction {
    /// Returns the function's name in tables and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get(_) => "get",
            Self::Set(_) => "set",
            Self::SetVersion(_) => "set_version",
            Self::Fast(_) => "fast",
        }
    }

    /// Returns the number of the register that the function reads or writes; `None` for other functions.
    #[must_use]
    pub const fn register(self) -> Option<u64> {
        match self {
            Self::Get(id) | Self::Set(id) => Some(id),
            Self::SetVersion(_) | Self::Fast(_) => None,
        }
    }

    /// Returns the name of the register or group, or the function number.
    #[must_use]
    pub fn object(self) -> String {
        match self {
            Self::Get(id) | Self::Set(id) => match PerfReg::new(id) {
                Some(register) => register.name().to_owned(),
                None => format!("register {id}"),
            },
            Self::SetVersion(group) => format!("group {group:#x}"),
            Self::Fast(function) => format!("function {function:#x}"),
        }
    }
}

/// A hypercall in a trace, decoded from its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TracedCall {
    pub guest: u8,
    /// The function, with its register, group or number.
    pub function: TracedFunction,
    pub status: u64,
    /// How long the call took, in ticks.
    pub duration: u32,
    /// The value that the call read or wrote; `None` if the event does not have it.
    pub value: Option<u64>,
}

impl TracedCall {
    /// Decodes an event; `None` if the event is not a call.
    #[must_use]
    pub fn from_event(event: &DecodedEvent) -> Option<Self> {
        macro_rules! call {
            ($event:ident, $function:expr, $value:expr) => {
                Some(Self {
                    guest: $event.guest,
                    function: $function,
                    status: $event.status.into(),
                    duration: $event.duration,
                    value: $value,
                })
            };
        }
        use DecodedEvent::{Hypervisor, Service};
        use TracedFunction::{Fast, Get, Set, SetVersion};
        use {HypervisorEvent as H, ServiceEvent as S};
        match *event {
            Service(S::Get(e)) => call!(e, Get(e.perfreg.into()), Some(e.value)),
            Service(S::Set(e)) => call!(e, Set(e.perfreg.into()), Some(e.value)),
            Service(S::GetRefused(e)) => call!(e, Get(e.perfreg), None),
            Service(S::SetRefused(e)) => call!(e, Set(e.perfreg), Some(e.value)),
            Hypervisor(H::SetVersion(e)) => call!(e, SetVersion(e.group), None),
            Hypervisor(H::FastCall(e)) => call!(e, Fast(e.function), None),
            _ => None,
        }
    }
}

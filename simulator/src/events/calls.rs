//! Hypercalls in a trace.

use guest_abi::PerfReg;
use hv_core::trace::HypervisorEvent;
use perfctr_service::trace::ServiceEvent;

use super::DecodedEvent;

/// The function of a hypercall, with its register, group or number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TracedFunction {
    /// Reads the performance register with this number.
    Get(u64),
    /// Writes the performance register with this number.
    Set(u64),
    /// Negotiates a version of the API group with this number.
    SetVersion(u64),
    /// An unknown FAST_TRAP function with this number.
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

    /// Returns the number of the register, for a get or set.
    #[must_use]
    pub const fn register(self) -> Option<u64> {
        match self {
            Self::Get(id) | Self::Set(id) => Some(id),
            Self::SetVersion(_) | Self::Fast(_) => None,
        }
    }

    /// Returns the name of the register, the group or the function number.
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

/// A hypercall in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedCall {
    /// The number of the guest.
    pub guest: u8,
    /// The function and its object.
    pub function: TracedFunction,
    /// The returned status.
    pub status: u64,
    /// The duration in ticks.
    pub duration: u32,
    /// The value read or written, if the event has it.
    pub value: Option<u64>,
}

impl TracedCall {
    /// Returns the call of an event; `None` if the event is no call.
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
        use {HypervisorEvent as H, ServiceEvent as S};
        match *event {
            DecodedEvent::Service(S::Get(e)) => {
                call!(e, TracedFunction::Get(e.perfreg.into()), Some(e.value))
            }
            DecodedEvent::Service(S::Set(e)) => {
                call!(e, TracedFunction::Set(e.perfreg.into()), Some(e.value))
            }
            DecodedEvent::Service(S::GetRefused(e)) => {
                call!(e, TracedFunction::Get(e.perfreg), None)
            }
            DecodedEvent::Service(S::SetRefused(e)) => {
                call!(e, TracedFunction::Set(e.perfreg), Some(e.value))
            }
            DecodedEvent::Hypervisor(H::SetVersion(e)) => {
                call!(e, TracedFunction::SetVersion(e.group), None)
            }
            DecodedEvent::Hypervisor(H::FastCall(e)) => {
                call!(e, TracedFunction::Fast(e.function), None)
            }
            _ => None,
        }
    }
}

//! Events that are calls, in one form.

use guest_abi::PerfReg;
use hv_core::trace::HypervisorEvent;
use perfctr_service::trace::ServiceEvent;

use super::Event;

/// The function of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Function {
    /// Read a register.
    Get(u64),
    /// Write a register.
    Set(u64),
    /// Negotiate a version of a group.
    SetVersion(u64),
    /// A function that no service has.
    Fast(u64),
}

impl Function {
    /// Returns the name in tables and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get(_) => "get",
            Self::Set(_) => "set",
            Self::SetVersion(_) => "set_version",
            Self::Fast(_) => "fast",
        }
    }

    /// Returns the number of the register, if it reads or writes one.
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

/// A call of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The number of the guest.
    pub guest: u8,
    /// The function.
    pub function: Function,
    /// The status that the call returned.
    pub status: u64,
    /// How long it took, in ticks.
    pub duration: u32,
    /// The value that was read or written.
    pub value: Option<u64>,
}

impl Call {
    /// Returns the call that an event describes; `None` if it describes something else.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
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
            Event::Service(S::Get(e)) => call!(e, Function::Get(e.perfreg.into()), Some(e.value)),
            Event::Service(S::Set(e)) => call!(e, Function::Set(e.perfreg.into()), Some(e.value)),
            Event::Service(S::GetRefused(e)) => call!(e, Function::Get(e.perfreg), None),
            Event::Service(S::SetRefused(e)) => call!(e, Function::Set(e.perfreg), Some(e.value)),
            Event::Hypervisor(H::SetVersion(e)) => call!(e, Function::SetVersion(e.group), None),
            Event::Hypervisor(H::FastCall(e)) => call!(e, Function::Fast(e.function), None),
            _ => None,
        }
    }
}

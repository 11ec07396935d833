//! Events that are calls, in one form.

use guest_abi::PerfReg;
use hv_core::trace::{FastCall, HypervisorEvent, SetVersion};
use perfctr_service::trace::{Get, GetRefused, ServiceEvent, Set, SetRefused};

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
        let call = |guest, function, status: u64, duration, value| {
            Some(Self {
                guest,
                function,
                status,
                duration,
                value,
            })
        };
        match *event {
            Event::Service(ServiceEvent::Get(Get {
                perfreg,
                status,
                guest,
                duration,
                value,
                ..
            })) => call(
                guest,
                Function::Get(perfreg.into()),
                status.into(),
                duration,
                Some(value),
            ),
            Event::Service(ServiceEvent::Set(Set {
                perfreg,
                status,
                guest,
                duration,
                value,
                ..
            })) => call(
                guest,
                Function::Set(perfreg.into()),
                status.into(),
                duration,
                Some(value),
            ),
            Event::Service(ServiceEvent::GetRefused(GetRefused {
                status,
                guest,
                duration,
                perfreg,
                ..
            })) => call(guest, Function::Get(perfreg), status.into(), duration, None),
            Event::Service(ServiceEvent::SetRefused(SetRefused {
                status,
                guest,
                duration,
                perfreg,
                value,
                ..
            })) => call(
                guest,
                Function::Set(perfreg),
                status.into(),
                duration,
                Some(value),
            ),
            Event::Hypervisor(HypervisorEvent::SetVersion(SetVersion {
                status,
                guest,
                duration,
                group,
                ..
            })) => call(
                guest,
                Function::SetVersion(group),
                status.into(),
                duration,
                None,
            ),
            Event::Hypervisor(HypervisorEvent::FastCall(FastCall {
                status,
                guest,
                duration,
                function,
                ..
            })) => call(
                guest,
                Function::Fast(function),
                status.into(),
                duration,
                None,
            ),
            _ => None,
        }
    }
}

//! Events that are calls, seen alike.

use guest_abi::PerfReg;
use hv_core::trace::{FastCall, HypervisorEvent, SetVersion};
use perfctr_service::trace::{Get, GetRefused, ServiceEvent, Set, SetRefused};

use super::Event;

/// What was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Function {
    /// A register was to be read.
    Get(u64),
    /// A register was to be written.
    Set(u64),
    /// A version of a group was to be negotiated.
    SetVersion(u64),
    /// A function that no service has.
    Fast(u64),
}

impl Function {
    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get(_) => "get",
            Self::Set(_) => "set",
            Self::SetVersion(_) => "set_version",
            Self::Fast(_) => "fast",
        }
    }

    /// What it was called for: a register, a group, a function.
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
    /// Which guest called.
    pub guest: u8,
    /// What.
    pub function: Function,
    /// How it ended.
    pub status: u64,
    /// How long it took, in ticks.
    pub duration: u32,
    /// What was read or written.
    pub value: Option<u64>,
}

impl Call {
    /// The call that an event tells of; `None` if it tells of something else.
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

//! What a hypercall service is, and a list of them.

use guest_abi::{ApiGroup, HvError, Registers, StrandId, Version};

use crate::{Caller, GuestId, NegotiatedVersion};

/// What a call that succeeded returns from %o1 on. Registers without a value keep what the guest had in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Only the status.
    Done,
    /// A value in %o1.
    Value(u64),
    /// Values in %o1 and %o2.
    Values(u64, u64),
}

/// The functions of one API group.
pub trait Service {
    /// The number of the group.
    const GROUP: ApiGroup;

    /// Its versions, at most 255, lowest first, with no minor number left out.
    const VERSIONS: &'static [Version];

    /// What the service looks up once for a strand, so that it need not do so in every call.
    type Context<'a>: Context
    where
        Self: 'a;

    /// The context of a strand.
    fn context(&self, caller: Caller) -> Self::Context<'_>;

    /// What a guest has negotiated.
    fn negotiated(&self, guest: GuestId) -> NegotiatedVersion;

    /// A guest has negotiated. Other strands may be in calls, or negotiating, at the same time.
    fn negotiate(&self, guest: GuestId, version: NegotiatedVersion);

    /// The guest starts again: nothing is negotiated. `on` is the strand that executes this; the guest's own strands are
    /// not in its code.
    fn guest_reset(&self, guest: GuestId, on: StrandId);
}

/// One strand's way into a service.
pub trait Context {
    /// Serves a FAST call of the most frequent and simplest kind, if this is one. `None`: nothing was done, and
    /// [`slow_path`](Self::slow_path) is asked.
    #[inline(always)]
    fn fast_path(&self, function: u64, registers: &Registers) -> Option<Result<Reply, HvError>> {
        let _ = (function, registers);
        None
    }

    /// Serves a FAST call. `None` if the function is not of this group; EBADTRAP if the guest has not negotiated it.
    fn slow_path(&self, function: u64, registers: &Registers) -> Option<Result<Reply, HvError>>;
}

/// A fixed list of services, resolved at compile time: `()`, or a tuple of up to four. The first that has a group or a
/// function is the one that is asked.
pub trait Services {
    /// The contexts of a strand at all of them.
    type Contexts<'a>: Context
    where
        Self: 'a;

    /// The contexts of a strand at all of them.
    fn contexts(&self, caller: Caller) -> Self::Contexts<'_>;

    /// The versions of a group; `None` if no service has it.
    fn versions(&self, group: ApiGroup) -> Option<&'static [Version]>;

    /// What a guest has negotiated of a group that one of them has.
    fn negotiated(&self, guest: GuestId, group: ApiGroup) -> NegotiatedVersion;

    /// A guest has negotiated a group that one of them has.
    fn negotiate(&self, guest: GuestId, group: ApiGroup, version: NegotiatedVersion);

    /// The guest starts again.
    fn guest_reset(&self, guest: GuestId, on: StrandId);
}

macro_rules! list_of_services {
    ($($name:ident)*) => {
        #[allow(non_snake_case, unused_variables, clippy::unused_unit)]
        impl<$($name: Service),*> Services for ($($name,)*) {
            type Contexts<'a> = ($($name::Context<'a>,)*) where Self: 'a;

            fn contexts(&self, caller: Caller) -> Self::Contexts<'_> {
                let ($($name,)*) = self;
                ($($name.context(caller),)*)
            }

            fn versions(&self, group: ApiGroup) -> Option<&'static [Version]> {
                $(if group == $name::GROUP {
                    return Some($name::VERSIONS);
                })*
                None
            }

            fn negotiated(&self, guest: GuestId, group: ApiGroup) -> NegotiatedVersion {
                let ($($name,)*) = self;
                $(if group == $name::GROUP {
                    return $name.negotiated(guest);
                })*
                NegotiatedVersion::NONE
            }

            fn negotiate(&self, guest: GuestId, group: ApiGroup, version: NegotiatedVersion) {
                let ($($name,)*) = self;
                $(if group == $name::GROUP {
                    return $name.negotiate(guest, version);
                })*
            }

            fn guest_reset(&self, guest: GuestId, on: StrandId) {
                let ($($name,)*) = self;
                $($name.guest_reset(guest, on);)*
            }
        }

        #[allow(non_snake_case, unused_variables)]
        impl<$($name: Context),*> Context for ($($name,)*) {
            #[inline(always)]
            fn fast_path(&self, function: u64, registers: &Registers) -> Option<Result<Reply, HvError>> {
                let ($($name,)*) = self;
                $(if let Some(result) = $name.fast_path(function, registers) {
                    return Some(result);
                })*
                None
            }

            fn slow_path(&self, function: u64, registers: &Registers) -> Option<Result<Reply, HvError>> {
                let ($($name,)*) = self;
                $(if let Some(result) = $name.slow_path(function, registers) {
                    return Some(result);
                })*
                None
            }
        }
    };
}

list_of_services!();
list_of_services!(A);
list_of_services!(A B);
list_of_services!(A B C);
list_of_services!(A B C D);

//! What a hypercall service is, and a list of them.

use guest_abi::{ApiGroup, HvError, Registers, Version};

use crate::{Caller, GuestId, Negotiated};

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

    /// What a guest has negotiated. `None` for a guest that does not exist.
    fn negotiated(&self, guest: GuestId) -> Option<&Negotiated>;

    /// Serves a FAST call. `None` if the function is not of this group; EBADTRAP if the guest has not negotiated it.
    fn fast(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Option<Result<Reply, HvError>>;

    /// The guest starts again. Its versions are forgotten already.
    fn guest_reset(&self, guest: GuestId);
}

/// A fixed list of services, resolved at compile time: `()`, or a tuple of up to four.
pub trait Services {
    /// [`Service::fast`] of the service that has the function.
    fn fast(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Option<Result<Reply, HvError>>;

    /// The state and the versions of a group, for one guest. `None` if no service has the group.
    fn group(&self, group: ApiGroup, guest: GuestId) -> Option<(&Negotiated, &'static [Version])>;

    /// Forgets what the guest has negotiated, then tells each service.
    fn guest_reset(&self, guest: GuestId);
}

macro_rules! list_of_services {
    ($($name:ident)*) => {
        #[allow(non_snake_case, unused_variables)]
        impl<$($name: Service),*> Services for ($($name,)*) {
            #[inline]
            fn fast(&self, caller: Caller, function: u64, registers: &Registers) -> Option<Result<Reply, HvError>> {
                let ($($name,)*) = self;
                $(if let Some(result) = $name.fast(caller, function, registers) {
                    return Some(result);
                })*
                None
            }

            fn group(&self, group: ApiGroup, guest: GuestId) -> Option<(&Negotiated, &'static [Version])> {
                let ($($name,)*) = self;
                $(if group == $name::GROUP {
                    return $name.negotiated(guest).map(|state| (state, $name::VERSIONS));
                })*
                None
            }

            fn guest_reset(&self, guest: GuestId) {
                let ($($name,)*) = self;
                $(if let Some(state) = $name.negotiated(guest) {
                    state.reset();
                }
                $name.guest_reset(guest);)*
            }
        }
    };
}

list_of_services!();
list_of_services!(A);
list_of_services!(A B);
list_of_services!(A B C);
list_of_services!(A B C D);

impl<S: Service> Service for &S {
    const GROUP: ApiGroup = S::GROUP;
    const VERSIONS: &'static [Version] = S::VERSIONS;

    fn negotiated(&self, guest: GuestId) -> Option<&Negotiated> {
        (**self).negotiated(guest)
    }

    #[inline]
    fn fast(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Option<Result<Reply, HvError>> {
        (**self).fast(caller, function, registers)
    }

    fn guest_reset(&self, guest: GuestId) {
        (**self).guest_reset(guest);
    }
}

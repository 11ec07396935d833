//! What a hypercall service is, and a list of them.

use guest_abi::{ApiGroup, FunctionSet, HvError, Registers, StrandId, Version};

use crate::negotiation::Asked;
use crate::{Caller, Frame, GuestId, Negotiated, NegotiatedVersion};

/// What a call that succeeded returns from %o1 on. Registers without a value keep what the guest had in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Only the status.
    Done,
    /// A value in %o1.
    Value(u64),
    /// Values in %o1 and %o2.
    Values(u64, u64),
    /// The call is refused with this status, and has a value in %o1 all the same: `mach_desc` says so how much room it needs.
    Refused(HvError, u64),
}

/// The functions of one API group.
///
/// The hypervisor keeps what each guest has negotiated, and refuses calls of a guest that has not: the service never sees
/// one.
///
/// A service may have group CORE, and then says which versions of it there are. Its functions are those of trap 0x80; the calls
/// of trap 0xff stay the hypervisor's.
pub trait Service {
    /// The number of the group.
    const GROUP: ApiGroup;

    /// Its versions, at most 255, lowest first, with no minor number left out.
    const VERSIONS: &'static [Version];

    /// The numbers of its FAST functions. It is asked for no others.
    const FUNCTIONS: &'static [u64];

    /// What a call looks up once per strand.
    type Context<'a>: Context
    where
        Self: 'a;

    /// Returns the context of a strand. `version` is what its guest has negotiated, now and later.
    fn context<'a>(&'a self, caller: Caller, version: &'a Negotiated) -> Self::Context<'a>;

    /// A guest has negotiated another version or given the group up: `version` says what is negotiated now. For a service
    /// whose fast path depends on it. Other strands may be in calls, or negotiating, at the same time; each of them comes
    /// here after its change.
    #[allow(unused_variables)]
    fn version_changed(&self, guest: GuestId, version: &Negotiated) {}

    /// The guest starts again. Before, [`version_changed`](Self::version_changed) was told that nothing is negotiated. `on`
    /// is the strand that executes this; the guest's own strands are not in its code.
    fn guest_reset(&self, guest: GuestId, on: StrandId);
}

/// One strand's way into a service.
pub trait Context {
    /// Serves a FAST call of the most frequent and simplest kind, if this is one, and [answers](Frame::answer) it. Returns `false` if
    /// nothing was done, and [`slow_path`](Self::slow_path) is asked. It serves nothing of a guest that has not negotiated the group, which it
    /// knows from [`Service::version_changed`], and no function that the service does not [state](Service::FUNCTIONS): a debug
    /// assertion checks this.
    #[inline(always)]
    #[allow(unused_variables)]
    fn fast_path(&self, function: u64, frame: &mut Frame<'_>) -> bool {
        false
    }

    /// Serves any FAST call of the group, in the version that the guest has negotiated.
    fn slow_path(
        &self,
        function: u64,
        version: NegotiatedVersion,
        registers: &Registers,
    ) -> Result<Reply, HvError>;

    /// Returns `true` if [`version_changed`](Service::version_changed) has nothing to do for this version, which the guest has
    /// negotiated already and negotiates again. For a service that wants short negotiations; this implementation returns `false`.
    #[inline(always)]
    #[allow(unused_variables)]
    fn is_current(&self, version: NegotiatedVersion) -> bool {
        false
    }

    /// The hypervisor has refused a FAST call of the group with EBADTRAP, because the guest has not negotiated it. For a
    /// service that counts or records refusals.
    #[allow(unused_variables)]
    fn not_negotiated(&self, function: u64, registers: &Registers) {}
}

/// What one guest has negotiated of the groups of a list of services, in its order.
pub type NegotiatedGroups = [Negotiated; 4];

/// A fixed list of services, resolved at compile time: `()`, or a tuple of up to four. The first that has a group or a
/// function is the one that is asked.
pub trait Services {
    /// The contexts of a strand at all of them.
    type Contexts<'a>
    where
        Self: 'a;

    /// The FAST functions of all of them.
    const FUNCTIONS: FunctionSet;

    /// `true` if one of them has group CORE.
    const CORE: bool;

    /// Returns the contexts of a strand at all of them.
    fn contexts<'a>(
        &'a self,
        caller: Caller,
        negotiated: &'a NegotiatedGroups,
    ) -> Self::Contexts<'a>;

    /// Returns the version that is negotiated of a group; `None` if no service has the group.
    fn version(negotiated: &NegotiatedGroups, group: ApiGroup) -> Option<Version>;

    /// Returns what a guest gets that asks for a version of a group, or the reason why it gets none.
    fn ask(
        negotiated: &NegotiatedGroups,
        group: ApiGroup,
        wanted: Version,
    ) -> Result<Asked<'_>, HvError>;

    /// Serves a FAST call if it is on a service's fast path, and answers it. Returns `false` if nothing was done.
    fn fast_path(contexts: &Self::Contexts<'_>, function: u64, frame: &mut Frame<'_>) -> bool;

    /// Serves or refuses a FAST call; `None` if no service has the function.
    fn slow_path(
        contexts: &Self::Contexts<'_>,
        negotiated: &NegotiatedGroups,
        function: u64,
        registers: &Registers,
    ) -> Option<Result<Reply, HvError>>;

    /// Asks the context of the service that has the group whether a version [is current](Context::is_current); `true` if no service
    /// has the group.
    fn is_current(
        contexts: &Self::Contexts<'_>,
        group: ApiGroup,
        version: NegotiatedVersion,
    ) -> bool;

    /// Tells the service that has the group, if any, that a guest's version has changed.
    fn version_changed(&self, guest: GuestId, group: ApiGroup, version: &Negotiated);

    /// The guest starts again: nothing is negotiated, and every service is told.
    fn guest_reset(&self, guest: GuestId, negotiated: &NegotiatedGroups, on: StrandId);
}

macro_rules! list_of_services {
    ($($name:ident $index:literal)*) => {
        #[allow(non_snake_case, unused_variables, clippy::unused_unit)]
        impl<$($name: Service),*> Services for ($($name,)*) {
            type Contexts<'a> = ($($name::Context<'a>,)*) where Self: 'a;

            const FUNCTIONS: FunctionSet = FunctionSet::NONE$(.with($name::FUNCTIONS))*;

            const CORE: bool = false $(|| $name::GROUP.0 == ApiGroup::CORE.0)*;

            fn contexts<'a>(
                &'a self,
                caller: Caller,
                negotiated: &'a NegotiatedGroups,
            ) -> Self::Contexts<'a> {
                let ($($name,)*) = self;
                ($($name.context(caller, &negotiated[$index]),)*)
            }

            #[inline(always)]
            fn version(negotiated: &NegotiatedGroups, group: ApiGroup) -> Option<Version> {
                $(if group == $name::GROUP {
                    return Some(negotiated[$index].get().version($name::VERSIONS));
                })*
                None
            }

            #[inline(always)]
            fn ask(
                negotiated: &NegotiatedGroups,
                group: ApiGroup,
                wanted: Version,
            ) -> Result<Asked<'_>, HvError> {
                $(if group == $name::GROUP {
                    return Asked::new(&negotiated[$index], $name::VERSIONS, wanted);
                })*
                Err(HvError::Invalid)
            }

            #[inline(always)]
            fn fast_path(
                contexts: &Self::Contexts<'_>,
                function: u64,
                frame: &mut Frame<'_>,
            ) -> bool {
                let ($($name,)*) = contexts;
                $(if $name.fast_path(function, frame) {
                    // Only while it is tested: every call would pay for it.
                    debug_assert!($name::FUNCTIONS.contains(&function), "not stated");
                    return true;
                })*
                false
            }

            #[inline(always)]
            fn slow_path(
                contexts: &Self::Contexts<'_>,
                negotiated: &NegotiatedGroups,
                function: u64,
                registers: &Registers,
            ) -> Option<Result<Reply, HvError>> {
                let ($($name,)*) = contexts;
                $(if $name::FUNCTIONS.contains(&function) {
                    return Some(match negotiated[$index].get() {
                        NegotiatedVersion::NONE => {
                            $name.not_negotiated(function, registers);
                            Err(HvError::BadTrap)
                        }
                        version => $name.slow_path(function, version, registers),
                    });
                })*
                None
            }

            #[inline(always)]
            fn is_current(
                contexts: &Self::Contexts<'_>,
                group: ApiGroup,
                version: NegotiatedVersion,
            ) -> bool {
                let ($($name,)*) = contexts;
                $(if group == $name::GROUP {
                    return $name.is_current(version);
                })*
                true
            }

            fn version_changed(&self, guest: GuestId, group: ApiGroup, version: &Negotiated) {
                let ($($name,)*) = self;
                $(if group == $name::GROUP {
                    return $name.version_changed(guest, version);
                })*
            }

            fn guest_reset(&self, guest: GuestId, negotiated: &NegotiatedGroups, on: StrandId) {
                let ($($name,)*) = self;
                $(
                    negotiated[$index].set(NegotiatedVersion::NONE);
                    $name.version_changed(guest, &negotiated[$index]);
                    $name.guest_reset(guest, on);
                )*
            }
        }
    };
}

list_of_services!();
list_of_services!(A 0);
list_of_services!(A 0 B 1);
list_of_services!(A 0 B 1 C 2);
list_of_services!(A 0 B 1 C 2 D 3);

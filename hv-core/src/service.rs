//! The interface that hypercall services implement, and lists of services.

use guest_abi::{ApiGroup, FunctionSet, HvError, Registers, StrandId, Version};

use crate::group::Group;
use crate::negotiation::PendingVersion;
use crate::{CallError, Caller, Frame, GuestId, Negotiated, NegotiatedVersion, Reply};

/// Serves the functions of one API group.
///
/// The hypervisor refuses calls from guests that have not negotiated the group. The service never sees these calls.
///
/// Several services, each with its own group, may share state. Each service is then a reference to the shared state.
pub trait Service {
    /// The API group whose functions the service serves.
    type Group: Group;

    /// The data that the service looks up once per strand instead of in every call.
    type Context<'a>: Context<Group = Self::Group>
    where
        Self: 'a;

    /// Returns `false` if the service knows no guest with this number, or knows that the strand does not execute the guest. The
    /// hypervisor calls this function before [`context`](Self::context). The default returns `true`.
    fn is_valid_caller(&self, caller: Caller) -> bool {
        let _ = caller;
        true
    }

    /// Returns a strand's context. `version` always holds the version that the strand's guest has negotiated.
    fn context<'a>(
        &'a self,
        caller: Caller,
        version: &'a Negotiated<Self::Group>,
    ) -> Self::Context<'a>;

    /// The hypervisor calls this function after a guest has negotiated a version or released the group. `version` holds the result. Only a
    /// service whose fast path depends on the version needs this call. During this call, the guest's other strands may make calls or
    /// negotiate.
    #[allow(unused_variables)]
    fn version_changed(&self, guest: GuestId, version: &Negotiated<Self::Group>) {}

    /// Resets the guest's data to its state at boot. Before this call, the hypervisor removes the guest's negotiated version and calls
    /// [`version_changed`](Self::version_changed). `on` is the strand that executes this function. During the call, no strand executes the
    /// guest's code.
    fn guest_reset(&self, guest: GuestId, on: StrandId);
}

/// Several owners can share a service, because a reference to it is a service too.
impl<S: Service> Service for &S {
    type Group = S::Group;
    type Context<'a>
        = S::Context<'a>
    where
        Self: 'a;

    fn is_valid_caller(&self, caller: Caller) -> bool {
        (**self).is_valid_caller(caller)
    }

    fn context<'a>(&'a self, caller: Caller, version: &'a Negotiated<S::Group>) -> S::Context<'a> {
        (**self).context(caller, version)
    }

    fn version_changed(&self, guest: GuestId, version: &Negotiated<S::Group>) {
        (**self).version_changed(guest, version);
    }

    fn guest_reset(&self, guest: GuestId, on: StrandId) {
        (**self).guest_reset(guest, on);
    }
}

/// Serves the calls of one strand.
pub trait Context {
    /// The group whose calls the context serves.
    type Group: Group;

    /// If the FAST call is frequent and simple, [answers](Frame::answer) it and returns `true`. Otherwise does nothing and returns `false`;
    /// [`call`](Self::call) then serves the call.
    ///
    /// At this point, the hypervisor has checked neither the version nor the function. The fast path must not serve a guest that has not
    /// negotiated the group (see [`Service::version_changed`]); it may refuse the guest's calls with EBADTRAP. The fast path must also not
    /// serve a function that is not in [`Group::FUNCTIONS`]; a debug assertion checks this.
    #[inline(always)]
    #[allow(unused_variables)]
    fn fast_path(&self, function: u64, frame: &mut Frame<'_>) -> bool {
        false
    }

    /// Serves any FAST call of a guest that has negotiated `version`, unless the [`fast_path`](Self::fast_path) has served the call.
    fn call(
        &self,
        function: u64,
        version: NegotiatedVersion<Self::Group>,
        registers: &Registers,
    ) -> Result<Reply, CallError>;

    /// Returns `true` if the hypervisor need not call [`version_changed`](Service::version_changed) when the guest negotiates `version`
    /// again, which shortens the negotiation. The default is `false`.
    #[inline(always)]
    #[allow(unused_variables)]
    fn is_current(&self, version: NegotiatedVersion<Self::Group>) -> bool {
        false
    }

    /// A short form of [`version_changed`](Service::version_changed). If the change to `version` needs no stack and few
    /// instructions, calls `store` to store the version, does the rest of the change, and returns `true`. Otherwise does nothing
    /// and returns `false`. The default always returns `false`.
    #[inline(always)]
    #[allow(unused_variables)]
    fn change_version(
        &self,
        version: NegotiatedVersion<Self::Group>,
        store: impl FnOnce(),
    ) -> bool {
        false
    }

    /// The hypervisor calls this function after it has refused a FAST call with EBADTRAP because the guest has not negotiated the group.
    #[allow(unused_variables)]
    fn not_negotiated(&self, function: u64, registers: &Registers) {}
}

/// A list of services: `()`, or a tuple of up to four. If several services have the same group or function, the first one serves it.
pub trait Services {
    /// One context per service, for one strand.
    type Contexts<'a>
    where
        Self: 'a;

    /// One guest's negotiated versions of the services' groups.
    type Versions;

    /// The versions of a guest that has negotiated nothing.
    #[cfg(not(loom))]
    const NONE: Self::Versions;

    /// The versions of a guest that has negotiated nothing.
    #[cfg(loom)]
    fn none() -> Self::Versions;

    /// Fails the build if the [versions](Group::VERSIONS) of a service are not in order.
    const ASSERT_VERSIONS: ();

    /// The numbers of all FAST functions that the services serve.
    const FUNCTIONS: FunctionSet;

    /// `true` if a service has group CORE.
    const HAS_CORE: bool;

    /// Returns `true` if every service [knows](Service::is_valid_caller) the caller.
    fn is_valid_caller(&self, caller: Caller) -> bool;

    /// Returns one context per service, for the caller's strand.
    fn contexts<'a>(&'a self, caller: Caller, negotiated: &'a Self::Versions)
    -> Self::Contexts<'a>;

    /// Returns the negotiated version of a group; `None` if no service has the group.
    fn version(negotiated: &Self::Versions, group: ApiGroup) -> Option<Version>;

    /// Returns the version that a guest gets when it requests version `wanted` of a group. Fails with EINVAL if no service has the group.
    fn resolve_version(
        negotiated: &Self::Versions,
        group: ApiGroup,
        wanted: Version,
    ) -> Result<PendingVersion<'_>, HvError>;

    /// Tries the [fast path](Context::fast_path) of each service. Returns `true` if a service has answered.
    fn fast_path(contexts: &Self::Contexts<'_>, function: u64, frame: &mut Frame<'_>) -> bool;

    /// Serves a FAST call, or refuses it because the group is not negotiated. Returns `None` if no service has the function.
    fn slow_path(
        contexts: &Self::Contexts<'_>,
        negotiated: &Self::Versions,
        function: u64,
        registers: &Registers,
    ) -> Option<Result<Reply, CallError>>;

    /// Calls [`Context::is_current`] of the group's service, with the version at this position. Also returns `true` if no service has the
    /// group.
    fn is_current(contexts: &Self::Contexts<'_>, group: ApiGroup, version: u8) -> bool;

    /// Calls [`Context::change_version`] of the group's service. If no service has the group, only stores the version.
    fn change_version(
        contexts: &Self::Contexts<'_>,
        group: ApiGroup,
        version: u8,
        store: impl FnOnce(),
    ) -> bool;

    /// Calls [`Service::version_changed`] of the group's service, if there is one.
    fn version_changed(&self, guest: GuestId, group: ApiGroup, negotiated: &Self::Versions);

    /// Forgets the guest's negotiated versions, and calls [`Service::guest_reset`] of every service.
    fn guest_reset(&self, guest: GuestId, negotiated: &Self::Versions, on: StrandId);
}

const fn are_in_order(versions: &[Version]) -> bool {
    let mut before = Version::NONE;
    let mut index = 0;
    while index < versions.len() {
        let Version { major, minor } = versions[index];
        let next = major == before.major && major != 0 && minor == before.minor + 1;
        if !(next || major > before.major && minor == 0) {
            return false;
        }
        before = versions[index];
        index += 1;
    }
    index != 0 && index <= u8::MAX as usize
}

macro_rules! list_of_services {
    ($($name:ident $index:tt)*) => {
        #[allow(non_snake_case, unused_variables, clippy::unused_unit)]
        impl<$($name: Service),*> Services for ($($name,)*) {
            type Versions = ($(Negotiated<$name::Group>,)*);

            #[cfg(not(loom))]
            #[allow(clippy::declare_interior_mutable_const, reason = "each use is another value")]
            const NONE: Self::Versions =
                ($(Negotiated::<$name::Group>::new(NegotiatedVersion::NONE),)*);

            #[cfg(loom)]
            fn none() -> Self::Versions {
                ($(Negotiated::<$name::Group>::default(),)*)
            }

            type Contexts<'a> = ($($name::Context<'a>,)*) where Self: 'a;

            const ASSERT_VERSIONS: () = {
                $(assert!(are_in_order(<$name::Group>::VERSIONS), "versions are left out or not in order");)*
            };

            const FUNCTIONS: FunctionSet = FunctionSet::NONE$(.with(<$name::Group>::FUNCTIONS))*;

            const HAS_CORE: bool = false $(|| <$name::Group>::NUMBER.0 == ApiGroup::CORE.0)*;

            fn is_valid_caller(&self, caller: Caller) -> bool {
                let ($($name,)*) = self;
                true $(&& $name.is_valid_caller(caller))*
            }

            fn contexts<'a>(
                &'a self,
                caller: Caller,
                negotiated: &'a Self::Versions,
            ) -> Self::Contexts<'a> {
                let ($($name,)*) = self;
                ($($name.context(caller, &negotiated.$index),)*)
            }

            #[inline(always)]
            fn version(negotiated: &Self::Versions, group: ApiGroup) -> Option<Version> {
                $(if group == <$name::Group>::NUMBER {
                    return Some(negotiated.$index.get().version());
                })*
                None
            }

            #[inline(always)]
            fn resolve_version(
                negotiated: &Self::Versions,
                group: ApiGroup,
                wanted: Version,
            ) -> Result<PendingVersion<'_>, HvError> {
                $(if group == <$name::Group>::NUMBER {
                    return PendingVersion::new(negotiated.$index.word(), <$name::Group>::VERSIONS, wanted);
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
                    // Only a debug assertion, because a check in every build would slow down every call.
                    debug_assert!(<$name::Group>::FUNCTIONS.contains(&function), "not stated");
                    return true;
                })*
                false
            }

            #[inline(always)]
            fn slow_path(
                contexts: &Self::Contexts<'_>,
                negotiated: &Self::Versions,
                function: u64,
                registers: &Registers,
            ) -> Option<Result<Reply, CallError>> {
                let ($($name,)*) = contexts;
                $(if <$name::Group>::FUNCTIONS.contains(&function) {
                    let version = negotiated.$index.get();
                    if version.is_none() {
                        $name.not_negotiated(function, registers);
                        return Some(Err(HvError::BadTrap.into()));
                    }
                    return Some($name.call(function, version, registers));
                })*
                None
            }

            #[inline(always)]
            fn is_current(
                contexts: &Self::Contexts<'_>,
                group: ApiGroup,
                version: u8,
            ) -> bool {
                let ($($name,)*) = contexts;
                $(if group == <$name::Group>::NUMBER {
                    return $name.is_current(NegotiatedVersion::new(version));
                })*
                true
            }

            #[inline(always)]
            fn change_version(
                contexts: &Self::Contexts<'_>,
                group: ApiGroup,
                version: u8,
                store: impl FnOnce(),
            ) -> bool {
                let ($($name,)*) = contexts;
                $(if group == <$name::Group>::NUMBER {
                    return $name.change_version(NegotiatedVersion::new(version), store);
                })*
                store();
                true
            }

            fn version_changed(
                &self,
                guest: GuestId,
                group: ApiGroup,
                negotiated: &Self::Versions,
            ) {
                let ($($name,)*) = self;
                $(if group == <$name::Group>::NUMBER {
                    return $name.version_changed(guest, &negotiated.$index);
                })*
            }

            fn guest_reset(&self, guest: GuestId, negotiated: &Self::Versions, on: StrandId) {
                let ($($name,)*) = self;
                $(
                    negotiated.$index.word().set(0);
                    $name.version_changed(guest, &negotiated.$index);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// For each major number x, the versions begin with x.0, and no minor number is skipped.
    #[test]
    fn lists_of_versions() {
        let are_in_order = |versions: &[(u64, u64)]| {
            let mut list = [Version::NONE; 4];
            for (version, (major, minor)) in list.iter_mut().zip(versions) {
                *version = Version::new(*major, *minor);
            }
            super::are_in_order(&list[..versions.len()])
        };
        for list in [&[(1, 0)][..], &[(1, 0), (1, 1)], &[(1, 0), (1, 1), (3, 0), (3, 1)]] {
            assert!(are_in_order(list), "{list:?}");
        }
        for list in [
            &[][..],
            &[(0, 0)],
            &[(1, 1)],
            &[(2, 0), (1, 0)],
            &[(2, 0), (1, 3)],
            &[(1, 0), (1, 0)],
            &[(1, 0), (1, 2)],
            &[(1, 0), (2, 1)],
        ] {
            assert!(!are_in_order(list), "{list:?}");
        }
        assert!(!super::are_in_order(&[Version::V1_0; 256]));
    }
}

//! Handles hypercall traps (sun4v specification, "hypercall conventions").

use core::fmt;
use core::ops::ControlFlow;

use guest_abi::trap::{API_GET_VERSION, API_SET_VERSION, CONS_PUTCHAR, EXIT};
use guest_abi::{
    ApiGroup, FunctionSet, HvError, Hypercall, Registers, ServedFunctions, StrandId, Trap, Version,
};

use crate::embedder::{ConsoleOutput, Embedder};
use crate::negotiation::{Negotiated, PendingVersion, version};
use crate::sync::plain::{AtomicBool, Ordering};
use crate::sync::{array_of, const_unless_loom};
use crate::trace::{FastCall, GuestReset, Heartbeat, NoTrace, SetVersion, Trace, duration};
use crate::{CallError, Caller, ForeignStrand, Frame, GuestId, NegotiatedVersion, Reply, Services};

/// Whether the strand continues or stops after a call through trap 0xff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum TrapOutcome {
    /// The strand continues at the instruction after the trap.
    Resume,
    /// The strand stops, because the guest has exited with this code. No register has changed.
    Exit(u64),
}

/// The versions of all groups that a guest has negotiated.
struct GuestVersions<S: Services> {
    sun4v: Negotiated<BaseGroup>,
    /// The version of group CORE. Unused if a service has this group.
    core: Negotiated<BaseGroup>,
    services: S::Versions,
}

/// The type parameter of [`Negotiated`] for groups SUN4V and CORE, which have only version 1.0.
enum BaseGroup {}

impl<S: Services> GuestVersions<S> {
    const_unless_loom! {
        fn none() -> Self {
            Self {
                sun4v: Negotiated::new(NegotiatedVersion::NONE),
                core: Negotiated::new(NegotiatedVersion::NONE),
                #[cfg(not(loom))]
                services: S::NONE,
                #[cfg(loom)]
                services: S::none(),
            }
        }
    }

    #[inline(always)]
    fn version(&self, group: ApiGroup) -> Result<Version, HvError> {
        match group {
            ApiGroup::SUN4V => Ok(version(BASE_VERSIONS, self.sun4v.get().number())),
            ApiGroup::CORE if !S::HAS_CORE => Ok(version(BASE_VERSIONS, self.core.get().number())),
            other => S::version(&self.services, other).ok_or(HvError::Invalid),
        }
    }

    /// Returns the version that the guest gets when it requests version `wanted` of a group.
    #[inline(always)]
    fn resolve_version(
        &self,
        group: ApiGroup,
        wanted: Version,
    ) -> Result<PendingVersion<'_>, HvError> {
        match group {
            // Group SUN4V cannot be released, and its only version is 1.0.
            ApiGroup::SUN4V if wanted.major != 1 => Err(HvError::NotSupported),
            ApiGroup::SUN4V => PendingVersion::new(self.sun4v.word(), BASE_VERSIONS, wanted),
            ApiGroup::CORE if !S::HAS_CORE => {
                PendingVersion::new(self.core.word(), BASE_VERSIONS, wanted)
            }
            other => S::resolve_version(&self.services, other, wanted),
        }
    }
}

const BASE_VERSIONS: &[Version] = &[Version::V1_0];

/// Dispatches the hypercalls of all guests and strands of a machine, and records [events](crate::trace::HypervisorEvent) in `T`. A
/// hypervisor takes 2 KB of memory, and 1 KB more per service, in addition to the services, the embedder and the tracer.
pub struct Hypervisor<S: Services, E, T = NoTrace> {
    services: S,
    embedder: E,
    trace: T,
    versions: [GuestVersions<S>; GuestId::COUNT],
}

impl<S: Services, E: Embedder> Hypervisor<S, E> {
    const_unless_loom! {
        /// Returns a hypervisor that dispatches to `services` and `embedder`, without a tracer.
        ///
        /// Fails to build if the [versions](crate::Group::VERSIONS) of a service are not in order:
        ///
        /// ```compile_fail
        /// # use guest_abi::{ApiGroup, Registers, StrandId, Version};
        /// # use hv_core::{CallError, Caller, Context, Group, GuestId, Hypervisor, Negotiated, NegotiatedVersion, NoConsole, Reply, Service};
        /// # struct Disordered;
        /// impl Group for Disordered {
        ///     const VERSIONS: &'static [Version] = &[Version::new(2, 0), Version::new(1, 3)];
        /// #   const NUMBER: ApiGroup = ApiGroup(0x400);
        /// #   const FUNCTIONS: &'static [u64] = &[];
        ///     // ...
        /// }
        /// # impl Service for Disordered {
        /// #   type Group = Self;
        /// #   type Context<'a> = Self;
        /// #   fn context<'a>(&'a self, _: Caller, _: &'a Negotiated<Self>) -> Self { Self }
        /// #   fn guest_reset(&self, _: GuestId, _: StrandId) {}
        /// # }
        /// # impl Context for Disordered {
        /// #   type Group = Self;
        /// #   fn call(&self, _: u64, _: NegotiatedVersion<Self>, _: &Registers) -> Result<Reply, CallError> { Ok(Reply::Done) }
        /// # }
        ///
        /// Hypervisor::new((Disordered,), NoConsole);
        /// ```
        pub fn new(services: S, embedder: E) -> Self {
            Self::with_trace(services, embedder, NoTrace)
        }
    }
}

impl<S: Services, E: Embedder, T: Trace> Hypervisor<S, E, T> {
    const FAST: &FunctionSet = &match E::FAST_FUNCTIONS {
        Some(own) => S::FUNCTIONS.with(own),
        None => FunctionSet::ALL,
    };

    const CORE: &FunctionSet = &match E::CORE_FUNCTIONS {
        Some(own) => FunctionSet::NONE
            .with(&[API_SET_VERSION, CONS_PUTCHAR, EXIT, API_GET_VERSION])
            .with(own),
        None => FunctionSet::ALL,
    };

    const_unless_loom! {
        /// Returns a hypervisor that writes its events to a tracer.
        pub fn with_trace(services: S, embedder: E, trace: T) -> Self {
            let () = S::ASSERT_VERSIONS;
            let versions = array_of!(GuestVersions::<S>::none(); GuestId::COUNT);
            Self { services, embedder, trace, versions }
        }
    }

    /// Returns the services, for example so that the image can configure them.
    pub const fn services(&self) -> &S {
        &self.services
    }

    /// Returns the embedder: the image, which serves the calls that no service claims.
    pub const fn embedder(&self) -> &E {
        &self.embedder
    }

    /// Returns the handler for the traps that a strand takes while it executes a guest. Fails if a service does not
    /// [know](crate::Service::is_valid_caller) that the strand executes this guest, for example because the service is not configured yet.
    pub fn strand(&self, caller: Caller) -> Result<Strand<'_, S, E, T>, ForeignStrand> {
        if !self.services.is_valid_caller(caller) {
            return Err(ForeignStrand(caller));
        }
        let versions = &self.versions[caller.guest.index()];
        Ok(Strand {
            hypervisor: self,
            caller,
            versions,
            traced: self.trace.on_flag(),
            contexts: self.services.contexts(caller, &versions.services),
        })
    }

    /// Records a [`Heartbeat`] of strand `on`. Call this function on that strand.
    pub fn heartbeat(&self, on: StrandId) {
        if let Some(time) = self.trace.time(on) {
            self.trace.record(on, time, Heartbeat { strand: on.number().into() });
        }
    }

    /// Forgets the guest's negotiated versions, and calls [`Service::guest_reset`](crate::Service::guest_reset) of every service. `on` is
    /// the strand that executes this function. The caller must ensure that no strand executes the guest's code meanwhile.
    pub fn reset_guest(&self, guest: GuestId, on: StrandId) {
        let versions = &self.versions[guest.index()];
        versions.sun4v.word().set(0);
        versions.core.word().set(0);
        if let Some(time) = self.trace.time(on) {
            let event = GuestReset { guest: guest.number().into(), strand: on.number().into() };
            self.trace.record(on, time, event);
        }
        self.services.guest_reset(guest, &versions.services, on);
    }
}

/// Serves the traps of one strand while it executes one guest. Holds the services' contexts for this strand and guest.
#[repr(C)]
pub struct Strand<'a, S: Services + 'a, E, T = NoTrace> {
    // This field comes first, so that the handler's address is also the address of the contexts.
    contexts: S::Contexts<'a>,
    hypervisor: &'a Hypervisor<S, E, T>,
    caller: Caller,
    versions: &'a GuestVersions<S>,
    traced: &'a AtomicBool,
}

impl<'a, S: Services, E: Embedder, T: Trace> Strand<'a, S, E, T> {
    /// Returns the guest and the strand whose traps this handler serves.
    pub fn caller(&self) -> Caller {
        self.caller
    }

    /// Returns the contexts that the services have looked up for this strand and its guest.
    pub fn contexts(&self) -> &S::Contexts<'a> {
        &self.contexts
    }

    /// Returns the functions that this handler may serve. For all other functions, trap entries can
    /// return EBADTRAP without calling Rust code.
    pub fn served(&self) -> ServedFunctions<'a> {
        ServedFunctions {
            fast: Hypervisor::<S, E, T>::FAST,
            core: Hypervisor::<S, E, T>::CORE,
            traced: self.traced,
        }
    }

    /// Serves a call through trap 0x80. Writes the status and the returned values to `registers`.
    #[inline]
    pub fn fast_trap(&self, registers: &mut Registers) {
        if !S::fast_path(&self.contexts, registers.o5, &mut Frame::new(registers)) {
            self.slow_trap(registers);
        }
    }

    #[cold]
    #[inline(never)]
    fn slow_trap(&self, registers: &mut Registers) {
        let function = registers.o5;
        let served = S::slow_path(&self.contexts, &self.versions.services, function, registers);
        let result = match served {
            Some(result) => result,
            None => self.call_embedder(function, registers),
        };
        Frame::new(registers).answer(result);
    }

    /// Passes a FAST call that no service claims to the embedder.
    fn call_embedder(&self, function: u64, registers: &Registers) -> Result<Reply, CallError> {
        let Hypervisor { embedder, trace, .. } = self.hypervisor;
        let started = trace.time(self.caller.strand);
        let result = match allows(E::FAST_FUNCTIONS, function) {
            true => embedder.fast(self.caller, function, registers),
            false => Err(HvError::BadTrap.into()),
        };
        if let Some(started) = started
            && let Some(ended) = trace.time(self.caller.strand)
        {
            let event = FastCall {
                status: status(&result),
                guest: self.caller.guest.number(),
                strand: self.caller.strand.number(),
                duration: duration(started, ended),
                function,
            };
            trace.record(self.caller.strand, ended, event);
        }
        result
    }

    /// Negotiates a version, and returns the granted minor number.
    #[inline(always)]
    fn negotiate(&self, group: ApiGroup, wanted: Version) -> Result<u64, HvError> {
        let pending = self.versions.resolve_version(group, wanted)?;
        pending.version.set(pending.granted);
        let services = &self.hypervisor.services;
        services.version_changed(self.caller.guest, group, &self.versions.services);
        Ok(pending.minor)
    }

    /// Like [`negotiate`](Self::negotiate), but also records an event.
    #[cold]
    #[inline(never)]
    fn negotiate_traced(
        &self,
        started: u64,
        group: ApiGroup,
        wanted: Version,
    ) -> Result<u64, HvError> {
        let Hypervisor { trace, .. } = self.hypervisor;
        let Caller { guest, strand } = self.caller;
        let result = self.negotiate(group, wanted);
        if let Some(ended) = trace.time(strand) {
            let event = SetVersion {
                status: status(&result),
                guest: guest.number(),
                strand: strand.number(),
                duration: duration(started, ended),
                group: group.0,
                major: wanted.major,
                minor: wanted.minor,
                granted: result.unwrap_or(0),
            };
            trace.record(strand, ended, event);
        }
        result
    }

    /// Serves `api_get_version`, and also `api_set_version` if tracing is off and the service needs no stack for the change. `function` is
    /// %o5, and the array holds %o0 to %o2. Returns the new values of %o0 to %o2. For any other call, does nothing and returns `None`;
    /// [`core_slow`](Self::core_slow) then serves the call.
    ///
    /// The function needs few registers and no stack, so that trap entries can call it as a leaf function.
    #[inline(always)]
    pub fn core_fast(&self, function: u64, [o0, o1, o2]: [u64; 3]) -> Option<[u64; 3]> {
        let group = ApiGroup(o0);
        let result = match function {
            API_GET_VERSION => self
                .versions
                .version(group)
                .map(|Version { major, minor }| Reply::Values(major, minor)),
            // While tracing is on, `core_slow` records an event. A relaxed load is enough: if tracing is switched on or off at this moment,
            // either path is correct.
            API_SET_VERSION if !self.traced.load(Ordering::Relaxed) => {
                match self.versions.resolve_version(group, Version::new(o1, o2)) {
                    Ok(PendingVersion { version, granted, minor }) => {
                        let served = if version.holds(granted) {
                            S::is_current(&self.contexts, group, granted)
                        } else {
                            let store = || version.set(granted);
                            S::change_version(&self.contexts, group, granted, store)
                        };
                        if !served {
                            return None;
                        }
                        Ok(Reply::Value(minor))
                    }
                    Err(error) => Err(error),
                }
            }
            _ => return None,
        };
        let mut registers = Registers::call(function, [o0, o1, o2, 0, 0]);
        Frame::new(&mut registers).answer(result.map_err(CallError::from));
        Some([registers.o0, registers.o1, registers.o2])
    }

    /// Serves a call through trap 0xff. Writes the status and the returned values to `registers`, unless the guest exits.
    pub fn core_trap(&self, registers: &mut Registers) -> TrapOutcome {
        let Registers { o0, o1, o2, o5, .. } = *registers;
        match self.core_fast(o5, [o0, o1, o2]) {
            Some([o0, o1, o2]) => {
                (registers.o0, registers.o1, registers.o2) = (o0, o1, o2);
                TrapOutcome::Resume
            }
            None => self.core_slow(registers),
        }
    }

    /// Serves any call of trap 0xff, for trap entries that call [`core_fast`](Self::core_fast) themselves.
    pub fn core_slow(&self, registers: &mut Registers) -> TrapOutcome {
        let hypervisor = self.hypervisor;
        let result = match registers.o5 {
            API_SET_VERSION => {
                let group = ApiGroup(registers.o0);
                let wanted = Version::new(registers.o1, registers.o2);
                let granted = match hypervisor.trace.time(self.caller.strand) {
                    None => self.negotiate(group, wanted),
                    Some(started) => self.negotiate_traced(started, group, wanted),
                };
                granted.map(Reply::Value).map_err(CallError::from)
            }
            CONS_PUTCHAR => ConsoleOutput::from_argument(registers.o0)
                .ok_or(HvError::Invalid)
                .and_then(|output| hypervisor.embedder.console(self.caller, output))
                .map(|()| Reply::Done)
                .map_err(CallError::from),
            EXIT => return TrapOutcome::Exit(registers.o0),
            API_GET_VERSION => self
                .versions
                .version(ApiGroup(registers.o0))
                .map(|Version { major, minor }| Reply::Values(major, minor))
                .map_err(CallError::from),
            function if allows(E::CORE_FUNCTIONS, function) => {
                hypervisor.embedder.core(self.caller, function, registers)
            }
            _ => Err(HvError::BadTrap.into()),
        };
        Frame::new(registers).answer(result);
        TrapOutcome::Resume
    }

    /// Serves trap 0x80 or 0xff, for trap entries that call [`core_fast`](Self::core_fast) themselves. If the guest has exited, returns
    /// `Break` with the exit code.
    pub fn serve(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        match trap {
            Trap::Fast => self.fast_trap(registers),
            Trap::Core => {
                if let TrapOutcome::Exit(code) = self.core_slow(registers) {
                    return ControlFlow::Break(code);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Serves a software trap from 0x81 to 0xfe through the [embedder](Embedder::software_trap).
    pub fn software_trap(&self, number: u8, registers: &mut Registers) {
        let embedder = &self.hypervisor.embedder;
        let result = embedder.software_trap(self.caller, number, registers);
        Frame::new(registers).answer(result);
    }
}

impl<S: Services, E, T> fmt::Debug for Hypervisor<S, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hypervisor").finish_non_exhaustive()
    }
}

impl<S: Services, E, T> fmt::Debug for Strand<'_, S, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Strand").field("caller", &self.caller).finish_non_exhaustive()
    }
}

/// Makes calls as the guest's own code would, for example for `guest_abi::guest` clients on a host. A call that ends the guest changes no
/// register; only [`Strand::core_trap`] reports the exit.
impl<S: Services, E: Embedder, T: Trace> Hypercall for Strand<'_, S, E, T> {
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        match trap {
            Trap::Fast => self.fast_trap(registers),
            Trap::Core => match self.core_trap(registers) {
                TrapOutcome::Resume | TrapOutcome::Exit(_) => {}
            },
        }
    }
}

/// Returns `true` if `list` allows the embedder to serve a function. `list` is [`Embedder::FAST_FUNCTIONS`] or [`Embedder::CORE_FUNCTIONS`].
fn allows(list: Option<&[u64]>, function: u64) -> bool {
    list.is_none_or(|numbers| numbers.contains(&function))
}

/// Returns the status of a call in the form that events record.
fn status<V, E: Copy + Into<CallError>>(result: &Result<V, E>) -> u16 {
    match result {
        Ok(_) => guest_abi::status::EOK as u16,
        Err(error) => u16::try_from((*error).into().status.number()).unwrap_or(u16::MAX),
    }
}

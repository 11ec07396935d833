//! The fast path tests one word of the guest, performs the access and increments one count. It either serves the whole call or changes
//! nothing. It needs no stack unless the device fails. A call that the word does not allow is [refused](PerfCounterContext::refused) if
//! another word of the guest says why.
//!
//! The code is written to take few instructions. [`serve`](PerfCounterContext::serve) takes the test as a closure, because it tests two
//! words: first the word for untraced calls, then the word for traced calls. It takes the work twice: as a closure, which is inlined where
//! its operands are in registers, and as a function, which the outlined code for traced calls uses.

use guest_abi::{PerfReg, RegisterKind};
use hv_core::sync::{Ordering, fence};
use hv_core::trace::{Trace, duration};
use hv_core::{CallError, Frame, Reply};
use platform::AccessError;

use super::Access;
use crate::hubs::HubArbiter;
use crate::rights::access::{AccessWord, NON_HUB_REGISTERS};
use crate::statistics::{Class, Operation, Outcome, Refusal};
use crate::{Environment, PerfCounterContext};

/// The longest duration in ticks that is recorded without a comparison with `u32::MAX`. It fits into the immediate
/// operand of an x86-64 instruction.
const SHORT: u64 = i32::MAX as u64;

#[cold]
#[inline(always)]
const fn cold() {}
impl<E: Environment> PerfCounterContext<'_, E> {
    /// Serves and answers a call for an allowed register, or refuses a call for a register that the guest cannot have. In any other case,
    /// for example if the register's hub is taken, changes nothing and returns `false`.
    #[inline(always)]
    pub(super) fn fast<const SET: bool>(&self, frame: &mut Frame<'_>) -> bool {
        let (id, access) = (frame.o0, Access::new::<SET>(frame.o1));
        if id == 0 {
            let inlined = || access.answer(self.pcr_fast(id, access));
            // Two separate calls, so that the test for HT is a branch that is seldom taken.
            let served = if access.sets_ht() {
                cold();
                let allows = |word: AccessWord, _| word.register(0) && word.ht();
                self.serve::<SET>(frame, id, allows, inlined, Self::pcr_fast)
            } else {
                let allows = |word: AccessWord, _| word.register(0);
                self.serve::<SET>(frame, id, allows, inlined, Self::pcr_fast)
            };
            return served || self.refused::<SET>(frame, Class::Strand, id);
        }
        if id < NON_HUB_REGISTERS {
            let allows = |word: AccessWord, id| word.register(id);
            let inlined = || access.answer(self.dram_fast(id, access));
            return self.serve::<SET>(frame, id, allows, inlined, Self::dram_fast)
                || match id {
                    1 => self.refused::<SET>(frame, Class::L2, id),
                    _ => self.refused::<SET>(frame, Class::Dram, id),
                };
        }
        let Some((hub, arbiter)) = self.strand.hub(id) else {
            return self.refused::<SET>(frame, Class::Invalid, id);
        };
        let allows_and_takes = |word: AccessWord, id| {
            self.strand.hub(id).is_some_and(|(hub, _)| word.hub(hub))
                && arbiter.try_take_fast(self.strand.token)
        };
        let inlined = || access.answer(self.with_hub(arbiter, id, access));
        self.serve::<SET>(frame, id, allows_and_takes, inlined, Self::hub_fast)
            || self.refused::<SET>(frame, Class::Hub, hub.index() as u64)
    }

    /// Serves and answers a call if one of the guest's two words `allows` it. `inlined` and `outlined` do the same work.
    #[inline(always)]
    fn serve<const SET: bool>(
        &self,
        frame: &mut Frame<'_>,
        id: u64,
        allows: impl Fn(AccessWord, u64) -> bool,
        inlined: impl FnOnce() -> Result<Reply, CallError>,
        outlined: impl Fn(&Self, u64, Access) -> Result<u64, Refusal>,
    ) -> bool {
        if allows(self.strand.guest.access(), id) {
            frame.answer(inlined());
            return true;
        }
        // Loads the register number again, because LLVM would otherwise move the common part of both tests before the first test.
        let allowed = E::Trace::CAN_RECORD && allows(self.strand.guest.traced_access(), frame.o0);
        if allowed {
            self.serve_traced::<SET>(frame.reborrow(), id, outlined);
        }
        allowed
    }

    /// Refuses and answers a call for a register of this class that the guest cannot have. Otherwise changes nothing and returns `false`.
    /// `index` is the hub's number, or the register's number if it belongs to no hub.
    #[inline(always)]
    fn refused<const SET: bool>(&self, frame: &mut Frame<'_>, class: Class, index: u64) -> bool {
        let access = Access::new::<SET>(frame.o1);
        let version = self.version.get();
        // Load the refusals after the version, as on the slow path.
        fence(Ordering::Acquire);
        let Some(refusal) =
            self.strand.guest.refusals().refusal(version, class, index, access.sets_ht())
        else {
            return false;
        };
        self.strand.counts.add(access.operation(), class, Outcome::Refused(refusal));
        frame.answer(Err(refusal.error().into()));
        true
    }

    /// Serves a traced call. Answers the call first, so that no work is left after the event.
    #[cold]
    #[inline(never)]
    fn serve_traced<const SET: bool>(
        &self,
        mut frame: Frame<'_>,
        id: u64,
        call: impl Fn(&Self, u64, Access) -> Result<u64, Refusal>,
    ) {
        let value = if SET { frame.o1 } else { 0 };
        let access = Access::new::<SET>(value);
        let trace = self.strand.service.trace();
        let (started, result, ended) = trace.timed(self.strand.caller.strand, || {
            let result = call(self, id, access);
            frame.answer(access.answer(result));
            result
        });
        let ticks = ended.wrapping_sub(started);
        match result {
            Ok(read)
                if ticks <= SHORT
                    && self.strand.record_served::<false>(
                        id,
                        access,
                        read,
                        ticks as u32,
                        ended,
                    ) => {}
            Ok(read) => {
                let value = if SET { value } else { read };
                self.record_late::<SET>(ticks, id, started, value);
            }
            Err(refusal) => self.record_failed(ticks, id, started, access, refusal),
        }
    }

    /// Records a served call, even if this takes many instructions. The call ended at `started` plus `ticks`. (A separate parameter for the
    /// end would take one more register.)
    #[cold]
    #[inline(never)]
    fn record_late<const SET: bool>(&self, ticks: u64, id: u64, started: u64, value: u64) {
        let (access, ended) = (Access::new::<SET>(value), started.wrapping_add(ticks));
        self.strand.record_served::<true>(id, access, value, duration(started, ended), ended);
    }

    #[cold]
    #[inline(never)]
    fn record_failed(&self, ticks: u64, id: u64, started: u64, access: Access, refusal: Refusal) {
        let ended = started.wrapping_add(ticks);
        self.strand.record_refused(id, access, refusal, duration(started, ended), ended);
    }

    #[inline(always)]
    fn pcr_fast(&self, _: u64, access: Access) -> Result<u64, Refusal> {
        (self.strand.counts).add(access.operation(), Class::Strand, Outcome::Ok);
        Ok(self.strand.pcr(access))
    }

    #[inline(always)]
    fn dram_fast(&self, id: u64, access: Access) -> Result<u64, Refusal> {
        match self.strand.device(id as usize, access) {
            Ok(value) => {
                (self.strand.counts).add(access.operation(), Class::Dram, Outcome::Ok);
                Ok(value)
            }
            Err(error) => Err(self.failed_fast(access.operation(), id, error)),
        }
    }

    #[inline(always)]
    fn hub_fast(&self, id: u64, access: Access) -> Result<u64, Refusal> {
        match self.strand.hub(id) {
            Some((_, arbiter)) => self.with_hub(arbiter, id, access),
            None => Err(Refusal::Invalid),
        }
    }

    #[inline(always)]
    fn with_hub(&self, arbiter: &HubArbiter, id: u64, access: Access) -> Result<u64, Refusal> {
        match self.strand.device(id as usize, access) {
            Ok(value) => {
                arbiter.release_fast();
                (self.strand.counts).add(access.operation(), Class::Hub, Outcome::Ok);
                Ok(value)
            }
            Err(error) => Err(self.failed_fast(access.operation(), id, error)),
        }
    }

    /// Ends a fast-path call whose device access failed. Do not call this function if the fast path only declined the call.
    #[cold]
    #[inline(never)]
    fn failed_fast(&self, operation: Operation, id: u64, error: AccessError) -> Refusal {
        let refusal = match PerfReg::new(id) {
            Some(register) => {
                let guard = match register.kind() {
                    RegisterKind::Hub { hub, .. } => {
                        Some((hub, self.strand.arbiter(hub).guard(self.strand.caller.strand)))
                    }
                    _ => None,
                };
                self.strand.failed(register, operation, guard, error)
            }
            None => Refusal::Invalid,
        };
        self.strand.counts.add(operation, Class::from_id(id), Outcome::Refused(refusal));
        refusal
    }
}

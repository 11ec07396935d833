//! The contract of group 0x205 as a function. Given the state that a call finds, the function computes the call's answer and effects, and
//! whether the fast path hands the call over to the slow path.

use guest_abi::HvError;

use super::state::{State, Symbolic, block, id_below, part};
use super::world::Effect;

/// The reason that the fast path leaves in %g5 if it does not serve a call: the number of FAST_TRAP.
const FAST: u64 = 0x80;
/// The reason that the fast path leaves in %g5 if one of its device accesses has failed.
pub(crate) const FAULTED: u64 = 0x100;

/// The number of the function of group 0x205 that reads a register.
const GET: u64 = 0x106;
/// The number of the function of group 0x205 that writes a register.
const SET: u64 = 0x107;
/// The first large function number. All large function numbers share one entry in the function table.
const LARGE: u64 = 0x400;

/// The classes of registers, in the order in which a strand's counts are stored.
#[derive(Clone, Copy)]
enum Class {
    Strand,
    L2,
    Dram,
    Hub,
    Invalid,
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End<W> {
    /// The call returns to the guest, with a status and the value that it read.
    Returned(W, Option<W>),
    /// The call goes to the slow path, for this reason.
    Slow(W),
}

/// The result that the contract requires for a call.
#[derive(Clone, Debug)]
pub(crate) struct Expected<W> {
    pub(crate) end: End<W>,
    pub(crate) effects: Vec<Effect<W>>,
}

/// A call that is being served, with its effects so far.
struct Call<'a, W> {
    state: &'a State<W>,
    set: bool,
    effects: Vec<Effect<W>>,
}

/// Returns the result that the contract requires for a call.
pub(crate) fn served<W: Symbolic>(state: &State<W>) -> Expected<W> {
    let function = |number| (state.function ^ W::from(number)).is_zero();
    let set = match (function(GET), function(SET)) {
        (true, _) => false,
        (_, true) => true,
        _ => return other(state),
    };
    let mut call = Call { state, set, effects: Vec::new() };
    let end = call.end();
    Expected { end, effects: call.effects }
}

/// Returns the result that the contract requires after a device fault: the slow path serves the call. A strand that was reading the banks
/// of the L2 control holds the lock and releases it.
pub(crate) fn faulted<W: Symbolic>(state: &State<W>, has_lock: bool) -> Expected<W> {
    let release = Effect::Store { address: state.l2, shift: 2, value: W::from(0) };
    let effects = if has_lock { vec![release] } else { Vec::new() };
    Expected { end: End::Slow(W::from(FAULTED)), effects }
}

/// Serves a call of a function that does not belong to group 0x205. The call takes the slow path if another service has the function, or if
/// calls are traced. Otherwise, the call returns EBADTRAP.
fn other<W: Symbolic>(state: &State<W>) -> Expected<W> {
    let serves = entry_of(state, state.served) | byte(state, state.traced);
    let end = match serves.is_zero() {
        true => End::Returned(error(HvError::BadTrap), None),
        false => End::Slow(W::from(FAST)),
    };
    Expected { end, effects: Vec::new() }
}

fn byte<W: Symbolic>(state: &State<W>, address: W) -> W {
    part(state.word(address & !W::from(7)), address, 0)
}

/// Returns the entry of the call's function in a function table: 0 if no service has the function.
pub(crate) fn entry_of<W: Symbolic>(state: &State<W>, table: W) -> W {
    let large = id_below(state.function, LARGE) ^ W::from(1);
    let entry = if large.is_zero() { state.function } else { W::from(LARGE) };
    byte(state, table.plus(entry))
}

fn error<W: Symbolic>(error: HvError) -> W {
    W::from(error.number())
}

impl<W: Symbolic> Call<'_, W> {
    fn slow(&self) -> End<W> {
        End::Slow(W::from(FAST))
    }

    /// Returns `true` if the guest's first access word (its rights) has the bit for this place set. A place stands for a register or a hub.
    fn allows(&self, place: W) -> bool {
        bit(self.state.access, W::from(63).minus(place))
    }

    /// Counts the call. The counts are sorted by operation, then by class, then by outcome.
    fn count(&mut self, class: Class, outcome: usize) {
        let index = (usize::from(self.set) * 5 + class as usize) * 6 + outcome;
        let address = self.state.counts.plus(W::from(8 * index as u64));
        let value = self.state.word(address).plus(W::from(1));
        self.store(address, value);
    }

    fn store(&mut self, address: W, value: W) {
        self.effects.push(Effect::Store { address, shift: 3, value });
    }

    fn ok(&mut self, class: Class, value: Option<W>) -> End<W> {
        self.count(class, 0);
        End::Returned(W::from(0), value)
    }

    fn refuse(&mut self, class: Class, refusal: HvError) -> End<W> {
        let outcome = match refusal {
            HvError::BadTrap => 1,
            HvError::Invalid => 2,
            HvError::NotSupported => 3,
            HvError::NoAccess => 4,
            _ => 5,
        };
        self.count(class, outcome);
        End::Returned(error(refusal), None)
    }

    fn end(&mut self) -> End<W> {
        let id = self.state.id;
        if id.is_zero() {
            return self.strand();
        }
        if (id ^ W::from(1)).is_zero() {
            return self.l2();
        }
        if !id_below(id, 18).is_zero() {
            return self.dram();
        }
        if !id_below(id, 90).is_zero() {
            return self.hub();
        }
        self.refused(Class::Invalid, |call, _| call.refuse(Class::Invalid, HvError::Invalid))
    }

    /// Serves register 0. A call that sets the HT bit takes the slow path, unless it is refused.
    fn strand(&mut self) -> End<W> {
        let sets_ht = self.set && bit(self.state.value, W::from(3));
        if sets_ht || !self.allows(W::from(0)) {
            return self.refused(Class::Strand, |call, word| {
                match bit(word, W::from(if sets_ht { 40 } else { 41 })) {
                    true => call.refuse(Class::Strand, HvError::NoAccess),
                    false => call.slow(),
                }
            });
        }
        if self.set {
            self.effects.push(Effect::WritePcr(self.state.value & self.state.pcr_mask));
            return self.ok(Class::Strand, None);
        }
        self.effects.push(Effect::ReadPcr);
        // The fast path loads the call's count before it reads the register. The effects do not contain this load, because loads from
        // memory are not effects. (Loads from devices are.)
        self.ok(Class::Strand, Some(self.state.pcr))
    }

    /// Serves register 1, which stands for bits 37:36 of the L2 control in all banks of the node.
    fn l2(&mut self) -> End<W> {
        if !self.allows(W::from(23)) {
            return self.refused(Class::L2, |call, word| match bit(word, W::from(46)) {
                true => call.refuse(Class::L2, HvError::NoAccess),
                false => call.slow(),
            });
        }
        if self.set {
            return self.set_l2();
        }
        let read = self.device_load(self.state.bank);
        self.ok(Class::L2, Some(read >> W::from(36) & W::from(3)))
    }

    fn device_load(&mut self, address: W) -> W {
        self.effects.push(Effect::Load { address, shift: 3 });
        self.state.word(address)
    }

    /// Reads all banks, then writes all banks, bank 0 last. The strand holds the lock from the first read to the last write. If a store is
    /// reported as failed, the slow path undoes the write.
    fn set_l2(&mut self) -> End<W> {
        let State { l2, owner, bank, value, .. } = *self.state;
        let lock = self.state.word(l2);
        if !(lock >> W::from(32)).is_zero() {
            return self.slow();
        }
        self.effects.push(Effect::Swap { address: l2, shift: 2, value: owner });
        // The previous owner of the lock may have taken the unit out of service.
        if !bit(self.state.access_again, W::from(40)) {
            self.effects.push(Effect::Store { address: l2, shift: 2, value: W::from(0) });
            return self.slow();
        }
        let number = |number: u64| W::from(64 * number);
        let kept =
            |call: &Self, number: u64| call.state.block.plus(W::from(block::L2_READ + 8 * number));
        let mut read = Vec::new();
        for other in 1..8 {
            let word = self.device_load(bank.plus(number(other)));
            self.store(kept(self, other - 1), word);
            read.push(word);
        }
        let first = self.device_load(bank);
        let field = W::from(3) << W::from(36);
        let config = value << W::from(36) & field;
        for (other, word) in (1..8).zip(read) {
            self.store(bank.plus(number(other)), word & !field | config);
        }
        self.effects.push(Effect::Membar(0x40));
        let [_, others, all] = self.state.reports;
        if !others.is_zero() {
            return End::Slow(W::from(FAULTED));
        }
        self.store(bank, first & !field | config);
        self.effects.push(Effect::Membar(0x40));
        if !all.is_zero() {
            return End::Slow(W::from(FAULTED));
        }
        let ended = (lock & W::from(0xffff_ffff)).plus(W::from(1)) & W::from(0xffff_ffff);
        let address = l2.plus(W::from(4));
        self.effects.push(Effect::Store { address, shift: 2, value: ended });
        self.effects.push(Effect::Store { address: l2, shift: 2, value: W::from(0) });
        self.ok(Class::L2, None)
    }

    /// Serves registers 2 to 17, which belong to memory channels.
    fn dram(&mut self) -> End<W> {
        let State { id, address, value, mask, .. } = *self.state;
        if !self.allows(id) {
            let channel = id >> W::from(1);
            return self.refused(Class::Dram, |call, word| {
                if !bit(word, W::from(63).minus(channel)) {
                    return call.slow();
                }
                match bit(word, W::from(55).minus(channel)) {
                    true => call.refuse(Class::Dram, HvError::NoAccess),
                    false => call.refuse(Class::Dram, HvError::NotSupported),
                }
            });
        }
        if self.set {
            self.store(address, value & mask);
            return self.ok(Class::Dram, None);
        }
        let read = self.device_load(address);
        self.ok(Class::Dram, Some(read))
    }

    /// Serves registers 18 to 89, which belong to hubs. The strand takes the hub before the access, and releases it afterwards.
    fn hub(&mut self) -> End<W> {
        let State { hub, gates, address, value, mask, token, .. } = *self.state;
        if !self.allows(hub.plus(W::from(18))) {
            return self.refused(Class::Hub, |call, word| {
                if !bit(word, W::from(45).minus(hub)) {
                    return call.slow();
                }
                // All refused hubs have the same status.
                match (word >> W::from(36) & W::from(0xf) ^ error(HvError::NoAccess)).is_zero() {
                    true => call.refuse(Class::Hub, HvError::NoAccess),
                    false => call.refuse(Class::Hub, HvError::NotSupported),
                }
            });
        }
        let gate = gates.plus(hub << W::from(7));
        let found = self.state.word(gate);
        if !found.is_zero() {
            return self.taken(found);
        }
        self.effects.push(Effect::Swap { address: gate, shift: 3, value: token });
        let read = match self.set {
            true => {
                self.store(address, value & mask);
                self.effects.push(Effect::Membar(0x40));
                None
            }
            false => Some(self.device_load(address)),
        };
        self.effects.push(Effect::Store { address: gate, shift: 2, value: W::from(0) });
        self.ok(Class::Hub, read)
    }

    /// Serves a call for a hub that is taken. The slow path remembers the refused strand. For some time after that, the fast path refuses
    /// the strand immediately, as long as the gate is closed and not reserved for the strand.
    fn taken(&mut self, found: W) -> End<W> {
        if !bit(found, W::from(63)) || (found ^ self.state.reserved).is_zero() {
            return self.slow();
        }
        let watch = self.state.watches.plus(self.state.hub << W::from(5));
        let since = self.state.stick.minus(self.state.word(watch));
        match id_below(since, 1 << 19).is_zero() {
            true => self.slow(),
            false => self.refuse(Class::Hub, HvError::WouldBlock),
        }
    }

    /// Serves a call that the guest's first access word (its rights) does not allow. The guest's second access word (its refusals) decides
    /// about the call:
    /// - If the guest has negotiated no version, and bit 63 of the second word is set, the call returns EBADTRAP.
    /// - If the guest has negotiated a version, no register has the id, and bit 63 of the second word is set, `refused` decides how the
    ///   call ends.
    /// - If the guest has negotiated a version, a register has the id, and the second word is for this version, `refused` decides how the
    ///   call ends.
    /// - In all other cases, the call takes the slow path.
    fn refused(&mut self, class: Class, refused: impl FnOnce(&mut Self, W) -> End<W>) -> End<W> {
        let State { version, refusals, .. } = *self.state;
        let is_open = bit(refusals, W::from(63));
        if version.is_zero() {
            return match is_open {
                true => self.refuse(class, HvError::BadTrap),
                false => self.slow(),
            };
        }
        // No version has a register with this id, so the second word need not be for the negotiated version.
        if matches!(class, Class::Invalid) {
            return if is_open { refused(self, refusals) } else { self.slow() };
        }
        match ((refusals ^ version ^ W::from(3)) & W::from(3)).is_zero() {
            true => refused(self, refusals),
            false => self.slow(),
        }
    }
}

/// Returns `true` if the bit at this position is set.
fn bit<W: Symbolic>(word: W, number: W) -> bool {
    !(word >> number & W::from(1)).is_zero()
}

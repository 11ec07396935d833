//! The mailbox: words through which a service processor passes the operator's steps to the hypervisor.
//!
//! A mailbox is [`WORDS`] words of memory that no guest can access. The operator writes a [`Step`] with [`ask`], and then interrupts a
//! strand. `ask` sets the first word to [`REQUESTED`] after it has written all other words. The hypervisor [serves](serve) the step on this
//! strand, and finally sets the first word to [`DONE`]. The [`answer`] stays until the next step. The first word thus says whether the
//! operator or the hypervisor may write the mailbox.
//!
//! | word | content |
//! |---|---|
//! | 0 | [`EMPTY`], [`REQUESTED`] or [`DONE`] |
//! | 1 | the step: 1 reconfigure, 2 a strand died, 3 reset of a guest, 4 return to service, 5 look |
//! | 2 | the number of guests, or the number of the strand, guest or [unit](Unit::number) |
//! | 8 | the result: 0 for done, or the number of a [`Refusal`] |
//! | 9 on | grants of a reconfiguration, the answer to [`Step::ReadState`], or two details of the refusal |
//!
//! For [`Step::ReadState`], the hypervisor writes the following from word 9 on: one word that is 1 while a change is pending and otherwise 0,
//! four words with the awaited strands, one word for each unit, and the held rights.
//!
//! This project defines the layout. It belongs to version 1 of the mailbox interface ([`platform::interfaces`]). Sun's hypervisor receives
//! such steps on a logical domain channel, in another format.

use bitfield_struct::bitfield;
use guest_abi::StrandId;
use hv_core::GuestId;
use platform::AccessError;

use crate::{
    ChangeError, ConfigError, Environment, Grant, Grants, PerfCounterService, StrandSet, Unit,
    UnitState,
};

/// The number of 64-bit words of a mailbox.
pub const WORDS: usize = platform::memory_map::mailbox::OPERATOR_WORDS;

/// The value of the first word before the first step.
pub const EMPTY: u64 = 0;
/// The value of the first word while a step waits for the hypervisor.
pub const REQUESTED: u64 = 1;
/// The value of the first word after a step has been served.
pub const DONE: u64 = 2;

const STATE: usize = 0;
const STEP: usize = 1;
const ARGUMENT: usize = 2;
const RESULT: usize = 8;
const DATA: usize = 9;

/// The result for an unknown step, or for a step with an unknown argument.
const UNKNOWN: u64 = 1;

/// The word in which [`Step::ReadState`] encodes a [`UnitState`].
#[bitfield(u64)]
struct UnitWord {
    in_service: bool,
    clean: bool,
    #[bits(30)]
    stuck: u32,
    faults: u32,
}

/// The word at which each part of the answer to [`Step::ReadState`] begins.
const AWAITED: usize = DATA + 1;
const UNITS: usize = AWAITED + 4;
const HELD: usize = UNITS + Unit::COUNT;

/// A step that the operator requests through the mailbox.
// A large type is acceptable: steps are rare, and there is no allocation.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Grants each guest the rights in the configuration: see [`PerfCounterService::reconfigure`].
    Reconfigure(Grants),
    /// Reports the death of a strand: see [`PerfCounterService::strand_died`].
    Died(StrandId),
    /// Resets a guest. The image serves this step.
    Reset(GuestId),
    /// Returns a repaired unit to service: see [`PerfCounterService::return_to_service`].
    ReturnToService(Unit),
    /// Requests the state, as [`ServiceState`], and changes nothing. The argument is the number of guests in `held`.
    ReadState(usize),
}

/// The answer to [`Step::ReadState`]: what the operator sees of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceState {
    /// The strands that a pending change waits for: see [`PerfCounterService::pending`].
    pub pending: Option<StrandSet>,
    /// The state of each unit of the largest machine, indexed by [`Unit::number`]. See [`PerfCounterService::unit`].
    pub units: [UnitState; Unit::COUNT],
    /// The rights that each guest holds now: see [`PerfCounterService::held`].
    pub held: Grants,
}

/// Why the hypervisor did not perform a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such step, strand, guest or unit.
    Unknown,
    /// The service has refused the step.
    Change(ChangeError),
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Unknown => f.write_str("there is no such step, strand, guest or unit"),
            Self::Change(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Refusal {}

/// Writes a step to the mailbox. The operator interrupts a strand afterwards.
pub fn ask(words: &mut [u64; WORDS], step: &Step) {
    let (number, argument) = match step {
        Step::Reconfigure(grants) => {
            put_grants(words, DATA, grants);
            (1, grants.guests())
        }
        Step::Died(strand) => (2, strand.index()),
        Step::Reset(guest) => (3, guest.index()),
        Step::ReturnToService(unit) => (4, unit.number()),
        Step::ReadState(guests) => (5, *guests),
    };
    words[STEP] = number;
    words[ARGUMENT] = argument as u64;
    words[STATE] = REQUESTED;
}

/// Decodes the step in the words; `None` if the step or its argument is unknown.
fn decode_step(words: &[u64; WORDS]) -> Option<Step> {
    let argument = usize::try_from(words[ARGUMENT]).ok()?;
    match words[STEP] {
        1 if argument <= GuestId::COUNT => Some(Step::Reconfigure(grants(words, DATA, argument))),
        2 => StrandId::new(argument).map(Step::Died),
        3 => GuestId::new(argument).map(Step::Reset),
        4 => Unit::ALL.iter().copied().nth(argument).map(Step::ReturnToService),
        5 if argument <= GuestId::COUNT => Some(Step::ReadState(argument)),
        _ => None,
    }
}

/// Serves the waiting step, if there is one. The strand `on` executes this function between two hypercalls. `image_step` does the image's part
/// when a guest is reset or a strand has died.
pub fn serve<E: Environment>(
    words: &mut [u64; WORDS],
    service: &PerfCounterService<E>,
    on: StrandId,
    image_step: impl FnOnce(Step),
) {
    if words[STATE] != REQUESTED {
        return;
    }
    let result = match decode_step(words) {
        Some(Step::Reconfigure(grants)) => service.reconfigure_between_calls(on, &grants).map(drop),
        Some(step @ Step::Died(strand)) => {
            service.strand_died(on, strand);
            image_step(step);
            Ok(())
        }
        Some(step @ Step::Reset(_)) => {
            image_step(step);
            Ok(())
        }
        Some(Step::ReturnToService(unit)) => service.return_to_service(on, unit),
        Some(Step::ReadState(guests)) => {
            encode_state(words, service, guests);
            Ok(())
        }
        None => {
            words[RESULT] = UNKNOWN;
            words[STATE] = DONE;
            return;
        }
    };
    words[RESULT] = 0;
    if let Err(error) = result {
        [words[RESULT], words[DATA], words[DATA + 1]] = encode_error(error);
    }
    words[STATE] = DONE;
}

/// Encodes an error: the result in word 8, and two details from word 9 on.
fn encode_error(error: ChangeError) -> [u64; 3] {
    match error {
        ChangeError::Config(ConfigError::TwoGlobals(a, b)) => [2, a as u64, b as u64],
        // Of these problems, a step can cause only `TwoGlobals`: all others are found before the first guest starts.
        ChangeError::Config(_) => [UNKNOWN, 0, 0],
        ChangeError::OtherGuests { given, there_are } => [3, given as u64, there_are as u64],
        ChangeError::Busy => [4, 0, 0],
        ChangeError::OtherNode(unit) => [5, unit.number() as u64, 0],
        ChangeError::NotClean(unit, AccessError::Busy) => [6, unit.number() as u64, 0],
        ChangeError::NotClean(unit, AccessError::Fault) => [7, unit.number() as u64, 0],
        ChangeError::NoSuchUnit(unit) => [8, unit.number() as u64, 0],
    }
}

/// Returns the result of a step that is [`DONE`], with the answer to a [`Step::ReadState`]; `None` if no step is done.
pub fn answer(words: &[u64; WORDS]) -> Option<Result<Option<ServiceState>, Refusal>> {
    let (first, second) = (words[DATA] as usize, words[DATA + 1] as usize);
    let unit = || Unit::ALL.iter().copied().nth(first);
    let error = match words[RESULT] {
        _ if words[STATE] != DONE => return None,
        0 => return Some(Ok((words[STEP] == 5).then(|| decode_state(words)))),
        2 => Some(ChangeError::Config(ConfigError::TwoGlobals(first, second))),
        3 => Some(ChangeError::OtherGuests { given: first, there_are: second }),
        4 => Some(ChangeError::Busy),
        5 => unit().map(ChangeError::OtherNode),
        6 => unit().map(|unit| ChangeError::NotClean(unit, AccessError::Busy)),
        7 => unit().map(|unit| ChangeError::NotClean(unit, AccessError::Fault)),
        8 => unit().map(ChangeError::NoSuchUnit),
        _ => None,
    };
    Some(Err(error.map_or(Refusal::Unknown, Refusal::Change)))
}

fn encode_state<E: Environment>(
    words: &mut [u64; WORDS],
    service: &PerfCounterService<E>,
    guests: usize,
) {
    let pending = service.pending();
    words[DATA] = u64::from(pending.is_some());
    let awaited = pending.unwrap_or_default().words();
    for (word, strands) in words.iter_mut().skip(AWAITED).zip(awaited) {
        *word = strands;
    }
    for (word, unit) in words.iter_mut().skip(UNITS).zip(Unit::ALL.iter().copied()) {
        let state = service.unit(unit);
        *word = UnitWord::new()
            .with_in_service(state.in_service)
            .with_clean(state.clean)
            .with_stuck(state.stuck & 0x3fff_ffff)
            .with_faults(state.faults)
            .into_bits();
    }
    let mut held = Grants::none_saturating(guests);
    for guest in (0..guests).filter_map(GuestId::new) {
        // The guest exists, so `set` cannot fail.
        let _ = held.set(guest, service.held(guest));
    }
    put_grants(words, HELD, &held);
}

fn decode_state(words: &[u64; WORDS]) -> ServiceState {
    let mut awaited = [0; AWAITED.abs_diff(UNITS)];
    awaited.copy_from_slice(&words[AWAITED..UNITS]);
    let mut units =
        [UnitState { in_service: false, clean: false, faults: 0, stuck: 0 }; Unit::COUNT];
    for (unit, word) in units.iter_mut().zip(words.iter().skip(UNITS)) {
        let word = UnitWord::from_bits(*word);
        *unit = UnitState {
            in_service: word.in_service(),
            clean: word.clean(),
            faults: word.faults(),
            stuck: word.stuck(),
        };
    }
    let guests = (words[ARGUMENT] as usize).min(GuestId::COUNT);
    ServiceState {
        pending: (words[DATA] != 0).then(|| StrandSet::from_words(awaited)),
        units,
        held: grants(words, HELD, guests),
    }
}

/// Writes grants, eight per word, the first in the most significant byte. In each byte, bit 0 is `global`, bit 1 register 0, bit 2 HT.
fn put_grants(words: &mut [u64; WORDS], first: usize, grants: &Grants) {
    let mut guests = (0..GuestId::COUNT).filter_map(GuestId::new);
    for word in words.iter_mut().skip(first).take(GuestId::COUNT / 8) {
        let mut bytes = [0; 8];
        for (byte, guest) in bytes.iter_mut().zip(&mut guests) {
            *byte = grants.get(guest).bits();
        }
        *word = u64::from_be_bytes(bytes);
    }
}

fn grants(words: &[u64; WORDS], first: usize, guests: usize) -> Grants {
    let mut grants = Grants::none_saturating(guests);
    for guest in (0..guests).filter_map(GuestId::new) {
        let word = words.get(first + guest.index() / 8).copied().unwrap_or(0);
        let bits = word.to_be_bytes()[guest.index() % 8];
        // The guest exists, so `set` cannot fail.
        let _ = grants.set(guest, Grant::from_bits(bits));
    }
    grants
}

const _: () = assert!(AWAITED == 10 && UNITS == 14 && HELD == 30);
const _: () = assert!(HELD + GuestId::COUNT / 8 <= WORDS);

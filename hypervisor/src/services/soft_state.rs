//! The soft state group, with which a guest tells the operator its state.

use core::array;

use guest_abi::{ApiGroup, HvError, Registers, StrandId, Version};
use hv_core::sync::{AtomicU32, AtomicU64, Ordering};
use hv_core::{CallError, Caller, Group, GuestId, Negotiated, Reply, Service};

use super::group::{Calls, GroupContext};
use super::image::Image;
use guest_abi::kernel::{SOFT_STATE_GET, SOFT_STATE_GROUP, SOFT_STATE_SET};

/// The size in bytes of a state description with its NUL. The address of a description is a multiple of this number.
const TEXT: u64 = 32;
const WORDS: usize = TEXT as usize / 8;

const NORMAL: u32 = 1;
const TRANSITION: u32 = 2;

/// The state that a guest reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftState {
    /// `true` if the guest operates normally; `false` if it is in a transition.
    pub normal: bool,
    /// The description of the state: a string of up to 31 bytes, padded with NULs.
    pub text: [u8; TEXT as usize],
}

/// A guest's stored state. A guest starts in a transition, without a description (*assumed*).
#[derive(Debug)]
struct StoredState {
    state: AtomicU32,
    text: [AtomicU64; WORDS],
}

/// The soft states of all guests. While one of a guest's strands sets a new state, a reader may see parts of both states.
#[derive(Debug)]
pub struct SoftStateGroup<I> {
    image: I,
    guests: [StoredState; GuestId::COUNT],
}

impl<I> SoftStateGroup<I> {
    /// Returns the service. At first, every guest is in a transition and has no description of its state.
    pub fn new(image: I) -> Self {
        Self {
            image,
            guests: array::from_fn(|_| StoredState {
                state: AtomicU32::new(TRANSITION),
                text: array::from_fn(|_| AtomicU64::new(0)),
            }),
        }
    }

    /// Returns the latest state that the guest has reported since its start or reset; the initial state if there is none.
    pub fn get(&self, guest: GuestId) -> SoftState {
        let stored = self.stored(guest);
        let mut text = [0; TEXT as usize];
        let (words, _) = text.as_chunks_mut();
        for (word, stored) in words.iter_mut().zip(&stored.text) {
            *word = stored.load(Ordering::Relaxed).to_be_bytes();
        }
        SoftState { normal: stored.state.load(Ordering::Relaxed) == NORMAL, text }
    }

    fn stored(&self, guest: GuestId) -> &StoredState {
        &self.guests[guest.index()]
    }
}

impl<I: Image> Group for SoftStateGroup<I> {
    const NUMBER: ApiGroup = SOFT_STATE_GROUP;
    const VERSIONS: &'static [Version] = &[Version::V1_0];
    const FUNCTIONS: &'static [u64] = &[SOFT_STATE_SET, SOFT_STATE_GET];
}

impl<I: Image> Service for SoftStateGroup<I> {
    type Group = Self;
    type Context<'a>
        = GroupContext<'a, Self>
    where
        I: 'a;

    fn context<'a>(&'a self, caller: Caller, _: &'a Negotiated<Self>) -> GroupContext<'a, Self> {
        GroupContext { group: self, caller }
    }

    fn guest_reset(&self, guest: GuestId, _: StrandId) {
        let stored = self.stored(guest);
        stored.state.store(TRANSITION, Ordering::Relaxed);
        for word in &stored.text {
            word.store(0, Ordering::Relaxed);
        }
    }
}

impl<I: Image> Calls for SoftStateGroup<I> {
    fn call(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        match function {
            SOFT_STATE_SET => self.set_state(caller.guest, registers.o0, registers.o1),
            SOFT_STATE_GET => self.read_state(caller.guest, registers.o0),
            _ => Err(HvError::BadTrap.into()),
        }
    }
}

impl<I: Image> SoftStateGroup<I> {
    fn set_state(&self, guest: GuestId, state: u64, real: u64) -> Result<Reply, CallError> {
        let state = match state {
            1 => NORMAL,
            2 => TRANSITION,
            _ => return Err(HvError::Invalid.into()),
        };
        self.image.memory(guest).check(real, TEXT, TEXT)?;
        let mut text = [0; WORDS];
        // A mask of the string's bytes in the latest word; 0 once the NUL is found.
        let mut mask = u64::MAX;
        for (word, at) in text.iter_mut().zip((real..).step_by(8)) {
            let loaded = self.image.load(guest, at);
            if mask != 0 {
                mask = before_nul(loaded);
                *word = loaded & mask;
                mask = if mask == u64::MAX { mask } else { 0 };
            }
        }
        if mask != 0 {
            return Err(HvError::Invalid.into());
        }
        let guest = self.stored(guest);
        guest.state.store(state, Ordering::Relaxed);
        for (word, value) in guest.text.iter().zip(text) {
            word.store(value, Ordering::Relaxed);
        }
        Ok(Reply::Done)
    }

    fn read_state(&self, guest: GuestId, real: u64) -> Result<Reply, CallError> {
        self.image.memory(guest).check(real, TEXT, TEXT)?;
        let stored = self.stored(guest);
        for (word, at) in stored.text.iter().zip((real..).step_by(8)) {
            self.image.store(guest, at, word.load(Ordering::Relaxed));
        }
        Ok(Reply::Value(stored.state.load(Ordering::Relaxed).into()))
    }
}

/// Returns a mask that covers the bytes of a word before its first NUL.
fn before_nul(word: u64) -> u64 {
    let bytes = word.to_be_bytes();
    let length = bytes.iter().take_while(|byte| **byte != 0).count();
    u64::MAX.checked_shr(8 * length as u32).map_or(u64::MAX, |rest| !rest)
}

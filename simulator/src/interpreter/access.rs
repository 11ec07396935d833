//! Loads, stores and atomic instructions (UltraSPARC Architecture 2007, sections 6.3.1 and 10.3).

use super::control::pstate;
use super::environment::{At, Environment};
use super::instruction::{Datum, MemoryOperand, Register, Space};
use super::strand::{Strand, aligned};
use super::trap::{Level, Trap};
use super::word::Word;

/// The address space of ordinary loads and stores at trap level 0. At higher trap levels, ordinary loads and stores use NUCLEUS.
pub const PRIMARY: u8 = 0x80;
const NUCLEUS: u8 = 0x04;

/// The bit of an ASI that selects little-endian byte order.
const LITTLE: u8 = 0x08;

impl<W: Word> Strand<W> {
    /// Returns where an access goes, and whether the data are little-endian.
    #[inline(always)]
    fn place(&self, place: MemoryOperand, shift: u8) -> Result<(At<W>, bool), Trap> {
        let level = self.control.level();
        let (space, little, least) = match place.space {
            Space::Primary => {
                let space = if self.control.tl == 0 { PRIMARY } else { NUCLEUS };
                (space, self.control.pstate & pstate::CLE != 0, Level::User)
            }
            Space::Number(space) => alternate(space),
            Space::Asi => alternate(W::from_byte(self.asi).known()? as u8),
        };
        let address = self.effective(self.address(place.rs1, place.operand));
        let address = aligned(address, shift)?;
        if level < least {
            return Err(Trap::PRIVILEGED_ACTION);
        }
        let at = At { address, space, level };
        Ok((at, little))
    }

    #[inline(always)]
    pub(super) fn load(
        &self,
        place: MemoryOperand,
        datum: Datum,
        environment: &mut impl Environment<W>,
    ) -> Result<W, Trap> {
        let (at, little) = self.place(place, datum.shift)?;
        let value = environment.load(at, datum.shift)?;
        let value = ordered(little, datum.shift, value);
        let unused = W::from(64 - (8 << datum.shift));
        Ok(if datum.signed { (value << unused).shifted_with_sign(unused) } else { value })
    }

    #[inline(always)]
    pub(super) fn store(
        &self,
        place: MemoryOperand,
        shift: u8,
        value: W,
        environment: &mut impl Environment<W>,
    ) -> Result<(), Trap> {
        let (at, little) = self.place(place, shift)?;
        let value = ordered(little, shift, value);
        environment.store(at, shift, value)
    }

    /// Loads two 32-bit words or, for a twin ASI, two 64-bit words (table 10-1, LDTXA). Each word has the ASI's byte order.
    pub(super) fn load_twin(
        &self,
        rd: Register,
        place: MemoryOperand,
        environment: &mut impl Environment<W>,
    ) -> Result<[W; 2], Trap> {
        let (at, little) = self.twin(rd, place)?;
        if let Some(space) = twin_space(place, at.space) {
            let address = aligned(at.address, 4)?;
            let mut load = |address| {
                let at = At { address, space, ..at };
                let value = environment.load(at, 3)?;
                Ok(ordered(little, 3, value))
            };
            return Ok([load(address)?, load(address.plus(W::from(8)))?]);
        }
        let value = environment.load(at, 3)?;
        Ok([value >> W::from(32), value.low()].map(|word| ordered(little, 2, word)))
    }

    pub(super) fn store_twin(
        &self,
        rd: Register,
        place: MemoryOperand,
        environment: &mut impl Environment<W>,
    ) -> Result<(), Trap> {
        let (at, little) = self.twin(rd, place)?;
        let word = |register| ordered(little, 2, self.registers.get(register).low());
        environment.store(at, 3, (word(rd) << W::from(32)) | word(rd.odd()))
    }

    fn twin(&self, rd: Register, place: MemoryOperand) -> Result<(At<W>, bool), Trap> {
        if !rd.is_even() {
            return Err(Trap::ILLEGAL_INSTRUCTION);
        }
        self.place(place, 3)
    }

    /// Changes a value in memory atomically. Writes the old value to the register `rd`.
    pub(super) fn change(
        &mut self,
        rd: Register,
        place: MemoryOperand,
        shift: u8,
        environment: &mut impl Environment<W>,
        changed: impl FnOnce(W) -> W,
    ) -> Result<(), Trap> {
        let (at, little) = self.place(place, shift)?;
        let old = environment.change(at, shift, |old| {
            ordered(little, shift, changed(ordered(little, shift, old)))
        })?;
        self.registers.set(rd, ordered(little, shift, old));
        Ok(())
    }
}

/// Returns the ordinary ASI for the memory that a twin ASI reaches; `None` if `space` is not a twin ASI.
fn twin_space(place: MemoryOperand, space: u8) -> Option<u8> {
    match (place.space, space) {
        (Space::Primary, _) => None,
        // The ASIs are, in order: as-if-user primary and secondary, real, nucleus, primary and secondary.
        (_, 0x22 | 0x23) => Some(space - 0x12),
        (_, 0x26) => Some(0x14),
        (_, 0x27) => Some(NUCLEUS),
        (_, 0xe2 | 0xe3) => Some(space - 0x62),
        _ => None,
    }
}

/// Reverses the order of a value's `1 << shift` bytes if `little` is set.
#[inline(always)]
fn ordered<W: Word>(little: bool, shift: u8, value: W) -> W {
    if little { value.reversed() >> W::from(64 - (8 << shift)) } else { value }
}

/// Returns the big-endian ASI for the memory of `space`, whether `space` is little-endian, and the lowest level that may use it.
#[inline(always)]
const fn alternate(space: u8) -> (u8, bool, Level) {
    let least = match space {
        0x00..=0x2f => Level::Privileged,
        0x30..=0x7f => Level::Hyperprivileged,
        0x80.. => Level::User,
    };
    // Register ASIs have only one byte order.
    let little = matches!(space, 0x04..=0x1f | 0x24..=0x2f | 0x80..) && space & LITTLE != 0;
    (if little { space & !LITTLE } else { space }, little, least)
}

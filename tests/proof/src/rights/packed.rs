//! Packs a machine into 128 bits. Machines that are alike have the same bits.

use perfctr_service::decisions::protocol::{Asked, Global, Holding};
use perfctr_service::{Grant, StrandRight};

use super::world::{Activity, Call, Strand, Tenure, World};
use super::{Symmetry, guest};

/// Fields that are packed into one word. The last field is in the lowest bits.
struct Bits(u64);

impl Bits {
    #[inline(always)]
    fn push(&mut self, value: u64, width: u32) {
        self.0 = (self.0 << width) | value;
    }

    fn pop(&mut self, width: u32) -> u64 {
        let value = self.0 & ((1 << width) - 1);
        self.0 >>= width;
        value
    }

    fn pop_flag(&mut self) -> bool {
        self.pop(1) == 1
    }
}

fn number_of(tenure: Option<Tenure>) -> u64 {
    match tenure {
        None => 0,
        Some(Tenure::Current) => 1,
        Some(Tenure::Ended) => 2,
    }
}

fn tenure(number: u64) -> Option<Tenure> {
    match number {
        0 => None,
        1 => Some(Tenure::Current),
        _ => Some(Tenure::Ended),
    }
}

fn right(number: u64) -> StrandRight {
    match number {
        0 => StrandRight::None,
        1 => StrandRight::Strand,
        _ => StrandRight::HtStrand,
    }
}

/// The number of bits for a strand's state.
const STRAND: u32 = 14;

impl Strand {
    #[inline]
    pub(crate) fn bits(&self) -> u64 {
        let doing = match self.doing {
            Activity::Guest => 0,
            Activity::Dead => 1,
            Activity::Call(Call::Unit(tenure)) => 2 + number_of(Some(tenure)),
            Activity::Call(Call::Pcr(pcr, ht)) => 8 + 4 * number_of(Some(pcr)) + number_of(ht),
            Activity::CrossCall(taken) => 32 + u64::from(taken.into_bits()),
        };
        let mut bits = Bits(0);
        bits.push(doing, 6);
        bits.push(u64::from(self.asked.into_bits()), 4);
        bits.push(number_of(self.pcr), 2);
        bits.push(number_of(self.ht), 2);
        bits.0
    }

    fn from_bits(bits: u64) -> Self {
        let mut bits = Bits(bits);
        let (ht, pcr) = (tenure(bits.pop(2)), tenure(bits.pop(2)));
        let asked = Asked::from_bits(bits.pop(4) as u32);
        let ended = |number| [Tenure::Current, Tenure::Ended][number as usize - 1];
        let doing = match bits.pop(6) {
            0 => Activity::Guest,
            1 => Activity::Dead,
            call @ 3..8 => Activity::Call(Call::Unit(ended(call - 2))),
            call @ 8..32 => Activity::Call(Call::Pcr(ended((call - 8) / 4), tenure(call % 4))),
            taken => Activity::CrossCall(Asked::from_bits(taken as u32 - 32)),
        };
        Self { asked, doing, pcr, ht }
    }
}

impl<const G: usize, const S: usize> World<G, S> {
    /// The number of bits for a guest's state.
    const GUEST: u32 = {
        let bits = STRAND * S as u32 + 13;
        assert!(G as u32 * bits + 3 <= 128);
        bits
    };

    /// Returns the bits of a guest, of its strands, and of everything else that the world stores for the guest.
    #[inline]
    fn guest_bits(&self, number: usize, sorted: bool) -> u64 {
        let mut strands = self.strands[number].map(|strand| strand.bits());
        if sorted {
            strands.sort_unstable();
        }
        let mut bits = Bits(0);
        for strand in strands {
            bits.push(strand, STRAND);
        }
        let Holding { granted, held, starting } = self.guests[number];
        let written = self.unit.written.filter(|(writer, _)| *writer == number);
        bits.push(number_of(written.map(|(_, tenure)| tenure)), 2);
        let own = self.global.user() == Some(guest(number));
        bits.push(if own { u64::from(self.global.bits() & 3) } else { 0 }, 2);
        bits.push(u64::from(self.resetting == Some(guest(number))), 1);
        bits.push(u64::from(self.reset[number]), 1);
        bits.push(u64::from(starting), 1);
        for grant in [granted, held] {
            bits.push(grant.strand as u64, 2);
            bits.push(u64::from(grant.global), 1);
        }
        bits.0
    }

    /// Returns the machine's bits, which are the same for all machines that are alike.
    pub(crate) fn pack(&self, alike: Symmetry) -> [u64; 2] {
        let mut number = 0;
        let mut guests = [(); G].map(|()| {
            number += 1;
            self.guest_bits(number - 1, alike != Symmetry::None)
        });
        if alike == Symmetry::Guests {
            guests.sort_unstable();
        }
        let unit = 2 * u128::from(self.unit.unclean) + u128::from(self.unit.out);
        // Adding 4 sets the bit above the unit's two bits, so the words are never all 0.
        let bits =
            guests.iter().fold(4 + unit, |bits, guest| bits << Self::GUEST | u128::from(*guest));
        [bits as u64, (bits >> 64) as u64]
    }

    pub(crate) fn unpack(words: [u64; 2]) -> Self {
        let mut all = u128::from(words[1]) << 64 | u128::from(words[0]);
        let mut world = Self::new(&[Grant::NONE; G]);
        for number in (0..G).rev() {
            let mut bits = Bits(all as u64);
            all >>= Self::GUEST;
            let mut grant = || {
                let global = bits.pop_flag();
                let strand = right(bits.pop(2));
                Grant { strand, global }
            };
            let (held, granted) = (grant(), grant());
            let starting = bits.pop_flag();
            world.guests[number] = Holding { granted, held, starting };
            world.reset[number] = bits.pop_flag();
            if bits.pop_flag() {
                world.resetting = Some(guest(number));
            }
            match bits.pop(2) as u32 {
                0 => {}
                kind => world.global = Global::from_bits((number as u32) << 2 | kind),
            }
            if let Some(tenure) = tenure(bits.pop(2)) {
                world.unit.written = Some((number, tenure));
            }
            for strand in world.strands[number].iter_mut().rev() {
                *strand = Strand::from_bits(bits.pop(STRAND));
            }
        }
        (world.unit.unclean, world.unit.out) = (all & 2 != 0, all & 1 != 0);
        world
    }
}

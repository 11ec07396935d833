//! The counters of a strand (FWARC/2007/529 section 2.1).

use guest_abi::Counter;
use guest_abi::event::SparcEvent;
use guest_abi::layout::{EventSelect, SparcPcr, SparcPic};

/// The privilege that a strand runs with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Counted if the PCR has UT.
    #[default]
    User,
    /// Counted if the PCR has ST.
    Privileged,
    /// Counted if the PCR has HT.
    Hyperprivileged,
}

/// What a counter counts in the present mode: the MASK of each event class. All but one are 0, or all.
type Counted = [u8; 16];

/// %pcr and %pic of one strand. At reset both are 0, and the strand runs in user mode.
#[derive(Clone, Debug)]
pub struct StrandUnit {
    pcr: SparcPcr,
    pic: [u32; 2],
    counted: [Counted; 2],
    mode: Mode,
}

impl StrandUnit {
    /// A strand after reset.
    pub const fn new() -> Self {
        Self {
            pcr: SparcPcr::new(),
            pic: [0; 2],
            counted: [[0; 16]; 2],
            mode: Mode::User,
        }
    }

    /// %pcr. OV bits show the wraps since they were last written as 0.
    pub fn pcr(&self) -> u64 {
        self.pcr.into_bits()
    }

    /// Writes %pcr. Bits 63:62 and 31:0 are kept.
    pub fn set_pcr(&mut self, value: u64) {
        self.pcr = SparcPcr::from_bits(value & SparcPcr::WRITABLE);
        self.select();
    }

    /// %pic: counter 0 in bits 31:0, counter 1 in bits 63:32.
    pub fn pic(&self) -> u64 {
        let [pic0, pic1] = self.pic;
        SparcPic::new().with_pic0(pic0).with_pic1(pic1).into_bits()
    }

    /// Writes both counters.
    pub fn set_pic(&mut self, value: u64) {
        let value = SparcPic::from_bits(value);
        self.pic = [value.pic0(), value.pic1()];
    }

    /// The privilege that the strand runs with.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The strand changes its privilege.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.select();
    }

    /// The strand did this `n` times. An event of a single MASK bit: those of several bits, such as
    /// [`SparcEvent::Instructions`], are sums that a counter makes by itself.
    #[inline(always)]
    pub fn count(&mut self, event: SparcEvent, n: u32) {
        let code = event.code();
        let (class, bit) = (usize::from(code >> 8 & 0xf), code as u8);
        let [counted0, counted1] = &self.counted;
        let (hit0, hit1) = (counted0[class] & bit != 0, counted1[class] & bit != 0);
        let [pic0, pic1] = &mut self.pic;
        let (sum0, wrapped0) = pic0.overflowing_add(u32::from(hit0) * n);
        let (sum1, wrapped1) = pic1.overflowing_add(u32::from(hit1) * n);
        (*pic0, *pic1) = (sum0, sum1);
        if wrapped0 | wrapped1 {
            self.overflow(wrapped0, wrapped1);
        }
    }

    #[cold]
    fn overflow(&mut self, wrapped0: bool, wrapped1: bool) {
        self.pcr.set_overflow0(self.pcr.overflow0() | wrapped0);
        self.pcr.set_overflow1(self.pcr.overflow1() | wrapped1);
    }

    fn select(&mut self) {
        let counting = match self.mode {
            Mode::User => self.pcr.user(),
            Mode::Privileged => self.pcr.system(),
            Mode::Hyperprivileged => self.pcr.hypervisor(),
        };
        self.counted = [Counter::Pic0, Counter::Pic1].map(|counter| {
            let select = self.pcr.select(counter);
            let mut counted = [0; 16];
            if let Some(mask) = counted
                .get_mut(usize::from(select.class()))
                .filter(|_| counting)
            {
                *mask = select.mask();
            }
            counted
        });
    }
}

impl Default for StrandUnit {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UT: u64 = 1 << 2;
    const OV0: u64 = 1 << 18;
    const OV1: u64 = 1 << 31;

    /// A PCR that counts these codes (`SL << 8 | MASK`) in user mode.
    fn counting(code0: u64, code1: u64) -> u64 {
        UT | code0 << 6 | code1 << 19
    }

    #[test]
    fn keeps_its_bits() {
        let mut unit = StrandUnit::new();
        assert_eq!((unit.pcr(), unit.pic()), (0, 0));
        unit.set_pcr(u64::MAX);
        assert_eq!(unit.pcr(), 0xc000_0000_ffff_ffff);
        unit.set_pic(0x1234_5678_9abc_def0);
        assert_eq!(unit.pic(), 0x1234_5678_9abc_def0);
    }

    #[test]
    fn counts_what_each_counter_selects() {
        let mut unit = StrandUnit::new();
        unit.set_pcr(counting(0x208, 0x302));
        unit.count(SparcEvent::Loads, 5);
        unit.count(SparcEvent::DataCacheMisses, 3);
        unit.count(SparcEvent::Stores, 100);
        unit.count(SparcEvent::InstructionCacheMisses, 100);
        assert_eq!(unit.pic(), 0x0000_0003_0000_0005);
    }

    #[test]
    fn one_mask_bit_is_not_the_same_bit_of_another_class() {
        let mut unit = StrandUnit::new();
        unit.set_pcr(counting(0x510, 0x310));
        unit.count(SparcEvent::Stores, 7);
        assert_eq!(unit.pic(), 0);
        unit.count(SparcEvent::CrossbarStores, 1);
        unit.count(SparcEvent::L2InstructionMisses, 2);
        assert_eq!(unit.pic(), 0x0000_0002_0000_0001);
    }

    #[test]
    fn mask_bits_of_a_class_add_up() {
        let mut unit = StrandUnit::new();
        unit.set_pcr(counting(0x2fd, 0x218));
        unit.count(SparcEvent::Loads, 1);
        unit.count(SparcEvent::Stores, 2);
        unit.count(SparcEvent::OtherInstructions, 4);
        unit.count(SparcEvent::AtomicOperations, 8);
        unit.count(SparcEvent::BranchesTaken, 16);
        unit.count(SparcEvent::SoftwareCounts, 32);
        assert_eq!(unit.pic(), 0x0000_0003_0000_002f);
    }

    #[test]
    fn counts_in_the_modes_that_the_pcr_names() {
        for (mode, bit) in [
            (Mode::User, 1 << 2),
            (Mode::Privileged, 1 << 1),
            (Mode::Hyperprivileged, 1 << 3),
        ] {
            let mut unit = StrandUnit::new();
            unit.set_mode(mode);
            unit.set_pcr(counting(0x208, 0x208) & !UT | !bit & 0xe);
            unit.count(SparcEvent::Loads, 1);
            assert_eq!(unit.pic(), 0, "{mode:?} without its bit");
            unit.set_pcr(counting(0x208, 0x208) & !UT | bit);
            unit.count(SparcEvent::Loads, 1);
            assert_eq!(unit.pic(), 0x0000_0001_0000_0001, "{mode:?}");
            assert_eq!(unit.mode(), mode);
        }
    }

    #[test]
    fn a_change_of_mode_takes_effect_at_once() {
        let mut unit = StrandUnit::new();
        unit.set_pcr(counting(0x208, 0x208));
        unit.set_mode(Mode::Privileged);
        unit.count(SparcEvent::Loads, 1);
        assert_eq!(unit.pic(), 0);
        unit.set_mode(Mode::User);
        unit.count(SparcEvent::Loads, 1);
        assert_eq!(unit.pic(), 0x0000_0001_0000_0001);
    }

    #[test]
    fn a_wrap_sets_the_overflow_bit_of_its_counter() {
        let mut unit = StrandUnit::new();
        let pcr = counting(0x208, 0x210);
        unit.set_pcr(pcr);
        unit.set_pic(0xffff_fffe_ffff_ffff);
        unit.count(SparcEvent::Loads, 2);
        assert_eq!(unit.pic(), 0xffff_fffe_0000_0001);
        assert_eq!(unit.pcr(), pcr | OV0);
        unit.count(SparcEvent::Stores, 1);
        assert_eq!(unit.pic(), 0xffff_ffff_0000_0001);
        assert_eq!(unit.pcr(), pcr | OV0);
        unit.count(SparcEvent::Stores, 1);
        assert_eq!(unit.pic(), 0x0000_0000_0000_0001);
        assert_eq!(unit.pcr(), pcr | OV0 | OV1);
        for wraps_again in [SparcEvent::Loads, SparcEvent::Stores] {
            unit.set_pic(u64::MAX);
            unit.count(wraps_again, 1);
            assert_eq!(unit.pcr(), pcr | OV0 | OV1, "OV stays until it is written");
        }
        unit.set_pcr(pcr);
        assert_eq!(unit.pcr(), pcr);
    }

    #[test]
    fn events_and_counters_change_while_it_counts() {
        let mut unit = StrandUnit::new();
        unit.set_pcr(counting(0x208, 0x208));
        unit.count(SparcEvent::Loads, 10);
        unit.set_pcr(counting(0x210, 0x208));
        unit.count(SparcEvent::Loads, 1);
        unit.count(SparcEvent::Stores, 2);
        assert_eq!(unit.pic(), 0x0000_000b_0000_000c);
        unit.set_pic(0x0000_0100_0000_0200);
        unit.count(SparcEvent::Loads, 1);
        unit.count(SparcEvent::Stores, 2);
        assert_eq!(unit.pic(), 0x0000_0101_0000_0202);
    }

    #[test]
    fn reserved_and_empty_selects_count_nothing() {
        let mut unit = StrandUnit::new();
        for code in [0x000, 0x200, 0x1ff, 0x8ff, 0xfff] {
            let pcr = counting(code, code);
            unit.set_pcr(pcr);
            for event in SparcEvent::ALL {
                unit.count(*event, 1);
            }
            assert_eq!(unit.pic(), 0, "{code:#x}");
            assert_eq!(unit.pcr(), pcr, "{code:#x}");
        }
    }
}

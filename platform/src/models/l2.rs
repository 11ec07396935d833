//! A model of a node's L2 cache control registers (FWARC/2007/529 section 2.3).

use guest_abi::layout::{L2Control, PerfConfig};

use super::answer;
use crate::AccessError;
use crate::address::L2_BANKS;

/// The eight control registers of a node's L2 cache. They store all bits except bit 22 (*assumed*). Only PERF_CONFIG has an effect.
#[derive(Clone, Debug)]
pub struct L2 {
    control: [u64; L2_BANKS],
    faulty_from: usize,
}

const RESET: L2Control = L2Control::new().with_disabled(true);

impl L2 {
    /// Returns a cache after reset: DIS is set in every register, and all other bits are 0. A hypervisor writes the registers
    /// before guests read them.
    pub const fn new() -> Self {
        Self { control: [RESET.into_bits(); L2_BANKS], faulty_from: L2_BANKS }
    }

    /// Reads a bank's control register. Faults if `bank` is above 7.
    pub fn read(&self, bank: usize) -> Result<u64, AccessError> {
        answer(bank < self.faulty_from)?;
        self.control.get(bank).copied().ok_or(AccessError::Fault)
    }

    /// Writes a bank's control register. Faults if `bank` is above 7.
    pub fn write(&mut self, bank: usize, value: u64) -> Result<(), AccessError> {
        answer(bank < self.faulty_from)?;
        let control = self.control.get_mut(bank).ok_or(AccessError::Fault)?;
        *control = L2Control::from_bits(value).with_clear_directory(false).into_bits();
        Ok(())
    }

    /// Sets every register to 0, even if the bank is faulty.
    pub(super) fn clear(&mut self) {
        self.control = [0; L2_BANKS];
    }

    /// Returns each bank's PERF_CONFIG, which selects the misses that a strand's counters see.
    pub fn perf_config(&self) -> [PerfConfig; L2_BANKS] {
        self.control.map(|control| L2Control::from_bits(control).perf_config())
    }

    /// Makes accesses to `bank` and all later banks fault. 0 makes all banks fault, and 8 or more makes none fault.
    pub fn set_faulty_from(&mut self, bank: usize) {
        self.faulty_from = bank;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banks_keep_63_bits_each() {
        let mut l2 = L2::new();
        for bank in 0..8 {
            assert_eq!(l2.read(bank), Ok(1), "DIS");
            let value = 0xfedc_ba98_7654_3210 ^ bank as u64;
            assert_eq!(l2.write(bank, value), Ok(()));
        }
        for bank in 0..8 {
            assert_eq!(l2.read(bank), Ok(0xfedc_ba98_7614_3210 ^ bank as u64));
        }
        l2.write(0, u64::MAX).unwrap();
        assert_eq!(l2.read(0), Ok(0xffff_ffff_ffbf_ffff));
        assert_eq!(l2.read(8), Err(AccessError::Fault));
        assert_eq!(l2.write(8, 1), Err(AccessError::Fault));
    }

    #[test]
    fn perf_config_is_bits_37_and_36() {
        let mut l2 = L2::new();
        let values = [1 << 36, 2 << 36, 3 << 36, !(3 << 36), u64::MAX];
        for (bank, value) in (1..).zip(values) {
            l2.write(bank, value).unwrap();
        }
        use PerfConfig::{All, CacheToCache as Cache, Local, Remote};
        let expected = [All, Local, Remote, Cache, All, Cache, All, All];
        assert_eq!(l2.perf_config(), expected);
    }

    #[test]
    fn faults_from_a_bank_on() {
        let mut l2 = L2::new();
        l2.set_faulty_from(5);
        assert_eq!(l2.write(4, 9), Ok(()));
        assert_eq!(l2.write(5, 9), Err(AccessError::Fault));
        assert_eq!(l2.read(7), Err(AccessError::Fault));
        l2.set_faulty_from(8);
        assert_eq!(l2.read(4), Ok(9));
        assert_eq!(l2.read(5), Ok(1), "a write that faulted changed nothing");
    }
}

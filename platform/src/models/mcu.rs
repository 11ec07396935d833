//! A model of a DRAM channel's counters (FWARC/2007/529 section 2.2), based on the UltraSPARC T2's register transfer level.

use guest_abi::event::DramEvent;
use guest_abi::layout::{DramPcr, DramPic, EventSelect};
use guest_abi::{Counter, McuRole};

use super::answer;
use crate::AccessError;

/// A channel's memory controller: a PCR, and two 31-bit counters with sticky flags that a wrap sets. After reset all are 0.
#[derive(Clone, Debug, Default)]
pub struct MemoryController {
    pcr: DramPcr,
    /// The counters, each with its flag in bit 31.
    pic: [u32; 2],
    faulty: bool,
}

impl MemoryController {
    /// Returns a controller after reset.
    pub const fn new() -> Self {
        Self { pcr: DramPcr::new(), pic: [0; 2], faulty: false }
    }

    /// Reads a register. The PIC has counter 0 in bits 62:32 and counter 1 in bits 30:0, with their flags in bits 63 and 31.
    pub fn read(&self, role: McuRole) -> Result<u64, AccessError> {
        answer(!self.faulty)?;
        let [pic0, pic1] = self.pic;
        Ok(match role {
            McuRole::Pcr => self.pcr.into_bits(),
            McuRole::Pic => u64::from(pic0) << 32 | u64::from(pic1),
        })
    }

    /// Writes a register: bits 7:0 of the PCR, or all bits of the PIC.
    pub fn write(&mut self, role: McuRole, value: u64) -> Result<(), AccessError> {
        answer(!self.faulty)?;
        match role {
            McuRole::Pcr => self.pcr = DramPcr::from_bits(value & DramPcr::WRITABLE),
            McuRole::Pic => self.pic = [(value >> 32) as u32, value as u32],
        }
        Ok(())
    }

    /// Makes accesses to both registers fault (`true`) or succeed again (`false`).
    pub fn set_faulty(&mut self, faulty: bool) {
        self.faulty = faulty;
    }

    /// Counts the reads of `lines` cache lines. In total, these reads waited in the read queue for `queued` cycles.
    pub fn count_lines_read(&mut self, lines: u64, queued: u64) {
        self.count(DramEvent::Reads, lines);
        self.count(DramEvent::ReadWrites, lines);
        self.count(DramEvent::ReadQueueLatency, queued);
        self.count(DramEvent::ReadWriteQueueLatency, queued);
    }

    /// Counts the writes of `lines` cache lines. In total, these writes waited in the write queue for `queued` cycles.
    pub fn count_lines_written(&mut self, lines: u64, queued: u64) {
        self.count(DramEvent::Writes, lines);
        self.count(DramEvent::ReadWrites, lines);
        self.count(DramEvent::WriteQueueLatency, queued);
        self.count(DramEvent::ReadWriteQueueLatency, queued);
    }

    /// Counts reads that wait because the write queue holds a write to the same cache line. The caller also reports the reads themselves.
    pub fn count_delayed_reads(&mut self, reads: u64) {
        self.count(DramEvent::WriteBackBufferHits, reads);
    }

    /// Adds `n` to the counters that select this event.
    pub fn count(&mut self, event: DramEvent, n: u64) {
        let selects = [Counter::Pic0, Counter::Pic1].map(|counter| self.pcr.code(counter));
        for (pic, select) in self.pic.iter_mut().zip(selects) {
            if select == u16::from(event.code()) {
                let sum = u64::from(*pic & !FLAG) + n;
                let wraps = if sum >> DramPic::WIDTH != 0 { FLAG } else { 0 };
                *pic = sum as u32 & !FLAG | *pic & FLAG | wraps;
            }
        }
    }
}

const FLAG: u32 = 1 << DramPic::WIDTH;

#[cfg(test)]
mod tests {
    use super::McuRole::{Pcr, Pic};
    use super::*;

    fn after_some_traffic(pcr: u64) -> u64 {
        let mut mcu = MemoryController::new();
        mcu.write(Pcr, pcr).unwrap();
        mcu.count_lines_read(2, 110);
        mcu.count_lines_written(1, 2000);
        mcu.count_delayed_reads(4);
        mcu.read(Pic).unwrap()
    }

    #[test]
    fn counts_reads_from_reset_on() {
        let mut mcu = MemoryController::new();
        assert_eq!([Pcr, Pic].map(|role| mcu.read(role)), [Ok(0); 2]);
        mcu.count_lines_read(1, 9);
        mcu.count_lines_written(1, 9);
        assert_eq!(mcu.read(Pic), Ok(0x0000_0001_0000_0001));
    }

    #[test]
    fn every_event_in_both_counters() {
        // The expected counts, indexed by event code. Codes from 8 on are reserved.
        let counts = [2, 1, 3, 0, 110, 2000, 2110, 4, 0, 0, 0, 0, 0, 0, 0, 0];
        for (code, expected) in (0..).zip(counts) {
            let (high, low) =
                (after_some_traffic(code << 4 | 0xf), after_some_traffic(0xf0 | code));
            assert_eq!((high, low), (expected << 32, expected), "{code}");
        }
    }

    #[test]
    fn keeps_its_bits() {
        let mut mcu = MemoryController::new();
        mcu.write(Pcr, u64::MAX).unwrap();
        assert_eq!(mcu.read(Pcr), Ok(0xff));
        mcu.write(Pcr, 0x3c).unwrap();
        assert_eq!(mcu.read(Pcr), Ok(0x3c), "reserved selects read back");
        mcu.write(Pic, u64::MAX).unwrap();
        assert_eq!(mcu.read(Pic), Ok(u64::MAX), "the flags are bits like others");
        mcu.write(Pic, 0x1234_5678_1abc_def0).unwrap();
        assert_eq!(mcu.read(Pic), Ok(0x1234_5678_1abc_def0));
    }

    /// A wrap sets the flag above the counter. The flag stays set until a write clears it.
    #[test]
    fn wraps_at_31_bits_and_says_so() {
        let mut mcu = MemoryController::new();
        mcu.write(Pcr, 0x01).unwrap();
        mcu.write(Pic, 0x7fff_ffff_7fff_fffe).unwrap();
        mcu.count_lines_read(1, 0);
        assert_eq!(mcu.read(Pic), Ok(0x8000_0000_7fff_fffe));
        mcu.count_lines_written(1, 0);
        assert_eq!(mcu.read(Pic), Ok(0x8000_0000_7fff_ffff));
        mcu.count_lines_written(2, 0);
        mcu.count_lines_read(1, 0);
        assert_eq!(mcu.read(Pic), Ok(0x8000_0001_8000_0001));
        mcu.write(Pic, 0x7fff_ffff_8000_0005).unwrap();
        mcu.count_lines_written(1, 0);
        assert_eq!(mcu.read(Pic), Ok(0x7fff_ffff_8000_0006));
        (0..2).for_each(|_| mcu.count_lines_read(1, 0));
        assert_eq!(mcu.read(Pic), Ok(0x8000_0001_8000_0006));
    }

    #[test]
    fn a_sum_can_wrap_by_more_than_one() {
        let mut mcu = MemoryController::new();
        mcu.write(Pcr, 0x45).unwrap();
        mcu.write(Pic, 0x7fff_ffff_0000_0000).unwrap();
        mcu.count_lines_read(1, u32::MAX.into());
        assert_eq!(mcu.read(Pic), Ok(0xffff_fffe_0000_0000));
    }

    #[test]
    fn events_and_counters_change_while_it_counts() {
        let mut mcu = MemoryController::new();
        mcu.count_lines_read(1, 1);
        mcu.write(Pcr, 0x10).unwrap();
        mcu.count_lines_read(1, 1);
        mcu.count_lines_written(1, 1);
        assert_eq!(mcu.read(Pic), Ok(0x0000_0002_0000_0002));
        mcu.write(Pic, 0x0000_0050_0000_0060).unwrap();
        mcu.count_lines_read(1, 1);
        mcu.count_lines_written(1, 1);
        assert_eq!(mcu.read(Pic), Ok(0x0000_0051_0000_0061));
    }

    #[test]
    fn a_faulty_controller_counts_but_does_not_answer() {
        let mut mcu = MemoryController::new();
        mcu.set_faulty(true);
        mcu.count_lines_read(1, 0);
        assert_eq!(mcu.read(Pic), Err(AccessError::Fault));
        assert_eq!(mcu.write(Pic, 0), Err(AccessError::Fault));
        mcu.set_faulty(false);
        assert_eq!(mcu.read(Pic), Ok(0x0000_0001_0000_0001));
    }
}

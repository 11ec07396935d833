//! A model of a Zambezi hub's counters (FWARC/2007/529 sections 2.4 to 2.6).

use guest_abi::event::{AsuEvent, GpdEvent, LpuEvent};
use guest_abi::layout::{AsuPcr, EventSelect, GpdPcr, LpuPcr};
use guest_abi::{HubRole, HubUnit, Node};

use super::answer;
use crate::AccessError;

/// The registers of one hub unit, indexed by [`HubRole`]: PCR and two 64-bit counters.
type Unit = [u64; HubRole::ALL.len()];

/// A Zambezi hub: four link port units, the general purpose design block and the address serialization unit. After reset, every register
/// is 0. An access keeps the chip's register port busy for [a number of cycles](Self::set_access_cycles). The port refuses other accesses
/// during these cycles.
#[derive(Clone, Debug)]
pub struct HubChip {
    units: [Unit; HubUnit::ALL.len()],
    access_cycles: u64,
    busy_until: u64,
    faulty: bool,
}

impl HubChip {
    /// Returns a hub after reset. Its accesses take no time.
    pub const fn new() -> Self {
        Self {
            units: [[0; HubRole::ALL.len()]; HubUnit::ALL.len()],
            access_cycles: 0,
            busy_until: 0,
            faulty: false,
        }
    }

    /// Reads a register at the time `now`, in cycles.
    pub fn read(&mut self, unit: HubUnit, role: HubRole, now: u64) -> Result<u64, AccessError> {
        self.begin_access(now)?;
        Ok(self.units[unit.index()][role.index()])
    }

    /// Writes the writable bits of a register at the time `now`, in cycles.
    pub fn write(
        &mut self,
        unit: HubUnit,
        role: HubRole,
        value: u64,
        now: u64,
    ) -> Result<(), AccessError> {
        self.begin_access(now)?;
        let writable = match (role, unit) {
            (HubRole::Pic0 | HubRole::Pic1, _) => u64::MAX,
            (HubRole::Pcr, HubUnit::Gpd) => GpdPcr::WRITABLE,
            (HubRole::Pcr, HubUnit::Asu) => AsuPcr::WRITABLE,
            (HubRole::Pcr, _) => LpuPcr::WRITABLE,
        };
        self.units[unit.index()][role.index()] = value & writable;
        Ok(())
    }

    /// Sets the number of cycles for which an access keeps the register port busy. The default is 0.
    pub fn set_access_cycles(&mut self, cycles: u64) {
        self.access_cycles = cycles;
    }

    /// Makes all accesses to the chip fault (`true`) or succeed again (`false`).
    pub fn set_faulty(&mut self, faulty: bool) {
        self.faulty = faulty;
    }

    /// Counts `n` occurrences of `event` in the link port unit that leads to node `port`.
    pub fn count_lpu(&mut self, port: Node, event: LpuEvent, n: u64) {
        let unit = match port {
            Node::Node0 => HubUnit::LpuA,
            Node::Node1 => HubUnit::LpuB,
            Node::Node2 => HubUnit::LpuC,
            Node::Node3 => HubUnit::LpuD,
        };
        if !matches!(event, LpuEvent::None) {
            self.count(unit, event.code(), n);
        }
    }

    /// Counts `n` occurrences of `event` in the address serialization unit.
    pub fn count_asu(&mut self, event: AsuEvent, n: u64) {
        if !matches!(event, AsuEvent::None) {
            self.count(HubUnit::Asu, event.code(), n);
        }
    }

    /// Counts `cycles` cycles in all units.
    pub fn pass(&mut self, cycles: u64) {
        // Simulations call this function often, and units rarely select an event.
        if self.units.iter().all(|[pcr, ..]| *pcr == 0) {
            return;
        }
        for port in Node::ALL {
            self.count_lpu(*port, LpuEvent::Clock, cycles);
        }
        self.count(HubUnit::Gpd, GpdEvent::Clock.code(), cycles);
        self.count_asu(AsuEvent::Clock, cycles);
    }

    fn begin_access(&mut self, now: u64) -> Result<(), AccessError> {
        answer(!self.faulty)?;
        if now < self.busy_until {
            return Err(AccessError::Busy);
        }
        self.busy_until = now.saturating_add(self.access_cycles);
        Ok(())
    }

    /// Adds `n` to those counters of a unit that select `event`. Bits 7:0 of the PCR select for counter 0, bits 15:8 for counter 1.
    fn count(&mut self, unit: HubUnit, event: u8, n: u64) {
        let [pcr, pics @ ..] = &mut self.units[unit.index()];
        for (pic, select) in pics.iter_mut().zip([*pcr, *pcr >> 8]) {
            if select as u8 == event {
                *pic = pic.wrapping_add(n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HubRole::{Pcr, Pic0, Pic1};
    use super::*;

    fn pics(hub: &mut HubChip, unit: HubUnit) -> (u64, u64) {
        let mut read = |role| hub.read(unit, role, 0).unwrap();
        (read(Pic0), read(Pic1))
    }

    #[test]
    fn keeps_its_bits() {
        let mut hub = HubChip::new();
        let masks = [0xffff, 0xffff, 0xffff, 0xffff, 0xf0f, 0xf0f];
        for (unit, pcr) in HubUnit::ALL.iter().copied().zip(masks) {
            for (role, kept) in [(Pcr, pcr), (Pic0, u64::MAX), (Pic1, u64::MAX - 1)] {
                assert_eq!(hub.read(unit, role, 0), Ok(0));
                let value = if role == Pic1 { kept } else { u64::MAX };
                hub.write(unit, role, value, 0).unwrap();
                assert_eq!(hub.read(unit, role, 0), Ok(kept), "{unit:?} {role:?}");
            }
        }
    }

    #[test]
    fn a_port_counts_its_own_events_only() {
        let mut hub = HubChip::new();
        for unit in [HubUnit::LpuA, HubUnit::LpuB, HubUnit::LpuC, HubUnit::LpuD] {
            hub.write(unit, Pcr, 0x1902, 0).unwrap();
        }
        hub.count_lpu(Node::Node0, LpuEvent::CacheToCacheX, 1);
        hub.count_lpu(Node::Node1, LpuEvent::CacheToCacheX, 2);
        hub.count_lpu(Node::Node2, LpuEvent::ReadToShareEgress, 3);
        hub.count_lpu(Node::Node3, LpuEvent::CacheToCacheX, 4);
        hub.count_lpu(Node::Node3, LpuEvent::ReadToShareEgress, 5);
        hub.count_lpu(Node::Node3, LpuEvent::CacheToCacheY, 100);
        let counted = HubUnit::ALL.iter().map(|unit| pics(&mut hub, *unit));
        assert!(counted.eq([(1, 0), (2, 0), (0, 3), (4, 5), (0, 0), (0, 0)]));
    }

    #[test]
    fn all_units_count_the_clock() {
        let mut hub = HubChip::new();
        hub.pass(1000);
        for unit in HubUnit::ALL {
            hub.write(*unit, Pcr, 0x0100, 0).unwrap();
        }
        hub.pass(7);
        for unit in HubUnit::ALL {
            assert_eq!(pics(&mut hub, *unit), (0, 7), "{unit:?}");
        }
    }

    #[test]
    fn asu_packets() {
        let mut hub = HubChip::new();
        hub.write(HubUnit::Asu, Pcr, 0x302, 0).unwrap();
        hub.count_asu(AsuEvent::PacketsIn, 1);
        (0..2).for_each(|_| hub.count_asu(AsuEvent::PacketsOut, 3));
        assert_eq!(pics(&mut hub, HubUnit::Asu), (1, 6));
    }

    #[test]
    fn no_event_and_reserved_events_count_nothing() {
        let mut hub = HubChip::new();
        for code in [0x00, 0x2a, 0xff] {
            let pcr = code << 8 | code;
            hub.write(HubUnit::LpuA, Pcr, pcr, 0).unwrap();
            for event in LpuEvent::ALL {
                hub.count_lpu(Node::Node0, *event, 1);
            }
            assert_eq!(pics(&mut hub, HubUnit::LpuA), (0, 0), "{code:#x}");
            assert_eq!(hub.read(HubUnit::LpuA, Pcr, 0), Ok(pcr));
        }
        for code in [0x0, 0x6, 0xf] {
            hub.write(HubUnit::Asu, Pcr, code << 8 | code, 0).unwrap();
            for event in AsuEvent::ALL {
                hub.count_asu(*event, 1);
            }
            assert_eq!(pics(&mut hub, HubUnit::Asu), (0, 0), "{code:#x}");
        }
    }

    #[test]
    fn counters_wrap_and_are_written_while_they_count() {
        let mut hub = HubChip::new();
        hub.write(HubUnit::Gpd, Pcr, 0x101, 0).unwrap();
        hub.write(HubUnit::Gpd, Pic0, u64::MAX - 1, 0).unwrap();
        hub.pass(5);
        assert_eq!(pics(&mut hub, HubUnit::Gpd), (3, 5));
        hub.write(HubUnit::Gpd, Pcr, 0x001, 0).unwrap();
        hub.write(HubUnit::Gpd, Pic0, 40, 0).unwrap();
        hub.pass(2);
        assert_eq!(pics(&mut hub, HubUnit::Gpd), (42, 5));
    }

    #[test]
    fn an_access_during_another_is_refused_without_effect() {
        let mut hub = HubChip::new();
        hub.set_access_cycles(100);
        assert_eq!(hub.write(HubUnit::LpuA, Pic0, 7, 1000), Ok(()));
        let busy = Err(AccessError::Busy);
        assert_eq!(hub.write(HubUnit::LpuA, Pic0, 8, 1000), busy);
        assert_eq!(hub.write(HubUnit::Asu, Pic1, 8, 1099), busy);
        assert_eq!(hub.read(HubUnit::LpuA, Pic0, 1099), Err(AccessError::Busy));
        assert_eq!(hub.read(HubUnit::LpuA, Pic0, 1100), Ok(7));
        assert_eq!(hub.read(HubUnit::Asu, Pic1, 1200), Ok(0));
    }

    #[test]
    fn a_faulty_hub_changes_nothing() {
        let mut hub = HubChip::new();
        hub.set_access_cycles(100);
        hub.set_faulty(true);
        assert_eq!(hub.write(HubUnit::LpuA, Pic0, 7, 0), Err(AccessError::Fault));
        assert_eq!(hub.read(HubUnit::LpuA, Pic0, 0), Err(AccessError::Fault));
        hub.set_faulty(false);
        assert_eq!(hub.read(HubUnit::LpuA, Pic0, 0), Ok(0));
    }
}

//! Checks the trap, the registers and the results of every call.

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent};
use guest_abi::guest::Core;
use guest_abi::layout::{DramPcr, EventSelect, PerfConfig, SparcPcr};
use guest_abi::register::{AsuPmu, DramPmu, GpdPmu, LpuPmu};
use guest_abi::{ApiGroup, Counter, Hub, HvError, Mcu, Node, PerfReg, Port, Version};

use crate::script::{JUNK, Script, core, get, get_fails, gets, set, set_fails};

fn register(id: u64) -> PerfReg {
    PerfReg::new(id).unwrap()
}

#[test]
fn get_passes_the_id_and_returns_o1() {
    let values = [(0, 0xc000_0000_0000_0001), (89, u64::MAX), (3, 0)];
    let counters = Script::counters(gets(&values));
    for (id, value) in values {
        assert_eq!(counters.get(register(id)), Ok(value));
    }
}

#[test]
fn set_passes_id_and_value() {
    let counters = Script::counters([set(2, 0x12), set(18, u64::MAX)]);
    assert_eq!(counters.set(register(2), 0x12), Ok(()));
    assert_eq!(counters.set(register(18), u64::MAX), Ok(()));
}

#[test]
fn every_status_arrives() {
    for status in [1, 6, 7, 9, 10, 13, 17, 23, 18, 0x1_0000_0000, u64::MAX] {
        let counters = Script::counters([get_fails(5, status), set_fails(5, 1, status)]);
        let read = counters.get(register(5)).unwrap_err();
        let written = counters.set(register(5), 1).unwrap_err();
        assert_eq!((read.number(), written.number()), (status, status));
    }
    let counters = Script::counters([get_fails(18, 13), get_fails(18, 10)]);
    assert_eq!(counters.get(register(18)), Err(HvError::NotSupported));
    assert_eq!(counters.get(register(18)), Err(HvError::NoAccess));
}

#[test]
fn api_versions_of_any_group() {
    let calls = Core::new(Script::new([
        core([1, 1, 7, 0, 0, 0], [0, 0, JUNK, JUNK, JUNK, JUNK]),
        core([0x205, 0, 0, 0, 0, 3], [0, 1, 1, JUNK, JUNK, JUNK]),
        core([0x209, 0, 0, 0, 0, 3], [6, JUNK, JUNK, JUNK, JUNK, JUNK]),
    ]));
    let granted = calls.api_set_version(ApiGroup::CORE, Version::new(1, 7));
    assert_eq!(granted, Ok(Version::V1_0));
    assert_eq!(calls.api_get_version(ApiGroup::VFALLS), Ok(Version::V1_1));
    assert_eq!(calls.api_get_version(ApiGroup(0x209)), Err(HvError::Invalid));
}

#[test]
fn console_and_exit() {
    let calls = Core::new(Script::new([
        core([0x41, 0, 0, 0, 0, 1], [0; 6]),
        core([0xff, 0, 0, 0, 0, 1], [9, 0xff, 0, 0, 0, 1]),
        core([0xffff_ffff_ffff_ffff, 0, 0, 0, 0, 1], [0; 6]),
        core([0x68, 0, 0, 0, 0, 1], [0; 6]),
        core([0x69, 0, 0, 0, 0, 1], [0; 6]),
        core([0x6a, 0, 0, 0, 0, 1], [9, 0, 0, 0, 0, 1]),
        core([3, 0, 0, 0, 0, 2], [0; 6]),
    ]));
    assert_eq!(calls.putchar(b'A'), Ok(()));
    assert_eq!(calls.putchar(0xff), Err(HvError::WouldBlock));
    assert_eq!(calls.send_break(), Ok(()));
    assert_eq!(write!(calls, "{}", "hi"), Ok(()));
    assert_eq!(write!(calls, "{}k", 'j'), Err(HvError::WouldBlock));
    assert_eq!(calls.exit(3), Ok(()));
}

const CHANNEL: DramPmu = DramPmu::new(Node::Node3, Mcu::Mcu1);
const PORT: LpuPmu = LpuPmu::new(Hub::Zam2, Port::C);

#[test]
fn strand_and_l2() {
    let strand = [get(0, 0b1110), set(0, 0b1001)];
    let l2 = [get(1, 2), set(1, 3), set_fails(1, 0, 10)];
    let counters = Script::counters(strand.into_iter().chain(l2));
    let pcr = counters.strand_pcr().unwrap();
    assert!(pcr.hypervisor() && pcr.user() && pcr.system() && !pcr.privileged());
    let ht = SparcPcr::new().with_hypervisor(true).with_privileged(true);
    assert_eq!(counters.set_strand_pcr(ht), Ok(()));
    assert_eq!(counters.perf_config(), Ok(PerfConfig::Remote));
    assert_eq!(counters.set_perf_config(PerfConfig::CacheToCache), Ok(()));
    assert_eq!(counters.set_perf_config(PerfConfig::All), Err(HvError::NoAccess));
}

#[test]
fn pcr_of_a_pmu() {
    let counters = Script::counters([get(16, 0x17), set(16, 0x20), get_fails(60, 9)]);
    let pcr = counters.pcr(CHANNEL).unwrap();
    assert_eq!((pcr.code(Counter::Pic0), pcr.code(Counter::Pic1)), (1, 7));
    assert_eq!(
        counters.set_pcr(CHANNEL, DramPcr::new().with_event(Counter::Pic0, DramEvent::ReadWrites)),
        Ok(())
    );
    assert_eq!(counters.pcr(PORT).err(), Some(HvError::WouldBlock));
}

#[test]
fn select_keeps_the_other_counter() {
    let channel_and_port = [get(16, 0x17), set(16, 0x57), get(60, 0x2901), set(60, 0x0201)];
    let gpd_and_asu = [get(30, 0x101), set(30, 0x100), get(87, 0x503), set(87, 0x504)];
    let counters = Script::counters(channel_and_port.into_iter().chain(gpd_and_asu));
    let queue = DramEvent::WriteQueueLatency;
    assert_eq!(counters.select(CHANNEL, Counter::Pic0, queue), Ok(()));
    assert_eq!(counters.select(PORT, Counter::Pic1, LpuEvent::CacheToCacheX), Ok(()));
    let gpd = GpdPmu { hub: Hub::Zam0 };
    assert_eq!(counters.select(gpd, Counter::Pic0, GpdEvent::None), Ok(()));
    let (asu, hits) = (AsuPmu { hub: Hub::Zam3 }, AsuEvent::CamHit);
    assert_eq!(counters.select(asu, Counter::Pic0, hits), Ok(()));
}

#[test]
fn select_reports_either_call() {
    let counters = Script::counters([get_fails(16, 10), get(16, 0), set_fails(16, 0x10, 13)]);
    let select = || counters.select(CHANNEL, Counter::Pic0, DramEvent::Writes);
    assert_eq!(select(), Err(HvError::NoAccess));
    assert_eq!(select(), Err(HvError::NotSupported));
}

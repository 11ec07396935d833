//! The calls whose values have types of `layout`.

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent};
use guest_abi::layout::{DramPcr, PerfConfig, SparcPcr};
use guest_abi::register::{AsuPmu, DramPmu, GpdPmu, LpuPmu};
use guest_abi::{Counter, Hub, HvError, Mcu, Node, Port};

use crate::script::{Script, get, get_fails, set, set_fails};

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
    assert_eq!((pcr.select0(), pcr.select1()), (1, 7));
    assert_eq!(counters.set_pcr(CHANNEL, DramPcr::new().with_select0(2)), Ok(()));
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

//! A strand writes its own counters directly, and calls the service for HT.

use std::cell::{Cell, RefCell};

use guest_abi::HvError;
use guest_abi::guest::{HtSet, StrandCounters, StrandDriver};
use guest_abi::layout::{SparcPcr, SparcPic};

use crate::script::{Script, set, set_fails};

const HT: u64 = 1 << 3;
const UT: u64 = 1 << 2;
const ST: u64 = 1 << 1;
const PRIV: u64 = 1;
/// HOLDOV1 and HOLDOV0. If they are 1 in a write of the PCR, the write keeps an overflow that happened after the PCR was read.
const HOLD: u64 = 3 << 62;

#[derive(Debug, PartialEq)]
enum Write {
    Pcr(u64),
    Pic(u64),
}
use Write::{Pcr, Pic};

/// A model of %pcr (with HOLDOV) and %pic. It logs the writes. Direct writes do not change HT.
struct Fake {
    pcr: Cell<u64>,
    pic: Cell<u64>,
    writes: RefCell<Vec<Write>>,
}

impl Fake {
    fn new(pcr: u64) -> Self {
        Self { pcr: pcr.into(), pic: 0x5_0000_0007.into(), writes: RefCell::default() }
    }
}

impl StrandCounters for Fake {
    fn pcr(&self) -> SparcPcr {
        self.pcr.get().into()
    }

    fn set_pcr(&self, pcr: SparcPcr) {
        let pcr = u64::from(pcr) & !HT | self.pcr.get() & HT;
        self.writes.borrow_mut().push(Pcr(pcr));
        self.pcr.set(pcr & !HOLD);
    }

    fn pic(&self) -> SparcPic {
        self.pic.get().into()
    }

    fn set_pic(&self, pic: SparcPic) {
        self.writes.borrow_mut().push(Pic(pic.into()));
        self.pic.set(pic.into());
    }
}

/// Runs `act` with the driver of a strand whose PCR is `pcr`. Returns the result of `act`, and the writes that it made.
fn act<R>(pcr: u64, act: impl FnOnce(StrandDriver<&Fake>) -> R) -> (R, Vec<Write>) {
    let fake = Fake::new(pcr);
    let result = act(StrandDriver::new(&fake));
    (result, fake.writes.take())
}

#[test]
fn read_and_clear() {
    let read = act(0, |driver| driver.read());
    assert_eq!(read, (SparcPic::new().with_pic0(7).with_pic1(5), vec![]));
    assert_eq!(act(0, |driver| driver.clear()), ((), vec![Pic(0)]));
}

#[test]
fn stop_clears_ut_and_st_only() {
    let stop = |pcr| act(pcr, |driver| driver.stop());
    assert_eq!(stop(0x7fff_fff7), (Ok(()), vec![Pcr(HOLD | 0x7fff_fff1)]));
    assert_eq!(stop(HT | UT | PRIV), (Err(HtSet), vec![Pcr(HOLD | HT | PRIV)]));
}

#[test]
fn start_without_ht_makes_no_call() {
    let wanted = SparcPcr::from(0x2fd << 6 | UT | ST);
    let from = SparcPic::from(u64::MAX);
    let writes = || vec![Pcr(HOLD | PRIV), Pic(u64::MAX), Pcr(0x2fd << 6 | UT | ST)];
    assert_eq!(act(UT | PRIV, |driver| driver.start(wanted, from)), (Ok(()), writes()));
    let service = Script::counters([]);
    let started = act(UT | PRIV, |driver| driver.start_by(&service, wanted, from));
    assert_eq!(started, (Ok(()), writes()));
}

#[test]
fn start_without_the_service_refuses_ht() {
    let start = |before, pcr: u64| act(before, |driver| driver.start(pcr.into(), 0.into()));
    assert_eq!(start(UT, HT), (Err(HtSet), vec![]));
    assert_eq!(start(HT | UT, UT), (Err(HtSet), vec![Pcr(HOLD | HT)]));
}

#[test]
fn ht_goes_through_register_0() {
    let service = Script::counters([set(0, HT | UT)]);
    let started = act(0, |driver| driver.start_by(&service, (HT | UT).into(), 3.into()));
    assert_eq!(started, (Ok(()), vec![Pcr(HOLD), Pic(3)]));
}

#[test]
fn ht_that_is_set_is_cleared_first() {
    let service = Script::counters([set(0, HOLD | PRIV)]);
    let stopped = act(HT | UT | PRIV, |driver| driver.stop_by(&service));
    assert_eq!(stopped, (Ok(()), vec![Pcr(HOLD | HT | PRIV)]));

    let service = Script::counters([set(0, HOLD | PRIV), set(0, HT | ST)]);
    let started = act(HT | PRIV, |driver| driver.start_by(&service, (HT | ST).into(), 0.into()));
    assert_eq!(started, (Ok(()), vec![Pcr(HOLD | HT | PRIV), Pic(0)]));
}

#[test]
fn refusal_leaves_the_counters_stopped() {
    let service = Script::counters([set_fails(0, HT | UT, 10)]);
    let fake = Fake::new(UT);
    let started = StrandDriver::new(&fake).start_by(&service, (HT | UT).into(), 0.into());
    assert_eq!((started, fake.pcr.get()), (Err(HvError::NoAccess), 0));

    let service = Script::counters([set_fails(0, HOLD, 10)]);
    let started = act(HT | UT, |driver| driver.start_by(&service, UT.into(), 0.into()));
    assert_eq!(started, (Err(HvError::NoAccess), vec![Pcr(HOLD | HT)]));
}

#[test]
fn revoked_is_ht_that_reads_0() {
    let revoked = |pcr, started| StrandDriver::new(Fake::new(pcr)).revoked(SparcPcr::from(started));
    assert!(revoked(UT, HT | UT));
    assert!(!revoked(HT | UT, HT | UT));
    assert!(!revoked(UT, UT));
}

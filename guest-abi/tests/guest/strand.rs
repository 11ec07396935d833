//! The strand's own counters: direct writes, and calls of the service for HT.

use std::cell::{Cell, RefCell};

use guest_abi::HvError;
use guest_abi::guest::{HtSet, StrandCounters, StrandDriver};
use guest_abi::layout::{SparcPcr, SparcPic};

use crate::script::{Script, Step, set, set_fails};

const HT: u64 = 1 << 3;
const UT: u64 = 1 << 2;
const ST: u64 = 1 << 1;
const PRIV: u64 = 1;
/// HOLDOV1 and HOLDOV0: an overflow between the read and the write of the PCR is not lost.
const HOLD: u64 = 3 << 62;

#[derive(Debug, PartialEq)]
enum Write {
    Pcr(u64),
    Pic(u64),
}
use Write::{Pcr, Pic};

/// A model of %pcr and %pic that logs the writes, with HOLDOV. Direct writes do not change HT.
struct Fake {
    pcr: Cell<u64>,
    pic: Cell<u64>,
    writes: RefCell<Vec<Write>>,
}

impl Fake {
    fn new(pcr: u64) -> Self {
        Self {
            pcr: Cell::new(pcr),
            pic: Cell::new(0x5_0000_0007),
            writes: RefCell::new(Vec::new()),
        }
    }

    fn writes(&self) -> Vec<Write> {
        self.writes.take()
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

fn service(steps: impl IntoIterator<Item = Step>) -> guest_abi::PerfCounters<Script> {
    Script::counters(steps)
}

#[test]
fn read_and_clear() {
    let fake = Fake::new(0);
    let driver = StrandDriver::new(&fake);
    assert_eq!((driver.read().pic0(), driver.read().pic1()), (7, 5));
    driver.clear();
    assert_eq!(fake.writes(), [Pic(0)]);
}

#[test]
fn stop_clears_ut_and_st_only() {
    let fake = Fake::new(0x7fff_fff7);
    assert_eq!(StrandDriver::new(&fake).stop(), Ok(()));
    assert_eq!(fake.writes(), [Pcr(HOLD | 0x7fff_fff1)]);
}

#[test]
fn stop_says_that_ht_is_still_set() {
    let fake = Fake::new(HT | UT | PRIV);
    assert_eq!(StrandDriver::new(&fake).stop(), Err(HtSet));
    assert_eq!(fake.writes(), [Pcr(HOLD | HT | PRIV)]);
}

#[test]
fn start_without_ht_makes_no_call() {
    let wanted = SparcPcr::from(0x2fd << 6 | UT | ST);
    let from = SparcPic::from(u64::MAX);
    let expected = [Pcr(HOLD | PRIV), Pic(u64::MAX), Pcr(0x2fd << 6 | UT | ST)];

    let fake = Fake::new(UT | PRIV);
    assert_eq!(StrandDriver::new(&fake).start(wanted, from), Ok(()));
    assert_eq!(fake.writes(), expected);

    let fake = Fake::new(UT | PRIV);
    let driver = StrandDriver::new(&fake);
    assert_eq!(driver.start_by(&service([]), wanted, from), Ok(()));
    assert_eq!(fake.writes(), expected);
}

#[test]
fn start_without_the_service_refuses_ht() {
    let fake = Fake::new(UT);
    let driver = StrandDriver::new(&fake);
    assert_eq!(driver.start(HT.into(), SparcPic::new()), Err(HtSet));
    assert_eq!(fake.writes(), []);

    let fake = Fake::new(HT | UT);
    let driver = StrandDriver::new(&fake);
    assert_eq!(driver.start(UT.into(), SparcPic::new()), Err(HtSet));
    assert_eq!(fake.writes(), [Pcr(HOLD | HT)]);
}

#[test]
fn ht_goes_through_register_0() {
    let fake = Fake::new(0);
    let driver = StrandDriver::new(&fake);
    let counters = service([set(0, HT | UT)]);
    let wanted = SparcPcr::from(HT | UT);
    assert_eq!(driver.start_by(&counters, wanted, 3.into()), Ok(()));
    assert_eq!(fake.writes(), [Pcr(HOLD), Pic(3)]);
}

#[test]
fn ht_that_is_set_is_cleared_first() {
    let fake = Fake::new(HT | UT | PRIV);
    let driver = StrandDriver::new(&fake);
    let counters = service([set(0, HOLD | PRIV)]);
    assert_eq!(driver.stop_by(&counters), Ok(()));
    assert_eq!(fake.writes(), [Pcr(HOLD | HT | PRIV)]);

    let counters = service([set(0, HOLD | PRIV), set(0, HT | ST)]);
    let wanted = SparcPcr::from(HT | ST);
    assert_eq!(driver.start_by(&counters, wanted, 0.into()), Ok(()));
    assert_eq!(fake.writes(), [Pcr(HOLD | HT | PRIV), Pic(0)]);
}

#[test]
fn refusal_leaves_the_counters_stopped() {
    let fake = Fake::new(UT);
    let driver = StrandDriver::new(&fake);
    let counters = service([set_fails(0, HT | UT, 10)]);
    let started = driver.start_by(&counters, (HT | UT).into(), 0.into());
    assert_eq!(started, Err(HvError::NoAccess));
    assert_eq!(fake.pcr.get(), 0);

    let fake = Fake::new(HT | UT);
    let driver = StrandDriver::new(&fake);
    let counters = service([set_fails(0, HOLD, 10)]);
    let started = driver.start_by(&counters, UT.into(), 0.into());
    assert_eq!(started, Err(HvError::NoAccess));
    assert_eq!(fake.writes(), [Pcr(HOLD | HT)]);
}

#[test]
fn revoked_is_ht_that_reads_0() {
    let revoked = |pcr, started| StrandDriver::new(Fake::new(pcr)).revoked(SparcPcr::from(started));
    assert!(revoked(UT, HT | UT));
    assert!(!revoked(HT | UT, HT | UT));
    assert!(!revoked(UT, UT));
}

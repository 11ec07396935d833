//! Checks that a strand writes its own counters directly, and calls the service for HT.

use std::cell::{Cell, RefCell};

use guest_abi::HvError;
use guest_abi::guest::{StrandCounters, StrandDriver};
use guest_abi::layout::{SparcPcr, SparcPic};

use crate::script::{Script, Step, set, set_fails};

const HT: u64 = 1 << 3;
const UT: u64 = 1 << 2;
const ST: u64 = 1 << 1;
const PRIV: u64 = 1;
/// HOLDOV1 and HOLDOV0. With these bits set, a write of the PCR loses no overflow that happened after the PCR was read.
const HOLD: u64 = 3 << 62;

#[derive(Debug, PartialEq)]
enum Write {
    Pcr(u64),
    Pic(u64),
}
use Write::{Pcr, Pic};

/// A model of %pcr (with HOLDOV) and %pic that logs the writes. Direct writes do not change HT.
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

/// Runs `act` with the driver of a strand whose PCR is `pcr`, and whose service expects `calls`. Returns the result of `act`, and the
/// writes that the driver made.
fn act<R>(
    pcr: u64,
    calls: &[Step],
    act: impl FnOnce(StrandDriver<&Fake, Script>) -> R,
) -> (R, Vec<Write>) {
    let fake = Fake::new(pcr);
    let result = act(StrandDriver::with_service(&fake, Script::counters(calls.to_vec())));
    (result, fake.writes.take())
}

#[test]
fn read_and_clear() {
    let read = act(0, &[], |driver| driver.read());
    assert_eq!(read, (SparcPic::new().with_pic0(7).with_pic1(5), vec![]));
    assert_eq!(act(0, &[], |driver| driver.clear()), ((), vec![Pic(0)]));
}

#[test]
fn without_ht_there_is_no_call() {
    let stopped = act(0x7fff_fff7, &[], |driver| driver.stop());
    assert_eq!(stopped, (Ok(()), vec![Pcr(HOLD | 0x7fff_fff1)]));
    let wanted = SparcPcr::from(0x2fd << 6 | UT | ST);
    let started = act(UT | PRIV, &[], |driver| driver.start(wanted, SparcPic::from(u64::MAX)));
    let writes = vec![Pcr(HOLD | PRIV), Pic(u64::MAX), Pcr(0x2fd << 6 | UT | ST)];
    assert_eq!(started, (Ok(()), writes));
}

#[test]
fn without_the_service_ht_cannot_change() {
    let denied = Err(HvError::NoAccess);
    let fake = Fake::new(HT | UT | PRIV);
    let alone = StrandDriver::new(&fake);
    assert_eq!((alone.stop(), fake.writes.take()), (denied, vec![Pcr(HOLD | HT | PRIV)]));
    assert_eq!(alone.start(UT.into(), 0.into()), denied);
    let fake = Fake::new(UT);
    assert_eq!(StrandDriver::new(&fake).start(HT.into(), 3.into()), denied);
    assert_eq!(fake.writes.take(), [Pcr(HOLD), Pic(3)]);
}

#[test]
fn ht_goes_through_register_0() {
    let start =
        |pcr: u64| move |driver: StrandDriver<&Fake, Script>| driver.start(pcr.into(), 3.into());
    let started = act(0, &[set(0, HT | UT)], start(HT | UT));
    assert_eq!(started, (Ok(()), vec![Pcr(HOLD), Pic(3)]));

    let stopped = act(HT | UT | PRIV, &[set(0, HOLD | PRIV)], |driver| driver.stop());
    assert_eq!(stopped, (Ok(()), vec![Pcr(HOLD | HT | PRIV)]));
    // HT is set in the PCR, so the driver clears it first.
    let started = act(HT | PRIV, &[set(0, HOLD | PRIV), set(0, HT | ST)], start(HT | ST));
    assert_eq!(started, (Ok(()), vec![Pcr(HOLD | HT | PRIV), Pic(3)]));
}

#[test]
fn refusal_leaves_the_counters_stopped() {
    let start =
        |pcr: u64| move |driver: StrandDriver<&Fake, Script>| driver.start(pcr.into(), 0.into());
    let refused = act(UT, &[set_fails(0, HT | UT, 10)], start(HT | UT));
    assert_eq!(refused, (Err(HvError::NoAccess), vec![Pcr(HOLD), Pic(0)]));
    let refused = act(HT | UT, &[set_fails(0, HOLD, 10)], start(UT));
    assert_eq!(refused, (Err(HvError::NoAccess), vec![Pcr(HOLD | HT)]));
}

#[test]
fn revoked_is_ht_that_reads_0() {
    let revoked = |pcr, started| StrandDriver::new(Fake::new(pcr)).revoked(SparcPcr::from(started));
    assert!(revoked(UT, HT | UT));
    assert!(!revoked(HT | UT, HT | UT));
    assert!(!revoked(UT, UT));
}

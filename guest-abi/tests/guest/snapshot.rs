//! Tests snapshots: the PCR must be the same before and after the reads of both counters, and the skew between these two reads is measured.

use std::cell::Cell;

use guest_abi::guest::{
    PmuCount, PmuMismatch, RetryError, Skew, Snapshot, SnapshotError, SnapshotLimits, Tries,
};
use guest_abi::register::{DramPmu, LpuPmu};
use guest_abi::{Clock, Counter, Hub, HvError, Mcu, Node, PerfReg, Pmu, Port};

use crate::script::{Script, get, get_fails, gets};

const CHANNEL: DramPmu = DramPmu::new(Node::Node1, Mcu::Mcu0);
const PORT: LpuPmu = LpuPmu::new(Hub::Zam1, Port::B);

/// A clock that advances by 10 ticks at each read.
struct Ticking(Cell<u64>);

impl Clock for Ticking {
    fn ticks(&self) -> u64 {
        self.0.set(self.0.get() + 10);
        self.0.get()
    }
}

fn bounds(max_reads: u32, max_tries: u32) -> SnapshotLimits {
    let [max_reads, max_tries] = [max_reads, max_tries].map(|most| Tries::new(most).unwrap());
    SnapshotLimits { max_reads, max_tries }
}

fn skew(snapshot: &Snapshot) -> (u32, Option<u64>, u64) {
    let Skew { hypercalls, ticks, pic0_events, .. } = snapshot.skew;
    (hypercalls, ticks, pic0_events)
}

#[test]
fn a_channel_has_no_skew() {
    let counters = Script::counters(gets(&[(6, 1), (7, 0x7fff_ffff_0000_0002), (6, 1)]));
    let snapshot = counters.snapshot(CHANNEL, bounds(1, 1)).unwrap();
    assert_eq!((snapshot.pmu, snapshot.pcr, snapshot.reads), (CHANNEL.into(), 1, 1));
    let read = [Counter::Pic0, Counter::Pic1].map(|counter| snapshot.counter(counter));
    assert_eq!((read, skew(&snapshot)), ([0x7fff_ffff, 2], (0, None, 0)));

    let counters = Script::counters(gets(&[(6, 0), (7, 0), (6, 0)]));
    let clock = Ticking(Cell::new(0));
    let snapshot = counters.snapshot_with(CHANNEL, bounds(1, 1), Some(&clock), |_| ());
    assert_eq!(snapshot.unwrap().skew.ticks, Some(0));
}

#[test]
fn a_port_has_skew() {
    let values = [(39, 0x102), (40, u64::MAX), (41, 500), (40, 4), (39, 0x102)];
    let counters = Script::counters(gets(&values));
    let snapshot = counters.snapshot(PORT, bounds(1, 1)).unwrap();
    assert_eq!((snapshot.pic0, snapshot.pic1), (u64::MAX, 500));
    assert_eq!(skew(&snapshot), (1, None, 5));
}

#[test]
fn refused_tries_widen_the_skew() {
    let pcr = [get_fails(39, 9), get(39, 0x102)];
    let pic0 = [get_fails(40, 9), get(40, 70)];
    let pic1 = [get_fails(41, 9), get_fails(41, 9), get(41, 500)];
    let again = [get(40, 73), get(39, 0x102)];
    let counters = Script::counters([&pcr[..], &pic0, &pic1, &again].concat());
    let clock = Ticking(Cell::new(1000));
    let mut pauses = Vec::new();
    let pause = |refused| pauses.push(refused);
    let snapshot = counters.snapshot_with(PORT, bounds(1, 3), Some(&clock), pause).unwrap();
    // The clock is read after the successful read of PIC0, before each of the three attempts to read PIC1, and after the last attempt.
    assert_eq!(skew(&snapshot), (3, Some(50), 3));
    assert_eq!(pauses, [1, 1, 1, 2]);
}

#[test]
fn a_changed_pcr_is_read_again() {
    let values = [(6, 1), (7, 11), (6, 2), (7, 12), (6, 3), (7, 13), (6, 3)];
    let counters = Script::counters(gets(&values));
    let snapshot = counters.snapshot(CHANNEL, bounds(3, 1)).unwrap();
    assert_eq!((snapshot.pcr, snapshot.pic1, snapshot.reads), (3, 13, 3));
}

#[test]
fn a_pcr_that_keeps_changing_is_an_error() {
    let counters = Script::counters(gets(&[(6, 1), (7, 11), (6, 2), (7, 12), (6, 1)]));
    let changing = SnapshotError::Changing(Tries::new(2).unwrap());
    assert_eq!(counters.snapshot(CHANNEL, bounds(2, 1)), Err(changing));
}

#[test]
fn a_failure_names_the_register() {
    let before = [get(39, 0), get(40, 0), get(41, 0), get(40, 0), get(39, 0)];
    for (at, register) in [(0, 39), (1, 40), (2, 41), (3, 40), (4, 39)] {
        let failed = |status: &[u64]| {
            let steps = before.into_iter().take(at);
            let fails = status.iter().map(|status| get_fails(register, *status));
            Script::counters(steps.chain(fails)).snapshot(PORT, bounds(1, 2))
        };
        let name = PerfReg::new(register).unwrap();
        let refused = RetryError::Failed(HvError::NoAccess);
        assert_eq!(failed(&[10]), Err(SnapshotError::Read(name, refused)));
        let blocked = RetryError::StillBlocked(Tries::new(2).unwrap());
        assert_eq!(failed(&[9, 9]), Err(SnapshotError::Read(name, blocked)));
    }
}

/// A DRAM counter wraps at 31 bits and sets its flag. A hub's counter has 64 bits. The PMU's other counter has no influence.
#[test]
fn a_count_takes_its_counter_from_snapshots_of_its_pmu() {
    let dram = [0x7fff_fffe_0000_0009, 0x8000_0001_7fff_fff0].map(|pic| [(6, 1), (7, pic), (6, 1)]);
    let hub = [(u64::MAX, 5), (3, 9)]
        .map(|(pic0, pic1)| [39, 40, 41, 40, 39].map(|id| (id, [7, pic0, pic1][id as usize - 39])));
    let counters = Script::counters(gets(&[dram.concat(), hub.concat()].concat()));
    let snapshot = |pmu: Pmu| counters.snapshot(pmu, SnapshotLimits::ONCE).unwrap();
    let (channel, port) = (Pmu::from(CHANNEL), Pmu::from(PORT));
    let mut reads = snapshot(channel).count(Counter::Pic0);
    assert_eq!(reads.update(&snapshot(channel)), Ok(3));
    assert_eq!((reads.pmu(), reads.valid_up_to()), (channel, 0x8000_0001));
    let mut packets = snapshot(port).count(Counter::Pic0);
    let later = snapshot(port);
    assert_eq!(packets.update(&later), Ok(4));
    assert_eq!(reads.update(&later), Err(PmuMismatch { counted: channel, found: port }));
    assert_eq!(reads.events(), 3);
    assert_eq!(PmuCount::cleared(PORT, Counter::Pic1).update(&later), Ok(9));
}

//! Tests a reader that runs while the writer writes, and a tracer that threads share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use guest_abi::{Clock, StrandId};
use hv_core::trace::{
    Clock19, Clock27, Clock64Aligned, Layout, Mode, PerStrand, Reader, Ring, RingItem, Trace,
    Tracer,
};

use crate::{Got, Large, Small, TestEvent};

/// Returns the payload of event number `number`. A mix of two events' words is not the payload of any event.
fn value(number: u32) -> u64 {
    u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Tells the reader that the writer has ended, even after a panic.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Runs a reader and a writer that never waits. Each event is either returned once, in order and whole, or counted as lost.
fn read_while_writing<L: Layout>(mode: Mode, resolution: u64) {
    const EVENTS: u32 = if cfg!(miri) { 2_000 } else { 200_000 };
    let time = |number: u32| u64::from(number) * 1_000_003;
    let ring = Ring::<L, 4, 60>::new(mode);
    let done = AtomicBool::new(false);
    let (mut read, mut lost, mut gaps) = (0u64, 0u64, 0u64);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _end = End(&done);
            for number in 0..EVENTS {
                let value = value(number);
                ring.record(time(number), Large { number, value });
                // The pause lets the reader run on a machine with one processor.
                if number % 5000 == 0 {
                    thread::yield_now();
                }
            }
        });
        let mut reader = Reader::new(&ring);
        loop {
            let last = done.load(Ordering::Acquire);
            while let Some(next) = reader.next(TestEvent::words) {
                match Got::from(next) {
                    Got::Event(at, TestEvent::Large(large)) => {
                        assert_eq!(u64::from(large.number), read + lost);
                        assert_eq!(large.value, value(large.number));
                        assert_eq!(at, time(large.number) / resolution * resolution);
                        read += 1;
                    }
                    Got::Event(..) => panic!("not an event that was written: {next:?}"),
                    Got::Lost(more) => {
                        lost += more;
                        gaps += 1;
                    }
                }
            }
            if last {
                break;
            }
        }
    });
    assert_eq!(read + lost, u64::from(EVENTS), "{read} read, {lost} lost in {gaps} gaps");
    assert!(read > 0);
    let discarded = if mode == Mode::Discard { lost } else { 0 };
    assert_eq!(ring.discarded(), discarded);
}

#[test]
fn a_reader_concurrent_with_the_writer() {
    for mode in [Mode::Overwrite, Mode::Discard] {
        read_while_writing::<Clock19>(mode, 512);
        read_while_writing::<Clock27>(mode, 1);
        read_while_writing::<Clock64Aligned>(mode, 1);
    }
}

/// A clock that advances by 1 at each read.
#[derive(Debug, Default)]
pub(crate) struct CountedReads(AtomicU64);

impl Clock for CountedReads {
    fn ticks(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

#[test]
fn no_event_is_recorded_while_off_or_without_a_ring() {
    let rings = [const { Ring::<Clock27, 2, 60>::new(Mode::Discard) }; 1];
    let tracer = Tracer::new(CountedReads::default(), &rings);
    let [first, second] = [0, 1].map(|number| StrandId::new(number).unwrap());
    assert_eq!(tracer.time(first), None);
    tracer.set_on(true);
    assert_eq!(tracer.time(first), Some(0));
    tracer.record(first, 5, Small { number: 1 });
    assert_eq!(tracer.missed(), 0);
    tracer.record(second, 6, Small { number: 2 });
    assert_eq!(tracer.missed(), 1);
    assert!(tracer.ring(second).is_none());
    let mut reader = Reader::new(tracer.ring(first).unwrap());
    assert!(
        matches!(reader.next(TestEvent::words), Some(RingItem::Event(event)) if event.time == 5)
    );
    tracer.set_on(false);
    assert_eq!(tracer.time(first), None);
}

#[test]
fn a_clock_per_strand() {
    let clocks = [100, 200].map(|start| CountedReads(AtomicU64::new(start)));
    let tracer = Tracer::<_, Clock27, 2, 60>::new(PerStrand(&clocks), &[]);
    tracer.set_on(true);
    let times = [0, 1, 1, 2].map(|number| tracer.time(StrandId::new(number).unwrap()));
    assert_eq!(times, [Some(100), Some(200), Some(201), Some(0)]);
}

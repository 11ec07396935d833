//! Takes one kind of sample many times, so that a tool can count the instructions of [`sample`], a guest's overflow trap handler. The
//! handler begins with the trap pending, and ends with the counters running and the sample in the ring.
//!
//! Usage: `sample-cost KIND`. The names of the kinds are in `cargo xtask bench`. %pcr and %pic are words in memory, so an access to either
//! is one instruction, as on SPARC V9.

use std::cell::Cell;
use std::hint::black_box;
use std::process::ExitCode;

use guest_abi::StrandId;
use guest_abi::event::SparcEvent;
use guest_abi::guest::StrandCounters;
use guest_abi::layout::{SparcPcr, SparcPic};
use guest_abi::sampling::{
    Cause, InterruptPoint, OwnCounters, Pace, Period, Profiler, Request, SparcMode,
};

const SAMPLES: u64 = 1000;

/// The %pcr bits OV0 and OV1.
const OVERFLOWED: [u64; 2] = [1 << 18, 1 << 31];

/// Words that stand for %pcr and %pic.
#[derive(Default)]
struct Words {
    pcr: Cell<u64>,
    pic: Cell<u64>,
}

impl StrandCounters for &Words {
    #[inline(always)]
    fn pcr(&self) -> SparcPcr {
        self.pcr.get().into()
    }

    #[inline(always)]
    fn set_pcr(&self, pcr: SparcPcr) {
        self.pcr.set(pcr.into());
    }

    #[inline(always)]
    fn pic(&self) -> SparcPic {
        self.pic.get().into()
    }

    #[inline(always)]
    fn set_pic(&self, pic: SparcPic) {
        self.pic.set(pic.into());
    }
}

type Unit<'a> = OwnCounters<&'a Words>;
type Sampler<'a> = Profiler<Unit<'a>, 1, 64>;

#[inline(never)]
fn sample<'a>(
    profiler: &mut Sampler<'a>,
    unit: &mut Unit<'a>,
    at: &InterruptPoint<SparcMode>,
) -> Cause {
    match profiler.handle(unit, at) {
        Ok(cause) => cause,
        Err(refusal) => panic!("{refusal}"),
    }
}

fn main() -> ExitCode {
    let kind = std::env::args().nth(1).unwrap_or_default();
    let pace = Pace::every(Period::nearest(1000));
    let (pace, overflows) = match &*kind {
        "sample" => (pace, OVERFLOWED[0]),
        "sample_randomised" => (pace.randomised(3, 1), OVERFLOWED[0]),
        "sample_both" => (pace, OVERFLOWED[0] | OVERFLOWED[1]),
        _ => {
            eprintln!("sample-cost: unknown kind '{kind}'");
            return ExitCode::from(2);
        }
    };
    let request = |event: SparcEvent| Request { event: event.into(), pace: Some(pace) };
    let requests = [SparcEvent::Instructions, SparcEvent::DataCacheMisses].map(request);
    let counters = overflows.count_ones() as usize;
    let mut profiler = Sampler::new(SparcMode::User.into(), &requests[..counters])
        .expect("there is room for two events");
    let words = Words::default();
    let mut unit = Unit::new(&words);
    profiler.start(&mut unit, 0).expect("user mode is allowed");
    for time in 1..=SAMPLES {
        // The counters have overflowed, and have counted on until the trap was taken.
        words.pic.set(black_box(0x0000_0002_0000_0003));
        words.pcr.set(words.pcr.get() | black_box(overflows));
        let at = black_box(InterruptPoint {
            address: 0x10_0000 + 4 * time,
            strand: StrandId::new(70).expect("strand 70 exists"),
            time: 1000 * time,
            mode: SparcMode::User,
        });
        let cause = black_box(sample(&mut profiler, &mut unit, &at));
        assert_eq!(cause.counters.iter().count(), counters);
        let taken = std::iter::from_fn(|| profiler.pop());
        assert_eq!(taken.count(), counters);
    }
    ExitCode::SUCCESS
}

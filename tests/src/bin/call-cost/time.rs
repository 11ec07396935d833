//! Measures, in wall time, how long calls take, and how many calls per second one strand makes and two strands make simultaneously.
//!
//! Prints `call KIND NANOSECONDS RATIO` for each kind of call. Both numbers are medians over many rounds. RATIO is relative to rustsbi's
//! call in the same round. Then prints `threads KIND ONE TWO`: the median calls per second of one strand and of two.

use std::array;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Instant;

use guest_abi::Registers;
use hv_core::trace::{Clock19, Mode, NoTrace, Ring, Trace, Tracer};

use super::{
    FW_READ, Firmware, Hypercalls, Measured, Tick, call_of, hypercall, hypervisor, rustsbi_fw_read,
    with_strand,
};

/// The number of calls per measurement: enough for a measurement, but so few that interrupts are rare.
const CALLS: u32 = 20_000;
const ROUNDS: usize = 301;

/// The number of calls per measurement with two threads: so many that starting the threads takes only a small part of the time.
const CALLS_AT_ONCE: u32 = 400_000;
const ROUNDS_AT_ONCE: usize = 15;

#[rustfmt::skip]
const KINDS: [&str; 7] = [
    "get_dram", "set_dram", "get_pcr", "set_pcr", "get_zambezi", "set_zambezi", "get_invalid",
];

/// The calls that two strands make at the same time. All are reads, so the strands write only to the service's own words.
const AT_ONCE: [(&str, [&str; 2]); 4] = [
    ("dram", ["get_dram", "get_dram"]),
    ("pcr", ["get_pcr", "get_pcr"]),
    ("same_hub", ["get_zambezi", "get_zambezi"]),
    ("two_hubs", ["get_zambezi", "get_other_zambezi"]),
];

type Overwritten = Ring<Clock19, 4, 2039>;

static RINGS: [Overwritten; 72] = [const { Ring::new(Mode::Overwrite) }; 72];

pub(super) fn all() {
    calls();
    let hypervisor = hypervisor(NoTrace);
    for (name, kinds) in AT_ONCE {
        let mut rates: [Vec<f64>; 2] = Default::default();
        for _ in 0..ROUNDS_AT_ONCE {
            rates[0].push(rate(&hypervisor, &kinds[..1]));
            rates[1].push(rate(&hypervisor, &kinds));
        }
        let [one, two] = rates.map(median);
        println!("threads {name} {one:.0} {two:.0}");
    }
}

fn calls() {
    let firmware = Firmware::new();
    let tracer = Tracer::new(Tick(AtomicU64::new(0)), &RINGS);
    tracer.set_on(true);
    let rounds: Vec<[f64; KINDS.len() + 2]> = with_strand(NoTrace, |strand| {
        with_strand(&tracer, |traced| {
            let round = || {
                let mut frame = FW_READ;
                let rustsbi = nanoseconds(|| {
                    (frame[0], frame[1]) = (FW_READ[0], FW_READ[1]);
                    rustsbi_fw_read(&firmware, black_box(&mut frame));
                });
                array::from_fn(|index| match KINDS.get(index) {
                    Some(kind) => of_kind(strand, kind),
                    None if index == KINDS.len() => of_kind(traced, "get_dram_traced"),
                    None => rustsbi,
                })
            };
            (0..ROUNDS).map(|_| round()).collect()
        })
    });
    let names = KINDS.into_iter().chain(["get_dram_traced", "rustsbi_fw_read"]);
    for (index, name) in names.enumerate() {
        let times = median(rounds.iter().map(|round| round[index]).collect());
        let ratio = |round: &[f64; KINDS.len() + 2]| round[index] / round[KINDS.len() + 1];
        let ratio = median(rounds.iter().map(ratio).collect());
        println!("call {name} {times:.2} {ratio:.3}");
    }
}

/// Returns the mean time of a call, measured over [`CALLS`] calls.
fn nanoseconds(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn of_kind<T: Trace>(strand: &Measured<'_, T>, kind: &str) -> f64 {
    let (mut registers, status) = call_of(kind).expect("the kind is known");
    let (id, value) = (registers.o0, registers.o1);
    let made = nanoseconds(|| make(strand, &mut registers, id, value));
    assert_eq!(registers.o0, status, "{kind}");
    made
}

/// Makes a call. Stores only the registers that calls change: a load is slower if a wider store has just written its bytes.
#[inline(always)]
fn make<T: Trace>(strand: &Measured<'_, T>, registers: &mut Registers, id: u64, value: u64) {
    (registers.o0, registers.o1) = (id, value);
    hypercall(strand, black_box(registers));
}

/// Returns the number of calls served per second when a separate strand makes the calls of each of `kinds`.
fn rate(hypervisor: &Hypercalls<NoTrace>, kinds: &[&str]) -> f64 {
    let start = Barrier::new(kinds.len());
    let strand = |number, kind| {
        let strand = super::strand(hypervisor, number);
        let (mut registers, _) = call_of(kind).expect("the kind is known");
        let id = registers.o0;
        start.wait();
        let began = Instant::now();
        for _ in 0..CALLS_AT_ONCE {
            // If the hub is taken, the strand asks again.
            while {
                make(black_box(&strand), &mut registers, id, 0);
                registers.o0 != 0
            } {}
        }
        began.elapsed().as_secs_f64()
    };
    let longest = thread::scope(|scope| {
        let strands = kinds.iter().zip(70..);
        let threads: Vec<_> =
            strands.map(|(kind, number)| scope.spawn(move || strand(number, kind))).collect();
        let times = threads.into_iter().map(|thread| thread.join().expect("no call panics"));
        times.fold(0.0, f64::max)
    });
    f64::from(CALLS_AT_ONCE) * kinds.len() as f64 / longest
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

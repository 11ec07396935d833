//! Tests a PIC that, as in hardware, is updated only every 8 clocks, in one of eight phases. A guest may lose events, or see them late,
//! only within the bounds that `guest-abi` states.

use std::ops::RangeInclusive;

use guest_abi::Counter::{Pic0, Pic1};
use guest_abi::StrandId;
use guest_abi::event::SparcEvent;
use guest_abi::guest::StrandDriver;
use guest_abi::layout::{EventSelect, SparcPcr, SparcPic};
use guest_abi::sampling::{InterruptPoint, ModeSet, Pace, Period, Profiler, Request, SparcMode};
use platform::models::{Early, Phase};
use tests::random::Random;

use crate::counter_units::own::{OwnCounterUnit, World};

const PHASES: RangeInclusive<u8> = 1..=8;

/// Returns a world whose first PIC update comes after this number of clocks.
fn world(phase: u8) -> World {
    let world = World::new(false);
    let mut strand = world.strand();
    strand.set_phase(Some(Phase::new(phase).unwrap()));
    strand.set_early(Early::MAX);
    drop(strand);
    world
}

fn pcr() -> SparcPcr {
    SparcPcr::OFF
        .with_event(Pic0, SparcEvent::Loads)
        .with_event(Pic1, SparcEvent::Stores)
        .with_user(true)
}

/// Executes one clock of user code with random events. Returns the numbers of loads and stores.
fn clock(world: &World, random: &mut Random) -> [u64; 2] {
    let happened = [random.below(4) != 0, random.below(2) != 0];
    let mut strand = world.strand();
    strand.pass(1);
    for (event, happened) in [SparcEvent::Loads, SparcEvent::Stores].into_iter().zip(happened) {
        strand.count(event, u32::from(happened));
    }
    happened.map(u64::from)
}

/// Returns the number of events that each counter has not counted yet.
fn lack(pic: SparcPic, happened: [u64; 2]) -> [u64; 2] {
    let lack = |shown: u32, happened: u64| happened.checked_sub(shown.into());
    let lack = [lack(pic.pic0(), happened[0]), lack(pic.pic1(), happened[1])];
    lack.map(|lack| lack.expect("no more than happened"))
}

/// A read misses at most 8 events, and a stop loses at most 8 events. After 8 clocks in a mode whose events are not counted,
/// neither a read nor a stop misses an event. Every number from 0 to 8 occurs.
#[test]
fn a_driver_lacks_and_loses_up_to_8() {
    let random = &mut Random(3);
    let (mut lacked, mut lost) = ([0; 10], [0; 10]);
    for phase in PHASES {
        for clocks in 0..200 {
            for waits in [false, true] {
                let world = world(phase);
                let driver = StrandDriver::new(&world);
                driver.start(pcr(), SparcPic::new()).unwrap();
                let mut happened = [0; 2];
                for _ in 0..clocks {
                    let [loads, stores] = clock(&world, random);
                    happened = [happened[0] + loads, happened[1] + stores];
                }
                world.strand().set_mode(SparcMode::Privileged);
                if waits {
                    world.strand().pass(8);
                }
                let read = lack(driver.read(), happened);
                driver.stop().unwrap();
                world.strand().pass(20);
                let stopped = lack(driver.read(), happened);
                assert!(!waits || read == [0, 0] && stopped == [0, 0]);
                for n in 0..2 {
                    lacked[read[n] as usize] += 1;
                    lost[stopped[n] as usize] += 1;
                }
            }
        }
    }
    for numbers in [lacked, lost] {
        assert!(numbers[..9].iter().all(|times| *times > 0) && numbers[9] == 0, "{numbers:?}");
    }
}

/// If counters are cleared while they count, up to 7 earlier events are added afterwards. If the counters are stopped first, none are
/// added.
#[test]
fn up_to_7_events_follow_a_write() {
    let random = &mut Random(4);
    let mut follow = [0; 9];
    for phase in PHASES {
        for clocks in 0..200 {
            let world = world(phase);
            let driver = StrandDriver::new(&world);
            driver.start(pcr(), SparcPic::new()).unwrap();
            for _ in 0..clocks {
                clock(&world, random);
            }
            driver.clear();
            world.strand().set_mode(SparcMode::Privileged);
            world.strand().pass(20);
            follow[driver.read().pic0() as usize] += 1;

            world.strand().set_mode(SparcMode::User);
            for _ in 0..clocks % 16 {
                clock(&world, random);
            }
            driver.start(pcr(), SparcPic::new().with_pic0(5)).unwrap();
            world.strand().set_mode(SparcMode::Privileged);
            world.strand().pass(20);
            assert_eq!(driver.read(), SparcPic::new().with_pic0(5));
        }
    }
    assert!(follow[..8].iter().all(|times| *times > 0) && follow[8] == 0, "{follow:?}");
}

/// Profiles a program with an overflow trap, and with a timer that rotates events. The trap takes `TRAP` clocks to reach the handler. The
/// handler loads and stores for `own` clocks before it calls the profiler. Returns how many events are missing from the counts of the
/// selected modes, and how many calls stopped the counters.
fn profiled(phase: u8, modes: ModeSet<SparcMode>, own: u64, seed: u64) -> ([u64; 2], u64) {
    const TRAP: u64 = 9;
    let random = &mut Random(seed);
    let mut unit = OwnCounterUnit::on(world(phase));
    let requests = [(SparcEvent::Loads, 100), (SparcEvent::Stores, 37)].map(|(event, period)| {
        Request { event: event.into(), pace: Some(Pace::every(Period::new(period).unwrap())) }
    });
    let mut profiler = Profiler::<OwnCounterUnit, 1, 4096>::new(modes, &requests).unwrap();
    profiler.start(&mut unit, 0).unwrap();
    let (strand, mode) = (StrandId::new(0).unwrap(), SparcMode::User);
    let at = |time| InterruptPoint { address: 4 * time, strand, time, mode };
    let (mut happened, mut calls, mut sampled) = ([0; 2], 0, [0; 2]);
    for time in 1..5000_u64 {
        let mut add = |more: [u64; 2], counted: bool| {
            for (total, more) in happened.iter_mut().zip(more) {
                *total += more * u64::from(counted);
            }
        };
        add(clock(unit.world(), random), true);
        let overflow = unit.world().strand().softint();
        let timer = random.below(200) == 0;
        if overflow || timer {
            let mut strand = unit.world().strand();
            strand.set_mode(SparcMode::Privileged);
            strand.set_interruptible(false);
            strand.set_softint(false);
            strand.pass(TRAP);
            drop(strand);
            for _ in 0..own {
                add(clock(unit.world(), random), modes.contains(SparcMode::Privileged));
            }
            let handled = match overflow {
                true => profiler.handle(&mut unit, &at(time)),
                false => profiler.rotate(&mut unit, &at(time)),
            };
            assert!(!overflow || !handled.unwrap().is_spurious());
            calls += 1;
            let mut strand = unit.world().strand();
            strand.set_mode(SparcMode::User);
            strand.set_interruptible(true);
        }
        while let Some(sample) = profiler.pop() {
            sampled[usize::from(sample.event != SparcEvent::Loads.into())] += sample.period;
        }
    }
    unit.world().strand().set_mode(SparcMode::Privileged);
    unit.world().strand().pass(TRAP);
    profiler.stop(&mut unit, &at(5000));
    let counted: Vec<_> = profiler.events().map(|event| event.estimate.unwrap().counted).collect();
    for (n, period) in [100, 37].into_iter().enumerate() {
        // The samples account for all periods except the last, which may have ended early.
        assert!(
            sampled[n] + period > counted[n] && sampled[n] <= counted[n] + 15,
            "{sampled:?} of {counted:?}"
        );
    }
    ([happened[0] - counted[0], happened[1] - counted[1]], calls + 1)
}

/// The counters do not count in the handler's mode, so the profile loses no events, whatever the phase.
#[test]
fn a_profile_of_user_code_loses_nothing() {
    for phase in PHASES {
        for seed in 0..5 {
            let (lost, calls) = profiled(phase, SparcMode::User.into(), 3, seed);
            assert!(calls > 100);
            assert_eq!(lost, [0, 0], "phase {phase}");
        }
    }
}

/// The counters count in the handler's mode too. Each call then loses up to 8 events of each counter, all caused by the handler. A call
/// loses none if the handler caused no event in the 8 clocks before it.
#[test]
fn a_profile_of_the_handlers_mode_loses_up_to_8_a_call() {
    for phase in PHASES {
        for own in [0, 1, 3, 8, 20] {
            let modes = ModeSet::from(SparcMode::User) | SparcMode::Privileged.into();
            let (lost, calls) = profiled(phase, modes, own, u64::from(phase));
            for lost in lost {
                assert!(lost <= calls * own.min(8), "{lost} by {calls} calls, own {own}");
                assert_eq!(lost > 0, own > 0);
            }
        }
    }
}

//! The tests quote the chapter "Locking timer to system time" of windows_high_resolution_timer.txt,
//! and the chapter after it. Each test shows that the simulation behaves as the quoted text says.

use hv_core::time::TimeOfDay;

use super::methods::LockMethod;
use super::situation::{Situation, TICK, Trouble};
use super::{LockResult, compare};

const MICROSECOND: i64 = 1000;
const MILLISECOND: i64 = 1000 * MICROSECOND;

/// Returns the outcomes of a method for drifts of 80 and 500 parts per million.
fn outcomes(way: LockMethod, trouble: Trouble) -> [LockResult; 2] {
    [80, 500].map(|drift| LockResult::simulate(way, Situation { trouble, drift }))
}

/// The text about bounding: "let the HRT free-run until it differs by 1.5 ticks, then bring it back"; "the timer would not be
/// monotonic, and would jump often".
#[test]
fn a_bounded_timer_jumps() {
    let [slow, fast] = outcomes(LockMethod::Bound, Trouble::Nothing);
    // The drift reaches 15 ms after 187.5 s at 80 parts per million, and after 30 s at 500 parts
    // per million. The next wake-up comes at most a second later.
    assert_eq!((slow.steps_back, fast.steps_back), (1000 / 188, 1000 / 31));
    for (found, drift) in [(&slow, 80), (&fast, 500)] {
        let bounds = 15 * MILLISECOND..=15 * MILLISECOND + drift * MICROSECOND;
        assert!(bounds.contains(&found.largest_step_back), "{found:?}");
        assert!(bounds.contains(&found.largest_error), "{found:?}");
        assert!(!found.converges && found.percent_at_limit == 0);
    }
}

/// The text about the first controller: "its gain was way too high, and it was basically bouncing back and forth at the maximum
/// allowed adjustment value".
#[test]
fn a_controller_with_a_high_gain_bounces() {
    let [slow, fast] = outcomes(LockMethod::HighGain, Trouble::Nothing);
    assert!(slow.turns > 900 && fast.turns > 400, "{slow:?} {fast:?}");
    for found in [slow, fast] {
        assert!(found.percent_at_limit >= 50 && !found.converges, "{found:?}");
    }
}

/// The text about a low gain: "if slightly above/below the target value, it will never correct the difference". In the simulation, the gain
/// is 1/2 per second. An error of 160 us then balances a drift of 80 parts per million.
#[test]
fn a_controller_with_a_low_gain_never_corrects_the_difference() {
    for (found, error) in outcomes(LockMethod::LowGain, Trouble::Nothing).iter().zip([160, 1000]) {
        let expected = error * MICROSECOND;
        let near = |found: &i64| (found - expected).abs() <= MICROSECOND;
        assert!(found.last_quarter.iter().all(near), "{found:?}");
        assert!(!found.converges && found.turns == 0, "{found:?}");
    }
}

/// The text about the PID controller: "This worked surprisingly well: the HRT was typically only a few microseconds (!) off from the
/// given ST value."
#[test]
fn a_pid_controller_converges_if_all_goes_well() {
    for found in outcomes(LockMethod::Pid, Trouble::Nothing) {
        assert!(found.last_quarter.iter().all(|error| error.abs() < 5 * MICROSECOND), "{found:?}");
        assert!(found.converges && found.percent_at_limit == 0, "{found:?}");
    }
}

/// The text about late wake-ups: "The calibration thread wasn't waking up on time [...] up to 5 ms late. With inaccurate system time
/// values, the controller was constantly adjusting the frequency back and forth"; "the timer still drifted too much".
#[test]
fn late_wake_ups_defeat_the_controllers() {
    for way in [LockMethod::HighGain, LockMethod::LowGain, LockMethod::Pid] {
        for found in outcomes(way, Trouble::LateWakeUps) {
            assert!(found.turns > 300 && found.percent_at_limit > 30, "{found:?}");
            assert!(!found.converges && found.largest_error > MILLISECOND, "{found:?}");
        }
    }
}

/// The text about uneven updates of the system time (ST): "every 57th or so update comes later, every 32nd comes earlier"; "Sometimes,
/// the ST had not been updated after thread wakeup".
#[test]
fn an_uneven_system_time_defeats_the_controllers() {
    let situation = Situation { trouble: Trouble::UnevenSystemTime, drift: 0 };
    let differs = |update: i64, by: i64| {
        let now = update * TICK + by * MILLISECOND;
        (situation.system(now) - now / TICK * TICK) / TICK
    };
    for (update, [early, late]) in
        [(31, [0, 0]), (32, [1, 0]), (57, [0, -1]), (64, [1, 0]), (114, [0, -1])]
    {
        assert_eq!([differs(update, -2), differs(update, 0)], [early, late], "{update}");
        assert_eq!([differs(update, -3), differs(update, 3)], [0, 0], "{update}");
    }
    for found in outcomes(LockMethod::Pid, Trouble::UnevenSystemTime) {
        assert!(!found.converges && found.percent_at_limit > 0, "{found:?}");
        assert!(found.largest_error > MILLISECOND, "{found:?}");
    }
}

/// The text about the requirements: "jumps in time (especially backwards) are unacceptable"; "If we have the ST only good to 10 ms, we
/// can obviously never return the current time closer to its true value".
#[test]
fn the_time_of_day_is_bounded_and_never_steps_back() {
    for trouble in [Trouble::Nothing, Trouble::LateWakeUps, Trouble::UnevenSystemTime] {
        for found in outcomes(LockMethod::TimeOfDay, trouble) {
            // An uneven update is up to 3 ms late. Up to 1.005 s pass between two wake-ups, and the clock drifts during this time.
            let late = if trouble == Trouble::UnevenSystemTime { 3 } else { 0 };
            let accuracy = TICK + late * MILLISECOND + found.drift_ppm * 1005 / 1000 * MICROSECOND;
            assert!(found.largest_error <= accuracy + MICROSECOND, "{found:?}");
            assert_eq!((found.steps_back, found.turns), (0, 0), "{found:?}");
        }
    }
    assert_eq!(
        LockMethod::TimeOfDay.limit(),
        1_000_000_000 / TimeOfDay::SLEW_DIVISOR.cast_signed()
    );
    assert_eq!(LockMethod::TimeOfDay.limit(), 500_000);
}

#[test]
fn only_bounding_steps_back() {
    for found in compare() {
        assert_eq!(found.steps_back > 0, found.way == "bound", "{found:?}");
    }
}

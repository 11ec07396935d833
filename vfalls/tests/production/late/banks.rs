//! Tests writes of PERF_CONFIG during which some L2 banks fail.

use std::array;

use perfctr_service::Unit;
use platform::Bus;
use platform::address::l2_control;

use super::*;

const FOR_LONG: Entry = [4, u64::MAX, 0, 0, 0, 0, 0, 0];

/// The guest's call always takes less than this number of cycles.
const ENDED: u64 = 40_000;

/// Returns the contents of all banks when the PERF_CONFIG field is `config`. The other bits differ between banks.
fn banks(config: u64) -> [u64; 8] {
    array::from_fn(|bank| config << 36 | 1 << 63 | (8 * bank as u64))
}

fn contents(run: &Run) -> [u64; 8] {
    let read = |bank| run.booted.0.devices().read(strand(), l2_control(bank).unwrap()).unwrap();
    array::from_fn(read)
}

/// A guest's call changes PERF_CONFIG from 2 to 1. Bank `first` and all higher banks fail for some time during the call. If the call
/// succeeds, all banks have the value 1. If the call is refused, the banks below `first` still have the value 2. After a refused call, the
/// operator returns the unit to service, and then all banks have the same value: 2 or 0.
#[test]
#[ignore = "builds images"]
fn all_banks_have_one_value() {
    let every = if std::env::var_os("ALL").is_some() { 7 } else { 19 };
    let [mut served, mut restored, mut scrubbed] = [0; 3];
    for (first, latency) in (0..8).flat_map(|bank| [1, 20, 150].map(|latency| (bank, latency))) {
        for (number, from) in (0..700).step_by(every).enumerate() {
            let list = [call(SET, L2, 1), FOR_LONG];
            let mut run = Run::new(&list, StoreLatency::Fixed(latency), None);
            for (bank, value) in banks(2).into_iter().enumerate() {
                let at = l2_control(bank).unwrap();
                run.booted.0.devices().write(strand(), at, value).unwrap();
            }
            let fails = from..from + [20, 200, ENDED][number % 3];
            let unit = FaultyUnit::L2FromBank(Node::Node0, first);
            loop {
                let now = run.booted.0.now() - run.begun;
                run.booted.0.devices().set_faulty(unit, fails.contains(&now) && now < ENDED);
                if now >= ENDED {
                    break;
                }
                assert!(matches!(run.booted.0.step(strand()), None | Some(Stop::Limit)));
            }
            let what = format!("bank {first} fails at {fails:?}, stores take {latency}");
            let [_, status, ..] = run.booted.entry(0, 0, 0);
            let behind = contents(&run);
            let step = Step::ReturnToService(Unit::L2(Node::Node0));
            run.booted.operate(0, &step, 100_000);
            let returned = contents(&run);
            match status {
                0 => {
                    assert_eq!([behind, returned], [banks(1); 2], "{what}");
                    served += 1;
                }
                ENOACCESS => {
                    assert_eq!(behind[..first], banks(2)[..first], "{what}");
                    assert!([2, 0].map(banks).contains(&returned), "{what}: {returned:x?}");
                    restored += u32::from(returned == banks(2));
                    scrubbed += u32::from(returned == banks(0));
                }
                other => panic!("{what}: {other}"),
            }
        }
    }
    assert!(served > 0 && restored > 0 && scrubbed > 0, "{:?}", [served, restored, scrubbed]);
}

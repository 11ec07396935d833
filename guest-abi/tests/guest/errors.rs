//! Checks that every error says in words what happened, has the status of the call that failed, and passes through `?`.

use guest_abi::event::{DramEvent, SparcEvent};
use guest_abi::guest::{
    NegotiateError, PmuMismatch, RetryError, SnapshotError, SnapshotLimits, Tries,
};
use guest_abi::layout::{PerfConfig, ReservedEvent, SparcSelect};
use guest_abi::register::DramPmu;
use guest_abi::sampling::{NoRoom, Period};
use guest_abi::{Counter, Error, Hub, HvError, Mcu, Node, PerfReg, StrandId, Version};

use crate::script::{Script, get_fails, gets};

fn says(error: impl Into<Error>, text: &str, status: Option<HvError>) {
    let error = error.into();
    assert_eq!((&*error.to_string(), error.status()), (text, status));
    let _: &dyn std::error::Error = &error;
}

#[test]
fn text_and_status() {
    let [none, denied] = [None, Some(HvError::NoAccess)];
    let failed = RetryError::Failed(HvError::NoAccess);
    let blocked = RetryError::StillBlocked(Tries::new(3).unwrap());
    let loads = SparcSelect::from(SparcEvent::Loads);
    let [counted, found] = [Mcu::Mcu0, Mcu::Mcu1].map(|mcu| DramPmu::new(Node::Node2, mcu).into());
    let granted = NegotiateError::MinorTooHigh(Version::V1_1);
    says(HvError::NoAccess, "ENOACCESS", denied);
    says(NegotiateError::Refused(HvError::NoAccess), "API group 0x205 refused: ENOACCESS", denied);
    says(granted, "API group 0x205: 1.1 granted, more than asked for", none);
    says(failed, "ENOACCESS", denied);
    says(blocked, "EWOULDBLOCK after 3 tries", Some(HvError::WouldBlock));
    says(SnapshotError::Read(PerfReg::ALL[39], failed), "ZAM1_LPU_B_PCR: ENOACCESS", denied);
    says(SnapshotError::Changing(Tries::ONCE), "PCR changed during each of 1 reads", none);
    says(NoRoom(loads), "no counter and turn is left for Instr_ld", none);
    says(ReservedEvent(0x203), "reserved event 0x203", none);
    says(PmuMismatch { counted, found }, "a snapshot of NODE2_MCU1 is not one of NODE2_MCU0", none);
    says(Period::try_from(0).unwrap_err(), "period 0: expected 1 to 2147483648", none);
    says("mem".parse::<DramEvent>().unwrap_err(), "no event of a DRAM channel has this name", none);
}

/// With `?`, a guest can pass on every error as one type.
#[test]
fn question_marks() {
    let work = |steps| -> Result<u64, Error> {
        let counters = Script::counters(steps);
        let channel = DramPmu::new("NODE1".parse()?, Mcu::try_from(0)?);
        let mut count = counters.snapshot(channel, SnapshotLimits::ONCE)?.count(Counter::Pic1);
        Ok(count.update(&counters.snapshot(channel, SnapshotLimits::ONCE)?)?)
    };
    let reads = |values| gets(&[(6, 1), (7, values), (6, 1)]);
    let events = 0x7fff_fff0_0000_0009;
    assert_eq!(work([reads(7), reads(events)].concat()), Ok(2));
    let failed = work([reads(7), vec![get_fails(6, 10)]].concat()).unwrap_err();
    assert_eq!(failed.status(), Some(HvError::NoAccess));
}

#[test]
fn names_and_numbers_are_read_back() {
    fn back<T>(values: &[T])
    where
        T: Copy
            + std::fmt::Debug
            + PartialEq
            + std::fmt::Display
            + std::str::FromStr<Err: std::fmt::Debug>,
    {
        for value in values {
            assert_eq!(value.to_string().to_lowercase().parse::<T>().unwrap(), *value);
        }
        assert!("nonsense".parse::<T>().is_err());
    }
    back(Node::ALL);
    back(Hub::ALL);
    back(Counter::ALL);
    back(PerfConfig::ALL);
    back(SparcEvent::ALL);
    back(&PerfReg::ALL);
    back(HvError::NAMED);
    assert_eq!(PerfConfig::CacheToCache.to_string(), "c2c");
    assert_eq!(HvError::try_from(9_u64), Ok(HvError::WouldBlock));
    assert!(HvError::try_from(0_u64).is_err() && Node::try_from(4_usize).is_err());
    let text = StrandId::try_from(256_usize).unwrap_err().to_string();
    assert_eq!(text, "strand 256: expected 0 to 255");
}

#[test]
fn selects_have_names() {
    for (code, text) in [(0x208, "Instr_ld"), (0x200, "off"), (0xa08, "class 10 mask 0x08")] {
        let select = SparcSelect::from_code(code);
        assert_eq!(
            (select.to_string(), format!("{select:?}")),
            (text.into(), format!("SparcSelect({text})"))
        );
    }
}

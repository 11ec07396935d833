//! Every call: its trap, its registers, and its results.

use std::fmt::Write;

use guest_abi::guest::Core;
use guest_abi::{ApiGroup, HvError, PerfReg, Version};

use crate::script::{JUNK, Script, core, get_fails, gets, set, set_fails};

fn register(id: u64) -> PerfReg {
    PerfReg::new(id).unwrap()
}

#[test]
fn get_passes_the_id_and_returns_o1() {
    let values = [(0, 0xc000_0000_0000_0001), (89, u64::MAX), (3, 0)];
    let counters = Script::counters(gets(&values));
    for (id, value) in values {
        assert_eq!(counters.get(register(id)), Ok(value));
    }
}

#[test]
fn set_passes_id_and_value() {
    let counters = Script::counters([set(2, 0x12), set(18, u64::MAX)]);
    assert_eq!(counters.set(register(2), 0x12), Ok(()));
    assert_eq!(counters.set(register(18), u64::MAX), Ok(()));
}

#[test]
fn every_status_arrives() {
    for status in [1, 6, 7, 9, 10, 13, 17, 23, 18, 0x1_0000_0000, u64::MAX] {
        let counters = Script::counters([get_fails(5, status), set_fails(5, 1, status)]);
        let read = counters.get(register(5)).unwrap_err();
        let written = counters.set(register(5), 1).unwrap_err();
        assert_eq!((read.number(), written.number()), (status, status));
    }
    let counters = Script::counters([get_fails(18, 13), get_fails(18, 10)]);
    assert_eq!(counters.get(register(18)), Err(HvError::NotSupported));
    assert_eq!(counters.get(register(18)), Err(HvError::NoAccess));
}

#[test]
fn api_versions_of_any_group() {
    let calls = Core::new(Script::new([
        core([1, 1, 7, 0, 0, 0], [0, 0, JUNK, JUNK, JUNK, JUNK]),
        core([0x205, 0, 0, 0, 0, 3], [0, 1, 1, JUNK, JUNK, JUNK]),
        core([0x209, 0, 0, 0, 0, 3], [6, JUNK, JUNK, JUNK, JUNK, JUNK]),
    ]));
    let granted = calls.api_set_version(ApiGroup::CORE, Version::new(1, 7));
    assert_eq!(granted, Ok(Version::V1_0));
    assert_eq!(calls.api_get_version(ApiGroup::VFALLS), Ok(Version::V1_1));
    assert_eq!(calls.api_get_version(ApiGroup(0x209)), Err(HvError::Invalid));
}

#[test]
fn console_and_exit() {
    let mut calls = Core::new(Script::new([
        core([0x41, 0, 0, 0, 0, 1], [0; 6]),
        core([0xff, 0, 0, 0, 0, 1], [9, 0xff, 0, 0, 0, 1]),
        core([0xffff_ffff_ffff_ffff, 0, 0, 0, 0, 1], [0; 6]),
        core([0x68, 0, 0, 0, 0, 1], [0; 6]),
        core([0x69, 0, 0, 0, 0, 1], [0; 6]),
        core([0x6a, 0, 0, 0, 0, 1], [9, 0, 0, 0, 0, 1]),
        core([3, 0, 0, 0, 0, 2], [0; 6]),
    ]));
    assert_eq!(calls.putchar(b'A'), Ok(()));
    assert_eq!(calls.putchar(0xff), Err(HvError::WouldBlock));
    assert_eq!(calls.send_break(), Ok(()));
    assert!(calls.write_str("hi").is_ok());
    assert!(calls.write_str("jk").is_err());
    assert_eq!(calls.exit(3), Ok(()));
}

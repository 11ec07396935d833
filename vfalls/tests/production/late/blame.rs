//! Tests reports of failed stores for which no unit can be blamed.

use simulator::execute::{Limits, Stop, StoreLatency};
use simulator::interpreter::instruction::Register;

use super::super::lists::{Entry, SET};
use super::{
    BROKEN, CHANNEL, Failing, LISTS_AFTER_SET, Run, WAIT, ask, call, strand, sweep, symbol,
};

/// Without an address in the report, no unit goes out of service, but the operator is still told.
#[test]
#[ignore = "builds images"]
fn nobody_is_blamed_without_an_address() {
    let failing = Failing { mended: 1000, without_address: true, status: 0, ..BROKEN };
    let set = |name, entries: &[Entry]| (name, [&[call(SET, CHANNEL, 0)], entries].concat());
    let lists = LISTS_AFTER_SET.iter().filter(|(name, _)| *name != "calls on the channel");
    sweep(lists.map(|(name, entries)| set(*name, &[*entries, &[WAIT; 3]].concat())), failing);
    let (_, list) = set("", &[WAIT; 4]);
    let mut run = Run::new(&list, StoreLatency::Fixed(100), Some(failing));
    run.until(run.guest_instructions() + 1000).unwrap();
    let expected = "a store to a device failed, address unknown, on strand 0 of guest 0";
    assert_eq!(run.booted.failure_records(), (vec![expected.to_owned()], 1));
}

/// A store fails at an address that belongs to no unit. No unit goes out of service, and the
/// operator is told the address.
#[test]
#[ignore = "builds images"]
fn nobody_is_blamed_where_no_unit_is() {
    let list = [call(SET, CHANNEL, 1), WAIT, ask(CHANNEL)];
    let mut run = Run::new(&list, StoreLatency::Fixed(100), None);
    run.booted.0.breakpoints().insert(symbol("perfctr_store_dram"));
    let stop = run.booted.0.run(Limits::instructions(10_000));
    assert_eq!(stop, Stop::Breakpoint(strand()));
    run.booted.0.breakpoints().clear();
    // The instruction is `stx %g4, [%g3]`.
    let place = Register::new(3);
    let registers = &mut run.booted.0.strand_mut(strand()).registers;
    let address = registers.get(place) + 0xc00;
    registers.set(place, address);
    run.booted.0.run(Limits::instructions(200_000));
    let expected =
        format!("a store failed where no unit is, at {address:#x}, on strand 0 of guest 0");
    assert_eq!(run.booted.failure_records(), (vec![expected], 1));
    assert_eq!(run.booted.entry(0, 0, 2)[1], 0);
}

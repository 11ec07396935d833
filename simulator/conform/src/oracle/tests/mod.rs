//! Tests the reference model against the results that the documents require. The scripts in `tests/real_guests` also test it.

mod calls;
mod faults;
mod rights;

use super::*;

/// The values of the registers that a call does not use.
const REST: [u64; 3] = [0x2222, 0x3333, 0x4444];

/// Makes a call with two arguments. The other registers hold `REST`.
fn call(world: &mut World, strand: u16, trap: Trap, function: u64, args: [u64; 2]) -> Outcome {
    let ([o0, o1], [o2, o3, o4]) = (args, REST);
    world.call(strand, trap, [o0, o1, o2, o3, o4, function])
}

/// Makes a call that reads register `id`, with 0x1111 in %o1 before the call. Returns the status and %o1. Asserts that the
/// call changes no other register.
fn get(world: &mut World, strand: u16, id: u64) -> (u64, u64) {
    let out = call(world, strand, Trap::Fast, 0x106, [id, 0x1111]);
    assert_eq!(out.regs[2..], [0x2222, 0x3333, 0x4444, 0x106]);
    (out.regs[0], out.regs[1])
}

/// Writes a register. Returns the status. Asserts that no other register changes.
fn set(world: &mut World, strand: u16, id: u64, value: u64) -> u64 {
    let out = call(world, strand, Trap::Fast, 0x107, [id, value]);
    assert_eq!(out.regs[1..], [value, 0x2222, 0x3333, 0x4444, 0x107]);
    out.regs[0]
}

/// Negotiates version 1.`minor` of the performance counters.
fn negotiate(world: &mut World, strand: u16, minor: u64) {
    let out = world.call(strand, Trap::Core, [0x205, 1, minor, 0, 0, 0]);
    assert_eq!(out.regs, [0, minor, minor, 0, 0, 0]);
}

/// Returns a Batoka machine of four nodes with one guest on `strands`. The guest has negotiated 1.1.
fn batoka(strands: impl IntoIterator<Item = u16>, grant: Grant) -> World {
    let guest = Guest::new(strands, grant);
    let first = guest.strands[0];
    let mut world = World::new(Machine::Batoka, 4, &[], vec![guest]).unwrap();
    negotiate(&mut world, first, 1);
    world
}

fn done(address: u64, action: Action) -> Access {
    Access::done(Target::Address(address), action)
}

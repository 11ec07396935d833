//! A guest that counts the memory reads of node 0. In an image the transport is
//! `unsafe { guest_abi::guest::Sun4v::new() }`; here it is a hypervisor of a few lines, so that this runs anywhere.

use std::cell::Cell;

use guest_abi::event::DramEvent;
use guest_abi::guest::{Bounds, DramCount};
use guest_abi::register::DramPmu;
use guest_abi::{Counter, Hypercall, Mcu, Node, PerfCounters, Registers, Trap};

fn count_reads(hypervisor: impl Hypercall) -> Result<u64, Box<dyn std::error::Error>> {
    let counters = PerfCounters::negotiate_best(hypervisor)?;
    let channel = DramPmu::new(Node::Node0, Mcu::Mcu0);
    if !counters.probe().may_use(channel.into()) {
        return Err(format!("version {} has no such channel", counters.version()).into());
    }
    counters.select(channel, Counter::Pic0, DramEvent::Reads)?;

    let read = || counters.snapshot(channel, Bounds::ONCE).map(|pmu| pmu.pic0);
    let mut reads = DramCount::new(read()?);
    for _ in 0..10 {
        reads.update(read()?);
    }
    counters.release()?;
    Ok(reads.events())
}

/// Grants what is asked for; its one channel reads 300 million times between two looks at its counter.
struct OneChannel(Cell<u64>);

impl Hypercall for OneChannel {
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        let (status, value) = match (trap, registers.o5, registers.o0) {
            (Trap::Core, 0, 0x205) => (0, registers.o2),
            (Trap::Fast, 0x106 | 0x107, 2) => (0, 0),
            (Trap::Fast, 0x106, 3) => (0, self.0.replace(self.0.get() + 300_000_000) << 32),
            (Trap::Fast, 0x106 | 0x107, _) => (13, registers.o1),
            _ => (7, registers.o1),
        };
        (registers.o0, registers.o1) = (status, value);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{} reads", count_reads(OneChannel(Cell::new(0)))?);
    Ok(())
}

//! Tests one core and its node against expected counts computed by hand.

use super::stream::KINDS;
use super::*;
use SparcEvent as E;

fn one() -> Bench {
    Bench::new(Model::Maramba, 1)
}

#[test]
fn a_load_that_misses_everywhere_then_hits() {
    let mut bench = one();
    bench.load(0, 0x1000);
    let misses = [E::DataCacheMisses, E::CrossbarLoads, E::L2LoadMisses];
    assert_eq!(bench.counts(0, misses), [1, 1, 1]);
    assert_eq!([DramEvent::Reads, DramEvent::ReadQueueLatency].map(|one| bench.dram(one)), [1, 7]);
    // The times of issue, load, L2 cache, channel and memory.
    assert_eq!(bench.devices.now(), 1 + 2 + 23 + 7 + 120);
    bench.load(0, 0x1008);
    assert_eq!(bench.devices.now(), 153 + 3);
    bench.load(0, 0x1010);
    assert_eq!(bench.devices.now(), 156 + 26, "the next 16 bytes are in the L2");
    assert_eq!(bench.counts(0, [E::DataCacheMisses, E::L2LoadMisses]), [2, 1]);
    assert_eq!(bench.counts(0, [E::InstructionCacheMisses, E::L2InstructionMisses]), [0, 0]);
}

#[test]
fn a_fetch_that_misses_everywhere_then_hits() {
    let mut bench = one();
    let fetches = [(9, 0x1000), (9, 0x101c), (9, 0x1020), (15, 0x1020), (16, 0x1020)];
    fetches.into_iter().for_each(|(strand, address)| bench.fetch(strand, address));
    let misses = [E::InstructionCacheMisses, E::L2InstructionMisses];
    assert_eq!(bench.counts(9, misses), [2, 1]);
    assert_eq!(bench.counts(9, [E::CrossbarFetches, E::L2LoadMisses]), [2, 0]);
    assert_eq!(bench.counts(15, misses), [0, 0], "same core");
    assert_eq!(bench.counts(16, misses), [1, 0], "next core");
}

#[test]
fn atomics_are_loads_and_stores_and_count_as_one_instruction() {
    let mut bench = one();
    for (kind, times) in KINDS.into_iter().zip(1..) {
        for _ in 0..times {
            bench.sized(0, kind, 0x2000, 4);
        }
    }
    let classes = [E::OtherInstructions, E::Loads, E::Stores, E::AtomicOperations];
    assert_eq!(bench.counts(0, classes), [1, 2 + 4, 3 + 4, 0], "the four are not atomic");
    assert_eq!(bench.counts(0, [E::Instructions, E::CrossbarStores]), [10, 6 + 7]);
    let fetch = Reference::new(0x2000, 4, Kind::FetchModify);
    bench.replay(0, 0, &[Reference { class: Class::Atomic, ..fetch }; 5]);
    assert_eq!(bench.counts(0, classes), [1, 2 + 4 + 5, 3 + 4 + 5, 5]);
    assert_eq!(bench.counts(0, [E::Instructions]), [15]);
}

/// Floating-point and graphics instructions have a class of their own. Integer multiplications and divisions are not in it,
/// although the FGU executes them.
#[test]
fn the_fgu_counts_its_arithmetic() {
    use Class::{Annuls, Divide, FloatingPoint, Multiply, Prefetch, System, Vector};
    let mut bench = one();
    let other = Reference::new(0x2000, 4, Kind::FetchOther);
    let classes = [FloatingPoint, Vector, Multiply, Divide, System, Annuls, Prefetch];
    // Each class gets twice as many instructions as the class before it, so every sum shows which classes it includes.
    for (number, class) in classes.into_iter().enumerate() {
        bench.replay(0, 0, &vec![Reference { class, ..other }; 1 << number]);
    }
    let counted = [E::FguArithmetic, E::OtherInstructions, E::Instructions];
    assert_eq!(bench.counts(0, counted), [3, 124, 127]);
    // x86-64's `addsd (mem),%xmm0` also loads. It is one instruction.
    let loads = Reference::new(0x2000, 4, Kind::FetchLoad);
    bench.replay(0, 0, &[Reference { class: FloatingPoint, ..loads }]);
    assert_eq!(bench.counts(0, [E::FguArithmetic, E::Loads, E::Instructions]), [4, 1, 128]);
    // A counter that selects both events counts the instruction once.
    let both = SparcSelect::from_code(0x20c);
    assert_eq!(bench.truth().strand(id(0), both, PerfConfig::All), 4);
}

#[test]
fn a_data_cache_set_has_four_ways() {
    let mut bench = one();
    // The addresses are 2 KB apart, so they share a set.
    for address in [0x0000, 0x0800, 0x1000, 0x1800] {
        bench.load(0, address);
    }
    bench.load(0, 0x0000);
    assert_eq!(bench.strand(0, E::DataCacheMisses), 4);
    bench.load(0, 0x2000);
    bench.load(0, 0x0000);
    assert_eq!(bench.strand(0, E::DataCacheMisses), 5, "used last but one");
    bench.load(0, 0x0800);
    assert_eq!(bench.counts(0, [E::DataCacheMisses, E::L2LoadMisses]), [6, 5], "the oldest went");
}

#[test]
fn an_instruction_cache_set_has_eight_ways() {
    let mut bench = one();
    for n in 0..9 {
        bench.fetch(0, n * 0x800);
    }
    bench.fetch(0, 8 * 0x800);
    bench.fetch(0, 0x800);
    assert_eq!(bench.strand(0, E::InstructionCacheMisses), 9);
    bench.fetch(0, 0);
    assert_eq!(bench.strand(0, E::InstructionCacheMisses), 10);
}

#[test]
fn what_crosses_a_line_touches_each() {
    let mut bench = one();
    bench.sized(0, Kind::Load, 0x100c, 4);
    assert_eq!(bench.strand(0, E::DataCacheMisses), 1);
    bench.sized(0, Kind::Load, 0x103c, 8);
    assert_eq!(bench.counts(0, [E::DataCacheMisses, E::L2LoadMisses]), [3, 2]);
    bench.sized(0, Kind::Store, 0x2000, 64);
    assert_eq!(bench.strand(0, E::CrossbarStores), 4);
    bench.sized(0, Kind::FetchOther, 0x301e, 4);
    assert_eq!(bench.counts(0, [E::InstructionCacheMisses, E::Instructions]), [2, 1]);
    bench.sized(0, Kind::Load, 0x7f_ffff_ffff, 2);
    bench.sized(0, Kind::Load, 0, 1);
    assert_eq!(bench.strand(0, E::DataCacheMisses), 5, "addresses wrap");
}

#[test]
fn offset_and_width_of_addresses() {
    let mut bench = one();
    bench.load(0, 0x1000);
    bench.replay(0, 0x1000, &[Reference::new(0xffff_ff80_0000_0000, 8, Kind::Load)]);
    assert_eq!(bench.strand(0, E::DataCacheMisses), 1);
}

#[test]
fn stores_write_through_and_allocate_in_the_l2_only() {
    let mut bench = one();
    bench.store(0, 0x1000);
    assert_eq!(bench.counts(0, [E::CrossbarStores, E::L2LoadMisses]), [1, 0]);
    assert_eq!(bench.dram(DramEvent::Reads), 1, "the L2 takes the line in");
    bench.load(0, 0x1000);
    assert_eq!(bench.counts(0, [E::DataCacheMisses, E::L2LoadMisses]), [1, 0]);
    bench.store(0, 0x1000);
    bench.load(0, 0x1000);
    assert_eq!(bench.strand(0, E::DataCacheMisses), 1, "its own copy stays");
}

#[test]
fn a_store_takes_the_line_from_other_cores() {
    let mut bench = one();
    let read = |bench: &mut Bench| {
        for strand in [0, 8] {
            bench.load(strand, 0x1000);
            bench.load(strand, 0x1010);
            bench.fetch(strand, 0x1000);
            bench.fetch(strand, 0x1020);
        }
    };
    read(&mut bench);
    bench.store(7, 0x1000);
    read(&mut bench);
    let misses = [E::DataCacheMisses, E::InstructionCacheMisses];
    assert_eq!(bench.counts(0, misses), [2, 3], "strand 7 is on its core");
    assert_eq!(bench.counts(8, misses), [3, 3]);
    assert_eq!(bench.dram(DramEvent::Reads), 1);
}

#[test]
fn a_modify_loads_and_stores() {
    let mut bench = one();
    bench.sized(0, Kind::Modify, 0x1000, 8);
    let events = [E::DataCacheMisses, E::CrossbarLoads, E::CrossbarStores, E::L2LoadMisses];
    assert_eq!(bench.counts(0, events), [1, 1, 1, 0], "L2 misses of atomics do not count");
    assert_eq!(bench.dram(DramEvent::Reads), 1);
}

#[test]
fn an_l2_set_has_sixteen_ways_and_writes_back() {
    let mut bench = one();
    // The addresses are 256 KB apart, so they share a set.
    bench.store(0, 0);
    bench.load(0, 0x40_0000 * 4);
    for n in 1..16 {
        bench.load(0, n * 0x4_0000);
    }
    assert_eq!(bench.dram(DramEvent::Reads), 17);
    assert_eq!(bench.dram(DramEvent::Writes), 1, "address 0 was dirty");
    assert_eq!(bench.dram(DramEvent::WriteQueueLatency), 14);
    bench.load(0, 16 * 0x4_0000);
    assert_eq!(bench.dram(DramEvent::Writes), 1, "the next oldest was clean");
    assert_eq!(bench.dram(DramEvent::ReadWrites), 18 + 1);
    bench.load(0, 0);
    assert_eq!(bench.dram(DramEvent::WriteBackBufferHits), 1);
    assert_eq!(bench.dram(DramEvent::Reads), 19, "held back, and then read");
    assert_eq!(bench.strand(0, E::L2LoadMisses), 16 + 1 + 1);
}

#[test]
fn the_l2_replaces_the_line_used_least_recently() {
    let mut bench = one();
    for n in 0..16 {
        bench.load(0, n * 0x4_0000);
    }
    bench.load(8, 0);
    bench.store(8, 0x4_0000);
    bench.load(8, 16 * 0x4_0000);
    bench.load(8, 17 * 0x4_0000);
    for (n, misses) in [(0, 0), (1, 0), (4, 0), (2, 1), (3, 2)] {
        bench.load(16, n * 0x4_0000);
        assert_eq!(bench.strand(16, E::L2LoadMisses), misses, "{n}");
    }
}

#[test]
fn what_the_l2_loses_the_core_loses() {
    let mut bench = one();
    bench.load(0, 0);
    bench.fetch(0, 0x20);
    for n in 1..17 {
        // Strand 8, on core 1, loads 16 lines of the L2 set of address 0.
        bench.load(8, n * 0x4_0000);
    }
    bench.load(0, 0);
    bench.fetch(0, 0x20);
    assert_eq!(bench.counts(0, [E::DataCacheMisses, E::InstructionCacheMisses]), [2, 2]);
    assert_eq!(bench.counts(0, [E::L2LoadMisses, E::L2InstructionMisses]), [2, 0]);
}

#[test]
fn banks_share_the_channels() {
    let whole = Machine::new(Model::Maramba, 1).unwrap();
    let disabled = whole.without_channel(Node::Node0, Mcu::Mcu0);
    for (machine, expected) in [(whole, [4, 4]), (disabled, [0, 8])] {
        let mut bench = Bench::with(machine);
        (0..8).for_each(|line| bench.load(0, line * 0x40));
        let reads = |mcu| bench.truth().dram(Node::Node0, mcu, DramEvent::Reads);
        assert_eq!([Mcu::Mcu0, Mcu::Mcu1].map(reads), expected);
    }
}

#[test]
fn one_node_has_no_traffic_between_nodes() {
    let mut bench = Bench::new(Model::Batoka, 1);
    for n in 0..40 {
        bench.store(0, n * 0x4_0000);
        bench.load(9, n * 0x4_0000);
    }
    assert_eq!(bench.lpu(), []);
    assert_eq!(bench.asu(AsuEvent::PacketsIn), 0);
    let cycles = bench.devices.now();
    let clock = |hub| bench.truth().lpu(hub, Node::Node3, LpuEvent::Clock);
    assert_eq!(clock(Hub::Zam2), cycles);
    bench.devices.advance(1000);
    bench.load(0, 0x10_0000_0000);
    let load = 1 + 2 + 23 + 7 + 120;
    assert_eq!(bench.devices.now(), cycles + 1000 + load);
    assert_eq!(
        bench.truth().asu(Hub::Zam0, AsuEvent::Clock),
        cycles + load,
        "the hubs count the cycles of references"
    );
}

#[test]
#[should_panic(expected = "this machine has no strand 64")]
fn a_strand_of_another_machine() {
    one().load(64, 0);
}

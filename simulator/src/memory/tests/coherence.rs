//! Tests traffic between nodes against expected values computed by hand. Strands 0, 64, 128 and 192 are on nodes 0 to 3.

use super::*;
use LpuEvent as L;

const MISSES: SparcEvent = SparcEvent::L2LoadMisses;

fn misses(bench: &Bench, strand: usize) -> [u64; 4] {
    use PerfConfig::{All, CacheToCache, Local, Remote};
    [All, Local, Remote, CacheToCache].map(|config| bench.strand_of(strand, MISSES, config))
}

/// An address in line 0x12, which belongs to bank 2, hub 1, home node 2 and channel 0.
const ADDRESS: u64 = 0x480;

#[test]
fn local_and_remote_memory() {
    let mut bench = Bench::new(Model::Batoka, 4);
    bench.load(128, ADDRESS);
    assert_eq!(misses(&bench, 128), [1, 1, 0, 0]);
    // The times of issue, load, L2 cache, serialization, snoop, channel and memory.
    assert_eq!(bench.devices.now(), 1 + 2 + 23 + 2 + 60 + 7 + 120);
    assert_eq!(
        bench.lpu(),
        [
            (1, 0, L::ReadToShareEgress, 1),
            (1, 0, L::Miss, 1),
            (1, 0, L::RepliesReceived, 1),
            (1, 1, L::ReadToShareEgress, 1),
            (1, 1, L::Miss, 1),
            (1, 1, L::RepliesReceived, 1),
            (1, 2, L::ReadOrInvalidate, 1),
            (1, 2, L::NoDataReply, 1),
            (1, 2, L::CacheMiss, 1),
            (1, 2, L::RepliesSent, 1),
            (1, 3, L::ReadToShareEgress, 1),
            (1, 3, L::Miss, 1),
            (1, 3, L::RepliesReceived, 1),
        ]
    );
    let before = bench.devices.now();
    let mut other = Bench::new(Model::Batoka, 4);
    other.load(0, ADDRESS);
    assert_eq!(misses(&other, 0), [1, 0, 1, 0]);
    // The line passes over two links: from node 2 to the hub, and from the hub to node 0.
    assert_eq!(other.devices.now(), before + 60 + 2 * 9);
    // In node 0's link port events, port Y stands for node 2.
    let lpu = |event| other.truth().lpu(Hub::Zam1, Node::Node0, event);
    assert_eq!([L::MemoryY, L::NoDataReply].map(lpu), [1, 0]);
    let reads = other.truth().dram(Node::Node2, Mcu::Mcu0, DramEvent::Reads);
    assert_eq!((reads, other.dram(DramEvent::Reads)), (1, 1));
    assert_eq!([AsuEvent::PacketsIn, AsuEvent::PacketsOut].map(|event| other.asu(event)), [1, 3]);
}

#[test]
fn a_modified_line_comes_from_its_cache() {
    let mut bench = Bench::new(Model::Batoka, 4);
    bench.store(192, ADDRESS);
    bench.rest();
    let after_store = bench.truth().clone();
    let began = bench.devices.now();
    bench.load(0, ADDRESS);
    assert_eq!(misses(&bench, 0), [1, 0, 0, 1]);
    assert_eq!(bench.devices.now() - began, 1 + 2 + 23 + 2 + 60 + 80 + 2 * 9);
    assert_eq!(bench.dram(DramEvent::Reads), 1, "for the store");
    assert_eq!(bench.dram(DramEvent::Writes), 0);
    bench.system.truth = bench.truth().since(&after_store);
    assert_eq!(
        bench.lpu(),
        [
            (1, 0, L::CacheToCacheZ, 1),
            (1, 0, L::ReadOrInvalidate, 1),
            (1, 0, L::CacheHit, 1),
            (1, 0, L::RepliesSent, 1),
            (1, 1, L::ReadToShareEgress, 1),
            (1, 1, L::Miss, 1),
            (1, 1, L::RepliesReceived, 1),
            (1, 2, L::ReadToShareEgress, 1),
            (1, 2, L::Miss, 1),
            (1, 2, L::RepliesReceived, 1),
            (1, 3, L::ReadToShareEgress, 1),
            (1, 3, L::HitModified, 1),
            (1, 3, L::RepliesReceived, 1),
        ]
    );
}

#[test]
fn an_owned_line_is_served_again_and_lost_to_a_store() {
    let mut bench = Bench::new(Model::Batoka, 4);
    let hub = Hub::Zam1;
    bench.store(192, ADDRESS);
    bench.load(0, ADDRESS);
    bench.load(64, ADDRESS);
    let lpu = |bench: &Bench, node, event| bench.truth().lpu(hub, node, event);
    let found =
        [(Node::Node3, L::HitModified), (Node::Node3, L::HitOwned), (Node::Node0, L::HitShared)];
    assert_eq!(found.map(|(node, event)| lpu(&bench, node, event)), [1, 1, 1]);
    assert_eq!(misses(&bench, 64), [1, 0, 0, 1]);

    // Node 0 holds the line as shared, so it needs no data. The other nodes lose the line.
    bench.store(0, ADDRESS);
    assert_eq!(lpu(&bench, Node::Node0, L::NoDataReply), 1);
    for node in [Node::Node1, Node::Node2, Node::Node3] {
        assert_eq!(lpu(&bench, node, L::InvalidateEgress), 1);
    }
    assert_eq!(lpu(&bench, Node::Node3, L::HitOwned), 2);
    bench.load(64, ADDRESS);
    // The L1 copy is lost with the L2 line.
    assert_eq!(bench.strand(64, SparcEvent::DataCacheMisses), 2);
    assert_eq!(misses(&bench, 64), [2, 0, 0, 2]);
    let served = [L::CacheToCacheX, L::CacheToCacheZ].map(|event| lpu(&bench, Node::Node1, event));
    assert_eq!(served, [1, 1]);

    // The owner's second store sends another request, and its third store sends none.
    bench.store(0, ADDRESS);
    bench.store(0, ADDRESS);
    assert_eq!(lpu(&bench, Node::Node0, L::NoDataReply), 2);
    assert_eq!(bench.dram(DramEvent::Reads), 1);
}

#[test]
fn clean_copies_do_not_serve() {
    let mut bench = Bench::new(Model::Batoka, 4);
    bench.load(128, ADDRESS);
    bench.load(0, ADDRESS);
    assert_eq!(misses(&bench, 0), [1, 0, 1, 0]);
    assert_eq!(bench.truth().lpu(Hub::Zam1, Node::Node2, L::HitShared), 1);
    assert_eq!(bench.dram(DramEvent::Reads), 2);
    let packets = bench.asu(AsuEvent::PacketsIn);
    bench.store(128, ADDRESS);
    assert_eq!(bench.asu(AsuEvent::PacketsIn), packets + 1, "no longer exclusive");
    assert_eq!(bench.truth().lpu(Hub::Zam1, Node::Node0, L::HitShared), 1);
}

#[test]
fn an_exclusive_line_is_written_without_asking() {
    let mut bench = Bench::new(Model::Batoka, 4);
    bench.load(0, ADDRESS);
    bench.store(0, ADDRESS);
    assert_eq!(bench.asu(AsuEvent::PacketsIn), 1);
    bench.load(64, ADDRESS);
    assert_eq!(misses(&bench, 64), [1, 0, 0, 1]);
}

#[test]
fn a_store_that_misses_takes_the_line_from_its_owner() {
    let mut bench = Bench::new(Model::Batoka, 4);
    bench.store(0, ADDRESS);
    bench.store(64, ADDRESS);
    let lpu = |node, event| bench.truth().lpu(Hub::Zam1, node, event);
    assert_eq!([L::ReadToOwnEgress, L::HitModified].map(|event| lpu(Node::Node0, event)), [1, 1]);
    assert_eq!([L::ReadToOwnEgress, L::CacheToCacheX].map(|event| lpu(Node::Node1, event)), [1, 1]);
    assert_eq!(lpu(Node::Node3, L::ReadToOwnEgress), 2);
    assert_eq!(misses(&bench, 64), [0; 4], "no event counts stores");
    bench.load(0, ADDRESS);
    assert_eq!(misses(&bench, 0), [1, 0, 0, 1]);
}

#[test]
fn a_line_goes_back_to_the_memory_of_its_home() {
    let mut bench = Bench::new(Model::Batoka, 4);
    for n in 0..17 {
        bench.store(0, ADDRESS + n * 0x4_0000);
    }
    let writes = bench.truth().dram(Node::Node2, Mcu::Mcu0, DramEvent::Writes);
    assert_eq!((writes, bench.dram(DramEvent::Writes)), (1, 1));
    let lpu = |node, event| bench.truth().lpu(Hub::Zam1, node, event);
    assert_eq!([L::WriteBackY, L::WriteBack].map(|event| lpu(Node::Node0, event)), [1, 1]);
    assert_eq!(lpu(Node::Node2, L::WriteBackEgress), 1);
    let packets = [AsuEvent::PacketsIn, AsuEvent::PacketsOut].map(|event| bench.asu(event));
    assert_eq!(packets, [17 + 1, 3 * 17 + 1]);
    let mut local = Bench::new(Model::Batoka, 4);
    for n in 0..17 {
        local.store(128, ADDRESS + n * 0x4_0000);
    }
    assert_eq!(local.dram(DramEvent::Writes), 1);
    assert_eq!(local.asu(AsuEvent::PacketsIn), 17);
}

#[test]
fn without_hubs_only_the_counters_of_hubs_differ() {
    let mut bench = Bench::new(Model::Maramba, 2);
    // Node 1 is the home node of address 0x200.
    bench.store(0, 0x200);
    bench.load(64, 0x200);
    bench.load(64, 0x280);
    bench.load(0, 0x300);
    assert_eq!(misses(&bench, 64), [2, 1, 0, 1]);
    assert_eq!(misses(&bench, 0), [1, 0, 1, 0]);
    assert_eq!(bench.lpu(), []);
    assert_eq!(bench.asu(AsuEvent::PacketsIn), 0);
}

#[test]
fn a_port_without_a_node_sees_nothing() {
    let mut bench = Bench::new(Model::Batoka, 2);
    bench.load(0, ADDRESS);
    bench.store(64, ADDRESS);
    assert!(bench.lpu().iter().all(|(hub, port, ..)| *hub == 1 && *port < 2));
    assert_eq!(bench.asu(AsuEvent::PacketsOut), 2);
}

//! Tests the home nodes of pages that an operating system places. Strands 0, 64, 128 and 192 are on nodes 0 to 3.

use platform::Interleave;

use super::*;

/// Returns the memory system of a Batoka with `nodes` nodes.
fn bench(nodes: usize, pages: &str) -> Bench<Figures> {
    placed(Machine::new(Model::Batoka, nodes).unwrap(), pages)
}

fn placed(machine: Machine, pages: &str) -> Bench<Figures> {
    Bench::configured(machine, &Config { pages: pages.parse().unwrap(), ..Config::T2_PLUS })
}

impl Bench<Figures> {
    /// Returns how many lines each node's memory has read and written.
    fn lines(&self) -> [(u64, u64); 4] {
        std::array::from_fn(|node| {
            let node = Node::ALL[node];
            let sum = |event| Mcu::ALL.iter().map(|mcu| self.truth().dram(node, *mcu, event)).sum();
            (sum(DramEvent::Reads), sum(DramEvent::Writes))
        })
    }

    fn reads(&self) -> [u64; 4] {
        self.lines().map(|(reads, _)| reads)
    }
}

/// An 8 KB page is on the node that is the first to load, store or fetch something in it. A later reference by another node does
/// not move the page, and a line is written back to the page's node.
#[test]
fn the_first_touch_decides() {
    let mut bench = bench(4, "first-touch");
    bench.load(64, 0x1ff8);
    bench.store(128, 0x2000);
    bench.fetch(192, 0x4000);
    assert_eq!(bench.reads(), [0, 1, 1, 1]);
    // Node 0 loads other lines of the three pages.
    for address in [0x0, 0x3fc0, 0x5fc0] {
        bench.load(0, address);
    }
    assert_eq!(bench.reads(), [0, 2, 2, 2]);
    // An L2 set has 16 ways, and the lines of a set are 256 KB apart.
    bench.store(0, 0x40);
    for way in 1..=16 {
        bench.load(0, 0x40 + way * 0x4_0000);
    }
    assert_eq!(bench.lines(), [(16, 0), (3, 1), (2, 0), (2, 0)]);
}

/// Two programs use the same addresses. Their memory is separate, so each program is the first to touch its own pages.
#[test]
fn programs_have_their_own_pages() {
    let mut bench = bench(2, "first-touch");
    let load = |address| [Reference::new(address, 8, Kind::Load)];
    bench.replay(0, 0, &load(0x1000));
    bench.replay(64, 1 << 33, &load(0x1000));
    bench.replay(64, 0, &load(0x1040));
    bench.replay(0, 1 << 33, &load(0x1040));
    assert_eq!(bench.reads(), [2, 2, 0, 0]);
}

/// Node 0 touches the page first but has no memory, so the page is on node 1.
#[test]
fn a_first_touch_without_memory() {
    let machine = Machine::new(Model::Batoka, 2).unwrap();
    let machine = Mcu::ALL.iter().fold(machine, |one, mcu| one.without_channel(Node::Node0, *mcu));
    let mut bench = placed(machine, "first-touch");
    bench.load(0, 0x2000);
    bench.load(64, 0x2040);
    assert_eq!(bench.reads(), [0, 2, 0, 0]);
}

#[test]
fn all_pages_on_one_node() {
    let mut bench = bench(4, "node:2");
    for line in 0..64 {
        bench.load(line as usize % 4 * 64, line * 0x2040);
    }
    assert_eq!(bench.reads(), [0, 0, 64, 0]);
}

/// The nodes take turns: in address order, each page is on the next node. All lines of a page are on one node, whatever the
/// hardware's interleave.
#[test]
fn pages_in_turns() {
    for way in Interleave::ALL {
        for (nodes, pages, reads) in [
            (4, "interleave:64K", [1024 + 1024, 1024, 1024, 1024]),
            (3, "interleave:64K", [2 * 1024, 2 * 1024, 1024, 0]),
            (2, "interleave:128K", [3 * 1024, 2 * 1024, 0, 0]),
        ] {
            let machine = Machine::new(Model::Batoka, nodes).unwrap().with_interleave(way);
            let mut bench = placed(machine, pages);
            // Five pages of 64 KB are 5 * 1024 lines.
            for line in 0..5 * 1024 {
                bench.load(0, line * 64);
            }
            assert_eq!(bench.reads(), reads, "{nodes}, {pages}");
        }
    }
}

/// Bits 31:30 of the address select the node.
#[test]
fn memory_that_interleaves_by_gigabytes() {
    let machine = Machine::new(Model::Batoka, 4).unwrap();
    let mut bench = placed(machine.with_interleave(Interleave::Gigabyte), "hardware");
    for address in [0, 0x3fff_ffc0, 0x4000_0000, 0x7fff_fe00, 0xc000_0000, 1 << 32, 3 << 30] {
        bench.load(0, address);
    }
    assert_eq!(bench.reads(), [3, 2, 0, 1]);
}

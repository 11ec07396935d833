//! Tests configurations that differ from a T2 Plus.

use proptest::prelude::*;

use super::random::{check_round, setting};
use super::steps::program;
use super::stream::{machine, turns};
use super::*;
use crate::memory::Cache;
use crate::recording::Position;

/// Returns a T2 Plus's configuration, changed by `change`.
fn other(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::T2_PLUS;
    change(&mut config);
    config
}

/// Generates configurations with small caches. An L1 line is as long as an L2 line, half as long, or a quarter as long.
fn config() -> impl Strategy<Value = Config> {
    let cache = |lines: std::ops::RangeInclusive<u32>| (lines, 0..4_u32, 3..9_u32);
    let (code, data, both) = (cache(0..=2), cache(0..=2), (7..=8_u32, 0..=16_u64, 0..5_u32));
    let pages = ["hardware", "first-touch", "node:0", "interleave:8K", "interleave:256K"];
    let rest = (1..=16_u64, 1..100_u64, 0..pages.len());
    (code, data, both, rest).prop_map(move |(code, data, both, (stores, cycles, page))| {
        let line = 1 << both.0;
        let cache = |(shorter, ways, sets): (u32, u32, u32)| Cache {
            bytes: 256 << sets,
            ways: 1 << ways.min(sets),
            line: line >> shorter,
        };
        let ways = both.1.max(1);
        other(|config| {
            (config.l1i, config.l1d) = (cache(code), cache(data));
            config.l2 = Cache { bytes: ways * (256 << both.2), ways, line };
            (config.timing.stores, config.timing.channel_write) = (stores, cycles);
            (config.timing.load, config.timing.l2) = (cycles % 5, cycles);
            config.pages = pages[page].parse().unwrap();
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Both compiled variants of the memory system have the same results.
    #[test]
    fn the_figures_of_a_t2_plus_as_values(machine in machine(), turns in turns()) {
        let mut constants = Bench::with(machine);
        let mut values = Bench::configured(machine, &Config::T2_PLUS);
        constants.run(&turns);
        values.run(&turns);
        prop_assert_eq!(constants.truth(), values.truth());
        prop_assert_eq!(constants.system.usage(), values.system.usage());
        prop_assert_eq!(constants.devices.now(), values.devices.now());
    }

    #[test]
    fn counters_tell_the_truth(config in config(), machine in machine(), setting in setting(), turns in turns()) {
        let mut bench = Bench::configured(machine, &config);
        check_round(&mut bench, &setting, &turns);
    }

    /// Two strands of a core take turns to execute a program. The results are the same whether the memory system executes a block
    /// step by step (a step can cover several references) or reference by reference.
    #[test]
    fn steps_are_what_the_references_are(
        config in config(),
        (shapes, executions) in program(),
        cycles in prop::collection::vec(0..3000_u64, 1..40),
    ) {
        let run = |chunk: &Chunk| {
            let mut bench = Bench::configured(Machine::new(Model::Batoka, 1).unwrap(), &config);
            let (mut places, mut now) = ([Position::default(); 2], 0);
            for (turn, cycles) in cycles.iter().cycle().take(100).enumerate() {
                let at = &mut places[turn % 2];
                if at.passed() < chunk.len() {
                    let executed = bench.part(turn % 2, (chunk, at), now, now + cycles, usize::MAX);
                    now = executed.ends.max(executed.issued).max(now);
                }
            }
            bench.system.work(&bench.devices).finish(now).unwrap();
            (now, places.map(|place| place.passed()), bench.truth().clone())
        };
        let by_steps = run(&Chunk::executing(&shapes, &executions));
        prop_assert_eq!(by_steps, run(&Chunk::executing(&shapes, &executions).without_steps()));
    }
}

/// Returns how many loads miss the data cache, and how many miss the L2 cache.
fn misses(config: &Config, addresses: impl IntoIterator<Item = u64>) -> [u64; 2] {
    let mut bench = Bench::configured(Machine::new(Model::Maramba, 1).unwrap(), config);
    addresses.into_iter().for_each(|address| bench.load(0, address));
    [SparcEvent::DataCacheMisses, SparcEvent::L2LoadMisses].map(|event| bench.strand(0, event))
}

/// Returns the addresses from 0 to `end`, `step` bytes apart, twice in a row.
fn twice(end: u64, step: usize) -> impl Iterator<Item = u64> {
    [0, 0].into_iter().flat_map(move |begin| (begin..end).step_by(step))
}

#[test]
fn longer_lines_bring_their_neighbours() {
    // 4 KB hold 512 items of 8 bytes. All loads of the second pass hit.
    for (data, both, expected) in [
        (16, 64, [256, 64]),
        (64, 64, [64, 64]),
        (64, 128, [64, 32]),
        (64, 256, [64, 16]),
        (256, 256, [16, 16]),
        (32, 32, [128, 128]),
    ] {
        let config = other(|config| {
            (config.l1d.line, config.l2.line) = (data, both);
            config.l1i.line = both.min(64);
        });
        assert_eq!(misses(&config, twice(4096, 8)), expected, "{data}, {both}");
    }
}

#[test]
fn a_cache_has_the_lines_that_fit() {
    // 16 KB hold 1024 lines of 16 bytes. In the second pass, an 8 KB cache misses all of them, and a 16 KB cache misses none.
    assert_eq!(misses(&Config::T2_PLUS, twice(16 << 10, 16)), [2048, 256]);
    let larger = other(|config| config.l1d.bytes = 16 << 10);
    assert_eq!(misses(&larger, twice(16 << 10, 16)), [1024, 256]);
    // An 8 KB L2 cache misses 256 lines of 64 bytes in each of the two passes.
    let smaller = other(|config| (config.l2.bytes, config.l2.ways) = (8 << 10, 4));
    assert_eq!(misses(&smaller, twice(16 << 10, 16)), [2048, 512]);
}

#[test]
fn a_set_has_as_many_lines_as_ways() {
    // Three lines that are 8 KB apart are loaded ten times. They share a set of an 8 KB data cache.
    let thrice = || (0..30).map(|n| n % 3 * 8192);
    for (ways, expected) in [(1, 30), (2, 30), (4, 3), (32, 3)] {
        let config = other(|config| config.l1d.ways = ways);
        assert_eq!(misses(&config, thrice())[0], expected, "{ways}");
    }
    // The lines also share a set of an 8 KB L2 cache. When the L2 cache drops a line, so does the data cache.
    for (ways, expected) in [(1, [30, 30]), (2, [30, 30]), (4, [3, 3])] {
        let config = other(|config| (config.l2.ways, config.l2.bytes) = (ways, 8192));
        assert_eq!(misses(&config, thrice()), expected, "{ways}");
    }
    // Lines 0, 1 and 2 each miss once. Line 0 misses again after line 2 has replaced it.
    let pairs = [0, 1, 0, 1, 2, 1, 0, 1].map(|line| line * 8192);
    let two = other(|config| config.l1d.ways = 2);
    assert_eq!(misses(&two, pairs)[0], 4);
}

/// A store by another core removes a line from the data cache if the line holds the stored bytes.
#[test]
fn a_store_drops_the_lines_of_others() {
    for (line, misses) in [(16, 1), (32, 2), (64, 2)] {
        let config = other(|config| config.l1d.line = line);
        let mut bench = Bench::configured(Machine::new(Model::Maramba, 1).unwrap(), &config);
        bench.load(0, 0x1000);
        bench.store(8, 0x1018);
        bench.load(0, 0x1000);
        assert_eq!(bench.strand(0, SparcEvent::DataCacheMisses), misses, "{line}");
    }
}

/// A load takes 1 + `load` cycles. A data cache miss adds `l2`. An L2 miss adds `channel_read` and `memory`.
#[test]
fn times_add_up() {
    let config = other(|config| {
        config.timing.load = 10;
        config.timing.l2 = 100;
        config.timing.channel_read = 500;
        config.timing.memory = 1000;
    });
    let mut bench = Bench::configured(Machine::new(Model::Maramba, 1).unwrap(), &config);
    let load = || [Reference::new(0x40, 8, Kind::Load)];
    let mut took = || {
        let before = bench.truth().cycles();
        bench.replay(0, 0, &load());
        bench.truth().cycles() - before
    };
    assert_eq!(took(), 1 + 10 + 100 + 500 + 1000);
    assert_eq!(took(), 1 + 10);
}

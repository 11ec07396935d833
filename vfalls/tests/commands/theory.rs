//! Records and replays real programs whose behaviour is known. The counts must be as theory predicts.
//!
//! Some counts include the C library's own work. In these cases, the test compares two runs, the second of which does twice the work. The
//! difference between the runs is the program's work alone.

mod host;
mod locks;

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::program::{ProgramOutput, TestDirectory};
use crate::record::{Compiler, HOST, SPARC};
use crate::stat::json;

/// Compiles a program of `theory/` for this host, or for SPARC V9.
fn compile(place: &TestDirectory, compiler: Compiler, name: &str, flags: &str) {
    let source = format!("{}/tests/commands/theory/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let flags: Vec<_> =
        "-Wall -Wextra -Werror -static".split(' ').chain(flags.split(' ')).collect();
    compiler.compile(place, name, &fs::read_to_string(source).unwrap(), &flags);
}

/// Compiles a program of `theory/` for this host and for SPARC V9, and calls `check` for each of them.
fn on_both(place: &str, name: &str, flags: &str, check: impl Fn(&TestDirectory, Compiler)) {
    let place = TestDirectory::new(place);
    for compiler in [HOST, SPARC] {
        compile(&place, compiler, name, flags);
        check(&place, compiler);
    }
}

/// Records a program into the file `recording`.
fn record(place: &TestDirectory, command: &str) -> ProgramOutput {
    let recorded = place.run(&format!("record --force --output recording -- {command}"));
    assert_eq!(recorded.status, 0, "{command}: {}", recorded.stderr);
    recorded
}

/// Records a program, and returns the JSON of its replay. Thread n is on node n modulo 4. `options` are further options for `stat`.
fn replay(place: &TestDirectory, command: &str, options: &str) -> Value {
    record(place, command);
    json(place, &format!("recording --place spread {options}"))
}

fn total(results: &Value, event: &str) -> i64 {
    let counters = results["counters"].as_array().unwrap().iter();
    let counters = counters.filter(|counter| counter["event"] == event);
    counters.map(|counter| counter["measured"].as_i64().unwrap()).sum()
}

/// Returns how many of each thread's accesses were served by `way`: `l2`, `local`, `remote` or `c2c`.
fn served(results: &Value, way: &str) -> Vec<i64> {
    let threads = results["threads"].as_array().unwrap().iter();
    threads.map(|thread| thread["served"][way].as_i64().unwrap()).collect()
}

/// Two runs of a program. The second run does twice the work. Each count is the difference between the two.
struct Twice {
    once: Value,
    twice: Value,
}

impl Twice {
    fn new(place: &TestDirectory, command: &str, work: u32, events: &str) -> Self {
        Self::with(place, command, work, &format!("--event {events}"))
    }

    /// Replays both runs with these `stat` options.
    fn with(place: &TestDirectory, command: &str, work: u32, options: &str) -> Self {
        let replay = |work: u32| replay(place, &format!("{command} {work}"), options);
        Self { once: replay(work), twice: replay(2 * work) }
    }

    fn total(&self, event: &str) -> i64 {
        total(&self.twice, event) - total(&self.once, event)
    }

    fn served(&self, way: &str) -> Vec<i64> {
        let both = served(&self.twice, way).into_iter().zip(served(&self.once, way));
        both.map(|(twice, once)| twice - once).collect()
    }
}

/// Asserts that a count is as expected. It may differ by a thousandth, and by a few more accesses, because the C library's work differs
/// between runs.
#[track_caller]
fn near(found: i64, expected: i64) {
    let apart = (found - expected).abs();
    assert!(apart <= expected / 1000 + 32, "{found}, expected {expected}");
}

/// A matrix product runs on one strand. Its misses must be those that cachegrind finds for the same instructions and addresses, with caches
/// of the same geometry. Cachegrind allocates a line on a store, and the machine does not. The program therefore stores only to elements
/// that it has just read.
///
/// On a processor with AVX, cachegrind refuses 16-byte lines, because an AVX register is longer. Cachegrind therefore runs on an emulated
/// processor without AVX.
#[test]
#[cfg(target_arch = "x86_64")]
#[ignore = "needs qemu-user and valgrind"]
fn a_matrix_product_misses_as_cachegrind_says() {
    let place = TestDirectory::new("theory-matrix");
    compile(&place, HOST, "matrix", "-O1 -nostdlib -no-pie -fno-pie -fno-stack-protector");
    let all = [
        [("Instr_cnt", "Ir"), ("IC_miss", "I1mr")],
        [("CPU_ld_to_PCX", "D1mr"), ("DC_miss", "D1mr")],
        [("CPU_st_to_PCX", "Dw"), ("L2_dmiss_ld", "DLmr")],
    ];
    let some = [[("DC_miss", "D1mr"), ("L2_dmiss_ld", "DLmr")]];
    // Each string describes a cache: its size in bytes, its ways, and its line size in bytes. The first row has the caches of a T2 Plus.
    for ([l1i, l1d, l2], pairs) in [
        (["16384,8,32", "8192,4,16", "4194304,16,64"], &all[..]),
        (["4096,2,64", "32768,8,32", "1048576,8,64"], &some),
    ] {
        let theory = cachegrind(&place, [l1i, l1d, l2]);
        let tables = [("l1i", l1i), ("l1d", l1d), ("l2", l2)].map(|(name, cache)| {
            let [bytes, ways, line] = cache.split(',').collect::<Vec<_>>()[..] else {
                panic!("{cache}");
            };
            format!("[{name}]\nbytes = {bytes}\nways = {ways}\nline = {line}\n")
        });
        place.file("config.toml", tables.concat());
        for &[(event, of_event), (other, of_other)] in pairs {
            let options = format!("--config config.toml --event pic:{event},pic:{other}");
            let results = replay(&place, "./matrix", &options);
            let found = [event, other].map(|event| total(&results, event));
            let expected = [theory[of_event], theory[of_other]];
            assert_eq!(found, expected, "{event}, {other}: {l1d}, {l2}");
        }
        // The product has 96 * 96 * 96 multiplications, so a thousandth of the count is more than the few accesses by which it may differ.
        assert!(theory["D1mr"] > 50_000, "{}", theory["D1mr"]);
    }
}

/// Returns cachegrind's counts for the program `matrix`. The array describes the instruction cache, the data cache and the last-level
/// cache.
#[cfg(target_arch = "x86_64")]
fn cachegrind(place: &TestDirectory, [l1i, l1d, l2]: [&str; 3]) -> HashMap<String, i64> {
    let mut qemu = Command::new("qemu-x86_64");
    qemu.env("VALGRIND_LAUNCHER", "/usr/bin/valgrind");
    let cachegrind =
        "/usr/libexec/valgrind/cachegrind-amd64-linux --cache-sim=yes --cachegrind-out-file=counts";
    let caches = format!("--I1={l1i} --D1={l1d} --LL={l2}");
    let ended = (**place).run(qemu, &format!("-cpu Nehalem {cachegrind} {caches} ./matrix"));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let counts = fs::read_to_string(place.at("counts")).unwrap();
    let of = |head: &str| -> Vec<&str> {
        let line = counts.lines().find_map(|line| line.strip_prefix(head));
        line.unwrap().split_whitespace().collect()
    };
    let names = of("events: ").into_iter().map(str::to_owned);
    let summary = of("summary: ");
    names.zip(summary.iter().map(|count| count.parse().unwrap())).collect()
}

/// Threads on four nodes count one after another. If their counters share cache lines, each thread finds every line in the cache of the
/// previous thread's node, and invalidates it there. If each counter has its own line, no line moves.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn counters_in_one_line_and_in_lines_of_their_own() {
    const LINES: u32 = 2000;
    const TURNS: usize = 16;
    on_both("theory-turns", "turns", "-O2", |place, compiler| {
        let events = "lpu:cycles_cache_hit,lpu:cycles_INV_egress";
        let one = Twice::new(place, "./turns one", LINES, events);
        let lines = i64::from(LINES);
        let transfers = one.served("c2c");
        assert_eq!(transfers.len(), TURNS, "{compiler:?}");
        near(transfers[0], 0);
        for &of_thread in &transfers[1..] {
            near(of_thread, lines);
        }
        near(one.total("cycles_cache_hit"), 15 * lines);
        // Each invalidation is sent to the three other nodes.
        near(one.total("cycles_INV_egress"), 3 * 15 * lines);

        let own = Twice::new(place, "./turns own", LINES, events);
        near(own.served("c2c").iter().sum(), 0);
        near(own.total("cycles_cache_hit"), 0);
        near(own.total("cycles_INV_egress"), 0);
        // The first four threads read the lines from memory. Each thread has a quarter of the lines in its own node's memory.
        let (local, remote) = (own.served("local"), own.served("remote"));
        for thread in 0..4 {
            near(local[thread], lines / 4);
            near(remote[thread], 3 * lines / 4);
        }
        near(local[4..].iter().chain(&remote[4..]).sum(), 0);
    });
}

/// Threads on four nodes read a buffer on node 0. Each node reads each line once. Node 0 reads from
/// its own memory, and the other nodes read from remote memory.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_buffer_on_one_node_is_remote_to_the_others() {
    const PIECES: u32 = 512;
    let lines = i64::from(PIECES) * 512 / 64;
    on_both("theory-remote", "remote", "-O2", |place, compiler| {
        let more = Twice::new(place, "./remote", PIECES, "dram:mem_reads");
        let (local, remote) = (more.served("local"), more.served("remote"));
        assert_eq!(local.len(), 4, "{compiler:?}");
        near(local[0], lines);
        near(remote[0], 0);
        for thread in 1..4 {
            near(local[thread], 0);
            near(remote[thread], lines);
        }
        near(more.served("c2c").iter().sum(), 0);
        near(more.total("mem_reads"), 4 * lines);
    });
}

/// A program's main thread initialises memory that threads on other nodes read. If the first touch places pages, all pages are on node 0,
/// and the other threads' loads are remote. In the repaired program, each thread initialises its own part, so the loads are local. Each
/// part begins 1 MB after the previous one. The test counts only accesses to the second half megabyte of each part, because only the second
/// run, which does twice the work, uses that half.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn pages_on_the_wrong_node_and_repaired() {
    const PAGES: u32 = 64;
    let lines = i64::from(PAGES) * 8192 / 64;
    on_both("theory-pages", "pages", "-O2", |place, compiler| {
        let counted = |who: &str, memory: &str| {
            let options = format!("--memory {memory} --event dram:mem_reads");
            let more = Twice::with(place, &format!("./pages {who}"), PAGES, &options);
            near(more.served("c2c").iter().sum(), 0);
            [more.served("local"), more.served("remote")]
        };
        // A store to a line that is in no cache reads the line, so a thread that initialises and reads a part reads each of its lines
        // twice. The main thread initialises four parts and reads one of them, which makes five reads.
        for (who, memory, local, remote) in [
            ("main", "first-touch", [5, 0, 0, 0], [0, 1, 1, 1]),
            ("own", "first-touch", [2, 2, 2, 2], [0, 0, 0, 0]),
            ("own", "node:2", [0, 0, 2, 0], [2, 2, 0, 2]),
            // Part n is on node n.
            ("own", "interleave:1M", [2, 2, 2, 2], [0, 0, 0, 0]),
            // The second half megabyte of part n is on node 1 if n is even, and on node 3 if n is odd.
            ("own", "interleave:512K", [0, 0, 0, 2], [2, 2, 2, 0]),
        ] {
            let found = counted(who, memory);
            let expected = [local, remote].map(|times| times.map(|times| times * lines).to_vec());
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                let apart = (found - expected).abs();
                assert!(
                    apart <= lines / 50,
                    "{compiler:?}, {who}, {memory}: {found}, expected {expected}"
                );
            }
        }
        // If pages are not placed, each thread has a quarter of its lines on its own node.
        let [local, remote] = counted("own", "hardware");
        for thread in 0..4 {
            near(local[thread], 2 * lines / 4);
            near(remote[thread], 2 * 3 * lines / 4);
        }
    });
}

/// A program reads 8 MB repeatedly. The 4 MB L2 cache never has the next line. Then the program writes 8 MB repeatedly: each line is read
/// before it is written, and is written back.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_stream_larger_than_the_l2_cache_is_read_from_memory() {
    const LINES: i64 = (8 << 20) / 64;
    on_both("theory-stream", "stream", "-O2", |place, _| {
        let events = "dram:mem_reads,dram:mem_writes";
        let read = Twice::new(place, "./stream read", 1, events);
        near(read.total("mem_reads"), LINES);
        near(read.total("mem_writes"), 0);
        let write = Twice::new(place, "./stream write", 1, events);
        near(write.total("mem_reads"), LINES);
        near(write.total("mem_writes"), LINES);
    });
}

//! Records multi-threaded programs.

use std::collections::HashSet;

use simulator::recording::{Cause, Kind, Order};

use super::{Compiler, HOST, Read, SPARC_STATIC, Thread, printed, record};
use crate::program::TestDirectory;

/// A program that starts four threads one after another, and joins them. Each thread stores to its
/// own 500 words.
const FOUR: &str = r#"
#include <pthread.h>
#include <stdio.h>
static volatile long words[4][500];
static void *store(void *own) {
    for (int i = 0; i < 500; i++)
        ((volatile long *)own)[i] = i;
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, store, (void *)words[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    printf("words %p\n", (void *)words);
    return 0;
}
"#;

fn signals(order: &[(usize, Order)]) -> Vec<u64> {
    let signal = |(_, order): &(usize, Order)| match order {
        Order::Signal(number) | Order::Start(number) => Some(*number),
        _ => None,
    };
    order.iter().filter_map(signal).collect()
}

fn waits(order: &[(usize, Order)]) -> Vec<u64> {
    let wait = |(_, order): &(usize, Order)| match order {
        Order::Wait(_, number) => Some(*number),
        _ => None,
    };
    order.iter().filter_map(wait).collect()
}

/// Carries out all orders: each thread continues until it must wait for another thread. Returns `true` if all threads reach their ends.
fn ends(read: &Read) -> bool {
    let mut given = HashSet::new();
    let mut left: Vec<_> = read.threads.iter().map(|thread| &*thread.order).collect();
    loop {
        let before: usize = left.iter().map(|order| order.len()).sum();
        for order in &mut left {
            while let Some(((_, first), rest)) = order.split_first() {
                match first {
                    Order::Signal(number) | Order::Start(number) => {
                        assert!(given.insert(*number), "{number} twice");
                    }
                    Order::Wait(_, number) if !given.contains(number) => break,
                    _ => {}
                }
                *order = rest;
            }
        }
        let after: usize = left.iter().map(|order| order.len()).sum();
        if after == before {
            return after == 0;
        }
    }
}

#[track_caller]
fn four(name: &str, compiler: Compiler) {
    let place = TestDirectory::new(&format!("record-{name}"));
    compiler.compile(&place, "four", FOUR, &[]);
    let ended = record(&place, "-- ./four");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains(" of 5 threads in refs"), "{}", ended.stderr);
    let read = Read::from_place(&place);
    assert_eq!(read.threads.len(), 5);
    let words = printed(&ended, "words");
    let main = &read.threads[0].order;
    for (number, thread) in read.threads[1..].iter().enumerate() {
        let begin = words + 4000 * number as u64;
        let stored = thread.references.iter().filter(|one| one.kind == Kind::Store);
        let stored = stored.filter(|one| (words..words + 16_000).contains(&one.address));
        let stored: Vec<_> = stored.map(|one| one.address).collect();
        assert_eq!(stored, (0..500).map(|at| begin + at * 8).collect::<Vec<_>>());
        // A thread's first order waits for its start, and its last order signals its end.
        let (at, Order::Wait(Cause::Start, start)) = thread.order[0] else {
            panic!("{:?}", thread.order)
        };
        assert!(at == 0 && signals(main).contains(&start), "{main:?}");
        let (at, Order::Signal(end)) = thread.order[thread.order.len() - 1] else {
            panic!("{:?}", thread.order)
        };
        assert!(at == thread.references.len() && waits(main).contains(&end), "{main:?}");
    }
    assert!(ends(&read));
}

#[test]
#[ignore = "needs qemu-user"]
fn threads_begin_and_are_joined() {
    four("threads", HOST);
}

#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn threads_begin_and_are_joined_on_sparc() {
    four("threads-sparc", SPARC_STATIC);
}

/// A program in which two threads take two hundred turns, using only system calls.
const TURNS: &str = r#"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int turn;
static volatile long count;
static void *take(void *own) {
    int me = (long)own;
    for (int i = 0; i < 200; i++) {
        while (turn != me)
            syscall(SYS_futex, &turn, FUTEX_WAIT, 1 - me, 0, 0, 0);
        count++;
        turn = 1 - me;
        syscall(SYS_futex, &turn, FUTEX_WAKE, 1, 0, 0, 0);
    }
    return 0;
}
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, take, (void *)1);
    take((void *)0);
    pthread_join(other, 0);
    return count - 400;
}
"#;

#[test]
#[ignore = "needs qemu-user"]
fn a_wake_comes_before_the_wait_that_it_ends() {
    let place = TestDirectory::new("record-turns");
    HOST.compile(&place, "turns", TURNS, &[]);
    assert_eq!(record(&place, "-- ./turns").status, 0);
    let read = Read::from_place(&place);
    let [first, second] = &*read.threads else { panic!("{} threads", read.threads.len()) };
    // A thread does not wait if its turn has already come, so there may be fewer waits than turns.
    let ended_waits = |waiting: &Thread, waking: &Thread| {
        let signals: HashSet<_> = signals(&waking.order).into_iter().collect();
        let waits = waits(&waiting.order);
        waits.iter().filter(|number| signals.contains(number)).count()
    };
    let found = ended_waits(first, second) + ended_waits(second, first);
    assert!(found >= 10, "{found} waits");
    assert!(ends(&read));
}

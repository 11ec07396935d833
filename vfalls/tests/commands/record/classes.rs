//! Tests what a recording says about instructions: their classes, and which instructions are atomic.

use std::collections::HashMap;

use simulator::recording::{Class, Kind};

use super::{Compiler, HOST, Read, SPARC, record};
use crate::program::TestDirectory;

/// A program in which two threads count in counters that share a cache line. A thread counts with the statement `COUNT`, which changes the
/// memory operand `%0`.
const COUNT: &str = r#"
#include <pthread.h>
static struct { long mine, yours; } counters __attribute__((aligned(64)));
static void *count(void *counter) {
    for (int i = 0; i < 20000; i++)
        __asm__ volatile(COUNT : "+m"(*(long *)counter) : : "rax", "cc");
    return 0;
}
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, count, &counters.yours);
    count(&counters.mine);
    pthread_join(other, 0);
    return counters.mine != 60000 || counters.yours != 60000;
}
"#;

/// Returns the program's simulated cycles. Its threads count with `instructions`.
#[track_caller]
fn cycles(name: &str, instructions: &str) -> f64 {
    let place = TestDirectory::new(&format!("record-count-{name}"));
    HOST.compile(&place, "count", COUNT, &[&format!("-DCOUNT=\"{instructions}\"")]);
    assert_eq!(record(&place, "-- ./count").status, 0);
    place.run("stat refs --json run.json").assert_success();
    place.json("run.json")["cycles"].as_f64().unwrap()
}

/// `addq $3,(mem)` performs the same memory accesses as `mov`, `add` and `mov` together, and takes about as many cycles. Only `lock addq`
/// waits for its store.
#[test]
#[ignore = "needs qemu-user"]
fn an_addition_to_memory_costs_what_its_parts_cost() {
    let plain = cycles("plain", "addq $3,%0");
    let parts = cycles("parts", "movq %0,%%rax; addq $3,%%rax; movq %%rax,%0");
    let atomic = cycles("atomic", "lock addq $3,%0");
    assert!((plain - parts).abs() <= 0.02 * parts, "{plain} is not {parts}");
    assert!(atomic > 1.3 * plain, "{atomic} is not more than {plain}");
}

/// A program with a loop of 1000 iterations. Each iteration executes two multiplications, a division, three floating-point instructions, a
/// move between floating-point registers, and an atomic exchange.
const CLASSES: &str = r#"
static double a = 2, b = 3;
static long lock;
int main(void) {
    for (int i = 0; i < 1000; i++)
        __asm__ volatile(WORK : : "r"(&lock) : CLOBBERS);
    return a == b;
}
"#;

#[track_caller]
fn classes(name: &str, compiler: Compiler, work: &str, clobbers: &str) {
    let place = TestDirectory::new(&format!("record-classes-{name}"));
    let defines = [format!("-DWORK=\"{work}\""), format!("-DCLOBBERS={clobbers}")];
    compiler.compile(&place, "classes", CLASSES, &[&defines[0], &defines[1]]);
    assert_eq!(record(&place, "-- ./classes").status, 0);
    let read = Read::from_place(&place);
    let [thread] = &*read.threads else { panic!("{} threads", read.threads.len()) };
    let mut executed = HashMap::new();
    for one in thread.references.iter().filter(|one| one.kind.is_fetch()) {
        *executed.entry((one.address, one.class)).or_insert(0) += 1;
    }
    // Only the loop's instructions are executed 1000 times.
    let classes = [
        (Class::Multiply, 2),
        (Class::Divide, 1),
        (Class::FloatingPoint, 3),
        (Class::Vector, 1),
        (Class::Atomic, 1),
        (Class::System, 0),
    ];
    for (class, expected) in classes {
        let found = executed.iter().filter(|((_, of), times)| *of == class && **times == 1000);
        assert_eq!(found.count(), expected, "{class:?}");
    }
    // The program makes system calls.
    assert!(executed.keys().any(|(_, class)| *class == Class::System));
    let modified = thread.references.iter().filter(|one| one.kind == Kind::Modify).count();
    let atomics = executed.iter().filter(|((_, class), _)| *class == Class::Atomic);
    assert_eq!(modified, atomics.map(|(_, times)| times).sum::<usize>());
}

#[test]
#[ignore = "needs qemu-user"]
fn instructions_have_classes() {
    let work = "movl $7,%%eax; imul %%rax,%%rax; mull %%eax; xorl %%edx,%%edx; movl $3,%%ecx; divl %%ecx; \
                cvtsi2sd %%rax,%%xmm0; addsd %%xmm0,%%xmm0; mulsd %%xmm0,%%xmm0; movapd %%xmm0,%%xmm1; \
                xchg %%rax,(%0)";
    classes("host", HOST, work, r#""rax","rcx","rdx","xmm0","xmm1","memory","cc""#);
}

#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn instructions_of_sparc_have_classes() {
    let work = "mov 7,%%g1; mulx %%g1,%%g1,%%g1; mulx %%g1,3,%%g1; sdivx %%g1,3,%%g1; fitod %%f0,%%f2; \
                faddd %%f2,%%f2,%%f2; fmuld %%f2,%%f2,%%f4; fmovd %%f4,%%f2; swap [%0],%%g1";
    classes("sparc", SPARC, work, r#""g1","f0","f2","f4","memory""#);
}

//! Records programs that fork, and programs that execute other programs.

use simulator::recording::{Cause, Kind, Order};

use super::{HOST, Read, SPARC, SPARC_STATIC, printed, record};
use crate::program::TestDirectory;

/// A program with four children. Each child stores 1000 times to a word of its own memory, and 10,000 times to a word of shared memory.
const FOUR: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long own;
int main(void) {
    volatile long *shared =
        mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    printf("own %p shared %p\n", (void *)&own, (void *)shared);
    fflush(stdout);
    for (int child = 0; child < 4; child++)
        if (!fork()) {
            for (int i = 0; i < 1000; i++)
                own = i;
            for (int i = 0; i < 10000; i++)
                shared[child] = i;
            _exit(0);
        }
    for (int child = 0; child < 4; child++)
        wait(0);
    return shared[0] == 9999 && own == 0 ? 0 : 1;
}
"#;

/// Returns the orders of a process's first thread.
fn orders(process: &Read) -> Vec<Order> {
    process.threads[0].order.iter().map(|(_, order)| *order).collect()
}

/// Returns the number of times that a process stores to an address.
fn stores(process: &Read, address: u64) -> usize {
    let all = process.threads.iter().flat_map(|thread| &thread.references);
    all.filter(|one| one.kind == Kind::Store && one.address == address).count()
}

#[track_caller]
fn four_children(name: &str, compile: impl Fn(&TestDirectory)) {
    let place = TestDirectory::new(&format!("record-{name}"));
    compile(&place);
    let ended = record(&place, "-- ./four");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains(" of 5 threads in 5 processes in refs ("), "{}", ended.stderr);
    let all = Read::all(&place.path().join("refs"));
    assert_eq!(all.iter().map(|one| one.threads.len()).collect::<Vec<_>>(), [1; 5]);
    assert!(all.iter().all(|one| one.notes.is_empty() && one.recording.missing().is_empty()));
    let (own, shared) = (printed(&ended, "own"), printed(&ended, "shared"));
    assert_eq!(stores(&all[0], own), 0);
    for (child, process) in (0..).zip(&all[1..]) {
        assert_eq!(stores(process, own), 1000);
        assert_eq!(stores(process, shared + 8 * child), 10_000);
        assert_eq!(process.recording.command(), Some("./four"));
        let number = process.recording.process().number;
        assert_eq!(u64::from(number), child + 1);
        assert_eq!(process.recording.process().ends, Some(number));
        // The child begins after its parent's fork, and the parent waits for the child's end.
        let begins = 1 << 59 | u64::from(number) << 1;
        assert_eq!(orders(process).first(), Some(&Order::Wait(Cause::Start, begins)));
        let parent = orders(&all[0]);
        let started = parent.iter().position(|one| *one == Order::Start(begins)).unwrap();
        let waited = Order::Wait(Cause::Thread, begins | 1);
        let waited = parent.iter().position(|one| *one == waited).unwrap();
        assert!(started < waited);
    }
    // The children share the memory that their parent has mapped.
    for process in &all {
        let of = &process.recording.process().shared;
        let of = of.iter().find(|range| (range.start..range.end).contains(&shared)).unwrap();
        assert_eq!(
            (of.start, of.end - of.start, of.owner, of.owner_start),
            (shared, 8192, 0, shared)
        );
    }
}

#[test]
#[ignore = "needs qemu-user"]
fn forked_children() {
    four_children("four", |place| HOST.compile(place, "four", FOUR, &[]));
}

#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn forked_children_on_sparc() {
    four_children("four-sparc", |place| SPARC_STATIC.compile(place, "four", FOUR, &[]));
}

/// The four shared words that the children store are in one cache line. The replay moves this line between the children's nodes. The lines
/// with the children's own words do not move.
#[test]
#[ignore = "needs qemu-user"]
fn shared_memory_is_shared_and_other_memory_is_not() {
    let place = TestDirectory::new("record-shared");
    HOST.compile(&place, "four", FOUR, &[]);
    let ended = record(&place, "-- ./four");
    let (own, shared) = (printed(&ended, "own"), printed(&ended, "shared"));
    let found = place.run("c2c --json c2c.json refs");
    assert_eq!(found.status, 0, "{}", found.stderr);
    let json = place.json("c2c.json");
    let lines = json["lines"].as_array().unwrap();
    let line = |address: u64| {
        let name = format!("{:#x}", address / 64 * 64);
        lines.iter().find(move |line| line["address"] == name.as_str())
    };
    let moved = line(shared).unwrap_or_else(|| panic!("{lines:#?}"));
    assert_eq!(moved["sharing"], "false sharing");
    let writers = moved["users"].as_array().unwrap().iter();
    let writers = writers.filter(|user| user["what"] == "store");
    let mut threads: Vec<_> = writers.map(|user| user["thread"].as_u64().unwrap()).collect();
    threads.dedup();
    assert_eq!(threads, [1, 2, 3, 4]);
    assert_eq!(line(own).map(|line| &line["transfers"]), None);
    // Each child executes 1000 iterations of its loop, and all of them are in the report.
    let stat = place.run("stat --json stat.json refs");
    assert_eq!(stat.status, 0, "{}", stat.stderr);
    let processes = place.json("stat.json")["processes"].clone();
    let commands: Vec<_> =
        processes.as_array().unwrap().iter().map(|one| one["command"].clone()).collect();
    assert_eq!(commands, ["./four"; 5]);
}

/// A shell script starts three programs. The report shows the functions of all of them.
#[test]
#[ignore = "needs qemu-user"]
fn a_script_and_its_programs() {
    let place = TestDirectory::new("record-script");
    for name in ["one", "two", "three"] {
        let source = format!(
            "static volatile long sum; __attribute__((noinline)) void work_of_{name}(void) {{ for (int i = 0; i < 50000; i++) sum++; }} \
             int main(void) {{ work_of_{name}(); return 0; }}"
        );
        HOST.compile(&place, name, &source, &[]);
    }
    place.file("all.sh", "./one\n./two\n./three\n./one\nexit 0\n");
    let ended = record(&place, "-- /bin/sh all.sh");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let all = Read::all(&place.path().join("refs"));
    assert!(all[0].notes.is_empty(), "{:?}", all[0].notes);
    let commands: Vec<_> = all.iter().map(|one| one.recording.command().unwrap()).collect();
    let shell = "/bin/sh all.sh";
    assert_eq!(commands.iter().filter(|command| **command == shell).count(), 5);
    let programs: Vec<_> = commands.into_iter().filter(|command| *command != shell).collect();
    assert_eq!(programs, ["./one", "./two", "./three", "./one"]);

    let report = place.run("report -e instructions refs");
    assert_eq!(report.status, 0, "{}", report.stderr);
    // At -O1, an iteration of the loop has three, four or five instructions.
    for (name, rounds) in [("one", 100_000), ("two", 50_000), ("three", 50_000)] {
        let row = report.stdout.lines().find(|row| row.contains(&format!("work_of_{name}")));
        let row = row.unwrap_or_else(|| panic!("{name}: {}", report.stdout));
        let events: u64 = row.split_whitespace().nth(3).unwrap().parse().unwrap();
        assert!((3 * rounds * 9 / 10..=5 * rounds * 11 / 10).contains(&events), "{row}");
    }
    let annotated = place.run("annotate -e instructions work_of_two refs");
    assert_eq!(annotated.status, 0, "{}", annotated.stderr);
    assert!(annotated.stdout.contains("work_of_two"), "{}", annotated.stdout);
}

/// A SPARC program with shared libraries becomes another program. The recording then has two processes.
#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_program_that_becomes_another_one() {
    let place = TestDirectory::new("record-becomes");
    let source = r#"#include <unistd.h>
        int main(int count, char **words) {
            if (count == 1)
                execl("./again", "again", "two words", (char *)0);
            return count;
        }"#;
    SPARC.compile(&place, "again", source, &[]);
    let ended = record(&place, "-- ./again");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let all = Read::all(&place.path().join("refs"));
    assert_eq!(all[0].notes, ["./again exited with status 2"]);
    let ends: Vec<_> = all.iter().map(|one| one.recording.process().ends).collect();
    assert_eq!(ends, [None, Some(0)]);
    assert_eq!(all[1].recording.command(), Some("./again 'two words'"));
    assert_eq!(place.run("stat refs").status, 0);
}

/// A server that forks for each of its twenty clients.
const SERVER: &str = r#"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long served;
__attribute__((noinline)) static void serve(void) {
    for (int i = 0; i < 1000; i++)
        served = i;
}
int main(void) {
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof at;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (void *)&at, length) || listen(server, 20))
        return 1;
    getsockname(server, (void *)&at, &length);
    printf("served %p\n", (void *)&served);
    fflush(stdout);
    for (int client = 0; client < 20; client++) {
        if (!fork()) {
            char answer = 0;
            int one = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(one, (void *)&at, sizeof at) || read(one, &answer, 1) != 1)
                _exit(1);
            _exit(answer != 'x');
        }
        int client_socket = accept(server, 0, 0);
        if (!fork()) {
            serve();
            _exit(write(client_socket, "x", 1) != 1);
        }
        close(client_socket);
    }
    int status, wrong = 0;
    while (wait(&status) > 0)
        wrong |= status;
    return wrong;
}
"#;

#[test]
#[ignore = "needs qemu-user"]
fn a_server_that_forks_for_each_client() {
    let place = TestDirectory::new("record-server");
    HOST.compile(&place, "server", SERVER, &[]);
    let ended = record(&place, "-- ./server");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let all = Read::all(&place.path().join("refs"));
    assert_eq!(all.len(), 41);
    assert!(all[0].notes.is_empty(), "{:?}", all[0].notes);
    let served = printed(&ended, "served");
    let stores: Vec<_> = all.iter().map(|process| stores(process, served)).collect();
    assert_eq!(stores.iter().filter(|stores| **stores == 1000).count(), 20);
    assert_eq!(stores.iter().sum::<usize>(), 20_000);
    let stat = place.run("stat refs");
    assert_eq!(stat.status, 0, "{}", stat.stderr);
    let line = "recording: refs (./server), and 40 processes that it started\n";
    assert!(stat.stdout.starts_with(line), "{}", stat.stdout);
}

/// A process that closes all its descriptors, and forks while other threads execute and make system calls.
const BUSY: &str = r#"
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int stop;
static void *turn(void *of) {
    while (!stop)
        syscall(SYS_getppid);
    return of;
}
int main(void) {
    for (int number = 0; number < 1024; number++)
        close(number);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, turn, 0);
    int status, wrong = 0;
    for (int i = 0; i < 50; i++) {
        if (!fork())
            _exit(0);
        wait(&status);
        wrong |= status;
    }
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return wrong;
}
"#;

#[test]
#[ignore = "needs qemu-user"]
fn a_process_with_busy_threads_forks() {
    let place = TestDirectory::new("record-busy");
    HOST.compile(&place, "busy", BUSY, &[]);
    let ended = record(&place, "-- ./busy");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let all = Read::all(&place.path().join("refs"));
    assert_eq!(all.iter().map(|one| one.threads.len()).sum::<usize>(), 54);
    assert!(all[0].notes.is_empty(), "{:?}", all[0].notes);
    assert_eq!(place.run("stat refs").status, 0);
}

/// A process that outlives the program is recorded to its end.
#[test]
#[ignore = "needs qemu-user"]
fn a_process_that_outlives_the_program() {
    let place = TestDirectory::new("record-outlives");
    let source = r#"#include <unistd.h>
        static volatile long late;
        int main(void) {
            if (!fork()) {
                usleep(300000);
                for (int i = 0; i < 1000; i++)
                    late = i;
            }
            return 0;
        }"#;
    HOST.compile(&place, "outlives", source, &[]);
    let ended = record(&place, "-- ./outlives");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let all = Read::all(&place.path().join("refs"));
    assert_eq!(all.len(), 2);
    assert!(all[1].references() > 3000, "{}", all[1].references());
}

/// A signal ends a child. Its parent waits for it and then continues.
#[test]
#[ignore = "needs qemu-user"]
fn a_child_that_a_signal_ends_is_named() {
    let place = TestDirectory::new("record-killed-child");
    let source = r#"#include <signal.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(void) {
            int child = fork();
            if (!child) {
                // The recorder writes from time to time, at a system call.
                for (int i = 0; i < 1000; i++)
                    usleep(1000);
            }
            usleep(300000);
            kill(child, SIGKILL);
            return waitpid(child, 0, 0) != child;
        }"#;
    HOST.compile(&place, "killed", source, &[]);
    let ended = record(&place, "-- ./killed");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let all = Read::all(&place.path().join("refs"));
    let said = "./killed, which ./killed started, was ended by a signal: its last references may be missing";
    assert_eq!(all[0].recording.missing(), [said]);
    let stat = place.run("stat refs");
    assert!(stat.stdout.contains(&format!("\nNot covered: {said}.\n")), "{}", stat.stdout);
    assert_eq!(all[1].recording.process().ends, Some(1));
    for command in ["report", "c2c"] {
        let ended = place.run(&format!("{command} refs"));
        assert!(ended.stdout.contains(&format!("# Not covered: {said}.\n")), "{}", ended.stdout);
    }
}

/// A program in which two processes take a lock in shared memory. Each process takes the lock four times, and holds it for 100,000
/// iterations each time.
const LOCKED: &str = r#"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long own;
__attribute__((noinline)) static void work(pthread_mutex_t *lock) {
    for (int turn = 0; turn < 4; turn++) {
        pthread_mutex_lock(lock);
        for (int i = 0; i < 100000; i++)
            own = i;
        pthread_mutex_unlock(lock);
    }
}
int main(void) {
    pthread_mutex_t *lock =
        mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(lock, &shared);
    if (!fork()) {
        work(lock);
        _exit(0);
    }
    work(lock);
    wait(0);
    return 0;
}
"#;

/// While one process holds the lock, the other waits. Without the lock, the two would work at the same time, and the run would take half as
/// long.
#[test]
#[ignore = "needs qemu-user"]
fn a_lock_of_two_processes() {
    let place = TestDirectory::new("record-locked");
    HOST.compile(&place, "locked", LOCKED, &[]);
    let ended = record(&place, "-- ./locked");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let stat = place.run("stat --json stat.json refs");
    assert_eq!(stat.status, 0, "{}", stat.stderr);
    let run = place.json("stat.json");
    let threads = run["threads"].as_array().unwrap();
    let state = |thread: usize, state: &str| threads[thread]["states"][state].as_u64().unwrap();
    let cycles = run["cycles"].as_u64().unwrap();
    let work: u64 = (0..2).map(|thread| state(thread, "running")).sum();
    assert!(cycles * 105 / 100 > work, "{cycles} cycles, {work} of work");
    let waited: u64 = (0..2).map(|thread| state(thread, "lock")).sum();
    assert!(waited > cycles / 2, "{waited} of {cycles} cycles wait for the lock: {threads:#?}");
}

/// The first process maps the start of a file. The second maps the whole file: it shares the start with the first, and the rest is its own.
#[test]
#[ignore = "needs qemu-user"]
fn a_file_that_processes_map_in_different_lengths() {
    let place = TestDirectory::new("record-mapped");
    let source = r#"#include <fcntl.h>
        #include <stdio.h>
        #include <sys/mman.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static char *map(int file, int length) {
            char *at = mmap(0, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            return at;
        }
        int main(void) {
            int file = open("data", O_RDWR | O_CREAT, 0600);
            if (ftruncate(file, 65536))
                return 1;
            char *first = map(file, 4096);
            if (!fork()) {
                char *whole = map(file, 65536);
                printf("first %p whole %p\n", (void *)first, (void *)whole);
                fflush(stdout);
                whole[5000] = 1;
                _exit(0);
            }
            wait(0);
            return first[0];
        }"#;
    HOST.compile(&place, "mapped", source, &[]);
    let ended = record(&place, "-- ./mapped");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let (first, whole) = (printed(&ended, "first"), printed(&ended, "whole"));
    let all = Read::all(&place.path().join("refs"));
    let shared = &all[1].recording.process().shared;
    let range = |start: u64| shared.iter().find(|range| range.start == start).copied();
    let found = [whole, whole + 4096].map(|start| {
        let range = range(start).unwrap_or_else(|| panic!("{shared:x?}"));
        (range.end - range.start, range.owner, range.owner_start)
    });
    assert_eq!(found, [(4096, 0, first), (61440, 1, whole + 4096)]);
}

//! Records single-threaded programs.

use std::collections::HashMap;

use object::Object;
use simulator::recording::{Flow, Kind};

use super::{Compiler, HOST, Read, SPARC, SPARC_STATIC, printed, record};
use crate::program::TestDirectory;

/// A program that calls a function ten times. The function copies a thousand words.
const COPY: &str = r#"
#include <stdio.h>
static volatile long from[1000], to[1000];
static __attribute__((noinline)) void copy(void) {
    for (int i = 0; i < 1000; i++)
        to[i] = from[i];
}
int main(void) {
    for (int i = 0; i < 10; i++)
        copy();
    printf("from %p to %p copy %p\n", (void *)from, (void *)to, (void *)copy);
    return 0;
}
"#;

#[track_caller]
fn counts(name: &str, compiler: Compiler, flags: &[&str]) {
    let place = TestDirectory::new(&format!("record-{name}"));
    compiler.compile(&place, "copy", COPY, flags);
    let ended = record(&place, "-- ./copy");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let read = Read::from_place(&place);
    assert_eq!(read.notes, [""; 0]);
    assert_eq!(read.recording.command(), Some("./copy"));
    let [thread] = &*read.threads else { panic!("{} threads", read.threads.len()) };
    let fetches = thread.references.iter().filter(|one| one.kind.is_fetch()).count();
    let (all, data) = (thread.references.len(), thread.references.len() - fetches);
    let said = format!(
        "recorded {all} references ({fetches} instructions, {data} data) of 1 thread in refs ("
    );
    let line = ended.stderr.lines().last().unwrap().replace(',', "");
    assert!(line.starts_with(&said.replace(',', "")), "{line}; {said}");

    // Each call loads and stores each word once. The words have eight bytes, and are used in order.
    for (word, kind) in [("from", Kind::Load), ("to", Kind::Store)] {
        let begin = printed(&ended, word);
        let array = begin..begin + 8000;
        let found =
            thread.references.iter().filter(|one| one.kind == kind && array.contains(&one.address));
        let found: Vec<_> = found.map(|one| (one.address - begin, one.size)).collect();
        let expected: Vec<_> = (0..10_000).map(|at| (at % 1000 * 8, 8)).collect();
        assert!(found == expected, "{word}: {} accesses", found.len());
    }

    // The function is called ten times, and returns ten times. In each call, the loop's branch is taken in 999 of 1000 iterations.
    let begin = printed(&ended, "copy");
    let mut flows = HashMap::new();
    for one in thread.references.iter().filter(|one| one.kind.is_fetch()) {
        if (begin..begin + 80).contains(&one.address) {
            *flows.entry((one.address, one.flow)).or_insert(0) += 1;
        }
    }
    let branch = flows.iter().find(|&(&(_, flow), &count)| flow == Flow::Taken && count == 9990);
    let (&(branch, _), _) = branch.unwrap_or_else(|| panic!("{flows:x?}"));
    assert_eq!(flows[&(branch, Flow::NotTaken)], 10);
    let returns = flows.iter().filter(|((_, flow), _)| *flow == Flow::Return);
    assert_eq!(returns.map(|(_, count)| count).collect::<Vec<_>>(), [&10]);
    assert_eq!(flows.get(&(begin, Flow::Next)), Some(&10));
    let calls = thread.references.windows(3).filter(|three| {
        // On SPARC, the delay slot's instruction comes between the call and the function.
        let fetched = three.iter().any(|one| one.kind.is_fetch() && one.address == begin);
        three[0].flow == Flow::Call && fetched
    });
    assert_eq!(calls.count(), 10);
}

#[test]
#[ignore = "needs qemu-user"]
fn a_known_loop() {
    counts("loop", HOST, &[]);
}

#[test]
#[ignore = "needs qemu-user"]
fn a_known_loop_of_a_stripped_program() {
    counts("stripped", HOST, &["-s", "-no-pie"]);
}

#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_known_loop_on_sparc() {
    counts("sparc-static", SPARC_STATIC, &[]);
}

#[test]
#[ignore = "needs qemu-user and a compiler for SPARC"]
fn a_known_loop_on_sparc_with_shared_libraries() {
    counts("sparc", SPARC, &[]);
}

#[test]
#[ignore = "needs qemu-user"]
fn shared_libraries_are_named_with_their_build_ids() {
    let place = TestDirectory::new("record-libraries");
    HOST.compile(&place, "libown.so", "int own(void) { return 3; }", &["-shared", "-fPIC"]);
    let main = "int own(void); int main(void) { return own() - 3; }";
    HOST.compile(&place, "main", main, &["-L.", "-lown", "-Wl,-rpath,$ORIGIN"]);
    assert_eq!(record(&place, "-- ./main").status, 0);
    let read = Read::from_place(&place);
    for name in ["main", "libown.so"] {
        let path = place.path().join(name).canonicalize().unwrap();
        let path = path.to_str().unwrap();
        let mapping = read.recording.mappings().iter().find(|mapping| mapping.path == path);
        let mapping = mapping.unwrap_or_else(|| panic!("{name}: {:?}", read.recording.mappings()));
        let data = std::fs::read(path).unwrap();
        let file = object::File::parse(&*data).unwrap();
        assert_eq!(Some(&*mapping.build_id), file.build_id().unwrap());
        let executed = read.threads[0].references.iter().any(|one| {
            let mut of_file =
                read.recording.mappings().iter().filter(|mapping| mapping.path == path);
            one.kind.is_fetch() && of_file.any(|part| (part.start..part.end).contains(&one.address))
        });
        assert!(executed, "{name}");
    }
    // None of the files in the recording belongs to the emulator.
    let mut paths = read.recording.mappings().iter().map(|mapping| &mapping.path);
    assert!(!paths.any(|path| path.contains("qemu") || path.contains("recorder")));
}

#[test]
#[ignore = "needs qemu-user"]
fn the_program_gets_its_name_its_arguments_and_its_input() {
    let place = TestDirectory::new("record-arguments");
    let source = r#"#include <stdio.h>
        int main(int count, char **words) { printf("%s|%s|%s|%d\n", words[0], words[1], words[2], getchar()); }"#;
    HOST.compile(&place, "words", source, &[]);
    let ended = record(&place, "-- ./words -o a,b");
    assert_eq!((ended.status, &*ended.stdout), (0, "./words|-o|a,b|-1\n"));
    let ended = place.run("record -o a,b.refs -- ./words --limit 1");
    assert_eq!((ended.status, &*ended.stdout), (0, "./words|--limit|1|-1\n"));
    let read = Read::new(&place.path().join("a,b.refs"));
    assert_eq!(read.recording.command(), Some("./words --limit 1"));
    assert_eq!(place.run("stat refs").status, 0);
}

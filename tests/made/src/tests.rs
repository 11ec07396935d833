//! Tests what the programs load and store, and that the programs are as long as requested.

use std::fs;

use simulator::recording::{Chunk, Kind, Recording};

use super::*;

/// Returns the kinds and addresses of each thread's references.
fn read(file: &Path) -> Vec<Vec<(Kind, u64)>> {
    let mut recording = Recording::open(file).unwrap();
    let threads = 0..recording.threads();
    let mut chunk = Chunk::default();
    let references = |thread| {
        let mut all = Vec::new();
        while recording.next_chunk(thread, &mut chunk).unwrap() {
            all.extend(chunk.references().iter().map(|one| (one.kind, one.address)));
        }
        all
    };
    threads.map(references).collect()
}

#[test]
fn the_same_program_is_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    let made = GeneratedProgram { threads: 3, data: Data::Own, references: 30_000 };
    let files = ["one", "other"].map(|name| {
        let file = directory.path().join(name);
        made.write(&file).unwrap();
        fs::read(file).unwrap()
    });
    assert!(files[0] == files[1]);
}

#[test]
fn threads_have_the_references_that_are_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("made.refs");
    for (threads, data, references) in [
        (1, Data::Own, 20_000),
        (5, Data::Own, 100_000),
        (1, Data::Stream, 20_000),
        (8, Data::Line, 80_000),
        // This program is so long that its last frames are written without being encoded again.
        (1, Data::Own, 3_000_000),
    ] {
        let written = GeneratedProgram { threads, data, references }.write(&file).unwrap();
        let read = read(&file);
        assert_eq!(read.len(), threads as usize);
        assert_eq!(read.iter().map(Vec::len).sum::<usize>() as u64, written);
        assert!((references..references + 1000 * u64::from(threads)).contains(&written));
        for (thread, references) in (0..).zip(&read) {
            let (base, size) = data.range(thread);
            let fetches = references.iter().filter(|(kind, _)| kind.is_fetch()).count();
            let own = |address: &u64| (base..base + size).contains(address);
            let data = references.iter().filter(|(kind, at)| !kind.is_fetch() && own(at));
            let stores = data.clone().filter(|(kind, _)| *kind == Kind::Store).count();
            let [accesses, stores] =
                [data.count(), stores].map(|part| part as f64 / fetches as f64);
            assert!((0.3..0.37).contains(&accesses), "{accesses}");
            assert!((0.09..0.17).contains(&stores), "{stores}");
        }
    }
}

#[test]
fn threads_share_a_line_only_if_they_should() {
    let base = |data: Data, thread| data.range(thread).0;
    assert_eq!(base(Data::Line, 0) / 64, base(Data::Line, 7) / 64);
    assert_ne!(base(Data::Own, 0) / 64, base(Data::Own, 1) / 64);
    assert_ne!(base(Data::Stream, 0) / 64, base(Data::Stream, 1) / 64);
}

/// Once in 5,000 instructions, an atomic instruction modifies the word that all threads share.
#[test]
fn threads_share_a_word() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("made.refs");
    GeneratedProgram { threads: 2, data: Data::Own, references: 200_000 }.write(&file).unwrap();
    for references in read(&file) {
        let fetches = references.iter().filter(|(kind, _)| kind.is_fetch()).count();
        let shared: Vec<_> = references.iter().filter(|(_, at)| *at == SHARED).collect();
        assert!(shared.iter().all(|(kind, _)| *kind == Kind::Modify), "{shared:?}");
        assert!((4_000..6_000).contains(&(fetches / shared.len())), "{}", shared.len());
    }
}

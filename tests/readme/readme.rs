//! Checks that the commands in the `console` blocks of README files print what the blocks show. A line `...` stands for any number of
//! lines. If a block contains a line `...`, trycmd requires that the last line of the block is also `...`.

use std::env;
use std::os::unix::fs::symlink;
use std::path::Path;

use tests::program::TestDirectory;
use trycmd::TestCases;

#[test]
#[ignore = "replays for minutes"]
fn blocks_show_what_their_commands_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    // cargo builds a test as DIRECTORY/deps/NAME, and a program as DIRECTORY/NAME.
    let vfalls = env::current_exe().unwrap().ancestors().nth(2).unwrap().join("vfalls");
    assert!(vfalls.exists(), "{}: not built; type: cargo build -p vfalls", vfalls.display());
    // The commands run in a directory of their own, because they write files. A link leads to the project's files that they read.
    let place = TestDirectory::new_in(env!("CARGO_TARGET_TMPDIR"), "readme");
    symlink(root.join("simulator"), place.path().join("simulator")).unwrap();
    env::set_current_dir(place.path()).unwrap();
    TestCases::new()
        .register_bin("vfalls", vfalls)
        .case(root.join("README.md"))
        .case(root.join("simulator/README.md"))
        .run();
}

//! Checks that the commands in the `console` blocks of README files print what the blocks show. A line `...` stands for any number of
//! lines. If a block contains a line `...`, its last line must also be `...`, because trycmd compares the last line together with the end
//! of the output.

use std::env;
use std::os::unix::fs::symlink;
use std::path::Path;

use tests::program::Place;
use trycmd::TestCases;

#[test]
#[ignore = "replays for minutes"]
fn blocks_show_what_their_commands_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // The commands read the project's files, and write others.
    let place = Place::below(env!("CARGO_TARGET_TMPDIR"), "readme");
    symlink(root.join("simulator"), place.path().join("simulator")).unwrap();
    env::set_current_dir(place.path()).unwrap();
    TestCases::new()
        .register_bin("vfalls", Path::new(env!("CARGO_BIN_EXE_vfalls")))
        .case(root.join("README.md"))
        .case(root.join("simulator/README.md"))
        .run();
}

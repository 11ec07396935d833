use std::fs;

use crate::program::TestDirectory;

/// Checks the project's files. `tests/guests.rs` builds and boots the project.
#[test]
fn it_writes_a_project() {
    let place = TestDirectory::new("new-image");
    let said = place.run("new-image mine").assert_success();
    assert_eq!(said, "mine/README.md says how to build and boot it\n");
    let read = |name: &str| fs::read_to_string(place.path().join("mine").join(name)).unwrap();
    for name in [".cargo/config.toml", "Cargo.lock", "guest.ld", "sparc64-unknown-none-sun4v.json"]
    {
        assert!(!read(name).is_empty(), "{name}");
    }
    // Count the lines that a person must write, without comments and empty lines.
    let sources = ["src/main.rs", "src/guest.rs"].map(read).concat();
    let lines = sources.lines().map(str::trim_start);
    let written = lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count();
    assert!(written <= 120, "{written} lines");
}

#[test]
fn what_is_there_stays() {
    let place = TestDirectory::new("new-image-there");
    let file = place.file("file", "mine");
    fs::create_dir(place.path().join("empty")).unwrap();
    place.run("new-image file").assert_failure("file: already exists");
    place.run("new-image empty").assert_failure("empty: already exists");
    place.run("new-image missing/mine").assert_failure("missing/mine: cannot be written");
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
    assert_eq!(place.names("."), ["empty", "file"]);
    assert_eq!(place.names("empty"), [""; 0]);
}

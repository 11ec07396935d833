use std::fs;

use crate::program::TestDirectory;

#[test]
fn the_bundled_hypervisor_passes() {
    let place = TestDirectory::new("conform");
    let said =
        place.run("conform --quick --only versions,arbitration --json a.json").assert_success();
    let first = said.lines().next().unwrap();
    assert!(first.starts_with("the bundled hypervisor: "), "{said}");
    assert!(first.ends_with(" calls, no difference from the contract"), "{said}");
    assert!(said.contains("\nNot checked:\n"), "{said}");
    assert!(
        said.contains("\nget of a DRAM register                    23    23     61\n"),
        "{said}"
    );
    let json = fs::read_to_string(place.path().join("a.json")).unwrap();
    assert!(json.contains("\"differences\": []"), "{json}");
}

/// If `--without` names a feature that the image does have, the report shows a difference.
#[test]
fn what_is_declared_is_demanded() {
    let place = TestDirectory::new("conform-without");
    let ended = place.run("conform --quick --only versions --without 1.1 --json a.json");
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("the bundled hypervisor differs from the contract"));
    assert!(ended.stdout.contains("set_version"), "{}", ended.stdout);
    let json = fs::read_to_string(place.path().join("a.json")).unwrap();
    assert!(json.contains("\"subject\": \"group 0x205\""), "{json}");
}

#[test]
fn bad_input_is_refused() {
    let place = TestDirectory::new("conform-bad");
    place.file("text", "no ELF file");
    place.run("conform --hypervisor text").assert_failure("expected an ELF file for SPARC V9");
    place.run("conform --hypervisor missing").assert_failure("missing");
    place.run("conform --without everything").assert_failure("everything");
    place.run("conform --only everything").assert_failure("everything");
    place.run("conform --md text").assert_failure("text");
}

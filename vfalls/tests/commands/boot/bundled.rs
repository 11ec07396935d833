//! Checks that the bundled files are exactly what the sources build.

use std::fs;
use std::path::Path;

use serde_json::Value;
use xtask::cargo::root;
use xtask::qemu::build::{self, Production};
use xtask::qemu::bundle;
use xtask::qemu::toolchain::Toolchain;

use crate::boot::{THREE, run};
use crate::program::TestDirectory;

/// Returns the results in two parts. The first part does not depend on the compiler: the hypercalls, and the guests' output without the
/// number of lines read. The second part depends on the compiler: the number of guest instructions on each strand.
fn results(arguments: &[&str]) -> ((Vec<String>, Value), Vec<u64>) {
    let place = TestDirectory::new("bundled-images");
    let ended = run(&[arguments, &["--json", &place.at("results.json")]].concat());
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let console = ended.stdout.lines().take_while(|line| !line.is_empty());
    let console = console.map(|line| line.split(" lines read").next().unwrap().to_owned());
    let mut results = place.json("results.json");
    for guest in results["guests"].as_array_mut().unwrap() {
        guest.as_object_mut().unwrap().retain(|key, _| !["program", "console"].contains(&&**key));
    }
    let strands = results["strands"].as_array().unwrap();
    let executed = strands.iter().map(|strand| strand["instructions"]["guest"].as_u64().unwrap());
    ((console.collect(), results["guests"].clone()), executed.collect())
}

#[test]
#[ignore = "builds images"]
fn the_bundled_images_do_what_their_sources_do() {
    let toolchain = Toolchain::find().unwrap();
    let hypervisor = build::production(&toolchain, Production::Shipped).unwrap();
    let guest = build::guest_to_copy(&toolchain).unwrap();
    let [hypervisor, guest] = [&hypervisor, &guest].map(|path| path.to_str().unwrap());
    let (bundled, executed) = results(&["--md", THREE]);
    assert_eq!(bundled.0.len(), 12, "{:?}", bundled.0);
    let (built, again) = results(&["--md", THREE, "--hypervisor", hypervisor, guest, guest, guest]);
    assert_eq!(bundled, built, "cargo xtask bundle rebuilds them");
    assert_eq!(executed.len(), 6);
    for (bundled, built) in executed.iter().zip(&again) {
        assert!(
            *bundled > 180_209 && bundled.abs_diff(*built) < bundled / 50,
            "{executed:?} {again:?}"
        );
    }
}

/// This test needs the pinned toolchain. Other tests compare only the images' behaviour, and need no toolchain.
#[test]
#[ignore = "builds images"]
fn the_pinned_toolchain_makes_the_bundled_bytes() {
    let toolchain = Toolchain::find().unwrap();
    if bundle::versions(&toolchain).unwrap() != bundle::pinned().unwrap() {
        return;
    }
    for (name, built) in bundle::NAMES.iter().zip(bundle::build(&toolchain).unwrap()) {
        let bundled = bundle::bundled(name).unwrap();
        assert!(built == bundled, "{name}: cargo xtask bundle rebuilds it");
    }
}

#[test]
#[ignore = "builds images"]
fn the_hypervisor_is_the_same_in_any_directory() {
    let elsewhere = tempfile::tempdir().unwrap();
    let checkout = elsewhere.path().join("of another/name");
    for part in ["Cargo.toml", "guest-abi", "hv-core", "platform", "perfctr-service", "hypervisor"]
    {
        copy(&root().join(part), &checkout.join(part));
    }
    let toolchain = Toolchain::find().unwrap();
    let here = build::production(&toolchain, Production::Shipped).unwrap();
    let there = build::hypervisor_of(&checkout, &toolchain).unwrap();
    assert!(fs::read(here).unwrap() == fs::read(there).unwrap());
}

/// Copies a file, or a folder without its build output.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        if name != "target" {
            copy(&from.join(&name), &to.join(&name));
        }
    }
}

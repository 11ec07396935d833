//! The bundled files are what their sources make.

use std::fs;

use serde_json::Value;
use xtask::qemu::build::{self, Production};
use xtask::qemu::toolchain::Toolchain;

use crate::{THREE, run};

/// What does not depend on where functions of an image are, which follows from the directory in which it is built: what guests print,
/// but for how many reads bring lines of memory; what each strand executes of its guest; the hypercalls.
fn results(arguments: &[&str]) -> (Vec<String>, Vec<Value>, Value) {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("results.json");
    let printed = run(&[arguments, &["--json", json.to_str().unwrap()]].concat()).well();
    let console = printed.lines().take_while(|line| !line.is_empty());
    let console = console.map(|line| line.split(" lines read").next().unwrap().to_owned());
    let mut results: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    for guest in results["guests"].as_array_mut().unwrap() {
        guest
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !["program", "console"].contains(&&**key));
    }
    let strands = results["strands"].as_array().unwrap();
    let executed = |strand: &Value| {
        let guest = &strand["instructions"]["guest"];
        assert!(guest.as_u64().unwrap() > 180_209, "{strand}");
        serde_json::json!([strand["strand"], guest])
    };
    (
        console.collect(),
        strands.iter().map(executed).collect(),
        results["guests"].clone(),
    )
}

#[test]
#[ignore = "builds images"]
fn the_bundled_images_do_what_their_sources_do() {
    let toolchain = Toolchain::find().unwrap();
    let hypervisor = build::production(&toolchain, Production::Shipped).unwrap();
    let guest = build::template(&toolchain).unwrap();
    let [hypervisor, guest] = [&hypervisor, &guest].map(|path| path.to_str().unwrap());
    let bundled = results(&["--md", THREE]);
    assert_eq!(bundled.0.len(), 12, "{:?}", bundled.0);
    let built = results(&[
        "--md",
        THREE,
        "--hypervisor",
        hypervisor,
        guest,
        guest,
        guest,
    ]);
    assert_eq!(bundled, built, "xtask/run/bundled/make.sh makes them anew");
}

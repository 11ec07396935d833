//! The bundled files are what their sources make.

use xtask::qemu::build::{self, Production};
use xtask::qemu::toolchain::Toolchain;

use crate::{THREE, run};

#[test]
#[ignore = "builds images"]
fn the_bundled_images_do_what_their_sources_do() {
    let toolchain = Toolchain::find().unwrap();
    let hypervisor = build::production(&toolchain, Production::Shipped).unwrap();
    let guest = build::template(&toolchain).unwrap();
    let [hypervisor, guest] = [&hypervisor, &guest].map(|path| path.to_str().unwrap());
    // Console, counts and cycles.
    let bundled = run(&["--md", THREE]).well();
    let built = run(&[
        "--md",
        THREE,
        "--hypervisor",
        hypervisor,
        guest,
        guest,
        guest,
    ])
    .well();
    assert_eq!(bundled, built, "xtask/run/bundled/make.sh makes them anew");
}

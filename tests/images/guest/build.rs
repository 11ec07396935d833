//! Tells the linker to use the guests' linker script.

fn main() {
    let directory = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-link-arg=-T{directory}/../../../guest-abi/guests/rust/image.ld");
    println!("cargo:rustc-link-arg=--gc-sections");
    println!("cargo:rerun-if-changed=../../../guest-abi/guests/rust/image.ld");
}

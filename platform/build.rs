//! Adds the folder that contains `sun4v-image.ld` to an image's linker search path.

fn main() {
    println!("cargo:rerun-if-changed=src/sparc64/sun4v-image.ld");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "sparc64") {
        let package = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
        println!("cargo:rustc-link-search={package}/src/sparc64");
    }
}

//! Tells the linker where the image is loaded, and how.

fn main() {
    for argument in [
        "--defsym=sun4v_image_start=0x100000",
        "--defsym=sun4v_stack_size=0x400000",
        // Shipped with the crate `platform`.
        "--script=sun4v-image.ld",
        "--gc-sections",
    ] {
        println!("cargo:rustc-link-arg={argument}");
    }
}

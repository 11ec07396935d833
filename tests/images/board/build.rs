//! Tells the linker where and how the image is loaded.

use platform::memory_map::HYPERVISOR;

fn main() {
    for argument in [
        &format!("--defsym=sun4v_image_start={:#x}", HYPERVISOR.start),
        "--defsym=sun4v_stack_size=0x400000",
        // This script is shipped with the crate `platform`.
        "--script=sun4v-image.ld",
        "--gc-sections",
    ] {
        println!("cargo:rustc-link-arg={argument}");
    }
}

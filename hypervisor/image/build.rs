//! Tells the linker the address of the image and how to link it.

use platform::memory_map::HYPERVISOR;

fn main() {
    for argument in [
        &format!("--defsym=sun4v_image_start={:#x}", HYPERVISOR.start),
        "--defsym=sun4v_stack_size=0x400000",
        // The crate `platform` ships this linker script.
        "--script=sun4v-image.ld",
        "--gc-sections",
    ] {
        println!("cargo:rustc-link-arg={argument}");
    }
}

//! Tells the linker the addresses of the hypervisor and its guests.

use platform::memory_map::HYPERVISOR;

fn main() {
    let start = HYPERVISOR.start;
    for (program, arguments) in [
        ("hypervisor", "--script=sun4v-image.ld --defsym=sun4v_stack_size=0x40000"),
        ("guest", "--script=guest.ld"),
    ] {
        let start = format!("--defsym=sun4v_image_start={start:#x}");
        for argument in arguments.split(' ').chain([&*start, "--gc-sections"]) {
            println!("cargo:rustc-link-arg-bin={program}={argument}");
        }
    }
    println!("cargo:rustc-link-search={}", env!("CARGO_MANIFEST_DIR"));
}

//! The C interface: a static library, and `include/sun4v_perf.h`, which `cargo xtask header` writes.
//!
//! ```console
//! $ cargo rustc --package guest-abi --features capi --crate-type staticlib --profile image
//! ```
//!
//! Freestanding: no libc, no allocation, no state, no panic that a caller could provoke. Every function may be called from
//! any strand at any time. Names are those of the header.
#![allow(non_camel_case_types, reason = "the names of the C header")]
#![allow(clippy::enum_variant_names, reason = "C has no namespaces")]

mod common;
mod event;
mod function;
mod layout;
mod number;
mod register;
mod types;

pub use event::*;
pub use function::*;
pub use layout::*;
pub use number::*;
pub use register::*;
pub use types::*;

// A static library has a panic handler. Where there is an operating system, std brings it, as it does for a test.
#[cfg(not(target_os = "none"))]
extern crate std;

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

//! The C interface: a static library, and `include/sun4v_perf.h`, which `cargo xtask header` writes.
//!
//! ```console
//! $ cargo rustc --package guest-abi --features capi --crate-type staticlib --profile image
//! ```
//!
//! In another profile, for an operating system, the library brings std's panic handler, and needs libc.
//!
//! Freestanding: no libc, no allocation, no state, no panic that a caller could provoke. Every function may be called from
//! any strand at any time. Names are those of the header.
#![allow(non_camel_case_types, reason = "the names of the C header")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the introduction of the header says what every caller promises"
)]

mod common;
mod function;
mod types;

pub use function::*;
pub use types::*;

// A static library has a panic handler. Where panics abort (the profile `image`, and every target without an operating
// system) it is this one; elsewhere, as in a test, it is that of std.
#[cfg(not(panic = "abort"))]
extern crate std;

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

//! The C interface: a static library, and `include/sun4v_perf.h`, which `cargo xtask header` writes.
//!
//! ```console
//! $ cargo rustc --features capi --crate-type staticlib --release --config 'profile.release.panic="abort"'
//! ```
//!
//! Without `panic = "abort"`, the library contains std's panic handler, and needs libc.
//!
//! The library is freestanding: no libc, no allocation, no state, and no panic that a caller could cause. Every function may
//! be called from any strand at any time. cbindgen reads types and functions from here; the numbers in the header come from the
//! tables of this crate.
#![allow(non_camel_case_types, reason = "the names of the C header")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the introduction of the header states the promises of every caller"
)]

mod common;
mod function;
mod types;

pub use function::*;
pub use types::*;

// A static library needs a panic handler: the one below where panics abort, else (as in a test) the one of std.
#[cfg(not(panic = "abort"))]
extern crate std;

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

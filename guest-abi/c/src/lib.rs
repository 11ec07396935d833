#![doc = include_str!("../README.md")]
#![no_std]
#![deny(unsafe_code)]
#![allow(non_camel_case_types, reason = "the names of the C header")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the introduction of the header states the promises of every caller"
)]

mod common;
mod enumerations;
mod event;
mod function;
mod sampling;
mod transport;
mod types;
mod unit;

pub use enumerations::*;
pub use function::*;
pub use sampling::*;
pub use types::*;
pub use unit::*;

// A static library needs a panic handler. If panics abort, it is the function below. Otherwise, as in a debug build, it is std's.
#[cfg(not(panic = "abort"))]
extern crate std;

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

//! The service's fast path on SPARC V9, and how to make an image with it.
//!
//! A call of VFALLS_GET_PERFREG or VFALLS_SET_PERFREG begins in the trap table of `platform::sparc64` and continues in this module's
//! veneers, in assembly. The veneers serve the call, or refuse it because of its number or the version alone, and end with `done`.
//! Otherwise the call takes the slow path of `platform::sparc64`. `cargo xtask qemu` prints the purpose of each instruction, from its
//! comment.
//!
//! # What the author of an image does
//! 1. Names the types of the image: its bus, its strands' registers, the service, the hypervisor, and a type that holds the strand. With a
//!    bus that is not [direct](platform::Bus::is_direct), such as a model, all gets and sets take the slow path.
//! 2. Implements `platform::sparc64::TrapHandler` for the type that holds the strand. Its `Context` is the strand's
//!    [`PerfCounterContext`](crate::PerfCounterContext), and its `served` returns what `hv_core::Strand::served` returns.
//! 3. Calls [`sun4v_image!`](crate::sun4v_image) with that type, once.
//! 4. Writes the `build.rs` that `platform::sun4v_image!` shows, and builds for a target without an operating system. The target
//!    description of the project's own images is `guest-abi/guests/rust/sparc64-unknown-none-sun4v.json`.
//! 5. Sets `panic = "abort"`, `lto = "fat"` and `codegen-units = 1` in the release profile, because leaf functions must be inlined.
//! 6. Checks the linked image: there is no `save` and no `call` between `__leaf_start` and `__leaf_end`.
//!
//! `vfalls new-image DIR` writes a separate project for a small image with two guests and an added hypercall. The folder `hypervisor` of
//! the project's checkout is a complete image. [`platform::interfaces`] describes what an image may offer the operator.

mod fast_path;
#[cfg(target_arch = "sparc64")]
#[doc(hidden)]
pub mod layout;
mod set_l2;
#[doc(hidden)]
pub use platform;

//! The start of the image, its guests, and what its strands do.

mod board;
mod console;
mod guests;
mod handler;
mod layout;
mod mailbox;
mod record;

use spin::{Mutex, MutexGuard};

pub use board::{Board, Place};
pub use guests::Guests;
pub use handler::{Handler, HypervisorOf, Services, assemble, cross_call, failed};
pub use layout::{GuestLayout, Layout};
pub use record::Reporting;

/// Stores a value for ever. The lock is never released, so each place can be used only once. (`spin::Once` contains a panic.)
fn keep<T>(place: &'static Mutex<Option<T>>, value: T) -> &'static T {
    MutexGuard::leak(place.lock()).insert(value)
}

//! How the image starts, which guests it has, and what its strands do.

mod assemble;
mod board;
mod clock;
mod clock_checks;
mod clocks;
mod day;
mod failure;
mod guests;
mod handler;
mod layout;
mod log;
mod mailbox;
mod record;
mod traps;

use spin::{Mutex, MutexGuard};

pub use assemble::{BoardHypervisor, Services, assemble, configure};
pub use board::Board;
pub use clock::Stick;
pub use day::TimesOfDay;
pub use failure::failed;
pub use guests::Guests;
pub use handler::{Handler, HasStorage, HypervisorStorage};
pub use layout::{GuestLayout, Layout};
pub use record::ReportingEnvironment;
pub use traps::cross_call;

/// Stores a value in static memory forever. The mutex is never unlocked, so each `storage` can be used only once. (`spin::Once` would do the
/// same, but its code contains a panic.)
fn store_forever<T>(storage: &'static Mutex<Option<T>>, value: T) -> &'static T {
    MutexGuard::leak(storage.lock()).insert(value)
}

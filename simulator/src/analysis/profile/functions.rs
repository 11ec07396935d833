//! Finds the function of a recorded program that contains an address, or the page if no function is known there.

use crate::recording::without_image;
use crate::run::State;
use crate::setters::opaque;

/// The binary logarithm of a code page's size.
const PAGE_SHIFT: u32 = 12;

/// The symbols of recorded programs, which are looked up by [address in an image](crate::recording::CodeImage::address).
pub trait Functions {
    /// Returns the start and the name of the function that contains the address; `None` if no function is known there.
    fn function(&self, address: u64) -> Option<(u64, &str)>;

    /// Returns the file that the program had mapped at this address; `None` if the file is unknown.
    fn file(&self, address: u64) -> Option<&str>;

    /// Returns the source line of the instruction at this address as `FILE:LINE`; `None` if it is unknown.
    fn source(&self, address: u64) -> Option<String>;
}

opaque!(dyn Functions + '_, "Functions");

/// The first of the addresses that represent waits. These addresses are on the last page of the address space, where no program has
/// code.
const WAIT_BASE: u64 = 0xffff_ffff_ffff_f000;

/// Returns the address that represents threads' waits in this state; `None` if the state is not a wait.
pub(super) const fn wait_address(state: State) -> Option<u64> {
    match wait_name(state) {
        Some(_) => Some(WAIT_BASE + 16 * state as u64),
        None => None,
    }
}

const fn wait_name(state: State) -> Option<&'static str> {
    match state {
        State::Ready => Some("[ready]"),
        State::Lock => Some("[lock]"),
        State::Condition => Some("[condition]"),
        State::Barrier => Some("[barrier]"),
        State::Semaphore => Some("[semaphore]"),
        State::Thread => Some("[thread]"),
        State::Sleep => Some("[sleep]"),
        State::Recorded => Some("[as recorded]"),
        State::Running | State::NotBegun | State::Ended => None,
    }
}

/// Returns the state whose waits this address represents; `None` if the address belongs to the program.
#[must_use]
pub fn waiting_state(address: u64) -> Option<State> {
    if address < WAIT_BASE {
        return None;
    }
    State::ALL.into_iter().find(|state| wait_address(*state) == Some(address))
}

/// The function that contains an address or, if no function is known there, the page. All waits in one [`State`] appear as a single
/// function, as if the waiting functions called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodeLocation<'a> {
    /// The first address of the function or page.
    pub address: u64,
    /// The function's name; `None` for a page.
    pub function: Option<&'a str>,
}

impl<'a> CodeLocation<'a> {
    /// Returns the function that contains an address, or the page if `symbols` has no function there.
    #[must_use]
    pub fn at(address: u64, symbols: Option<&'a dyn Functions>) -> Self {
        if let Some(name) = waiting_state(address).and_then(wait_name) {
            return Self { address, function: Some(name) };
        }
        match symbols.and_then(|symbols| symbols.function(address)) {
            Some((start, name)) => Self { address: start, function: Some(name) },
            None => Self { address: address >> PAGE_SHIFT << PAGE_SHIFT, function: None },
        }
    }

    /// Returns the function's name. For a page, returns `page` and the address.
    #[must_use]
    pub fn name(&self) -> String {
        let page = || format!("page {:#x}", without_image(self.address));
        self.function.map_or_else(page, str::to_owned)
    }
}

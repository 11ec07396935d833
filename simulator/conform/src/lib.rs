//! The contract sweep: calls to a [`System`], and changes to the machine between the calls.
//!
//! Tests on the host make the calls on the service and on the reference model, and compare every call. A guest in QEMU makes the calls
//! through real traps and must get the same results. Guest and host each reduce all results to one number ([`digest`]). If the numbers
//! differ, both can print more detail ([`tell`]). With `simulator::conform`, guests on a simulated machine make the calls on any hypervisor
//! image, and every call is compared with the model.
//!
//! With the feature `model`, the crate also contains the reference model (`oracle`), which is for the host.
#![cfg_attr(not(feature = "model"), no_std)]
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "a comment that repeats a name says nothing")]

#[cfg(feature = "model")]
pub mod assembler;
pub mod configuration;
pub mod control;
pub mod counters;
pub mod digest;
pub mod modelled;
#[cfg(feature = "model")]
pub mod oracle;
pub mod parts;
pub mod plain;
#[cfg(feature = "model")]
pub mod random;
pub mod state;
mod system;
pub mod tell;
#[cfg(feature = "model")]
pub mod translated;

pub use configuration::Configuration;
use digest::{Event, Watched};
pub use system::{Cell, Change, System};

/// A part of the sweep: the machines, and the calls on each machine.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The part's name in messages.
    pub name: &'static str,
    /// All configuration numbers are below this limit.
    pub limit: usize,
    /// Returns configuration number `n`, or `None` if there is no such configuration.
    pub configuration: fn(usize) -> Option<Configuration>,
    /// Makes the calls on the configuration with this number.
    pub run: fn(usize, &Configuration, &mut dyn System),
}

impl Part {
    /// Returns all configurations, each with its number.
    pub fn configurations(&self) -> impl Iterator<Item = (usize, Configuration)> {
        let configuration = self.configuration;
        (0..self.limit).filter_map(move |number| Some((number, configuration(number)?)))
    }

    /// Makes the calls on the configuration with this number. Passes each result and, at the end, the statistics to `each`.
    pub fn watch(
        &self,
        number: usize,
        configuration: &Configuration,
        system: &mut dyn System,
        each: &mut dyn FnMut(&Event),
    ) {
        let mut watched = Watched { system, each };
        (self.run)(number, configuration, &mut watched);
        watched.counts();
    }
}

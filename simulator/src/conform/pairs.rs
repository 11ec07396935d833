//! Boots two guests that make calls at the same time, each on two strands.

use conform::Configuration;
use conform::oracle::{Grant, World};
use conform::translated::{grant, world};
use guest_abi::StrandId;
use perfctr_service::GuestConfig;
use platform::{Machine, Model};

use super::caller::strand;
use super::callers::Callers;
use super::image::{CheckError, Image};
use super::machine::loaded;
use super::watch::{MEMORY, Watch};
use crate::execute::Execution;
use crate::setters::opaque;

/// Two guests: the strands and the rights of each.
pub type GuestPair = [([usize; 2], Grant); 2];

/// Two guests that are ready to call a hypervisor, and the reference model of their T5440.
#[allow(missing_docs, reason = "the names say it")]
pub struct BootedPair {
    pub execution: Execution,
    pub strands: [[StrandId; 2]; 2],
    pub callers: Callers,
    pub watch: Watch,
    pub world: World,
}

opaque!(BootedPair, "BootedPair");

impl BootedPair {
    /// Boots a hypervisor with two guests. The guests' registers have random values from `seed`.
    ///
    /// # Errors
    /// Fails if the image cannot be loaded, or if it does not start all strands.
    pub fn boot(image: &Image, sides: &GuestPair, seed: u64) -> Result<Self, CheckError> {
        let strands = sides.each_ref().map(|(strands, _)| strands.map(strand));
        let mut guests = [GuestConfig::default(); conform::configuration::GUESTS];
        for (guest, (strands, (_, given))) in guests.iter_mut().zip(strands.iter().zip(sides)) {
            *guest = GuestConfig::new(strands.iter().copied().collect(), grant(*given));
        }
        let machine = Machine::new(Model::Batoka, 4).map_err(|_| CheckError::NoGuest(0))?;
        let configuration = Configuration { machine, guests };
        let mut world = world(&configuration);
        for guest in &mut world.guests {
            // The guest has negotiated CORE in order to call cpu_start.
            let _ = guest.versions.set(1, 1, 0);
        }
        let mut execution = loaded(image, &configuration, MEMORY)?;
        let callers = Callers::new(&mut execution, strands.as_flattened(), seed);
        let callers = callers.map_err(CheckError::NotAll)?;
        let watched = sides.each_ref().map(|(strands, _)| strands.to_vec()).to_vec();
        let watch = Watch::new(&mut execution, image, watched);
        Ok(Self { execution, strands, callers, watch, world })
    }
}

//! Observes all of the guests' accesses, and all of the hypervisor's accesses while it serves
//! guests.

use std::cell::{RefCell, RefMut};
use std::ops::Range;
use std::rc::Rc;

use platform::interfaces::Interface;

use super::image::Image;
use crate::execute::{Execution, Observed, map};
use crate::interpreter::Level;
use crate::recording::Kind;

/// The size of a guest's memory in bytes.
pub const MEMORY: u64 = 8 << 20;

/// The accesses that a [`Watch`] has seen.
#[derive(Debug)]
pub struct Seen {
    guests: Vec<Vec<usize>>,
    /// The range of addresses of the hypervisor's instructions.
    text: Range<u64>,
    /// The address of the hypervisor's own console.
    log: Option<u64>,
    /// The hypervisor's accesses to devices, and its output to consoles.
    pub devices: Vec<Observed>,
    /// Accesses that guests must not cause.
    pub forbidden: Vec<Observed>,
}

/// An observer of a machine's accesses.
#[derive(Clone, Debug)]
pub struct Watch(Rc<RefCell<Seen>>);

impl Watch {
    /// Starts observing a machine with this hypervisor. `guests` lists each guest's strands.
    pub fn new(execution: &mut Execution, hypervisor: &Image, guests: Vec<Vec<usize>>) -> Self {
        let watch = Self(Rc::new(RefCell::new(Seen {
            guests,
            text: hypervisor.text.clone(),
            log: hypervisor.interfaces.at(Interface::Log),
            devices: Vec::new(),
            forbidden: Vec::new(),
        })));
        let heard = watch.clone();
        execution.observe(Some(Box::new(move |access| heard.seen().hear(access))));
        watch
    }

    /// Returns the accesses observed so far.
    #[must_use]
    pub fn seen(&self) -> RefMut<'_, Seen> {
        self.0.borrow_mut()
    }
}

impl Seen {
    fn hear(&mut self, access: &Observed) {
        let Observed { strand, level, physical, kind, .. } = *access;
        let fetched = kind == Kind::FetchOther;
        if fetched && level == Level::Hyperprivileged && self.text.contains(&physical) {
            return;
        }
        let guest = self.guests.iter().position(|strands| strands.contains(&strand.index()));
        let Some(guest) = guest.map(|guest| guest as u64) else {
            return;
        };
        let base = map::PARTITION + guest * MEMORY;
        let is_own = (base..base + MEMORY).contains(&physical);
        let console = map::CONSOLES + guest * map::CONSOLE_STRIDE;
        let allowed = match (level, kind) {
            (Level::User | Level::Privileged, _) => is_own,
            (_, Kind::FetchOther) => map::ROM.contains(&physical),
            _ if physical >> 31 == map::PARTITION >> 31 => is_own,
            (_, Kind::Load) if map::ROM.contains(&physical) => true,
            (_, Kind::Load) if map::DESCRIPTION.contains(&physical) => true,
            (_, Kind::Load) if physical == console + 5 => true,
            // The hypervisor may use its own UART's data and status registers.
            _ if self.log.is_some_and(|log| [log, log + 5].contains(&physical)) => true,
            _ if map::HYPERVISOR.contains(&physical) => {
                kind == Kind::Load || !self.text.contains(&physical)
            }
            _ => {
                self.devices.push(*access);
                physical == console || physical >> 36 >= 8 && physical >> 32 != 0xff
            }
        };
        if !allowed {
            self.forbidden.push(*access);
        }
    }
}

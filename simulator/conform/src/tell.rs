//! Prints the sweep as lines of text, at three levels of detail. The lines are the same on every correct system.

use core::fmt;

use crate::digest::{Digest, Event};
use crate::{Configuration, Part, System, parts};

pub trait Machines {
    /// Switches on a machine, and lets `work` use it.
    fn power_on(&mut self, configuration: &Configuration, work: &mut dyn FnMut(&mut dyn System));
}

/// The level of detail. A part is identified by its index in [`parts::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// One line for each part, with its digest.
    Parts,
    /// One line for each configuration of this part.
    Configurations(usize),
    /// One line for each call on this configuration of this part.
    Calls(usize, usize),
}

impl Detail {
    pub const fn to_word(self) -> u64 {
        match self {
            Self::Parts => 0,
            Self::Configurations(part) => 1 | (part as u64) << 8,
            Self::Calls(part, configuration) => {
                2 | (part as u64) << 8 | (configuration as u64) << 16
            }
        }
    }

    pub const fn from_word(word: u64) -> Self {
        let (part, configuration) = ((word >> 8 & 0xff) as usize, (word >> 16) as usize);
        match word & 0xff {
            0 => Self::Parts,
            1 => Self::Configurations(part),
            _ => Self::Calls(part, configuration),
        }
    }
}

/// Makes the sweep's calls. Passes each line to `line`.
pub fn tell(detail: Detail, machines: &mut dyn Machines, line: &mut dyn FnMut(fmt::Arguments<'_>)) {
    match detail {
        Detail::Parts => {
            for part in &parts::ALL {
                let mut digest = Digest::EMPTY;
                for (number, configuration) in part.configurations() {
                    let mut add = |event: &Event| digest.add(event);
                    run(part, number, &configuration, machines, &mut add);
                }
                line(format_args!("sweep, {}: {digest}", part.name));
            }
        }
        Detail::Configurations(part) => {
            let Some(part) = parts::ALL.get(part) else {
                return;
            };
            for (number, configuration) in part.configurations() {
                let mut digest = Digest::EMPTY;
                let mut add = |event: &Event| digest.add(event);
                run(part, number, &configuration, machines, &mut add);
                line(format_args!("{number}: {digest}"));
            }
        }
        Detail::Calls(part, number) => {
            if let Some(part) = parts::ALL.get(part)
                && let Some(configuration) = (part.configuration)(number)
            {
                let mut tell = |event: &Event| line(format_args!("{event}"));
                run(part, number, &configuration, machines, &mut tell);
            }
        }
    }
}

fn run(
    part: &Part,
    number: usize,
    configuration: &Configuration,
    machines: &mut dyn Machines,
    each: &mut dyn FnMut(&Event),
) {
    machines.power_on(configuration, &mut |system| {
        part.watch(number, configuration, system, each);
    });
}

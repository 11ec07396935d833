//! As much of the sweep as is wanted, told in lines that must be the same everywhere.

use core::fmt;

use crate::digest::{Digest, Event, Watched};
use crate::{Configuration, Part, System, parts};

/// Who switches machines on.
pub trait Machines {
    /// Switches one on, and lets `work` use it.
    fn power_on(&mut self, configuration: &Configuration, work: &mut dyn FnMut(&mut dyn System));
}

/// How much is told. Parts have the numbers that they have in [`parts::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// One line for each part.
    Parts,
    /// One for each configuration of this part.
    Configurations(usize),
    /// One for each call on this configuration of this part.
    Calls(usize, usize),
}

impl Detail {
    /// In one word.
    pub const fn to_word(self) -> u64 {
        match self {
            Self::Parts => 0,
            Self::Configurations(part) => 1 | (part as u64) << 8,
            Self::Calls(part, configuration) => {
                2 | (part as u64) << 8 | (configuration as u64) << 16
            }
        }
    }

    /// From such a word.
    pub const fn from_word(word: u64) -> Self {
        let (part, configuration) = ((word >> 8 & 0xff) as usize, (word >> 16) as usize);
        match word & 0xff {
            0 => Self::Parts,
            1 => Self::Configurations(part),
            _ => Self::Calls(part, configuration),
        }
    }
}

/// Makes the calls, and hands on the lines.
pub fn tell(detail: Detail, machines: &mut dyn Machines, line: &mut dyn FnMut(fmt::Arguments<'_>)) {
    match detail {
        Detail::Parts => {
            for part in &parts::ALL {
                let mut digest = Digest::EMPTY;
                for (number, configuration) in part.configurations() {
                    run(part, number, &configuration, machines, &mut |event| {
                        digest.add(event);
                    });
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
                run(part, number, &configuration, machines, &mut |event| {
                    digest.add(event);
                });
                line(format_args!("{number}: {digest}"));
            }
        }
        Detail::Calls(part, number) => {
            let part = parts::ALL.get(part);
            if let Some((part, configuration)) =
                part.and_then(|part| Some((part, (part.configuration)(number)?)))
            {
                run(part, number, &configuration, machines, &mut |event| {
                    line(format_args!("{event}"));
                });
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
        let mut watched = Watched { system, each };
        (part.run)(number, configuration, &mut watched);
    });
}

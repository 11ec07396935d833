//! Finds the [interfaces](platform::interfaces) of the hypervisor that the machine executes.

use platform::interfaces::{Interface, Note, TooShort};
use platform::memory_map::{HYPERVISOR, LOG, MAILBOX, PAGE};

/// What an image's notes say about an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Nothing,
    /// The image has the interface in a version that this program does not know.
    Version(u32),
    /// The image has the interface at this physical address, in a version that this program knows.
    At(u64),
}

/// An image's interfaces. The default has only the mailbox and the log of the project's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interfaces([Has; Interface::ALL.len()]);

/// The error for invalid notes in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum InterfaceError {
    #[error(transparent)]
    TooShort(#[from] TooShort),
    #[error("it has two notes for its {}", .0.name())]
    Twice(Interface),
    #[error(
        "its {} is at {address:#x}, expected a multiple of {multiple:#x} in its memory, {:#x} to {:#x}",
        .interface.name(), HYPERVISOR.start, HYPERVISOR.end - 1
    )]
    Address { interface: Interface, address: u64, multiple: u64 },
}

impl Default for Interfaces {
    fn default() -> Self {
        Self([Has::At(MAILBOX), Has::At(LOG), Has::Nothing])
    }
}

impl Interfaces {
    /// Returns the interfaces that an image's notes describe.
    ///
    /// # Errors
    /// An interface has two notes, or an interface in memory is misaligned or outside the hypervisor's memory.
    pub fn new(notes: impl IntoIterator<Item = Note>) -> Result<Self, InterfaceError> {
        let mut new = Self([Has::Nothing; Interface::ALL.len()]);
        for Note { interface, version, address } in notes {
            let has = &mut new.0[index(interface)];
            if *has != Has::Nothing {
                return Err(InterfaceError::Twice(interface));
            }
            if version != interface.version() {
                *has = Has::Version(version);
                continue;
            }
            let multiple = match interface {
                Interface::Mailbox => PAGE,
                Interface::Events => 8,
                Interface::Log => 1,
            };
            let is_memory = interface != Interface::Log;
            if is_memory && !HYPERVISOR.contains(&address) || !address.is_multiple_of(multiple) {
                return Err(InterfaceError::Address { interface, address, multiple });
            }
            *has = Has::At(address);
        }
        Ok(new)
    }

    /// Returns an interface's address; `None` if the image lacks the interface, or has it in an unknown version.
    #[must_use]
    pub fn at(&self, interface: Interface) -> Option<u64> {
        match self.0[index(interface)] {
            Has::At(address) => Some(address),
            Has::Nothing | Has::Version(_) => None,
        }
    }

    /// Returns the interfaces that the image lacks.
    pub fn lacking(&self) -> impl Iterator<Item = Interface> {
        Interface::ALL.into_iter().filter(|one| self.0[index(*one)] == Has::Nothing)
    }

    /// Returns the interfaces that the image has in a version other than [`Interface::version`], each with its version.
    pub fn other_versions(&self) -> impl Iterator<Item = (Interface, u32)> {
        Interface::ALL.into_iter().filter_map(|one| match self.0[index(one)] {
            Has::Version(version) => Some((one, version)),
            Has::Nothing | Has::At(_) => None,
        })
    }
}

const fn index(interface: Interface) -> usize {
    interface as usize - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn note(interface: Interface, version: u32, address: u64) -> Note {
        Note { interface, version, address }
    }

    #[test]
    fn an_image_has_what_it_has_notes_of() {
        let mailbox = note(Interface::Mailbox, 1, 0x20_2000);
        let has = Interfaces::new([mailbox, note(Interface::Events, 9, 0)]).unwrap();
        assert_eq!(has.at(Interface::Mailbox), Some(0x20_2000));
        assert_eq!((has.at(Interface::Log), has.at(Interface::Events)), (None, None));
        assert!(has.lacking().eq([Interface::Log]));
        assert!(has.other_versions().eq([(Interface::Events, 9)]));
        assert!(Interfaces::new([]).unwrap().lacking().eq(Interface::ALL));
    }

    #[test]
    fn bad_notes() {
        let error =
            |notes: &[Note]| Interfaces::new(notes.iter().copied()).unwrap_err().to_string();
        let mailbox = note(Interface::Mailbox, 1, 0x20_2000);
        assert_eq!(error(&[mailbox, mailbox]), "it has two notes for its mailbox");
        assert_eq!(
            error(&[note(Interface::Mailbox, 1, 0x20_2008)]),
            "its mailbox is at 0x202008, expected a multiple of 0x2000 in its memory, 0x100000 to 0x3ffffff"
        );
        assert_eq!(
            error(&[note(Interface::Events, 1, 0x8000_0000)]),
            "its events is at 0x80000000, expected a multiple of 0x8 in its memory, 0x100000 to 0x3ffffff"
        );
    }
}

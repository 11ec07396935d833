//! The optional interfaces of a hypervisor image, and the notes in which an image lists its interfaces.
//!
//! Every image serves the hypercalls of its guests. An image may also have the interfaces in this table. Each interface has a version. A
//! program that starts an image, such as `vfalls boot`, uses an interface only if the image has it in the [version](Interface::version)
//! that the program knows. If the image lacks an interface, the rest still works.
//!
//! | type | interface | version | at the address | without it |
//! |---|---|---|---|---|
//! | 1 | [mailbox](Interface::Mailbox) | 1 | 8 KB of the image's memory, on an 8 KB boundary: [`memory_map::mailbox`](crate::memory_map::mailbox) | the operator can take no steps, and sees no failure records; a guest's end is known from its [console](crate::memory_map::escape) |
//! | 2 | [log](Interface::Log) | 1 | a 16550 UART, to which the image writes lines of text in UTF-8, one for each message: [`LOG`](crate::memory_map::LOG) | the operator cannot read what happens to units, guests and strands |
//! | 3 | [events](Interface::Events) | 1 | a `hv_core::trace::Tracer`, whose first words say where the event rings are: `hv_core::trace::remote` | the hypervisor's own events cannot be recorded |
//!
//! # Notes
//! For each of its interfaces, an image has an ELF note in its section `.note.sun4v`, which a PT_NOTE segment covers. The note's owner is
//! [`OWNER`], and the note's type is the interface's number. The descriptor has at least [`DESCRIPTOR`] bytes; later versions may define
//! further bytes. All numbers are big-endian.
//!
//! | bytes of the descriptor | content |
//! |---|---|
//! | 0 to 3 | the version of the interface |
//! | 4 to 11 | the physical address of the interface |
//!
//! On SPARC V9, `sun4v_note!` puts a note into an image. The linker script of `sparc64` keeps notes.
//! `readelf --notes image.elf` lists them.

/// The owner that the notes name.
pub const OWNER: &str = "sun4v";

/// How many bytes of a descriptor [`Note::parse`] reads.
pub const DESCRIPTOR: usize = 12;

/// An interface that an image may have. Its number is its note's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The page for messages between operator and hypervisor.
    Mailbox = 1,
    /// The hypervisor's own console.
    Log = 2,
    /// The rings in which the hypervisor records events.
    Events = 3,
}

impl Interface {
    /// All interfaces, by number.
    pub const ALL: [Self; 3] = [Self::Mailbox, Self::Log, Self::Events];

    /// Returns the version that this crate describes.
    #[must_use]
    pub const fn version(self) -> u32 {
        match self {
            Self::Mailbox | Self::Log | Self::Events => 1,
        }
    }

    /// Returns the name that messages use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mailbox => "mailbox",
            Self::Log => "log",
            Self::Events => "events",
        }
    }
}

/// The content of a note, which states that the image has this interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    #[allow(missing_docs, reason = "its name says it")]
    pub interface: Interface,
    /// The version, which may be one that this crate does not know.
    pub version: u32,
    /// The physical address of the interface.
    pub address: u64,
}

/// The descriptor of a note has fewer than [`DESCRIPTOR`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort(pub Interface);

impl core::fmt::Display for TooShort {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the note of its {} has fewer than {DESCRIPTOR} bytes", self.0.name())
    }
}

impl core::error::Error for TooShort {}

impl Note {
    /// Parses a note of [`OWNER`] with this type and descriptor. Returns `None` for the type of an unknown interface.
    ///
    /// # Errors
    /// Fails if the descriptor is too short.
    pub fn parse(kind: u32, descriptor: &[u8]) -> Result<Option<Self>, TooShort> {
        let mut known = Interface::ALL.into_iter();
        let Some(interface) = known.find(|interface| *interface as u32 == kind) else {
            return Ok(None);
        };
        let Some((version, rest)) = descriptor.split_first_chunk() else {
            return Err(TooShort(interface));
        };
        let Some(address) = rest.first_chunk() else {
            return Err(TooShort(interface));
        };
        let (version, address) = (u32::from_be_bytes(*version), u64::from_be_bytes(*address));
        Ok(Some(Self { interface, version, address }))
    }
}

/// Puts a [note](crate::interfaces) into an image. The note names an [`Interface`](crate::interfaces::Interface), its address, and the
/// version that this crate describes. The address is an operand of `global_asm!`: `const` and a number, or `sym` and a static.
///
/// ```ignore
/// platform::sun4v_note!(Interface::Mailbox, const MAILBOX);
/// platform::sun4v_note!(Interface::Events, sym TRACER);
/// ```
#[macro_export]
macro_rules! sun4v_note {
    ($interface:expr, $($address:tt)+) => {
        ::core::arch::global_asm!(
            ".pushsection .note.sun4v, \"a\", @note",
            ".balign 4",
            ".word 6, {DESCRIPTOR}, {KIND}",
            ".asciz \"sun4v\"",
            ".balign 4",
            ".word {VERSION}",
            ".xword {address}",
            ".popsection",
            DESCRIPTOR = const $crate::interfaces::DESCRIPTOR,
            KIND = const $interface as u32,
            VERSION = const $crate::interfaces::Interface::version($interface),
            address = $($address)+,
        );
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAILBOX: [u8; 14] = [0, 0, 0, 1, 0, 0, 0, 0, 0x03, 0xfe, 0, 0, 0xaa, 0xbb];

    #[test]
    fn a_note_has_a_version_and_an_address() {
        let note = Note { interface: Interface::Mailbox, version: 1, address: 0x3fe_0000 };
        for length in [12, 14] {
            assert_eq!(Note::parse(1, &MAILBOX[..length]), Ok(Some(note)));
        }
        assert_eq!(Note::parse(4, &MAILBOX), Ok(None));
        assert_eq!(Note::parse(0, &[]), Ok(None));
    }

    #[test]
    fn a_short_note_is_an_error() {
        for length in [0, 3, 4, 11] {
            assert_eq!(Note::parse(2, &MAILBOX[..length]), Err(TooShort(Interface::Log)));
        }
    }

    #[test]
    fn numbers_and_versions_stay() {
        let all = Interface::ALL.map(|one| (one as u32, one.name(), one.version()));
        assert_eq!(all, [(1, "mailbox", 1), (2, "log", 1), (3, "events", 1)]);
    }
}

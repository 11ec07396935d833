//! Descriptions of event kinds, stored in an image's section [`SECTION`]. Tools find the names of event kinds and their fields there.
//!
//! In builds for targets without an operating system, [`events!`](crate::events) adds a description of each kind that it declares. The
//! image itself never reads the section; its linker script keeps the section in the file.
//!
//! The section is a sequence of descriptions with the following format. Numbers are big-endian. Each text follows a byte that holds the
//! text's length.
//!
//! | bytes | content |
//! |---|---|
//! | 2 | the number of the kind |
//! | text | the name of the kind |
//! | 1 | the number of fields; the following rows repeat for each field |
//! | text | the name of the field |
//! | 1 | the width of the field in bits |
//! | 1 | how a viewer shows the field: 0 as a decimal number, 1 as a hexadecimal number, 2 as the name of the value |
//! | 2 | only if the previous byte is 2: the number of names; then, for each name, 8 bytes with the value, and the name as a text |

use super::event::{Class, DisplayFormat, Field};

/// The name of the ELF section that holds the descriptions.
pub const SECTION: &str = ".vfalls_events";

/// Returns the length of the description of `classes`, in bytes.
#[must_use]
pub const fn length(classes: &[Class]) -> usize {
    let mut nothing = Writer { bytes: [], at: 0 };
    nothing.classes(classes);
    nothing.at
}

/// Encodes the description of `classes`. `N` must be its [`length`].
#[must_use]
pub const fn bytes<const N: usize>(classes: &[Class]) -> [u8; N] {
    let mut writer = Writer { bytes: [0; N], at: 0 };
    writer.classes(classes);
    writer.bytes
}

/// Stores the first `N` bytes, and counts all bytes.
struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    const fn put(&mut self, bytes: &[u8]) {
        let mut index = 0;
        while index < bytes.len() {
            if self.at < N {
                self.bytes[self.at] = bytes[index];
            }
            self.at += 1;
            index += 1;
        }
    }

    const fn text(&mut self, text: &str) {
        assert!(text.len() < 256, "a name has at most 255 bytes");
        self.put(&[text.len() as u8]);
        self.put(text.as_bytes());
    }

    const fn classes(&mut self, classes: &[Class]) {
        let mut index = 0;
        while index < classes.len() {
            let Class { id, name, fields } = classes[index];
            self.put(&id.to_be_bytes());
            self.text(name);
            self.put(&[fields.len() as u8]);
            let mut field = 0;
            while field < fields.len() {
                self.field(&fields[field]);
                field += 1;
            }
            index += 1;
        }
    }

    const fn field(&mut self, field: &Field) {
        self.text(field.name);
        self.put(&[field.bits as u8]);
        let names = match field.format {
            DisplayFormat::Number => return self.put(&[0]),
            DisplayFormat::Hex => return self.put(&[1]),
            DisplayFormat::Names(names) => names,
        };
        self.put(&[2]);
        self.put(&(names.len() as u16).to_be_bytes());
        let mut index = 0;
        while index < names.len() {
            let (value, name) = names[index];
            self.put(&value.to_be_bytes());
            self.text(name);
            index += 1;
        }
    }
}

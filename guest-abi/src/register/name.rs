//! The names of the registers, built at compile time.

const MAX_LENGTH: usize = "ZAM0_LPU_A_PIC0".len();

#[derive(Clone, Copy)]
pub(super) struct Name {
    bytes: [u8; MAX_LENGTH],
    length: usize,
}

impl Name {
    pub(super) const EMPTY: Self = Self { bytes: [0; MAX_LENGTH], length: 0 };

    /// Joins the parts with `_`, and skips empty parts.
    pub(super) const fn join(parts: [&str; 3]) -> Self {
        let [first, second, third] = parts;
        Self::EMPTY.append(first).append(second).append(third)
    }

    const fn append(mut self, part: &str) -> Self {
        if self.length > 0 && !part.is_empty() {
            self = self.push(b'_');
        }
        let mut at = 0;
        while at < part.len() {
            self = self.push(part.as_bytes()[at]);
            at += 1;
        }
        self
    }

    const fn push(mut self, byte: u8) -> Self {
        self.bytes[self.length] = byte;
        self.length += 1;
        self
    }

    pub(super) const fn text(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

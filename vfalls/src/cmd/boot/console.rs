//! The output of a guest's UART. It contains the guest's own bytes, and the hypervisor's message
//! that the guest has ended.

use platform::memory_map::escape::{DLE, END};

/// Separates the guest's own bytes from the hypervisor's message that the guest has ended.
#[derive(Debug, Default)]
pub struct Console {
    text: Vec<u8>,
    state: ConsoleState,
}

#[derive(Debug, Default)]
enum ConsoleState {
    #[default]
    Text,
    Escape,
    Code(u64),
    Ended(u64),
}

impl Console {
    /// Takes the next bytes from the UART, and returns the new part of the guest's text.
    pub fn push(&mut self, bytes: &[u8]) -> &[u8] {
        let old = self.text.len();
        for byte in bytes {
            self.state = match (&self.state, *byte) {
                (ConsoleState::Text, DLE) => ConsoleState::Escape,
                (ConsoleState::Escape, END) => ConsoleState::Code(0),
                (ConsoleState::Code(code), digit @ b'0'..=b'9') => {
                    ConsoleState::Code(code.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
                }
                (ConsoleState::Code(code), _) | (ConsoleState::Ended(code), _) => {
                    ConsoleState::Ended(*code)
                }
                (ConsoleState::Text | ConsoleState::Escape, byte) => {
                    self.text.push(byte);
                    ConsoleState::Text
                }
            };
        }
        &self.text[old..]
    }

    /// Returns everything that the guest has written, without the hypervisor's message that the
    /// guest has ended.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the guest's exit code; `None` if the guest has not ended.
    pub fn ended(&self) -> Option<u64> {
        match self.state {
            ConsoleState::Ended(code) => Some(code),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_may_come_in_pieces() {
        let mut console = Console::default();
        assert_eq!(console.push(b"one\n\x10"), b"one\n");
        assert_eq!(console.push(b"X4"), b"");
        assert_eq!(console.ended(), None);
        console.push(b"2\n");
        assert_eq!(console.ended(), Some(42));
        assert_eq!(console.text(), b"one\n");
    }

    #[test]
    fn a_guest_cannot_forge_the_end() {
        let mut console = Console::default();
        console.push(b"\x10\x10X0\n");
        assert_eq!(console.ended(), None);
        assert_eq!(console.text(), b"\x10X0\n");
    }
}

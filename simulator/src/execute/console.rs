//! The consoles of the guests and the hypervisor: 16550 UARTs that can always send.

use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(super) struct Console {
    sent: Vec<u8>,
    received: VecDeque<u8>,
}

/// The data register. Software loads received bytes from it, and stores bytes to be sent.
const DATA: u64 = 0;
const LINE_STATUS: u64 = 5;

/// Bits of the line status register. `RECEIVED` means that the software can read a received byte.
/// `TRANSMITTED` means that all bytes have been sent.
const RECEIVED: u64 = 1;
const TRANSMITTED: u64 = 0x60;

impl Console {
    pub(super) fn read(&mut self, register: u64) -> u64 {
        match register {
            DATA => self.received.pop_front().unwrap_or(0).into(),
            LINE_STATUS => TRANSMITTED | if self.received.is_empty() { 0 } else { RECEIVED },
            _ => 0,
        }
    }

    pub(super) fn write(&mut self, register: u64, value: u64) {
        if register == DATA {
            self.sent.push(value as u8);
        }
    }

    /// Returns and removes the bytes that the software has sent since the previous call.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }

    /// Appends bytes to the input that the software has not read yet.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.received.extend(bytes);
    }
}

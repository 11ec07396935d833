//! Encodes and parses gdb's packets. A packet is a `$`, a text, a `#`, and two hexadecimal digits.
//! The digits are the sum of the text's bytes modulo 256.

/// The maximum length of a packet's text, in bytes.
pub(super) const MAX_PACKET_BYTES: usize = 0x4000;

/// A message from a debugger.
pub(super) enum Received {
    Packet(Vec<u8>),
    /// A packet that has a wrong checksum or is too long.
    Invalid,
    /// The debugger asks for the latest packet again.
    Again,
    /// The debugger wants to stop the machine.
    Interrupt,
}

/// The part of a packet that has been received so far.
#[derive(Default)]
pub(super) struct Packets {
    place: PacketPlace,
    text: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
enum PacketPlace {
    #[default]
    Between,
    Text,
    /// The next byte is a digit of the checksum. The value is the first digit; `None` if the next
    /// byte is the first digit.
    Checksum(Option<u8>),
}

impl Packets {
    /// Adds the next byte. A `$` always starts a new packet, even within another packet.
    pub(super) fn push(&mut self, byte: u8) -> Option<Received> {
        match (self.place, byte) {
            (_, b'$') => {
                self.text.clear();
                self.place = PacketPlace::Text;
            }
            (PacketPlace::Between, b'-') => return Some(Received::Again),
            (PacketPlace::Between, 0x03) => return Some(Received::Interrupt),
            (PacketPlace::Between, _) => {}
            (PacketPlace::Text, b'#') => self.place = PacketPlace::Checksum(None),
            // A text that is too long is cut to one byte more than the maximum. The last byte then
            // shows that the packet is too long.
            (PacketPlace::Text, _) if self.text.len() <= MAX_PACKET_BYTES => self.text.push(byte),
            (PacketPlace::Text, _) => {}
            (PacketPlace::Checksum(None), _) => self.place = PacketPlace::Checksum(Some(byte)),
            (PacketPlace::Checksum(Some(first)), second) => {
                self.place = PacketPlace::Between;
                let sum = format!("{:02x}", sum(&self.text));
                let right = sum.as_bytes().eq_ignore_ascii_case(&[first, second]);
                let text = std::mem::take(&mut self.text);
                return Some(if right && text.len() <= MAX_PACKET_BYTES {
                    Received::Packet(text)
                } else {
                    Received::Invalid
                });
            }
        }
        None
    }
}

fn sum(text: &[u8]) -> u8 {
    text.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

/// Encodes `text` as a packet. The text must not contain `$` or `#`.
pub(super) fn packet(text: &str) -> Vec<u8> {
    format!("${text}#{:02x}", sum(text.as_bytes())).into_bytes()
}

/// Encodes bytes as hexadecimal digits.
pub(super) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes pairs of hexadecimal digits to bytes; `None` if `text` does not consist of such pairs.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks() else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.iter().map(|[high, low]| Some((digit(*high)? << 4 | digit(*low)?) as u8)).collect()
}

/// Parses a hexadecimal number; `None` if `text` contains other characters.
pub(super) fn number(text: &str) -> Option<u64> {
    // `from_str_radix` accepts a sign, which is not allowed here.
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|_| digits)
}

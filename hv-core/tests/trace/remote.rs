//! Tests rings in another machine's memory, which the tests write out byte by byte.

use hv_core::trace::remote::{Directory, MAGIC, Memory, RemoteReader};
use hv_core::trace::{Clock27, Layout, Shape};

use crate::{Got, Small, TestEvent};

/// The address of the first byte of [`bytes`].
const AT: u64 = 0x10_0000;
/// The address of ring 0, after the nine words of the tracer.
const RING: u64 = AT + 72;
/// The size of a ring: two packets (36 bytes and ten words each, padded to 80 bytes), and five words of 8 bytes.
const STRIDE: u64 = 2 * 80 + 5 * 8;

struct Bytes(Vec<u8>);

impl Memory for Bytes {
    fn load(&self, address: u64) -> Option<u64> {
        let at = address.checked_sub(AT)? as usize;
        Some(u64::from_be_bytes(*self.0.get(at..)?.first_chunk()?))
    }
}

fn word(bytes: &mut Vec<u8>, word: u64) {
    bytes.extend(word.to_be_bytes());
}

/// Appends a packet with one event for each of `numbers`. A number is the event's payload and also its time. The first event has a full
/// header.
fn packet(bytes: &mut Vec<u8>, number: u64, before: u64, discarded: u64, numbers: &[u32]) {
    let mut words = Vec::new();
    for event in numbers {
        match words.is_empty() {
            true => words.extend([31 << 27, 9, 0, *event]),
            false => words.push(9 << 27 | event),
        }
        words.push(*event);
    }
    let base = numbers.first().copied().unwrap_or(0);
    [number, base.into(), before, discarded].into_iter().for_each(|value| word(bytes, value));
    bytes.extend((numbers.len() as u16).to_be_bytes());
    bytes.extend((words.len() as u16).to_be_bytes());
    words.resize(11, 0xdead_beef);
    bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
}

/// Returns a tracer with two rings. The first ring holds five events in two packets, and the second ring is empty.
fn bytes() -> Bytes {
    let mut bytes = Vec::new();
    for value in [MAGIC, 1, 2, RING, STRIDE, 2, 10, 0x0005_001b_0001_0401, 7] {
        word(&mut bytes, value);
    }
    packet(&mut bytes, 2, 3, 0, &[40, 41]);
    packet(&mut bytes, 1, 0, 0, &[1, 2, 3]);
    [2, 0, 0, 0, 0].into_iter().for_each(|value| word(&mut bytes, value));
    bytes.resize((RING + 2 * STRIDE - AT) as usize, 0);
    Bytes(bytes)
}

fn read(memory: &Bytes, ring: u64) -> Vec<Got> {
    let place = Directory::read(memory, AT).unwrap().ring(ring).unwrap();
    let mut reader = RemoteReader::<Clock27, _>::new(place, [0; 10]);
    std::iter::from_fn(|| reader.next(memory, TestEvent::words).map(Got::from)).collect()
}

fn small(number: u32) -> Got {
    Got::Event(number.into(), TestEvent::Small(Small { number }))
}

#[test]
fn rings_are_read() {
    let mut memory = bytes();
    assert_eq!(read(&memory, 0), [1, 2, 3, 40, 41].map(small));
    assert_eq!(read(&memory, 1), []);
    // Packet 3 has overwritten packet 1.
    let mut third = Vec::new();
    packet(&mut third, 3, 8, 1, &[50]);
    memory.0[72 + 80..72 + 160].copy_from_slice(&third);
    memory.0[72 + 167] = 3;
    assert_eq!(read(&memory, 0), [Got::Lost(3), small(40), small(41), Got::Lost(3), small(50)]);
    // The writer is about to begin a packet where packet 2 is stored.
    memory.0[72 + 7] = 0;
    memory.0[72 + 167] = 4;
    assert_eq!(read(&memory, 0), [Got::Lost(8), small(50)]);
}

#[test]
fn a_reader_says_what_it_has_read() {
    let memory = bytes();
    let place = Directory::read(&memory, AT).unwrap().ring(0).unwrap();
    let mut reader = RemoteReader::<Clock27, _>::new(place, [0; 10]);
    assert_eq!(reader.finished(), (RING + 160 + 24, 0));
    while reader.next(&memory, TestEvent::words).is_some() {}
    assert_eq!(reader.finished(), (RING + 160 + 24, 1));
}

#[test]
fn a_directory_says_where_rings_are() {
    let memory = bytes();
    let directory = Directory::read(&memory, AT).unwrap();
    assert!(directory.on);
    assert_eq!((directory.rings, directory.packet_words, directory.missed), (2, 10, 7));
    assert_eq!(directory.shape, Clock27::SHAPE);
    assert_eq!(Shape::from_bits(directory.shape.into_bits()), Clock27::SHAPE);
    assert_eq!(directory.ring(2), None);
    assert_eq!(Directory::read(&memory, AT + 8), None);
    assert_eq!(Directory::read(&memory, AT + 4), None);
    assert_eq!(Directory::read(&memory, 0), None);
    let cut = Bytes(memory.0[..memory.0.len() - 8].to_vec());
    assert_eq!(Directory::read(&cut, AT), None, "the last ring is cut off");
    // Each of these values is impossible: the magic number, the address of ring 0, the stride, and the numbers of packets and words.
    for (number, value) in
        [(0, 0), (3, RING + 4), (4, STRIDE + 8), (5, 3), (5, 0), (6, 3), (6, 1 << 40)]
    {
        let mut memory = bytes();
        memory.0[8 * number..8 * number + 8].copy_from_slice(&u64::to_be_bytes(value));
        assert_eq!(Directory::read(&memory, AT), None, "{number}");
    }
}

/// Whichever byte after the tracer is wrong, a reader returns only a limited number of entries.
#[test]
fn any_memory_is_read() {
    let seed = bytes();
    for at in 72..seed.0.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut memory = Bytes(seed.0.clone());
            memory.0[at] = value;
            for ring in 0..2 {
                let place = Directory::read(&memory, AT).unwrap().ring(ring).unwrap();
                let mut reader = RemoteReader::<Clock27, _>::new(place, [0; 10]);
                let next = || reader.next(&memory, TestEvent::words).map(drop);
                assert!(std::iter::from_fn(next).take(100).count() < 20, "{at}");
            }
        }
    }
}

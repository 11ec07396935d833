//! Tests that the reader never panics on random bytes. Also tests that every lookup succeeds in a description that the reader accepts.

use std::vec::Vec;

use proptest::prelude::*;

use super::{EVERYTHING, walk};
use crate::md::Md;

/// Generates elements whose tag, name and value are often valid.
fn element() -> impl Strategy<Value = [u8; 16]> {
    let tag = prop_oneof![
        6 => prop::sample::select(b"NEEEavsd ".as_slice()),
        1 => any::<u8>()
    ];
    // The lengths and offsets of the names in EVERYTHING.
    let name = prop_oneof![
        12 => prop::sample::select([(4, 0), (3, 5), (4, 9), (2, 14), (4, 17), (4, 22)].as_slice()),
        1 => any::<(u8, u32)>()
    ];
    let value = prop_oneof![4 => 0..24_u64, 1 => Just(4 << 32), 1 => any::<u64>()];
    (tag, name, value).prop_map(|(tag, (length, offset), value)| {
        let bits = u128::from(tag) << 120
            | u128::from(length) << 112
            | u128::from(offset) << 64
            | u128::from(value);
        bits.to_be_bytes()
    })
}

/// Generates random elements, with the header, names and data of EVERYTHING.
fn description() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(element(), 0..24).prop_map(|elements| {
        let size = (elements.len() as u32 + 1) * 16;
        let mut bytes = EVERYTHING[..16].to_vec();
        bytes[4..8].copy_from_slice(&size.to_be_bytes());
        bytes.extend(elements.concat());
        bytes.extend([0; 16]);
        bytes.extend(&EVERYTHING[176..]);
        bytes
    })
}

fn check(bytes: &[u8]) {
    if let Ok(md) = Md::new(bytes) {
        assert!(walk(md) <= bytes.len() / 16);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes);
    }

    #[test]
    fn any_elements(bytes in description()) {
        check(&bytes);
    }

    #[test]
    fn a_few_bytes_changed(changes in prop::collection::vec((0..EVERYTHING.len(), any::<u8>()), 1..6)) {
        let mut bytes = EVERYTHING;
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        check(&bytes);
    }
}

#[test]
fn any_byte_changed_to_anything() {
    for at in 0..EVERYTHING.len() {
        for byte in 0..=u8::MAX {
            let mut bytes = EVERYTHING;
            bytes[at] = byte;
            check(&bytes);
        }
    }
}

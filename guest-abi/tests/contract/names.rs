//! The ids, names, masks and versions of the 90 registers.

use guest_abi::{PerfReg, Version};
use proptest::prelude::*;

/// The names in the order of the ids (FWARC/2007/529 section 3.1).
fn table() -> Vec<String> {
    let mut names = vec!["SPARC_PCR".to_owned(), "L2_PERF_CONFIG".to_owned()];
    for node in 0..4 {
        for mcu in 0..2 {
            names.push(format!("NODE{node}_MCU{mcu}_PCR"));
            names.push(format!("NODE{node}_MCU{mcu}_PIC"));
        }
    }
    for hub in 0..4 {
        for unit in ["LPU_A", "LPU_B", "LPU_C", "LPU_D", "GPD", "ASU"] {
            for role in ["PCR", "PIC0", "PIC1"] {
                names.push(format!("ZAM{hub}_{unit}_{role}"));
            }
        }
    }
    names
}

#[test]
fn all_90() {
    let table = table();
    assert_eq!(table.len(), 90);
    for (id, name) in table.iter().enumerate() {
        let register = PerfReg::new(id as u64).unwrap();
        assert_eq!((register.name(), register.index()), (name.as_str(), id));
        assert_eq!(register.to_string(), *name);
        assert_eq!(format!("{register:?}"), format!("{id} ({name})"));
        assert_eq!(PerfReg::from_name(name), Some(register));
    }
}

/// The bits that a guest can write, of each control register and counter of sections 2.1 to 2.6.
#[test]
fn masks() {
    for register in PerfReg::all() {
        let name = register.name();
        let expected = match name {
            "SPARC_PCR" => 0xc000_0000_ffff_ffff,
            "L2_PERF_CONFIG" => 0x3,
            _ if name.ends_with("_PIC") => u64::MAX,
            _ if name.ends_with("_PIC0") || name.ends_with("_PIC1") => u64::MAX,
            _ if name.contains("_MCU") => 0xff,
            _ if name.contains("_LPU_") => 0xffff,
            _ if name.contains("_GPD_") || name.contains("_ASU_") => 0xf0f,
            _ => panic!("{name} is not a name of the table"),
        };
        assert_eq!(register.info().write_mask, expected, "{name}");
    }
}

#[test]
fn registers_of_hubs() {
    assert_eq!((PerfReg::FIRST_OF_HUBS.id(), PerfReg::PER_HUB), (18, 18));
}

#[test]
fn versions() {
    for register in PerfReg::all() {
        let since = if register.id() < 18 { (1, 0) } else { (1, 1) };
        let Version { major, minor } = register.info().since;
        assert_eq!((major, minor), since, "{register}");
    }
}

proptest! {
    #[test]
    fn ids_are_0_to_89(id: u64) {
        prop_assert_eq!(PerfReg::new(id).map(PerfReg::id), (id < 90).then_some(id));
    }

    #[test]
    fn the_upper_half_of_an_id_counts(low in 0u64..90, high in 1u64..1 << 32) {
        prop_assert_eq!(PerfReg::new(high << 32 | low), None);
        prop_assert_eq!(PerfReg::try_from(low).map(PerfReg::id), Ok(low));
    }

    #[test]
    fn capitals_and_small_letters_are_alike(id in 0usize..90, capitals: u32) {
        let name: String = table()[id]
            .chars()
            .enumerate()
            .map(|(at, c)| if capitals >> at & 1 == 0 { c.to_ascii_lowercase() } else { c })
            .collect();
        prop_assert_eq!(name.parse::<PerfReg>().map(PerfReg::index), Ok(id));
    }

    #[test]
    fn nothing_else_is_a_name(id in 0usize..90, at in 0usize..15, with in "[ -~]{0,2}") {
        let mut name = table()[id].clone();
        let at = at.min(name.len() - 1);
        name.replace_range(at..=at, &with);
        let expected = table().iter().position(|known| known.eq_ignore_ascii_case(&name));
        prop_assert_eq!(PerfReg::from_name(&name).map(PerfReg::index), expected);
    }

    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        let expected = table().iter().position(|known| known.eq_ignore_ascii_case(&text));
        prop_assert_eq!(PerfReg::from_name(&text).map(PerfReg::index), expected);
    }
}

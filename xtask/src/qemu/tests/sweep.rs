use std::collections::BTreeMap;

use super::*;

#[test]
fn every_status_is_met_often() {
    let mut counts = BTreeMap::<String, usize>::new();
    let random = parts::ALL.len() - 1;
    for (number, _) in parts::ALL[random].configurations() {
        for line in expected(SweptDevices::Models, Detail::Calls(random, number)) {
            if let Some((_, answer)) = line.split_once(": answered ") {
                let status = answer.split(' ').next().unwrap().to_string();
                *counts.entry(status).or_default() += 1;
            }
        }
    }
    // The statuses are EOK, EINVAL, EBADTRAP, EWOULDBLOCK, ENOACCESS and ENOTSUPPORTED.
    assert!(counts.keys().eq(&["0", "6", "7", "9", "a", "d"]), "{counts:?}");
    assert!(counts.values().all(|count| *count >= 50), "{counts:?}");
}

#[test]
fn the_first_difference_is_found() {
    // The part has few calls. The guest answers all but one of them as the host does.
    let part = parts::ALL.len() - 2;
    let mut ask = |detail| {
        let mut lines = expected(SweptDevices::Models, detail);
        match detail {
            Detail::Parts => unreachable!("the caller knows that part {part} differs"),
            Detail::Configurations(of) => {
                assert_eq!(of, part);
                lines[3].push('0');
                lines[5].push('0');
            }
            Detail::Calls(of, on) => {
                assert_eq!((of, on), (part, 3));
                lines[7].push('0');
                lines.truncate(9);
            }
        }
        Ok(lines.join("\n"))
    };
    let right = &expected(SweptDevices::Models, Detail::Calls(part, 3))[7];
    assert_eq!(
        locate(SweptDevices::Models, part, &mut ask).unwrap(),
        format!(
            "configuration 3 (batoka with 2 nodes, guest (global) on 0 64, guest (none) on 5), event 7: \
             {right}0; the host has {right}"
        )
    );
}

#[test]
fn a_guest_that_tells_less_differs() {
    let lines = ["one", "two"].map(String::from);
    assert_eq!(first_difference("one\ntwo\n", &lines), None);
    assert_eq!(
        first_difference("one\n", &lines),
        Some((1, "nothing more; the host has two".into()))
    );
}

#[test]
fn calls_are_read_from_a_line() {
    assert_eq!(calls("sweep, one: two: 1560648 calls, digest 03e6"), 1_560_648);
}

//! Tests descriptions of guests and their rights, both valid and contradictory.

use guest_abi::StrandId;
use perfctr_service::Grant;
use simulator::machine::description::Described;

use crate::built;

/// Returns a hypervisor description of two strands and of two guests with these properties. Element 0 is the root, element 3 the list of
/// guests, elements 7 and 10 the strands, and element 13 the first guest.
fn two(first: &str, second: &str) -> String {
    format!(
        r#"
[root]
fwd = ["guests"]
[guests]
fwd = ["guest-0", "guest-1"]
[cpu-0]
pid = 0
[cpu-1]
pid = 1
[guest-0]
resource_id = 3
{first}
[guest-1]
resource_id = 4
{second}
"#
    )
}

/// The offset of element 15: the first guest's property after `resource_id`.
const FIRST: &str = "offset 0x100";
/// The offset of element 17: the second guest, if the first guest has one property besides `resource_id`.
const SECOND_NODE: &str = "offset 0x120";

fn described(text: &str) -> Described {
    Described::new(&built(text)).unwrap()
}

#[track_caller]
fn rejected(text: &str, says: &str) {
    let error = Described::new(&built(text)).unwrap_err();
    assert_eq!(error.to_string(), says);
}

#[test]
fn rights() {
    let (strand, both) = (Grant::STRAND, Grant::GLOBAL_STRAND);
    for (properties, expected) in [
        ("", Grant::NONE),
        (r#"perf-counters = """#, Grant::NONE),
        (r#"perf-counters = "global""#, Grant::GLOBAL),
        (r#"perf-counters = "strand""#, strand),
        (r#"perf-counters = "htstrand""#, Grant::HTSTRAND),
        (r#"perf-counters = "global,strand""#, both),
        (r#"perf-counters = "htstrand,global""#, Grant::ALL),
        ("perfctraccess = 0", Grant::NONE),
        ("perfctraccess = 1", both),
        ("perfctraccess = 0x8000000000000000", both),
        ("perfctrhtaccess = 1", Grant::NONE),
        ("perfctraccess = 0\nperfctrhtaccess = 1", Grant::NONE),
        ("perfctraccess = 2\nperfctrhtaccess = 1", Grant::ALL),
        ("perfctraccess = 1\nperfctrhtaccess = 0", both),
        // `perf-counters`, the LDoms property, takes precedence over the older properties.
        ("perfctraccess = 1\nperfctrhtaccess = 1\nperf-counters = \"strand\"", strand),
        ("perf-counters = \"\"\nperfctraccess = \"x\"", Grant::NONE),
    ] {
        let guests = described(&two(properties, "")).guests;
        assert_eq!(guests[0].config.grant, expected, "{properties}");
        assert_eq!(guests[1].config.grant, Grant::NONE);
    }
}

#[test]
fn rights_that_make_no_sense() {
    let says = |properties: &str, problem: &str| {
        let error = format!("{FIRST}: node guest: {problem}");
        rejected(&two(properties, ""), &error);
    };
    for row in [
        "all | 'all', expected global, strand or htstrand",
        "global, | '', expected global, strand or htstrand",
        "global, strand | ' strand', expected global, strand or htstrand",
        "Global | 'Global', expected global, strand or htstrand",
        "strand,htstrand | both strand and htstrand, which exclude each other",
        "htstrand,global,strand | both strand and htstrand, which exclude each other",
        "global,global | global twice",
        "strand,strand | strand twice",
    ] {
        let (rights, problem) = row.split_once(" | ").unwrap();
        let property = format!("perf-counters = \"{rights}\"");
        says(&property, &format!("perf-counters has {problem}"));
    }
    for row in [
        "perf-counters = 1 | perf-counters is not a string",
        "perfctraccess = \"1\" | perfctraccess is not a number",
        "perfctrhtaccess = { data = \"01\" } | perfctrhtaccess is not a number",
        "perfctrcompatible = \"yes\" | perfctrcompatible is not a number",
        "gid = \"0\" | gid is not a number",
        "name = 0 | name is not a string",
    ] {
        let (property, problem) = row.split_once(" | ").unwrap();
        says(property, &format!("property {problem}"));
    }
    rejected(&two("gid = [0, 1]", ""), "offset 0x110: node guest: property gid is there twice");
}

#[test]
fn one_holder_of_global() {
    let says = ": node guest: has global, as the guest at 0xe0; one guest of a machine can";
    for second in ["perf-counters = \"global\"", "perfctraccess = 1"] {
        let text = two("perf-counters = \"global,strand\"", second);
        rejected(&text, &format!("{SECOND_NODE}{says}"));
    }
}

#[test]
fn strands() {
    let of = |text: &str| -> Vec<Vec<usize>> {
        let guests = described(text).guests.into_iter();
        guests.map(|guest| guest.config.strands.iter().map(StrandId::index).collect()).collect()
    };
    assert_eq!(of(&two("", "")), [[], []] as [[usize; 0]; 2]);
    assert_eq!(of(&two("fwd = [\"cpu-1\"]", "fwd = [\"cpu-0\"]")), [[1], [0]]);
    let back = |text: String| text.replace("pid = 1\n", "pid = 1\nback = [\"guest-0\"]\n");
    assert_eq!(of(&back(two("", "fwd = [\"cpu-0\"]"))), [[1], [0]]);
    assert_eq!(of(&back(two("fwd = [\"cpu-0\", \"cpu-1\"]", ""))), [vec![0, 1], vec![]]);
    // Only an arc from a guest to a cpu assigns a strand.
    let others = two("fwd = [\"guests\", \"root\", \"guest-0\"]", "back = [\"cpu-0\"]");
    assert_eq!(of(&others), [[], []] as [[usize; 0]; 2]);
}

#[test]
fn strands_that_contradict() {
    let shared = ": node guest: strand 0 belongs to an earlier guest, too";
    let second = two("fwd = [\"cpu-0\"]", "fwd = [\"cpu-1\", \"cpu-0\"]");
    rejected(&second, &format!("{SECOND_NODE}{shared}"));
    for (first, back) in [("fwd = [\"cpu-0\"]", "\"guest-1\""), ("", "\"guest-0\", \"guest-1\"")] {
        let back = format!("pid = 0\nback = [{back}]\n");
        let text = two(first, "").replace("pid = 0\n", &back);
        rejected(&text, &format!("offset 0x130{shared}"));
    }
    // The second cpu is element 10.
    for (pid, problem) in [
        ("pid = 0", "pid 0 is there twice"),
        ("pid = 256", "pid 256, expected a strand from 0 to 255"),
        ("pid = 0xffffffffffffffff", "pid 18446744073709551615, expected a strand from 0 to 255"),
        ("id = 1", "has no property pid"),
    ] {
        let text = two("", "").replace("pid = 1", pid);
        rejected(&text, &format!("offset 0xb0: node cpu: {problem}"));
    }
}

#[test]
fn strands_of_the_machine() {
    let machine = r#"
[root]
fwd = ["guests", "platform", "vf-nodes"]
[platform]
name = "SUNW,T5240"
[vf-nodes]
fwd = ["vf-node"]
[vf-node]
id = 0
[guests]
fwd = ["guest"]
[guest]
resource_id = 0
fwd = ["cpu"]
[cpu]
pid = 63
"#;
    assert_eq!(described(machine).guests.len(), 1);
    let says = "offset 0x160: node cpu: pid 64, expected a strand from 0 to 63";
    rejected(&machine.replace("63", "64"), says);
}

#[test]
fn guests_that_contradict() {
    for row in [
        "resource_id = 4 | resource_id = 3 | offset 0x110: node guest: resource_id 3 is there twice",
        "\"guest-1\"] | \"guest-0\"] | offset 0xe0: node guest: resource_id 3 is there twice",
        "resource_id = 3 | gid = 3 | offset 0xe0: node guest: has no property resource_id",
        "\"guests\" | \"guests\", \"guests\" | offset 0x10: node root: has two arcs to nodes guests, expected one",
    ] {
        let [old, new, says] = row.split(" | ").collect::<Vec<_>>()[..] else { unreachable!() };
        rejected(&two("", "").replace(old, new), says);
    }
}

#[test]
fn as_many_guests_as_strands() {
    let many = |count: usize| {
        let arcs: Vec<String> = (0..count).map(|guest| format!("\"guest-{guest}\"")).collect();
        let mut text =
            format!("[root]\nfwd = [\"guests\"]\n[guests]\nfwd = [{}]\n", arcs.join(", "));
        for guest in 0..count {
            text += &format!("[guest-{guest}]\nresource_id = {guest}\n");
        }
        text
    };
    let all = described(&many(256)).guests;
    assert!(all.iter().map(|guest| guest.resource_id).eq(0..256));
    rejected(&many(257), "offset 0x40: node guests: has more than 256 guests");
}

#[test]
fn names() {
    let guests = described(&two("name = \"primary\"\ngid = 7", "")).guests;
    let told: Vec<_> =
        guests.iter().map(|guest| (&*guest.name, guest.resource_id, guest.gid)).collect();
    assert_eq!(told, [("primary", 3, Some(7)), ("guest4", 4, None)]);
}

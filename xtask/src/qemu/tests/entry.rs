use super::*;

fn image(symbols: &[(u64, &str)], code: &[u32]) -> EntryCode {
    let name = |(address, name): &(u64, &str)| (*address, BTreeSet::from([(*name).to_owned()]));
    EntryCode {
        symbols: symbols.iter().map(name).collect(),
        code: (0x1000..).step_by(4).zip(code.iter().copied()).collect(),
        constants: (0x5000, Vec::new()),
    }
}

// Instructions at 0x1000: `call` to 0x2000 and to 0x3000; `sethi %hi(0x2000), %g1`; `or %g1, 8,
// %g1`; and `nop`.
const CALL: [u32; 2] = [0x4000_0400, 0x4000_0800];
const SETHI: [u32; 2] = [0x0300_0008, 0x0300_000c];
const OR: [u32; 2] = [0x8210_6008, 0x8210_6010];
const NOP: u32 = 0x0100_0000;

fn differ(a: &[u32], b: &[u32]) -> Option<String> {
    let shipped = image(&[(0x1000, "start"), (0x2000, "x")], a);
    let tested = image(&[(0x1000, "start"), (0x3000, "x"), (0x4000, "y")], b);
    first_difference(&[shipped, tested])
}

#[test]
fn addresses_may_differ_if_their_symbols_do_not() {
    assert_eq!(differ(&[NOP], &[NOP]), None);
    assert_eq!(differ(&[CALL[0]], &[CALL[1]]), None);
    assert_eq!(differ(&[SETHI[0], NOP, OR[0]], &[SETHI[1], NOP, OR[0]]), None);
}

#[test]
fn nothing_else_may_differ() {
    assert!(differ(&[NOP], &[OR[0]]).is_some());
    // This is a call to 0x4000.
    assert!(differ(&[CALL[0]], &[0x4000_0c00]).is_some());
    assert!(differ(&[SETHI[0], OR[0]], &[SETHI[1], OR[1]]).is_some());
    // This `or` uses a different register than `sethi`.
    assert!(differ(&[SETHI[0], 0x8210_a008], &[SETHI[1], 0x8210_a008]).is_some());
    assert!(differ(&[SETHI[0]], &[SETHI[1]]).is_some());
    assert!(differ(&[OR[0]], &[OR[1]]).is_some());
}

#[test]
fn names_are_without_types() {
    let entry = "_RINvNtNtCslzravPhIUFO_8platform7sparc645entry11start_entryNtNtCs12GXHIiO899_10hypervisor7control10ControlledEBY_";
    assert_eq!(last_name(entry), "start_entry");
    assert_eq!(last_name("sun4v_general"), "sun4v_general");
}

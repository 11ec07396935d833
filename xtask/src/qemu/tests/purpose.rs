use super::*;

fn counted(get_dram: u64) -> BTreeMap<String, u64> {
    BTreeMap::from([("get_dram".into(), get_dram), ("get_invalid".into(), 48)])
}

#[test]
fn adds_up_or_not() {
    let lines = |get_dram| lines(&counted(get_dram));
    assert!(lines(23).ends_with("up to the count: passed\n"));
    assert!(lines(24).ends_with("FAILED, get_dram takes 24, the table has 23\n"));
}

#[test]
fn the_rest_of_a_call_that_enters_rust_is_in_rust() {
    let counted = |get_version| BTreeMap::from([("get_version".into(), get_version)]);
    // Of the call's instructions, 28 are in the trap table and in other assembly.
    let lines = |get_version| lines(&counted(get_version));
    assert!(lines(58).ends_with("up to the count: passed\n"));
    assert!(lines(27).ends_with("FAILED, get_version takes 27, the table has 28\n"));
}

#[test]
fn what_is_repeated_counts_each_time() {
    let lines = [
        "save ! keep",
        ".rept {FIRST}",
        "save ! windows",
        ".irp n, 0, 1, 2",
        "clr %l ! windows",
        ".endr",
        ".endr",
        "done ! return",
    ];
    let mut source = Vec::new();
    repeat(&mut lines.into_iter(), 1, &mut source);
    let windows = ["windows"; 8];
    let expected = [&["keep"], &windows[..], &["return"]].concat();
    assert_eq!(purposes(&source, &[]), expected);
}

#[test]
fn lines_of_the_source() {
    let instruction = |code, purpose| Some(Line::Instruction(code, purpose));
    for (line, expected) in [
        ("    perfctr_get:", Some(Line::Label("perfctr_get"))),
        (
            "  perfctr_set_pcr:      ! sets of HT take the slow path",
            Some(Line::Label("perfctr_set_pcr")),
        ),
        ("     clr %o0       ! return (EOK)", instruction("clr %o0", "return")),
        (
            "   \"xor %o5, {GET}, %g2   ! function\",",
            instruction("xor %o5, {GET}, %g2", "function"),
        ),
        ("   $crate::read!(), // access", instruction("$crate::read!(),", "access")),
        ("   ldub [%g4], %g4     ! of something else", None),
        ("   .globl perfctr_get", None),
    ] {
        assert_eq!(Line::new(line), expected, "{line}");
    }
}

#[test]
fn a_call_executes_what_it_branches_to() {
    // If a branch that annuls is not taken, the instruction after it is not executed.
    let source: Vec<_> = [
        "brz %o0, there ! kind",
        " ldx [%g5], %g4 ! rights",
        "brz,a,pt %o1, elsewhere ! function",
        " stx %g1, [%g2] ! count",
        "ba,a here ! function",
        "there:",
        "clr %o0 ! return",
        "done ! return",
        "here:",
        "stx %g4, [%g3] ! access",
        "done ! return",
    ]
    .into_iter()
    .filter_map(Line::new)
    .collect();
    let there = ["kind", "rights", "return", "return"];
    assert_eq!(purposes(&source, &["there"]), there);
    let here = ["kind", "rights", "function", "function", "access", "return"];
    assert_eq!(purposes(&source, &["here"]), here);
}

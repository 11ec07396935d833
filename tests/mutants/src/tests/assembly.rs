use super::*;
use crate::mutant::Rule;

/// Applies each of a rule's edits to some assembly, and returns the resulting texts.
fn all(rule: Rule, code: &str) -> Vec<String> {
    let text = format!("asm!(\"\n{code}\n\");");
    let edits = edits(&text).unwrap().into_iter().filter(|edit| edit.rule == rule);
    edits.map(|edit| edit.apply(&text)[7..].trim_end_matches("\n\");").to_owned()).collect()
}

#[test]
fn instructions_are_left_out() {
    let code = "1:  brz,pn %o0, 1b ! kind\n     clr %o1\n.align 8\n{word} set the clock\ndone";
    assert_eq!(
        all(ASM_NOP, code),
        [
            code.replace("brz,pn %o0, 1b", "nop"),
            code.replace("clr %o1", "nop"),
            code.replace("done", "nop"),
        ]
    );
}

#[test]
fn instructions_change_places_if_their_order_may_matter() {
    // The order matters in these pairs: a store and a load, a write and a read of one register, and a branch and its delay slot.
    for (first, second) in [
        ("stw %g0, [%g3]", "ldx [%g6], %g1"),
        ("inc %g1", "stx %g1, [%g2]"),
        ("ba,pt %xcc, 1f", "clr %o0"),
    ] {
        let swapped = format!("{second} ! a\n    {first}");
        assert_eq!(all(ASM_SWAP, &format!("{first} ! a\n    {second}")), [swapped]);
    }
    // In these pairs, the order does not matter, or there is a label or a directive between the two instructions.
    for code in [
        "clr %o0\nclr %o1",
        "ldx [%g6], %g1\nldx [%g6 + 8], %g2",
        "stx %g1, [%g6]\nstx %g2, [%g6 + 8]",
        "inc %g1\n1: stx %g1, [%g2]",
        "inc %g1\n.align 8\nstx %g1, [%g2]",
    ] {
        assert_eq!(all(ASM_SWAP, code), [""; 0], "{code}");
    }
}

#[test]
fn literals_in_sequence_are_neighbours() {
    let text = r#"asm!("membar 0x40", "stxa %g1, [%g2] 0x58", out = in(reg) a);"#;
    let swap = edits(text).unwrap().into_iter().find(|edit| edit.rule == ASM_SWAP).unwrap();
    let swapped = r#"asm!("stxa %g1, [%g2] 0x58", "membar 0x40", out = in(reg) a);"#;
    assert_eq!(swap.apply(text), swapped);
}

#[test]
fn conditions_are_negated() {
    assert_eq!(all(ASM_NEGATE, "bgeu,pn %xcc, a"), ["blu,pn %xcc, a"]);
    assert_eq!(all(ASM_NEGATE, "movrnz %g2, {A}, %g2"), ["movrz %g2, {A}, %g2"]);
    assert_eq!(all(ASM_NEGATE, "ba,pt %xcc, a"), [""; 0]);
}

#[test]
fn numbers_are_one_more() {
    for (code, expected) in [
        ("ldx [%g6 + {ROWS}], %g1", "ldx [%g6 + {ROWS} + 8], %g1"),
        ("mov {EBADTRAP}, %o0", "mov {EBADTRAP} + 1, %o0"),
        ("wrpr %g0, 0, %tpc", "wrpr %g0, 1, %tpc"),
        ("membar 0x40", "membar 65"),
    ] {
        assert_eq!(all(ASM_NUMBER, code), [expected]);
    }
    assert_eq!(all(ASM_NUMBER, "ba,pt %xcc, 1b"), [""; 0]);
}

#[test]
fn sources_are_other_registers() {
    for (code, expected) in [
        ("stx %g4, [%g1]", "stx %g5, [%g1]"),
        ("ldx [%g5 + %g1], %g1", "ldx [%g1 + %g1], %g1"),
        ("cmp %o5, %g1", "cmp %o0, %g1"),
        ("wrpr %g0, 0, %tpc", "wrpr %g1, 0, %tpc"),
    ] {
        assert_eq!(all(ASM_REGISTER, code), [expected]);
    }
    assert_eq!(all(ASM_REGISTER, "rdpr %tl, %g1"), [""; 0]);
}

#[test]
fn documentation_and_messages_have_no_instructions() {
    for text in [
        "/// done\nfn f() {}",
        "#[ignore = \"done\"] fn f() {}",
        "fn f() { panic!(\"the call is done\") }",
    ] {
        assert_eq!(edits(text).unwrap(), [], "{text}");
    }
}

use super::*;

#[test]
fn instructions() {
    // save %sp, -128, %sp; restore
    assert!(is_save(0x9de3_bf80) && is_save(0x81e8_0000));
    // add %o0, -2, %o0
    assert!(!is_save(0x9002_3ffe));
    // call; jmpl %g1, %o7; retl
    assert!(is_call(0x4000_0391) && is_call(0x9fc0_4000) && !is_call(0x81c3_e008));
    // fadds %f0, %f1, %f2; ld [%g0], %f0; fba
    assert!(is_float(0x85a0_0841) && is_float(0xc100_2000) && is_float(0x1180_0002));
    // ldx [%o4 + 8], %o1; cas [%o5], %g0, %g2; prefetch
    assert!(!is_float(0xd25b_2008) && !is_float(0xc5e3_5000) && !is_float(0xc36a_2000));
}

#[test]
fn a_store_is_waited_for() {
    // stx %g4, [%g2]; membar #Sync; stw %g0, [%g3]; stw %g4, [%g3]; membar #StoreStore
    let (store, sync, release) = (0xc870_8000, 0x8143_e040, 0xc020_c000);
    let (other, weaker) = (0xc820_c000, 0x8143_e008);
    let waits = |codes: [u32; 4]| {
        let instructions: Vec<_> = [0x10, 0x14, 0x18, 0x1c].into_iter().zip(codes).collect();
        super::is_synced_store(&instructions, 0x14)
    };
    assert!(waits([sync, store, sync, release]));
    assert!(!waits([store, sync, release, sync]), "at another address");
    assert!(!waits([sync, store, weaker, release]));
    assert!(!waits([sync, store, release, sync]));
    assert!(!waits([sync, store, sync, other]));
    assert!(!waits([sync, release, sync, release]));
}

#[test]
fn stores_are_waited_for_before_a_call() {
    // nop; membar #Sync; call
    let (nop, sync, call) = (0x0100_0000, 0x8143_e040, 0x4000_0391);
    let waits = |codes: [u32; 4]| {
        let instructions: Vec<_> = [0x10, 0x14, 0x18, 0x1c].into_iter().zip(codes).collect();
        syncs_before_call(&instructions, 0x14)
    };
    assert!(waits([nop, nop, sync, call]));
    assert!(waits([call, sync, nop, call]));
    assert!(!waits([sync, nop, nop, call]), "before the address");
    assert!(!waits([nop, nop, call, sync]), "after the call");
}

#[test]
fn control_is_found() {
    let named = |name| (name, 4);
    // sethi %hi(0x5eedc0de), %g2; sethi with another number
    let (number, other) = ((4, 0x0517_bb70), (8, 0x0517_bb71));
    assert_eq!(control(&[named("_RNvNtC4core3get")], &[other]), None);
    assert_eq!(
        control(&[named("_RNvNtC7conform5apply")], &[]).unwrap(),
        "it has _RNvNtC7conform5apply"
    );
    assert_eq!(control(&[], &[other, number]).unwrap(), "its function number is at 0x4");
}

#[test]
fn registers_that_are_written() {
    // ldx [%o4 + 8], %o2; add %o0, -2, %o3; sethi %hi(0x400), %o2; cas [%o5], %g0, %o2
    for code in [0xd45b_2008, 0x9602_3ffe, 0x1500_0001, 0xd5e3_5000] {
        assert!(matches!(target(code), Some(10 | 11)), "{code:#x}");
    }
    // stx %o2, [%o4]; cmp %o2, 4; membar #Sync; done; brz,pn %o2, .+8
    for code in [0xd473_0000, 0x80a2_a004, 0x8143_e040, 0x81f0_0000, 0x02c2_8002] {
        assert_eq!(target(code), None, "{code:#x}");
    }
    // ldx [%o2], %o1; rd %asr16, %o1; wr %g3, 0, %asr16
    for (code, to) in [(0xd25a_8000, Some(9)), (0x9344_0000, Some(9)), (0xa180_e000, None)] {
        assert_eq!(target(code), to, "{code:#x}");
    }
}

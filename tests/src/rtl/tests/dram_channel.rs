use super::super::dram::{Channel, Register::*, Step::*, sequence};

#[test]
fn has_two_selects_and_64_bits_of_pic() {
    let mut channel = Channel::default();
    for pic in [!0, 0x8000_0000_8000_0000, 0x7fff_ffff_0000_0001] {
        channel.step(&Write(Pic, pic));
        assert_eq!(channel.step(&Read(Pic)), Some(pic));
    }
    channel.step(&Write(Pcr, 0xffff_ff6a));
    assert_eq!(channel.step(&Read(Pcr)), Some(0x6a));
    for (pcr, pic) in [
        (0x01, 0x1_0000_0002),
        (0x23, 0x3_0000_0004),
        (0x45, 0x5_0000_0006),
        (0x67, 0x7_0000_0008),
        (0x8f, 0),
        (0x9e, 0),
        (0xad, 0),
        (0xbc, 0),
    ] {
        channel.step(&Write(Pcr, pcr));
        channel.step(&Write(Pic, 0));
        channel.step(&Clock([1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!(channel.step(&Read(Pic)), Some(pic), "{pcr:#x}");
    }
}

#[test]
fn sets_a_flag_at_a_wrap_which_stays_until_it_is_written() {
    let mut channel = Channel::default();
    channel.step(&Write(Pcr, 0x01));
    channel.step(&Write(Pic, 0x7fff_fffe_7fff_fffd));
    for (of_zero, of_one, pic) in [
        (1, 2, 0x7fff_ffff_7fff_ffff),
        (1, 0, 0x8000_0000_7fff_ffff),
        (1, 5, 0x8000_0001_8000_0004),
    ] {
        channel.step(&Clock([of_zero, of_one, 0, 0, 0, 0, 0, 0]));
        assert_eq!(channel.step(&Read(Pic)), Some(pic));
    }
    channel.step(&Write(Pic, 0x7fff_ffff_8000_0000));
    channel.step(&Clock([1, 1, 0, 0, 0, 0, 0, 0]));
    assert_eq!(channel.step(&Read(Pic)), Some(0x8000_0000_8000_0001));
}

#[test]
fn wraps_in_random_sequences() {
    let mut channel = Channel::default();
    let mut wraps = 0;
    for step in sequence(1, 2000) {
        let before = channel.step(&Read(Pic)).unwrap();
        channel.step(&step);
        let after = channel.step(&Read(Pic)).unwrap();
        let flags = (before ^ after) & 0x8000_0000_8000_0000;
        wraps += u32::from(matches!(step, Clock(_)) && flags != 0);
    }
    assert!(wraps > 30, "{wraps}");
}

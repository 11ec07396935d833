//! Tests a hypervisor with the three groups. For each call, the tests produce every status that the call can return. The call and status
//! numbers come from the sun4v specification.

mod cpus;
mod descriptions;
mod fake;

use guest_abi::{HvError, StrandId};
use hv_core::{ConsoleOutput, GuestId};
use hypervisor::services::ConsoleInput;

use fake::{BASE, SIZE, machine};

#[test]
fn groups_are_negotiated_before_they_are_served() {
    let fake = machine();
    let functions = [0, 1, 0x10, 0x11, 0x12, 0x14, 0x16, 0x17, 0x50, 0x51, 0x60, 0x61, 0x63];
    for (group, functions) in [(1, &functions[..]), (3, &[0x70, 0x71]), (0x300, &[0x200, 0x201])] {
        assert_eq!(fake.negotiate(0, group, [2, 0]), [13, 2]);
        assert_eq!(fake.negotiate(0, group, [1, 9]), [0, 0], "1.0 is the highest");
        assert_eq!(fake.negotiate(0, group, [0, 0]), [0, 0]);
        for function in functions {
            assert_eq!(fake.call(0, *function, [0x5a; 5])[..2], [7, 0x5a], "{function:#x}");
        }
    }
    assert_eq!(fake.0.exited.get(), None);
    // The other guest's groups are still negotiated.
    assert_eq!(fake.call(9, 0x16, [0; 5])[..2], [0, 0]);
    // Sun's hypervisor has most of the following functions in CORE. This hypervisor has none of them.
    assert_eq!(fake.negotiate(0, 1, [1, 0]), [0, 0]);
    for function in [2, 5, 0x13, 0x15, 0x18, 0x19, 0x20, 0x42, 0x62, 1 << 32 | 0x16] {
        assert_eq!(fake.ask(function, [0; 3]), (7, None), "{function:#x}");
    }
}

#[test]
fn queues_yield_and_time() {
    let fake = machine();
    for (status, [queue, entries]) in [
        (6, [0x3b, 0]),
        (6, [0x40, 128]),
        (6, [u64::MAX, 128]),
        (0, [0x3c, 0]),
        (0, [0x3f, 0]),
        (13, [0x3c, 128]),
        (13, [0x3f, 2]),
    ] {
        assert_eq!(fake.ask(0x14, [queue, BASE, entries]), (status, None), "{queue:#x}");
    }
    assert_eq!(fake.ask(0x12, [0; 3]), (0, None));
    assert_eq!(fake.0.suspended.get(), 1);
    assert_eq!(fake.ask(0x50, [0; 3]), (0, Some(1_790_000_000)));
    assert_eq!(fake.ask(0x51, [5, 0, 0]), (0, None));
    assert_eq!(fake.ask(0x50, [0; 3]), (0, Some(5)));
    for (error, status) in [(HvError::WouldBlock, 9), (HvError::NotSupported, 13)] {
        fake.0.time.set(Err(error));
        assert_eq!(fake.ask(0x50, [0; 3]), (status, None));
    }
    // The hypervisor refuses calls to the diagnosis group.
    assert_eq!(fake.ask(0x200, [BASE, 5, 0]), (10, None));
    assert_eq!(fake.ask(0x201, [BASE, 5, 0]), (10, None));
}

#[test]
fn consoles() {
    let fake = machine();
    fake.0.input.borrow_mut().extend([
        ConsoleInput::Byte(b'a'),
        ConsoleInput::Break,
        ConsoleInput::HangUp,
        ConsoleInput::Byte(255),
    ]);
    for value in [0x61, u64::MAX, u64::MAX - 1, 0xff] {
        assert_eq!(fake.ask(0x60, [0; 3]), (0, Some(value)));
    }
    assert_eq!(fake.ask(0x60, [0; 3]), (9, None));

    for (argument, status) in [(0x41, 0), (0xff, 0), (0x100, 6), (u64::MAX, 0), (u64::MAX - 1, 6)] {
        assert_eq!(fake.ask(0x61, [argument, 7, 0]), (status, None), "{argument:#x}");
    }
    let sent = [ConsoleOutput::Byte(0x41), ConsoleOutput::Byte(0xff), ConsoleOutput::Break];
    assert_eq!(fake.0.output.take(), sent);

    // The string "hello, world" is at an address that is not aligned.
    fake.0.memory[0].borrow_mut()[..2]
        .copy_from_slice(&[0xffff_ff68_656c_6c6f, 0x2c20_776f_726c_64ff]);
    assert_eq!(fake.ask(0x63, [BASE + 3, 12, 0]), (0, None));
    let bytes = |text: &str| text.bytes().map(ConsoleOutput::Byte).collect::<Vec<_>>();
    assert_eq!(fake.0.output.take(), bytes("hello, world"));
    fake.0.room.set(5);
    assert_eq!(fake.ask(0x63, [BASE + 3, 12, 0]), (0, Some(5)));
    assert_eq!(fake.0.output.take(), bytes("hello"));
    assert_eq!(fake.ask(0x63, [BASE + 3, 12, 0]), (9, None));
    assert_eq!(fake.ask(0x61, [0x41, 7, 0]), (9, None));
    // A call outputs at most 256 bytes, and only from the guest's memory.
    fake.0.room.set(usize::MAX);
    assert_eq!(fake.ask(0x63, [BASE, SIZE, 0]), (0, Some(256)));
    assert_eq!(fake.0.output.take().len(), 256);
    assert_eq!(fake.ask(0x63, [0, 0, 0]), (0, None));
    for (real, size) in [
        (BASE - 1, 1),
        (BASE, SIZE + 1),
        (BASE + SIZE, 1),
        (BASE + SIZE - 1, 2),
        (BASE + 1, u64::MAX),
        (u64::MAX, 1),
        (0, 1),
    ] {
        assert_eq!(fake.ask(0x63, [real, size, 0]), (2, None), "{real:#x} {size:#x}");
    }
    assert!(fake.0.output.take().is_empty());
    assert_eq!(fake.ask(0x63, [BASE + SIZE - 1, 1, 0]), (0, None));
}

#[test]
fn soft_states() {
    let fake = machine();
    let text =
        |memory: &[u64]| memory.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
    let guest = GuestId::new(0).unwrap();
    let groups = fake.0.hypervisor.get().unwrap().services();
    // The soft state of a new guest is "transition".
    assert_eq!(fake.ask(0x71, [BASE + 32, 9, 0]), (0, Some(2)));
    assert_eq!(fake.0.memory[0].borrow()[4..9], [0, 0, 0, 0, u64::MAX]);
    // The string "booting" and its NUL. The hypervisor does not store the bytes after the NUL.
    fake.0.memory[0].borrow_mut()[..5].copy_from_slice(&[0x626f_6f74_696e_6700, 1, 2, 3, 4]);
    for (status, [state, real]) in [
        (6, [0, BASE]),
        (6, [3, BASE]),
        (6, [1 << 32 | 1, BASE]),
        (8, [1, BASE + 16]),
        (8, [1, 8]),
        (2, [1, BASE - 32]),
        (2, [1, BASE + SIZE]),
        (2, [1, 0]),
        // The string has no NUL.
        (6, [1, BASE + 64]),
        (0, [1, BASE]),
    ] {
        assert_eq!(fake.ask(0x70, [state, real, 0]), (status, None), "{state:#x} {real:#x}");
    }
    assert_eq!(fake.ask(0x71, [BASE + 32, 9, 0]), (0, Some(1)));
    let expected = [&b"booting\0"[..], &[0; 24]].concat();
    assert_eq!(text(&fake.0.memory[0].borrow()[4..8]), expected);
    assert_eq!(groups.1.get(guest).text[..], expected);
    assert!(groups.1.get(guest).normal);
    for (status, real) in [(8, BASE + 8), (2, BASE - 32), (2, BASE + SIZE), (2, 0)] {
        assert_eq!(fake.ask(0x71, [real, 9, 0]), (status, None), "{real:#x}");
    }
    // The string has 31 bytes and a NUL.
    fake.0.memory[0].borrow_mut()[..4].copy_from_slice(
        &[[0x4141_4141_4141_4141; 3].as_slice(), &[0x4141_4141_4141_4100]].concat(),
    );
    assert_eq!(fake.ask(0x70, [2, BASE, 0]), (0, None));
    assert_eq!(groups.1.get(guest).text[..], [&[0x41; 31][..], &[0]].concat());
    // Each guest has its own soft state. A reset clears the state.
    let other = groups.1.get(GuestId::new(1).unwrap());
    assert_eq!((other.normal, other.text), (false, [0; 32]));
    fake.0.hypervisor.get().unwrap().reset_guest(guest, StrandId::new(9).unwrap());
    assert_eq!(groups.1.get(guest).text, [0; 32]);
}

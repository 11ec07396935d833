//! Tests how CPUs start and stop, and how guests end.

use guest_abi::StrandId;
use hv_core::GuestId;
use hypervisor::services::{CpuState, Start, StrandCommand};

use crate::fake::{BASE, Fake, SIZE, machine};

/// Starts CPU 1 of guest 0. This CPU is strand 5.
fn start_second(fake: Fake) {
    assert_eq!(fake.ask(0x10, [1, BASE + 0x100, BASE]), (0, None));
    fake.take(5);
    assert_eq!(fake.state(1), (0, Some(2)));
}

#[test]
fn cpus_start() {
    let fake = machine();
    assert_eq!(fake.call(0, 0x16, [7; 5]), [0, 0, 7, 7, 7, 0x16]);
    assert_eq!(
        (fake.state(0), fake.state(1), fake.state(2)),
        ((0, Some(2)), (0, Some(1)), (0, Some(1)))
    );
    assert_eq!(fake.state(3), (1, None));
    assert_eq!(fake.state(u64::MAX), (1, None));
    let last = BASE + SIZE;
    for (status, [cpu, pc, rtba]) in [
        (1, [3, BASE, BASE]),
        (1, [1 << 32, BASE, BASE]),
        (6, [0, BASE, BASE]),
        (2, [1, BASE - 4, BASE]),
        (2, [1, last, BASE]),
        (2, [1, last - 2, BASE]),
        (2, [1, u64::MAX - 3, BASE]),
        (2, [1, BASE, BASE - 0x100]),
        (2, [1, BASE, last - 0x80]),
        (2, [1, BASE, u64::MAX - 0xff]),
        (8, [1, BASE + 2, BASE]),
        (8, [1, BASE, BASE + 0x80]),
    ] {
        assert_eq!(fake.ask(0x10, [cpu, pc, rtba]), (status, None), "{cpu:#x} {pc:#x} {rtba:#x}");
    }
    assert!(fake.0.notified.borrow().is_empty());
    // CPU 2 (strand 64) starts at the last instruction of the guest's memory, with a trap table at the highest possible address.
    let [status, ..] = fake.call(0, 0x10, [2, last - 4, last - 0x100, 0x1234, 0]);
    assert_eq!(status, 0);
    assert_eq!(*fake.0.notified.borrow(), [64]);
    // Until CPU 2 takes the command, its state is stopped, and the guest can neither start nor stop it.
    assert_eq!(fake.state(2), (0, Some(1)));
    assert_eq!(fake.ask(0x10, [2, BASE, BASE]), (6, None));
    assert_eq!(fake.ask(0x11, [2, 0, 0]), (9, None));
    fake.take(64);
    let start = Start { pc: last - 4, rtba: last - 0x100, argument: 0x1234 };
    assert_eq!(*fake.0.taken.borrow(), [(64, Some(StrandCommand::Start(start)))]);
    assert_eq!(fake.state(2), (0, Some(2)));
    // Strand 64 is CPU 2 of its guest.
    assert_eq!(fake.call(64, 0x16, [7; 5])[..2], [0, 2]);
    // The strands take an interrupt while no command waits for them.
    fake.take(64);
    fake.take(5);
    assert_eq!(fake.0.taken.borrow()[1..], [(64, None), (5, None)]);
}

#[test]
fn cpus_stop() {
    let fake = machine();
    for (status, cpu) in [(1, 3), (1, u64::MAX), (6, 0), (6, 1)] {
        assert_eq!(fake.ask(0x11, [cpu, 0, 0]), (status, None), "{cpu:#x}");
    }
    start_second(fake);
    // CPUs leave the guest immediately.
    fake.0.prompt.set(true);
    assert_eq!(fake.ask(0x11, [1, 0, 0]), (0, None));
    assert_eq!(fake.0.taken.borrow().last(), Some(&(5, Some(StrandCommand::Stop))));
    assert_eq!(fake.state(1), (0, Some(1)));
    // If a CPU does not leave the guest in time, the call fails, and the CPU stays in the guest.
    fake.0.prompt.set(false);
    start_second(fake);
    assert_eq!(fake.ask(0x11, [1, 0, 0]), (9, None));
    fake.take(5);
    assert_eq!(fake.0.taken.borrow().last(), Some(&(5, None)));
    assert_eq!(fake.state(1), (0, Some(2)));
}

#[test]
fn a_guest_ends() {
    let fake = machine();
    start_second(fake);
    assert_eq!(fake.ask(0x10, [2, BASE, BASE]), (0, None));
    fake.0.notified.borrow_mut().clear();
    // CPU 1 ends the guest with code 42. CPU 0 gets the command to leave the guest, and CPU 2 never enters it.
    assert_eq!(fake.call(5, 0, [42, 0, 0, 0, 0])[0], 0);
    assert_eq!(fake.0.exited.get(), Some((0, 5, 42)));
    assert_eq!(*fake.0.notified.borrow(), [0]);
    let core = fake.core();
    let [first, second] = [0, 1].map(|number| GuestId::new(number).unwrap());
    assert!(core.has_ended(first) && !core.is_stopped(first));
    // CPU 0 makes two more calls before it leaves the guest.
    assert_eq!(fake.ask(0x10, [1, BASE, BASE]), (9, None));
    assert_eq!(fake.ask(0x11, [2, 0, 0]), (9, None));
    fake.take(0);
    fake.take(64);
    assert_eq!(fake.0.taken.borrow()[1..], [(0, Some(StrandCommand::Stop)), (64, None)]);
    assert!(core.is_stopped(first) && !core.is_stopped(second) && !core.has_ended(second));
    assert_eq!(fake.state(1), (0, Some(1)));
    // After a reset the guest can start again.
    let hypervisor = fake.0.hypervisor.get().unwrap();
    hypervisor.reset_guest(first, StrandId::new(9).unwrap());
    assert!(!core.has_ended(first));
    assert_eq!(fake.ask(0x16, [0, 7, 0]), (7, None));
    assert_eq!(core.cpus().state(StrandId::new(9).unwrap()), CpuState::Running);
}

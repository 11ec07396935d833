//! Checks which registers a call preserves, and that it leaves no values behind.

use core::arch::asm;

use guest_abi::Trap;

use crate::calls::{call, negotiate};
use crate::contract::{EBADTRAP, EINVAL, EOK, GET, GROUP, Machine, SET};
use crate::probes::{self, Around, AtLevel, Residue, WithPstate};
use crate::report::{Check, Report};

/// A call that takes one of the paths through the hypervisor: its trap, and %o0 to %o5 before and after the call.
pub struct CallCase(pub Trap, pub [u64; 6], pub [u64; 6]);

const PCR: u64 = 0x1234_5670;

/// The number of the hypervisor's own function.
const OWN_FUNCTION: u64 = 0x84;

/// A number that no function has, although its lower 32 bits are the number of the hypervisor's own function.
const UNKNOWN_FUNCTION: u64 = 1 << 32 | OWN_FUNCTION;

/// Stack pointers: an address of the guest, a misaligned address, the hypervisor's trap table, and an address without memory.
pub const STACK_POINTERS: [u64; 4] = [0x8100_0000 - 2047, 0x8100_0003, 0x10_4000 - 2047, u64::MAX];

macro_rules! names {
    ($path:literal) => {
        [
            concat!("registers preserved", $path),
            concat!("nothing left in windows and globals", $path),
            concat!("20 calls deep", $path),
            concat!("calls at TL 1 and 2", $path),
            concat!("calls with an unusual PSTATE", $path),
        ]
    };
}

/// The names of the checks for each kind of [`Devices`].
const NAMES: [[&str; 5]; 3] = [names!(""), names!(", fast path"), names!(", fast path to memory")];

/// The hypervisor's devices. With models, all calls take the slow path. With other devices, calls take the fast path if they can.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Devices {
    Models,
    /// There are no devices at the registers' addresses. Reads return 0.
    Mmio,
    /// Words of memory in place of device registers.
    Memory,
}

pub fn run(report: &mut Report, machine: Machine, devices: Devices) {
    let names = NAMES[devices as usize];
    negotiate(Some(1));
    call(Trap::Fast, [0, PCR, 0, 0, 0, SET]);
    let read = |value| if devices == Devices::Mmio { 0 } else { value };
    let cases = [
        CallCase(Trap::Fast, [0, 1, 2, 3, 4, GET], [EOK, PCR, 2, 3, 4, GET]),
        CallCase(Trap::Fast, [0, PCR, 2, 3, 4, SET], [EOK, PCR, 2, 3, 4, SET]),
        CallCase(Trap::Fast, [1, 2, 2, 3, 4, SET], [EOK, 2, 2, 3, 4, SET]),
        CallCase(Trap::Fast, [1, 1, 2, 3, 4, GET], [EOK, read(2), 2, 3, 4, GET]),
        CallCase(Trap::Fast, [5, 9, 2, 3, 4, SET], [EOK, 9, 2, 3, 4, SET]),
        CallCase(Trap::Fast, [5, 1, 2, 3, 4, GET], [EOK, read(9), 2, 3, 4, GET]),
        CallCase(Trap::Fast, [90, 1, 2, 3, 4, GET], [EINVAL, 1, 2, 3, 4, GET]),
        CallCase(Trap::Fast, [90, 1, 2, 3, 4, SET], [EINVAL, 1, 2, 3, 4, SET]),
        CallCase(Trap::Fast, [0, 1, 2, 3, 4, 5], [EBADTRAP, 1, 2, 3, 4, 5]),
        CallCase(
            Trap::Fast,
            [0, 1, 2, 3, 4, UNKNOWN_FUNCTION],
            [EBADTRAP, 1, 2, 3, 4, UNKNOWN_FUNCTION],
        ),
        CallCase(
            Trap::Fast,
            [0, 1, 2, 3, 4, OWN_FUNCTION],
            [EOK, OWN_FUNCTION, OWN_FUNCTION + 10, 3, 4, OWN_FUNCTION],
        ),
        CallCase(Trap::Core, [GROUP, 1, 2, 3, 4, 0], [EOK, 1, 2, 3, 4, 0]),
        CallCase(Trap::Core, [GROUP, 9, 9, 3, 4, 3], [EOK, 1, 1, 3, 4, 3]),
        CallCase(Trap::Core, [GROUP, 1, 2, 3, 4, 9], [EBADTRAP, 1, 2, 3, 4, 9]),
        CallCase(
            Trap::Core,
            [GROUP, 1, 2, 3, 4, UNKNOWN_FUNCTION],
            [EBADTRAP, 1, 2, 3, 4, UNKNOWN_FUNCTION],
        ),
    ];
    let hub_cases = [
        CallCase(Trap::Fast, [89, 0, 2, 3, 4, SET], [EOK, 0, 2, 3, 4, SET]),
        CallCase(Trap::Fast, [20, 7, 2, 3, 4, SET], [EOK, 7, 2, 3, 4, SET]),
        CallCase(Trap::Fast, [20, 1, 2, 3, 4, GET], [EOK, read(7), 2, 3, 4, GET]),
        CallCase(Trap::Fast, [89, 1, 2, 3, 4, GET], [EOK, 0, 2, 3, 4, GET]),
    ];
    let cases = || {
        let hub_cases = if machine.hubs { &hub_cases[..] } else { &[] };
        // Excludes the calls to the hypervisor's own functions, which the sweep's image lacks.
        let others = |CallCase(_, [.., function], _): &&CallCase| {
            devices != Devices::Memory || ![OWN_FUNCTION, UNKNOWN_FUNCTION].contains(function)
        };
        cases.iter().chain(hub_cases).filter(others)
    };
    registers(&mut report.check(names[0]), cases());
    left(&mut report.check(names[1]), cases());
    deep(&mut report.check(names[2]), cases());
    levels(&mut report.check(names[3]));
    pstate(&mut report.check(names[4]));
}

pub fn registers<'a>(check: &mut Check<'_>, cases: impl Iterator<Item = &'a CallCase>) {
    for (number, CallCase(trap, before, behind)) in (0..).zip(cases) {
        let probe = match trap {
            Trap::Fast => probes::around_fast,
            Trap::Core => probes::around_core,
        };
        // The calls differ in %o3 and %o4, but not in the sum of the two.
        let others = |[o0, o1, o2, o3, o4, o5]: [u64; 6]| {
            [o0, o1, o2, o3 + number, o4.wrapping_sub(number), o5]
        };
        around(check, probe, &others(*before), &others(*behind));
    }
}

/// A probe that traps with these %o0 to %o5, and stores the registers that it finds after the trap.
pub type Probe = unsafe extern "C" fn(&[u64; 6], &mut Around);

pub fn around(check: &mut Check<'_>, probe: Probe, before: &[u64; 6], behind: &[u64; 6]) {
    let mut found = Around::default();
    // SAFETY: the probe preserves what the ABI requires.
    unsafe { probe(before, &mut found) };
    let expected = Around::with_outs(*behind, found.before);
    check.same(before, found, expected);
}

/// Checks software traps 0x81 to 0xfe, which lie between the two hypercall traps. The hypervisor handles traps 0x84 and 0xfe: it returns
/// EOK, the trap's number, and the sum of %o0 to %o5. It refuses all others with EBADTRAP.
pub fn software_traps(report: &mut Report) {
    const BEFORE: [u64; 6] = [1, 2, 3, 4, 5, GET];
    const REFUSED: [u64; 6] = [EBADTRAP, 2, 3, 4, 5, GET];
    let mut check = report.check("software traps between the hypercalls'");
    for (probe, behind) in [
        (probes::around_0x81 as Probe, REFUSED),
        (probes::around_0x83, REFUSED),
        (probes::around_0x84, [EOK, 0x84, 15 + GET, 4, 5, GET]),
        (probes::around_0xfd, REFUSED),
        (probes::around_0xfe, [EOK, 0xfe, 15 + GET, 4, 5, GET]),
    ] {
        around(&mut check, probe, &BEFORE, &behind);
    }
    for number in 0x81..0xff {
        let status: u64;
        // SAFETY: the hypervisor does not change memory of this guest. It changes only registers %o0 to %o5.
        unsafe {
            asm!(
                "ta %xcc, {number}",
                number = in(reg) number,
                inout("o0") 1_u64 => status,
                inout("o1") 2_u64 => _,
                inout("o2") 3_u64 => _,
                inout("o3") 4_u64 => _,
                inout("o4") 5_u64 => _,
                inout("o5") GET => _,
                options(nostack),
            );
        }
        let claimed = number == 0x84 || number == 0xfe;
        check.same(number, status, if claimed { EOK } else { EBADTRAP });
    }
    // SAFETY: the probe may change all free windows.
    let found = unsafe { probes::left_0x84(1, 2, GET) };
    check.same("left", found, Residue::NONE);
}

fn left<'a>(check: &mut Check<'_>, cases: impl Iterator<Item = &'a CallCase>) {
    for CallCase(trap, [o0, o1, .., o5], _) in cases {
        // SAFETY: the hypervisor changes no memory of this guest. The probe may change all free windows.
        let found = unsafe {
            match trap {
                Trap::Fast => probes::left_fast(*o0, *o1, *o5),
                Trap::Core => probes::left_core(*o0, *o1, *o5),
            }
        };
        check.same((trap, o0, o5), found, Residue::NONE);
    }
}

/// Expects the marks that the hypervisor leaves on the slow path: 0x5e in a window and 0x6f in a global register. The call by trap 0xff is
/// cons_putchar with an invalid character, which takes the slow path and prints nothing.
pub fn leaks(check: &mut Check<'_>) {
    let marks = Residue { windows: 0x5e, globals: 0x6f };
    // SAFETY: the hypervisor changes no memory of this guest. The probes may change all free windows.
    let (fast, core) =
        unsafe { (probes::left_fast(0, 0, OWN_FUNCTION), probes::left_core(GROUP, 1, 1)) };
    check.same("fast", fast, marks);
    check.same("core", core, marks);
}

fn deep<'a>(check: &mut Check<'_>, cases: impl Iterator<Item = &'a CallCase>) {
    for CallCase(trap, [o0, .., o5], _) in cases {
        for sp in STACK_POINTERS {
            // SAFETY: the hypervisor changes no memory of this guest. The probe restores its stack pointer before it saves a window.
            let changed = unsafe {
                match trap {
                    Trap::Fast => probes::deep_fast(20, *o5, *o0, sp),
                    Trap::Core => probes::deep_core(20, *o5, *o0, sp),
                }
            };
            check.same((trap, o0, o5, sp), changed, 0);
        }
    }
    // The calls with undefined arguments may have changed registers and versions.
    negotiate(Some(1));
    call(Trap::Fast, [0, PCR, 0, 0, 0, SET]);
}

fn levels(check: &mut Check<'_>) {
    for level in [1, 2] {
        for (o0, status, value) in [(0, EOK, PCR), (90, EINVAL, 0x5a)] {
            // SAFETY: the hypervisor changes no memory of this guest. Nothing else uses levels above TL 0 now.
            let found = unsafe { probes::at_level(o0, 0x5a, GET, level) };
            let expected = AtLevel { status, value, tl: level, gl: 0x7700 | level };
            check.same((level, o0), found, expected);
        }
    }
}

/// Traps inside trap handlers, until the hypervisor takes the last trap.
pub fn trap_in_handlers(report: &mut Report) {
    negotiate(Some(1));
    report.line(format_args!("the guest traps in its trap handlers now"));
    // SAFETY: the guest does not continue.
    unsafe { probes::trap_in_handlers() }
}

/// Causes a fatal trap in the hypervisor by jumping to the instruction with which the hypervisor loads from devices. The address has no
/// device, and the stack pointer is misaligned. (Where addresses are translated, a guest cannot execute the hypervisor's memory, but its
/// own code may be at the same address.)
pub fn trap_at_access(report: &mut Report) {
    // The instructions are ldx [%o0], %o1; retl; mov %g0, %o0.
    const LOAD: [u32; 3] = [0xd25a_0000, 0x81c3_e008, 0x9010_0000];
    report.line(format_args!("the guest executes the hypervisor's load now"));
    let mut place = 0x10_0000 as *const [u32; 3];
    // SAFETY: the memory of the hypervisor holds these instructions. The guest does not continue.
    unsafe {
        while place.read_volatile() != LOAD {
            place = place.byte_add(4);
        }
        asm!(
            "jmp {place}",
            " mov {sp}, %sp",
            place = in(reg) place,
            sp = in(reg) STACK_POINTERS[1],
            in("o0") 0,
            options(noreturn),
        )
    }
}

fn pstate(check: &mut Check<'_>) {
    const IE: u64 = 1 << 1;
    const AM: u64 = 1 << 3;
    const TLE: u64 = 1 << 8;
    const CLE: u64 = 1 << 9;
    for bits in [IE, AM, TLE, CLE, IE | AM | TLE | CLE] {
        // SAFETY: the hypervisor changes no memory of this guest. The guest accesses no memory while its data are little-endian.
        let found = unsafe { probes::with_pstate(0, GET, bits) };
        let expected = WithPstate { value: PCR, inverted: bits };
        check.same(bits, found, expected);
        // SAFETY: the hypervisor changes no memory of this guest.
        let found = unsafe { probes::with_pstate(90, GET, bits) };
        check.same(bits, found.inverted, bits);
    }
}

//! Builds bare-metal images of the service for SPARC V9, and runs them on QEMU's niagara machine.
//!
//! # Guests of your own
//! A guest is an ELF file for SPARC V9, linked at 0x8000_0000 or above, in the partition's 128 MB of memory. It begins at the file's entry,
//! in privileged mode at TL 0 and GL 0. The MMU and interrupts are off (PIL 15), addresses have 64 bits, CWP is 0, and six windows can be
//! saved. Every register is zero, except that %o0 and %o1 hold the address of the entry. There is no trap table yet. Memory that the ELF
//! file does not load is zero.
//!
//! The hypervisor serves these traps for strand 0 and all its registers:
//! - Trap 0xff: functions 0 (api_set_version), 1 (cons_putchar), 2 (exit) and 3 (api_get_version).
//! - Trap 0x80: functions 0x106 and 0x107 of API group 0x205.
//! - Software traps 0x84 and 0xfe, which it claims for its checks: they return their number and the
//!   sum of %o0 to %o5.
//! - All other software traps between 0x80 and 0xff return EBADTRAP.
//!
//! The guest ends by `exit`, with code 0 if all went well. A trap that privileged code cannot take
//! (no device at a physical address, or a trap above TL 2) ends the guest, too. The hypervisor then
//! prints the registers. This program prints the functions and lines of the addresses in the
//! registers, from the ELF file's symbols and debugging information.
//!
//! The devices are models, unless `--devices` chooses others. A run is the same every time: %tick
//! and %stick advance by 102.4 for each executed instruction.
//!
//! # The sweep
//! The tests on the host make more than two million calls and compare them with a reference model: in hundreds of machines, with every
//! grant, with hubs that are busy and units that fault. The guest makes the same calls by real traps. The guest's hypervisor is the build
//! `control`. With an additional call, the guest switches on another machine, changes the machine, and chooses the strand on which it
//! executes. The guest's answers and counts must be those of the host. Otherwise, the check names the first call that differs. With models,
//! every call takes the slow path.
//!
//! The build `memory` also has this call, and has the shipped entry code with its fast path. QEMU has no devices, so the service's register
//! table has the addresses of words in memory instead of registers. A device that faults or is busy has an unaligned address, so that the
//! access of the fast path traps. %pcr is a word in memory, too, so the guest writes %pcr without the bits HOLDOV. The words between the
//! registers must not change.
//!
//! # Sampling
//! A guest samples with `guest_abi::sampling`, in its handler of overflow traps, on the
//! hypervisor's build `control`.
//!
//! - Real: the guest's trap table, and all that happens in it. `rd` and `wr` of %pcr and %pic trap
//!   as illegal instructions. The overflow trap is interrupt_level_15 (0x4f), which the processor
//!   takes when bit 15 of %softint is set and PSTATE.IE and PIL permit it. A sample's address is
//!   the TPC of the trap, its mode is in TSTATE, and its time is %stick. The handler does what a
//!   guest does on hardware, and also calls for HT.
//! - Modelled: the counters. The guest's handler of illegal instructions decodes the instruction, performs it on the `StrandUnit` of
//!   `platform::models` by the additional call, and skips it. The counters do not see what the processor does, so the guest tells them by
//!   the same call. If this leaves an overflow pending, the hypervisor sets bit 15 of %softint. The trap comes on return from the call, at
//!   the next instruction, or when the guest permits it.
//! - Not shown: a trap in the middle of a program that makes no calls, the distance of this trap from the instruction that caused it, and
//!   samples in user mode.
//!
//! # The simulator's interpreter
//! The simulator's interpreter executes the same images with the guests that check the service. The guests print the same bytes as on QEMU,
//! and take the same number of instructions.
//!
//! # What QEMU does not show
//! - %pcr and %pic: QEMU has neither. In images with devices, %pcr is a word of the strand's memory
//!   (feature `pcr-in-memory` of `platform`), and a load or a store replaces the one instruction
//!   that reads or writes %pcr.
//! - Devices of the processor: `mmio` reads 0 at their addresses.
//! - Isolation of memory: with the MMU off, a guest reads and writes the hypervisor's memory, because the machine does not translate real
//!   addresses. So these checks say nothing about isolation.
//! - Levels of globals: a guest can select level 3, and find there what the veneers left.
//!   Privileged code cannot do so on UltraSPARC T2 Plus.
//! - Trap levels above 2: a guest can set them by `wrpr %tl`. Privileged code cannot do so on
//!   UltraSPARC T2 Plus. A trap at TL 6 ends QEMU. (A trap at TL 2 goes to the hypervisor and ends
//!   the guest, as on the processor.)
//! - More than one strand.
//! - Stores that fail after the strand has continued: QEMU's stores fail at once or never. In the image `faults`, an instruction that traps
//!   replaces an instruction of the guest or of the hypervisor. With software trap 0x84, the guest tells the hypervisor what the processor
//!   would report about the store. The hypervisor does not read the registers in which the UltraSPARC T2 reports failed stores.
//!
//! The checks search the guest's console for lines that begin with `check NAME: passed`,
//! `check NAME: FAILED`, `count NAME: N` and `cases: N`: see [`Report`](report::Report).

pub mod big_endian;
pub mod build;
pub mod bundle;
pub mod c_guest;
pub mod checks;
pub mod entry;
pub mod fatal;
pub mod image;
mod interpreted;
pub mod machine;
pub mod purpose;
pub mod report;
pub mod sweep;
pub mod toolchain;

//! The service on its own instruction set: bare-metal images, built here and run by QEMU's niagara machine.
//!
//! # Guests of your own
//! An ELF file for SPARC V9, linked at 0x8000_0000 or above, in the partition's 128 MB of memory. It begins at the
//! file's entry, in privileged mode at TL 0 and GL 0 with the MMU off, interrupts off (PIL 15) and 64-bit addresses, in
//! window 0 with six windows to save. Every register is zero, but %o0 and %o1 hold the address of the entry. There is no trap
//! table yet, and no memory is cleared: what the ELF file does not load is zero.
//!
//! The hypervisor serves trap 0xff, functions 0 (api_set_version), 1 (cons_putchar), 2 (exit) and 3 (api_get_version),
//! and trap 0x80, functions 0x106 and 0x107, of API group 0x205, for strand 0 and all its registers. Of the software traps
//! between these two it claims 0x84 and 0xfe, for its checks: they return their number and the sum of %o0 to %o5. All others
//! answer EBADTRAP. The guest ends by `exit`, with a code that is 0 if all went well. A trap that privileged code cannot take
//! (no device at a physical address, a trap above TL 2) ends it too: the hypervisor prints the registers, and this program
//! the functions and lines of the addresses in them, from the ELF file's symbols and debugging information.
//!
//! The devices are models, or what `--devices` says. A run is the same every time: %tick and %stick advance with the
//! instructions executed, 102.4 for each.
//!
//! # The sweep
//! The tests on the host make more than two million calls beside a reference model, in hundreds of machines, with every
//! grant, with hubs that are busy and units that fault. The guest makes the same calls by real traps. For that there is a
//! build of the hypervisor (`control`) with a call more, by which its guest switches another machine on, changes it, and
//! says which strand it is. What the guest is answered and what is counted must be what it is on the host; where it is not, the
//! first call that differs is named. There, with models, every call takes the slow path.
//!
//! Another build with that call (`memory`) has the entry code as it is shipped, and so its fast path. QEMU has no devices: in
//! memory, the service's register table gets the addresses of words in place of those of registers. A device that faults or is
//! busy has an address that is not aligned, so that the access of the fast path traps. %pcr is a word, too, so that HOLDOV is
//! left out of what is written to it. Between the registers are words that must stay as they are.
//!
//! # Sampling
//! A guest samples with `guest_abi::sampling`, in its handler of overflow traps, on the same build of the hypervisor.
//!
//! - Real: the guest's trap table, and all that happens in it. `rd` and `wr` of %pcr and %pic trap there as illegal
//!   instructions. The overflow trap is interrupt_level_15 (0x4f), which the processor takes when bit 15 of %softint is set
//!   and PSTATE.IE and PIL let it; the address of a sample is the TPC of that trap, its mode is in TSTATE, its time %stick.
//!   What the handler does is what a guest does on hardware, calls for HT included.
//! - Modelled: the counters. The guest's handler of illegal instructions decodes the instruction, does it by the call that
//!   only this build has, on the `StrandUnit` of `platform::models`, and skips it. They do not see what the processor does:
//!   the guest tells them by the same call what happens, so it is known to a unit what must be counted. Where that leaves
//!   an overflow pending, the hypervisor sets bit 15 of %softint, and the trap comes on return from the call, at the
//!   instruction behind it, or when the guest lets it.
//! - Not shown: a trap in the middle of a program that does not call, and how far it is from the instruction that caused
//!   it; samples in user mode.
//!
//! # Two that execute
//! The simulator's own interpreter executes the same images with the guests that check the service. They print the same there, byte for
//! byte, and take as many instructions.
//!
//! # What QEMU does not show
//! - %pcr and %pic: QEMU has neither. In images with devices %pcr is a word of the strand's memory (feature
//!   `pcr-in-memory` of `platform`), so that the one instruction that reads or writes it is a load or a store.
//! - Devices of the processor: `mmio` reads 0 where they would be.
//! - Isolation of memory: with the MMU off a guest reads and writes the hypervisor's memory, because the machine does
//!   not translate real addresses. Nothing here says that a guest cannot.
//! - Levels of globals: a guest can select level 3, which privileged code cannot on UltraSPARC T2 Plus, and find there
//!   what the veneers left.
//! - Trap levels above 2: a guest can set them by `wrpr %tl`, which privileged code cannot on UltraSPARC T2 Plus. A trap
//!   at TL 6 ends QEMU. (A trap at TL 2 goes to the hypervisor, as there, and ends the guest.)
//! - More than one strand.
//! - Stores that fail after the strand has gone on: QEMU's fail at once or never. In the image `faults` an instruction of the guest
//!   or of the hypervisor is replaced by one that traps, and what the processor would report of the store is what the guest has
//!   asked for by software trap 0x84. The registers in which the UltraSPARC T2 reports it are not read.
//!
//! What the guest writes to its console is looked through for lines that begin with `check NAME: passed`,
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

//! Builds bare-metal images of the service for SPARC V9, and runs them on QEMU's niagara machine.
//!
//! # Guests of your own
//! A guest is an ELF file for SPARC V9, linked at 0x8000_0000 or above, in the partition's 128 MB of memory. Strand 0 enters the guest at
//! the file's entry, in privileged mode, at TL 0 and GL 0. The MMU and interrupts are off (PIL 15), addresses have 64 bits, CWP is 0, and
//! six windows can be saved. Every register is zero, except that %o0 and %o1 hold the address of the entry. There is no trap table yet.
//! Memory that the ELF file does not load is zero.
//!
//! The hypervisor serves these traps:
//! - Trap 0xff: functions 0 (api_set_version), 1 (cons_putchar), 2 (exit) and 3 (api_get_version).
//! - Trap 0x80: functions 0x106 and 0x107 of API group 0x205.
//! - Software traps 0x84 and 0xfe, which the hypervisor claims for its own checks: they return their number and the sum of %o0 to %o5.
//! - All other software traps between 0x80 and 0xff return EBADTRAP.
//!
//! The guest ends with a call to `exit`, with code 0 if all went well. The guest also ends if it causes a trap that privileged code cannot
//! take, because there is no device at a physical address or because the trap level would exceed 2. After such a trap, the hypervisor
//! prints the registers. For each code address in them, this program then prints the function and the source line from the ELF file's
//! symbols and debugging information.
//!
//! The devices are models, unless `--devices` chooses another kind of device. Every run of a guest is the same, because %tick and %stick
//! advance by 102.4 for each executed instruction.
//!
//! # The sweep
//! The tests on the host make more than two million calls, and compare the results with a reference model. The calls cover hundreds of
//! machines, every grant, busy hubs, and units that fault. The guest makes the same calls with real traps. It runs on the build `control`
//! of the hypervisor, which serves an additional call. With this call, the guest switches to another machine, changes it, and chooses the
//! strand that makes the next calls. The guest must get the same answers and counts as the tests on the host. Otherwise, the check names
//! the first call that differs. Because the devices are models, every call takes the slow path.
//!
//! The build `memory` also serves the additional call, but it has the shipped entry code with the fast path. Since QEMU does not have the
//! devices, the service's register table contains the addresses of words in memory instead of device registers. If a device faults or is
//! busy, the table contains an unaligned address, so that the fast path's access traps. A word in memory also replaces %pcr, so the guest
//! writes %pcr without the HOLDOV bits. The words between the registers must not change.
//!
//! # Sampling
//! On the build `control`, a guest takes samples with `guest_abi::sampling` in its overflow trap handler.
//!
//! - Real: the guest's trap table and trap handlers. `rd` and `wr` of %pcr and %pic trap as illegal instructions. The overflow trap is
//!   interrupt_level_15 (0x4f). The processor takes the trap when bit 15 of %softint is set, and when PSTATE.IE and PIL permit the trap.
//!   The address of a sample is the trap's TPC, its mode comes from TSTATE, and its time is %stick. The overflow handler does what a guest
//!   does on hardware, and it also makes the hypercalls that set HT.
//! - Modelled: the counters. They are a `StrandUnit` of `platform::models`. The guest's illegal-instruction handler decodes the
//!   instruction, uses the additional call to perform it on the model, and skips it. The model does not see the processor's events, so the
//!   guest reports them with the additional call. If an overflow is pending after the call, the hypervisor sets bit 15 of %softint. The
//!   trap then comes at the instruction after the call, or as soon as the guest permits it.
//! - Not tested: an overflow trap in the middle of code that makes no calls, the distance between the trap and the instruction that caused
//!   the overflow, and samples in user mode.
//!
//! # The simulator's interpreter
//! The simulator's interpreter executes the same images with the guests that check the service. The guests must print the same bytes as on
//! QEMU, and must execute the same number of instructions.
//!
//! # What QEMU does not show
//! - %pcr and %pic: QEMU has neither. In images with devices, a word in the strand's memory replaces %pcr (feature `pcr-in-memory` of
//!   `platform`). A load or a store replaces the instruction that reads or writes %pcr.
//! - The processor's devices: in the image `mmio`, reads at their addresses return 0.
//! - Memory isolation: with the MMU off, a guest reads and writes the hypervisor's memory, because the machine does not translate real
//!   addresses. So these checks say nothing about isolation.
//! - Global register levels: a guest can select level 3, and find the values that the hypervisor's assembly left there. Privileged code
//!   cannot do so on UltraSPARC T2 Plus.
//! - Trap levels above 2: a guest can set them with `wrpr %tl`. Privileged code cannot do so on UltraSPARC T2 Plus. A trap at TL 6 ends
//!   QEMU. (A trap at TL 2 goes to the hypervisor and ends the guest, as on the processor.)
//! - More than one strand.
//! - Stores that fail after the strand has continued: on QEMU, a store fails immediately or never. In the image `faults`, an instruction
//!   that traps replaces an instruction of the guest or of the hypervisor. With software trap 0x84, the guest tells the hypervisor what the
//!   processor would report about the failed store. So these checks do not test how the hypervisor reads the registers in which the
//!   UltraSPARC T2 reports failed stores.
//!
//! The checks search the guest's console for lines that begin with `check NAME: passed`, `check NAME: FAILED`, `count NAME: N` and
//! `cases: N`: see [`Report`](report::Report).

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

//! Tests the production image on the simulated machine. The image must boot on one strand and on all strands, isolate guests, and continue
//! when a guest ends. The tests need the tools that build images.

mod attacks;
mod barriers;
mod boundaries;
mod broken;
mod clocks;
mod conform;
mod contract;
mod failures;
mod faults;
mod fight;
mod kernel;
mod late;
mod levels;
mod lists;
mod log;
mod neighbour;
mod orders;
mod rings;
mod services;
mod transfers;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use guest_abi::{Mcu, Node};
use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use perfctr_service::{Grants, Right};
use platform::memory_map::RESET_CODE;
use platform::models::FaultyUnit;
use platform::{Machine, Model};
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Limits, Setup, Stop, map};
use simulator::machine::description;
use simulator::memory::Config;
use tests::assembler::NOP;
use tests::machine::strand;
use vfalls::cmd::boot::elf;
use xtask::cargo::root;
use xtask::qemu::build::{self, Production};
use xtask::qemu::entry;
use xtask::qemu::toolchain::Toolchain;
use xtask::tools::{self, SPARC_GCC};

const MEMORY: u64 = 8 << 20;
/// The offset of the guest's task in its memory. The next two words are the number of CPUs and an address that the task uses. The results
/// begin at [`RESULTS`].
const TASK: u64 = 0x40;
const RESULTS: u64 = 0x80;
/// The address of the trap table in `guest.s`.
const TABLE: u64 = 0x8000_8000;

/// The real address of a guest's memory, unless a test sets another address.
const REAL: u64 = 0x8000_0000;

/// The test's %pcr value: counter 0 counts instructions (SL 2, MASK 0xfd) of privileged software.
const PCR: u64 = 2 << 14 | 0xfd << 6 | 1 << 1;

const ENOACCESS: u64 = 10;

/// The offset of the first noted trap in a guest's results, in bytes. Each noted trap takes 32 bytes.
const NOTED: u64 = 64;

/// What the program `guest.s` does. The values are the same as in `guest.s`.
#[derive(Clone, Copy)]
enum Task {
    AllCpus,
    Traps,
    Look,
    Fatal,
    Climb,
    Endless,
}

/// A guest: its program, strands and rights, and the real address of its memory.
struct Guest<'a> {
    program: &'a [u8],
    /// The words to write to the guest's memory from offset [`TASK`] on; `None` if the program does not use them.
    words: Option<[u64; 3]>,
    strands: &'a [usize],
    rights: &'a str,
    real: u64,
}

impl<'a> Guest<'a> {
    /// Returns a guest with the program `guest.s`.
    fn new(task: Task, strands: &'a [usize]) -> Self {
        static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
        let peek = REAL + MEMORY;
        Self {
            program: PROGRAM.get_or_init(|| fs::read(assembled("guest", REAL)).unwrap()),
            words: Some([task as u64, strands.len() as u64, peek]),
            strands,
            rights: "strand",
            real: REAL,
        }
    }
}

/// Builds an image and returns its path. All kinds of images are built in one directory, one after another. A process builds each kind only
/// once.
fn built(production: Production) -> PathBuf {
    static TOOLCHAIN: OnceLock<Toolchain> = OnceLock::new();
    static BUILT: Mutex<Vec<(Production, PathBuf)>> = Mutex::new(Vec::new());
    let mut built = BUILT.lock().unwrap();
    if let Some((_, path)) = built.iter().find(|(form, _)| *form == production) {
        return path.clone();
    }
    let toolchain = TOOLCHAIN.get_or_init(|| Toolchain::find().unwrap());
    let path = build::production(toolchain, production).unwrap();
    built.push((production, path.clone()));
    path
}

fn image(production: Production) -> Vec<u8> {
    fs::read(built(production)).unwrap()
}

/// Assembles one of this directory's guests for a real address. Returns the path of the ELF file.
fn assembled(name: &str, real: u64) -> PathBuf {
    let sources = root().join("vfalls/tests/production");
    let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{real:x}.elf"));
    let mut gcc = Command::new(tools::path(&SPARC_GCC).unwrap());
    gcc.current_dir(&sources)
        .args("-nostdlib -static -no-pie -fno-pie -fno-pic -mcpu=v9 -Wa,-Av9b".split(' '))
        .arg("-Wl,-N,-z,noexecstack,--build-id=none")
        .arg(format!("-Wl,-Ttext={real:#x}"))
        .arg("-o")
        .arg(&built)
        .arg(format!("{name}.s"));
    assert!(gcc.status().unwrap().success());
    built
}

struct Booted(Execution);

impl Booted {
    /// Boots a T5440 without a memory system.
    fn new(production: Production, guests: &[Guest<'_>]) -> Self {
        Self::with(production, guests, None)
    }

    fn with(production: Production, guests: &[Guest<'_>], memory: Option<Config>) -> Self {
        Self::boot(&image(production), guests, memory)
    }

    /// Boots a T5440 with this hypervisor.
    fn boot(hypervisor: &[u8], guests: &[Guest<'_>], memory: Option<Config>) -> Self {
        Self::boot_nodes(4, hypervisor, guests, memory)
    }

    /// Boots a machine with hubs and this number of nodes.
    fn boot_nodes(
        nodes: usize,
        hypervisor: &[u8],
        guests: &[Guest<'_>],
        memory: Option<Config>,
    ) -> Self {
        let machine = Machine::new(Model::Batoka, nodes).unwrap();
        let mut execution = Execution::new(
            &Setup::new(machine).memory(memory).partition(MEMORY * guests.len() as u64),
        )
        .unwrap();
        execution.load(map::RESET, RESET_CODE.map(u32::to_be_bytes).as_flattened()).unwrap();
        elf::load(hypervisor, &mut execution, 0).unwrap();
        let description = description::parse(&description(nodes, guests)).unwrap().build().unwrap();
        execution.load(map::DESCRIPTION.start, &description).unwrap();
        for (number, described) in guests.iter().enumerate() {
            let base = map::PARTITION + number as u64 * MEMORY;
            let moved = base.wrapping_sub(described.real);
            elf::load(described.program, &mut execution, moved).unwrap();
            if let Some(words) = described.words {
                let words = words.map(u64::to_be_bytes);
                execution.load(base + TASK, words.as_flattened()).unwrap();
            }
        }
        Self(execution)
    }

    /// Requests an operator's step on this strand. The hypervisor must perform it.
    fn operate(&mut self, on: usize, step: &Step, instructions: u64) {
        self.0.operate(strand(on), step).unwrap();
        self.0.run(Limits::instructions(instructions));
        assert_eq!(self.0.operated(), Some(Ok(None)));
    }

    /// Runs until the machine stops.
    fn end(&mut self) {
        let stop = self.0.run(Limits::instructions(600_000_000));
        assert_eq!(stop, Stop::Off, "{:?}", self.consoles());
    }

    /// Returns what the operator is told about failures: the latest records as text, and the total number of records.
    fn failure_records(&mut self) -> (Vec<String>, u64) {
        let (failures, number) = self.0.failures();
        (failures.iter().map(ToString::to_string).collect(), number)
    }

    fn consoles(&mut self) -> Vec<String> {
        let text = |number| String::from_utf8(self.0.console(number)).unwrap();
        (0..4).map(text).collect()
    }

    /// Returns the lines of the hypervisor's log since the previous call, without their times.
    fn log(&mut self) -> Vec<String> {
        self.timed_log().into_iter().map(|(_, text)| text).collect()
    }

    /// Returns the lines of the hypervisor's log since the previous call, each with its time in seconds.
    fn timed_log(&mut self) -> Vec<(f64, String)> {
        let text = String::from_utf8(self.0.hypervisor_console()).unwrap();
        let line = |line: &str| {
            let (time, text) = line.strip_prefix('[').unwrap().split_once("] ").unwrap();
            (time.trim().parse().expect(line), text.to_owned())
        };
        text.lines().map(line).collect()
    }

    fn results<const N: usize>(&mut self, guest: u64, from: u64) -> [u64; N] {
        self.words(guest, RESULTS + 8 * from)
    }

    /// Returns words of a guest's memory, `from` bytes after its start.
    fn words<const N: usize>(&mut self, guest: u64, from: u64) -> [u64; N] {
        let mut bytes = vec![0; 8 * N];
        let address = map::PARTITION + guest * MEMORY + from;
        self.0.read(address, &mut bytes).unwrap();
        let (words, _) = bytes.as_chunks();
        std::array::from_fn(|word| u64::from_be_bytes(words[word]))
    }
}

/// Returns the description of a machine with these guests, whose memories are adjacent.
fn description(nodes: usize, guests: &[Guest<'_>]) -> String {
    let names = |prefix: &str, numbers: &mut dyn Iterator<Item = usize>| {
        let names = numbers.map(|number| format!("\"{prefix}-{number}\""));
        names.collect::<Vec<_>>().join(", ")
    };
    let mut text = String::from(
        "[root]\nfwd = [\"platform\", \"vf-nodes\", \"guests\"]\n[platform]\nname = \"SUNW,T5440\"\n",
    );
    text += &format!("[vf-nodes]\nfwd = [{}]\n", names("vf-node", &mut (0..nodes)));
    for node in 0..nodes {
        text +=
            &format!("[vf-node-{node}]\nid = {node}\nfwd = [\"mcu-{node}0\", \"mcu-{node}1\"]\n");
        text += &format!("[mcu-{node}0]\nid = 0\n[mcu-{node}1]\nid = 1\n");
    }
    text += &format!("[guests]\nfwd = [{}]\n", names("guest", &mut (0..guests.len())));
    for (number, guest) in guests.iter().enumerate() {
        let base = map::PARTITION + number as u64 * MEMORY;
        let cpus = names("cpu", &mut guest.strands.iter().copied());
        text += &format!(
            "[guest-{number}]\nname = \"g{number}\"\nresource_id = {number}\nperf-counters = \"{}\"\nmemory-base = {base}\nmemory-size = {MEMORY}\nreal-base = {}\nfwd = [{cpus}]\n",
            guest.rights, guest.real
        );
        for strand in guest.strands {
            text += &format!("[cpu-{strand}]\npid = {strand}\n");
        }
    }
    text
}

/// Each CPU of a guest has its own number, argument, trap table and %pcr, and counts its own instructions.
#[test]
#[ignore = "builds images"]
fn all_cpus_of_two_guests_run() {
    for count in [1, 2, 64, 256] {
        let strands: Vec<usize> = (0..count).collect();
        let (first, second) = strands.split_at(count.div_ceil(2));
        let guests = [Guest::new(Task::AllCpus, first), Guest::new(Task::AllCpus, second)];
        let guests = &guests[..count.min(2)];
        let mut booted = Booted::new(Production::Shipped, guests);
        booted.end();
        for (number, guest) in guests.iter().enumerate() {
            assert_eq!(booted.0.guest(number), GuestState::Exited(0));
            for cpu in 0..guest.strands.len() as u64 {
                let result = booted.results(number as u64, 8 + 8 * cpu);
                // The counter counts 100 `nop`s and one more instruction: either the `wr` before
                // them or the `rd` after them.
                let expected = [cpu, 0x100 + cpu, TABLE, 0, result[4], 0, PCR];
                assert_eq!(result, expected, "CPU {cpu} of {count} strands");
                assert_eq!(result[4], 101, "CPU {cpu} of {count} strands");
            }
        }
    }
}

/// Eight of nine guests share a core. Its TLBs mark a guest's translations with three bits, in which nine guests' numbers do not fit.
#[test]
#[ignore = "builds images"]
fn nine_guests_have_their_own_memory() {
    let strands: [_; 9] = std::array::from_fn(|strand| [strand]);
    let guests = strands.each_ref().map(|strand| Guest::new(Task::AllCpus, strand));
    let mut booted = Booted::new(Production::Shipped, &guests);
    booted.end();
    for guest in 0..9 {
        assert_eq!(booted.0.guest(guest), GuestState::Exited(0));
        let [cpu, argument] = booted.results(guest as u64, 8);
        assert_eq!((cpu, argument), (0, 0x100), "guest {guest}");
    }
}

/// Returns the shipped image with these guests, after 3 million instructions.
fn running(guests: &[Guest]) -> Booted {
    let mut booted = Booted::new(Production::Shipped, guests);
    booted.0.run(Limits::instructions(3_000_000));
    booted
}

/// A guest takes its traps in its own trap table at the right level, and reaches only its memory.
#[test]
#[ignore = "builds images"]
fn a_guest_takes_its_own_traps() {
    let mut booted = running(&[Guest::new(Task::Endless, &[1]), Guest::new(Task::Traps, &[9])]);
    assert_eq!(booted.0.guest(1), GuestState::Exited(NOTED + 9 * 32));
    let traps = [0x10, 0x34, 0x37, 0x30, 0x30, 0x30, 0x30, 0x08, 0x10];
    for (number, trap) in (0..).zip(traps) {
        let [found, tl, gl, _] = booted.results(1, 8 + 4 * number);
        // The last trap happens in another trap's handler.
        let level = if number == 8 { 2 } else { 1 };
        assert_eq!([found, tl, gl], [trap, level, level], "trap {number}");
    }
    assert_eq!(booted.0.guest(0), GuestState::Runs);
}

/// A guest's access beyond its own memory traps, although the address belongs to the next guest's memory. In an image without this bounds
/// check, the guest reads the next guest's memory.
#[test]
#[ignore = "builds images"]
fn isolation_is_the_bound() {
    const TRAP: u64 = 0x30;
    for (production, expected, read) in
        [(Production::Shipped, TRAP, false), (Production::Unbounded, 0, true)]
    {
        let guests = [Guest::new(Task::Look, &[0]), Guest::new(Task::Endless, &[8])];
        let mut booted = Booted::new(production, &guests);
        booted.0.run(Limits::instructions(3_000_000));
        assert_eq!(booted.0.guest(0), GuestState::Exited(expected));
        let [found] = booted.results(0, 1);
        let mut first = [0; 8];
        booted.0.read(map::PARTITION + MEMORY, &mut first).unwrap();
        assert_eq!(found == u64::from_be_bytes(first), read);
    }
}

/// A trap that a guest cannot take ends only that guest. The guest's console shows the reason.
#[test]
#[ignore = "builds images"]
fn a_guest_ends_alone() {
    let mut booted = running(&[Guest::new(Task::Fatal, &[0]), Guest::new(Task::Endless, &[1])]);
    assert_eq!(booted.0.guest(0), GuestState::Trapped);
    let said = &booted.consoles()[0];
    assert!(said.starts_with("guest: trap 0x10 at 0x8000"), "{said}");
    let [before] = booted.results(1, 0);
    booted.0.run(Limits::instructions(10_000));
    let [after] = booted.results(1, 0);
    assert!(after > before, "the other goes on");
}

/// A guest can return from trap levels that it never entered. If the trap registers of such a level held the hypervisor's privilege, the
/// guest would get this privilege. The shipped image clears the registers, even after a call in which a device access trapped. An image
/// without the clearing instructions gives the guest the privilege.
#[test]
#[ignore = "builds images"]
fn a_guest_cannot_climb() {
    /// The instruction `wrhpr 0, %htstate`, which clears the privilege.
    const CLEAR: u32 = 0x8398_2000;
    let climbs = |hypervisor: &[u8]| {
        let guest = Guest { rights: "global", ..Guest::new(Task::Climb, &[0]) };
        let mut booted = Booted::boot(hypervisor, &[guest], None);
        let unit = FaultyUnit::Mcu(Node::Node0, Mcu::ALL[0]);
        booted.0.devices().set_faulty(unit, true);
        booted.0.run(Limits::instructions(10_000_000));
        let [status] = booted.results(0, 1);
        assert_eq!(status, ENOACCESS);
        let traps = [0, 1].map(|number| booted.results(0, 8 + 4 * number));
        (booted.0.guest(0), traps) != (GuestState::Exited(NOTED + 2 * 32), [[0x10]; 2])
    };
    let shipped = image(Production::Shipped);
    assert!(!climbs(&shipped));
    let instructions = elf::instructions(&elf::parse(&shipped).unwrap()).unwrap();
    let clear = instructions.iter().filter(|(_, code)| *code == CLEAR);
    let without = clear
        .fold(shipped.clone(), |image, (address, _)| attacks::with_word(&image, *address, NOP));
    assert!(climbs(&without));
}

/// QEMU has no %pcr, so the image for QEMU keeps %pcr in memory: it has a load in place of each `rd` and a store in place of each `wr`. All
/// other instructions of the entry code are the same as in the shipped image.
#[test]
#[ignore = "builds images"]
fn qemu_executes_the_same_entry_code() {
    let [shipped, other, unbounded] =
        [Production::Shipped, Production::PcrInMemory, Production::Unbounded].map(image);
    let [shipped, other, unbounded] =
        [&shipped, &other, &unbounded].map(|file| elf::parse(file).unwrap());
    assert_eq!(entry::difference(&shipped, &other, &[]).unwrap(), None);
    assert_eq!(entry::difference(&shipped, &unbounded, &[]).unwrap(), None);
    // The comparison allows these replacements in one direction only: the first image must be the one with `rd` and `wr`.
    let back = entry::difference(&other, &shipped, &[]).unwrap();
    assert!(back.unwrap().starts_with("93440000 at "));
}

/// While both guests make calls, the operator moves a right from one guest to the other, and then
/// resets the guest that received the right.
#[test]
#[ignore = "builds images"]
fn the_operator_is_heard() {
    let first = Guest { rights: "global", ..Guest::new(Task::Endless, &[3]) };
    let mut booted = running(&[first, Guest::new(Task::Endless, &[11])]);
    let second = GuestId::new(1).unwrap();
    let [_, status] = booted.results(0, 0);
    assert_eq!(status, 0, "the guest reads a channel");
    let [_, status] = booted.results(1, 0);
    assert_eq!(status, ENOACCESS);
    let mut grants = Grants::none(2).unwrap();
    grants.grant(second, Right::Global).unwrap();
    booted.operate(11, &Step::Reconfigure(grants), 3_000_000);
    let [_, status] = booted.results(0, 0);
    assert_eq!(status, ENOACCESS);
    let [_, status] = booted.results(1, 0);
    assert_eq!(status, 0, "the guest reads a channel");
    // Guest 1 starts again after the reset.
    let [before] = booted.results(1, 0);
    booted.operate(3, &Step::Reset(second), 3_000_000);
    let [after, status] = booted.results(1, 0);
    assert!(after > before && status == 0);
}

//! Makes one kind of call many times, so that a tool can count the instructions of [`hypercall`], [`rustsbi_fw_read`] and [`record_event`].
//! A call begins and ends with the guest's registers in memory. An event begins with its fields in registers and ends in the ring. The
//! program has its own board, on which each access costs one load or store.
//!
//! Usage: `call-cost KIND`. The names of the kinds are in `cargo xtask bench`. `call-cost time` times all kinds of calls instead.

mod time;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use guest_abi::trap::{API_SET_VERSION, VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{ApiGroup, Clock, Registers, StrandId, Version};
use hv_core::trace::{Clock19, Mode, NoTrace, Ring, Trace, Tracer};
use hv_core::{Caller, GuestId, Hypervisor, NoConsole, Strand, TrapOutcome};
use perfctr_service::trace::Get;
use perfctr_service::{Grant, GuestConfig, PerfCounterService, StrandSet};
use platform::{AccessError, Bus, Machine, Model, PhysicalAddress, StrandRegisters};
use rustsbi::{EnvInfo, Pmu, RustSBI, SbiRet};

const CALLS: usize = 1000;

/// Device registers. Each access costs one load or store.
struct Board {
    cells: [AtomicU64; 256],
    pcr: [AtomicU64; StrandId::COUNT],
}

impl Board {
    fn cell(&self, address: PhysicalAddress) -> &AtomicU64 {
        &self.cells[(address.0 >> 3 & 0xff) as usize]
    }
}

impl Bus for Board {
    #[inline(always)]
    fn read(&self, _: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        Ok(self.cell(address).load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn write(&self, _: StrandId, address: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        self.cell(address).store(value, Ordering::Relaxed);
        Ok(())
    }
}

impl StrandRegisters for Board {
    #[inline(always)]
    fn pcr(&self, strand: StrandId) -> u64 {
        self.pcr[strand.index()].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set_pcr(&self, strand: StrandId, value: u64) {
        self.pcr[strand.index()].store(value, Ordering::Relaxed);
    }

    fn set_pic(&self, _: StrandId, _: u64) {}

    fn ticks(&self, _: StrandId) -> u64 {
        0
    }

    fn cross_call(&self, _: StrandId) {}
}

static BOARD: Board = Board {
    cells: [const { AtomicU64::new(0) }; 256],
    pcr: [const { AtomicU64::new(0) }; StrandId::COUNT],
};

type Measured<'a, T> =
    Strand<'a, (PerfCounterService<(&'static Board, &'static Board, T)>,), NoConsole, T>;

/// Makes the call in `registers`, and writes the results back to them.
#[inline(never)]
fn hypercall<T: Trace>(strand: &Measured<'_, T>, registers: &mut Registers) {
    strand.fast_trap(registers);
}

/// A clock whose read costs one load.
struct Tick(AtomicU64);

impl Clock for Tick {
    #[inline(always)]
    fn ticks(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A ring with room for all the events of a run.
type EventRing = Ring<Clock19, 4, 2039>;

static RINGS: [EventRing; 72] = [const { Ring::new(Mode::Discard) }; 72];

/// Records a register read, which is a five-word event. `about` holds the register, status, guest and strand, one byte each.
#[inline(never)]
fn record_event(ring: &EventRing, time: u64, about: u32, duration: u32, value: u64) {
    let [perfreg, status, guest, strand] = about.to_le_bytes();
    #[rustfmt::skip]
    let event = Get { perfreg, status, guest, strand, duration, value };
    ring.record(time, event);
}

/// A firmware counter of rustsbi whose read costs one load.
#[derive(RustSBI)]
struct Firmware {
    pmu: FirmwareCounters,
    info: NoInfo,
}

struct FirmwareCounters([AtomicU64; 32]);

impl Pmu for FirmwareCounters {
    fn num_counters(&self) -> usize {
        self.0.len()
    }

    fn counter_get_info(&self, _: usize) -> SbiRet {
        SbiRet::not_supported()
    }

    fn counter_config_matching(&self, _: usize, _: usize, _: usize, _: usize, _: u64) -> SbiRet {
        SbiRet::not_supported()
    }

    fn counter_start(&self, _: usize, _: usize, _: usize, _: u64) -> SbiRet {
        SbiRet::not_supported()
    }

    fn counter_stop(&self, _: usize, _: usize, _: usize) -> SbiRet {
        SbiRet::not_supported()
    }

    fn counter_fw_read(&self, counter: usize) -> SbiRet {
        match self.0.get(counter) {
            Some(value) => SbiRet::success(value.load(Ordering::Relaxed) as usize),
            None => SbiRet::invalid_param(),
        }
    }
}

struct NoInfo;

impl EnvInfo for NoInfo {
    fn mvendorid(&self) -> usize {
        0
    }

    fn marchid(&self) -> usize {
        0
    }

    fn mimpid(&self) -> usize {
        0
    }
}

#[inline(never)]
fn rustsbi_fw_read(firmware: &Firmware, frame: &mut [usize; 8]) {
    let [a0, a1, a2, a3, a4, a5, function, extension] = *frame;
    let SbiRet { error, value } =
        firmware.handle_ecall(extension, function, [a0, a1, a2, a3, a4, a5]);
    (frame[0], frame[1]) = (error, value);
}

/// The registers of a `counter_fw_read` call for counter 3.
const FW_READ: [usize; 8] = [3, 0, 0, 0, 0, 0, 5, 0x50_4d55];

impl Firmware {
    fn new() -> Self {
        Self { pmu: FirmwareCounters([const { AtomicU64::new(7) }; 32]), info: NoInfo }
    }
}

fn main() -> ExitCode {
    let kind = std::env::args().nth(1).unwrap_or_default();
    if kind == "time" {
        time::all();
        return ExitCode::SUCCESS;
    }
    if kind == "rustsbi_fw_read" {
        let firmware = Firmware::new();
        for _ in 0..CALLS {
            let mut frame = black_box(FW_READ);
            rustsbi_fw_read(&firmware, &mut frame);
            assert_eq!(black_box(frame)[..2], [0, 7]);
        }
        return ExitCode::SUCCESS;
    }
    if kind == "record_event" {
        for time in 0..CALLS as u64 {
            let (ring, time) = (black_box(&RINGS[70]), black_box(time));
            record_event(ring, time, black_box(0x4600_0007), black_box(20), time);
        }
        assert_eq!(RINGS[70].discarded(), 0);
        return ExitCode::SUCCESS;
    }
    let Some((call, status)) = call_of(&kind) else {
        eprintln!("call-cost: unknown kind '{kind}'");
        return ExitCode::from(2);
    };
    if let Some((grant, version)) = refused(&kind) {
        let hypervisor = hypervisor_for(NoTrace, grant, version);
        calls(black_box(&strand(&hypervisor, 70)), call, status);
    } else if !kind.contains("trace") {
        with_strand(NoTrace, |strand| calls(strand, call, status));
    } else {
        let tracer = Tracer::new(Tick(AtomicU64::new(0)), &RINGS);
        tracer.set_on(kind == "get_dram_traced");
        with_strand(&tracer, |strand| calls(strand, call, status));
    }
    ExitCode::SUCCESS
}

/// Returns the registers for this kind of call and the status that it returns, or `None` if the kind does not exist.
fn call_of(kind: &str) -> Option<(Registers, u64)> {
    let (function, id, status) = match kind {
        "get_dram" | "get_dram_tracer_off" | "get_dram_traced" => (VFALLS_GET_PERFREG, 7, 0),
        "set_dram" => (VFALLS_SET_PERFREG, 7, 0),
        "get_pcr" => (VFALLS_GET_PERFREG, 0, 0),
        "set_pcr" => (VFALLS_SET_PERFREG, 0, 0),
        "get_zambezi" => (VFALLS_GET_PERFREG, 62, 0),
        "set_zambezi" => (VFALLS_SET_PERFREG, 62, 0),
        "get_other_zambezi" => (VFALLS_GET_PERFREG, 26, 0),
        // Of all calls refused with the same status, those for hubs take the most instructions.
        "get_bad_trap" => (VFALLS_GET_PERFREG, 62, 7),
        "set_bad_trap" => (VFALLS_SET_PERFREG, 62, 7),
        "get_invalid" => (VFALLS_GET_PERFREG, 90, 6),
        "set_invalid" => (VFALLS_SET_PERFREG, 90, 6),
        "get_not_supported" => (VFALLS_GET_PERFREG, 62, 13),
        "set_not_supported" => (VFALLS_SET_PERFREG, 62, 13),
        "get_no_access" => (VFALLS_GET_PERFREG, 62, 10),
        "set_no_access" => (VFALLS_SET_PERFREG, 62, 10),
        _ => return None,
    };
    Some((Registers::call(function, [id, 0x55, 2, 3, 4]), status))
}

/// Returns the grant and the negotiated version of a guest whose calls of this kind are refused, or `None` if the guest is not the reason
/// why such calls are refused.
fn refused(kind: &str) -> Option<(Grant, Version)> {
    match kind.split_once('_')?.1 {
        "bad_trap" => Some((Grant::ALL, Version::NONE)),
        "not_supported" => Some((Grant::ALL, Version::V1_0)),
        "no_access" => Some((Grant::HTSTRAND, Version::V1_1)),
        _ => None,
    }
}

type Hypercalls<T> =
    Hypervisor<(PerfCounterService<(&'static Board, &'static Board, T)>,), NoConsole, T>;

/// Calls `run` with a strand whose guest has negotiated version 1.1.
fn with_strand<T: Trace + Copy, R>(trace: T, run: impl FnOnce(&Measured<'_, T>) -> R) -> R {
    let hypervisor = hypervisor(trace);
    let strand = strand(&hypervisor, 70);
    run(black_box(&strand))
}

fn strand<T: Trace>(hypervisor: &Hypercalls<T>, number: usize) -> Measured<'_, T> {
    let caller = Caller {
        guest: GuestId::new(0).expect("guest 0 exists"),
        strand: StrandId::new(number).expect("the strand exists"),
    };
    hypervisor.strand(caller).expect("the guest has strands 0 to 127")
}

/// Returns a hypervisor with one guest, which has all rights and has negotiated version 1.1.
fn hypervisor<T: Trace + Copy>(trace: T) -> Hypercalls<T> {
    hypervisor_for(trace, Grant::ALL, Version::V1_1)
}

/// Returns a hypervisor with one guest, which has this grant and has negotiated this version.
fn hypervisor_for<T: Trace + Copy>(trace: T, grant: Grant, version: Version) -> Hypercalls<T> {
    let strands: StrandSet = (0..128).filter_map(StrandId::new).collect();
    let guest = GuestConfig::new(strands, grant);
    let machine = Machine::new(Model::Batoka, 4).expect("a Batoka has four nodes");
    let services = (PerfCounterService::new((&BOARD, &BOARD, trace)),);
    let hypervisor = Hypervisor::with_trace(services, NoConsole, trace);
    hypervisor.services().0.configure(machine, &[guest]).expect("one guest is valid");
    let asked = [ApiGroup::VFALLS.0, version.major, version.minor, 0, 0];
    let mut registers = Registers::call(API_SET_VERSION, asked);
    let after = strand(&hypervisor, 70).core_trap(&mut registers);
    assert_eq!((after, registers.o0), (TrapOutcome::Resume, 0), "the version is granted");
    hypervisor
}

fn calls<T: Trace>(strand: &Measured<'_, T>, call: Registers, status: u64) {
    for _ in 0..CALLS {
        let mut registers = black_box(call);
        hypercall(strand, &mut registers);
        assert_eq!(black_box(registers).o0, status);
    }
}

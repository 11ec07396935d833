//! Makes one kind of call many times, for a tool that counts the instructions of [`hypercall`] and
//! [`rustsbi_fw_read`]: from the entry, with the guest's registers in memory, to the return, with the answer there.
//!
//! `call-cost KIND`: the kinds are the names in `cargo xtask bench`.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use guest_abi::trap::{API_SET_VERSION, VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{ApiGroup, HvError, Node, Registers, StrandId};
use hv_core::{After, Caller, Embedder, GuestId, Hypervisor, Strand};
use perfctr_service::{Grant, GuestConfig, PerfCounterService, StrandSet};
use platform::{AccessError, Bus, Machine, Model, PhysicalAddress, StrandRegisters};
use rustsbi::{EnvInfo, Pmu, RustSBI, SbiRet};

/// How often each call is made.
const CALLS: usize = 1000;

/// Device registers that cost one load or store each.
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
    fn node(&self, strand: StrandId) -> Node {
        strand.node()
    }

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

struct NoConsole;

impl Embedder for NoConsole {
    fn console(&self, _: Caller, _: u8) -> Result<(), HvError> {
        Ok(())
    }
}

static BOARD: Board = Board {
    cells: [const { AtomicU64::new(0) }; 256],
    pcr: [const { AtomicU64::new(0) }; StrandId::COUNT],
};

type Measured<'a> = Strand<'a, (PerfCounterService<&'static Board, &'static Board>,), NoConsole>;

/// Everything from the registers in memory to the answer in memory.
#[inline(never)]
fn hypercall(strand: &Measured<'_>, registers: &mut Registers) {
    strand.fast_trap(registers);
}

/// A firmware counter of rustsbi that costs one load.
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

fn main() -> ExitCode {
    let kind = std::env::args().nth(1).unwrap_or_default();
    if kind == "rustsbi_fw_read" {
        let firmware = Firmware {
            pmu: FirmwareCounters([const { AtomicU64::new(7) }; 32]),
            info: NoInfo,
        };
        for _ in 0..CALLS {
            let mut frame = black_box([3, 0, 0, 0, 0, 0, 5, 0x50_4d55]);
            rustsbi_fw_read(&firmware, &mut frame);
            assert_eq!(black_box(frame)[..2], [0, 7]);
        }
        return ExitCode::SUCCESS;
    }
    let (function, id, status) = match &*kind {
        "get_dram" => (VFALLS_GET_PERFREG, 7, 0),
        "set_dram" => (VFALLS_SET_PERFREG, 7, 0),
        "get_pcr" => (VFALLS_GET_PERFREG, 0, 0),
        "set_pcr" => (VFALLS_SET_PERFREG, 0, 0),
        "get_zambezi" => (VFALLS_GET_PERFREG, 62, 0),
        "set_zambezi" => (VFALLS_SET_PERFREG, 62, 0),
        "refused" => (VFALLS_GET_PERFREG, 15, 10),
        _ => {
            eprintln!("call-cost: unknown kind '{kind}'");
            return ExitCode::from(2);
        }
    };
    // Nodes 0 and 1 only: register 15 is on node 3, and refused.
    let strands: StrandSet = (0..128).filter_map(StrandId::new).collect();
    let guest = GuestConfig {
        strands,
        grant: Grant::ALL,
        compatible: false,
    };
    let machine = Machine::new(Model::Batoka, 4).expect("a Batoka has four nodes");
    let service =
        PerfCounterService::new(machine, &BOARD, &BOARD, &[guest]).expect("one guest is valid");
    let hypervisor = Hypervisor::new((service,), NoConsole);
    let caller = Caller {
        guest: GuestId::new(0).expect("guest 0 exists"),
        strand: StrandId::new(70).expect("strand 70 exists"),
    };
    let strand = hypervisor.strand(caller);
    let strand = black_box(&strand);
    let mut registers = Registers::call(API_SET_VERSION, [ApiGroup::VFALLS.0, 1, 1, 0, 0]);
    assert_eq!(strand.core_trap(&mut registers), After::Resume);
    assert_eq!(registers.o0, 0, "version 1.1 is granted");
    for _ in 0..CALLS {
        let mut registers = black_box(Registers::call(function, [id, 0x55, 2, 3, 4]));
        hypercall(strand, &mut registers);
        assert_eq!(black_box(registers).o0, status);
    }
    ExitCode::SUCCESS
}

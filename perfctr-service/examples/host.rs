//! A hypervisor on the host, with two guests on device models. It adds a hypercall, and moves a right from one guest to the other.

use std::error::Error;

use guest_abi::guest::PerfCounters;
use guest_abi::{HvError, Hypercall, PerfReg, Registers, StrandId, Trap};
use hv_core::{CallError, Caller, ConsoleOutput, Embedder, GuestId, Hypervisor, Reply};
use perfctr_service::{Grant, GuestConfig, PerfCounterService, Right};
use platform::models::Devices;
use platform::{Machine, Model};

/// The image's own parts: consoles, and function 0x300, which returns the calling strand's number.
struct HostImage;

impl Embedder for HostImage {
    fn console(&self, _: Caller, output: ConsoleOutput) -> Result<(), HvError> {
        if let ConsoleOutput::Byte(byte) = output {
            print!("{}", char::from(byte));
        }
        Ok(())
    }

    fn fast(&self, caller: Caller, function: u64, _: &Registers) -> Result<Reply, CallError> {
        match function {
            0x300 => Ok(Reply::Value(caller.strand.index() as u64)),
            _ => Err(HvError::BadTrap.into()),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Machine::new(Model::Batoka, 2)?;
    let devices = Devices::new(machine);
    let services = (PerfCounterService::new((&devices, &devices)),);
    let hypervisor = Box::new(Hypervisor::new(services, HostImage));
    let (service,) = hypervisor.services();
    let on = |strands: std::ops::Range<usize>, grant| {
        GuestConfig::new(strands.filter_map(StrandId::new).collect(), grant)
    };
    service.configure(machine, &[on(0..64, Grant::ALL), on(64..128, Grant::STRAND)])?;

    // To make a hypercall, a guest in this example calls its strand's handler.
    let callers = [(0, 3), (1, 70)].map(|(guest, strand)| {
        let (guest, strand) = (GuestId::new(guest).unwrap(), StrandId::new(strand).unwrap());
        Caller { guest, strand }
    });
    let [first, second] = callers.map(|caller| hypervisor.strand(caller).unwrap());
    let [number, ..] = second.call(Trap::Fast, 0x300, [0; 5])?;
    println!("guest 1 calls on strand {number}");
    let (mine, other) =
        (PerfCounters::negotiate_best(&first)?, PerfCounters::negotiate_best(&second)?);
    let hub = PerfReg::FIRST_HUB;
    mine.set(PerfReg::L2_PERF_CONFIG, 1)?;
    println!("guest 1 reads {}: {:?}", hub.name(), other.get(hub));

    // The operator moves `global`. The device models keep each cross-call until `take_cross_call` takes it. The strands of guest 0 then
    // acknowledge the change.
    let mut grants = service.grants();
    grants.transfer(callers[0].guest, callers[1].guest, Right::Global)?;
    let change = service.reconfigure(callers[1].strand, &grants)?;
    println!("the change awaits {} strands", change.awaited().len());
    while let Some(awaited) = service.pending() {
        for strand in awaited.iter().filter(|strand| devices.take_cross_call(*strand)) {
            service.cross_called(strand);
        }
    }
    println!("guest 1 reads {}: {:?}", hub.name(), other.get(hub));
    println!("guest 0 reads {}: {:?}", hub.name(), mine.get(hub));
    Ok(())
}

/// `cargo test` runs the example.
#[test]
fn runs() {
    main().unwrap();
}

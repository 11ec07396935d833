//! The leaf functions, which serve a call without a stack, called as the veneers on SPARC V9 call them. The slow path serves
//! the calls that they decline. Every call has the same result, and is counted in the same way, as on the slow path alone.

use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{Hub, HvError, Registers, StrandId, Trap};
use hv_core::{Caller, GuestId, Hypervisor, Negotiated, NegotiatedVersion, Service};
use perfctr_service::statistics::{Operation, Statistics};
use perfctr_service::{Grant, GuestConfig, PerfCounterContext, PerfCounterService};
use platform::models::Devices;
use platform::{Machine, Model, StrandRegisters};
use sweep::digest::{Digest, Watched};
use sweep::modelled::{Modelled, NoConsole, caller};
use sweep::{Change, Configuration, Part, System, parts};
use tests::machine::{guest_id, strand};

/// The number of calls that leaf functions served, and the number that they refused.
#[derive(Debug, Default)]
struct Served {
    done: u64,
    refused: u64,
}

/// A system that tries the leaf functions before the slow path, as the veneers do.
struct Veneers<'a, 's> {
    machine: Modelled<'a, NoConsole>,
    devices: &'a Devices,
    served: &'s mut Served,
}

type Context<'a> = PerfCounterContext<'a, (&'a Devices, &'a Devices)>;

impl Veneers<'_, '_> {
    /// Reads a register by a leaf function. Returns `None` if that declines.
    fn get(&self, context: &Context<'_>, strand: StrandId, id: u64) -> Option<u64> {
        match id {
            0 => context.leaf_get_pcr().then(|| self.devices.pcr(strand)),
            1..=17 => context.leaf_get_dram(id),
            _ => context.leaf_get_hub(id),
        }
    }

    fn set(&self, context: &Context<'_>, strand: StrandId, id: u64, value: u64) -> Option<()> {
        match id {
            0 => {
                let value = context.leaf_set_pcr(value)?;
                self.devices.set_pcr(strand, value);
                Some(())
            }
            1..=17 => context.leaf_set_dram(id, value),
            _ => context.leaf_set_hub(id, value),
        }
    }
}

impl System for Veneers<'_, '_> {
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        let [id, value, o2, o3, o4, function] = registers;
        let operation = match (trap, function) {
            (Trap::Fast, VFALLS_GET_PERFREG) => Operation::Get,
            (Trap::Fast, VFALLS_SET_PERFREG) => Operation::Set,
            _ => return self.machine.call(strand, trap, registers),
        };
        let caller = caller(&self.machine.configuration, strand).expect("a strand of a guest");
        let hypervisor = self.machine.hypervisor;
        let of_strand = hypervisor.strand(caller);
        let context = &of_strand.contexts().0;
        let answered = match operation {
            Operation::Get => self.get(context, strand, id),
            Operation::Set => self.set(context, strand, id, value).map(|()| value),
        };
        if let Some(value) = answered {
            self.served.done += 1;
            return [0, value, o2, o3, o4, function];
        }
        if let Some(error) = context.leaf_refusal(operation, id) {
            self.served.refused += 1;
            return [error.number(), value, o2, o3, o4, function];
        }
        let mut registers = Registers::from(registers);
        of_strand.fast_trap(&mut registers);
        registers.to_array()
    }

    fn change(&mut self, change: Change) {
        self.machine.change(change);
    }

    fn state(&mut self) -> u64 {
        self.machine.state()
    }

    fn counts(&mut self) -> u64 {
        self.machine.counts()
    }
}

/// Makes the calls of a part on a configuration, by the veneers if `served` is given. Returns the digest of the results and the
/// statistics of each guest.
fn run(
    part: &Part,
    number: usize,
    configuration: &Configuration,
    served: Option<&mut Served>,
) -> (Digest, [Statistics; 3]) {
    let devices = Devices::new(configuration.machine);
    let (machine, guests) = (configuration.machine, &configuration.guests);
    let service = PerfCounterService::new(machine, (&devices, &devices), guests).unwrap();
    let hypervisor = Hypervisor::new((service,), NoConsole);
    let mut machine = Modelled {
        hypervisor: &hypervisor,
        configuration: *configuration,
        busy: [false; Hub::ALL.len()],
    };
    let mut digest = Digest::EMPTY;
    let mut each = |event: &_| digest.add(event);
    let each = &mut each;
    match served {
        None => {
            let system = &mut machine;
            (part.run)(number, configuration, &mut Watched { system, each });
        }
        Some(served) => {
            let devices = &devices;
            let system = &mut Veneers {
                machine,
                devices,
                served,
            };
            (part.run)(number, configuration, &mut Watched { system, each });
        }
    }
    let statistics = [0, 1, 2].map(|guest| {
        let guest = GuestId::new(guest).unwrap();
        hypervisor.services().0.statistics(guest)
    });
    (digest, statistics)
}

#[test]
fn results_and_counts_are_those_of_the_slow_path() {
    for (part, done, refused) in [
        (parts::READ_BACK, 30_000, 0),
        (parts::BUSY, 5_000, 50_000),
        (parts::WITHOUT_A_HUB, 1_000, 50),
        (parts::NEGOTIATION, 10_000, 10_000),
        (parts::AT_RANDOM, 1_000, 1_000),
    ] {
        let mut served = Served::default();
        for (number, configuration) in part.configurations() {
            let expected = run(&part, number, &configuration, None);
            let found = run(&part, number, &configuration, Some(&mut served));
            assert!(found == expected, "{}: {configuration}", part.name);
        }
        tests::tell(format_args!("{}, by leaf functions: {served:?}", part.name));
        assert!(
            served.done >= done && served.refused >= refused,
            "{}: {served:?}",
            part.name
        );
    }
}

/// While a guest negotiates, its word lags behind its version, and the version decides: EBADTRAP comes before EINVAL.
#[test]
fn a_refusal_follows_the_version() {
    let machine = Machine::new(Model::Batoka, 4).unwrap();
    let devices = Devices::new(machine);
    let guest = GuestConfig {
        strands: [strand(0)].into_iter().collect(),
        grant: Grant::ALL,
        compatible: false,
    };
    let service = PerfCounterService::new(machine, (&devices, &devices), &[guest]).unwrap();
    let caller = Caller {
        guest: guest_id(0),
        strand: strand(0),
    };
    let given_up = Negotiated::default();
    let negotiated = Negotiated::new(NegotiatedVersion::new(2));
    let (bad_trap, invalid) = (Some(HvError::BadTrap), Some(HvError::Invalid));
    for (word, version, of_register, of_none) in [
        (&negotiated, &given_up, bad_trap, bad_trap),
        (&given_up, &given_up, bad_trap, bad_trap),
        (&given_up, &negotiated, None, invalid),
        (&negotiated, &negotiated, None, invalid),
    ] {
        service.version_changed(caller.guest, word);
        let context = service.context(caller, version);
        let seen = [1, 89, 90, u64::MAX].map(|id| context.leaf_refusal(Operation::Get, id));
        assert_eq!(seen, [of_register, of_register, of_none, of_none]);
    }
}

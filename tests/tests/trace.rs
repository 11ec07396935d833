//! What the service records, and that a call is the same whether it is recorded or not.

use std::sync::atomic::{AtomicU64, Ordering};

use guest_abi::{Clock, Hub, Mcu, Node, Registers, StrandId};
use hv_core::trace::{
    Clock27, GuestReset, HypervisorEvent, Mode, Next, Reader, Ring, SetVersion, Trace as _, Tracer,
};
use hv_core::{After, Caller, Embedder, GuestId, Hypervisor};
use perfctr_service::trace::{
    ChangeComplete, ChangePending, Get, GetRefused, Granted, Held, HubConflict, Revoked,
    ServiceEvent, Set, SetRefused, UnitOut, UnitReturned,
};
use perfctr_service::{Grant, GuestConfig, PerfCounterService, StrandRight, Unit};
use platform::models::{Devices, FaultyUnit};
use platform::{Machine, Model};
use tests::random::Random;

/// Goes on by 5 at every look.
#[derive(Debug, Default)]
struct Fives(AtomicU64);

impl Clock for Fives {
    fn ticks(&self) -> u64 {
        self.0.fetch_add(5, Ordering::Relaxed)
    }
}

struct NoConsole;

impl Embedder for NoConsole {
    fn console(&self, _: Caller, _: u8) -> Result<(), guest_abi::HvError> {
        Ok(())
    }
}

const PACKETS: usize = 2;
const WORDS: usize = 2039;

type Rings = [Ring<Clock27, PACKETS, WORDS>; 5];
type Trace<'a> = &'a Tracer<'a, Fives, Clock27, PACKETS, WORDS>;
type Service<'a> = PerfCounterService<&'a Devices, &'a Devices, Trace<'a>>;

fn rings() -> Rings {
    [const { Ring::new(Mode::Discard) }; 5]
}

/// A T5440 with one node. Guest 0 has strands 0 and 1 and every right, guest 1 has strand 2 and its register 0; the operator
/// is on strand 4.
struct Traced<'a> {
    devices: &'a Devices,
    tracer: Trace<'a>,
    hypervisor: Box<Hypervisor<(Service<'a>,), NoConsole, Trace<'a>>>,
}

const OPERATOR: usize = 4;

fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

fn guest(number: usize) -> GuestId {
    GuestId::new(number).unwrap()
}

fn devices() -> Box<Devices> {
    Box::new(Devices::new(Machine::new(Model::Batoka, 1).unwrap()))
}

impl<'a> Traced<'a> {
    fn new(devices: &'a Devices, tracer: Trace<'a>) -> Self {
        let guests = [
            GuestConfig {
                strands: [0, 1].map(strand).into_iter().collect(),
                grant: Grant::ALL,
                compatible: false,
            },
            GuestConfig {
                strands: [strand(2)].into_iter().collect(),
                grant: Grant {
                    strand: StrandRight::Strand,
                    global: false,
                },
                compatible: false,
            },
        ];
        let machine = devices.machine();
        let service =
            PerfCounterService::with_trace(machine, devices, devices, &guests, tracer).unwrap();
        Self {
            devices,
            tracer,
            hypervisor: Box::new(Hypervisor::with_trace((service,), NoConsole, tracer)),
        }
    }

    fn service(&self) -> &Service<'a> {
        &self.hypervisor.services().0
    }

    fn turn(&self, on: bool) {
        self.tracer.set_on(on);
        self.service().trace_turned();
    }

    fn caller(&self, number: usize) -> Caller {
        Caller {
            guest: guest(number / 2),
            strand: strand(number),
        }
    }

    fn negotiate(&self, strand: usize) {
        let mut registers = Registers::call(0, [0x205, 1, 1, 0, 0]);
        let strand = self.hypervisor.strand(self.caller(strand));
        assert_eq!(strand.core_trap(&mut registers), After::Resume);
    }

    fn fast(&self, strand: usize, function: u64, id: u64, value: u64) -> [u64; 6] {
        let mut registers = Registers::call(function, [id, value, 12, 13, 14]);
        self.hypervisor
            .strand(self.caller(strand))
            .fast_trap(&mut registers);
        registers.to_array()
    }

    fn get(&self, strand: usize, id: u64) -> [u64; 6] {
        self.fast(strand, 0x106, id, 11)
    }

    fn set(&self, strand: usize, id: u64, value: u64) -> [u64; 6] {
        self.fast(strand, 0x107, id, value)
    }

    fn take_cross_calls(&self) {
        for strand in (0..5).map(strand) {
            while self.devices.take_cross_call(strand) {
                self.service().cross_called(strand);
            }
        }
    }
}

#[derive(Debug, PartialEq)]
enum Seen {
    Hypervisor(HypervisorEvent),
    Service(ServiceEvent),
}

/// What one strand has recorded.
struct Log<'a>(Reader<'a, Clock27, PACKETS, WORDS>);

impl<'a> Log<'a> {
    fn new(rings: &'a Rings, strand: usize) -> Self {
        Self(rings[strand].reader())
    }

    /// What is new.
    fn events(&mut self) -> Vec<Seen> {
        let words = |id| HypervisorEvent::words(id).or_else(|| ServiceEvent::words(id));
        let mut events = Vec::new();
        while let Some(next) = self.0.next(words) {
            let Next::Event(event) = next else {
                panic!("{next:?}")
            };
            let hypervisor = HypervisorEvent::decode(event.id, event.payload).map(Seen::Hypervisor);
            let service = ServiceEvent::decode(event.id, event.payload).map(Seen::Service);
            events.push(hypervisor.or(service).expect("an event that is known"));
        }
        events
    }
}

fn seen<const N: usize>(events: [ServiceEvent; N]) -> Vec<Seen> {
    events.map(Seen::Service).into()
}

fn got(strand: u8, perfreg: u8, value: u64) -> ServiceEvent {
    ServiceEvent::Get(Get {
        perfreg,
        status: 0,
        guest: strand / 2,
        strand,
        duration: 5,
        value,
    })
}

fn get_refused(strand: u8, perfreg: u64, status: u16, duration: u32) -> ServiceEvent {
    ServiceEvent::GetRefused(GetRefused {
        status,
        guest: strand / 2,
        strand,
        duration,
        perfreg,
    })
}

#[test]
fn calls() {
    let (devices, rings) = (devices(), rings());
    let tracer = Tracer::new(Fives::default(), &rings);
    let machine = Traced::new(&devices, &tracer);
    let mut logs = [0, 1, 2].map(|strand| Log::new(&rings, strand));
    machine.negotiate(0);
    machine.get(0, 2);
    assert_eq!(logs[0].events(), []);

    machine.turn(true);
    machine.negotiate(2);
    let set_version = SetVersion {
        status: 0,
        guest: 1,
        strand: 2,
        duration: 5,
        group: 0x205,
        major: 1,
        minor: 1,
        granted: 1,
    };
    let set_version = Seen::Hypervisor(HypervisorEvent::SetVersion(set_version));
    assert_eq!(logs[2].events(), [set_version]);

    // What the guest gave, not what the register has of it.
    assert_eq!(machine.set(0, 2, 0x1_0055)[0], 0);
    assert_eq!(machine.get(1, 2), [0, 0x55, 12, 13, 14, 0x106]);
    let set = Set {
        perfreg: 2,
        status: 0,
        guest: 0,
        strand: 0,
        duration: 5,
        value: 0x1_0055,
    };
    assert_eq!(logs[0].events(), seen([ServiceEvent::Set(set)]));
    assert_eq!(logs[1].events(), seen([got(1, 2, 0x55)]));

    for (id, status) in [(90, 6), (u64::MAX, 6), (4 + 256, 6), (4, 0), (6, 13)] {
        assert_eq!(machine.get(0, id)[0], status);
    }
    assert_eq!(
        logs[0].events(),
        seen([
            get_refused(0, 90, 6, 5),
            get_refused(0, u64::MAX, 6, 5),
            get_refused(0, 260, 6, 5),
            got(0, 4, 0),
            get_refused(0, 6, 13, 5),
        ])
    );
    assert_eq!(machine.set(2, 0, 8)[0], 10);
    let refused = SetRefused {
        status: 10,
        guest: 1,
        strand: 2,
        duration: 5,
        perfreg: 0,
        value: 8,
    };
    assert_eq!(logs[2].events(), seen([ServiceEvent::SetRefused(refused)]));

    machine.turn(false);
    machine.get(0, 2);
    machine.get(0, 90);
    machine.negotiate(0);
    assert_eq!(logs[0].events(), []);
}

#[test]
fn hubs_that_are_taken() {
    let (devices, rings) = (devices(), rings());
    let tracer = Tracer::new(Fives::default(), &rings);
    tracer.set_on(true);
    let machine = Traced::new(&devices, &tracer);
    let mut logs = [0, 1].map(|strand| Log::new(&rings, strand));
    machine.negotiate(0);
    logs[0].events();
    devices.set_hub_access_cycles(100);
    let statuses = [0, 0, 1].map(|strand| machine.get(strand, 37)[0]);
    assert_eq!(statuses, [0, 9, 9]);
    let conflict = |strand, why| {
        ServiceEvent::HubConflict(HubConflict {
            hub: 1,
            why,
            guest: 0,
            strand,
        })
    };
    // A look for the conflict, too.
    assert_eq!(
        logs[0].events(),
        seen([got(0, 37, 0), conflict(0, 2), get_refused(0, 37, 9, 10)])
    );
    // The turn is that of strand 0, which was refused.
    assert_eq!(
        logs[1].events(),
        seen([conflict(1, 1), get_refused(1, 37, 9, 10)])
    );
}

#[test]
fn units_that_fail() {
    let (devices, rings) = (devices(), rings());
    let tracer = Tracer::new(Fives::default(), &rings);
    tracer.set_on(true);
    let machine = Traced::new(&devices, &tracer);
    let mut log = Log::new(&rings, 1);
    machine.negotiate(1);
    log.events();
    for (unit, id, number) in [
        (FaultyUnit::Mcu(Node::Node0, Mcu::Mcu1), 5, 1),
        (FaultyUnit::Hub(Hub::Zam3), 89, 11),
        (FaultyUnit::L2(Node::Node0), 1, 12),
    ] {
        devices.set_faulty(unit, true);
        assert_eq!(machine.get(1, id)[0], 13);
        assert_eq!(machine.get(1, id)[0], 13);
        let out = UnitOut {
            unit: number,
            why: 0,
            strand: 1,
        };
        assert_eq!(
            log.events(),
            seen([
                ServiceEvent::UnitOut(out),
                get_refused(1, id, 13, 10),
                get_refused(1, id, 13, 5),
            ])
        );
    }
    devices.set_faulty(FaultyUnit::Hub(Hub::Zam3), false);
    let unit = Unit::Hub(Hub::Zam3);
    machine
        .service()
        .return_to_service(strand(OPERATOR), unit)
        .unwrap();
    let returned = UnitReturned {
        unit: 11,
        strand: 4,
    };
    assert_eq!(
        Log::new(&rings, OPERATOR).events(),
        seen([ServiceEvent::UnitReturned(returned)])
    );
}

#[test]
fn rights_that_change_hands() {
    let (devices, rings) = (devices(), rings());
    let tracer = Tracer::new(Fives::default(), &rings);
    tracer.set_on(true);
    let machine = Traced::new(&devices, &tracer);
    let service = machine.service();
    let mut logs = [0, 1, 2, 3, OPERATOR].map(|strand| Log::new(&rings, strand));
    // Guest 0 gives `global` to guest 1.
    let mut grants = service.grants();
    let global = |strand| Grant {
        strand,
        global: true,
    };
    let without = Grant {
        strand: StrandRight::HtStrand,
        global: false,
    };
    grants.set(guest(0), without).unwrap();
    grants.set(guest(1), global(StrandRight::Strand)).unwrap();
    let pending = service.reconfigure(strand(OPERATOR), &grants).unwrap();
    assert_eq!(pending.unwrap().iter().count(), 2);
    let granted = |guest, grant| {
        ServiceEvent::Granted(Granted {
            guest,
            grant,
            strand: 4,
        })
    };
    let revoked = |guest, left, strand| {
        ServiceEvent::Revoked(Revoked {
            guest,
            left,
            strand,
        })
    };
    assert_eq!(
        logs[4].events(),
        seen([
            granted(0, 0b110),
            granted(1, 0b011),
            revoked(0, 0b110, 4),
            ServiceEvent::ChangePending(ChangePending {
                awaited: 2,
                strand: 4
            }),
        ])
    );
    machine.take_cross_calls();
    assert_eq!(service.pending(), None);
    // The last strand that was awaited makes it complete.
    let held = ServiceEvent::Held(Held {
        guest: 1,
        held: 0b011,
        strand: 1,
    });
    let complete = |strand| ServiceEvent::ChangeComplete(ChangeComplete { strand });
    assert_eq!(logs[0].events(), []);
    assert_eq!(logs[1].events(), seen([held, complete(1)]));

    // Nothing has to wait, and nobody loses anything.
    let mut more = service.grants();
    more.set(guest(1), global(StrandRight::HtStrand)).unwrap();
    assert_eq!(service.reconfigure(strand(OPERATOR), &more).unwrap(), None);
    assert_eq!(
        logs[4].events(),
        seen([
            granted(1, 0b111),
            ServiceEvent::Held(Held {
                guest: 1,
                held: 0b111,
                strand: 4
            }),
            complete(4),
        ])
    );

    // A reset takes everything, and gives it back.
    machine.hypervisor.reset_guest(guest(1), strand(3));
    let reset = GuestReset {
        guest: 1,
        strand: 3,
    };
    let mut expected = vec![Seen::Hypervisor(HypervisorEvent::GuestReset(reset))];
    expected.extend(seen([
        revoked(1, 0, 3),
        ServiceEvent::ChangePending(ChangePending {
            awaited: 1,
            strand: 3,
        }),
    ]));
    assert_eq!(logs[3].events(), expected);
    machine.take_cross_calls();
    assert_eq!(service.pending(), None);
    let held = ServiceEvent::Held(Held {
        guest: 1,
        held: 0b111,
        strand: 2,
    });
    assert_eq!(logs[2].events(), seen([held, complete(2)]));
}

/// The same calls with and without a tracer that is on: the answers, the statistics and the devices are the same, and there is
/// an event for every call that was made while it was on.
#[test]
fn recording_changes_nothing() {
    let rings = rings();
    let tracer = Tracer::new(Fives::default(), &rings);
    let off_rings = self::rings();
    let off = Tracer::new(Fives::default(), &off_rings);
    let boards = [devices(), devices()];
    let machines = [
        Traced::new(&boards[0], &tracer),
        Traced::new(&boards[1], &off),
    ];
    let mut logs = [0, 1, 2].map(|strand| Log::new(&rings, strand));
    let mut random = Random(12);
    let (mut expected, mut recorded) = (0, 0);
    for step in 0..20_000 {
        match step % 1000 {
            500 => machines[0].turn(true),
            0 => machines[0].turn(false),
            _ => {}
        }
        let strand = random.below(3);
        let any = random.next_u64();
        let id = random.one_of(&[any, any % 20, any % 95]);
        let value = random.next_u64() >> random.below(64);
        let function = 0x106 + random.below(2) as u64;
        if random.below(50) == 0 {
            for machine in &machines {
                machine.negotiate(strand);
            }
            expected += u64::from(tracer.is_on());
        }
        let cycles = random.below(2) as u64 * 1000;
        if random.below(200) == 0 {
            for board in &boards {
                board.set_hub_access_cycles(cycles);
            }
        }
        for board in &boards {
            board.advance(10);
        }
        let answers = [0, 1].map(|machine| machines[machine].fast(strand, function, id, value));
        assert_eq!(answers[0], answers[1], "step {step}");
        expected += u64::from(tracer.is_on());
        for log in &mut logs {
            let events = log.events();
            let calls = events
                .iter()
                .filter(|seen| !matches!(seen, Seen::Service(ServiceEvent::HubConflict(_))));
            recorded += calls.count() as u64;
        }
    }
    assert_eq!(recorded, expected);
    assert!(recorded > 9000);
    for number in [0, 1] {
        assert_eq!(
            machines[0].service().statistics(guest(number)),
            machines[1].service().statistics(guest(number))
        );
    }
}

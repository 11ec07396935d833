//! Several services and the image's own hypercalls in one hypervisor.

use std::cell::Cell;

use guest_abi::{ApiGroup, HvError, Registers, StrandId, Version};
use hv_core::{
    After, Caller, Context, Embedder, GuestId, Hypervisor, NegotiatedVersion, Reply, Service,
    Services, Strand,
};

/// A service whose one function answers `%o0 + ADD`, in versions 1.0 and 1.1. It keeps the state of guest 0 alone.
#[derive(Default)]
struct Adder<const GROUP: u64, const ADD: u64>(Cell<NegotiatedVersion>);

struct AdderContext<'a, const GROUP: u64, const ADD: u64>(&'a Adder<GROUP, ADD>);

impl<const GROUP: u64, const ADD: u64> Service for Adder<GROUP, ADD> {
    const GROUP: ApiGroup = ApiGroup(GROUP);
    const VERSIONS: &'static [Version] = &[Version::V1_0, Version::V1_1];

    type Context<'a> = AdderContext<'a, GROUP, ADD>;

    fn context(&self, _: Caller) -> AdderContext<'_, GROUP, ADD> {
        AdderContext(self)
    }

    fn negotiated(&self, _: GuestId) -> NegotiatedVersion {
        self.0.get()
    }

    fn negotiate(&self, _: GuestId, place: NegotiatedVersion) {
        self.0.set(place);
    }

    fn guest_reset(&self, _: GuestId, _: StrandId) {
        self.0.set(NegotiatedVersion::NONE);
    }
}

impl<const GROUP: u64, const ADD: u64> Context for AdderContext<'_, GROUP, ADD> {
    fn slow_path(&self, function: u64, registers: &Registers) -> Option<Result<Reply, HvError>> {
        if function != GROUP {
            return None;
        }
        Some(match self.0.0.get() {
            NegotiatedVersion::NONE => Err(HvError::BadTrap),
            _ => Ok(Reply::Value(registers.o0 + ADD)),
        })
    }
}

/// An image with FAST function 0x400, which returns two values, and CORE function 9.
struct Image;

impl Embedder for Image {
    fn console(&self, _: Caller, _: u8) -> Result<(), HvError> {
        Err(HvError::WouldBlock)
    }

    fn fast(&self, _: Caller, function: u64, _: &Registers) -> Result<Reply, HvError> {
        match function {
            0x400 => Ok(Reply::Values(1, 2)),
            _ => Err(HvError::BadTrap),
        }
    }

    fn core(&self, _: Caller, function: u64, _: &Registers) -> Result<Reply, HvError> {
        match function {
            9 => Ok(Reply::Done),
            _ => Err(HvError::BadTrap),
        }
    }
}

const CALLER: Caller = match (GuestId::new(0), StrandId::new(3)) {
    (Some(guest), Some(strand)) => Caller { guest, strand },
    _ => panic!("guest 0 and strand 3 exist"),
};

fn fast<S: Services>(strand: &Strand<'_, S, Image>, function: u64) -> [u64; 6] {
    let mut registers = Registers::call(function, [10, 11, 12, 13, 14]);
    strand.fast_trap(&mut registers);
    registers.to_array()
}

fn core<S: Services>(
    strand: &Strand<'_, S, Image>,
    function: u64,
    arguments: [u64; 3],
) -> [u64; 6] {
    let [o0, o1, o2] = arguments;
    let mut registers = Registers::call(function, [o0, o1, o2, 13, 14]);
    assert_eq!(strand.core_trap(&mut registers), After::Resume);
    registers.to_array()
}

#[test]
fn services_and_the_image_serve_side_by_side() {
    let services = (
        Adder::<0x300, 100>::default(),
        Adder::<0x301, 200>::default(),
    );
    let hypervisor = Hypervisor::new(services, Image);
    let strand = hypervisor.strand(CALLER);
    // Nothing is negotiated yet. The image's own functions need no version.
    assert_eq!(fast(&strand, 0x300), [7, 11, 12, 13, 14, 0x300]);
    assert_eq!(fast(&strand, 0x301), [7, 11, 12, 13, 14, 0x301]);
    assert_eq!(fast(&strand, 0x400), [0, 1, 2, 13, 14, 0x400]);
    assert_eq!(fast(&strand, 0x401), [7, 11, 12, 13, 14, 0x401]);
    assert_eq!(core(&strand, 9, [10, 11, 12]), [0, 11, 12, 13, 14, 9]);
    assert_eq!(core(&strand, 10, [10, 11, 12]), [7, 11, 12, 13, 14, 10]);
    // The guest negotiates the second service only.
    assert_eq!(core(&strand, 0, [0x301, 1, 5]), [0, 1, 5, 13, 14, 0]);
    assert_eq!(fast(&strand, 0x301), [0, 210, 12, 13, 14, 0x301]);
    assert_eq!(fast(&strand, 0x300), [7, 11, 12, 13, 14, 0x300]);
    assert_eq!(core(&strand, 3, [0x301, 11, 12]), [0, 1, 1, 13, 14, 3]);
    assert_eq!(core(&strand, 3, [0x300, 11, 12]), [0, 0, 0, 13, 14, 3]);
    assert_eq!(core(&strand, 3, [0x302, 11, 12]), [6, 11, 12, 13, 14, 3]);
    // A reset reaches every service.
    hypervisor.reset_guest(CALLER.guest, CALLER.strand);
    assert_eq!(fast(&strand, 0x301), [7, 11, 12, 13, 14, 0x301]);
    // The console cannot take a byte now: EWOULDBLOCK.
    assert_eq!(core(&strand, 1, [0x41, 11, 12]), [9, 11, 12, 13, 14, 1]);
}

#[test]
fn an_image_without_services() {
    let hypervisor = Hypervisor::new((), Image);
    let strand = hypervisor.strand(CALLER);
    assert_eq!(fast(&strand, 0x106), [7, 11, 12, 13, 14, 0x106]);
    assert_eq!(fast(&strand, 0x400), [0, 1, 2, 13, 14, 0x400]);
    assert_eq!(core(&strand, 0, [0x205, 1, 0]), [6, 1, 0, 13, 14, 0]);
    assert_eq!(core(&strand, 0, [1, 1, 0]), [0, 0, 0, 13, 14, 0]);
}

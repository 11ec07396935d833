//! Tests several services, and the image's own hypercalls, in one hypervisor.

use std::cell::{Cell, RefCell};

use guest_abi::{ApiGroup, HvError, Hypercall, Registers, StrandId, Trap, Version};
use hv_core::{
    CallError, Caller, ConsoleOutput, Context, Embedder, ForeignStrand, Frame, Group, GuestId,
    Hypervisor, Negotiated, NegotiatedVersion, NoConsole, Reply, Service, Services, Strand,
    TrapOutcome,
};

/// A group with one function, whose number is the group's number.
struct OneFunction<const GROUP: u64>;

impl<const GROUP: u64> Group for OneFunction<GROUP> {
    const NUMBER: ApiGroup = ApiGroup(GROUP);
    const VERSIONS: &'static [Version] = &[Version::V1_0, Version::V1_1];
    const FUNCTIONS: &'static [u64] = &[GROUP];
}

/// A service with one function, which returns `%o0 + ADD` in version 1.0, and 1000 more in version 1.1. The service records how the
/// hypervisor calls its other methods.
#[derive(Default)]
struct Adder<const GROUP: u64, const ADD: u64> {
    /// The version numbers that `version_changed` has received.
    versions: RefCell<Vec<u8>>,
    /// %o0 of each refused call that the hypervisor has reported.
    refused: RefCell<Vec<u64>>,
    resets: Cell<u32>,
}

struct AdderContext<'a, const GROUP: u64, const ADD: u64>(&'a Adder<GROUP, ADD>);

impl<const GROUP: u64, const ADD: u64> Service for Adder<GROUP, ADD> {
    type Group = OneFunction<GROUP>;
    type Context<'a> = AdderContext<'a, GROUP, ADD>;

    fn is_valid_caller(&self, caller: Caller) -> bool {
        caller == CALLER
    }

    fn context<'a>(
        &'a self,
        _: Caller,
        _: &'a Negotiated<OneFunction<GROUP>>,
    ) -> AdderContext<'a, GROUP, ADD> {
        AdderContext(self)
    }

    fn version_changed(&self, guest: GuestId, version: &Negotiated<OneFunction<GROUP>>) {
        assert_eq!(guest, CALLER.guest);
        self.versions.borrow_mut().push(version.get().number());
    }

    fn guest_reset(&self, guest: GuestId, on: StrandId) {
        assert_eq!((guest, on), (CALLER.guest, CALLER.strand));
        assert_eq!(self.versions.borrow().last(), Some(&0));
        self.resets.set(self.resets.get() + 1);
    }
}

impl<const GROUP: u64, const ADD: u64> Context for AdderContext<'_, GROUP, ADD> {
    type Group = OneFunction<GROUP>;

    fn call(
        &self,
        function: u64,
        version: NegotiatedVersion<Self::Group>,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        assert_eq!(function, GROUP);
        let more = match version.number() {
            1 => 0,
            2 => 1000,
            other => panic!("a call in version number {other}"),
        };
        Ok(Reply::Value(registers.o0 + ADD + more))
    }

    fn not_negotiated(&self, function: u64, registers: &Registers) {
        assert_eq!(function, GROUP);
        self.0.refused.borrow_mut().push(registers.o0);
    }
}

/// An image with four hypercalls: FAST functions 0x400 and 0x402 return two and five values, software trap 0x83 returns %o1 + 1, and CORE
/// function 9 returns no value. Its console records the bytes that it accepts: all except 0x41.
#[derive(Default)]
struct Image(RefCell<Vec<ConsoleOutput>>);

impl Embedder for Image {
    fn console(&self, caller: Caller, output: ConsoleOutput) -> Result<(), HvError> {
        assert_eq!(caller, CALLER);
        if output == ConsoleOutput::Byte(0x41) {
            return Err(HvError::WouldBlock);
        }
        self.0.borrow_mut().push(output);
        Ok(())
    }

    fn fast(&self, _: Caller, function: u64, _: &Registers) -> Result<Reply, CallError> {
        match function {
            0x400 => Ok(Reply::Values(1, 2)),
            0x402 => Ok(Reply::All([1, 2, 3, 4, 5])),
            _ => Err(HvError::BadTrap.into()),
        }
    }

    fn core(&self, _: Caller, function: u64, _: &Registers) -> Result<Reply, CallError> {
        (function == 9).then_some(Reply::Done).ok_or(HvError::BadTrap.into())
    }

    fn software_trap(
        &self,
        caller: Caller,
        number: u8,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        assert_eq!(caller, CALLER);
        let claimed = (number == 0x83).then_some(Reply::Value(registers.o1 + 1));
        claimed.ok_or(HvError::BadTrap.into())
    }
}

const CALLER: Caller = match (GuestId::new(0), StrandId::new(3)) {
    (Some(guest), Some(strand)) => Caller { guest, strand },
    _ => panic!("guest 0 and strand 3 exist"),
};

/// Makes a call through trap 0x80 with the arguments 10, 11 and so on. Returns %o0 to %o2, and asserts that %o3 to %o5 are preserved.
fn fast<S: Services, E: Embedder>(strand: &Strand<'_, S, E>, function: u64) -> [u64; 3] {
    let mut registers = Registers::call(function, [10, 11, 12, 13, 14]);
    strand.fast_trap(&mut registers);
    answer(registers, function)
}

fn core<S: Services, E: Embedder>(
    strand: &Strand<'_, S, E>,
    function: u64,
    [o0, o1, o2]: [u64; 3],
) -> [u64; 3] {
    let mut registers = Registers::call(function, [o0, o1, o2, 13, 14]);
    assert_eq!(strand.core_trap(&mut registers), TrapOutcome::Resume);
    answer(registers, function)
}

fn answer(registers: Registers, function: u64) -> [u64; 3] {
    let [o0, o1, o2, others @ ..] = registers.to_array();
    assert_eq!(others, [13, 14, function]);
    [o0, o1, o2]
}

#[test]
fn services_and_the_image_serve_side_by_side() {
    let (first, second) = (Adder::<0x300, 100>::default(), Adder::<0x301, 200>::default());
    let hypervisor = Hypervisor::new((first, second), Image::default());
    let strand = hypervisor.strand(CALLER).unwrap();
    // Nothing is negotiated yet. The functions of the image need no version.
    assert_eq!(fast(&strand, 0x300), [7, 11, 12]);
    assert_eq!(fast(&strand, 0x301), [7, 11, 12]);
    assert_eq!(fast(&strand, 0x400), [0, 1, 2]);
    assert_eq!(fast(&strand, 0x401), [7, 11, 12]);
    assert_eq!(core(&strand, 9, [10, 11, 12]), [0, 11, 12]);
    assert_eq!(core(&strand, 10, [10, 11, 12]), [7, 11, 12]);
    // The guest negotiates only the second service.
    assert_eq!(core(&strand, 0, [0x301, 1, 5]), [0, 1, 5]);
    assert_eq!(fast(&strand, 0x301), [0, 1210, 12]);
    assert_eq!(fast(&strand, 0x300), [7, 11, 12]);
    assert_eq!(core(&strand, 3, [0x301, 11, 12]), [0, 1, 1]);
    assert_eq!(core(&strand, 3, [0x300, 11, 12]), [0, 0, 0]);
    assert_eq!(core(&strand, 3, [0x302, 11, 12]), [6, 11, 12]);
    // The guest negotiates another version, and then requests a version that does not exist, which changes nothing.
    assert_eq!(core(&strand, 0, [0x301, 1, 0]), [0, 0, 0]);
    assert_eq!(core(&strand, 0, [0x301, 2, 0]), [13, 2, 0]);
    assert_eq!(fast(&strand, 0x301), [0, 210, 12]);
    // A reset reaches every service.
    hypervisor.reset_guest(CALLER.guest, CALLER.strand);
    assert_eq!(fast(&strand, 0x301), [7, 11, 12]);
    assert_eq!(core(&strand, 3, [0x301, 11, 12]), [0, 0, 0]);
    let (first, second) = hypervisor.services();
    assert_eq!((first.resets.get(), second.resets.get()), (1, 1));
    assert_eq!(*first.versions.borrow(), [0]);
    assert_eq!(*second.versions.borrow(), [2, 1, 0]);
    assert_eq!(*first.refused.borrow(), [10, 10]);
    assert_eq!(*second.refused.borrow(), [10, 10]);
}

/// `cons_putchar` accepts 0 to 255, and -1 for a break, and returns EINVAL for any other value. A busy console returns EWOULDBLOCK.
#[test]
fn bytes_and_breaks() {
    let hypervisor = Hypervisor::new((), Image::default());
    let strand = hypervisor.strand(CALLER).unwrap();
    for (argument, status) in [
        (0, 0),
        (0x41, 9),
        (0x42, 0),
        (0xff, 0),
        (0x100, 6),
        (0xffff_ffff, 6),
        (1 << 32 | 0x42, 6),
        (1 << 63, 6),
        (0xffff_ffff_ffff_fffe, 6),
        (0xffff_ffff_ffff_ffff, 0),
    ] {
        let found = core(&strand, 1, [argument, 11, 12]);
        assert_eq!(found, [status, 11, 12], "{argument:#x}");
    }
    let taken = hypervisor.embedder().0.take();
    assert_eq!(taken[..3], [0, 0x42, 0xff].map(ConsoleOutput::Byte));
    assert_eq!(taken[3..], [ConsoleOutput::Break]);
}

/// The software traps between 0x80 and 0xff return EBADTRAP, unless the image claims them.
#[test]
fn software_traps_between_fast_and_core() {
    fn trap<E: Embedder>(embedder: E, number: u8) -> [u64; 3] {
        let hypervisor = Hypervisor::new((), embedder);
        let mut registers = Registers::call(0x106, [10, 11, 12, 13, 14]);
        let strand = hypervisor.strand(CALLER).unwrap();
        strand.software_trap(number, &mut registers);
        answer(registers, 0x106)
    }
    for number in 0x81..=0xfe {
        let claimed = if number == 0x83 { [0, 12, 12] } else { [7, 11, 12] };
        assert_eq!(trap(NoConsole, number), [7, 11, 12], "{number:#x}");
        assert_eq!(trap(Image::default(), number), claimed, "{number:#x}");
    }
}

/// A service that refuses its one function with EINVAL and 0x30 in %o1. With `GREEDY`, its fast path serves every function.
struct Refusing<const GROUP: u64, const GREEDY: bool>;

impl<const GROUP: u64, const GREEDY: bool> Service for Refusing<GROUP, GREEDY> {
    type Group = OneFunction<GROUP>;
    type Context<'a> = Self;

    fn context<'a>(&'a self, _: Caller, _: &'a Negotiated<OneFunction<GROUP>>) -> Self {
        Self
    }

    fn guest_reset(&self, _: GuestId, _: StrandId) {}
}

impl<const GROUP: u64, const GREEDY: bool> Context for Refusing<GROUP, GREEDY> {
    type Group = OneFunction<GROUP>;

    fn fast_path(&self, _: u64, frame: &mut Frame<'_>) -> bool {
        if GREEDY {
            frame.answer(Ok(Reply::Done));
        }
        GREEDY
    }

    fn call(
        &self,
        function: u64,
        version: NegotiatedVersion<Self::Group>,
        _: &Registers,
    ) -> Result<Reply, CallError> {
        assert_eq!((function, version.number()), (GROUP, 2));
        Err(CallError { status: HvError::Invalid, value: Some(0x30) })
    }
}

/// An image whose handlers accept every function, but which lists only FAST functions 0x400 and 2^40 and CORE function 9.
struct Stated;

impl Embedder for Stated {
    const FAST_FUNCTIONS: Option<&'static [u64]> = Some(&[0x400, 1 << 40]);
    const CORE_FUNCTIONS: Option<&'static [u64]> = Some(&[9]);

    fn console(&self, _: Caller, _: ConsoleOutput) -> Result<(), HvError> {
        Ok(())
    }

    fn fast(&self, _: Caller, _: u64, _: &Registers) -> Result<Reply, CallError> {
        Ok(Reply::Done)
    }

    fn core(&self, _: Caller, _: u64, _: &Registers) -> Result<Reply, CallError> {
        Ok(Reply::Done)
    }
}

/// Services and the image get only calls of the functions that they list. All 64 bits of a function number are compared.
#[test]
fn functions_that_nobody_states_are_refused() {
    let hypervisor = Hypervisor::new((Adder::<0x300, 100>::default(),), Stated);
    let strand = hypervisor.strand(CALLER).unwrap();
    assert_eq!(core(&strand, 0, [0x300, 1, 0]), [0, 0, 0]);
    let served = strand.served();
    let fast_functions = [0x300, 0x400, 1 << 40];
    let core_functions = [0, 1, 3, 9];
    let others =
        [4, 8, 10, 0x2ff, 0x301, 1 << 32 | 0x300, 1 << 32 | 9, 0x401, (1 << 40) - 1, u64::MAX];
    for function in [&fast_functions[..], &core_functions, &others].concat() {
        let is_fast = fast_functions.contains(&function);
        let is_core = core_functions.contains(&function);
        let status = |served| if served { 0 } else { 7 };
        let [found, ..] = fast(&strand, function);
        assert_eq!(found, status(is_fast), "FAST {function:#x}");
        // `served` contains all functions from 0x400 on, because it has one entry for all of them.
        let stated = is_fast || function >= 0x400;
        assert_eq!(served.fast.contains(function), stated, "{function:#x}");
        assert_eq!(served.core.contains(function), is_core, "{function:#x}");
        if function >= 4 {
            let [found, ..] = core(&strand, function, [0; 3]);
            assert_eq!(found, status(is_core), "CORE {function:#x}");
        }
    }
}

/// Trap entries refuse calls of functions that no service lists, which hides the mistake of a service that would serve such a call. In
/// tests, a debug assertion catches this mistake.
#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "not stated"))]
fn a_service_that_serves_a_function_that_it_has_not_stated_is_caught() {
    let hypervisor = Hypervisor::new((Refusing::<0x300, true>,), NoConsole);
    hypervisor.strand(CALLER).unwrap().fast_trap(&mut Registers::call(0x301, [0; 5]));
}

/// An image without lists of functions gets every call that no service serves.
#[test]
fn every_function_comes_to_an_image_that_states_none() {
    let hypervisor = Hypervisor::new((), NoConsole);
    let served = hypervisor.strand(CALLER).unwrap().served();
    for function in [0, 4, 0x301, 0x400, u64::MAX] {
        assert!(served.fast.contains(function) && served.core.contains(function));
    }
}

/// `core_fast` answers each `api_get_version` (function 3), and each `api_set_version` (function 0) that requires no work from a service.
/// It returns `None` for other calls; `core_slow` serves all calls. When a guest negotiates the version that it already has,
/// `version_changed` is called again, because this service does not report the version as current.
#[test]
fn versions_are_served_fast() {
    let hypervisor = Hypervisor::new((Adder::<0x300, 100>::default(),), Image::default());
    let strand = hypervisor.strand(CALLER).unwrap();
    for (function, arguments, answer) in [
        (3, [1, 11, 12], Some([0, 0, 0])),
        (3, [0x302, 11, 12], Some([6, 11, 12])),
        (0, [1, 2, 0], Some([13, 2, 0])),
        (0, [0x302, 1, 0], Some([6, 1, 0])),
        (0, [1, 1, 0], Some([0, 0, 0])),
        (3, [1, 11, 12], Some([0, 1, 0])),
        (0, [1, 0, 0], Some([0, 0, 0])),
        (3, [1, 11, 12], Some([0, 0, 0])),
        (0, [0x300, 1, 1], None),
        (1, [0x42, 11, 12], None),
        (2, [0, 11, 12], None),
        (9, [10, 11, 12], None),
    ] {
        assert_eq!(strand.core_fast(function, arguments), answer, "{function}");
    }
    assert_eq!(core(&strand, 0, [1, 1, 0]), [0, 0, 0]);
    assert_eq!(strand.core_fast(0, [1, 1, 0]), Some([0, 0, 0]));
    for _ in 0..2 {
        assert_eq!(strand.core_fast(0, [0x300, 1, 1]), None);
        assert_eq!(core(&strand, 0, [0x300, 1, 1]), [0, 1, 1]);
    }
    assert_eq!(*hypervisor.services().0.versions.borrow(), [2, 2]);
    let mut registers = Registers::call(3, [0x300, 11, 12, 13, 14]);
    assert_eq!(strand.core_slow(&mut registers), TrapOutcome::Resume);
    assert_eq!(answer(registers, 3), [0, 1, 1]);
}

/// A caller is refused if one of the services, anywhere in the list, does not know this caller.
#[test]
fn a_strand_that_does_not_execute_the_guest() {
    fn refused(services: impl Services) -> bool {
        let other = Caller { strand: StrandId::new(4).unwrap(), ..CALLER };
        let hypervisor = Hypervisor::new(services, NoConsole);
        assert!(hypervisor.strand(CALLER).is_ok());
        hypervisor.strand(other).err() == Some(ForeignStrand(other))
    }
    let knowing = Adder::<0x300, 100>::default;
    assert!(
        refused((knowing(), Refusing::<0x301, false>))
            && refused((Refusing::<0x301, false>, knowing()))
    );
    assert!(!refused(()) && !refused((Refusing::<0x301, false>,)));
}

/// A call error's text is the name of its status, followed by the value that the call returns, if any.
#[test]
fn a_refused_call_says_why() {
    let error = CallError::from(HvError::Invalid);
    assert_eq!((error.status(), error.to_string()), (Some(HvError::Invalid), "EINVAL".to_string()));
    let error = CallError { value: Some(0x30), ..error };
    assert_eq!(error.to_string(), "EINVAL, with 0x30");
}

/// A strand of a [`Hypervisor`] implements [`Hypercall`], so guest code can use it like a real hypervisor.
#[test]
fn a_strand_is_a_transport() {
    let hypervisor = Hypervisor::new((Adder::<0x300, 100>::default(),), Image::default());
    let strand = hypervisor.strand(CALLER).unwrap();
    assert!(format!("{strand:?}").contains("guest: GuestId(0), strand: StrandId(3)"));
    assert_eq!(format!("{hypervisor:?}"), "Hypervisor { .. }");
    let guest: &dyn Hypercall = &strand;
    assert_eq!(guest.call(Trap::Fast, 0x300, [1; 5]), Err(HvError::BadTrap));
    assert_eq!(guest.call(Trap::Core, 0, [0x300, 1, 0, 3, 4]), Ok([0, 0, 3, 4, 0]));
    assert_eq!(guest.call(Trap::Fast, 0x300, [1, 1, 2, 3, 4]), Ok([101, 2, 3, 4, 0x300]));
    let mut registers = Registers::call(2, [1, 2, 3, 4, 5]);
    guest.trap(Trap::Core, &mut registers);
    assert_eq!(registers, Registers::call(2, [1, 2, 3, 4, 5]), "an exit changes no register");
}

#[test]
fn an_image_without_services() {
    let hypervisor = Hypervisor::new((), Image::default());
    let strand = hypervisor.strand(CALLER).unwrap();
    assert_eq!(fast(&strand, 0x106), [7, 11, 12]);
    assert_eq!(fast(&strand, 0x400), [0, 1, 2]);
    assert_eq!(strand.call(Trap::Fast, 0x402, [0; 5]), Ok([1, 2, 3, 4, 5]));
    assert_eq!(core(&strand, 0, [0x205, 1, 0]), [6, 1, 0]);
    assert_eq!(core(&strand, 0, [1, 1, 0]), [0, 0, 0]);
}

/// A service may have group CORE. The service then determines the group's versions, and serves the group's functions to guests that have
/// negotiated the group. Calls through trap 0xff stay the same.
#[test]
fn a_service_that_has_group_core() {
    let services = (Adder::<0x300, 100>::default(), Refusing::<1, false>);
    let hypervisor = Hypervisor::new(services, Image::default());
    let strand = hypervisor.strand(CALLER).unwrap();
    assert_eq!(fast(&strand, 1), [7, 11, 12]);
    assert_eq!(core(&strand, 3, [1, 11, 12]), [0, 0, 0]);
    assert_eq!(core(&strand, 0, [1, 1, 7]), [0, 1, 7]);
    assert_eq!(core(&strand, 3, [1, 11, 12]), [0, 1, 1]);
    assert_eq!(fast(&strand, 1), [6, 0x30, 12]);
    assert_eq!(core(&strand, 1, [0x42, 11, 12]), [0, 11, 12]);
    hypervisor.reset_guest(CALLER.guest, CALLER.strand);
    assert_eq!(fast(&strand, 1), [7, 11, 12]);
    assert_eq!(core(&strand, 3, [1, 11, 12]), [0, 0, 0]);
}

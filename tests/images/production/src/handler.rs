//! A strand: its start, its traps and interrupts, and the end of its guest.

use core::fmt::{Display, Write};
use core::ops::ControlFlow::{self, Break, Continue};

use guest_abi::{Registers, Served, StrandId, Trap};
use heapless::Vec;
use hv_core::{After, Caller, GuestId, Hypervisor, Strand};
use perfctr_service::mailbox::Step;
use perfctr_service::{GuestConfig, PerfCounterContext, PerfCounterService};
use platform::PhysicalAddress;
use platform::sparc64::{End, Entry, Mmio, Partition, StrandRegs, TrapHandler, interrupt};
use services::{Command, CoreGroup, CpuState, DiagGroup, Image, SoftStateGroup, Start};
use spin::Mutex;

use crate::console::{self, Console};
use crate::guests::{CROSS_CALL, Guests, OPERATOR, Then};
use crate::keep;
use crate::layout::Layout;
use crate::mailbox::{self, State};

/// The bus, and the registers of a strand.
type Environment = (Mmio, StrandRegs);
type Counters = PerfCounterService<Environment>;
type Services = (
    Counters,
    CoreGroup<Guests>,
    SoftStateGroup<Guests>,
    DiagGroup,
);
type Machine = Hypervisor<Services, Guests>;

static LAYOUT: Mutex<Option<Layout>> = Mutex::new(None);
static HYPERVISOR: Mutex<Option<Machine>> = Mutex::new(None);
/// The hypervisor, for the strands that strand 0 starts.
static READY: Mutex<Option<&'static Machine>> = Mutex::new(None);
static HANDLERS: [Mutex<Option<Handler>>; StrandId::COUNT] =
    [const { Mutex::new(None) }; StrandId::COUNT];

/// A strand of a guest.
pub struct Handler {
    strand: Strand<'static, Services, Guests>,
    hypervisor: &'static Machine,
    memory: Partition,
}

impl TrapHandler for Handler {
    type Context = PerfCounterContext<'static, Environment>;

    fn start(strand: StrandId) -> (&'static Self, Entry) {
        let ready = *READY.lock();
        let hypervisor = ready.unwrap_or_else(prepare);
        let guests = hypervisor.embedder();
        let Some((guest, described)) = guests.layout.guest_of(strand) else {
            // A strand without a guest serves the operator.
            loop {
                take_interrupts(hypervisor, strand);
                interrupt::halt();
            }
        };
        let handler = Self {
            strand: hypervisor.strand(Caller { guest, strand }),
            hypervisor,
            memory: guests.layout.partition(described, guest, strand),
        };
        let handler = keep(&HANDLERS[strand.index()], handler);
        (handler, handler.wait())
    }

    fn context(&self) -> &Self::Context {
        &self.strand.contexts().0
    }

    fn partition(&self) -> Partition {
        self.memory
    }

    fn served(&self) -> Served<'static> {
        self.strand.served()
    }

    fn core_fast(&self, function: u64, arguments: [u64; 3]) -> Option<[u64; 3]> {
        self.strand.core_fast(function, arguments)
    }

    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        match trap {
            Trap::Fast => {
                self.strand.fast_trap(registers);
                match self.hypervisor.embedder().exit(self.strand.caller().strand) {
                    Some(code) => Break(code),
                    None => Continue(()),
                }
            }
            Trap::Core => match self.strand.core_slow(registers) {
                After::Exit(code) => Break(code),
                After::Resume => Continue(()),
            },
        }
    }

    fn faulted_late(&self, address: PhysicalAddress) -> bool {
        let (counters, ..) = self.hypervisor.services();
        let strand = self.strand.caller().strand;
        counters.faulted_late(strand, address).is_some()
    }

    fn interrupted(&self) -> ControlFlow<()> {
        let strand = self.strand.caller().strand;
        take_interrupts(self.hypervisor, strand);
        let (_, core, ..) = self.hypervisor.services();
        let told = core.cpus().take(strand);
        match told.is_some() || core.cpus().state(strand) != CpuState::Running {
            true => Break(()),
            false => Continue(()),
        }
    }

    fn ended(handler: Option<&'static Self>, end: End) -> Entry {
        let Some(handler) = handler else {
            failed(&"it does not start", console::NOT_STARTED)
        };
        let guest = handler.strand.caller().guest;
        match end {
            End::Exit(code) => handler.guest_ended(State::Exited, code),
            End::Trap(trap) if trap.is_in_hypervisor() => failed(trap, console::TRAPPED),
            End::Trap(trap) => {
                // If the console does not work, there is no other place to report to.
                let _ = write!(Console::of(guest), "guest: {trap}");
                handler.guest_ended(State::Trapped, console::TRAPPED);
            }
            End::Interrupted => {}
            End::Panic(line) => failed(&format_args!("panic in line {line}\n"), console::PANICKED),
        }
        settle(handler.hypervisor, guest, handler.strand.caller().strand);
        handler.wait()
    }
}

impl Handler {
    /// Waits until the strand is to enter its guest.
    fn wait(&self) -> Entry {
        let strand = self.strand.caller().strand;
        let (_, core, ..) = self.hypervisor.services();
        loop {
            // Before the strand looks what it is to do: who tells it anything later interrupts it, and it does not halt.
            take_interrupts(self.hypervisor, strand);
            if let Some(Command::Start(start)) = core.cpus().take(strand) {
                return Entry {
                    address: start.pc,
                    argument: start.argument,
                    table: start.rtba,
                };
            }
            if core.cpus().state(strand) != CpuState::Running {
                interrupt::halt();
            }
        }
    }

    /// The guest has ended on this strand.
    fn guest_ended(&self, state: State, code: u64) {
        let Caller { guest, strand } = self.strand.caller();
        let guests = self.hypervisor.embedder();
        if guests.leave(guest) {
            mailbox::tell(guest, state, code);
            if !guests.layout.described {
                Console::first().end(code);
            }
        }
        let (_, core, ..) = self.hypervisor.services();
        core.end(guest, strand);
    }
}

/// Prepares the services, and starts the strands of the guests.
fn prepare() -> &'static Machine {
    let tell = |error: &dyn Display| {
        let _ = writeln!(Console::first(), "hypervisor: {error}");
    };
    let Some(layout) = Layout::read(tell) else {
        failed(&"no guests\n", console::NOT_STARTED)
    };
    let layout = keep(&LAYOUT, layout);
    // SAFETY: this is a hypervisor with the MMU off. What the service asks for are device registers, on the strand that they are of.
    let environment = unsafe {
        let cross_call = |strand| interrupt::send(strand, CROSS_CALL);
        (Mmio::new(), StrandRegs::new(cross_call))
    };
    let guests = Guests {
        layout,
        registers: environment.1,
    };
    let configs: Vec<GuestConfig, { GuestId::COUNT }> =
        layout.guests.iter().map(|guest| guest.config).collect();
    let counters = match PerfCounterService::new(layout.machine, environment, &configs) {
        Ok(counters) => counters,
        Err(error) => failed(&format_args!("{error}\n"), console::NOT_STARTED),
    };
    let services = (
        counters,
        CoreGroup::new(guests),
        SoftStateGroup::new(guests),
        DiagGroup,
    );
    let hypervisor = keep(&HYPERVISOR, Hypervisor::new(services, guests));
    *READY.lock() = Some(hypervisor);
    for (number, guest) in layout.guests.iter().enumerate() {
        if let Some(number) = GuestId::new(number) {
            begin(hypervisor, number);
        }
        for strand in guest
            .config
            .strands
            .iter()
            .filter(|strand| strand.index() != 0)
        {
            interrupt::start_strand(strand);
        }
    }
    hypervisor
}

/// Begins a guest on the first of its strands that has not died, and returns that; `None` if all have.
fn begin(hypervisor: &Machine, guest: GuestId) -> Option<StrandId> {
    let guests = hypervisor.embedder();
    let (_, core, ..) = hypervisor.services();
    let described = guests.layout.guest(guest)?;
    let mut strands = described.config.strands.iter();
    let first = strands.find(|strand| !has_failed(hypervisor, *strand))?;
    guests.begin(guest);
    mailbox::tell(guest, State::Runs, 0);
    let start = Start {
        pc: described.entry,
        rtba: 0,
        argument: described.entry,
    };
    // It is stopped.
    let _ = core.cpus().start(first, start);
    Some(first)
}

/// Returns whether a strand has died.
fn has_failed(hypervisor: &Machine, strand: StrandId) -> bool {
    let (_, core, ..) = hypervisor.services();
    core.cpus().state(strand) == CpuState::Error
}

/// Takes what other strands and the operator have for this one.
fn take_interrupts(hypervisor: &Machine, strand: StrandId) {
    let (counters, core, ..) = hypervisor.services();
    while let Some(number) = interrupt::take() {
        match number {
            CROSS_CALL => counters.cross_called(strand),
            OPERATOR => mailbox::with_words(|words| {
                perfctr_service::mailbox::serve(words, counters, strand, |step| match step {
                    Step::Reset(guest) => {
                        if hypervisor.embedder().restart(guest) {
                            core.end(guest, strand);
                        }
                        settle(hypervisor, guest, strand);
                    }
                    Step::Died(dead) => {
                        core.cpus().failed(dead);
                        let guests = hypervisor.embedder();
                        if let Some((guest, described)) = guests.layout.guest_of(dead) {
                            let mut strands = described.config.strands.iter();
                            if strands.all(|strand| has_failed(hypervisor, strand))
                                && guests.goes_on(guest)
                            {
                                mailbox::tell(guest, State::Failed, 0);
                            }
                            settle(hypervisor, guest, strand);
                        }
                    }
                    _ => {}
                });
            }),
            // The strand looks what it is to do.
            _ => {}
        }
    }
}

/// If all strands of a guest that ends have left it: nothing of it is left behind, and it begins again if it is to, and a strand of it
/// has not died. Its memory is as it was: whoever loads the guest has the copy of its program.
fn settle(hypervisor: &Machine, guest: GuestId, on: StrandId) {
    let guests = hypervisor.embedder();
    let (_, core, ..) = hypervisor.services();
    if !core.is_stopped(guest) {
        return;
    }
    let Some(then) = guests.left(guest) else {
        return;
    };
    hypervisor.reset_guest(guest, on);
    match then {
        Then::Restarts => match begin(hypervisor, guest) {
            Some(first) => guests.notify(first),
            None => mailbox::tell(guest, State::Failed, 0),
        },
        Then::Ends { last: true } => mailbox::power_off(),
        Then::Ends { last: false } => {}
    }
}

/// The hypervisor itself has failed: everything ends.
fn failed(why: &dyn Display, code: u64) -> ! {
    // If the console does not work, there is no other place to report to.
    let _ = write!(Console::first(), "hypervisor: {why}");
    Console::first().end(code);
    mailbox::power_off();
    loop {
        interrupt::halt();
    }
}

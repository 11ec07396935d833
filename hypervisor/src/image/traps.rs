//! What each strand executes: its start, its traps and interrupts, and the end of its guest.

use core::ops::ControlFlow::{self, Break, Continue};

use ::log::Level;
use guest_abi::{Registers, ServedFunctions, StrandId, Trap};
use hv_core::trace::remote::HEARTBEAT_INTERRUPT;
use hv_core::{Caller, GuestId, TrapOutcome};
use perfctr_service::mailbox::Step;
use perfctr_service::{NamedGuest, PerfCounterContext};
use platform::PhysicalAddress;
use platform::memory_map::escape;
use platform::memory_map::mailbox::record::Reason;
use platform::memory_map::mailbox::state;
use platform::memory_map::ptimer;
use platform::sparc64::{End, Entry, Partition, TrapHandler, interrupt};

use super::assemble::{BoardHypervisor, assemble, configure};
use super::board::Board;
use super::clocks;
use super::failure::{Failure, failed, report_failure, without_handler};
use super::guests::{CROSS_CALL, EndAction, OPERATOR};
use super::handler::{Handler, HasStorage, has_failed};
use super::layout::Layout;
use super::log;
use super::mailbox;
use super::record::{Record, ReportingEnvironment};
use super::{clock_checks, store_forever};
use crate::services::{CpuState, Image, Start, StrandCommand};

impl<B: HasStorage> TrapHandler for Handler<B> {
    type Context = PerfCounterContext<'static, ReportingEnvironment<B::Environment>>;

    fn start(strand: StrandId) -> &'static Self {
        B::begin(strand);
        let hypervisor = B::storage().ready().unwrap_or_else(prepare::<B>);
        clock_checks::check(strand);
        let guests = hypervisor.embedder();
        let guest = guests.layout.guest_of(strand);
        let handler =
            guest.and_then(|(guest, _)| Self::new(hypervisor, Caller { guest, strand }).ok());
        let Some(handler) = handler else {
            // A strand without a guest only performs the operator's steps.
            loop {
                take_interrupts(hypervisor, strand);
                interrupt::halt();
            }
        };
        store_forever(&B::storage().handlers[strand.index()], handler)
    }

    fn enter(&'static self) -> Entry {
        let strand = self.strand.caller().strand;
        let (_, core, ..) = self.hypervisor.services();
        loop {
            // Take interrupts first, and only then check for a command. If a command arrives after this check, its interrupt is still
            // pending, and ends the halt immediately.
            take_interrupts(self.hypervisor, strand);
            if let Some(StrandCommand::Start(start)) = core.cpus().take(strand) {
                return Entry { address: start.pc, argument: start.argument, table: start.rtba };
            }
            if core.cpus().state(strand) != CpuState::Running {
                interrupt::halt();
            }
        }
    }

    fn context(&self) -> &Self::Context {
        &self.strand.contexts().0
    }

    fn partition(&self) -> Partition {
        self.memory
    }

    fn served(&self) -> ServedFunctions<'static> {
        self.strand.served()
    }

    fn core_fast(&self, function: u64, arguments: [u64; 3]) -> Option<[u64; 3]> {
        self.strand.core_fast(function, arguments)
    }

    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        match trap {
            Trap::Fast => {
                self.strand.fast_trap(registers);
                match self.hypervisor.embedder().take_exit_code(self.strand.caller().strand) {
                    Some(code) => Break(code),
                    None => Continue(()),
                }
            }
            Trap::Core => match self.strand.core_slow(registers) {
                TrapOutcome::Exit(code) => Break(code),
                TrapOutcome::Resume => Continue(()),
            },
        }
    }

    fn software_trap(&self, number: u8, registers: &mut Registers) {
        self.strand.software_trap(number, registers);
    }

    fn faulted_late(&self, address: Option<PhysicalAddress>) {
        let Caller { guest, strand } = self.caller();
        let reason = match address {
            None => Reason::AddressUnknown,
            Some(address) if self.counters().faulted_late(strand, address).is_none() => {
                Reason::NoUnit
            }
            Some(_) => return,
        };
        let address = address.map(|address| address.0);
        let record = Record { address, ..Record::new(reason, Some(strand)) };
        let layout = self.hypervisor.embedder().layout;
        let name = self.named();
        // The guest can cause store failures repeatedly, so the log limits the rate of their messages and records.
        let report =
            |text| log::report(Some(guest), Level::Warn, text, || record.write(Some(layout)));
        match address {
            None => report(format_args!(
                "a store of {name} to a device failed on strand {strand}; the processor does not say where"
            )),
            Some(address) => report(format_args!(
                "a store of {name} failed on strand {strand} at {address:#x}, where no unit is"
            )),
        }
    }

    fn timer(&self) {
        clock_checks::timer(self.strand.caller().strand);
    }

    fn interrupted(&self) -> ControlFlow<()> {
        let strand = self.strand.caller().strand;
        take_interrupts(self.hypervisor, strand);
        let (_, core, ..) = self.hypervisor.services();
        let cpus = core.cpus();
        // While the strand runs, the only command is to stop. After a reset, the strand leaves the guest here, and `enter` takes
        // the command to start.
        match cpus.state(strand) != CpuState::Running || cpus.take(strand).is_some() {
            true => Break(()),
            false => Continue(()),
        }
    }

    fn ended(handler: Option<&'static Self>, end: End) -> Entry {
        let failure = match end {
            End::Trap(trap) if handler.is_none() || trap.is_in_hypervisor() => {
                Some(Failure::Trap(trap))
            }
            End::Panic(line) => Some(Failure::Panic(line)),
            _ => None,
        };
        let Some(handler) = handler else {
            without_handler::<B>(failure.unwrap_or(Failure::Panic(0)))
        };
        match (failure, end) {
            (Some(failure), _) => handler.failed(failure),
            (None, End::Trap(trap)) => handler.trapped(trap),
            (None, End::Exit(code)) => handler.guest_ended(state::EXITED, code),
            (None, End::Interrupted | End::Panic(_)) => {}
        }
        let Caller { guest, strand } = handler.caller();
        complete_guest_end(handler.hypervisor, guest, strand);
        handler.enter()
    }
}

/// Prepares the services, and starts all the guests' strands. Only strand 0 calls this function.
fn prepare<B: HasStorage>() -> &'static BoardHypervisor<B> {
    log::begin::<B>();
    let Some(layout) = Layout::read(report_failure) else {
        failed(&"no guests", escape::NOT_STARTED)
    };
    let storage = B::storage();
    let layout = store_forever(&storage.layout, layout);
    log::know(layout);
    let hypervisor = assemble(layout, B::environment(layout.machine));
    let hypervisor = store_forever(&storage.hypervisor, hypervisor);
    if let Err(error) = configure(hypervisor, layout) {
        failed(&error, escape::NOT_STARTED);
    }
    if let Some(strand) = StrandId::new(0)
        && !clocks::begin(layout, strand)
    {
        log::message(Level::Warn, format_args!("no clock of the machine is usable"));
    }
    storage.set_ready(hypervisor);
    for (number, guest) in layout.guests.iter().enumerate() {
        if let Some(number) = GuestId::new(number) {
            begin(hypervisor, number);
        }
        for strand in guest.config.strands.iter().filter(|strand| strand.index() != 0) {
            interrupt::start_strand(strand);
        }
    }
    hypervisor
}

/// Interrupts a strand, which then applies the operator's changes to its own registers. A [`Board`]
/// passes this function to `StrandRegs::new`.
pub fn cross_call(strand: StrandId) {
    interrupt::send(strand, CROSS_CALL);
}

/// Starts a guest on the first of its strands that has not died. Returns that strand; `None` if all have died.
fn begin<B: Board>(hypervisor: &BoardHypervisor<B>, guest: GuestId) -> Option<StrandId> {
    let guests = hypervisor.embedder();
    let (_, core, ..) = hypervisor.services();
    let described = guests.layout.guest(guest)?;
    let mut strands = described.config.strands.iter();
    let first = strands.find(|strand| !has_failed(hypervisor, *strand))?;
    guests.begin(guest);
    mailbox::set_guest_state(guest, state::RUNS, 0);
    let start = Start { pc: described.entry, rtba: 0, argument: described.entry };
    // The strand is stopped, so the start cannot fail.
    let _ = core.cpus().start(first, start);
    Some(first)
}

/// Handles `strand`'s pending interrupts, which other strands or the operator have sent.
fn take_interrupts<B: Board>(hypervisor: &BoardHypervisor<B>, strand: StrandId) {
    let (counters, core, ..) = hypervisor.services();
    let checked = clock_checks::check_if_due(strand);
    while let Some(number) = interrupt::take() {
        match number {
            CROSS_CALL => counters.cross_called(strand),
            HEARTBEAT_INTERRUPT => hypervisor.heartbeat(strand),
            ptimer::VECTOR if checked => {}
            ptimer::VECTOR => clock_checks::check(strand),
            OPERATOR => mailbox::with_words(strand, |words| {
                perfctr_service::mailbox::serve(words, counters, strand, |step| match step {
                    Step::Reset(guest) => {
                        if hypervisor.embedder().restart(guest) {
                            core.end(guest, strand);
                        }
                        complete_guest_end(hypervisor, guest, strand);
                    }
                    Step::Died(dead) => {
                        core.cpus().mark_failed(dead);
                        log::abandon(dead);
                        clocks::abandon(dead);
                        // The PTIMER's alarm may be set for the dead strand. A check sets it for this strand.
                        clock_checks::check(strand);
                        let guests = hypervisor.embedder();
                        if let Some((guest, described)) = guests.layout.guest_of(dead) {
                            let mut strands = described.config.strands.iter();
                            if strands.all(|strand| has_failed(hypervisor, strand))
                                && guests.is_running(guest)
                            {
                                mailbox::set_guest_state(guest, state::FAILED, 0);
                                let name = NamedGuest(guest, described.name);
                                log::message(
                                    Level::Error,
                                    format_args!(
                                        "the last strand of {name} has died: strand {dead}"
                                    ),
                                );
                            }
                            complete_guest_end(hypervisor, guest, strand);
                        }
                    }
                    _ => {}
                });
            }),
            // The interrupt may announce a command. The caller looks for commands afterwards, so there is nothing to do here.
            _ => {}
        }
    }
}

/// Completes a guest's end after all its strands have left it: resets its services. Then starts the guest again if a restart is requested
/// and one of the guest's strands is alive. The guest's memory stays unchanged, because the image has no copy of the guest's program.
fn complete_guest_end<B: Board>(hypervisor: &BoardHypervisor<B>, guest: GuestId, on: StrandId) {
    let guests = hypervisor.embedder();
    let (_, core, ..) = hypervisor.services();
    let complete = |then| {
        hypervisor.reset_guest(guest, on);
        match then {
            EndAction::Restarts => match begin(hypervisor, guest) {
                Some(first) => guests.notify(first),
                None => mailbox::set_guest_state(guest, state::FAILED, 0),
            },
            EndAction::Ends { last: true } => mailbox::power_off(),
            EndAction::Ends { last: false } => {}
        }
    };
    while core.is_stopped(guest) && guests.complete_end(guest, on, complete) {}
}

//! A guest that counts memory reads, samples loads, and prints both. The machine is simulated; a kernel uses `Sun4v` instead.

use std::cell::{Cell, RefCell};

use guest_abi::event::{DramEvent, SparcEvent};
use guest_abi::guest::{Core, SnapshotLimits, StrandCounters};
use guest_abi::layout::{SparcPcr, SparcPic};
use guest_abi::sampling::{
    InterruptPoint, OwnCounters, Pace, Period, Profiler, Request, SparcMode,
};
use guest_abi::trap::{CONS_PUTCHAR, VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{Counter, Error, HvError, Hypercall, PerfCounters, Pmu, Registers, StrandId, Trap};

/// Counts the reads on every memory channel that the guest may use, and takes a sample every 1000 loads.
fn measure(machine: &SmallMachine) -> Result<(), Error> {
    let console = Core::new(machine);
    let counters = PerfCounters::negotiate_best(machine)?;
    let mut reads = [None; Pmu::COUNT];
    for (pmu, count) in counters.probe()?.usable().iter().zip(&mut reads) {
        if let Pmu::Dram(channel) = pmu {
            counters.select(channel, Counter::Pic0, DramEvent::Reads)?;
            *count = Some(counters.snapshot(channel, SnapshotLimits::ONCE)?.count(Counter::Pic0));
        }
    }
    let pace = Some(Pace::every(Period::try_from(1000)?));
    let loads = Request { event: SparcEvent::Loads.into(), pace };
    let mut profiler = Profiler::<_, 1, 64>::new(SparcMode::User.into(), &[loads])?;
    let mut unit = OwnCounters::new(machine);
    profiler.start(&mut unit, 0)?;
    machine.run(|address, time| {
        let at = InterruptPoint { address, strand: StrandId::from(0), time, mode: SparcMode::User };
        profiler.handle(&mut unit, &at)
    })?;
    for count in reads.iter_mut().flatten() {
        let events = count.update(&counters.snapshot(count.pmu(), SnapshotLimits::ONCE)?)?;
        writeln!(console, "{}: {events} reads", count.pmu())?;
    }
    while let Some(sample) = profiler.pop() {
        writeln!(console, "{} loads up to {:#x}", sample.period, sample.at.address)?;
    }
    Ok(counters.release()?)
}

/// A machine with one memory channel, a console, and one strand, whose program reads a cache line from memory with every fourth load.
#[derive(Default)]
struct SmallMachine {
    printed: RefCell<String>,
    pcr: Cell<SparcPcr>,
    pic: Cell<SparcPic>,
    select: Cell<u64>,
    reads: Cell<u64>,
}

impl SmallMachine {
    /// Executes 3500 loads, and calls the guest's overflow trap handler with an address and a time.
    fn run<T, E>(&self, mut trap: impl FnMut(u64, u64) -> Result<T, E>) -> Result<(), E> {
        for time in 0..3500 {
            let (pcr, pic) = (self.pcr.get(), self.pic.get());
            self.reads.set(self.reads.get() + u64::from(time % 4 == 0 && self.select.get() == 0));
            if pcr.user() && pcr.select(Counter::Pic0) == SparcEvent::Loads.into() {
                self.pic.set(pic.with_pic0(pic.pic0().wrapping_add(1)));
                if pic.pic0() == u32::MAX {
                    self.pcr.set(pcr.with_overflows(Counter::Pic0.into()));
                }
            }
            if !self.pcr.get().trapping().is_empty() {
                trap(0x4000 + time % 7 * 4, time)?;
            }
        }
        Ok(())
    }
}

impl Hypercall for SmallMachine {
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        registers.o1 = match (trap, registers.o5, registers.o0) {
            (Trap::Core, CONS_PUTCHAR, character) => {
                self.printed.borrow_mut().push(char::from(character as u8));
                0
            }
            // Negotiation: version 1.1 is granted.
            (Trap::Core, ..) => 1,
            (Trap::Fast, VFALLS_GET_PERFREG, 2) => self.select.get(),
            (Trap::Fast, VFALLS_SET_PERFREG, 2) => self.select.replace(registers.o1),
            (Trap::Fast, VFALLS_GET_PERFREG, 3) => (0x7fff_ff00 + self.reads.get()) << 32,
            (Trap::Fast, ..) => return registers.o0 = HvError::NotSupported.number(),
        };
        registers.o0 = 0;
    }
}

impl StrandCounters for SmallMachine {
    fn pcr(&self) -> SparcPcr {
        self.pcr.get()
    }

    fn set_pcr(&self, pcr: SparcPcr) {
        self.pcr.set(pcr);
    }

    fn pic(&self) -> SparcPic {
        self.pic.get()
    }

    fn set_pic(&self, pic: SparcPic) {
        self.pic.set(pic);
    }
}

fn main() -> Result<(), Error> {
    let machine = SmallMachine::default();
    measure(&machine)?;
    print!("{}", machine.printed.borrow());
    Ok(())
}

#[test]
fn prints_reads_and_samples() {
    let machine = SmallMachine::default();
    measure(&machine).unwrap();
    let printed = "NODE0_MCU0: 875 reads\n1000 loads up to 0x4014\n1000 loads up to 0x4010\n1000 loads up to 0x400c\n";
    assert_eq!(*machine.printed.borrow(), printed);
}

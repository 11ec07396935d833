//! The events of an execution: the events that the hypervisor records in its rings, and the
//! hypercalls that the machine sees.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Context;
use guest_abi::StrandId;
use hv_core::trace::Conditions;
use platform::interfaces::Interface;
use platform::memory_map::HYPERVISOR;
use simulator::events::rings::Rings;
use simulator::events::{Epoch, Trace};
use simulator::execute::calls::{self, Call};
use simulator::execute::{Execution, Interfaces, recorded};
use simulator::machine::clock::HZ;
use simulator::machine::guests::NamedGuest;

use super::elf;
use super::images::ImageFile;
use crate::cmd::events_out::{FileArgs, Outputs};
use crate::exit::Mismatch;
use crate::output::{Force, OutputFile};
use crate::say::say;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Events")]
pub(super) struct EventArgs {
    #[command(flatten)]
    files: FileArgs,

    /// Write the hypercalls that the machine itself sees to a directory in the form of
    /// --events-out, whatever the hypervisor records
    #[arg(long, value_name = "DIR")]
    observed_out: Option<PathBuf>,

    /// Let the hypervisor record events, and write its memory to this file when the machine stops, for vfalls events --memory
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,
}

/// The number of instructions, counted over all strands, between two reads of the rings. Even if one strand executes all these
/// instructions, their events fit into the strand's ring.
const BETWEEN_READS: u64 = 1 << 14;

/// The conditions from which each layout's heartbeat interval is computed. No strand delays an interrupt for longer than `longest_off_ns`.
const CONDITIONS: Conditions =
    Conditions { hz: HZ, probe_ns: 200, timer_hz: 100, longest_off_ns: 20_000_000 };

/// The output files that the user wants, and the source of their events.
pub(super) struct Events {
    epoch: Option<Epoch>,
    /// The files for recorded events, and the rings. `None` if the user wants no such file, or if
    /// the image has no rings.
    recorded: Option<(Outputs, Rings)>,
    observed: Option<Outputs>,
    dump: Option<OutputFile>,
    calls: Rc<RefCell<Vec<Call>>>,
    /// The strands of all guests. `last_heartbeat` is the time of the latest request for heartbeats, in cycles since the machine started.
    strands: Vec<StrandId>,
    last_heartbeat: u64,
}

impl Events {
    /// Creates the files that `args` name. Switches the hypervisor's tracing on if the user wants its events.
    pub(super) fn begin(
        args: &EventArgs,
        force: Force,
        execution: &mut Execution,
        (hypervisor, interfaces): (&ImageFile, &Interfaces),
        guests: &[NamedGuest],
    ) -> anyhow::Result<Self> {
        let EventArgs { files, observed_out, dump } = args;
        let observed =
            observed_out.as_ref().map(|path| files.directory(path, force)).transpose()?;
        let dump = force.create_if_wanted(dump.as_ref())?;
        let rings = match files.wanted() || dump.is_some() {
            true => switched_on(execution, hypervisor, interfaces)?,
            false => None,
        };
        let recorded = match rings.filter(|_| files.wanted()) {
            Some(rings) => Some((Outputs::create(files, force)?, rings)),
            None => None,
        };
        let calls = Rc::new(RefCell::new(Vec::new()));
        if recorded.is_some() || observed.is_some() {
            let calls = Rc::clone(&calls);
            execution.observe_calls(Some(Box::new(move |call| calls.borrow_mut().push(*call))));
        }
        let strands = guests.iter().flat_map(|guest| guest.config.strands.iter()).collect();
        let epoch = files.epoch();
        Ok(Self { epoch, recorded, observed, dump, calls, strands, last_heartbeat: 0 })
    }

    /// Returns how many instructions to execute before the next [`read`](Self::read).
    pub(super) fn patience(&self) -> u64 {
        if self.recorded.is_some() { BETWEEN_READS } else { u64::MAX }
    }

    /// Reads the events that the hypervisor has recorded since the previous call. If heartbeats are
    /// due, asks all strands for them.
    pub(super) fn read(&mut self, execution: &mut Execution) -> anyhow::Result<()> {
        if let Some((_, rings)) = &mut self.recorded {
            rings.read(&*execution);
            let distance =
                CONDITIONS.max_heartbeat_interval(rings.layout().bits().wrap()).unwrap_or(u64::MAX);
            if execution.now() - self.last_heartbeat >= distance {
                self.last_heartbeat = execution.now();
                self.strands.iter().for_each(|strand| execution.heartbeat(*strand));
            }
            for (address, value) in rings.finished() {
                execution.load(address, &value.to_be_bytes())?;
            }
        }
        Ok(())
    }

    /// Completes the files. Prints the numbers of recorded and lost events.
    ///
    /// Fails if a recorded event differs from what the machine saw.
    pub(super) fn complete(
        mut self,
        execution: &mut Execution,
        guests: &[NamedGuest],
        output: &mut impl Write,
    ) -> anyhow::Result<()> {
        self.read(execution)?;
        if let Some(mut file) = self.dump {
            let mut bytes = vec![0; (HYPERVISOR.end - HYPERVISOR.start) as usize];
            execution.read(HYPERVISOR.start, &mut bytes)?;
            file.write_all(&bytes).context("the dump cannot be written")?;
            file.complete()?;
        }
        let calls = self.calls.borrow();
        if let Some(files) = self.observed {
            let trace = calls::trace(&calls, guests);
            files.complete(&Trace { epoch: self.epoch, ..trace })?;
        }
        let Some((files, rings)) = self.recorded else {
            return Ok(());
        };
        let resolution = rings.layout().resolution();
        let names = guests.iter().map(|guest| guest.name.clone()).collect();
        let trace = Trace { epoch: self.epoch, ..rings.trace(execution, HZ, names) };
        let unreturned: Vec<_> = execution.unreturned().collect();
        let seen = (&**calls, &*unreturned);
        let compared = recorded::compare(&trace.streams, resolution, seen, guests);
        files.complete(&trace)?;
        match compared {
            Ok(compared) => writeln!(output, "\nEvents in the hypervisor's rings\n  {compared}")?,
            Err(difference) => return Err(Mismatch(difference.to_string()).into()),
        }
        Ok(())
    }
}

/// Finds the rings of a loaded hypervisor, and switches tracing on. Prints a message if the image has no rings.
fn switched_on(
    execution: &mut Execution,
    hypervisor: &ImageFile,
    interfaces: &Interfaces,
) -> anyhow::Result<Option<Rings>> {
    let Some(at) = interfaces.at(Interface::Events) else {
        say(format_args!(
            "note: {} records no events; --observed-out writes what the machine sees",
            hypervisor.name
        ));
        return Ok(None);
    };
    let name = || hypervisor.name.clone();
    let kinds = elf::parse(&hypervisor.bytes).and_then(|elf| elf::event_kinds(&elf));
    let kinds = kinds.with_context(name)?;
    let rings = Rings::new(execution, at, None, kinds).with_context(name)?;
    let (address, value) = rings.switch_on();
    execution.load(address, &value.to_be_bytes())?;
    Ok(Some(rings))
}

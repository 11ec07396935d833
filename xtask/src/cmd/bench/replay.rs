//! Measures the replay rate on one core of the host, while all counters of the machine count.

use anyhow::Context;
use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use guest_abi::layout::{AsuPcr, DramPcr, EventSelect, GpdPcr, LpuPcr, SparcPcr};
use guest_abi::{Counter, HubRole, HubUnit, McuRole, PerfReg, RegisterKind, StrandId};
use nix::sys::resource::UsageWho::RUSAGE_SELF;
use platform::models::Devices;
use platform::{Bus, Machine, Model, StrandRegisters, address};

use super::time::timed;
use simulator::memory::MemorySystem;
use simulator::recording::{Chunk, Recording, Reference, bundled};
use simulator::replay::placement::Placement;
use simulator::replay::scheduler::Scheduler;

/// The rates of all rounds, in references per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) best: f64,
    pub(super) median: f64,
    pub(super) worst: f64,
}

impl Rates {
    /// Calls `round` `rounds` times. `round` returns the number of references that it replayed, and the processor time in seconds.
    pub(super) fn measure(
        rounds: usize,
        mut round: impl FnMut() -> anyhow::Result<(usize, f64)>,
    ) -> anyhow::Result<Self> {
        let mut rates = Vec::new();
        for _ in 0..rounds {
            let (references, seconds) = round()?;
            rates.push(references as f64 / seconds);
        }
        rates.sort_by(f64::total_cmp);
        Ok(Self { best: rates[rounds - 1], median: rates[rounds / 2], worst: rates[0] })
    }
}

/// Returns the devices of a machine in which all counters count frequent events.
fn devices(machine: Machine) -> anyhow::Result<Devices> {
    let devices = Devices::new(machine);
    let strands = (0..machine.strands()).filter_map(StrandId::new);
    let first = strands.clone().next().context("a machine has strands")?;
    strands.for_each(|strand| devices.set_pcr(strand, strand_pcr()));
    for register in PerfReg::ALL.into_iter().filter(|register| machine.has_register(*register)) {
        if let (Some(address), Some(pcr)) = (address::global(register), unit_pcr(register)) {
            devices.write(first, address, pcr)?;
        }
    }
    Ok(devices)
}

/// Replays a recording, with its threads spread over a Batoka with `nodes` nodes. Returns the number of references and the processor time in
/// seconds.
fn replay(nodes: usize, recording: Recording) -> anyhow::Result<(usize, f64)> {
    let machine = Machine::new(Model::Batoka, nodes)?;
    let devices = devices(machine)?;
    let mut memory = MemorySystem::new(&machine)?;
    let all = (0..machine.strands()).filter_map(StrandId::new).collect();
    let named = vec![None; recording.threads()];
    let strands = Placement::Spread.strands(machine, all, &named)?;
    let mut scheduler = Scheduler::new(vec![recording], &strands);
    let (references, time) = timed(RUSAGE_SELF, || {
        let mut references = 0;
        let mut work = memory.work(&devices);
        while let Some((_, quantum)) = scheduler.next(usize::MAX)? {
            let executed = work.replay_compiled(&quantum);
            scheduler.executed(&executed);
            references += executed.references;
        }
        work.finish(scheduler.now())?;
        Ok(references)
    })?;
    Ok((references, time.cpu))
}

fn strand_pcr() -> u64 {
    SparcPcr::new()
        .with_user(true)
        .with_event(Counter::Pic0, SparcEvent::Instructions)
        .with_event(Counter::Pic1, SparcEvent::DataCacheMisses)
        .into()
}

fn unit_pcr(register: PerfReg) -> Option<u64> {
    fn both<P: EventSelect>(pic0: P::Event, pic1: P::Event) -> u64 {
        P::from(0).with_event(Counter::Pic0, pic0).with_event(Counter::Pic1, pic1).into()
    }
    match register.kind() {
        RegisterKind::Dram { role: McuRole::Pcr, .. } => {
            Some(both::<DramPcr>(DramEvent::Reads, DramEvent::Writes))
        }
        RegisterKind::Hub { unit, role: HubRole::Pcr, .. } => Some(match unit {
            HubUnit::Gpd => both::<GpdPcr>(GpdEvent::Clock, GpdEvent::Clock),
            HubUnit::Asu => both::<AsuPcr>(AsuEvent::PacketsIn, AsuEvent::PacketsOut),
            _ => both::<LpuPcr>(LpuEvent::ReadOrInvalidate, LpuEvent::CacheHit),
        }),
        _ => None,
    }
}

/// Replays references from memory. They are divided among `strands` strands on `nodes` nodes. Returns the number of references and the
/// processor time in seconds.
pub(super) fn decoded(
    references: &[Reference],
    strands: usize,
    nodes: usize,
) -> anyhow::Result<(usize, f64)> {
    let pieces = references.chunks(references.len().div_ceil(strands).max(1));
    let chunk = |piece: &[Reference]| {
        // A piece begins with a fetch. Data references before the first fetch belong to the last instruction of the previous piece.
        let whole = piece.iter().skip_while(|one| !one.kind.is_fetch());
        Chunk::new(whole.copied().collect(), Vec::new())
    };
    let threads = pieces.map(|piece| vec![chunk(piece)]).collect();
    replay(nodes, Recording::from_threads("the recording", threads))
}

/// Returns the references of the bundled recording, thread by thread.
pub(super) fn recording() -> anyhow::Result<Vec<Reference>> {
    let mut recording = bundled();
    let (mut references, mut chunk) = (Vec::new(), Chunk::default());
    for thread in 0..recording.threads() {
        while recording.next_chunk(thread, &mut chunk)? {
            references.extend(chunk.references().iter());
        }
    }
    Ok(references)
}

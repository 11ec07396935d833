//! Measures how fast references are replayed on one core of the host, while all counters of the machine count.

use std::time::Instant;

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use guest_abi::layout::{AsuPcr, DramPcr, EventSelect, GpdPcr, LpuPcr, SparcPcr};
use guest_abi::{Counter, HubRole, HubUnit, Kind, McuRole, PerfReg, StrandId};
use platform::models::Devices;
use platform::{Bus, Machine, Model, StrandRegisters, address};

use simulator::memory::MemorySystem;
use simulator::recording::{Chunk, Reference, bundled};
use simulator::scheduler::QUANTUM;

/// The rates of several rounds, in references per second, in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Rates(Vec<f64>);

impl Rates {
    /// Runs `rounds` rounds of `round`, which returns the number of references that it replayed, and the seconds it took.
    pub(super) fn of(
        rounds: usize,
        mut round: impl FnMut() -> anyhow::Result<(usize, f64)>,
    ) -> anyhow::Result<Self> {
        let mut rates = Vec::new();
        for _ in 0..rounds {
            let (references, seconds) = round()?;
            rates.push(references as f64 / seconds);
        }
        rates.sort_by(f64::total_cmp);
        Ok(Self(rates))
    }

    pub(super) fn worst(&self) -> f64 {
        self.0.first().copied().unwrap_or_default()
    }

    pub(super) fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    pub(super) fn best(&self) -> f64 {
        self.0.last().copied().unwrap_or_default()
    }
}

/// A machine with all nodes, empty caches, and every counter set to an event that happens often.
struct Bench {
    strands: Vec<StrandId>,
    memory: MemorySystem,
    devices: Devices,
}

impl Bench {
    /// Returns a machine on which so many strands, spread evenly, execute in turns.
    fn new(strands: usize) -> anyhow::Result<Self> {
        let machine = Machine::new(Model::Batoka, Model::Batoka.max_nodes())?;
        let spread = |strand| StrandId::new(strand * machine.strands() / strands);
        let strands: Vec<_> = (0..strands).filter_map(spread).collect();
        let devices = Devices::new(machine);
        for strand in &strands {
            devices.set_pcr(*strand, strand_pcr());
        }
        for register in PerfReg::all() {
            if let (Some(address), Some(pcr)) = (address::global(register), unit_pcr(register)) {
                devices.write(strands[0], address, pcr)?;
            }
        }
        Ok(Self {
            strands,
            memory: MemorySystem::new(&machine)?,
            devices,
        })
    }

    fn replay(&mut self, references: &[Reference]) {
        let strands = self.strands.iter().cycle();
        for (quantum, strand) in references.chunks(QUANTUM).zip(strands) {
            self.memory.replay(*strand, 0, quantum, &self.devices);
        }
    }
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
        P::from(0)
            .with_event(Counter::Pic0, pic0)
            .with_event(Counter::Pic1, pic1)
            .into()
    }
    match register.kind() {
        Kind::Dram {
            role: McuRole::Pcr, ..
        } => Some(both::<DramPcr>(DramEvent::Reads, DramEvent::Writes)),
        Kind::Hub {
            unit,
            role: HubRole::Pcr,
            ..
        } => Some(match unit {
            HubUnit::Gpd => both::<GpdPcr>(GpdEvent::Clock, GpdEvent::Clock),
            HubUnit::Asu => both::<AsuPcr>(AsuEvent::PacketsIn, AsuEvent::PacketsOut),
            _ => both::<LpuPcr>(LpuEvent::ReadOrInvalidate, LpuEvent::CacheHit),
        }),
        _ => None,
    }
}

/// Replays references that are in memory `times` times on `strands` strands. Returns their number and the seconds it took.
pub(super) fn decoded(
    references: &[Reference],
    times: usize,
    strands: usize,
) -> anyhow::Result<(usize, f64)> {
    let mut bench = Bench::new(strands)?;
    let start = Instant::now();
    for _ in 0..times {
        bench.replay(references);
    }
    Ok((times * references.len(), start.elapsed().as_secs_f64()))
}

/// Replays the bundled recording on one strand, block by block as it is decompressed and decoded.
pub(super) fn with_decoding() -> anyhow::Result<(usize, f64)> {
    let mut bench = Bench::new(1)?;
    let mut references = 0;
    let mut chunk = Chunk::default();
    let start = Instant::now();
    let mut recording = bundled();
    while recording.next_chunk(0, &mut chunk)? {
        bench.replay(&chunk.references);
        references += chunk.references.len();
    }
    Ok((references, start.elapsed().as_secs_f64()))
}

/// Returns the references of the bundled recording.
pub(super) fn recording() -> anyhow::Result<Vec<Reference>> {
    let mut recording = bundled();
    let (mut references, mut chunk) = (Vec::new(), Chunk::default());
    while recording.next_chunk(0, &mut chunk)? {
        references.extend_from_slice(&chunk.references);
    }
    Ok(references)
}

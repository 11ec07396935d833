mod coherence;
mod configured;
mod core;
mod pages;
mod random;
mod steps;
mod stream;
mod time;

use guest_abi::event::{AsuEvent, DramEvent, LpuEvent, SparcEvent};
use guest_abi::layout::{PerfConfig, SparcSelect};
use guest_abi::{Hub, Mcu, Node, StrandId};
use platform::models::Devices;
use platform::{Machine, Model};

use super::{Config, Executed, Figures, MemorySystem, Pages, Quantum, T2Plus, Truth, Variant};
use crate::recording::{Chunk, Class, CodeImage, Flow, Kind, Reference};

struct Bench<V: Variant = T2Plus> {
    system: MemorySystem<V>,
    devices: Devices,
}

impl Bench {
    fn new(model: Model, nodes: usize) -> Self {
        Self::with(Machine::new(model, nodes).unwrap())
    }

    fn with(machine: Machine) -> Self {
        Self { system: MemorySystem::new(&machine).unwrap(), devices: Devices::new(machine) }
    }
}

impl Bench<Figures> {
    fn configured(machine: Machine, config: &Config) -> Self {
        config.check().unwrap();
        Self {
            system: MemorySystem::with_variant(&machine, Figures::new(config), config.pages)
                .unwrap(),
            devices: Devices::new(machine),
        }
    }
}

impl<V: Variant> Bench<V> {
    /// Executes references on one strand, after all earlier references are complete.
    fn replay(&mut self, strand: usize, offset: u64, references: &[Reference]) {
        let chunk = Chunk::new(references.to_vec(), Vec::new());
        let mut work = self.system.work(&self.devices);
        let executed = work.replay(&Quantum {
            strand: id(strand),
            offset,
            image: CodeImage::default(),
            begins: work.system.truth.cycles(),
            until: u64::MAX,
            data_alone: !references[0].kind.is_fetch(),
            references: chunk.references(),
        });
        assert_eq!(executed.references, references.len());
        work.finish(executed.ends).unwrap();
    }

    /// Waits until all stores are complete.
    fn rest(&mut self) {
        let work = self.system.work(&self.devices);
        let now = work.system.truth.cycles() + 10_000;
        work.finish(now).unwrap();
    }

    fn sized(&mut self, strand: usize, kind: Kind, address: u64, size: u16) {
        self.replay(strand, 0, &[Reference::new(address, size, kind)]);
    }

    fn fetch(&mut self, strand: usize, address: u64) {
        self.sized(strand, Kind::FetchOther, address, 4);
    }

    fn load(&mut self, strand: usize, address: u64) {
        self.sized(strand, Kind::Load, address, 8);
    }

    fn store(&mut self, strand: usize, address: u64) {
        self.sized(strand, Kind::Store, address, 8);
    }

    fn truth(&self) -> &Truth {
        self.system.truth()
    }

    /// Returns how often an event occurred on a strand, with PERF_CONFIG 0.
    fn strand(&self, strand: usize, event: SparcEvent) -> u64 {
        self.strand_of(strand, event, PerfConfig::All)
    }

    fn counts<const N: usize>(&self, strand: usize, events: [SparcEvent; N]) -> [u64; N] {
        events.map(|event| self.strand(strand, event))
    }

    fn strand_of(&self, strand: usize, event: SparcEvent, config: PerfConfig) -> u64 {
        self.truth().strand(id(strand), event.into(), config)
    }

    /// Returns a DRAM event's count, summed over all channels.
    fn dram(&self, event: DramEvent) -> u64 {
        channels().map(|(node, mcu)| self.truth().dram(node, mcu, event)).sum()
    }

    /// Returns the link port events that have happened, except the clock event, with their hub and port.
    fn lpu(&self) -> Vec<(usize, usize, LpuEvent, u64)> {
        let ports = Hub::ALL.iter().flat_map(|hub| Node::ALL.iter().map(move |port| (hub, port)));
        let counts = ports.flat_map(|(hub, port)| {
            LpuEvent::ALL.iter().map(move |event| {
                (hub.index(), port.index(), *event, self.truth().lpu(*hub, *port, *event))
            })
        });
        counts.filter(|(.., event, count)| *count != 0 && *event != LpuEvent::Clock).collect()
    }

    fn asu(&self, event: AsuEvent) -> u64 {
        Hub::ALL.iter().map(|hub| self.truth().asu(*hub, event)).sum()
    }
}

fn id(strand: usize) -> StrandId {
    StrandId::new(strand).unwrap()
}

fn channels() -> impl Iterator<Item = (Node, Mcu)> {
    Node::ALL.iter().flat_map(|node| Mcu::ALL.iter().map(|mcu| (*node, *mcu)))
}

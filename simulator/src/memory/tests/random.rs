//! Tests with random references that the register models agree with the recorded events, and that invariants hold.

use guest_abi::{HubRole, HubUnit, McuRole, PerfReg};
use platform::address::{global, l2_control};
use platform::{Bus, StrandRegisters};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::super::geometry::L2Line;
use super::super::l2::LineState;
use super::stream::{Turn, machine, reference, turns};
use super::*;
use crate::memory::Modelled;

/// The values that are written to the registers before certain turns.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    strand: u64,
    dram: u64,
    hub: u64,
    perf_config: u64,
    /// The initial value of all counters.
    start: u64,
}

pub(super) fn setting() -> impl Strategy<Value = Setting> {
    let class = prop_oneof![Just(0_u64), Just(2), Just(3), Just(5), 0..16_u64];
    let lpu = prop_oneof![0..0x2a_u64, 0..0x100_u64];
    let start = prop_oneof![Just(0), Just(u64::MAX), Just(u64::MAX - 0x11_0000_0011), any::<u64>()];
    (
        (class.clone(), 0..256_u64, class, 0..256_u64),
        0..256_u64,
        (lpu.clone(), lpu),
        0..4_u64,
        start,
    )
        .prop_map(|((sl0, mask0, sl1, mask1), dram, (lpu0, lpu1), perf_config, start)| {
            Setting {
                strand: 1 << 2 | mask0 << 6 | sl0 << 14 | mask1 << 19 | sl1 << 27,
                dram,
                hub: lpu0 | lpu1 << 8,
                perf_config,
                start,
            }
        })
}

impl<V: Variant> Bench<V> {
    fn read(&self, register: PerfReg) -> u64 {
        self.devices.read(id(0), global(register).unwrap()).unwrap()
    }

    fn apply(&self, setting: &Setting) {
        let machine = self.devices.machine();
        for node in 0..machine.nodes() {
            for bank in 0..8 {
                let address = l2_control(bank).unwrap();
                let value = setting.perf_config << 36 | 0x1f;
                self.devices.write(id(node * 64), address, value).unwrap();
            }
        }
        for strand in 0..machine.strands() {
            self.devices.set_pcr(id(strand), setting.strand);
            self.devices.set_pic(id(strand), setting.start);
        }
        for register in PerfReg::ALL.into_iter().filter(|register| machine.has_register(*register))
        {
            let Some(address) = global(register) else {
                continue;
            };
            let value = match register.kind() {
                guest_abi::RegisterKind::Dram { role: McuRole::Pcr, .. } => setting.dram,
                guest_abi::RegisterKind::Hub { role: HubRole::Pcr, .. } => setting.hub,
                _ => setting.start,
            };
            self.devices.write(id(0), address, value).unwrap();
        }
    }

    /// Checks that every counter's value is its initial value plus the number of recorded events.
    fn compare(&self, setting: &Setting, happened: &Truth) {
        let machine = self.devices.machine();
        let start = setting.start;
        let config = PerfConfig::from_value(setting.perf_config);
        for strand in 0..machine.strands() {
            let mut expected = 0;
            for (shift, field) in [(0, 6), (32, 19)] {
                let code = (setting.strand >> field & 0xfff) as u16;
                let select = SparcSelect::new((code >> 8) as u8, code as u8).unwrap();
                let count = happened.strand(id(strand), select, config);
                expected |=
                    ((start >> shift) as u32).wrapping_add(count as u32) as u64 * (1 << shift);
            }
            assert_eq!(self.devices.pic(id(strand)), expected, "strand {strand}");
        }
        for (node, mcu) in machine.channels() {
            let count = |code| {
                DramEvent::from_code(code).map_or(0, |event| happened.dram(node, mcu, event))
            };
            // A counter has 31 bits. A wrap sets the flag in the bit above these 31 bits.
            let after = |half: u64, count: u64| {
                let sum = (half & 0x7fff_ffff) + count;
                let flag = half >> 31 != 0 || sum >> 31 != 0;
                u64::from(flag) << 31 | sum & 0x7fff_ffff
            };
            let pic0 = after(start >> 32, count((setting.dram >> 4) as u8));
            let pic1 = after(start & 0xffff_ffff, count(setting.dram as u8 & 0xf));
            assert_eq!(
                self.read(PerfReg::dram(node, mcu, McuRole::Pic)),
                pic0 << 32 | pic1,
                "{node:?} {mcu:?}"
            );
        }
        for hub in machine.hubs() {
            for unit in HubUnit::ALL {
                for (role, select) in
                    [(HubRole::Pic0, setting.hub), (HubRole::Pic1, setting.hub >> 8)]
                {
                    let count = hub_count(happened, *hub, *unit, select as u8);
                    assert_eq!(
                        self.read(PerfReg::hub(*hub, *unit, role)),
                        start.wrapping_add(count),
                        "{hub:?} {unit:?} {role:?}"
                    );
                }
            }
        }
    }
}

fn hub_count(happened: &Truth, hub: Hub, unit: HubUnit, select: u8) -> u64 {
    let narrow = select & 0xf;
    match unit {
        HubUnit::Gpd if narrow == 1 => happened.cycles(),
        HubUnit::Gpd => 0,
        HubUnit::Asu => AsuEvent::from_code(narrow).map_or(0, |event| happened.asu(hub, event)),
        port => LpuEvent::from_code(select)
            .map_or(0, |event| happened.lpu(hub, Node::new(port.index()).unwrap(), event)),
    }
}

pub(super) fn check_coherence(bench: &Bench<impl Variant>) {
    let l2 = &bench.system.l2;
    let nodes = &Node::ALL[..bench.devices.machine().nodes()];
    for (node, line, state) in l2.lines() {
        let state_in = |node: &Node| Some(l2.state(l2.find(*node, line)?));
        assert_eq!(state_in(&node), Some(state));
        let mut others = nodes.iter().filter(|other| **other != node).filter_map(state_in);
        match state {
            LineState::Modified | LineState::Exclusive => assert_eq!(others.count(), 0),
            LineState::Owned => assert!(others.all(|state| state == LineState::Shared)),
            LineState::Shared => {}
        }
    }
}

/// Checks that the L2 cache holds every line of the L1 caches, and has the bit for each of these copies.
pub(super) fn check_inclusion<V: Variant>(bench: &mut Bench<V>, turns: &[Turn]) {
    let figures = *bench.system.plan.variant.figures();
    let cores = bench.system.cores.len();
    for reference in turns.iter().flat_map(|turn| &turn.references) {
        let line = L2Line(reference.address >> figures.l2.line_shift);
        for core in 0..cores {
            let copies = |bench: &mut Bench<V>| {
                let l2 = &mut bench.system.l2;
                l2.find(Node::ALL[core / 8], line).map_or(0, |slot| *l2.copies(slot))
            };
            let data = reference.address >> figures.l1d.line_shift;
            if bench.system.cores[core].data.has(data) {
                assert_ne!(copies(bench) & figures.data_copy(core % 8, data), 0);
            }
            let code = reference.address >> figures.l1i.line_shift;
            if bench.system.cores[core].instructions.has(code) {
                assert_ne!(copies(bench) & figures.instruction_copy(core % 8, code), 0);
            }
        }
    }
}

/// Checks equations between sums of counts, which hold for any references.
pub(super) fn check_sums(bench: &Bench<impl Variant>) {
    let machine = bench.devices.machine();
    let strands = |event, config| -> u64 {
        (0..machine.strands()).map(|strand| bench.strand_of(strand, event, config)).sum()
    };
    let all = |event| strands(event, PerfConfig::All);
    for event in [SparcEvent::L2InstructionMisses, SparcEvent::L2LoadMisses] {
        let parts = [PerfConfig::Local, PerfConfig::Remote, PerfConfig::CacheToCache];
        assert_eq!(all(event), parts.map(|part| strands(event, part)).iter().sum::<u64>());
    }
    assert_eq!(all(SparcEvent::DataCacheMisses), all(SparcEvent::CrossbarLoads));
    assert_eq!(all(SparcEvent::InstructionCacheMisses), all(SparcEvent::CrossbarFetches));
    let from_memory = bench.dram(DramEvent::Reads);
    assert!(bench.dram(DramEvent::WriteBackBufferHits) <= from_memory);
    let counted: u64 = [SparcEvent::L2InstructionMisses, SparcEvent::L2LoadMisses]
        .map(|event| strands(event, PerfConfig::Local) + strands(event, PerfConfig::Remote))
        .iter()
        .sum();
    assert!(from_memory >= counted, "stores miss too");
    if !machine.hubs().is_empty() && machine.nodes() > 1 {
        let others = machine.nodes() as u64 - 1;
        let mut from_memory_by_hub = 0;
        for hub in machine.hubs() {
            let lpu = |event| -> u64 {
                Node::ALL.iter().map(|port| bench.truth().lpu(*hub, *port, event)).sum()
            };
            let requests = lpu(LpuEvent::ReadOrInvalidate);
            assert_eq!(lpu(LpuEvent::RepliesSent), requests);
            assert_eq!(lpu(LpuEvent::RepliesReceived), requests * others);
            let egress = [
                LpuEvent::ReadToShareEgress,
                LpuEvent::ReadToOwnEgress,
                LpuEvent::InvalidateEgress,
            ];
            assert_eq!(egress.map(lpu).iter().sum::<u64>(), requests * others);
            let found =
                [LpuEvent::HitModified, LpuEvent::HitOwned, LpuEvent::HitShared, LpuEvent::Miss];
            assert_eq!(found.map(lpu).iter().sum::<u64>(), requests * others);
            let write_backs = lpu(LpuEvent::WriteBack);
            assert_eq!(lpu(LpuEvent::WriteBackEgress), write_backs);
            assert_eq!(bench.truth().asu(*hub, AsuEvent::PacketsIn), requests + write_backs);
            from_memory_by_hub += lpu(LpuEvent::CacheMiss);
        }
        assert_eq!(from_memory_by_hub, from_memory);
    }
}

/// Executes turns, and then checks the counters and the caches' invariants.
pub(super) fn check_round<V: Variant>(bench: &mut Bench<V>, setting: &Setting, turns: &[Turn]) {
    bench.apply(setting);
    let before = bench.truth().clone();
    bench.run(turns);
    let happened = bench.truth().since(&before);
    bench.compare(setting, &happened);
    check_coherence(bench);
    check_inclusion(bench, turns);
    check_sums(bench);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counters_tell_the_truth(
        machine in machine(),
        rounds in prop::collection::vec((setting(), turns()), 1..4),
    ) {
        let mut bench = Bench::with(machine);
        for (setting, turns) in rounds {
            check_round(&mut bench, &setting, &turns);
        }
    }

    #[test]
    fn what_is_not_modelled_never_happens(turns in turns()) {
        let mut bench = Bench::new(Model::Batoka, 4);
        bench.run(&turns);
        for event in SparcEvent::ALL.iter().filter(|event| !event.is_modelled()) {
            prop_assert_eq!((0..256).map(|strand| bench.strand(strand, *event)).sum::<u64>(), 0);
        }
        for event in DramEvent::ALL.iter().filter(|event| !event.is_modelled()) {
            prop_assert_eq!(bench.dram(*event), 0);
        }
        prop_assert!(bench.lpu().iter().all(|(_, _, event, _)| event.is_modelled()));
        for event in AsuEvent::ALL.iter().filter(|event| !event.is_modelled()) {
            prop_assert_eq!(bench.asu(*event), 0);
        }
    }

    #[test]
    fn the_same_again(turns in turns()) {
        let mut first = Bench::new(Model::Batoka, 4);
        let mut second = Bench::new(Model::Batoka, 4);
        first.run(&turns);
        second.run(&turns);
        prop_assert_eq!(first.truth(), second.truth());
        prop_assert_eq!(first.devices.now(), second.devices.now());
    }
}

#[test]
fn every_modelled_event_can_happen() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let long = prop::collection::vec(reference(), 3000);
    let mut bench = Bench::new(Model::Batoka, 4);
    for strand in [0, 64, 128, 192, 1, 65, 129, 193] {
        let references = long.new_tree(&mut runner).unwrap().current();
        bench.run(&[Turn { strand, references }]);
    }
    for event in SparcEvent::ALL.iter().filter(|event| event.is_modelled()) {
        let selects: u64 = (0..256).map(|strand| bench.strand(strand, *event)).sum();
        assert_ne!(selects, 0, "{event}");
    }
    for event in DramEvent::ALL.iter().filter(|event| event.is_modelled()) {
        assert_ne!(bench.dram(*event), 0, "{event}");
    }
    let machine = bench.devices.machine();
    assert_eq!(bench.truth().since(bench.truth()), Truth::new(&machine, 64, Pages::Hardware));
    let happened = bench.lpu();
    for event in LpuEvent::ALL.iter().filter(|event| event.is_modelled()) {
        let counted = matches!(event, LpuEvent::None | LpuEvent::Clock)
            || happened.iter().any(|(_, _, found, _)| found == event);
        assert!(counted, "{event}");
    }
}

#[test]
fn a_machine_needs_memory() {
    let machine = Machine::new(Model::Maramba, 1)
        .unwrap()
        .without_channel(Node::Node0, Mcu::Mcu0)
        .without_channel(Node::Node0, Mcu::Mcu1);
    assert!(MemorySystem::new(&machine).is_err());
}

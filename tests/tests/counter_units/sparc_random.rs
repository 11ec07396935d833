//! The counters of a SPARC strand against a reference that shares no code with them: random actions in random order.

use guest_abi::event::SparcEvent;
use guest_abi::sampling::SparcMode;
use platform::models::{Early, StrandUnit};
use proptest::prelude::*;

/// %pcr and %pic, which the reference changes by one bit or one event at a time.
#[derive(Default)]
struct Reference {
    pcr: u64,
    pic: [u64; 2],
    early: u64,
    mode: u32,
}

impl Reference {
    const OV: [u32; 2] = [18, 31];
    const TOE: [u32; 2] = [4, 5];
    const HOLDOV: [u32; 2] = [62, 63];
    const SELECT: [u32; 2] = [6, 19];
    const HT: u64 = 8;

    fn bit(&self, number: u32) -> bool {
        self.pcr >> number & 1 == 1
    }

    fn write_pcr(&mut self, value: u64, hypervisor: bool) {
        let before = self.pcr;
        self.pcr = value & 0xffff_ffff;
        if !hypervisor {
            self.pcr = self.pcr & !Self::HT | before & Self::HT;
        }
        for n in 0..2 {
            if value >> Self::HOLDOV[n] & 1 == 1 {
                let ov = 1 << Self::OV[n];
                self.pcr = self.pcr & !ov | before & ov;
            }
        }
    }

    fn one_event(&mut self, code: u64) {
        let counts = self.bit(match self.mode {
            0 => 2,
            1 => 1,
            _ => 3,
        });
        for n in 0..2 {
            let select = self.pcr >> Self::SELECT[n] & 0xfff;
            // Classes 8 to 15 count what 0 to 7 do, and class 0 ignores MASK.
            let class = select >> 8 == code >> 8 || select >> 8 == (code >> 8) + 8;
            let idle = select >> 8 & 7 == 0;
            if !counts || !class || !idle && select & code & 0xff == 0 {
                continue;
            }
            self.pic[n] += 1;
            if self.pic[n] == 1 << 32 {
                self.pic[n] = 0;
                self.overflow(n);
            }
        }
    }

    /// Sets OV, after all events of a step, of a counter that has counted and is close to its wrap.
    fn look_ahead(&mut self, counted: [bool; 2]) {
        for (n, counted) in counted.into_iter().enumerate() {
            let missing = (1 << 32) - self.pic[n];
            if counted && self.bit(Self::TOE[n]) && missing <= self.early {
                self.overflow(n);
            }
        }
    }

    fn overflow(&mut self, n: usize) {
        self.pcr |= 1 << Self::OV[n];
    }

    fn count(&mut self, code: u64, times: u32) {
        let before = self.pic;
        for _ in 0..times {
            self.one_event(code);
        }
        let after = self.pic;
        self.look_ahead([before[0] != after[0], before[1] != after[1]]);
    }

    fn trap(&self) -> bool {
        (0..2).any(|n| self.bit(Self::OV[n]) && self.bit(Self::TOE[n]))
    }
}

#[derive(Clone, Debug)]
enum Action {
    WritePcr { value: u64, hypervisor: bool },
    WritePic(u64),
    Early(u8),
    Mode(u32),
    Count { event: SparcEvent, times: u32 },
}

/// Mostly a PCR that counts an event.
fn pcr() -> impl Strategy<Value = u64> {
    let select = prop::sample::select(vec![0x208_u64, 0x210, 0x2fd, 0x302, 0x2ff, 0xb0c]);
    let flags = (0_u64..64, 0_u64..4, 0_u64..4);
    let useful = (select.clone(), select, flags).prop_map(|(sl0, sl1, (low, ov, hold))| {
        sl0 << 6 | sl1 << 19 | low | (ov & 1) << 18 | (ov >> 1) << 31 | hold << 62
    });
    prop_oneof![6 => useful, 1 => any::<u64>()]
}

/// Mostly counters that are about to wrap.
fn pic() -> impl Strategy<Value = u64> {
    let near = || prop_oneof![4 => 0xffff_ffd0..=u32::MAX, 1 => any::<u32>(), 1 => Just(0)];
    (near(), near()).prop_map(|(pic0, pic1)| u64::from(pic0) | u64::from(pic1) << 32)
}

fn action() -> impl Strategy<Value = Action> {
    let single: Vec<SparcEvent> = SparcEvent::ALL
        .iter()
        .copied()
        .filter(|event| (event.code() & 0xff).count_ones() <= 1)
        .collect();
    let often = prop::sample::select(vec![
        SparcEvent::Loads,
        SparcEvent::Stores,
        SparcEvent::DataCacheMisses,
    ]);
    let event = prop_oneof![4 => often, 1 => prop::sample::select(single)];
    prop_oneof![
        2 => (pcr(), any::<bool>()).prop_map(|(value, hypervisor)| Action::WritePcr { value, hypervisor }),
        2 => pic().prop_map(Action::WritePic),
        1 => (0_u8..=15).prop_map(Action::Early),
        1 => (0_u32..3).prop_map(Action::Mode),
        8 => (event, 0_u32..40).prop_map(|(event, times)| Action::Count { event, times }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn like_the_reference(actions in prop::collection::vec(action(), 1..80)) {
        let mut unit = StrandUnit::new();
        let mut reference = Reference::default();
        for action in actions {
            match action.clone() {
                Action::WritePcr { value, hypervisor } => {
                    if hypervisor {
                        unit.set_pcr(value);
                    } else {
                        unit.set_pcr_privileged(value);
                    }
                    reference.write_pcr(value, hypervisor);
                }
                Action::WritePic(value) => {
                    unit.set_pic(value);
                    reference.pic = [value & 0xffff_ffff, value >> 32];
                }
                Action::Early(events) => {
                    unit.set_early(Early::new(events).unwrap());
                    reference.early = events.into();
                }
                Action::Mode(mode) => {
                    let modes = [SparcMode::User, SparcMode::Privileged, SparcMode::Hyperprivileged];
                    unit.set_mode(modes[mode as usize]);
                    reference.mode = mode;
                }
                Action::Count { event, times } => {
                    unit.count(event, times);
                    reference.count(event.code().into(), times);
                }
            }
            let [pic0, pic1] = reference.pic;
            prop_assert_eq!(unit.pcr(), reference.pcr, "PCR after {:?}", action);
            prop_assert_eq!(unit.pic(), pic0 | pic1 << 32, "PIC after {:?}", action);
            prop_assert_eq!(unit.trap_requested(), reference.trap(), "trap after {:?}", action);
        }
    }
}

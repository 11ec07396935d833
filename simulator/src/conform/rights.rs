//! Checks an image while the operator moves rights and resets guests with steps in the mailbox.

use conform::oracle::{Grant, StrandGrant, World};
use conform::{Configuration, System};
use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use perfctr_service::{Grants, GuestConfig};
use platform::{Machine, Model};

use super::caller::fast_request;
use super::caller::strand;
use super::comparison::Comparison;
use super::differences::Subject;

const GET: u64 = 0x106;
const SET: u64 = 0x107;
const HT: u64 = 1 << 3;

/// Two guests, each on two nodes. The first has every right.
pub(super) fn configuration() -> Option<Configuration> {
    let guest = |strands: [usize; 2], grant| {
        GuestConfig::new(strands.into_iter().filter_map(StrandId::new).collect(), grant)
    };
    let machine = Machine::new(Model::Batoka, 2).ok()?;
    let guests = [
        guest([0, 64], perfctr_service::Grant::ALL),
        guest([1, 65], perfctr_service::Grant::NONE),
        GuestConfig::default(),
    ];
    Some(Configuration { machine, guests })
}

impl Comparison {
    /// Moves every right to the other guest and back, revokes only the right to HT, and resets a guest. When a guest loses a right,
    /// its values must disappear from the registers.
    pub(super) fn rights_that_move(&mut self) {
        let strands = [[0, 64], [1, 65]].map(|of| of.map(strand));
        for strand in [strands[0][0], strands[1][0]] {
            self.core(strand, [0x205, 1, 1], 0);
        }
        let all = Grant::GLOBAL_HTSTRAND;
        let without_ht = Grant { strand: StrandGrant::Strand, ..all };
        for (guest, grants) in [
            (0, [Grant::NONE, all]),
            (1, [all, Grant::NONE]),
            (0, [without_ht, Grant::NONE]),
            (0, [Grant::NONE, Grant::STRAND]),
            (1, [all, Grant::NONE]),
        ] {
            self.fill(strands[guest]);
            self.reconfigure(grants);
            self.compare_registers(strands);
        }
        self.fill(strands[0]);
        if !self.reset(0) {
            self.unanswered("a reset of a guest");
        }
        self.compare_registers(strands);
        self.core(strands[0][0], [0x205, 1, 1], 0);
        self.compare_registers(strands);
    }

    /// Makes every strand of a guest set every register to a value that does not change by itself.
    fn fill(&mut self, strands: [StrandId; 2]) {
        for strand in strands {
            self.ask(strand, fast_request(SET, 0, 0x2_8bf4_c0f0 & !1 | HT));
            self.ask(strand, fast_request(SET, 1, 2));
            for id in 2..90 {
                self.ask(strand, fast_request(SET, id, 0x7654_0000_0000_0022 + id));
            }
            let pic = 0x1111_2222_0000_0000 | strand.index() as u64;
            self.machine.execution.devices().set_pic(strand, pic);
            self.world.pic.insert(strand.number().into(), pic);
        }
    }

    fn reconfigure(&mut self, grants: [Grant; 2]) {
        let model = [grants[0], grants[1], Grant::NONE];
        if self.world.reconfigure(&model).is_err() {
            return;
        }
        self.world.all_acknowledge();
        let (Ok(mut list), Some(on)) = (Grants::none(2), self.machine.begun.iter().next()) else {
            return;
        };
        for (guest, grant) in grants.into_iter().enumerate() {
            if let Some(guest) = GuestId::new(guest) {
                let _ = list.set(guest, conform::translated::grant(grant));
            }
        }
        let answer = self.machine.operate(on, &Step::Reconfigure(list));
        if answer != Some(Ok(None)) || !self.machine.run_on() {
            self.unanswered("new rights");
        }
    }

    fn unanswered(&mut self, step: &str) {
        self.note_difference_at("the operator", Subject::Function(0), "carried out", "not", || {
            format!("{step}, asked by the mailbox")
        });
    }

    /// Compares the contents of all registers, and what both guests read from the registers.
    fn compare_registers(&mut self, strands: [[StrandId; 2]; 2]) {
        for strand in strands.concat() {
            let found = self.machine.execution.devices().pic(strand);
            let expected = pic_of(&self.world, strand);
            if found != expected {
                self.world.pic.insert(strand.number().into(), found);
                self.note_difference_at(
                    "the machine",
                    Subject::Register(0),
                    "%pic is cleared",
                    "not",
                    || format!("%pic of strand {strand} is {found:#x}, not {expected:#x}"),
                );
            }
        }
        self.state();
        for strand in strands.concat() {
            for id in 0..90 {
                self.ask(strand, fast_request(GET, id, 0x0bad));
            }
        }
    }
}

fn pic_of(world: &World, strand: StrandId) -> u64 {
    world.pic.get(&strand.number().into()).copied().unwrap_or(0)
}

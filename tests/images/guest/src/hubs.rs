//! Tests calls for a hub that is free, that another strand holds, or that is reserved for the strand whose turn it is. The hypervisor under
//! test handles these calls with the same assembly code as the shipped hypervisor.

use conform::control::Control;
use conform::{Configuration, parts};
use guest_abi::{PerfReg, StrandId, Trap};

use crate::calls::{call, negotiate};
use crate::contract::{EOK, EWOULDBLOCK, GET, SET, mask};
use crate::counts;
use crate::report::{Check, Report};
use crate::swept::control;

const STRANDS: [usize; 3] = [3, 67, 131];

pub fn run(report: &mut Report) {
    let Some((machine, strands)) = machine() else {
        report.check("a machine with hubs").same("there", false, true);
        return;
    };
    let mut check = report.check("hubs in every state, fast path");
    for hub in 0..4 {
        let states = States::new(machine, strands, hub);
        states.free(&mut check);
        states.taken(&mut check);
        states.remembered(&mut check);
    }
}

/// Counts the instructions of calls for a hub that another strand holds or is waiting for. The calling strand has been refused before.
pub fn count(report: &mut Report) {
    let Some((machine, strands)) = machine() else { return };
    let states = States::new(machine, strands, 0);
    control(Control::Clock);
    let mut statuses = [0; 5];
    let mut asks = statuses.iter_mut();
    let mut ask = || {
        let [status, ..] = call(Trap::Fast, [18, 0, 2, 3, 4, GET]);
        asks.next().map(|place| *place = status);
    };
    // Prints nothing between two refusals, because printing takes so long that the hypervisor would no longer treat the second refusal as a
    // repetition.
    let mut counted = [0; 3];
    states.hold();
    ask();
    counted[0] = counts::counted(Trap::Fast, [18, 0x55, GET]);
    counted[1] = counts::counted(Trap::Fast, [18, 0x55, SET]);
    states.die();
    ask();
    states.hold();
    control(Control::Caller(states.other));
    ask();
    states.die();
    control(Control::Caller(states.own));
    // Now strand `other` has the turn, so strand `own` is refused.
    ask();
    counted[2] = counts::counted(Trap::Fast, [18, 0x55, GET]);
    control(Control::Caller(states.other));
    ask();
    let expected = [EWOULDBLOCK, EOK, EWOULDBLOCK, EWOULDBLOCK, EOK];
    report.check("hubs that are counted").same("statuses", statuses, expected);
    for (name, count) in
        ["would_block", "would_block_set", "would_block_turn"].into_iter().zip(counted)
    {
        report.count(name, count);
    }
}

/// Returns a machine that has hubs and one guest, and three of the guest's strands. The guest has all rights.
fn machine() -> Option<(Configuration, [StrandId; 3])> {
    let mut machines = parts::READ_BACK.configurations();
    let (_, machine) =
        machines.find(|(_, machine)| machine.guests[0].strands.iter().count() == 4)?;
    let [own, holder, other] = STRANDS.map(StrandId::new);
    Some((machine, [own?, holder?, other?]))
}

struct States {
    hub: u64,
    own: StrandId,
    /// The strand whose access is in flight.
    holder: StrandId,
    /// Another strand that asks for the hub.
    other: StrandId,
}

impl States {
    /// Switches on a machine. Strand `own` makes the guest's calls until the test chooses another strand.
    fn new(machine: Configuration, [own, holder, other]: [StrandId; 3], hub: u64) -> Self {
        control(Control::PowerOn(machine));
        control(Control::Caller(own));
        negotiate(Some(1));
        Self { hub, own, holder, other }
    }

    fn ids(&self) -> impl Iterator<Item = u64> + use<> {
        let first = 18 + 18 * self.hub;
        first..first + 18
    }

    /// Returns the value that a register has throughout the test.
    fn value(id: u64) -> u64 {
        (id * 0x0101_0101_0101_0101) & mask(id)
    }

    fn get(&self, check: &mut Check<'_>, id: u64, status: u64) {
        let value = if status == EOK { Self::value(id) } else { 0x11 };
        check.case(Trap::Fast, [id, 0x11, 2, 3, 4, GET], [status, value, 2, 3, 4, GET]);
    }

    fn set(&self, check: &mut Check<'_>, id: u64, value: u64, status: u64) {
        check.case(Trap::Fast, [id, value, 2, 3, 4, SET], [status, value, 2, 3, 4, SET]);
    }

    /// Makes strand `holder` begin a read of a register of the hub. The read does not end.
    fn hold(&self) {
        let first = self.ids().next().and_then(PerfReg::new);
        if let Some(register) = first {
            control(Control::Hold(register, self.holder));
        }
    }

    /// Reports the holder's death, which frees the hub.
    fn die(&self) {
        control(Control::Died(self.holder));
    }

    fn free(&self, check: &mut Check<'_>) {
        for id in self.ids() {
            self.set(check, id, Self::value(id) | !mask(id), EOK);
        }
        self.ids().for_each(|id| self.get(check, id, EOK));
    }

    /// Checks that calls for the hub's registers are refused, and that calls for other hubs' registers are served.
    fn taken(&self, check: &mut Check<'_>) {
        self.hold();
        let before = control(Control::State);
        for id in self.ids() {
            self.get(check, id, EWOULDBLOCK);
            self.set(check, id, !Self::value(id), EWOULDBLOCK);
        }
        check.same("state", control(Control::State), before);
        let others = (0..4).filter(|hub| *hub != self.hub).map(|hub| 18 + 18 * hub);
        for id in others.chain([0, 2, 5]) {
            let registers = [id, 0x11, 2, 3, 4, GET];
            let [status, _, rest @ ..] = call(Trap::Fast, registers);
            check.same(registers, (status, rest), (EOK, [2, 3, 4, GET]));
        }
        self.die();
        // This strand was refused, so it has the turn.
        self.ids().for_each(|id| self.get(check, id, EOK));
    }

    /// While the hub is taken, strand `own` calls and is refused, so it has the next turn. When the hub is free, strand `own` calls again.
    /// The turn then passes to the next higher strand number among the strands that the hub remembers as refused.
    fn turn(&self, check: &mut Check<'_>, id: u64) {
        self.hold();
        self.get(check, id, EWOULDBLOCK);
        self.die();
        self.get(check, id, EOK);
    }

    fn remembered(&self, check: &mut Check<'_>) {
        let ids = || self.ids().step_by(7);
        for id in ids() {
            self.turn(check, id);
            self.hold();
            control(Control::Caller(self.other));
            self.get(check, id, EWOULDBLOCK);
            self.die();
            control(Control::Caller(self.own));
            // Strand `other` has the turn, so `own` is refused.
            self.get(check, id, EWOULDBLOCK);
            self.set(check, id, 0, EWOULDBLOCK);
            control(Control::Caller(self.other));
            self.get(check, id, EOK);
            // Now strand `own` has the turn, so `other` is refused.
            self.get(check, id, EWOULDBLOCK);
            control(Control::Caller(self.own));
            self.set(check, id, Self::value(id), EOK);
            control(Control::Caller(self.other));
            self.get(check, id, EOK);
            control(Control::Caller(self.own));
            self.get(check, id, EOK);
        }
        for id in ids() {
            self.turn(check, id);
            self.hold();
            control(Control::Caller(self.other));
            self.set(check, id, 0, EWOULDBLOCK);
            self.die();
            control(Control::Caller(self.own));
            // Strand `other` has the turn but does not call again. The hub remembers two refused strands, so strand `own` is refused four
            // times before `other` loses its turn.
            for _ in 0..4 {
                self.get(check, id, EWOULDBLOCK);
            }
            self.get(check, id, EOK);
            self.get(check, id, EOK);
        }
    }
}

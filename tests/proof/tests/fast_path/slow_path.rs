//! Tests the slow path around Rust: from its first instruction to the call of Rust, and from Rust's return to the guest's next
//! instruction. The test covers all values of registers, and every number of the guest's windows. If Rust needs no more windows than the
//! slow path frees, none of these instructions is in a loop.

use std::rc::Rc;

use simulator::interpreter::instruction::Register;
use simulator::interpreter::{
    At, Environment as _, Exception, Level, Strand, Trap, WindowState, Word as _,
};

use super::call::{self, Guest};
use super::image::Image;
use super::state::State;
use super::term::Term;
use super::world::{Effect, World};

/// Offsets in a strand's block (`platform::sparc64::block`), in this order: the address of the stack, the first of the saved
/// words, the end of the saved words, and the saved windows. The saved words are %o0 to %o7, %y, and the numbers of windows. The
/// slow path saves each window that the guest uses and Rust needs.
const STACK: u64 = 0xb0;
const O0: u64 = 0xc8;
const END: u64 = 0x130;
const WINDOWS: u64 = 0x170;
/// The number of windows that the slow path frees for Rust. The block has room for the eight locals and eight outs of each.
const FREED: u8 = 2;

const G5: Register = Register::new(5);
const G6: Register = Register::new(6);
const LOCALS: u32 = 16;
const OUTS: u32 = 8;
const INS: u32 = 24;

fn names(prefix: &str) -> [Term; 8] {
    std::array::from_fn(|number| Term::named(format!("{prefix}{number}").leak(), 0))
}

/// Returns eight registers of the current window, from number `first` on.
fn eight(strand: &Strand<Term>, first: u32) -> [Term; 8] {
    std::array::from_fn(|number| strand.registers.get(Register::new(first + number as u32)))
}

fn set_eight(strand: &mut Strand<Term>, first: u32, words: [Term; 8]) {
    for (number, word) in (first..).zip(words) {
        strand.registers.set(Register::new(number), word);
    }
}

/// Executes until the strand is at the address `until`. Without an address, executes until the strand is in the guest.
fn execute(strand: &mut Strand<Term>, world: &mut World<'_, Term>, until: Option<u64>) {
    for _ in 0..400 {
        if until.map_or(strand.level() != Level::Hyperprivileged, |until| strand.pc == until) {
            return;
        }
        strand.execute_next(world).unwrap();
    }
    panic!("no end at {:#x}", strand.pc);
}

/// The addresses of the Rust function, and of the instruction to which it returns.
struct Rust {
    function: u64,
    returns: u64,
}

/// Checks a guest's call that takes the slow path, with these numbers of windows.
fn check(image: &Image, rust: &Rust, state: &Rc<State<Term>>, of: Guest, windows: WindowState) {
    let mut before = call::filled(&call::guest(image, of), state, Term::named);
    before.windows = windows;
    let mut strand = before.clone();
    strand.take(Exception::from(Trap::software(0x80))).unwrap();
    let mut expected = strand.clone();
    call::execute(&mut expected, simulator::interpreter::Instruction::Done);
    call::enter_hypervisor(&mut strand);
    (strand.pc, strand.npc) = (image.general, image.general + 4);
    let (block, reason) = (state.block, Term::named("reason", 0));
    strand.registers.set(G5, reason);
    strand.registers.set(G6, block);
    let entered = strand.clone();

    // The slow path must call Rust with the strand's block and the reason. The block must hold the guest's registers, and nothing else is
    // written.
    let mut world = World::new(image, state);
    execute(&mut strand, &mut world, Some(rust.function));
    let outs = eight(&before, OUTS);
    let mut at = |offset: u64| {
        let address = block.plus(Term::from(offset));
        world.load(At { address, space: 4, level: Level::Hyperprivileged }, 3).unwrap()
    };
    let kept: Vec<Term> = (O0..END).step_by(8).map(&mut at).collect();
    let numbers = [windows.can_save, windows.can_restore, windows.other, windows.clean];
    let numbers = numbers.map(|number| Term::from(u64::from(number)));
    assert_eq!(kept, [&outs[..], &[before.y], &numbers].concat());
    let called = eight(&strand, OUTS);
    assert_eq!([called[0], called[1], called[6]], [block, reason, at(STACK)]);
    let known = |address: Term| address.number().unwrap().wrapping_sub(block.number().unwrap());
    for effect in &world.effects {
        match *effect {
            Effect::Store { address, shift: 3, .. } => {
                let places = [O0..END, WINDOWS..WINDOWS + 128 * u64::from(FREED)];
                assert!(places.iter().any(|place| place.contains(&known(address))), "{effect:?}");
            }
            Effect::Membar(0x40) => {}
            _ => panic!("{effect:?}"),
        }
    }
    let free =
        WindowState { can_save: FREED, can_restore: 0, other: 6 - FREED, clean: 7, ..windows };
    assert_eq!(strand.windows, free);
    assert_eq!(strand.registers.window(), of.window);
    assert_eq!(
        (eight(&strand, LOCALS), eight(&strand, INS)),
        (eight(&before, LOCALS), eight(&before, INS))
    );
    assert_eq!(strand.control, entered.control);

    // Rust leaves its own values in the free windows and in the registers that it may change, and stores the answer in the block.
    set_eight(&mut strand, OUTS, {
        let mut outs = names("rust_o");
        outs[6] = called[6];
        outs
    });
    for window in 1..=usize::from(FREED) {
        strand.registers.set_window(of.window + window);
        set_eight(&mut strand, LOCALS, names(&format!("rust_w{window}l")));
        set_eight(&mut strand, OUTS, names(&format!("rust_w{window}o")));
    }
    strand.registers.set_window(of.window);
    set_eight(&mut strand, 0, names("rust_g"));
    strand.registers.set(G6, block);
    (strand.ccr, strand.y) = (Term::named("rust_ccr", !0xff), Term::named("rust_y", !0xffff_ffff));
    let answer = names("answer");
    for (offset, word) in (O0..).step_by(8).zip(&answer[..6]) {
        let address = block.plus(Term::from(offset));
        world.store(At { address, space: 4, level: Level::Hyperprivileged }, 3, *word).unwrap();
    }
    let written = world.effects.len();
    (strand.pc, strand.npc) = (rust.returns, rust.returns + 4);

    // The guest must get the answer, and find everything else unchanged. Registers that the guest may use without a trap must hold no
    // value of Rust, so the slow path must clear the free windows.
    execute(&mut strand, &mut world, None);
    assert_eq!(world.effects[written..], []);
    set_eight(&mut expected, OUTS, {
        let mut outs = outs;
        outs[..6].copy_from_slice(&answer[..6]);
        outs
    });
    if windows.can_save >= FREED {
        for window in 1..=usize::from(FREED) {
            expected.registers.set_window(of.window + window);
            set_eight(&mut expected, LOCALS, [Term::from(0); 8]);
            set_eight(&mut expected, OUTS, [Term::from(0); 8]);
        }
        expected.registers.set_window(of.window);
    }
    call::copy_hidden(&mut expected, &strand);
    // Switches to other windows and globals, because such a switch writes the current registers over their stale copies.
    for strand in [&mut strand, &mut expected] {
        let global = strand.registers.global();
        for other in 1..9 {
            strand.registers.set_window(of.window + other);
        }
        strand.registers.set_global((global + 1) % 4);
        strand.registers.set_global(global);
    }
    assert_eq!(strand.windows, expected.windows);
    assert_eq!(call::all_registers(&strand), call::all_registers(&expected), "{windows:?}");
    assert_eq!((strand.pc, strand.npc), (expected.pc, expected.npc));
    assert_eq!((strand.ccr, strand.asi, strand.y), (expected.ccr, expected.asi, expected.y));
    assert_eq!(strand.control, expected.control);
}

#[test]
fn rust_gets_the_guests_registers_and_the_guest_gets_them_back() {
    let image = Image::bundled();
    let state = Rc::new(State::any(&image));
    let rust = Rust { function: image.rust[0], returns: image.rust[1] };
    let mut checked = 0;
    for window in 0..8 {
        for can_save in 0..=6 {
            for can_restore in 0..=6 - can_save {
                for clean in can_restore..=7 {
                    let other = 6 - can_save - can_restore;
                    let state_of_windows =
                        WindowState { can_save, can_restore, other, clean, state: 0o25 };
                    let guest = Guest { window, ..Guest::KERNEL };
                    check(&image, &rust, &state, guest, state_of_windows);
                    checked += 1;
                }
            }
        }
    }
    println!("{checked} states of windows");
}

//! Creates calls that consist of numbers instead of terms: calls that z3 has found, and random calls.

use std::collections::HashMap;
use std::rc::Rc;

use tests::random::Random;

use super::call::{Call, EntryPoint, Guest};
use super::image::Image;
use super::state::{ARBITER, LAYOUT, State};
use super::term::Model;

/// Returns a call whose words have the values of a z3 model. Words that are missing from the model are random.
pub(crate) fn from_model(
    image: &Image,
    model: &Model,
    begins: EntryPoint,
    random: &mut Random,
) -> Call<u64> {
    let mut names = model.names.clone();
    names.extend(LAYOUT);
    call(image, begins, names, model.memory.clone(), random)
}

/// Returns a random call. The structures in memory are at random addresses.
pub(crate) fn random(image: &Image, begins: EntryPoint, random: &mut Random) -> Call<u64> {
    let mut names = HashMap::new();
    let any = random.next_u64();
    let few = [0, 1, 2, 17, 18, 35, 36, 53, 54, 71, 72, 89, 90, 91, 1 << 32, u64::MAX];
    let id = [any % 18, any % 90, any % 90, random.one_of(&few), any];
    names.insert("o0", random.one_of(&id));
    names.insert("o5", random.one_of(&[0x106, 0x106, 0x107, 0x107, 0x105, 0x3ff, 0x400, any]));
    // The first access word gives the guest few or many rights. The second (the refusals), below, is for the negotiated version.
    let words = [0, u64::MAX, any, 1 << 63];
    for name in ["access", "access_again"] {
        names.insert(name, random.one_of(&words));
    }
    let version = random.one_of(&[0, 1, 2]);
    names.insert("version_cell", version << 32 | version);
    let any = random.next_u64();
    let word = random.one_of(&[u64::MAX, any | 1 << 63, any]);
    names.insert("refusals", word & !3 | (3 - version));
    for name in ["reports", "reports_of_others", "reports_of_all"] {
        names.insert(name, random.one_of(&[0, 0, 0, 1]));
    }
    let mut call = call(image, begins, names, HashMap::new(), random);
    let state = Rc::get_mut(&mut call.state).unwrap();
    let open = 1 << 31 | random.next_u64() & 0x7fff_ffff_7fff_ffff;
    let found = [0, 0, 0, state.reserved, open, open | 1 << 63, random.next_u64()];
    for hub in 0..4 {
        state.others.insert(state.gates + ARBITER * hub, random.one_of(&found));
        let any = random.next_u64();
        let since = random.one_of(&[0, 1, (1 << 19) - 1, 1 << 19, any]);
        state.others.insert(state.watches + 32 * hub, state.stick.wrapping_sub(since));
    }
    // The high half of the word is the lock, and the low half is the count.
    let (count, lock) = (random.next_u64() >> 32, random.next_u64());
    state.others.insert(state.l2 & !7, random.one_of(&[count, count, count, lock]));
    for address in [state.served & !7, (state.served + 0x400) & !7, state.traced & !7] {
        state.others.insert(address, 0);
    }
    call
}

fn call(
    image: &Image,
    begins: EntryPoint,
    names: HashMap<&'static str, u64>,
    memory: HashMap<u64, u64>,
    random: &mut Random,
) -> Call<u64> {
    let mut drawn = HashMap::new();
    // In some calls, the registers hold small numbers.
    let small = random.below(4) == 0;
    loop {
        let mut any = |name: &'static str, zeros: u64| {
            let is_register = name == "o1" || name.starts_with('w') && name != "watches";
            let number = || match names.get(name) {
                Some(number) => *number,
                None if small && is_register => random.below(3) as u64,
                None => random.next_u64(),
            };
            *drawn.entry(name).or_insert_with(number) & !zeros
        };
        let mut state = State::new(&mut any);
        // Random structures rarely overlap. If they do, all words are drawn again.
        if state.assumptions.iter().all(|holds| *holds == 1) {
            state.others = memory;
            return Call::new(image, &Rc::new(state), Guest::KERNEL, begins, any);
        }
        drawn.retain(|name, _| names.contains_key(name));
    }
}

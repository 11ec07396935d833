//! The state that a call finds: the strand's block and the words that its pointers lead to, as the service lays them out.
//!
//! The layout is written down here a second time, from the documentation of the service's types, so that the tests find wrong offsets in
//! the shipped code.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use simulator::interpreter::Word;

use super::paths;
use super::term::Term;
use super::world::{register, register_at};

/// A word that is a number or a term, with access to the initial memory of an execution.
pub(crate) trait Symbolic: Word {
    /// Returns `a` if the condition is 1, and `b` if the condition is 0.
    fn if_then_else(condition: Self, a: Self, b: Self) -> Self;

    /// Returns the word at an address that the state does not describe.
    fn undescribed(state: &State<Self>, address: Self) -> Self;

    /// Returns the number of decisions on the current path.
    fn decisions() -> usize;

    /// Returns `true` if the words are identical. Returns `false` for two terms whose equality would need a proof.
    fn is_same(self, other: Self) -> bool {
        self == other
    }
}

impl Symbolic for u64 {
    fn if_then_else(condition: Self, a: Self, b: Self) -> Self {
        if condition == 0 { b } else { a }
    }

    fn undescribed(state: &State<Self>, address: Self) -> Self {
        state.others.get(&address).copied().unwrap_or_else(|| {
            let mut hasher = DefaultHasher::new();
            (address, state.pcr).hash(&mut hasher);
            hasher.finish()
        })
    }

    fn decisions() -> usize {
        0
    }
}

impl Symbolic for Term {
    fn if_then_else(condition: Self, a: Self, b: Self) -> Self {
        Self::if_then_else(condition, a, b)
    }

    fn undescribed(_: &State<Self>, address: Self) -> Self {
        Self::memory(address)
    }

    fn decisions() -> usize {
        paths::conditions().len()
    }
}

/// Returns 1 if `a` is less than `b`, and otherwise 0. Both must be below 2^63.
pub(crate) fn below<W: Word>(a: W, b: u64) -> W {
    a.minus(W::from(b)) >> W::from(63)
}

/// The bit that is set in every device register's address, and in no memory address.
pub(crate) const DEVICE: u64 = 1 << 39;
/// The bits that are set in no memory address. (The hypervisor's memory is within the first 256 GiB.)
const NOT_MEMORY: u64 = !((1 << 38) - 1);

/// A fixed address for each structure in memory, by the structure's name. No address is aligned more than its structure needs.
pub(crate) const LAYOUT: [(&str, u64); 11] = [
    ("block", 0x2f_ffed_bfc0),
    ("access_at", 0x17_7fdb_fdf0),
    ("counts", 0x3b_efbd_fbf8),
    ("rows", 0x1d_fb7f_7de0),
    ("version_at", 0x2e_feff_befc),
    ("gates", 0x37_dfbf_edc0),
    ("watches", 0x1e_f7fb_dff8),
    ("l2", 0x3d_bfef_7ef8),
    ("served", 0x2b_ff7d_f7ff),
    ("served_core", 0x33_fbef_dfff),
    ("traced", 0x35_fdfe_ffbf),
];

/// The offsets of words in a strand's block (`platform::sparc64::block`), in bytes. The fast path's words come first.
pub(crate) mod block {
    pub(crate) const ACCESS: u64 = 0;
    pub(crate) const COUNTS: u64 = 8;
    pub(crate) const ROWS: u64 = 16;
    pub(crate) const PCR_MASK: u64 = 24;
    pub(crate) const COUNTS_OF_GETS: u64 = 32;
    pub(crate) const VERSION: u64 = 40;
    pub(crate) const TOKEN: u64 = 48;
    pub(crate) const RESERVED: u64 = 56;
    pub(crate) const WATCHES: u64 = 64;
    pub(crate) const L2: u64 = 72;
    pub(crate) const OWNER: u64 = 80;
    pub(crate) const L2_READ: u64 = 88;
    /// The addresses of the four hubs' gates. The hubs have the places 18 to 21.
    pub(crate) const GATES: u64 = 8 * 18;
    pub(crate) const STACK: u64 = 0xb0;
    /// The area for registers that the slow path saves: %o0 to %o7, %y, and the window counts.
    pub(crate) const SAVED: u64 = 0xc8;
    pub(crate) const SAVED_END: u64 = 0x130;
    /// The address of the handler, which is an object of the image.
    pub(crate) const HANDLER: u64 = 0x130;
    /// The addresses of the function tables of trap 0x80 and of trap 0xff, and of the byte that says whether calls are traced.
    pub(crate) const SERVED: u64 = 0x138;
    pub(crate) const SERVED_CORE: u64 = 0x140;
    pub(crate) const TRACED: u64 = 0x148;
    /// The guest's memory: its first real address, its size, the page size mask, and the first TLB entry.
    pub(crate) const BOUNDS: u64 = 0x150;
    /// The area for windows that the slow path saves: 16 words for each of five windows.
    pub(crate) const WINDOWS: u64 = 0x170;
    /// The registers saved at an interrupt, and at any other trap that is not a hypercall.
    pub(crate) const INTERRUPTED: u64 = 0x3f0;
    pub(crate) const TRAPPED: u64 = 0x888;
    /// The number of failed stores that the Rust code has not seen, and the notes about them: four words for each of eight stores.
    pub(crate) const REPORTS: u64 = 0xd28;
    pub(crate) const NOTED: u64 = 0xd30;
    /// The registers of the code that a report interrupts: four words for each of six levels of nesting.
    pub(crate) const FRAMES: u64 = 0xe30;
    pub(crate) const SIZE: u64 = 0xf00;
}

/// The number of counts that a strand has for gets: six outcomes in each of five classes.
const GETS: u64 = 30;
/// The sizes of the service's types in bytes: a table row, a hub's arbiter, and a strand's stopwatch for a hub.
pub(crate) const ROW: u64 = 32;
pub(crate) const ARBITER: u64 = 128;
const STOPWATCH: u64 = 32;

/// The state that a call finds in registers and in memory.
#[derive(Clone, Debug)]
pub(crate) struct State<W> {
    /// %o0, %o1 and %o5: the register's id, the value, and the function.
    pub(crate) id: W,
    pub(crate) value: W,
    pub(crate) function: W,
    pub(crate) block: W,
    /// The address of the guest's two access words, and the words: which registers the guest may access, and which of its calls are
    /// refused.
    pub(crate) access_at: W,
    pub(crate) access: W,
    pub(crate) refusals: W,
    /// The guest's first access word, as the strand finds it while it holds the lock of an L2 control.
    pub(crate) access_again: W,
    /// The negotiated version: 0 if there is none.
    pub(crate) version: W,
    pub(crate) counts: W,
    /// The address and the writable bits of the register that the call names.
    pub(crate) address: W,
    pub(crate) mask: W,
    pub(crate) pcr_mask: W,
    /// The index of the register's hub.
    pub(crate) hub: W,
    /// The address of the first hub's gate. The other hubs' gates follow.
    pub(crate) gates: W,
    /// The value that the strand stores to a gate, and the value of a gate that is reserved for the strand.
    pub(crate) token: W,
    pub(crate) reserved: W,
    /// The address of the strand's first stopwatch.
    pub(crate) watches: W,
    /// The values of %stick and %pcr.
    pub(crate) stick: W,
    pub(crate) pcr: W,
    /// The address of the arbiter of the node's L2 control, and the strand's identifier in the arbiter's lock.
    pub(crate) l2: W,
    pub(crate) owner: W,
    /// The address of bank 0 of the node's L2 control.
    pub(crate) bank: W,
    /// The number of the strand's failed stores that no handler has seen yet, at three times: before the first `membar`, after it, and
    /// after the second.
    pub(crate) reports: [W; 3],
    /// The address of the table of served functions, and the address of a byte that is not 0 while calls are traced.
    pub(crate) served: W,
    pub(crate) traced: W,
    /// The address of the table of served functions of trap 0xff.
    pub(crate) served_core: W,
    /// Terms that are 1 in every possible state.
    pub(crate) assumptions: Vec<W>,
    /// The described words of the memory. Each row is a condition, an address and a word. The memory holds the word at the address if the
    /// condition is true.
    pub(crate) memory: Vec<(W, W, W)>,
    /// Other words of the memory, by address. A state made of terms has no such words.
    pub(crate) others: HashMap<u64, u64>,
}

impl State<Term> {
    /// Returns the state that stands for all states in which each structure in memory has its address in [`LAYOUT`].
    pub(crate) fn any() -> Self {
        let word = |name, zeros| match LAYOUT.iter().find(|(structure, _)| *structure == name) {
            Some((_, address)) => Term::from(*address),
            _ => Term::named(name, zeros),
        };
        Self::new(word)
    }
}

impl<W: Symbolic> State<W> {
    /// Returns a state whose words `any` chooses. `any` gets the name of a word, and the bits that must be 0 in the word.
    pub(crate) fn new(mut any: impl FnMut(&'static str, u64) -> W) -> Self {
        let number = |number| W::from(number);
        // Chooses the address of a structure in memory.
        let mut structure = |name, alignment: u64| any(name, NOT_MEMORY | (alignment - 1));
        let block = structure("block", 64);
        let access_at = structure("access_at", 16);
        let counts = structure("counts", 8);
        let rows = structure("rows", ROW);
        let version_at = structure("version_at", 4);
        let gates = structure("gates", 64);
        let watches = structure("watches", 8);
        let l2 = structure("l2", 8);
        let served = structure("served", 1);
        let traced = structure("traced", 1);
        let served_core = structure("served_core", 1);
        let (id, value, function) = (any("o0", 0), any("o1", 0), any("o5", 0));
        // The bit for place 1 is never set.
        let access = any("access", 1 << 62);
        let access_again = any("access_again", 1 << 62);
        // All refused hubs have the same status, ENOTSUPPORTED or ENOACCESS. The refusal word holds this status and the index of its count.
        let (refusals, no_access) =
            (any("refusals", 0xf << 36 | 0x3f << 3), any("hubs_no_access", !1));
        let status =
            W::if_then_else(no_access, number(10 << 36 | 52 << 3), number(13 << 36 | 51 << 3));
        let refusals = refusals | status;
        let version_cell = any("version_cell", 0);
        let version = part(version_cell, version_at, 2);
        // Device addresses are multiples of 8 and have 40 bits.
        let not_device = u64::MAX << 40 | 7;
        let address = any("address", not_device & !DEVICE) | number(DEVICE);
        // The eight banks of an L2 control share an aligned block of 512 bytes.
        let bank = any("bank", (not_device & !DEVICE) | 0x1ff) | number(DEVICE);
        // Register 1 is the L2 control.
        let address = W::if_then_else((id ^ number(1)).zero_bit(), bank, address);
        let (mask, pcr_mask) = (any("mask", 0), any("pcr_mask", 0));
        let (strand, stick, pcr) = (any("strand", !0xff), any("stick", 0), any("pcr", 0));
        let owner = strand.plus(number(1));
        let reports = ["reports", "reports_of_others", "reports_of_all"].map(|name| any(name, 0));
        let token = owner << number(33);
        let reserved = token | number(1 << 32 | 1 << 63 | 1 << 31);
        let one = number(1);
        // Each hub's registers follow those of the hub before it.
        let hub = [36, 54, 72]
            .map(|first| below(id, first) ^ one)
            .into_iter()
            .fold(number(0), |hub, behind| hub.plus(behind));
        let place = hub.plus(number(18));
        let (row, always) = (rows.plus(id << number(5)), one);
        let is_register = id_below(id, 90);
        let mut memory = Vec::new();
        let mut at =
            |condition, offset, word| memory.push((condition, block.plus(number(offset)), word));
        at(always, block::ACCESS, access_at);
        at(always, block::COUNTS, counts);
        at(always, block::ROWS, rows);
        at(always, block::PCR_MASK, pcr_mask);
        at(always, block::COUNTS_OF_GETS, counts.minus(number(8 * GETS)));
        at(always, block::VERSION, version_at);
        at(always, block::TOKEN, token);
        at(always, block::RESERVED, reserved);
        at(always, block::WATCHES, watches.minus(gates >> number(2)));
        at(always, block::L2, l2);
        at(always, block::OWNER, owner);
        at(always, block::REPORTS, reports[0]);
        at(always, block::SERVED, served);
        at(always, block::SERVED_CORE, served_core);
        at(always, block::TRACED, traced);
        for hub in 0..4 {
            at(always, block::GATES + 8 * hub, gates.plus(number(ARBITER * hub)));
        }
        let gate = gates.plus(hub << number(7));
        memory.push((is_register, block.plus(place << number(3)), gate));
        memory.push((always, access_at, access));
        memory.push((always, access_at.plus(number(8)), refusals));
        memory.push((always, version_at & !number(7), version_cell));
        memory.push((is_register, row, address));
        memory.push((is_register, row.plus(number(8)), mask));
        memory.push((is_register, row.plus(number(16)), place));
        memory.push((always, rows.plus(number(ROW)), bank));
        let in_register =
            |(space, address, _), word| (always, register_at(space, number(address)), word);
        memory.push(in_register(register::BLOCK, block));
        memory.push(in_register(register::FRAME, block.plus(number(block::FRAMES))));
        let structures = [
            (block, block::SIZE),
            (access_at, 16),
            (counts, 16 * GETS),
            (rows, 90 * ROW),
            (version_at, 4),
            (gates, 4 * ARBITER),
            (watches, 4 * STOPWATCH),
            (l2, 64),
            (served, 0x401),
            (served_core, 0x401),
            (traced, 1),
        ];
        let mut assumptions = Vec::new();
        for (index, (a, size_of_a)) in structures.iter().enumerate() {
            for (b, size_of_b) in &structures[index + 1..] {
                // One of the two structures begins after the end of the other.
                let behind =
                    |a: W, size: u64, b: W| (b.minus(a.plus(number(size))) >> number(63)) ^ one;
                assumptions.push(behind(*a, *size_of_a, *b) | behind(*b, *size_of_b, *a));
            }
        }
        Self {
            id,
            value,
            function,
            block,
            access_at,
            access,
            refusals,
            access_again,
            version,
            counts,
            address,
            mask,
            pcr_mask,
            hub,
            gates,
            token,
            reserved,
            watches,
            stick,
            pcr,
            l2,
            owner,
            bank,
            reports,
            served,
            served_core,
            traced,
            assumptions,
            memory,
            others: HashMap::new(),
        }
    }

    /// Returns the word that the memory holds at an address when the execution begins.
    pub(crate) fn word(&self, address: W) -> W {
        for (condition, described, word) in &self.memory {
            if address.is_same(*described) && !condition.is_zero() {
                return *word;
            }
        }
        W::undescribed(self, address)
    }
}

/// Returns the mask of the low `1 << shift` bytes; `shift` is less than 3.
pub(crate) fn datum_mask<W: Word>(shift: u8) -> W {
    W::from((1 << (8 << shift)) - 1)
}

/// Returns the position of a datum's lowest bit in the eight-byte word that contains the datum.
pub(crate) fn place<W: Word>(address: W, shift: u8) -> W {
    let last = W::from(8 - (1 << shift));
    (last.minus(address & W::from(7)) & W::from(7)) << W::from(3)
}

/// Returns the datum at an address from the eight-byte word that contains the datum.
pub(crate) fn part<W: Word>(word: W, address: W, shift: u8) -> W {
    if shift == 3 { word } else { word >> place(address, shift) & datum_mask(shift) }
}

/// Returns 1 if an unsigned number is less than `bound` (at most 2^62), and otherwise 0.
pub(crate) fn id_below<W: Word>(id: W, bound: u64) -> W {
    let high = (id >> W::from(62)).zero_bit();
    high & below(id, bound)
}

//! Numbers for the assembly, such as offsets in the strand's block and in the service's types.
#![doc(hidden)]

use core::mem::offset_of;

use guest_abi::layout::{L2Control, PerfConfig, SparcPcr};
use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{HvError, PerfReg};
use hv_core::Negotiated;
use platform::address::{L2_BANKS, l2_control};
use platform::sparc64::FAST_WORDS;
use platform::sparc64::layout::FAST_PATH;
pub use platform::sparc64::layout::{
    FAST, FAULTED, LIMIT, PCR, REPORTS_NUMBER, SERVED_FAST, TRACED,
};

use crate::hubs::HubArbiter;
use crate::l2::L2Arbiter;
use crate::progress::Stopwatch;
use crate::rights::access::{self, NON_HUB_REGISTERS};
use crate::rights::guest::FastWords;
use crate::rights::refusals::{self, RefusalWord, TO_NO_ACCESS};
use crate::rights::versions::Vfalls;
use crate::statistics::Operation::{self, Get, Set};
use crate::statistics::{CallCounts, Class, Outcome, Refusal};
use crate::table::Row;

/// The index of each word in the strand's block.
pub mod word {
    /// The address of the guest's [`FastWords`](crate::rights::guest::FastWords).
    pub const ACCESS: usize = 0;
    /// The address of the strand's counts.
    pub const COUNTS: usize = 1;
    /// The address of the register table.
    pub const ROWS: usize = 2;
    /// The bits of register 0 that a guest can write.
    pub const PCR_MASK: usize = 3;
    /// The address of the strand's counts minus [`SETS`](super::SETS). This address plus the offset of a count of sets is the address of the
    /// corresponding count of gets.
    pub const COUNTS_OF_GETS: usize = 4;
    /// The address of the negotiated version.
    pub const VERSION: usize = 5;
    /// The number that replaces 0 in a gate when the strand takes the hub.
    pub const TOKEN: usize = 6;
    /// Both words of the gate of a hub that is reserved for this strand.
    pub const RESERVED: usize = 7;
    /// The address of the strand's stopwatch of a hub, minus the address of the hub's arbiter shifted right by
    /// [`WATCH_SHIFT`](super::WATCH_SHIFT). The difference is the same for all hubs.
    pub const WATCHES: usize = 8;
    /// The address of the node's L2 control arbiter.
    pub const L2: usize = 9;
    /// The number that replaces 0 in a lock when the strand takes it.
    pub const OWNER: usize = 10;
    /// The first of seven words in which the assembly keeps the values that it has read from L2 control banks 1 to 7.
    pub const L2_READ: usize = 11;
    /// The addresses of the hubs' gates. The index of each word is its hub's [place](crate::rights::access::AccessWord::place).
    pub const GATES: usize = crate::rights::access::NON_HUB_REGISTERS as usize;
}

const fn word(number: usize) -> usize {
    FAST_PATH + 8 * number
}

pub const ACCESS: usize = word(word::ACCESS);
pub const COUNTS: usize = word(word::COUNTS);
pub const ROWS: usize = word(word::ROWS);
pub const PCR_MASK: usize = word(word::PCR_MASK);
pub const COUNTS_OF_GETS: usize = word(word::COUNTS_OF_GETS);
pub const VERSION: usize = word(word::VERSION);
pub const TOKEN: usize = word(word::TOKEN);
pub const RESERVED: usize = word(word::RESERVED);
pub const WATCHES: usize = word(word::WATCHES);
pub const L2: usize = word(word::L2);
pub const L2_READ: usize = word(word::L2_READ);
pub const OWNER: usize = word(word::OWNER);

/// The base 2 logarithm of a quotient: the size of an arbiter divided by the size of a stopwatch.
pub const WATCH_SHIFT: u32 = (size_of::<HubArbiter>() / size_of::<Stopwatch>()).trailing_zeros();
const _: () = assert!(size_of::<Stopwatch>() << WATCH_SHIFT == size_of::<HubArbiter>());
// The assembly reads the first field of a stopwatch.
const _: () = assert!(Stopwatch::COUNTED == 0);
pub const REPEAT_SHIFT: u32 = crate::progress::REPEAT_SHIFT;

/// The left shift that turns a hub's place into the offset of its gate's word. The block must start with the words.
pub const PLACE_SHIFT: u32 = 3;
const _: () = assert!(word(word::GATES) == (word::GATES) << PLACE_SHIFT);

pub const GET: u64 = VFALLS_GET_PERFREG;
pub const SET: u64 = VFALLS_SET_PERFREG;
/// The bit in which the function numbers (%o5) for reading and for writing a register differ.
pub const GET_TO_SET: u64 = GET ^ SET;

pub const FIRST_OF_HUB: u64 = NON_HUB_REGISTERS;
pub const REGISTERS: u64 = PerfReg::COUNT as u64;

pub const GATE_STATE: usize = HubArbiter::STATE;
// `casx` takes an address without an offset.
const _: () = assert!(GATE_STATE == 0);

/// The left shift that moves HT to the sign bit.
pub const HT_TO_SIGN: u32 = SparcPcr::HT.leading_zeros();

/// The base 2 logarithm of a row's size in bytes.
pub const ROW_SHIFT: u32 = size_of::<Row>().trailing_zeros();
pub const MASK: usize = offset_of!(Row, mask);
pub const PLACE: usize = offset_of!(Row, place);
const _: () = assert!(offset_of!(Row, address) == 0 && size_of::<Row>() == 1 << ROW_SHIFT);

pub const L2_ENDED: usize = L2Arbiter::ENDED;
// `cas` takes an address without an offset.
const _: () = assert!(L2Arbiter::LOCK == 0);
/// The distance in bytes between two L2 control banks.
pub const BANK: u64 = match [l2_control(0), l2_control(1)] {
    [Some(first), Some(second)] => second.0 - first.0,
    _ => panic!(),
};
// The assembly writes banks 1 to 7, and then bank 0.
const _: () = assert!(L2_BANKS == 8);
/// The offset of register 1 in the register table.
pub const L2_ROW: usize = PerfReg::L2_PERF_CONFIG.index() << ROW_SHIFT;
/// The left shift of the guest's word that moves the bit for gets of register 1 to the sign bit.
pub const L2_PLACE: u64 = access::L2;
/// The bits of PERF_CONFIG in an L2 control register.
const CONFIG: u64 = L2Control::new().with_perf_config(PerfConfig::from_value(u64::MAX)).into_bits();
pub const CONFIG_SHIFT: u32 = CONFIG.trailing_zeros();
pub const CONFIG_BITS: u64 = CONFIG >> CONFIG_SHIFT;

pub const EBADTRAP: u64 = HvError::BadTrap.number();
pub const EINVAL: u64 = HvError::Invalid.number();
pub const EWOULDBLOCK: u64 = HvError::WouldBlock.number();
pub const ENOTSUPPORTED: u64 = HvError::NotSupported.number();
pub const ENOACCESS: u64 = HvError::NoAccess.number();

pub const VERSION_BITS: u64 = refusals::VERSION_BITS;
pub const HUB_COUNT: u64 = refusals::HUB_COUNT;
pub const HUB_STATUS_SHIFT: u32 = refusals::HUB_STATUS_SHIFT;
pub const HUB_STATUS_BITS: u64 = 0xf;
pub const REFUSALS: usize = offset_of!(FastWords, refusals);
/// The left shifts that move a refusal to the sign bit of the word. The shift for HT is one more than the shift for the strand.
pub const L2_TO_SIGN: u32 = RefusalWord::L2.bits().leading_zeros();
pub const STRAND_TO_SIGN: u32 = RefusalWord::PCR.bits().leading_zeros();
const _: () = assert!(RefusalWord::HT.bits().leading_zeros() == STRAND_TO_SIGN + 1);
/// The size in bytes of a count of calls.
pub const ONE_COUNT: usize = size_of::<u64>();
/// The right shift that moves a channel's bit for ENOACCESS to the bit whose value is the [size of a count](ONE_COUNT). It applies to a
/// word in which the channel's refusal is the sign bit.
pub const CHANNEL_TO_COUNT: u32 = 63 - TO_NO_ACCESS - ONE_COUNT.trailing_zeros();
const _: () = assert!(NO_ACCESS == NOT_SUPPORTED + ONE_COUNT);

const fn ok(operation: Operation, class: Class) -> usize {
    CallCounts::offset(operation, class, Outcome::Ok)
}

pub const GET_STRAND: usize = ok(Get, Class::Strand);
pub const SET_STRAND: usize = ok(Set, Class::Strand);
pub const GET_DRAM: usize = ok(Get, Class::Dram);
pub const SET_DRAM: usize = ok(Set, Class::Dram);
pub const GET_HUB: usize = ok(Get, Class::Hub);
pub const SET_HUB: usize = ok(Set, Class::Hub);
pub const SET_L2: usize = ok(Set, Class::L2);
pub const SET_INVALID: usize = ok(Set, Class::Invalid);
/// The distance in bytes from a count of gets to the corresponding count of sets.
pub const SETS: usize = ok(Set, Class::Strand) - ok(Get, Class::Strand);
pub const BLOCKED: usize =
    CallCounts::offset(Get, Class::Hub, Outcome::Refused(Refusal::WouldBlock));
/// For each refusal, the distance in bytes from a class's first count to its count of this refusal.
pub const BAD_TRAP: usize = refused(Refusal::BadTrap);
pub const INVALID: usize = refused(Refusal::Invalid);
pub const NOT_SUPPORTED: usize = refused(Refusal::NotSupported);
pub const NO_ACCESS: usize = refused(Refusal::NoAccess);

const fn refused(refusal: Refusal) -> usize {
    CallCounts::offset(Get, Class::Strand, Outcome::Refused(refusal))
}

// The numbers fit in their fields: 13 bits with a sign for offsets, 32 bits for the version.
const _: () = {
    assert!(word(FAST_WORDS) < 1 << 12 && PCR < 1 << 12 && SET_INVALID + NO_ACCESS < 1 << 12);
    assert!(size_of::<Negotiated<Vfalls>>() == 4);
};

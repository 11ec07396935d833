//! Counts the instructions that each call takes.

use conform::Configuration;
use guest_abi::StrandId;
use perfctr_service::{Grant, GuestConfig};
use platform::{Machine as Hardware, Model};
use serde::Serialize;

use super::caller::{Request, fast_request};
use super::image::{CheckError, Image};
use super::machine::Machine;

/// How many instructions Sun's hand-written assembly for the UltraSPARC T2 takes, from the trap to `done`. They were counted in the same
/// way as the image's instructions.
#[allow(missing_docs, reason = "the names say it")]
pub mod sun {
    pub const GET_DRAM: u64 = 61;
    pub const SET_DRAM: u64 = 63;
    pub const GET_PCR: u64 = 27;
    pub const SET_PCR: u64 = 30;
    pub const UNKNOWN_FAST: u64 = 13;
    pub const GET_VERSION: u64 = 88;
    pub const SET_VERSION: u64 = 100;
    pub const SET_VERSION_NEGOTIATED: u64 = 175;
}

/// How many instructions a call takes from the trap to `done`, both included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallCount {
    /// What the call does, such as `get of a DRAM register`.
    pub call: &'static str,
    /// The number of instructions in the image; `None` if the call does not answer.
    pub image: Option<u64>,
    /// The number of instructions in the project's own image.
    pub ours: Option<u64>,
    /// The number of instructions in Sun's code for the UltraSPARC T2; `None` if it lacks the call.
    pub sun: Option<u64>,
}

const GET: u64 = 0x106;
const SET: u64 = 0x107;
const PERF: u64 = 0x205;

const fn core(function: u64, o0: u64, o1: u64) -> Request {
    Request { trap: 0xff, registers: [o0, o1, 0, 0, 0, function] }
}

/// The calls in order, each with its name and the number of instructions in Sun's code. A call without a name only prepares the next call.
/// Register 3 belongs to the caller's node, register 7 to another node, and register 62 to a hub.
const CALLS: [(&str, Request, Option<u64>); 22] = [
    ("", Request { trap: 0xff, registers: [PERF, 1, 1, 0, 0, 0] }, None),
    ("get of a DRAM register", fast_request(GET, 3, 0), Some(sun::GET_DRAM)),
    ("set of a DRAM register", fast_request(SET, 3, 0x55), Some(sun::SET_DRAM)),
    ("get of the strand's PCR", fast_request(GET, 0, 0), Some(sun::GET_PCR)),
    ("set of the strand's PCR", fast_request(SET, 0, 0x55), Some(sun::SET_PCR)),
    ("get of a hub register", fast_request(GET, 62, 0), None),
    ("set of a hub register", fast_request(SET, 62, 0x55), None),
    ("get of L2 control", fast_request(GET, 1, 0), None),
    ("set of L2 control", fast_request(SET, 1, 1), None),
    ("get that is refused with EINVAL", fast_request(GET, 90, 0), None),
    ("get that is refused with ENOACCESS", fast_request(GET, 7, 0), None),
    ("set that is refused with ENOACCESS", fast_request(SET, 7, 0), None),
    ("a function that nobody has", fast_request(5, 0, 0), Some(sun::UNKNOWN_FAST)),
    ("", core(0, PERF, 1), None),
    ("api_set_version of the same version", core(0, PERF, 1), Some(sun::SET_VERSION)),
    ("api_get_version", core(3, PERF, 0), Some(sun::GET_VERSION)),
    ("get that is refused with ENOTSUPPORTED", fast_request(GET, 62, 0), None),
    ("set that is refused with ENOTSUPPORTED", fast_request(SET, 62, 0), None),
    ("", core(0, PERF, 0), None),
    ("get that is refused with EBADTRAP", fast_request(GET, 62, 0), None),
    ("set that is refused with EBADTRAP", fast_request(SET, 62, 0), None),
    ("api_set_version of another version", core(0, PERF, 1), Some(sun::SET_VERSION_NEGOTIATED)),
];

/// Returns a T5440 with one guest on strand 0 that has every right. This is also the default of `vfalls boot GUEST`.
pub(super) fn configuration() -> Option<Configuration> {
    let machine = Hardware::new(Model::Batoka, 4).ok()?;
    let strands = StrandId::new(0).into_iter().collect();
    let mut guests = [GuestConfig::default(); conform::configuration::GUESTS];
    guests[0] = GuestConfig::new(strands, Grant::ALL);
    Some(Configuration { machine, guests })
}

/// Counts the instructions of each call in an image.
fn counted(image: &Image, configuration: &Configuration) -> Result<Vec<Option<u64>>, CheckError> {
    let mut machine = Machine::boot(image, configuration)?;
    let Some(strand) = machine.begun.iter().next() else { return Ok(vec![None; CALLS.len()]) };
    let calls = CALLS.iter();
    Ok(calls
        .map(|(_, request, _)| machine.call(strand, *request).ok().map(|it| it.instructions))
        .collect())
}

/// Counts the instructions of each call in the image, and in the project's own image.
pub(super) fn count(
    image: &Image,
    ours: &Image,
    configuration: &Configuration,
) -> Result<Vec<CallCount>, CheckError> {
    let (theirs, ours) = (counted(image, configuration)?, counted(ours, configuration)?);
    let rows = CALLS.iter().zip(theirs).zip(ours);
    let rows = rows.filter(|(((call, ..), _), _)| !call.is_empty());
    Ok(rows
        .map(|(((call, _, sun), image), ours)| CallCount { call, image, ours, sun: *sun })
        .collect())
}

//! Measures how fast a strand executes instructions on one core of the host.

use nix::sys::resource::UsageWho::RUSAGE_SELF;
use platform::memory_map::{HYPERVISOR, RESET, RESET_CODE};
use platform::{Machine, Model};
use simulator::execute::{Execution, Limits, Setup, Stop};
use simulator::memory::Config;

use super::time::timed;

/// A loop over 2 KB. About a sixth of its instructions access memory, and a sixth are branches.
const PROGRAM: [u32; 14] = [
    0x1100_0800, // sethi %hi(0x200000), %o0
    0x9210_0000, // clr %o1
    0x940a_67f8, // 1: and %o1, 0x7f8, %o2
    0xd65a_000a, // ldx [%o0 + %o2], %o3
    0x9602_c009, // add %o3, %o1, %o3
    0x981a_e055, // xor %o3, 0x55, %o4
    0xd872_000a, // stx %o4, [%o0 + %o2]
    0x9b33_3003, // srlx %o4, 3, %o5
    0x808b_6001, // andcc %o5, 1, %g0
    0x3268_0003, // bne,a,pt %xcc, 2f
    0x9a03_6001, // inc %o5
    0x9a23_4009, // sub %o5, %o1, %o5
    0x106f_fff6, // 2: ba,pt %xcc, 1b
    0x9202_6008, // add %o1, 8, %o1
];

/// The number of instructions that one round executes.
const INSTRUCTIONS: usize = 5_000_000;

/// The names of the measured rates, each with its memory system; `None` for execution without one.
pub(super) const KINDS: [(&str, Option<Config>); 2] =
    [("without a memory system", None), ("with the memory system", Some(Config::T2_PLUS))];

/// Executes the program. Returns the number of executed instructions and the processor time in seconds.
pub(super) fn executed(memory: Option<Config>) -> anyhow::Result<(usize, f64)> {
    let mut execution =
        Execution::new(&Setup::new(Machine::new(Model::Batoka, 4)?).memory(memory))?;
    execution.load(RESET, RESET_CODE.map(u32::to_be_bytes).as_flattened())?;
    execution.load(HYPERVISOR.start, PROGRAM.map(u32::to_be_bytes).as_flattened())?;
    let (stop, time) =
        timed(RUSAGE_SELF, || Ok(execution.run(Limits::instructions(INSTRUCTIONS as u64))))?;
    anyhow::ensure!(stop == Stop::Limit, "the machine stops: {stop:?}");
    Ok((INSTRUCTIONS, time.cpu))
}

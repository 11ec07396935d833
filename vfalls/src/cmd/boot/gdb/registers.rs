//! gdb's numbers for the SPARC V9 registers, and the registers' layout in packets.

use simulator::interpreter::Strand;
use simulator::interpreter::instruction::Register;

/// The target description in XML. It tells gdb which registers the machine has.
pub(super) const DESCRIPTION: &str =
    "<target version=\"1.0\"><architecture>sparc:v9</architecture></target>";

/// The number of registers. In gdb's order, they are %g0-%g7, %o0-%o7, %l0-%l7, %i0-%i7, %f0-%f31
/// of 32 bits, %f32-%f62 of 64 bits, and the six registers from [`PC`] to [`Y`].
const COUNT: u32 = 86;
const PC: u32 = 80;
const NPC: u32 = 81;
/// gdb's number for a register that contains %ccr, %asi, %pstate and %cwp in the layout of %tstate.
const STATE: u32 = 82;
/// gdb's number for %y. Registers 83 and 84 are %fsr and %fprs.
const Y: u32 = 85;

/// The position of the %ccr field in the register [`STATE`]. [`ASI`] is the position of the %asi field.
const CCR: u32 = 32;
const ASI: u32 = 24;

/// Returns the value of a register, and its size in bytes. The value of a floating-point register
/// is always 0. Returns `None` if there is no register with this number.
fn value(strand: &Strand, number: u32) -> Option<(u64, usize)> {
    let value = match number {
        0..32 => strand.registers.get(Register::new(number)),
        32..64 => return Some((0, 4)),
        PC => strand.pc,
        NPC => strand.npc,
        STATE => strand.state(),
        Y => strand.y.into(),
        64..COUNT => 0,
        _ => return None,
    };
    Some((value, 8))
}

/// Returns the values of all registers, in gdb's order.
pub(super) fn read(strand: &Strand) -> Vec<u8> {
    let values = (0..COUNT).filter_map(|number| value(strand, number));
    values.flat_map(|(value, size)| value.to_be_bytes().into_iter().skip(8 - size)).collect()
}

/// Writes all registers or none of them. Returns `None` if the number of bytes is wrong, or if the
/// value of a read-only register would change.
pub(super) fn write(strand: &mut Strand, mut bytes: &[u8]) -> Option<()> {
    let mut changed = strand.clone();
    for number in 0..COUNT {
        let (old, size) = value(strand, number)?;
        let (register, rest) = bytes.split_at_checked(size)?;
        let new = register.iter().fold(0, |new, byte| new << 8 | u64::from(*byte));
        bytes = rest;
        match number {
            _ if new == old => {}
            1..32 => changed.registers.set(Register::new(number), new),
            PC if new.is_multiple_of(4) => changed.pc = new,
            NPC if new.is_multiple_of(4) => changed.npc = new,
            STATE if (new ^ old) & !(0xff << CCR | 0xff << ASI) == 0 => {
                (changed.ccr, changed.asi) = ((new >> CCR) as u8, (new >> ASI) as u8);
            }
            Y => changed.y = new.try_into().ok()?,
            _ => return None,
        }
    }
    *strand = bytes.is_empty().then_some(changed)?;
    Some(())
}

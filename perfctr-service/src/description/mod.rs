//! The guests of a machine and their rights, from the hypervisor's machine description.
//!
//! A node belongs to another if an arc `fwd` leads to it from there. What is read here:
//!
//! | node | belongs to | properties |
//! |---|---|---|
//! | `guests` | `root` | |
//! | `guest` | `guests` | number `resource_id`, its own; number `gid` and string `name`, which may be missing; its rights |
//! | `cpu` | a `guest` | number `pid`, the strand, its own |
//!
//! The strands of a guest are those of its `cpu` nodes; an arc `back` from a `cpu` to a `guest` says the same as one
//! `fwd` the other way round. The rights of a guest:
//!
//! | property of `guest` | meaning |
//! |---|---|
//! | string `perf-counters` | `global`, `strand`, `htstrand`, or `global` with one of the other two and a comma; empty for none |
//! | number `perfctraccess` | if not 0: `global` and `strand` |
//! | number `perfctrhtaccess` | if not 0, and `perfctraccess` is not 0 either: `htstrand` in place of `strand` |
//! | number `perfctrcompatible` | if not 0: version 1.0 gives the guest the registers of 1.1 |
//!
//! The first is LDoms' and wins: where it is, the two older ones are not looked at. Without any there are no rights. The
//! last is a name of our own.

mod error;
mod rights;

use guest_abi::StrandId;
use hv_core::GuestId;
use platform::Machine;
use platform::md::{BACK, Md, Node};

use crate::rights::policy::{GuestConfig, OneGlobal, StrandSet};
pub use error::{GuestError, GuestProblem};

/// A guest that a description describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescribedGuest<'a> {
    /// Its node.
    pub node: Node<'a>,
    /// What it is called, if anything.
    pub name: Option<&'a str>,
    /// Its number among the resources of the hypervisor; no other guest has it.
    pub resource_id: u64,
    /// The number by which other guests know it, if there is one.
    pub gid: Option<u64>,
    /// What the service is told.
    pub config: GuestConfig,
}

/// The guests of a description, in the order of the arcs to them; none if it is not a hypervisor's. All of them are
/// checked before the first one comes: [`policy::check`](crate::rights::policy::check) has nothing to reject then.
///
/// With a `machine`, all strands must be of that.
///
/// # Errors
/// The first thing that makes no sense or contradicts another.
pub fn guests<'a>(
    md: Md<'a>,
    machine: Option<Machine>,
) -> Result<impl Iterator<Item = DescribedGuest<'a>>, GuestError<'a>> {
    let list = md.under_root("guests")?;
    if let Some(list) = list {
        check_strands(md, machine.map_or(StrandId::COUNT, Machine::strands))?;
        check_guests(md, list)?;
    }
    Ok(list
        .into_iter()
        .flat_map(members)
        .filter_map(move |node| DescribedGuest::read(md, node).ok()))
}

fn members(list: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    list.children("guest")
}

/// Every `cpu` is a strand, and no two are the same.
fn check_strands(md: Md<'_>, count: usize) -> Result<(), GuestError<'_>> {
    let mut seen = StrandSet::EMPTY;
    for cpu in md.nodes_named("cpu") {
        let strand = strand(cpu, count)?;
        if seen.has(strand) {
            return Err(GuestError::new(cpu, GuestProblem::StrandTwice(strand)));
        }
        seen.insert(strand);
    }
    Ok(())
}

/// Every guest makes sense, and none contradicts an earlier one.
fn check_guests<'a>(md: Md<'a>, list: Node<'a>) -> Result<(), GuestError<'a>> {
    let mut taken = StrandSet::EMPTY;
    let mut global = OneGlobal::new();
    for (number, node) in members(list).enumerate() {
        let error = |problem| Err(GuestError::new(node, problem));
        if number == GuestId::COUNT {
            return Err(GuestError::new(list, GuestProblem::TooManyGuests));
        }
        let guest = DescribedGuest::read(md, node)?;
        for earlier in members(list).take(number) {
            if earlier.number("resource_id")? == Some(guest.resource_id) {
                return error(GuestProblem::ResourceIdTwice(guest.resource_id));
            }
        }
        let strands = guest.config.strands;
        if let Some(strand) = strands.iter().find(|strand| taken.has(*strand)) {
            return error(GuestProblem::SharedStrand(strand));
        }
        for strand in strands.iter() {
            taken.insert(strand);
        }
        if let Err(holder) = global.admit(guest.config.grant, node.offset()) {
            return error(GuestProblem::SecondGlobal(holder));
        }
    }
    Ok(())
}

impl<'a> DescribedGuest<'a> {
    fn read(md: Md<'a>, node: Node<'a>) -> Result<Self, GuestError<'a>> {
        Ok(Self {
            node,
            name: node.string("name")?,
            resource_id: node.needed_number("resource_id")?,
            gid: node.number("gid")?,
            config: GuestConfig {
                strands: strands(md, node)?,
                grant: rights::grant(node)?,
                compatible: rights::is_set(node, "perfctrcompatible")?,
            },
        })
    }
}

fn strands<'a>(md: Md<'a>, guest: Node<'a>) -> Result<StrandSet, GuestError<'a>> {
    let says_so = |cpu: &Node<'a>| cpu.arcs(BACK).any(|node| node == guest);
    guest
        .children("cpu")
        .chain(md.nodes_named("cpu").filter(says_so))
        .map(|cpu| strand(cpu, StrandId::COUNT))
        .collect()
}

/// The strand of a `cpu` of a machine with so many.
fn strand(cpu: Node<'_>, count: usize) -> Result<StrandId, GuestError<'_>> {
    let pid = cpu.needed_number("pid")?;
    usize::try_from(pid)
        .ok()
        .filter(|number| *number < count)
        .and_then(StrandId::new)
        .ok_or_else(|| GuestError::new(cpu, GuestProblem::NoSuchStrand(pid, count)))
}

//! The guests of a machine and their rights, from the hypervisor's machine description.
//!
//! Node B belongs to node A if a `fwd` arc leads from A to B. The service reads these nodes:
//!
//! | node | belongs to | properties |
//! |---|---|---|
//! | `guests` | `root` | |
//! | `guest` | `guests` | number `resource_id`, unique; number `gid` and string `name`, which may be missing; the rights |
//! | `cpu` | a `guest` | number `pid`: the strand, unique |
//!
//! A guest has the strands of its `cpu` nodes. A `back` arc from a `cpu` to a `guest` means the same as a `fwd` arc from the `guest` to the
//! `cpu`. A guest's rights are these properties:
//!
//! | property of `guest` | meaning |
//! |---|---|
//! | string `perf-counters` | `global`, `strand`, `htstrand`, `global,strand` or `global,htstrand`; empty for no right |
//! | number `perfctraccess` | if not 0: `global` and `strand` |
//! | number `perfctrhtaccess` | if not 0, and `perfctraccess` is not 0 either: `htstrand` in place of `strand` |
//! | number `perfctrcompatible` | if not 0: version 1.0 gives the guest the registers of 1.1 |
//!
//! LDoms' `perf-counters` replaces the older `perfctraccess` and `perfctrhtaccess`. This project defines `perfctrcompatible`.

mod error;
mod rights;

use guest_abi::StrandId;
use hv_core::GuestId;
use platform::Machine;
use platform::md::{BACK, Md, Node};

use crate::rights::policy::{GuestConfig, OneGlobal, StrandSet};
pub use error::{GuestError, GuestProblem};

/// A guest in a machine description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescribedGuest<'a> {
    /// The node that describes the guest.
    pub node: Node<'a>,
    /// The property `name`; `None` if the node does not have it.
    pub name: Option<&'a str>,
    /// The guest's unique number among the hypervisor's resources.
    pub resource_id: u64,
    /// The number by which other guests know the guest; `None` if the node does not have the property.
    pub gid: Option<u64>,
    /// The guest's strands and rights.
    pub config: GuestConfig,
}

/// Returns the guests of a description, in the order of the arcs to them. A description without a `guests` node, such as the description
/// that a guest receives, has no guests. First checks all guests, as [`policy::check`](crate::rights::policy::check) does; the error is the
/// first problem. Fails if a guest has a strand that `machine` lacks.
pub fn guests<'a>(
    md: Md<'a>,
    machine: Option<Machine>,
) -> Result<impl Iterator<Item = DescribedGuest<'a>>, GuestError<'a>> {
    let list = md.root_child("guests")?;
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

/// Checks that each `cpu` node describes an existing strand, and that no two nodes describe the same strand.
fn check_strands(md: Md<'_>, count: usize) -> Result<(), GuestError<'_>> {
    let mut seen = StrandSet::EMPTY;
    for cpu in md.nodes_named("cpu") {
        let strand = strand(cpu, count)?;
        if seen.contains(strand) {
            return Err(GuestError::new(cpu, GuestProblem::StrandTwice(strand)));
        }
        seen.insert(strand);
    }
    Ok(())
}

/// Checks each guest. Fails if two guests have the same `resource_id`, share a strand, or both have `global`.
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
        if let Some(strand) = strands.iter().find(|strand| taken.contains(*strand)) {
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
            resource_id: node.required_number("resource_id")?,
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

/// Returns the strand that a `cpu` node describes. The machine has `count` strands.
fn strand(cpu: Node<'_>, count: usize) -> Result<StrandId, GuestError<'_>> {
    let pid = cpu.required_number("pid")?;
    usize::try_from(pid)
        .ok()
        .filter(|number| *number < count)
        .and_then(StrandId::new)
        .ok_or_else(|| GuestError::new(cpu, GuestProblem::NoSuchStrand(pid, count)))
}

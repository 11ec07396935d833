//! Draws a map of the machine's nodes, hubs, memory channels and links.

use maud::{Markup, html};

use super::{Scale, WIDTH, round};
use crate::numbers::percent;
use crate::page::figure::Drawing;

/// A link between a node and a hub.
pub(crate) struct Link {
    pub node: usize,
    pub hub: usize,
    /// How busy the link is, as a share of the time from 0 to 1.
    pub used: f64,
}

/// The parts of a machine. Each `f64` tells how busy a part is, as a share of the time from 0 to 1.
pub(crate) struct MachineMap {
    /// The channels of each node: the channel's number, and how busy it is.
    pub channels: Vec<Vec<(usize, f64)>>,
    /// The label of each node, such as `2 threads`.
    pub executes: Vec<String>,
    /// The hubs: the hub's number, and how busy it is.
    pub hubs: Vec<(usize, f64)>,
    pub links: Vec<Link>,
}

const NODE_TOP: f64 = 4.0;
const NODE_HEIGHT: f64 = 78.0;
const HUB_TOP: f64 = 190.0;
const HUB_HEIGHT: f64 = 40.0;

/// Draws the nodes in a row, with their memory channels above them, the hubs below, and links
/// between nodes and hubs.
pub(crate) fn map(machine: &MachineMap, scale: &Scale) -> Drawing {
    let nodes = machine.channels.len().max(1) as f64;
    let step = WIDTH / nodes;
    let width = (step - 10.0).min(110.0);
    let left = |node: usize| step * node as f64 + (step - width) / 2.0;
    let hub_step = WIDTH / machine.hubs.len().max(1) as f64;
    let hub_width = (hub_step - 24.0).min(90.0);
    let hub_left = |place: usize| hub_step * place as f64 + (hub_step - hub_width) / 2.0;
    let part = |name: &str, used: f64, (x, y, width, height): (f64, f64, f64, f64)| -> Markup {
        let level = scale.level(used);
        let ink = if level >= 5 { "k1" } else { "k0" };
        html! {
            rect.edge.{ "s" (level) } x=(round(x)) y=(round(y)) width=(round(width)) height=(round(height)) rx="3" {
                title { (name) ": busy for " (percent(used, 1.0)) " of the time" }
            }
            text.c.(ink) x=(round(x + width / 2.0)) y=(round(y + height / 2.0 - 2.0)) { (name) }
            text.c.(ink) x=(round(x + width / 2.0)) y=(round(y + height / 2.0 + 10.0)) { (percent(used, 1.0)) }
        }
    };
    let hub_place = |hub: usize| machine.hubs.iter().position(|(number, _)| *number == hub);
    let marks = html! {
        @for link in &machine.links {
            @if let Some(place) = hub_place(link.hub) {
                @let from = left(link.node) + width * (place as f64 + 0.5) / machine.hubs.len() as f64;
                @let to = hub_left(place) + hub_width * (link.node as f64 + 0.5) / nodes;
                path.link.{ "l" (scale.level(link.used)) } fill="none" stroke-width="4" d={
                    "M" (round(from)) " " (NODE_TOP + NODE_HEIGHT) "L" (round(to)) " " (HUB_TOP)
                } {
                    title { "link of node " (link.node) " and hub " (link.hub) ": busy for " (percent(link.used, 1.0)) " of the time" }
                }
            }
        }
        @for (node, channels) in machine.channels.iter().enumerate() {
            @let x = left(node);
            rect.box x=(round(x)) y=(NODE_TOP) width=(round(width)) height=(NODE_HEIGHT) rx="5" {}
            text.c x=(round(x + width / 2.0)) y="18" { "node " (node) }
            text.m.c x=(round(x + width / 2.0)) y="30" { (machine.executes[node]) }
            @let channel_width = (width - 6.0) / channels.len().max(1) as f64;
            @for (place, (mcu, used)) in channels.iter().enumerate() {
                (part(&format!("MCU {mcu}"), *used, (x + 4.0 + channel_width * place as f64, 38.0, channel_width - 2.0, 38.0)))
            }
        }
        @for (place, (hub, used)) in machine.hubs.iter().enumerate() {
            (part(&format!("hub {hub}"), *used, (hub_left(place), HUB_TOP, hub_width, HUB_HEIGHT)))
        }
    };
    Drawing {
        width: WIDTH,
        height: match machine.hubs.is_empty() {
            true => NODE_TOP + NODE_HEIGHT + 4.0,
            false => HUB_TOP + HUB_HEIGHT + 4.0,
        },
        marks,
    }
}

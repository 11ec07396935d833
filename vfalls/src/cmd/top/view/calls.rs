//! Hypercalls, and what the guest measures by them.

use ratatui::style::Stylize;
use ratatui::text::Line;
use simulator::run::{Hypercalls, Replayed, Total};

use super::{Look, Page};
use crate::cmd::top::grid::{Grid, number};

/// Returns a row for each guest, and one for each class of registers that it asked for.
pub(super) fn page(of: &Replayed) -> Page {
    let statuses: Vec<&str> = of.by_status().into_keys().collect();
    let columns: String = statuses.iter().map(|status| format!("|>{status}")).collect();
    let mut grid = Grid::new(&format!("guest|registers|>calls{columns}"));
    let mut row = |guest: &str, class: &str, calls: &Hypercalls| {
        let count = |status: &&str| calls.by_status.get(*status).copied().unwrap_or(0);
        let counts = [calls.total].into_iter().chain(statuses.iter().map(count));
        let names = [guest, class].map(|name| Line::from(name.to_owned()));
        grid.row(names.into_iter().chain(counts.map(|count| Line::from(number(count)))));
    };
    for guest in &of.guests {
        row(&guest.name, "all calls", &guest.hypercalls);
        for (class, calls) in &guest.by_class {
            row("", class, calls);
        }
    }
    Page::table(grid.lines())
}

/// Returns a row for each event: what the guest measured, what happened, and the shares of nodes or hubs.
pub(super) fn counters(of: &Replayed, look: Look<'_>) -> Page {
    let totals = Total::by_event(&of.counters);
    let places = match totals.iter().any(Total::is_by_hub) {
        true => 4,
        false => look.machine.nodes(),
    };
    let columns: String = (0..places).map(|place| format!("|>{place}")).collect();
    let mut grid = Grid::new(&format!("event|>measured|>truth{columns}"));
    for total in totals {
        let by = if total.is_by_hub() { ", by hub" } else { "" };
        let measured = Line::from(number(total.measured));
        let measured = match total.measured == total.truth {
            true => measured,
            false => measured.red(),
        };
        let name = Line::from(format!("{}:{}{by}", total.class, total.event));
        let truth = Line::from(number(total.truth));
        let places = total.by_place[..places].iter();
        let places = places.map(|count| Line::from(number(*count)));
        grid.row([name, measured, truth].into_iter().chain(places));
    }
    Page::table(grid.lines())
}

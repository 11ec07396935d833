//! The views of hypercalls, and of the counters that the guest reads by hypercalls.

use ratatui::style::Stylize;
use ratatui::text::Line;
use simulator::run::{GuestCalls, Hypercalls, Replayed, Total};

use super::{ViewContext, ViewPage};
use crate::cmd::top::grid::Grid;
use crate::numbers::count;

/// Returns a page about the hypercalls. Each guest has a row, followed by a row for each class of
/// registers in its calls.
pub(super) fn page(of: &Replayed) -> ViewPage {
    let statuses: Vec<&str> = of.by_status().into_keys().collect();
    let columns: String = statuses.iter().map(|status| format!("|>{status}")).collect();
    let mut grid = Grid::new(&format!("guest|registers|>calls{columns}"));
    let mut row = |guest: &str, class: &str, calls: &Hypercalls| {
        let Hypercalls { total, by_status } = calls;
        let times = |status: &&str| by_status.get(*status).copied().unwrap_or(0);
        let times = [*total].into_iter().chain(statuses.iter().map(times));
        let names = [guest, class].map(|name| Line::from(name.to_owned()));
        grid.row(names.into_iter().chain(times.map(|times| Line::from(count(times)))));
    };
    for GuestCalls { name, grant: _, hypercalls, by_class } in &of.guests {
        row(name, "all calls", hypercalls);
        for (class, calls) in by_class {
            row("", class, calls);
        }
    }
    ViewPage::table(grid.lines())
}

/// Returns a page with a row for each event: the guest's count, the true count, and the count of
/// each node or hub.
pub(super) fn counters(of: &Replayed, look: ViewContext<'_>) -> ViewPage {
    let totals = Total::by_event(&of.counters);
    let places = match totals.iter().any(Total::is_by_hub) {
        true => 4,
        false => look.machine.nodes(),
    };
    let columns: String = (0..places).map(|place| format!("|>{place}")).collect();
    let mut grid = Grid::new(&format!("event|>measured|>truth{columns}"));
    for total in totals {
        let by = if total.is_by_hub() { ", by hub" } else { "" };
        let measured = Line::from(count(total.measured));
        let measured = match total.measured == total.truth {
            true => measured,
            false => measured.red(),
        };
        let name = Line::from(format!("{}:{}{by}", total.class, total.event));
        let truth = Line::from(count(total.truth));
        let places = total.by_place[..places].iter();
        let places = places.map(|place| Line::from(count(*place)));
        grid.row([name, measured, truth].into_iter().chain(places));
    }
    ViewPage::table(grid.lines())
}

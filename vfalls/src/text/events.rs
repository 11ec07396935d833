//! Formats the summary of events as tables.

use std::collections::BTreeSet;
use std::fmt;

use guest_abi::Hub;
use simulator::events::summary::Summary;

use crate::table::{self, Table};

pub(crate) struct SummaryText<'a>(pub(crate) &'a Summary);

impl SummaryText<'_> {
    fn nanoseconds(&self, ticks: u64) -> u128 {
        u128::from(ticks) * 1_000_000_000 / u128::from(self.0.hz)
    }

    /// Returns the time since the first event, in milliseconds.
    fn milliseconds(&self, time: u64) -> String {
        let first = self.0.span.map_or(0, |[first, _]| first);
        let nanoseconds = self.nanoseconds(time.saturating_sub(first));
        format!("{}.{:06}", nanoseconds / 1_000_000, nanoseconds % 1_000_000)
    }

    fn calls_table(&self) -> Table {
        let statuses: BTreeSet<&String> =
            self.0.calls.iter().flat_map(|calls| calls.by_status.keys()).collect();
        let counts: String = statuses.iter().map(|status| format!("|>{status}")).collect();
        let mut table = table::with_header(&format!("guest|call|of|>calls{counts}"));
        let mut last = None;
        for calls in &self.0.calls {
            let guest = if last == Some(&calls.guest) { "" } else { &*calls.guest };
            last = Some(&calls.guest);
            let mut row = vec![
                guest.to_owned(),
                calls.call.to_owned(),
                calls.object.clone(),
                calls.total.to_string(),
            ];
            row.extend(statuses.iter().map(|status| {
                let count = calls.by_status.get(*status);
                count.map(u64::to_string).unwrap_or_default()
            }));
            table.add_row(row);
        }
        table
    }

    fn latency_table(&self) -> Table {
        let mut table =
            table::with_header("call|registers|ended|>calls|>50%|>90%|>99%|>longest|>in ns");
        for latency in &self.0.latencies {
            let numbers = [latency.p50, latency.p90, latency.p99, latency.max];
            let mut row = [latency.call, latency.class, latency.ended].map(str::to_owned).to_vec();
            row.push(latency.calls.to_string());
            row.extend(numbers.iter().map(u32::to_string));
            row.push(self.nanoseconds(latency.max.into()).to_string());
            table.add_row(row);
        }
        table
    }

    fn conflicts_table(&self) -> Table {
        let hubs: String = Hub::ALL.iter().map(|hub| format!("|>{}", hub.text())).collect();
        let mut table = table::with_header(&format!(">from ms{hubs}"));
        for part in &self.0.conflicts {
            let counts = part.hubs.iter().map(u64::to_string);
            table.add_row([self.milliseconds(part.from)].into_iter().chain(counts));
        }
        table
    }

    fn streams_table(&self) -> Table {
        let mut table = table::with_header(">strand|>events|>lost|lost behind ms");
        for stream in &self.0.streams {
            let gaps = stream.gaps.iter().take(4).map(|(time, lost)| match time {
                Some(time) => format!("{} ({lost})", self.milliseconds(*time)),
                None => format!("the beginning ({lost})"),
            });
            let mut gaps = gaps.collect::<Vec<_>>().join(", ");
            if stream.gaps.len() > 4 {
                gaps.push_str(", ...");
            }
            table.add_row([
                stream.strand.to_string(),
                stream.events.to_string(),
                stream.lost.to_string(),
                gaps,
            ]);
        }
        table
    }
}

impl fmt::Display for SummaryText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.0.span.map_or(0, |[_, last]| last);
        writeln!(
            f,
            "{} events in {} ms, {} lost; the clock has {} Hz, and times have a resolution of {} ticks",
            self.0.events,
            self.milliseconds(last),
            self.0.lost,
            self.0.hz,
            self.0.resolution
        )?;
        let mut part = |title: &str, table: &Table| {
            if table.is_empty() {
                return Ok(());
            }
            write!(f, "\n{title}\n\n{}", table::text(table))
        };
        part("Calls:", &self.calls_table())?;
        part("How long they took, in ticks:", &self.latency_table())?;
        part("Calls that did not get their hub immediately:", &self.conflicts_table())?;
        let mut others = table::with_header("event|>times");
        for (name, count) in &self.0.others {
            others.add_row([name.clone(), count.to_string()]);
        }
        part("What else happened:", &others)?;
        part("Rings:", &self.streams_table())?;
        if self.0.missed > 0 {
            writeln!(f, "\n{} more events are missing; no ring has counted them.", self.0.missed)?;
        }
        Ok(())
    }
}

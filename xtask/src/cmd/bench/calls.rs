//! Measures the wall time of calls, the ratio to the time of rustsbi's call, and how much simultaneous calls slow each other down.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, bail};
use serde::Serialize;

use crate::cargo;
use vfalls::table;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Times {
    /// The measured kinds of calls, in order. Each has its time in nanoseconds, and the ratio of
    /// this time to the time of rustsbi's call.
    calls: Vec<(String, f64, f64)>,
    /// The calls that threads make simultaneously, in the order of measurement, with their rates.
    threads: Vec<(String, Rates)>,
}

/// Calls per second of wall time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Rates {
    /// The rate of one thread.
    one: f64,
    /// The sum of two threads' rates.
    two: f64,
    /// The rate `two` divided by the rate `one`.
    ratio: f64,
}

impl Times {
    pub(super) fn measure() -> anyhow::Result<Self> {
        let program = cargo::build("tests", "call-cost")?;
        let output = Command::new(&program).arg("time").output();
        let output = output.with_context(|| format!("{} cannot be run", program.display()))?;
        if !output.status.success() {
            bail!("{} time failed with {}", program.display(), output.status);
        }
        String::from_utf8_lossy(&output.stdout).lines().try_fold(Self::default(), Self::with)
    }

    /// Adds the figures that one line of the program's output contains.
    fn with(mut self, line: &str) -> anyhow::Result<Self> {
        let unknown = || format!("call-cost time says \"{line}\"");
        let words: Vec<&str> = line.split(' ').collect();
        let [what, name, numbers @ ..] = &*words else {
            bail!(unknown());
        };
        let numbers: Result<Vec<f64>, _> = numbers.iter().map(|number| number.parse()).collect();
        match (*what, &*numbers.with_context(unknown)?) {
            ("call", &[nanoseconds, ratio]) => {
                self.calls.push(((*name).to_owned(), nanoseconds, ratio));
            }
            ("threads", &[one, two]) => {
                let ratio = two / one;
                self.threads.push(((*name).to_owned(), Rates { one, two, ratio }));
            }
            _ => bail!(unknown()),
        }
        Ok(self)
    }

    /// Returns the ratios to rustsbi's call, by kind of call.
    pub(super) fn ratios(&self) -> BTreeMap<String, f64> {
        let ratio = |(name, _, ratio): &(String, f64, f64)| (name.clone(), *ratio);
        self.calls.iter().map(ratio).collect()
    }

    pub(super) fn threads(&self) -> BTreeMap<String, Rates> {
        self.threads.iter().cloned().collect()
    }

    pub(super) fn tables(&self) -> [String; 2] {
        let mut calls = table::with_header("wall time of a call, median|>ns|>times rustsbi's");
        for (name, nanoseconds, ratio) in &self.calls {
            calls.add_row([name.clone(), format!("{nanoseconds:.2}"), format!("{ratio:.2}")]);
        }
        let mut threads =
            table::with_header("million calls a second of wall time|>1 thread|>2 threads|>ratio");
        for (name, Rates { one, two, ratio }) in &self.threads {
            let millions = [one, two].map(|rate| format!("{:.1}", rate / 1e6));
            threads
                .add_row([name.clone()].into_iter().chain(millions).chain([format!("{ratio:.2}")]));
        }
        [calls, threads].map(|table| table::text(&table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let times = Times::default()
            .with("call get_dram 1.50 1.250")
            .and_then(|times| times.with("threads two_hubs 4 7"))
            .unwrap();
        assert_eq!(times.ratios(), BTreeMap::from([("get_dram".to_owned(), 1.25)]));
        let rates = Rates { one: 4.0, two: 7.0, ratio: 1.75 };
        assert_eq!(times.threads(), BTreeMap::from([("two_hubs".to_owned(), rates)]));
        for line in ["", "call", "call x 1", "call x 1 y", "threads x 1", "event x 1 2"] {
            assert!(Times::default().with(line).is_err(), "{line:?}");
        }
    }
}

//! The options that select a region of a replay.

use std::str::FromStr;

use anyhow::{Context, anyhow, bail, ensure};
use platform::Machine;
use simulator::nearest::unknown;
use simulator::recording::Recording;
use simulator::replay::placement::Placement;
use simulator::replay::region::{self, Moment, Point, Region};

use crate::cmd::source::ReplaySource;
use crate::progress::{advance, progress_bar};
use crate::symbols::{Symbols, is_named};

/// The forms that a point can have, as error messages describe them.
const EXPECTED: &str = "a function such as work or work#3 (its third call), a marker such as marker:frame or marker:frame#3, or a number of \
                        instructions such as 5000000 or 5M";

#[derive(clap::Args, Debug, Default)]
pub(crate) struct RegionArgs {
    /// Count from this point on: a function (its first call), FUNCTION#K (its K-th call), marker:NAME, marker:NAME#K, or a number of
    /// instructions of all threads, such as 5000000 or 5M. Before it, references are skipped: threads start, wait and take locks, but no
    /// cache sees the references
    #[arg(long, value_name = "POINT")]
    from: Option<PointArg>,

    /// End the replay at this point. A function or a marker without #K is the first one after --from
    #[arg(long, value_name = "POINT")]
    to: Option<PointArg>,

    /// Count one phase: from a function or marker to its next call, such as frame#3 to frame#4
    #[arg(long, value_name = "POINT", conflicts_with_all = ["from", "to"])]
    phase: Option<PointArg>,

    /// Let the last N instructions before --from fill the caches without being counted; or everything from this point on, or from the
    /// start on (all). N is exact only for one thread
    #[arg(long, value_name = "N|POINT")]
    warm_up: Option<PointArg>,
}

/// A function that returns the addresses and names of functions or markers. Given part of a name, it can skip files that have no symbol
/// containing this part.
type AllNamed<'a> = fn(&'a Symbols, Option<&str>) -> Vec<(u64, &'a str)>;

/// A point of a replay, as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PointArg {
    text: String,
    kind: PointKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PointKind {
    Instructions(u64),
    Function(String, Option<u64>),
    Marker(String, Option<u64>),
}

impl FromStr for PointArg {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let wrong = || anyhow!("found '{text}', expected {EXPECTED}");
        let kind = if text.starts_with(|first: char| first.is_ascii_digit()) {
            PointKind::Instructions(instructions(text).with_context(wrong)?)
        } else {
            let (name, number) = match text.rsplit_once('#') {
                None => (text, None),
                Some((name, number)) => {
                    let number = number.parse().ok().filter(|number| *number > 0);
                    (name, Some(number.with_context(wrong)?))
                }
            };
            let (name, is_marker) = match name.strip_prefix("marker:") {
                Some(name) => (name, true),
                None => (name, false),
            };
            ensure!(!name.is_empty(), wrong());
            match is_marker {
                true => PointKind::Marker(name.to_owned(), number),
                false => PointKind::Function(name.to_owned(), number),
            }
        };
        Ok(Self { text: text.to_owned(), kind })
    }
}

/// Returns a number of instructions, such as 5000000, 5_000_000 or 5M.
fn instructions(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.replace('_', "").parse().ok()?;
    number.checked_mul(factor)
}

impl PointArg {
    /// Returns the next occurrence of a function or marker.
    fn next(&self) -> anyhow::Result<Self> {
        let named = |name: &str,
                     number: Option<u64>,
                     kind: fn(String, Option<u64>) -> PointKind| {
            let next = number.unwrap_or(1).saturating_add(1);
            let name_in_text = self.text.rsplit_once('#').map_or(&*self.text, |(name, _)| name);
            Self { text: format!("{name_in_text}#{next}"), kind: kind(name.to_owned(), Some(next)) }
        };
        match &self.kind {
            PointKind::Instructions(_) => bail!(
                "--phase is {}, expected a function or a marker: a number of instructions has no next occurrence",
                self.text
            ),
            PointKind::Function(name, number) => Ok(named(name, *number, PointKind::Function)),
            PointKind::Marker(name, number) => Ok(named(name, *number, PointKind::Marker)),
        }
    }

    /// Returns the point in these programs. A program is `None` if its files, and therefore its symbols, are not known.
    fn point(&self, programs: &[Option<&Symbols>]) -> anyhow::Result<Point> {
        let at = match &self.kind {
            PointKind::Instructions(number) => Moment::Instructions(*number),
            PointKind::Function(name, number) => Moment::Reached {
                addresses: self.addresses(programs, "function", name, Symbols::functions)?,
                number: *number,
            },
            PointKind::Marker(name, number) => Moment::Reached {
                addresses: self.addresses(programs, "marker", name, Symbols::markers)?,
                number: *number,
            },
        };
        Ok(Point { name: self.text.clone(), at })
    }

    /// Returns the addresses of the functions or markers with this name, each with the index of its program. `all` returns all functions or
    /// markers of one program.
    fn addresses<'a>(
        &self,
        programs: &[Option<&'a Symbols>],
        what: &str,
        name: &str,
        all: AllNamed<'a>,
    ) -> anyhow::Result<Vec<(usize, u64)>> {
        let symbols = || programs.iter().enumerate().filter_map(|(at, one)| Some((at, (*one)?)));
        ensure!(
            symbols().next().is_some(),
            "{}: the recording does not name the program's files, so its functions and markers are unknown: expected a number of instructions",
            self.text
        );
        let part = name.rsplit("::").next();
        let found = |part| -> Vec<(usize, (u64, &'a str))> {
            let of = |(program, symbols)| {
                all(symbols, part).into_iter().map(move |found| (program, found))
            };
            symbols().flat_map(of).collect()
        };
        let named = |found: &[(usize, (u64, &str))]| -> Vec<(usize, u64)> {
            let meant = found.iter().filter(|(_, (_, one))| is_named(one, name));
            meant.map(|(program, (address, _))| (*program, *address)).collect()
        };
        let addresses = named(&found(part));
        if !addresses.is_empty() {
            return Ok(addresses);
        }
        // The first search skips a file if only its separate debug file contains the name. Therefore, the second search reads all files.
        let all = found(None);
        let addresses = named(&all);
        if addresses.is_empty() {
            symbols().for_each(|(_, symbols)| symbols.note_unusable());
            bail!("{}", unknown(what, name, all.iter().map(|(_, (_, one))| *one)));
        }
        Ok(addresses)
    }
}

impl RegionArgs {
    /// Returns the selected region of these recordings. `symbols` holds the program's functions, if there is only one recording.
    pub(crate) fn region(
        &self,
        source: &ReplaySource,
        recordings: &[Recording],
        symbols: Option<&Symbols>,
        machine: Machine,
        placement: Option<&Placement>,
    ) -> anyhow::Result<Region> {
        match recordings.len() {
            1 => self.region_with(source, recordings, &[symbols], machine, placement),
            _ => self.region_of(source, recordings, machine, placement),
        }
    }

    /// Returns the selected region of these recordings. `machine` and `placement` say which strands execute the threads.
    fn region_with(
        &self,
        source: &ReplaySource,
        recordings: &[Recording],
        symbols: &[Option<&Symbols>],
        machine: Machine,
        placement: Option<&Placement>,
    ) -> anyhow::Result<Region> {
        let after = self.phase.as_ref().map(PointArg::next).transpose()?;
        let point = |arg: Option<&PointArg>| arg.map(|arg| arg.point(symbols)).transpose();
        let from = point(self.from.as_ref().or(self.phase.as_ref()))?;
        let to = point(self.to.as_ref().or(after.as_ref()))?;
        let warm_up = match (&self.warm_up, &from) {
            (None, _) => None,
            (Some(_), None) => {
                bail!("--warm-up needs the start of a region, expected --from or --phase")
            }
            (Some(arg), Some(from)) => {
                Some(warm_up(arg, from, source, recordings, symbols, machine, placement)?)
            }
        };
        Ok(Region { from, to, warm_up })
    }

    /// Returns the selected region of recordings that name the files with their symbols.
    pub(crate) fn region_of(
        &self,
        source: &ReplaySource,
        recordings: &[Recording],
        machine: Machine,
        placement: Option<&Placement>,
    ) -> anyhow::Result<Region> {
        if self.is_whole() {
            return Ok(Region::default());
        }
        let of = |one| {
            Symbols::of_recordings(std::slice::from_ref(one), source.is_bundled(), None, None)
        };
        let symbols: Vec<_> = recordings.iter().map(of).collect::<Result<_, _>>()?;
        let symbols: Vec<_> = symbols.iter().map(Option::as_ref).collect();
        self.region_with(source, recordings, &symbols, machine, placement)
    }

    /// Returns `true` if the arguments name no region.
    fn is_whole(&self) -> bool {
        let Self { from, to, phase, warm_up } = self;
        [from, to, phase, warm_up].iter().all(|arg| arg.is_none())
    }
}

/// Returns the start of the warm-up before the point `from`.
fn warm_up(
    arg: &PointArg,
    from: &Point,
    source: &ReplaySource,
    recordings: &[Recording],
    symbols: &[Option<&Symbols>],
    machine: Machine,
    placement: Option<&Placement>,
) -> anyhow::Result<Point> {
    let after = |instructions| {
        let name = match instructions {
            0 => "the start".to_owned(),
            _ => format!("instruction {instructions}"),
        };
        Point { name, at: Moment::Instructions(instructions) }
    };
    match &arg.kind {
        PointKind::Function(all, None) if all == "all" => Ok(after(0)),
        PointKind::Instructions(number) => {
            let before = match from.at {
                Moment::Instructions(before) => before,
                Moment::Reached { .. } => {
                    if let Some(stream) = source.stream() {
                        bail!(
                            "{}: can be read only once, expected a file for --warm-up {}: the region's start has to be found first",
                            stream.display(),
                            arg.text
                        );
                    }
                    let bar = progress_bar(recordings)?;
                    let observe = |progress| advance(&bar, progress);
                    let programs = source.open()?.into_iter().map(Recording::read_ahead).collect();
                    let found =
                        region::instructions_before(from, programs, machine, placement, observe);
                    bar.finish_and_clear();
                    found?
                }
            };
            Ok(after(before.saturating_sub(*number)))
        }
        _ => arg.point(symbols),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_number_of_instructions_a_function_or_a_marker() {
        let kind = |text: &str| text.parse::<PointArg>().unwrap().kind;
        for (text, number) in [("0", 0), ("5000000", 5_000_000), ("1_000", 1_000)] {
            assert_eq!(kind(text), PointKind::Instructions(number));
        }
        for (text, number) in [("3k", 3_000), ("120M", 120_000_000), ("2G", 2_000_000_000)] {
            assert_eq!(kind(text), PointKind::Instructions(number));
        }
        assert_eq!(kind("work"), PointKind::Function("work".to_owned(), None));
        assert_eq!(kind("a::work#3"), PointKind::Function("a::work".to_owned(), Some(3)));
        assert_eq!(kind("marker:frame"), PointKind::Marker("frame".to_owned(), None));
        assert_eq!(kind("marker:frame#7"), PointKind::Marker("frame".to_owned(), Some(7)));
        for wrong in ["", "5x", "99999999999G", "work#0", "work#", "marker:", "#1", "marker:#1"] {
            let error = wrong.parse::<PointArg>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("found '{wrong}', expected a function")), "{error}");
        }
    }

    #[test]
    fn a_phase_ends_at_the_next_occurrence() {
        let next = |text: &str| text.parse::<PointArg>().unwrap().next();
        assert_eq!(next("work").unwrap(), "work#2".parse().unwrap());
        assert_eq!(next("marker:frame#3").unwrap(), "marker:frame#4".parse().unwrap());
        assert!(next("5M").unwrap_err().to_string().starts_with("--phase is 5M, expected"));
    }
}

//! Measures how the cost of `vfalls stat` grows with the recording and with the machine, and draws the result.

use std::fs::File;
use std::process::{Command, Stdio};

use anyhow::{bail, ensure};
use made::{Data, GeneratedProgram};
use nix::sys::resource::UsageWho::RUSAGE_CHILDREN;
use vfalls::page::{Curve, CurvePoint, Growth};
use vfalls::table;

use super::cost::{Recorded, Stat};
use super::time::timed;
use crate::memory;

/// Generated programs that differ only in their size, which is their number of references, strands or threads.
struct Series {
    label: &'static str,
    made: fn(u64) -> GeneratedProgram,
    /// The sizes whose instructions are counted.
    counted: &'static [u64],
    /// Further sizes, at which the instructions are not counted, but estimated from the time.
    timed: &'static [u64],
    /// The size with which all larger sizes are compared. At a larger size, a reference may cost at most [`MAX_GROWTH`] times as much as at this
    /// size. Smaller sizes are unsuitable, because the start of the process and the first misses are a large part of their cost, or because
    /// no two strands share a core.
    base_size: u64,
}

/// The factor by which a reference of a larger program may cost more. It may cost more because a cache has more misses when more strands
/// share it. A cost that grows faster than its input exceeds this factor, because the next size is at least twice as large.
const MAX_GROWTH: f64 = 1.6;

/// The factor for estimates, which is larger because times also depend on what else the host does.
const MAX_ESTIMATED_GROWTH: f64 = 2.5;

/// The factor by which a longer recording may take more memory.
const MAX_MEMORY_GROWTH: f64 = 1.1;

const SERIES: [Series; 4] = [
    Series {
        label: "references of a program of one thread",
        made: |size| GeneratedProgram { threads: 1, data: Data::Own, references: size },
        counted: &[10_000, 100_000, 1_000_000, 10_000_000],
        timed: &[100_000_000, 1_000_000_000, 10_000_000_000],
        base_size: 1_000_000,
    },
    Series {
        label: "references of a program of 8 threads",
        made: |size| GeneratedProgram { threads: 8, data: Data::Own, references: size },
        counted: &[10_000, 100_000, 1_000_000, 10_000_000],
        timed: &[100_000_000, 1_000_000_000],
        base_size: 1_000_000,
    },
    Series {
        label: "strands that execute a million references",
        made: |size| GeneratedProgram {
            threads: size as u32,
            data: Data::Own,
            references: 1_000_000,
        },
        counted: &[1, 2, 4, 8, 16, 32, 64, 128, 256],
        timed: &[],
        // With up to 32 strands, each strand has a core to itself. With 64, the data of a core's two strands fit into its L1 data cache;
        // with more strands, they do not.
        base_size: 128,
    },
    Series {
        label: "threads of a thousand references, at least a million together",
        made: |size| GeneratedProgram {
            threads: size as u32,
            data: Data::Own,
            references: (1_000 * size).max(1_000_000),
        },
        counted: &[1, 10, 100, 1_000, 10_000],
        timed: &[],
        // At smaller sizes, each thread has more references, so that its start and its first misses are a smaller part of its cost.
        base_size: 1_000,
    },
];

/// The cost of a program of one size.
struct GrowthPoint {
    size: u64,
    references: u64,
    /// The number of instructions for each reference.
    instructions: f64,
    estimated: bool,
    /// The processor time for each reference, summed over all processors.
    nanoseconds: f64,
    /// The peak memory in KB.
    memory: u64,
}

/// Runs `vfalls stat`. Returns the processor time for each reference in nanoseconds, and the peak memory in KB.
fn run(stat: &Stat<'_>, recorded: &Recorded) -> anyhow::Result<(f64, u64)> {
    let mut command = Command::new(&stat.vfalls);
    command.args(["stat", "-"]).stdin(File::open(&recorded.file)?).stdout(Stdio::null());
    let ((status, memory), time) = timed(RUSAGE_CHILDREN, || memory::peak_of(&mut command))?;
    ensure!(status.success(), "vfalls stat fails with {status}");
    Ok((time.cpu / recorded.references as f64 * 1e9, memory))
}

impl Series {
    fn measure(&self, stat: &Stat<'_>) -> anyhow::Result<Vec<GrowthPoint>> {
        let mut points: Vec<GrowthPoint> = Vec::new();
        for &size in self.counted.iter().chain(self.timed) {
            let recorded = stat.record(&(self.made)(size))?;
            let (nanoseconds, memory) = run(stat, &recorded)?;
            let references = recorded.references;
            let (instructions, estimated) = match points.last() {
                Some(last) if self.timed.contains(&size) => {
                    (last.instructions * nanoseconds / last.nanoseconds, true)
                }
                _ => (stat.instructions(&recorded, &[])? as f64 / references as f64, false),
            };
            points.push(GrowthPoint {
                size,
                references,
                instructions,
                estimated,
                nanoseconds,
                memory,
            });
        }
        Ok(points)
    }

    /// Returns a message if the instructions for each reference, or the memory, grow faster than the input.
    fn violation(&self, points: &[GrowthPoint]) -> Option<String> {
        let first = points.iter().find(|point| point.size == self.base_size)?;
        let larger = || points.iter().filter(|point| point.size > self.base_size);
        let most =
            |point: &GrowthPoint| if point.estimated { MAX_ESTIMATED_GROWTH } else { MAX_GROWTH };
        let slow = larger().find(|point| point.instructions > most(point) * first.instructions);
        let slow = slow.map(|point| {
            format!(
                "{}: a reference takes {:.0} instructions at {}, and {:.0} at {}",
                self.label, first.instructions, first.size, point.instructions, point.size
            )
        });
        // In the other series, the number of threads grows. Each thread's references are read ahead, so memory grows, too.
        let large = larger().filter(|_| !self.timed.is_empty());
        let mut large =
            large.filter(|point| point.memory as f64 > MAX_MEMORY_GROWTH * first.memory as f64);
        let large = large.next().map(|point| {
            format!(
                "{}: {} KB of memory at {}, and {} KB at {}",
                self.label, first.memory, first.size, point.memory, point.size
            )
        });
        slow.or(large)
    }
}

/// The costs of all series.
pub(super) struct Costs(Vec<Vec<GrowthPoint>>);

impl Costs {
    pub(super) fn measure(stat: &Stat<'_>) -> anyhow::Result<Self> {
        Ok(Self(SERIES.iter().map(|series| series.measure(stat)).collect::<Result<_, _>>()?))
    }

    pub(super) fn table(&self) -> String {
        let mut table = table::with_header(
            "vfalls stat|>size|>million references|>instructions a reference|>CPU time, ns|>peak memory, MB",
        );
        for (series, points) in SERIES.iter().zip(&self.0) {
            for point in points {
                let estimated = if point.estimated { "about " } else { "" };
                table.add_row([
                    series.label.to_owned(),
                    point.size.to_string(),
                    format!("{:.2}", point.references as f64 / 1e6),
                    format!("{estimated}{:.0}", point.instructions),
                    format!("{:.1}", point.nanoseconds),
                    format!("{:.0}", point.memory as f64 / 1e3),
                ]);
            }
        }
        table::text(&table)
    }

    pub(super) fn picture(&self) -> Option<String> {
        let curve = |(series, points): (&Series, &Vec<GrowthPoint>)| Curve {
            label: series.label.to_owned(),
            points: points
                .iter()
                .map(|point| CurvePoint {
                    size: point.size as f64,
                    value: point.instructions,
                    estimated: point.estimated,
                })
                .collect(),
        };
        let curves: Vec<Curve> = SERIES.iter().zip(&self.0).map(curve).collect();
        let growth = Growth {
            title: "Instructions of vfalls stat for each reference",
            text: "Each curve is a series of made programs that differ in one number. A flat curve: the cost grows as the program does. \
                   Hollow marks are estimates by time.",
            axes: ["the number that differs", "instructions a reference"],
            curves: &curves,
        };
        growth.svg()
    }

    /// Fails if the instructions or the memory grow faster than the input.
    pub(super) fn check_limits(&self) -> anyhow::Result<()> {
        let mut wrong =
            SERIES.iter().zip(&self.0).filter_map(|(series, all)| series.violation(all));
        wrong.next().map_or(Ok(()), |wrong| bail!(wrong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(size: u64, instructions: f64, memory: u64) -> GrowthPoint {
        let estimated = SERIES[0].timed.contains(&size);
        GrowthPoint { size, references: size, instructions, estimated, nanoseconds: 1.0, memory }
    }

    #[test]
    fn what_grows_faster_than_its_input_is_named() {
        let [references, _, strands, _] = &SERIES;
        let first = || point(1_000_000, 60.0, 20_000);
        // In a small program, the start of the process is a large part of the cost.
        let small = point(10_000, 500.0, 17_000);
        assert_eq!(references.violation(&[small, first(), point(10_000_000, 95.0, 22_000)]), None);
        assert_eq!(
            references.violation(&[first(), point(10_000_000, 97.0, 22_000)]).unwrap(),
            "references of a program of one thread: a reference takes 60 instructions at 1000000, and 97 at 10000000"
        );
        assert_eq!(references.violation(&[first(), point(100_000_000, 149.0, 22_000)]), None);
        assert!(references.violation(&[first(), point(100_000_000, 151.0, 22_000)]).is_some());
        assert_eq!(
            references.violation(&[first(), point(10_000_000, 60.0, 22_001)]).unwrap(),
            "references of a program of one thread: 20000 KB of memory at 1000000, and 22001 KB at 10000000"
        );
        let few = [point(1, 60.0, 20_000), point(128, 600.0, 40_000)];
        assert_eq!(strands.violation(&few), None);
        let many = [point(128, 600.0, 40_000), point(256, 700.0, 200_000)];
        assert_eq!(strands.violation(&many), None);
        assert!(strands.violation(&[point(128, 600.0, 40_000), point(256, 970.0, 1)]).is_some());
    }

    #[test]
    fn the_picture_has_a_curve_for_each_series() {
        let points = |series: &Series| {
            let sizes = series.counted.iter().chain(series.timed);
            sizes.map(|size| point(*size, 60.0, 20_000)).collect()
        };
        let picture = Costs(SERIES.iter().map(points).collect()).picture().unwrap();
        for series in &SERIES {
            assert!(picture.contains(series.label), "{}", series.label);
        }
        let marks: usize = SERIES.iter().map(|all| all.counted.len() + all.timed.len()).sum();
        assert_eq!(picture.matches("<circle").count(), marks);
    }
}

//! Tests the sweeps that the simulator's guide shows. A sweep makes 200 runs. In the middle of the sweep, the test kills one worker. At the
//! end, each run must be complete, and must be in the table exactly once.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use xtask::cargo::{output, root};
use xtask::tools::{self, Tool};

const PARALLEL: Tool = Tool::new("parallel", "parallel");

/// Slurm's daemons and commands, and munged, which authenticates their messages.
const SLURM: [Tool; 6] = [
    Tool::new("/usr/sbin/slurmctld", "slurmctld"),
    Tool::new("/usr/sbin/slurmd", "slurmd"),
    Tool::new("/usr/sbin/munged", "munge"),
    Tool::new("sbatch", "slurm-client"),
    Tool::new("squeue", "slurm-client"),
    Tool::new("sinfo", "slurm-client"),
];

const RUNS: usize = 200;

/// The number of complete runs after which a worker is killed.
const MIDDLE: usize = 60;

/// The number of Slurm nodes. Each is a separate slurmd on this computer.
const NODES: usize = 4;

/// Makes the sweep with GNU parallel, kills one `vfalls`, and calls the guide's script again.
#[test]
#[ignore = "takes minutes: cargo xtask prove runs it"]
fn parallel() -> anyhow::Result<()> {
    tools::require(&[PARALLEL])?;
    let mut sweep = Sweep::new()?;
    let mut script = sweep.command("bash");
    sweep.start(script.arg("parallel.sh"))?;
    let killed = until(300, "a run in the middle of the sweep", || {
        let Some((worker, run)) = sweep.interrupted(|_| true)? else { return Ok(None) };
        worker.signal(Signal::SIGKILL);
        Ok(Some(run))
    })?;
    let status = until(600, "the end of the sweep", || Ok(sweep.started[0].try_wait()?))?;
    ensure!(status.code() == Some(1), "parallel ended with {status}, expected 1 failed run");
    let before = sweep.complete()?;
    let missing: Vec<_> = sweep.runs.iter().filter(|run| !before.contains_key(*run)).collect();
    ensure!(missing == [&killed], "missing are {missing:?}, expected {killed}");
    let mut script = sweep.command("bash");
    output(script.arg("parallel.sh"), "parallel")?;
    sweep.check(&before)?;
    let log = fs::read_to_string(sweep.path("runs.log"))?;
    let begun = log.lines().skip(1).count();
    ensure!(begun == RUNS + 1, "{begun} runs have begun, expected {RUNS}, and {killed} again");
    tests::print_line(format_args!(
        "{RUNS} runs; {killed} was killed, and the same command made it again"
    ));
    Ok(())
}

/// Makes the sweep with a Slurm job array, and kills one node with all its processes. Slurm notices that the node is gone, and queues its
/// run again.
#[test]
#[ignore = "takes minutes: cargo xtask prove runs it"]
fn slurm() -> anyhow::Result<()> {
    tools::require(&SLURM)?;
    let mut sweep = Sweep::new()?;
    start_slurm(&mut sweep)?;
    output(sweep.command("sbatch").arg("array.sh"), "sbatch")?;
    let spool = format!("{}/spool-n0/", sweep.place.path().display());
    let killed = until(300, "a run in the middle of the sweep", || {
        let processes = Process::all();
        let script = |process: &&Process| process.words.iter().any(|word| word.starts_with(&spool));
        let Some(script) = processes.iter().find(script) else { return Ok(None) };
        let job = script.with_descendants(&processes);
        let on_node = |worker: &Process| job.iter().any(|process| process.id == worker.id);
        let Some((_, run)) = sweep.interrupted(on_node)? else { return Ok(None) };
        // The parent of a job's script is the node's process that starts and watches the job.
        let watcher = processes.iter().filter(|process| process.id == script.parent);
        sweep.started[FIRST_NODE].kill()?;
        watcher.chain(job).for_each(|process| process.signal(Signal::SIGKILL));
        Ok(Some(run))
    })?;
    let before = sweep.complete()?;
    ensure!(!before.contains_key(&killed), "{killed} is complete, although it was killed");
    until(900, "the end of the job array", || {
        let queue = output(sweep.command("squeue").arg("--noheader"), "squeue")?;
        Ok(queue.is_empty().then_some(()))
    })?;
    sweep.check(&before)?;
    tests::print_line(format_args!(
        "{RUNS} runs on {NODES} slurmd; node n0 was killed with {killed}, and Slurm queued this run again"
    ));
    Ok(())
}

/// The index of the first slurmd among the processes that [`start_slurm`] starts.
const FIRST_NODE: usize = 2;

/// Starts a controller and nodes on the loopback interface. All their files are in the sweep's directory.
fn start_slurm(sweep: &mut Sweep) -> anyhow::Result<()> {
    // The authentication daemon accepts only a directory that all users may search, and a key that no other user may read.
    fs::set_permissions(sweep.place.path(), Permissions::from_mode(0o711))?;
    let secret = sweep.path("secret");
    fs::create_dir(&secret)?;
    fs::set_permissions(&secret, Permissions::from_mode(0o700))?;
    let mut key = [0; 128];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    fs::write(secret.join("key"), key)?;
    fs::set_permissions(secret.join("key"), Permissions::from_mode(0o600))?;
    fs::create_dir(sweep.path("state"))?;
    fs::write(sweep.path("slurm.conf"), slurm_configuration(sweep)?)?;

    let mut munged = sweep.command("/usr/sbin/munged");
    let file = |option: &str, name: &str| format!("--{option}={}", sweep.path(name).display());
    munged.arg("--foreground").args([file("socket", "socket"), file("key-file", "secret/key")]);
    munged.args([file("pid-file", "secret/pid"), file("log-file", "secret/log")]);
    munged.arg(file("seed-file", "secret/seed"));
    sweep.start(&mut munged)?;
    until(60, "munged", || Ok(sweep.path("socket").exists().then_some(())))?;
    let mut controller = sweep.command("/usr/sbin/slurmctld");
    sweep.start(controller.arg("-D"))?;
    for node in 0..NODES {
        let mut slurmd = sweep.command("/usr/sbin/slurmd");
        sweep.start(slurmd.args(["-D", "-N", &format!("n{node}")]))?;
    }
    until(60, "Slurm's nodes", || {
        let mut sinfo = sweep.command("sinfo");
        sinfo.args(["--noheader", "--Node", "--format=%T"]).stderr(Stdio::null());
        let states = String::from_utf8(sinfo.output()?.stdout)?;
        Ok((states.lines().filter(|state| *state == "idle").count() == NODES).then_some(()))
    })
}

fn slurm_configuration(sweep: &Sweep) -> anyhow::Result<String> {
    let host = output(Command::new("uname").arg("-n"), "uname")?;
    let user = output(Command::new("id").arg("-un"), "id")?;
    let [host, user] = [host, user].map(|name| String::from_utf8_lossy(&name).trim().to_owned());
    // The ports are free now. The test holds all of them at the same time, so that they differ.
    let ports: Vec<_> =
        (0..=NODES).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let ports: Vec<_> = ports.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?;
    let place = sweep.place.path().display();
    let mut text = format!(
        "ClusterName=sweep\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser={user}\nSlurmdUser={user}\n\
         AuthType=auth/munge\nAuthInfo=socket={place}/socket\nCredType=cred/munge\nStateSaveLocation={place}/state\n\
         SlurmdSpoolDir={place}/spool-%n\nSlurmctldPidFile={place}/slurmctld.pid\nSlurmdPidFile={place}/%n.pid\n\
         SlurmctldLogFile={place}/slurmctld.log\nSlurmdLogFile={place}/%n.log\nProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\nMpiDefault=none\nJobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
         SlurmdTimeout=10\nSchedulerParameters=sched_interval=1\n",
        ports[0].port()
    );
    for (node, port) in ports[1..].iter().enumerate() {
        let port = port.port();
        writeln!(
            text,
            "NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1"
        )?;
    }
    Ok(text + "PartitionName=all Nodes=ALL Default=YES State=UP\n")
}

/// A directory with the guide's scripts and a recording, and the processes that work there.
struct Sweep {
    place: TempDir,
    /// The value of PATH, with the directory of `vfalls`.
    search: OsString,
    /// The files of the runs, such as `runs/8192-524288-80-pack.json`.
    runs: BTreeSet<String>,
    started: Vec<Child>,
}

/// The complete run files, each with its inode number and the time of its last change. These numbers differ if the file is made again.
type Complete = BTreeMap<String, (u64, i64, i64)>;

impl Sweep {
    fn new() -> anyhow::Result<Self> {
        let vfalls = Path::new(env!("CARGO_BIN_EXE_vfalls"));
        let mut search = vfalls.parent().context("vfalls has no directory")?.as_os_str().to_owned();
        search.push(":");
        search.push(env::var_os("PATH").unwrap_or_default());
        let place = tempfile::Builder::new().prefix("sweep-").tempdir()?;
        let examples = root().join("simulator/examples/sweep");
        for script in ["runs.sh", "parallel.sh", "array.sh"] {
            fs::copy(examples.join(script), place.path().join(script))?;
        }
        fs::write(place.path().join("p.refs"), recording())?;
        let mut sweep = Self { place, search, runs: BTreeSet::new(), started: Vec::new() };
        output(sweep.command("bash").arg("runs.sh"), "runs.sh")?;
        let text = fs::read_to_string(sweep.path("runs.txt"))?;
        let names = text
            .lines()
            .filter_map(|line| line.split(' ').skip_while(|word| *word != "--json").nth(1));
        sweep.runs = names.map(str::to_owned).collect();
        ensure!(
            sweep.runs.len() == RUNS,
            "the sweep has {} runs, expected {RUNS}",
            sweep.runs.len()
        );
        Ok(sweep)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.place.path()).env("PATH", &self.search);
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    /// Starts a process whose output goes to a file.
    fn start(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let file = File::create(self.path(&format!("output-{}", self.started.len())))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        self.started.push(command.spawn()?);
        Ok(())
    }

    fn complete(&self) -> anyhow::Result<Complete> {
        let mut complete = Complete::new();
        for file in fs::read_dir(self.path("runs"))? {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            // A file has a hidden name until it is complete.
            if !name.starts_with('.') {
                let known = file.metadata()?;
                let identity = (known.ino(), known.mtime(), known.mtime_nsec());
                complete.insert(format!("runs/{name}"), identity);
            }
        }
        Ok(complete)
    }

    /// Looks for a process that makes a run, and stops it before its run is complete. Returns the process and the run's file. Returns
    /// `None` if there is no such process, or if fewer than [`MIDDLE`] runs are complete.
    fn interrupted(
        &self,
        may: impl Fn(&Process) -> bool,
    ) -> anyhow::Result<Option<(Process, String)>> {
        if self.complete()?.len() < MIDDLE {
            return Ok(None);
        }
        let is_run = |process: &Process| {
            process.is_in(self.place.path()) && process.words[0].ends_with("vfalls") && may(process)
        };
        let Some(worker) = Process::all().into_iter().find(is_run) else { return Ok(None) };
        let run = worker.words.last().cloned().unwrap_or_default();
        worker.signal(Signal::SIGSTOP);
        if self.runs.contains(&run) && !self.path(&run).exists() {
            return Ok(Some((worker, run)));
        }
        worker.signal(Signal::SIGCONT);
        Ok(None)
    }

    /// Checks that each run is complete and is in the table exactly once, and that the runs of `before` have not been made again.
    fn check(&self, before: &Complete) -> anyhow::Result<()> {
        let after = self.complete()?;
        let names: BTreeSet<_> = after.keys().cloned().collect();
        ensure!(names == self.runs, "{} runs are there, expected {RUNS}", names.len());
        for (run, identity) in before {
            ensure!(after[run] == *identity, "{run} has been made twice");
        }
        let mut table = self.command("vfalls");
        table.arg("table").args(&self.runs).args(["--sort", "cycles", "--json", "table.json"]);
        let ended = table.stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&ended.stderr);
        ensure!(
            ended.status.success() && said.is_empty(),
            "vfalls table: {}: {said}",
            ended.status
        );
        let table: Value = serde_json::from_slice(&fs::read(self.path("table.json"))?)?;
        let rows = table["runs"].as_array().context("the table has no rows")?;
        // A run's file is named after its settings.
        let named: BTreeSet<_> = rows.iter().map(|row| name_of(&row["settings"])).collect();
        ensure!(
            rows.len() == RUNS && named == self.runs,
            "the table has {} rows with {} of the settings, expected {RUNS}",
            rows.len(),
            named.intersection(&self.runs).count()
        );
        for row in rows {
            let named = name_of(&row["settings"]);
            ensure!(row["run"] == json!(named), "{} has the settings of {named}", row["run"]);
        }
        Ok(())
    }
}

/// Returns the name that `runs.sh` gives to the run with these settings.
fn name_of(settings: &Value) -> String {
    let names = ["l1d.bytes", "l2.bytes", "timing.memory"].map(|name| settings[name].to_string());
    format!("runs/{}-{}.json", names.join("-"), settings["placement"].as_str().unwrap_or_default())
}

impl Drop for Sweep {
    /// Ends the started processes and their descendants, which work in the sweep's directory.
    fn drop(&mut self) {
        for child in self.started.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        for process in Process::all().iter().filter(|process| process.is_in(self.place.path())) {
            process.signal(Signal::SIGKILL);
        }
    }
}

/// Returns a recording of four threads that read a megabyte at random.
fn recording() -> String {
    let mut random: u32 = 1;
    let mut text = String::new();
    for step in 0..30_000 {
        for strand in 0..4 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (code, data) = (0x4000 + 4 * (step % 64), 0x10_0000 + (random >> 12));
            let _ = write!(text, "{strand} i {code:x} 4\n{strand} r {data:x} 1\n");
        }
    }
    text
}

struct Process {
    id: i32,
    parent: i32,
    /// The words of the command line; never empty.
    words: Vec<String>,
}

impl Process {
    /// Returns all processes that have a command line.
    fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(Self::read).collect()
    }

    fn read(id: i32) -> Option<Self> {
        let line = fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(line.strip_suffix(b"\0").unwrap_or(&line)).into_owned();
        let words = (!line.is_empty()).then(|| line.split('\0').map(str::to_owned).collect())?;
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        Some(Self { id, parent: parent.trim().parse().ok()?, words })
    }

    /// Returns `true` if the process works in this directory.
    fn is_in(&self, place: &Path) -> bool {
        fs::read_link(format!("/proc/{}/cwd", self.id)).is_ok_and(|at| at.starts_with(place))
    }

    /// Returns this process and all its descendants among `all`.
    fn with_descendants<'a>(&'a self, all: &'a [Self]) -> Vec<&'a Self> {
        let mut found = vec![self];
        let mut next = 0;
        while let Some(parent) = found.get(next).map(|process| process.id) {
            found.extend(all.iter().filter(|process| process.parent == parent));
            next += 1;
        }
        found
    }

    /// Sends a signal. A process that has ended meanwhile is ignored.
    fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.id), signal);
    }
}

/// Calls `get` until it returns a value. Fails after this number of seconds, with an error that says that `what` has not come.
fn until<T>(
    seconds: u64,
    what: &str,
    mut get: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        if let Some(value) = get()? {
            return Ok(value);
        }
        sleep(Duration::from_millis(50));
    }
    bail!("{what} has not come in {seconds} s")
}

//! A machine's configuration, and the file that sets it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::str::FromStr;

use perfctr_service::Unit;
use platform::{Homes, Interleave, Machine, Model};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Spanned, Value};

use crate::machine::guests::{FileError, TomlText};
use crate::memory::pages::ParsePagesError;
use crate::memory::{Config, Pages};
use crate::nearest::unknown;

/// A machine's configuration. In JSON, it has the tables of a configuration [file](read).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The model, the nodes and the enabled DRAM channels.
    pub machine: Machine,
    /// The machine's caches, and how long its operations take.
    pub memory: Config,
}

impl Configuration {
    /// Returns the disabled memory channels, and the settings that differ from a T2 Plus, such as `l2.ways=8`. Does not describe how the
    /// nodes share the memory: see [`homes`](Self::homes).
    pub fn differences(&self) -> Vec<String> {
        let settings = Config::SETTINGS.iter().filter_map(|setting| {
            let (value, other) = (self.memory.get(setting), Config::T2_PLUS.get(setting));
            let (table, key) = (setting.table, setting.key);
            (value != other).then(|| format!("{table}.{key}={value}"))
        });
        let without = disabled(self.machine).map(|channel| format!("\"{channel}\""));
        let without = without.collect::<Vec<_>>().join(",");
        let without = (!without.is_empty()).then(|| format!("machine.without=[{without}]"));
        without.into_iter().chain(settings).collect()
    }

    /// Returns the names of the disabled memory channels.
    pub(crate) fn without(&self) -> Vec<String> {
        disabled(self.machine).map(|channel| channel.to_string()).collect()
    }

    /// Describes how the nodes share the memory, such as `pages of 64K on each node in turn`; `None` if at most one node has memory.
    pub fn homes(&self) -> Option<String> {
        let homes = Homes::new(self.machine).filter(|homes| homes.nodes().len() > 1)?;
        Some(match self.memory.pages {
            Pages::Hardware => {
                let bytes = match homes.interleave() {
                    Interleave::Bytes512 => "512 bytes",
                    Interleave::Gigabyte => "1 GB",
                };
                format!("{bytes} on each node in turn, as the hardware interleaves")
            }
            Pages::FirstTouch => "each page of 8 KB on the node that first touches it".to_owned(),
            Pages::Node(node) => format!("all pages on node {}", node.index()),
            Pages::Interleave(size) => format!("pages of {size} on each node in turn"),
        })
    }
}

/// A configuration's form in JSON.
#[derive(Serialize, Deserialize)]
struct Tables {
    machine: MachineTable,
    #[serde(flatten)]
    memory: Config,
}

#[derive(Serialize, Deserialize)]
struct MachineTable {
    model: String,
    nodes: usize,
    without: Vec<String>,
    #[serde(default = "bytes_512")]
    interleave: u64,
}

fn bytes_512() -> u64 {
    Interleave::Bytes512.bytes()
}

impl Serialize for Configuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { machine, memory } = *self;
        let machine = MachineTable {
            model: machine.model().name().to_owned(),
            nodes: machine.nodes(),
            without: self.without(),
            interleave: machine.interleave().bytes(),
        };
        Tables { machine, memory }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Configuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Tables { machine, memory } = Tables::deserialize(deserializer)?;
        memory.check().map_err(Error::custom)?;
        let model = model(&machine.model).map_err(Error::custom)?;
        let mut all = Machine::new(model, machine.nodes).map_err(Error::custom)?;
        for name in &machine.without {
            all = without(all, name).map_err(Error::custom)?;
        }
        let interleave = interleave(machine.interleave).map_err(Error::custom)?;
        Ok(Self { machine: all.with_interleave(interleave), memory })
    }
}

fn interleave(bytes: u64) -> Result<Interleave, String> {
    let all = Interleave::ALL.map(|interleave| interleave.bytes().to_string()).join(" or ");
    Interleave::from_bytes(bytes).ok_or_else(|| format!("found {bytes}, expected {all}"))
}

fn model(name: &str) -> Result<Model, String> {
    let names = Model::ALL.iter().map(|model| model.name());
    Model::from_name(name).ok_or_else(|| unknown("machine", name, names))
}

/// Disables the memory channel named `name`.
fn without(machine: Machine, name: &str) -> Result<Machine, String> {
    let all: Vec<_> = channels(machine).map(|unit| (unit.to_string(), unit)).collect();
    match all.iter().find(|(other, _)| other == name) {
        Some((_, Unit::Mcu(node, mcu))) => Ok(machine.without_channel(*node, *mcu)),
        _ => {
            let names = all.iter().map(|(name, _)| name.as_str());
            Err(unknown("memory channel", name, names))
        }
    }
}

/// Returns all memory channels of a machine's nodes, both enabled and disabled.
fn channels(machine: Machine) -> impl Iterator<Item = Unit> {
    Unit::ALL
        .iter()
        .copied()
        .filter(move |unit| matches!(unit, Unit::Mcu(node, _) if machine.has_node(*node)))
}

/// Returns the disabled memory channels of a machine's nodes.
fn disabled(machine: Machine) -> impl Iterator<Item = Unit> {
    channels(machine).filter(move |channel| !channel.is_in(machine))
}

/// A configuration file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// The machine, if the file names one.
    pub machine: Option<Machine>,
    /// The caches and times of a T2 Plus, with the file's changes.
    pub memory: Config,
}

/// Reads a machine's configuration. Every key is optional. These are the defaults:
///
/// ```toml
/// [machine]
/// model = "batoka"    # batoka or maramba
/// nodes = 4           # the most that the model has
/// without = []        # memory channels that are disabled, such as "NODE1_MCU0"
/// interleave = 512    # bytes on each node in turn: 512 or 1_073_741_824; see platform::homes
///
/// [memory]
/// pages = "hardware"  # hardware, first-touch, node:N or interleave:SIZE; see simulator::memory::pages
///
/// [l1i]               # the instruction cache of a core
/// bytes = 16384
/// ways = 8            # 1 to 64
/// line = 32           # bytes: 32 to 256
///
/// [l1d]               # the data cache of a core
/// bytes = 8192
/// ways = 4            # 1 to 64
/// line = 16           # 16 to 256
///
/// [l2]                # the L2 cache of a node: its eight banks together
/// bytes = 4_194_304
/// ways = 16           # 1 to 16
/// line = 64           # 32 to 256: one to four lines of l1i and of l1d
///
/// [timing]            # cycles; see simulator::memory::timing
/// load = 2
/// taken = 4
/// l2 = 23
/// bank = 1
/// stores = 8          # the maximum number of a strand's stores in progress: 1 to 16
/// serialize = 2
/// snoop = 60
/// cache_to_cache = 80
/// memory = 120
/// remote = 60
/// link = 9
/// channel_read = 7
/// channel_write = 14
/// ```
///
/// # Errors
/// The file cannot be read or is not a configuration, or no such machine is possible.
pub fn read(path: &Path) -> Result<Configured, FileError> {
    configured(&TomlText::read(path)?)
}

/// Parses the content of a configuration [file](read).
impl FromStr for Configured {
    type Err = FileError;

    fn from_str(text: &str) -> Result<Self, FileError> {
        configured(&text.into())
    }
}

fn configured(text: &TomlText) -> Result<Configured, FileError> {
    let tables: BTreeMap<Spanned<String>, Keys> = text.parse()?;
    let mut configured = Configured { machine: None, memory: Config::T2_PLUS };
    // Each setting's position in the file, for error messages.
    let mut places = HashMap::new();
    for (name, keys) in tables {
        let (at, name) = (name.span().start, name.get_ref().as_str());
        let wrong = |(at, problem): (usize, String)| text.wrong(Some(at), problem);
        if name == MACHINE {
            configured.machine = Some(machine(at, keys).map_err(wrong)?);
            continue;
        }
        if name == MEMORY {
            configured.memory.pages = pages(keys).map_err(wrong)?;
            continue;
        }
        let all = Config::SETTINGS.iter();
        let settings: Vec<_> = all.clone().filter(|one| one.table == name).collect();
        if settings.is_empty() {
            let names = all.map(|setting| setting.table).chain([MACHINE, MEMORY]);
            return Err(wrong((at, unknown("table", name, names))));
        }
        for (key, value) in keys {
            let (at, key) = (key.span().start, key.get_ref().as_str());
            let Some(setting) = settings.iter().find(|setting| setting.key == key) else {
                let names = settings.iter().map(|setting| setting.key);
                return Err(wrong((at, unknown(&format!("{name} key"), key, names))));
            };
            configured.memory.set(setting, number(&value).map_err(wrong)?);
            places.insert((setting.table, setting.key), at);
        }
    }
    configured.memory.check().map_err(|impossible| {
        let given = (impossible.settings.iter()).filter_map(|setting| places.get(setting));
        text.wrong(given.max().copied(), impossible.to_string())
    })?;
    Ok(configured)
}

const MACHINE: &str = "machine";
const MEMORY: &str = "memory";

type Keys = BTreeMap<Spanned<String>, Spanned<Value>>;

/// A problem: its position in the file in bytes, and the message.
type LocatedError = (usize, String);

fn number(value: &Spanned<Value>) -> Result<u64, LocatedError> {
    let number = value.get_ref().as_integer().and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| expected(value, "a whole number"))
}

fn expected(value: &Spanned<Value>, what: &str) -> LocatedError {
    let found = value.get_ref().to_string();
    (value.span().start, format!("found {}, expected {what}", found.trim()))
}

fn pages(keys: Keys) -> Result<Pages, LocatedError> {
    let mut pages = Pages::default();
    for (key, value) in keys {
        if key.get_ref() != "pages" {
            let names = ["pages"].into_iter();
            return Err((key.span().start, unknown("memory key", key.get_ref(), names)));
        }
        let text = value.get_ref().as_str();
        let text = text.ok_or_else(|| expected(&value, "a string such as \"first-touch\""))?;
        pages = text
            .parse()
            .map_err(|error: ParsePagesError| (value.span().start, error.to_string()))?;
    }
    Ok(pages)
}

fn machine(at: usize, keys: Keys) -> Result<Machine, LocatedError> {
    let (mut model, mut nodes, mut channels) = (Model::Batoka, None, None);
    let mut interleave = Interleave::default();
    for (key, value) in keys {
        let start = value.span().start;
        match key.get_ref().as_str() {
            "model" => {
                let name = (value.get_ref().as_str()).ok_or_else(|| expected(&value, "a name"))?;
                model = self::model(name).map_err(|problem| (start, problem))?;
            }
            "nodes" => nodes = Some((start, number(&value)?)),
            "interleave" => {
                let bytes = number(&value)?;
                interleave = self::interleave(bytes).map_err(|problem| (start, problem))?;
            }
            "without" => channels = Some(value),
            other => {
                let names = ["model", "nodes", "interleave", "without"].into_iter();
                return Err((key.span().start, unknown("machine key", other, names)));
            }
        }
    }
    let (at, nodes) = nodes.unwrap_or((at, model.max_nodes() as u64));
    let nodes = usize::try_from(nodes).unwrap_or(usize::MAX);
    let machine = Machine::new(model, nodes).map_err(|error| (at, error.to_string()))?;
    let mut machine = machine.with_interleave(interleave);
    if let Some(list) = channels {
        let names = list.get_ref().as_array();
        for name in names.ok_or_else(|| expected(&list, "a list of memory channels"))? {
            let name = name.as_str().unwrap_or_default();
            machine = without(machine, name).map_err(|problem| (list.span().start, problem))?;
        }
    }
    Ok(machine)
}

#[cfg(test)]
mod tests {
    use guest_abi::{Mcu, Node};

    use super::*;

    fn from(text: &str) -> Result<Configured, String> {
        text.parse().map_err(|error: FileError| error.to_string())
    }

    /// The example of [`read`] has every key, with its default value.
    #[test]
    fn omitted_keys_default_to_a_t2_plus() {
        let source = include_str!("configuration.rs");
        let example = source.split("/// ```").nth(1).unwrap();
        let example = example.trim_start_matches("toml").replace("\n/// ", "\n");
        let whole = from(&example.replace("\n///\n", "\n\n")).unwrap();
        let batoka = Machine::new(Model::Batoka, 4).unwrap();
        assert_eq!(whole.machine, Some(batoka));
        assert_eq!(whole.memory, Config::T2_PLUS);
        let keys = example.lines().filter(|line| line.contains(" = ")).count();
        assert_eq!(keys, 5 + Config::SETTINGS.len());
        let nothing = from("").unwrap();
        assert_eq!((nothing.machine, nothing.memory), (None, Config::T2_PLUS));
    }

    #[test]
    fn differences_are_listed() {
        let configured = from(
            "[machine]\nmodel = \"maramba\"\nwithout = [\"NODE1_MCU0\"]\ninterleave = 0x4000_0000\n\
             [timing]\nmemory = 0x200\n[l2]\nbytes = 1_048_576\n[memory]\npages = \"interleave:65536\"\n",
        )
        .unwrap();
        let machine = Machine::new(Model::Maramba, 2).unwrap();
        let machine =
            machine.without_channel(Node::Node1, Mcu::Mcu0).with_interleave(Interleave::Gigabyte);
        assert_eq!(configured.machine, Some(machine));
        let memory = configured.memory;
        let configuration = Configuration { machine, memory };
        assert_eq!(
            configuration.differences(),
            ["machine.without=[\"NODE1_MCU0\"]", "l2.bytes=1048576", "timing.memory=512"]
        );
        let json = serde_json::to_value(&configuration).unwrap();
        let read: Configuration = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(read, configuration);
        assert_eq!(json["machine"]["without"][0], "NODE1_MCU0");
        assert_eq!(json["timing"]["memory"], 512);
        assert_eq!(json["machine"]["interleave"], 1 << 30);
        assert_eq!(json["memory"]["pages"], "interleave:64K");
        // A configuration in JSON has the same form as a file.
        let again = from(&toml::to_string(&json).unwrap()).unwrap();
        assert_eq!((again.machine, again.memory), (Some(machine), memory));
    }

    #[test]
    fn invalid_files_are_rejected() {
        for row in [
            "[l3]\nbytes = 1 | text:1: there is no table 'l3'; did you mean l2?",
            "\n[l2]\nbyts = 1 | text:3: there is no l2 key 'byts'; did you mean bytes?",
            "nodes = 2 | text:1: invalid type: integer `2`, expected a map",
            "[l2]\nways = \"4\" | text:2: found \"4\", expected a whole number",
            "[l2]\nways = -4 | text:2: found -4, expected a whole number",
            "[l2]\nways = 17 | text:2: l2.ways is 17, expected 1 to 16",
            "[l1d]\nways = 65 | text:2: l1d.ways is 65, expected 1 to 64",
            "[l1i]\nline = 16 | text:2: l1i.line is 16, expected 32 to 256",
            "[l1d]\nline = 48 | text:2: l1d.line is 48, expected a power of 2",
            "[l2]\nbytes = 100_000_000 | text:2: l2.bytes is 100000000, expected 256 to 67108864",
            "[l1d]\n\nways = 3 | text:3: l1d has 8192 bytes in 3 ways with lines of 16 bytes, expected a number of sets that is a power of 2",
            "[l1i]\nbytes = 1024\n | text:2: l1i has 1024 bytes in 8 ways with lines of 32 bytes, expected at least 256 bytes per way, because a tag has 31 bits of an address",
            "[l2]\nline = 128 | text:2: l1d.line is 16 and l2.line 128, expected 1 to 4 lines of l1d in one of l2, because the L2 cache has 4 bits for copies in each",
            "[l1d]\nline = 128 | text:2: l1d.line is 128 and l2.line 64, expected 1 to 4 lines of l1d in one of l2, because the L2 cache has 4 bits for copies in each",
            "[timing]\nlink = 0 | text:2: timing.link is 0, expected 1 to 1000",
            "[timing]\nmemory = 10_001 | text:2: timing.memory is 10001, expected 0 to 10000",
            "[timing]\nstores = 17 | text:2: timing.stores is 17, expected 1 to 16",
            "[machine]\nmodel = \"t1\" | text:2: there is no machine 't1'; did you mean batoka?",
            "[machine]\nmodel = 1 | text:2: found 1, expected a name",
            "[machine]\nnodes = 5 | text:2: a batoka has 1 to 4 nodes, not 5",
            "[machine]\ninterleave = 4096 | text:2: found 4096, expected 512 or 1073741824",
            "[memory]\npage = 1 | text:2: there is no memory key 'page'; did you mean pages?",
            "[memory]\npages = 1 | text:2: found 1, expected a string such as \"first-touch\"",
            "[memory]\npages = \"node:4\" | text:2: found node '4', expected 0 to 3",
            "[machine]\nnode = 2 | text:2: there is no machine key 'node'; did you mean nodes?",
            "[machine]\nnodes = 2\nwithout = [\"NODE2_MCU0\"] | text:3: there is no memory channel 'NODE2_MCU0'; did you mean NODE0_MCU0, NODE1_MCU0 or NODE0_MCU1?",
            "[l2]\nways = 1\nways = 2 | text:3: duplicate key",
        ] {
            let (text, message) = row.split_once(" | ").unwrap();
            assert_eq!(from(text).unwrap_err(), message, "{text}");
        }
    }
}

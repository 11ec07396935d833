//! Checks the packages of this workspace, and their dependencies as `cargo metadata` lists them.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use xtask::cmd::test::APART;

/// Licences that are compatible with "MIT OR Apache-2.0". A dependency must offer one of these licences.
const LICENCES: [&str; 6] =
    ["0BSD", "MIT", "Apache-2.0", "BSD-3-Clause", "Zlib", "(MIT OR Apache-2.0) AND Unicode-3.0"];

/// Dependencies under another licence. They are unmodified, and linked only into unpublished programs.
const NOT_PUBLISHED: [(&str, &str); 2] = [
    // This crate writes the header of the C interface. Its licence does not cover what it writes.
    ("cbindgen", "MPL-2.0"),
    // This crate draws the flame graphs of `vfalls report`.
    ("inferno", "CDDL-1.0"),
];

/// The output of `cargo metadata`.
struct Metadata(Value);

impl Metadata {
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--locked", "--format-version", "1"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(serde_json::from_slice(&output.stdout).unwrap())
    }

    fn packages(&self) -> &[Value] {
        self.0["packages"].as_array().unwrap()
    }

    /// Returns the packages of this workspace that may be published.
    fn published(&self) -> impl Iterator<Item = &Value> {
        let ours = |package: &&Value| package["source"].is_null() && package["publish"].is_null();
        self.packages().iter().filter(ours)
    }

    /// Returns the names of the published packages and of their dependencies, direct and indirect. Leaves out dependencies that only tests
    /// use.
    fn built_in(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<_> = self.published().map(|package| &package["id"]).collect();
        let nodes = self.0["resolve"]["nodes"].as_array().unwrap();
        while let Some(id) = open.pop() {
            if !found.insert(id.as_str().unwrap()) {
                continue;
            }
            let node = nodes.iter().find(|node| node["id"] == *id).unwrap();
            for dependency in node["deps"].as_array().unwrap() {
                let mut kinds = dependency["dep_kinds"].as_array().unwrap().iter();
                if kinds.any(|kind| kind["kind"] != "dev") {
                    open.push(&dependency["pkg"]);
                }
            }
        }
        let is_found = |package: &&Value| found.contains(package["id"].as_str().unwrap());
        self.packages().iter().filter(is_found).map(name).collect()
    }
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}

#[test]
fn licences_of_dependencies_can_go_with_ours() {
    let metadata = Metadata::read();
    let built_in = metadata.built_in();
    assert!(built_in.contains("spin") && !built_in.contains("clap"));
    for package in metadata.packages() {
        let licence = package["license"].as_str().unwrap_or("none");
        // In older packages, a slash stands for OR.
        let offers = licence.replace('/', " OR ");
        let mut offers = offers.split(" OR ").map(str::trim);
        let name = name(package);
        let known = NOT_PUBLISHED.contains(&(name, licence)) && !built_in.contains(name);
        assert!(
            LICENCES.contains(&licence) || offers.any(|one| LICENCES.contains(&one)) || known,
            "{name}: {licence}"
        );
    }
}

#[test]
fn no_dependency_needs_a_newer_rust() {
    let version = |text: &str| -> Vec<u32> {
        let numbers = text.split('.').map(|number| number.parse().unwrap());
        numbers.chain([0]).take(3).collect()
    };
    let ours = env!("CARGO_PKG_RUST_VERSION");
    for package in Metadata::read().packages() {
        if let Some(theirs) = package["rust_version"].as_str() {
            assert!(version(theirs) <= version(ours), "{}: {theirs}", name(package));
        }
    }
}

#[test]
fn what_is_published_describes_itself() {
    let metadata = Metadata::read();
    let names: BTreeSet<&str> = metadata.published().map(name).collect();
    assert_eq!(names, BTreeSet::from(xtask::cmd::packages::PUBLISHED));
    for package in metadata.published() {
        let name = name(package);
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
        assert_eq!(package["readme"], "README.md", "{name}");
        assert!(package["description"].is_string(), "{name}");
        for list in ["keywords", "categories"] {
            assert!(!package[list].as_array().unwrap().is_empty(), "{name}");
        }
    }
}

/// Returns the crates that a selection of packages is compiled from, each with its version and features.
fn compiled(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix=none", "--no-dedupe", "--format={p} {f}"])
        .args(selection)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(str::to_owned).collect()
}

/// Otherwise, `cargo xtask test` takes minutes longer, and tests another program than users run.
#[test]
fn the_tool_is_compiled_once_for_its_users_and_for_tests() {
    let tool = compiled(&["--package=vfalls", "--edges=normal"]);
    assert!(tool.iter().any(|name| name.starts_with("sun4v-simulator ")), "{tool:#?}");
    let others = APART.map(|package| format!("--exclude={package}"));
    let tests = ["--workspace", "--edges=normal,dev"].into_iter();
    let tested = compiled(&tests.chain(others.iter().map(String::as_str)).collect::<Vec<_>>());
    let twice: Vec<_> = tool.difference(&tested).collect();
    assert!(twice.is_empty(), "tests need other features of these crates: {twice:#?}");
}

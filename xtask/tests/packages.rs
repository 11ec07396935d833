//! The packages of this workspace and what they depend on, as `cargo metadata` knows them.

use std::collections::BTreeSet;
use std::process::Command;

use serde::Deserialize;

/// Licences that can go with "MIT OR Apache-2.0". A dependency must offer one of them.
const LICENCES: [&str; 6] =
    ["0BSD", "MIT", "Apache-2.0", "BSD-3-Clause", "Zlib", "(MIT OR Apache-2.0) AND Unicode-3.0"];

/// Dependencies under another licence, which only programs that are not published are linked with, unmodified.
const NOT_PUBLISHED: [(&str, &str); 2] = [
    // Writes the header of the C interface; what it writes is not covered by its licence.
    ("cbindgen", "MPL-2.0"),
    // Draws flame graphs for `cargo xtask profile`.
    ("inferno", "CDDL-1.0"),
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    id: String,
    /// `None` for packages of this workspace.
    source: Option<String>,
    license: Option<String>,
    rust_version: Option<String>,
    /// `None` if the package may be published anywhere.
    publish: Option<Vec<String>>,
    description: Option<String>,
    readme: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `None` for an ordinary dependency.
    kind: Option<String>,
}

impl Metadata {
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--locked", "--format-version", "1"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn published(&self) -> impl Iterator<Item = &Package> {
        let ours = |package: &&Package| package.source.is_none() && package.publish.is_none();
        self.packages.iter().filter(ours)
    }

    /// The names of all packages that a published one is built from.
    fn built_in(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = self.published().map(|package| &*package.id).collect();
        while let Some(id) = open.pop() {
            if !found.insert(id) {
                continue;
            }
            let node = self.resolve.nodes.iter().find(|node| node.id == id);
            for dependency in &node.unwrap().deps {
                let mut kinds = dependency.dep_kinds.iter();
                if kinds.any(|kind| kind.kind.as_deref() != Some("dev")) {
                    open.push(&dependency.pkg);
                }
            }
        }
        let packages = self.packages.iter();
        packages
            .filter(|package| found.contains(&*package.id))
            .map(|package| &*package.name)
            .collect()
    }
}

#[test]
fn licences_of_dependencies_can_go_with_ours() {
    let metadata = Metadata::read();
    let built_in = metadata.built_in();
    assert!(built_in.contains("spin") && !built_in.contains("clap"));
    for package in &metadata.packages {
        let licence = package.license.as_deref().unwrap_or("none");
        // Older packages write a slash for OR.
        let offers = licence.replace('/', " OR ");
        let mut offers = offers.split(" OR ").map(str::trim);
        let known =
            NOT_PUBLISHED.contains(&(&package.name, licence)) && !built_in.contains(&*package.name);
        assert!(
            LICENCES.contains(&licence) || offers.any(|one| LICENCES.contains(&one)) || known,
            "{}: {licence}",
            package.name
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
    for package in &Metadata::read().packages {
        if let Some(theirs) = &package.rust_version {
            assert!(version(theirs) <= version(ours), "{}: {theirs}", package.name);
        }
    }
}

#[test]
fn what_is_published_describes_itself() {
    let metadata = Metadata::read();
    let names: BTreeSet<&str> = metadata.published().map(|package| &*package.name).collect();
    assert_eq!(names, BTreeSet::from(xtask::cmd::packages::PUBLISHED));
    for package in metadata.published() {
        let name = &package.name;
        assert_eq!(package.license.as_deref(), Some("MIT OR Apache-2.0"), "{name}");
        assert_eq!(package.readme.as_deref(), Some("README.md"), "{name}");
        assert!(package.description.is_some(), "{name}");
        assert!(!package.keywords.is_empty(), "{name}");
        assert!(!package.categories.is_empty(), "{name}");
    }
}

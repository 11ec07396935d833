//! Tests that PROOF.md names only checks that exist: each link's target must exist and declare the name in the link. Also tests that the
//! recipes in CONTRIBUTING.md name only paths that exist.

use std::fs;
use std::path::Path;

/// Returns the text of a file, or of all files in a folder.
fn text(path: &Path) -> String {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        return entries.map(|entry| text(&entry.unwrap().path())).collect();
    }
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn each_check_that_the_page_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = text(&root.join("PROOF.md"));
    let mut checks = 0;
    for link in page.split("](").collect::<Vec<_>>().windows(2) {
        let (before, target) = (link[0], link[1].split_once(')').unwrap().0);
        let named = before.rsplit_once('[').unwrap().1;
        let path = root.join(target);
        let found = text(&path);
        // The link names a file, or a function or type in the file.
        let name = named.trim_matches('`');
        if named != name && !target.contains(name) {
            let name = name.rsplit("::").next().unwrap();
            let declared = ["fn", "struct", "mod"].map(|kind| format!("{kind} {name}"));
            let is = |declared: &String| {
                let ends =
                    |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
                found.split(declared.as_str()).skip(1).any(ends)
            };
            assert!(declared.iter().any(is), "{target} has no {name}");
            checks += 1;
        }
    }
    assert!(checks > 20, "{checks}");
}

/// A path in backquotes either begins with one of the project's folders, or is a file name in the same folder as the path before it.
#[test]
fn each_path_that_the_recipes_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = text(&root.join("CONTRIBUTING.md"));
    let (_, recipes) = page.split_once("## How to add").unwrap();
    let (mut folder, mut paths) = (root.clone(), 0);
    for named in recipes.split('`').skip(1).step_by(2) {
        let path = named.trim_end_matches('/');
        let file = path.ends_with(".rs") && !path.contains('/');
        let first = path.split('/').next().unwrap();
        let in_house = named.contains('/') && root.join(first).is_dir();
        // NAME stands for a name that the reader chooses.
        if path.contains(' ') || path.contains("NAME") || !file && !in_house {
            continue;
        }
        let at = if file { folder.join(path) } else { root.join(path) };
        assert!(at.exists(), "CONTRIBUTING.md names {named}: there is no {}", at.display());
        folder = at.parent().unwrap().to_path_buf();
        paths += 1;
    }
    assert!(paths > 40, "{paths}");
}

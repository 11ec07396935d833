//! Finds the sources, and makes all mutants of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use xtask::cargo::root;

use crate::mutant::Mutant;
use crate::{assembly, statements};

const FOLDERS: [&str; 6] = [
    "guest-abi/src",
    "hv-core/src",
    "platform/src",
    "perfctr-service/src",
    "hypervisor/src",
    "hypervisor/image/src",
];

/// Parts of paths. A file whose path contains one of them is in no image: it holds tests, models of devices or of memory, or code that
/// executes in a guest.
const OTHERS: [&str; 8] = [
    "tests/",
    "tests.rs",
    "/models/",
    "/sync/model.rs",
    "/sync/schedules.rs",
    "/sync/steps",
    "/sync/constructors.rs",
    "/guest/sparc64.rs",
];

/// Returns all mutants, file by file.
pub(crate) fn mutants() -> anyhow::Result<Vec<Mutant>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        add_files(&root().join(folder), &mut files)?;
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    let mut mutants = Vec::new();
    for path in files {
        let file = path.strip_prefix(root())?.to_str().context("a path is not UTF-8")?;
        if OTHERS.iter().any(|part| file.contains(part)) {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| file.to_owned())?;
        let mut edits = statements::edits(&text).with_context(|| file.to_owned())?;
        if file.contains("/sparc64/") {
            edits.extend(assembly::edits(&text).with_context(|| file.to_owned())?);
        }
        mutants.extend(edits.into_iter().map(|edit| Mutant::new(file, &text, edit)));
    }
    Ok(mutants)
}

/// Adds all files below a folder to `files`, except those in folders named `target`.
pub(crate) fn add_files(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if !path.is_dir() {
            files.push(path);
        } else if !path.ends_with("target") {
            add_files(&path, files)?;
        }
    }
    Ok(())
}

//! A copy of the workspace for cargo-mutants to change. It is kept between runs, so that only changes are compiled again.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;

/// Names that are not copied at any level: build results and history.
const LEFT_OUT: [&str; 2] = ["target", ".git"];

/// Makes the directory `to` equal to `from`. Files that are already equal keep their times.
///
/// # Errors
/// A file cannot be read or written; the message has its name.
pub(crate) fn refresh(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("{}: cannot be made", to.display()))?;
    let wanted = entries(from)?;
    for name in entries(to)? {
        if !wanted.contains(&name) || from.join(&name).is_dir() != to.join(&name).is_dir() {
            let path = to.join(&name);
            remove(&path).with_context(|| format!("{}: cannot be removed", path.display()))?;
        }
    }
    for name in wanted {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            refresh(&from, &to)?;
        } else {
            update(&from, &to).with_context(|| format!("{}: cannot be copied", from.display()))?;
        }
    }
    Ok(())
}

fn entries(directory: &Path) -> anyhow::Result<Vec<OsString>> {
    let names = |directory| {
        let entries = fs::read_dir(directory)?;
        entries
            .map(|entry| Ok(entry?.file_name()))
            .collect::<io::Result<Vec<_>>>()
    };
    let mut names =
        names(directory).with_context(|| format!("{}: cannot be read", directory.display()))?;
    names.retain(|name| LEFT_OUT.iter().all(|out| name != out));
    Ok(names)
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

fn update(from: &Path, to: &Path) -> io::Result<()> {
    let same = || io::Result::Ok(fs::read(from)? == fs::read(to)?);
    if !(to.exists() && same()?) {
        fs::copy(from, to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_copy_becomes_equal_to_the_original() {
        let place = std::env::temp_dir().join(format!("xtask-tree-{}", std::process::id()));
        let (from, to) = (place.join("from"), place.join("to"));
        for path in [
            "src/same.rs",
            "src/changed.rs",
            "src/new/file.rs",
            ".cargo/config.toml",
            "target/out",
            "a/target/out",
            ".git/HEAD",
        ] {
            write(&from, path, path);
        }
        // A file where a directory is now, and the other way round.
        write(&from, "was-directory", "file");
        write(&to, "was-directory/file", "");
        write(&to, "src/new", "");
        write(&to, "src/same.rs", "src/same.rs");
        write(&to, "src/changed.rs", "mutated");
        write(&to, "gone/file", "");
        let time = |path: &str| fs::metadata(to.join(path)).unwrap().modified().unwrap();
        let before = time("src/same.rs");

        refresh(&from, &to).unwrap();
        for path in [
            "src/same.rs",
            "src/changed.rs",
            "src/new/file.rs",
            ".cargo/config.toml",
        ] {
            assert_eq!(fs::read_to_string(to.join(path)).unwrap(), path);
        }
        assert_eq!(
            fs::read_to_string(to.join("was-directory")).unwrap(),
            "file"
        );
        for path in ["gone", "target", "a/target", ".git"] {
            assert!(!to.join(path).exists(), "{path}");
        }
        assert_eq!(time("src/same.rs"), before);

        let missing = refresh(&place.join("none"), &to).unwrap_err().to_string();
        assert!(missing.ends_with("none: cannot be read"), "{missing}");
        fs::remove_dir_all(place).unwrap();
    }
}

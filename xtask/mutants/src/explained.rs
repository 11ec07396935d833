//! Explanations of mutants that no test notices: `tests/mutants.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};

use crate::mutant::Mutant;

/// The path of the list, from the root of the workspace.
pub(crate) const PATH: &str = "tests/mutants.toml";

/// For each file, the changes that no test notices, and the reasons:
///
/// ```toml
/// ["guest-abi/src/strand.rs"]
/// "replace | with ^ in join" = "the halves share no bit"
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Explained(BTreeMap<String, BTreeMap<String, String>>);

impl Explained {
    /// Reads the list from the file `path`.
    ///
    /// # Errors
    /// The file cannot be read, or is no such list; the message has the line number.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let text =
            std::fs::read_to_string(path).with_context(|| format!("{name}: cannot be read"))?;
        Self::parse(&text).with_context(|| name.to_string())
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let files: BTreeMap<String, BTreeMap<String, String>> =
            toml::from_str(text).map_err(|error| {
                let start = error.span().map_or(0, |span| span.start);
                let line = 1 + text[..start].matches('\n').count();
                let message = error.message().lines().collect::<Vec<_>>().join(" ");
                anyhow!("line {line}: {message}")
            })?;
        for (file, changes) in &files {
            for (change, reason) in changes {
                ensure!(
                    !reason.trim().is_empty() && !reason.contains('\n'),
                    "{file}: {change}: expected a reason of one line"
                );
            }
        }
        Ok(Self(files))
    }

    /// Returns why no test notices this mutant, or `None` if the list does not explain that.
    #[must_use]
    pub(crate) fn reason(&self, mutant: &Mutant) -> Option<&str> {
        let changes = self.0.get(&mutant.file)?;
        changes.get(mutant.change()).map(String::as_str)
    }

    /// Makes sure that every explanation has a mutant among `mutants`, which are all that there are.
    ///
    /// # Errors
    /// An explanation has no mutant: it is out of date.
    pub(crate) fn check(&self, mutants: &[Mutant]) -> anyhow::Result<()> {
        for (file, changes) in &self.0 {
            for change in changes.keys() {
                let is_it = |mutant: &Mutant| mutant.file == *file && mutant.change() == change;
                if !mutants.iter().any(is_it) {
                    bail!("{PATH}: there is no mutant of {file}: {change}");
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::tests::mutant;

    const LIST: &str = "[\"a/b.rs\"]\n\"replace | with ^ in c\" = \"no bit is shared\"\n";

    #[test]
    fn a_mutant_is_explained_by_file_and_change() {
        let list = Explained::parse(LIST).unwrap();
        let reason = |name| list.reason(&mutant(name)).map(ToOwned::to_owned);
        assert_eq!(
            reason("a/b.rs:1:2: replace | with ^ in c").as_deref(),
            Some("no bit is shared")
        );
        assert_eq!(
            reason("a/b.rs:9:9: replace | with ^ in c").as_deref(),
            Some("no bit is shared")
        );
        assert_eq!(reason("a/b.rs:1:2: replace | with & in c"), None);
        assert_eq!(reason("a/c.rs:1:2: replace | with ^ in c"), None);
    }

    #[test]
    fn an_explanation_without_a_mutant_is_refused() {
        let list = Explained::parse(LIST).unwrap();
        let there = mutant("a/b.rs:1:2: replace | with ^ in c");
        let other = mutant("a/b.rs:1:2: replace | with ^ in d");
        list.check(&[other.clone(), there]).unwrap();
        assert_eq!(
            list.check(&[other]).unwrap_err().to_string(),
            "tests/mutants.toml: there is no mutant of a/b.rs: replace | with ^ in c"
        );
    }

    #[test]
    fn bad_lists_are_refused() {
        for (text, says) in [
            ("[\"a\"]\n\"b\" = 1\n", "line 2: "),
            (
                "[\"a\"]\n\"b\" = \"\"\n",
                "a: b: expected a reason of one line",
            ),
            (
                "[\"a\"]\n\"b\" = \"\"\"x\ny\"\"\"\n",
                "expected a reason of one line",
            ),
            ("[\"a\"\n", "line 1: "),
        ] {
            let error = Explained::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}

//! Many mutants in one program: the files that contain all of them.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use anyhow::{Context, bail};
use xtask::cargo::root;

use super::choices::{Choice, Roles};
use super::packages::Package;
use super::rewritten::Rewritten;
use crate::built::Error;
use crate::mutant::Mutant;

/// A package's drawn mutants. A mutant's number is its index in `mutants`.
pub(crate) struct CommonProgram {
    package: &'static Package,
    pub(crate) mutants: Vec<Mutant>,
    /// For each mutant, how the common program contains it, or `None` if the mutant must have a program of its own.
    pub(crate) choices: Vec<Option<Choice>>,
    rewritten: BTreeMap<String, Rewritten>,
}

impl CommonProgram {
    pub(crate) fn new(package: &'static Package, mutants: Vec<Mutant>) -> anyhow::Result<Self> {
        let mut files = HashMap::new();
        let mut choices = Vec::new();
        for Mutant { file, edit, .. } in &mutants {
            if !files.contains_key(file) {
                let places = Roles::parse(&read(file)?).with_context(|| file.clone())?;
                files.insert(file, places);
            }
            let choice = files[file].choice(edit);
            choices.push(choice.filter(|_| !package.needs_own_program(file)));
        }
        Ok(Self { package, mutants, choices, rewritten: BTreeMap::new() })
    }

    /// Returns the numbers of the mutants that are (`true`) or are not (`false`) in the common program.
    pub(crate) fn numbers(&self, are: bool) -> Vec<usize> {
        let numbered = self.choices.iter().enumerate();
        numbered.filter(|(_, choice)| choice.is_some() == are).map(|(number, _)| number).collect()
    }

    /// Returns the package's files with the mutants in them.
    pub(crate) fn files(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut choices = BTreeMap::<&str, Vec<_>>::new();
        for (number, mutant) in self.mutants.iter().enumerate() {
            if let Some(choice) = &self.choices[number] {
                choices.entry(&mutant.file).or_default().push((number, choice.clone()));
            }
        }
        let mut files = BTreeMap::new();
        for (file, choices) in choices {
            let rewritten = Rewritten::new(&read(file)?, &choices);
            files.insert(file.to_owned(), rewritten.text.clone());
            self.rewritten.insert(file.to_owned(), rewritten);
        }
        let chosen = include_str!("chosen.txt").replace("NUMBER", &self.mutants.len().to_string());
        for folder in self.package.folders {
            let top = format!("{folder}/src/lib.rs");
            let text = files.remove(&top).map_or_else(|| read(&top), Ok)?;
            files.insert(top, text + "\nmod chosen;\n");
            files.insert(format!("{folder}/src/chosen.rs"), chosen.clone());
        }
        Ok(files)
    }

    /// Removes the mutants that errors are about.
    pub(crate) fn remove_failing(&mut self, errors: &[Error]) -> anyhow::Result<()> {
        let places = errors.iter().flat_map(|error| &error.places);
        let about = places.filter_map(|(file, place)| Some(self.rewritten.get(file)?.at(place)));
        let about: Vec<usize> = about.flatten().collect();
        if about.is_empty() {
            let text = errors.iter().map(|error| &*error.text).collect::<String>();
            bail!("the copy does not build, and no mutant is the reason:\n{text}");
        }
        about.into_iter().for_each(|number| self.choices[number] = None);
        Ok(())
    }
}

fn read(file: &str) -> anyhow::Result<String> {
    fs::read_to_string(root().join(file)).with_context(|| file.to_owned())
}

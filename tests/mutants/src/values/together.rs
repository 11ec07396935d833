//! Many mutants in one program: which, and the files with all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use anyhow::{Context, bail};
use conform::random::Random;
use xtask::cargo::root;

use super::built::Error;
use super::packages::Package;
use super::places::{Choice, Places};
use super::rewritten::Rewritten;
use crate::mutant::Mutant;

/// The mutants of a package in the order in which they are drawn. The number of a mutant is its place in this order.
pub(crate) struct Together {
    package: &'static Package,
    pub(crate) mutants: Vec<Mutant>,
    number: usize,
    places: HashMap<String, Places>,
    /// Mutants with which the program is none.
    pub(crate) broken: BTreeSet<usize>,
    /// Mutants that are no choice at run time.
    pub(crate) fixed: BTreeSet<usize>,
    rewritten: BTreeMap<String, Rewritten>,
}

impl Together {
    pub(crate) fn new(
        package: &'static Package,
        mut mutants: Vec<Mutant>,
        number: usize,
        random: &mut Random,
    ) -> Self {
        let mut shuffled = Vec::new();
        while !mutants.is_empty() {
            shuffled.push(mutants.swap_remove(random.below(mutants.len())));
        }
        Self {
            package,
            mutants: shuffled,
            number,
            places: HashMap::new(),
            broken: BTreeSet::new(),
            fixed: BTreeSet::new(),
            rewritten: BTreeMap::new(),
        }
    }

    /// Returns the drawn mutants that can be in one program.
    pub(crate) fn drawn(&mut self) -> anyhow::Result<Vec<(usize, Choice)>> {
        let mut drawn = Vec::new();
        for (number, mutant) in self.mutants.iter().enumerate() {
            if drawn.len() == self.number {
                break;
            }
            if !self.places.contains_key(&mutant.file) {
                let places = Places::of(&read(&mutant.file)?);
                let places = places.with_context(|| mutant.file.clone())?;
                self.places.insert(mutant.file.clone(), places);
            }
            match self.places[&mutant.file].choice(&mutant.edit) {
                _ if self.broken.contains(&number) => {}
                Some(choice) => drawn.push((number, choice)),
                None => drop(self.fixed.insert(number)),
            }
        }
        Ok(drawn)
    }

    /// Returns the files of the package with the drawn mutants in them.
    pub(crate) fn files(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut choices = BTreeMap::<String, Vec<_>>::new();
        for (number, choice) in self.drawn()? {
            choices.entry(self.mutants[number].file.clone()).or_default().push((number, choice));
        }
        self.rewritten.clear();
        for (file, choices) in choices {
            let rewritten = Rewritten::new(&read(&file)?, &choices);
            self.rewritten.insert(file, rewritten);
        }
        let texts = self.rewritten.iter();
        let mut files: BTreeMap<_, _> =
            texts.map(|(file, rewritten)| (file.clone(), rewritten.text.clone())).collect();
        let chosen = include_str!("chosen.txt").replace("NUMBER", &self.mutants.len().to_string());
        for folder in self.package.folders {
            let top = format!("{folder}/src/lib.rs");
            let text = files.remove(&top).map_or_else(|| read(&top), Ok)?;
            files.insert(top, text + "\nmod chosen;\n");
            files.insert(format!("{folder}/src/chosen.rs"), chosen.clone());
        }
        Ok(files)
    }

    /// Takes out the mutants that errors are about.
    pub(crate) fn take_out(&mut self, errors: &[Error]) -> anyhow::Result<()> {
        let places = errors.iter().flat_map(|error| &error.places);
        let about = places.filter_map(|(file, place)| Some(self.rewritten.get(file)?.at(place)));
        let about: Vec<usize> = about.flatten().collect();
        if about.is_empty() {
            let text = errors.iter().map(|error| &*error.text).collect::<String>();
            bail!("the copy does not build, and no mutant is the reason:\n{text}");
        }
        self.broken.extend(about);
        Ok(())
    }
}

fn read(file: &str) -> anyhow::Result<String> {
    fs::read_to_string(root().join(file)).with_context(|| file.to_owned())
}

//! What the code of the programs is called.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::symbols::Symbols;
use simulator::analysis::profile::functions::{CodePlace, Functions};
use simulator::recording::Recording;

/// The name of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// The function that holds it, or its page.
    pub(crate) function: String,
    /// The file and line of its source, without the directory; empty if they are not known.
    pub(crate) source: String,
}

/// The programs, whose symbols are read when they are asked for.
pub(crate) struct Names {
    /// The symbols of each program, and how many threads it has.
    programs: Vec<(Option<Symbols>, usize)>,
    known: RefCell<HashMap<(usize, u64), Rc<Name>>>,
}

impl Names {
    /// Returns the names of the code of these programs; of the bundled one, if they are not given.
    pub(crate) fn new(programs: &[Recording], bundled: bool) -> Self {
        let symbols = |program: &Recording| {
            let symbols = match bundled {
                true => Some(Symbols::bundled()),
                false => Symbols::mapped(program.mappings()),
            };
            (symbols, program.threads())
        };
        Self { programs: programs.iter().map(symbols).collect(), known: RefCell::default() }
    }

    /// Returns the program of a thread.
    pub(crate) fn program_of(&self, thread: usize) -> usize {
        let ends = self.programs.iter().scan(0, |ends, (_, threads)| {
            *ends += threads;
            Some(*ends)
        });
        ends.take_while(|ends| *ends <= thread).count()
    }

    /// Returns the name of an instruction of a program.
    pub(crate) fn of(&self, program: usize, address: Option<u64>) -> Rc<Name> {
        let Some(address) = address else {
            return Rc::new(Name {
                function: "(data without instructions)".to_owned(),
                source: String::new(),
            });
        };
        let mut known = self.known.borrow_mut();
        let name = known.entry((program, address));
        Rc::clone(name.or_insert_with(|| Rc::new(self.find(program, address))))
    }

    fn find(&self, program: usize, address: u64) -> Name {
        let symbols = self.programs.get(program);
        let symbols = symbols.and_then(|(symbols, _)| symbols.as_ref());
        let symbols = symbols.map(|symbols| symbols as &dyn Functions);
        let mut function = CodePlace::at(address, symbols).name();
        if self.programs.len() > 1 {
            function = format!("{program}: {function}");
        }
        let source = symbols.and_then(|symbols| symbols.source(address));
        let source = source.unwrap_or_default();
        let file = source.rsplit('/').next().unwrap_or_default();
        Name { function, source: file.to_owned() }
    }
}

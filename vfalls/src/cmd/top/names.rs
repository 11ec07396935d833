//! Finds the names of the programs' functions and source lines.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::symbols::{Symbols, without_directory};
use simulator::analysis::profile::functions::{CodeLocation, Functions};
use simulator::recording::Recording;

/// The function and the source line of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// The name of the function; if it is unknown, the address of the page that contains the
    /// instruction.
    pub(crate) function: String,
    /// The source file without its directory, and the line; empty if they are unknown.
    pub(crate) source: String,
}

pub(crate) struct Names {
    /// The symbols of each program, and its number of threads.
    programs: Vec<(Option<Symbols>, usize)>,
    known: RefCell<HashMap<(usize, u64), Rc<Name>>>,
}

impl Names {
    /// Returns the names of functions and source lines in `programs`, or in the bundled program.
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

    /// Returns the index of the program that a thread executes.
    pub(crate) fn program_of(&self, thread: usize) -> usize {
        let ends = self.programs.iter().scan(0, |ends, (_, threads)| {
            *ends += threads;
            Some(*ends)
        });
        ends.take_while(|ends| *ends <= thread).count()
    }

    /// Returns the name of an instruction. `program` is the index of its program. Each name is
    /// looked up only once.
    pub(crate) fn name(&self, program: usize, address: Option<u64>) -> Rc<Name> {
        let Some(address) = address else {
            let function = "(data without instructions)".to_owned();
            return Rc::new(Name { function, source: String::new() });
        };
        let mut known = self.known.borrow_mut();
        let name = known.entry((program, address));
        Rc::clone(name.or_insert_with(|| Rc::new(self.find(program, address))))
    }

    fn find(&self, program: usize, address: u64) -> Name {
        let symbols = self.programs.get(program);
        let symbols = symbols.and_then(|(symbols, _)| symbols.as_ref());
        let symbols = symbols.map(|symbols| symbols as &dyn Functions);
        let mut function = CodeLocation::at(address, symbols).name();
        if self.programs.len() > 1 {
            function = format!("{program}: {function}");
        }
        let source = symbols.and_then(|symbols| symbols.source(address)).unwrap_or_default();
        Name { function, source: without_directory(&source).to_owned() }
    }
}

//! Computes a term's value from given values of the names and memory words in the term.

use std::collections::HashMap;

use simulator::interpreter::Word;

use super::{Node, Term, operated};

/// A number for each name and for each word of the memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) names: HashMap<&'static str, u64>,
    pub(crate) memory: HashMap<u64, u64>,
}

impl Model {
    /// Returns a term's value in this model. Names and memory words that are missing from the model are 0. `known` caches the values of
    /// terms.
    pub(crate) fn number(&self, term: Term, known: &mut HashMap<Term, u64>) -> u64 {
        if let Some(number) = known.get(&term) {
            return *number;
        }
        let mut of = |term| self.number(term, known);
        let number = match term.node() {
            Node::Number(number) => number,
            Node::Name(name) => self.names.get(name).copied().unwrap_or(0),
            Node::Memory(a) => self.memory.get(&of(a)).copied().unwrap_or(0),
            Node::Not(a) => !of(a),
            Node::Zero(a) => of(a).zero_bit(),
            Node::If(a, b, c) => {
                if of(a) == 0 {
                    of(c)
                } else {
                    of(b)
                }
            }
            Node::Ones(a) => of(a).ones(),
            Node::Reversed(a) => of(a).reversed(),
            Node::Binary(operation, a, b) => {
                let (a, b) = (of(a), of(b));
                // z3 treats these operations as unknown functions, so a division by 0 may have any value.
                if operation.divides() && b as u32 == 0 { 0 } else { operated(operation, a, b) }
            }
        };
        known.insert(term, number);
        number
    }
}

//! A term is a formula for a 64-bit word. It consists of numbers, named words, and words of the memory. The named words and the words of
//! the memory may have any value.
//!
//! Equal terms are stored once, so most proofs only compare two terms. A term is simplified when it is made. Along with each term, its
//! known bits are stored: the bits that do not depend on the values of the words.

mod bits;
mod model;
mod operators;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use simulator::interpreter::{Trap, Word};

use bits::Bits;
pub(crate) use model::Model;

/// A term, as an index into [`TERMS`]. The term with index 0 is the number 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Term(pub(crate) u32);

/// An operation on two words, as SMT-LIB defines it for 64-bit vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    And,
    Or,
    Xor,
    Add,
    Sub,
    Mul,
    Left,
    Right,
    RightWithSign,
    Quotient,
    SignedQuotient,
    /// The quotient of a 32-bit division, and whether the quotient is too large. z3 gets no definition of these functions, because the
    /// proved instructions do not divide.
    Quotient32,
    Overflow32,
}

impl Operation {
    /// Returns `true` for the results of a division. They have no value if the lower half of the divisor is 0.
    pub(crate) fn divides(self) -> bool {
        matches!(self, Self::Quotient | Self::SignedQuotient | Self::Quotient32 | Self::Overflow32)
    }
}

/// The kind of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Number(u64),
    /// A named word, which can have any value.
    Name(&'static str),
    /// The word that the memory holds at this address when the execution begins.
    Memory(Term),
    Not(Term),
    /// 1 if the term is 0, and otherwise 0.
    Zero(Term),
    /// A condition, which is 0 or 1, and two words. The value is the first word if the condition is 1, and otherwise the second.
    If(Term, Term, Term),
    /// Functions without a definition in z3, because the proved instructions do not use them.
    Ones(Term),
    Reversed(Term),
    Binary(Operation, Term, Term),
}

struct Terms {
    nodes: Vec<(Node, Bits)>,
    numbers: HashMap<Node, Term>,
}

thread_local! {
    static TERMS: RefCell<Terms> = RefCell::new(Terms::new());
}

impl Terms {
    fn new() -> Self {
        let mut new = Self { nodes: Vec::new(), numbers: HashMap::new() };
        new.number(Node::Number(0), Bits { zeros: !0, ones: 0 });
        new
    }

    fn number(&mut self, node: Node, bits: Bits) -> Term {
        let Self { nodes, numbers } = self;
        *numbers.entry(node).or_insert_with(|| {
            nodes.push((node, bits));
            Term(nodes.len() as u32 - 1)
        })
    }
}

pub(crate) fn operated(operation: Operation, a: u64, b: u64) -> u64 {
    match operation {
        Operation::And => a & b,
        Operation::Or => a | b,
        Operation::Xor => a ^ b,
        Operation::Add => a.plus(b),
        Operation::Sub => a.minus(b),
        Operation::Mul => a.times(b),
        Operation::Left => a << b,
        Operation::Right => a >> b,
        Operation::RightWithSign => a.shifted_with_sign(b),
        Operation::Quotient => a.quotient(b),
        Operation::SignedQuotient => a.signed_quotient(b),
        Operation::Quotient32 => a.quotient_of_32_bits(b)[0],
        Operation::Overflow32 => a.quotient_of_32_bits(b)[1],
    }
}

impl Term {
    pub(crate) fn node(self) -> Node {
        TERMS.with_borrow(|terms| terms.nodes[self.0 as usize].0)
    }

    fn bits(self) -> Bits {
        TERMS.with_borrow(|terms| terms.nodes[self.0 as usize].1)
    }

    fn new(node: Node, bits: Bits) -> Self {
        if bits.zeros | bits.ones == u64::MAX {
            return Self::from(bits.ones);
        }
        TERMS.with_borrow_mut(|terms| terms.number(node, bits))
    }

    /// Returns the word with this name. Bits that are set in `zeros` are 0 in the word.
    pub(crate) fn named(name: &'static str, zeros: u64) -> Self {
        Self::new(Node::Name(name), Bits { zeros, ones: 0 })
    }

    /// Returns the bits of the word that are always 0.
    pub(crate) fn zeros(self) -> u64 {
        self.bits().zeros
    }

    /// Returns the word that the memory holds at an address when the execution begins.
    pub(crate) fn memory(address: Self) -> Self {
        Self::new(Node::Memory(address), Bits::default())
    }

    pub(crate) fn number(self) -> Option<u64> {
        match self.node() {
            Node::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns `a` if the condition is 1, and `b` if the condition is 0.
    pub(crate) fn if_then_else(condition: Self, a: Self, b: Self) -> Self {
        match condition.number() {
            _ if a == b => a,
            Some(0) => b,
            Some(_) => a,
            None => Self::new(Node::If(condition, a, b), a.bits().common(b.bits())),
        }
    }

    /// Returns a term and a number whose sum is this term.
    fn sum(self) -> (Self, u64) {
        if let Node::Binary(Operation::Add, base, number) = self.node()
            && let Some(number) = number.number()
        {
            return (base, number);
        }
        (self, 0)
    }

    fn binary(operation: Operation, a: Self, b: Self) -> Self {
        let zero = Self::default();
        let (numbers, bits) = ((a.number(), b.number()), (a.bits(), b.bits()));
        let divides = operation.divides();
        if let (Some(a), Some(b)) = numbers
            && !(divides && b as u32 == 0)
        {
            return Self::from(operated(operation, a, b));
        }
        let commutes = matches!(
            operation,
            Operation::And | Operation::Or | Operation::Xor | Operation::Add | Operation::Mul
        );
        // Puts a constant to the right, and sorts two other terms by their indices.
        if commutes && (numbers.0.is_some() || numbers.1.is_none() && b < a) {
            return Self::binary(operation, b, a);
        }
        match (operation, numbers.1) {
            (Operation::And | Operation::Or, None) if a == b => return a,
            (Operation::Xor | Operation::Sub, None) if a == b => return zero,
            (_, Some(0)) if !matches!(operation, Operation::And | Operation::Mul) && !divides => {
                return a;
            }
            (Operation::And, Some(mask)) => {
                if !mask & !bits.0.zeros == 0 {
                    return a;
                }
                // Removes from the mask the bits that are always 0 in the other operand.
                if mask & bits.0.zeros != 0 {
                    return a & Self::from(mask & !bits.0.zeros);
                }
                if let Some(simpler) = Self::masked(a, mask) {
                    return simpler;
                }
            }
            (Operation::Left | Operation::Right, Some(count)) => {
                if let Some(simpler) = Self::shifted(operation, a, count) {
                    return simpler;
                }
            }
            (Operation::Sub, Some(number)) => return a.plus(Self::from(number.wrapping_neg())),
            (Operation::Add, _) => {
                let ((a, first), (b, second)) = (a.sum(), b.sum());
                let number = first.wrapping_add(second);
                match b.number() {
                    Some(more) if first != 0 => {
                        return a.plus(Self::from(number.wrapping_add(more)));
                    }
                    None if number != 0 => return a.plus(b).plus(Self::from(number)),
                    _ => {}
                }
            }
            (Operation::Sub, None) => {
                let ((first, more), (second, less)) = (a.sum(), b.sum());
                if more | less != 0 {
                    return first.minus(second).plus(Self::from(more.wrapping_sub(less)));
                }
            }
            _ => {}
        }
        let known = match (operation, numbers.0) {
            (Operation::Right, Some(number)) => Bits::of_shifted(number, !bits.1.zeros),
            _ => Bits::binary(operation, bits.0, bits.1, numbers.1.filter(|count| *count < 64)),
        };
        Self::new(Node::Binary(operation, a, b), known)
    }

    fn masked(a: Self, mask: u64) -> Option<Self> {
        let Node::Binary(inner, x, y) = a.node() else {
            return None;
        };
        match (inner, y.number()) {
            (Operation::And, Some(other)) => Some(x & Self::from(mask & other)),
            (Operation::Or | Operation::Xor, _) => {
                let (x, y) = (x & Self::from(mask), y & Self::from(mask));
                Some(Self::binary(inner, x, y))
            }
            _ => None,
        }
    }

    fn shifted(operation: Operation, a: Self, count: u64) -> Option<Self> {
        let Node::Binary(inner, x, y) = a.node() else {
            return None;
        };
        let left = operation == Operation::Left;
        match (inner, y.number()) {
            (Operation::Or | Operation::Xor, _) => {
                let by = Self::from(count);
                let shift = |word| Self::binary(operation, word, by);
                Some(Self::binary(inner, shift(x), shift(y)))
            }
            (Operation::And, Some(mask)) => {
                let by = Self::from(count);
                let mask = if left { mask << count } else { mask >> count };
                Some(Self::binary(operation, x, by) & Self::from(mask))
            }
            (Operation::Left | Operation::Right, Some(other)) if inner == operation => {
                Some(match count + other {
                    64.. => Self::default(),
                    all => Self::binary(operation, x, Self::from(all)),
                })
            }
            // A word that is shifted to the left and back again loses its high bits.
            (Operation::Left, Some(other)) if !left => {
                let kept = x & Self::from(u64::MAX >> other);
                Some(match other.checked_sub(count) {
                    Some(more) => kept << Self::from(more),
                    None => kept >> Self::from(count - other),
                })
            }
            _ => None,
        }
    }
}

impl From<u64> for Term {
    fn from(number: u64) -> Self {
        TERMS.with_borrow_mut(|terms| terms.number(Node::Number(number), Bits::of(number)))
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            Node::Number(number) => write!(f, "{number:#x}"),
            Node::Name(name) => f.write_str(name),
            Node::Memory(a) => write!(f, "[{a:?}]"),
            Node::Not(a) => write!(f, "~{a:?}"),
            Node::Zero(a) => write!(f, "({a:?} = 0)"),
            Node::If(a, b, c) => write!(f, "({a:?} ? {b:?} : {c:?})"),
            Node::Ones(a) => write!(f, "ones({a:?})"),
            Node::Reversed(a) => write!(f, "reversed({a:?})"),
            Node::Binary(operation, a, b) => write!(f, "({operation:?} {a:?} {b:?})"),
        }
    }
}

/// The trap of an instruction that needs a number but gets some other term.
pub(crate) const UNKNOWN: Trap = Trap::software(0);

//! Asks z3 whether several conditions can all be true together, and keeps the answers.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use xtask::tools::Z3;

use super::term::{Model, Node, Operation, Term};

/// A term that is 0 or 1, and the required value: `true` stands for 1.
pub(crate) type Condition = (Term, bool);

/// The assumptions behind all questions to z3, and z3's answers.
#[derive(Debug, Default)]
pub(crate) struct Solver {
    /// Terms that are always 1.
    assumptions: Vec<Term>,
    /// Words of the memory. Each row is a condition, an address and a word. The memory holds the word at the address if the condition is
    /// true.
    memory: Vec<(Term, Term, Term)>,
    answers: HashMap<Vec<Condition>, bool>,
    /// The models that z3 has found. Each one makes some question's conditions true.
    pub(crate) models: Vec<Model>,
    /// The number of questions that z3 has answered.
    pub(crate) asked: usize,
}

/// Returns z3's answer to a question. Starts a new process for each question, because a new process answers quickly.
fn answered(text: &str) -> String {
    let mut z3 = Command::new(Z3.find().unwrap());
    z3.args(["-in", "-T:900"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut z3 = z3.spawn().unwrap();
    z3.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(z3.wait_with_output().unwrap().stdout).unwrap()
}

/// The tactic that is fastest for these questions.
const CHECK: &str = "(check-sat-using smt)\n";

impl Solver {
    /// Sets the assumptions for all further questions. Each row of `memory` is a condition, an address and a word.
    pub(crate) fn assume(&mut self, assumptions: Vec<Term>, memory: Vec<(Term, Term, Term)>) {
        (self.assumptions, self.memory) = (assumptions, memory);
    }

    /// Returns `true` if all conditions can be true together.
    pub(crate) fn can_be(&mut self, conditions: &[Condition]) -> bool {
        let mut key = conditions.to_vec();
        key.sort_unstable();
        key.dedup();
        if let Some(answer) = self.answers.get(&key) {
            return *answer;
        }
        let answer =
            self.models.iter().rev().any(|model| self.is_true(model, &key)) || self.ask(&key);
        self.answers.insert(key, answer);
        answer
    }

    /// Returns a model in which all conditions are true. Such a model must exist. It contains all names and words on which the conditions
    /// depend.
    pub(crate) fn model(&mut self, conditions: &[Condition]) -> Model {
        assert!(self.ask(conditions), "{conditions:?}");
        self.models.last().unwrap().clone()
    }

    /// Returns `true` if a model satisfies all conditions and all assumptions.
    fn is_true(&self, model: &Model, conditions: &[Condition]) -> bool {
        let mut known = HashMap::new();
        let mut number = |term| model.number(term, &mut known);
        conditions.iter().all(|(condition, value)| number(*condition) == u64::from(*value))
            && self.assumptions.iter().all(|assumption| number(*assumption) == 1)
            && self.memory.iter().all(|(condition, address, word)| {
                let address = number(*address);
                number(*condition) == 0 || model.memory.get(&address) == Some(&number(*word))
            })
    }

    /// Asks z3 whether all conditions can be true together, and keeps the model if they can.
    fn ask(&mut self, conditions: &[Condition]) -> bool {
        let (mut text, terms) = self.question(conditions);
        text += CHECK;
        let found: Vec<Term> = terms
            .into_iter()
            .flat_map(|term| match term.node() {
                Node::Name(_) => vec![term],
                Node::Memory(address) => vec![address, term],
                _ => Vec::new(),
            })
            .collect();
        for word in &found {
            writeln!(text, "(get-value (t{}))", word.0).unwrap();
        }
        self.asked += 1;
        let answer = answered(&text);
        let (answer, values) = answer.split_once('\n').unwrap();
        if answer == "unsat" {
            return false;
        }
        assert_eq!(answer, "sat", "z3 must decide within 900 s: {text}");
        // z3 prints each value as ((name #x...)).
        let numbers = values.lines().map(|value| {
            let (_, digits) = value.split_once("#x").unwrap();
            u64::from_str_radix(digits.trim_end_matches(')'), 16).unwrap()
        });
        let mut model = Model::default();
        let numbers: HashMap<Term, u64> = found.iter().copied().zip(numbers).collect();
        for (term, number) in &numbers {
            match term.node() {
                Node::Name(name) => _ = model.names.insert(name, *number),
                Node::Memory(address) => _ = model.memory.insert(numbers[&address], *number),
                _ => {}
            }
        }
        self.complete(&mut model);
        self.models.push(model);
        true
    }

    /// Adds the memory's described words to a model.
    fn complete(&self, model: &mut Model) {
        for (condition, address, word) in &self.memory {
            let mut known = HashMap::new();
            let mut number = |term| model.number(term, &mut known);
            let (condition, address, word) = (number(*condition), number(*address), number(*word));
            if condition == 1 {
                model.memory.entry(address).or_insert(word);
            }
        }
    }

    /// Returns the text of a question, and all terms in it. The text has the terms' definitions, the conditions, and those assumptions
    /// whose names all occur in the conditions or in the described memory.
    fn question(&self, conditions: &[Condition]) -> (String, BTreeSet<Term>) {
        let mut terms = BTreeSet::new();
        for (condition, _) in conditions {
            reach(*condition, &mut terms);
        }
        let uses_memory = |terms: &BTreeSet<Term>| {
            terms.iter().any(|term| matches!(term.node(), Node::Memory(_)))
        };
        // Any described word may be at the address, so a question that reads memory includes all described words.
        let described = if uses_memory(&terms) { &*self.memory } else { &[] };
        for (condition, address, word) in described {
            for term in [condition, address, word] {
                reach(*term, &mut terms);
            }
        }
        let mut asserted = Vec::new();
        for assumption in &self.assumptions {
            let mut used = BTreeSet::new();
            reach(*assumption, &mut used);
            let named = |term: &&Term| matches!(term.node(), Node::Name(_));
            if used.iter().filter(named).all(|term| terms.contains(term)) {
                terms.extend(used);
                asserted.push(*assumption);
            }
        }
        let mut text = String::from("(set-logic QF_UFBV)\n");
        for function in ["mem", "ones", "reversed"] {
            text += &format!("(declare-fun {function} ((_ BitVec 64)) (_ BitVec 64))\n");
        }
        for function in ["quotient", "signed", "quotient32", "overflow32"] {
            let word = "(_ BitVec 64)";
            text += &format!("(declare-fun {function} ({word} {word}) {word})\n");
        }
        for term in &terms {
            define(*term, &mut text);
        }
        for (condition, address, word) in described {
            let (condition, address, word) = (condition.0, address.0, word.0);
            writeln!(
                text,
                "(assert (=> (= t{condition} #x0000000000000001) (= (mem t{address}) t{word})))"
            )
            .unwrap();
        }
        for term in asserted {
            writeln!(text, "(assert (= t{} #x0000000000000001))", term.0).unwrap();
        }
        for (term, value) in conditions {
            writeln!(text, "(assert (= t{} #x{:016x}))", term.0, u64::from(*value)).unwrap();
        }
        (text, terms)
    }
}

/// Adds the term and all its parts to `all`.
pub(crate) fn reach(term: Term, all: &mut BTreeSet<Term>) {
    if !all.insert(term) {
        return;
    }
    match term.node() {
        Node::Number(_) | Node::Name(_) => {}
        Node::Memory(a) | Node::Not(a) | Node::Zero(a) | Node::Ones(a) | Node::Reversed(a) => {
            reach(a, all);
        }
        Node::If(a, b, c) => [a, b, c].map(|term| reach(term, all)).into_iter().collect(),
        Node::Binary(_, a, b) => [a, b].map(|term| reach(term, all)).into_iter().collect(),
    }
}

/// Writes the definition of a term. The parts of the term must be defined already.
fn define(term: Term, text: &mut String) {
    let number = term.0;
    let one = "#x0000000000000001";
    let defined = match term.node() {
        Node::Number(number) => format!("#x{number:016x}"),
        Node::Name(name) => {
            writeln!(text, "(declare-const {name} (_ BitVec 64))").unwrap();
            let zeros = term.zeros();
            if zeros != 0 {
                writeln!(text, "(assert (= (bvand {name} #x{zeros:016x}) #x0000000000000000))")
                    .unwrap();
            }
            name.to_owned()
        }
        Node::Memory(a) => format!("(mem t{})", a.0),
        Node::Not(a) => format!("(bvnot t{})", a.0),
        Node::Zero(a) => format!("(ite (= t{} #x{:016x}) {one} #x{:016x})", a.0, 0, 0),
        Node::If(a, b, c) => format!("(ite (= t{} {one}) t{} t{})", a.0, b.0, c.0),
        Node::Ones(a) => format!("(ones t{})", a.0),
        Node::Reversed(a) => format!("(reversed t{})", a.0),
        Node::Binary(operation, a, b) => {
            let function = match operation {
                Operation::And => "bvand",
                Operation::Or => "bvor",
                Operation::Xor => "bvxor",
                Operation::Add => "bvadd",
                Operation::Sub => "bvsub",
                Operation::Mul => "bvmul",
                Operation::Left => "bvshl",
                Operation::Right => "bvlshr",
                Operation::RightWithSign => "bvashr",
                Operation::Quotient => "quotient",
                Operation::SignedQuotient => "signed",
                Operation::Quotient32 => "quotient32",
                Operation::Overflow32 => "overflow32",
            };
            format!("({function} t{} t{})", a.0, b.0)
        }
    };
    writeln!(text, "(define-fun t{number} () (_ BitVec 64) {defined})").unwrap();
}

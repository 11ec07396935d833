//! Asks z3 whether words can have values, and keeps its answers.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use xtask::tools::Z3;

use super::term::{Node, Operation, Term};

/// A condition, which is 0 or 1, and which of them it is.
pub(crate) type Condition = (Term, bool);

/// What z3 is asked, and what it has answered.
#[derive(Debug, Default)]
pub(crate) struct Solver {
    /// Conditions that hold.
    assumptions: Vec<Term>,
    /// The words that the memory holds where it is described. A word holds only under its condition.
    memory: Vec<(Term, Term, Term)>,
    answers: HashMap<Vec<Condition>, bool>,
    /// The number of questions that z3 has answered.
    pub(crate) asked: usize,
}

/// Answers a question to which z3 finds an answer soon if it begins anew.
fn ask(text: &str) -> String {
    let mut z3 = Command::new(Z3.find().unwrap());
    z3.args(["-in", "-T:100"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut z3 = z3.spawn().unwrap();
    z3.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(z3.wait_with_output().unwrap().stdout).unwrap()
}

/// The tactic that is fastest for these questions.
const CHECK: &str = "(check-sat-using smt)\n";

impl Solver {
    /// From now on, `assumptions` hold, and `memory` lists conditions, addresses and words.
    pub(crate) fn assume(&mut self, assumptions: Vec<Term>, memory: Vec<(Term, Term, Term)>) {
        (self.assumptions, self.memory) = (assumptions, memory);
    }

    /// Returns whether all conditions can be true at once.
    pub(crate) fn can_be(&mut self, conditions: &[Condition]) -> bool {
        let mut key = conditions.to_vec();
        key.sort_unstable();
        key.dedup();
        if let Some(answer) = self.answers.get(&key) {
            return *answer;
        }
        let text = self.question(&key, BTreeSet::new()) + CHECK;
        self.asked += 1;
        std::fs::write("/tmp/z3vrun/last.smt2", &text).unwrap();
        std::fs::write("/tmp/z3vrun/last.txt", format!("{key:#?}")).unwrap();
        let answer = match ask(&text).trim_end() {
            "sat" => true,
            "unsat" => false,
            other => panic!("z3 answers {other} to:\n{text}"),
        };
        self.answers.insert(key, answer);
        answer
    }

    /// Returns the value of each of these words in a case in which all conditions are true, which must be possible.
    pub(crate) fn values(&self, conditions: &[Condition], words: &[Term]) -> Vec<u64> {
        let mut all = BTreeSet::new();
        for word in words {
            reach(*word, &mut all);
        }
        let mut text = self.question(conditions, all) + CHECK;
        for word in words {
            writeln!(text, "(get-value (t{}))", word.0).unwrap();
        }
        let answer = ask(&text);
        let (sat, values) = answer.split_once('\n').unwrap();
        assert_eq!(sat, "sat");
        // Each value is ((name #x...)).
        let number = |value: &str| {
            let (_, digits) = value.split_once("#x").unwrap();
            u64::from_str_radix(digits.trim_end_matches(')'), 16).unwrap()
        };
        values.lines().map(number).collect()
    }

    /// Returns the definitions of terms, the conditions, and the assumptions about words that they name.
    fn question(&self, conditions: &[Condition], mut terms: BTreeSet<Term>) -> String {
        for (condition, _) in conditions {
            reach(*condition, &mut terms);
        }
        let uses_memory = |terms: &BTreeSet<Term>| {
            terms.iter().any(|term| matches!(term.node(), Node::Memory(_)))
        };
        // The described words of the memory are those that an address may name.
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
            writeln!(text, "(assert (=> (= t{condition} #x0000000000000001) (= (mem t{address}) t{word})))")
                .unwrap();
        }
        for term in asserted {
            writeln!(text, "(assert (= t{} #x0000000000000001))", term.0).unwrap();
        }
        for (term, value) in conditions {
            writeln!(text, "(assert (= t{} #x{:016x}))", term.0, u64::from(*value)).unwrap();
        }
        text
    }
}

/// Adds the term, and all terms in it.
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

/// Writes the definition of a term, whose parts are defined already.
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

//! The rules for assembly: an instruction is left out, two change places, a condition is negated, a number is one more, a source is another
//! register. They work on the text of string literals, also in the bodies of macros. Each line is an instruction behind an optional label.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

use crate::mutant::{Edit, Rule};

/// The instructions by their first letters, with arguments that begin with these, and those without arguments.
const WITH: &str = "add and andcc andn be bg bge bgeu bgu bl ble bleu blu bne brgez brgz brlez brlz brnz brz ba call cas casa casx clr cmp dec inc \
     jmp jmpl ld lda ldsw ldub lduh lduw ldx ldxa membar mov movre movrnz movrz or orcc rd rdhpr rdpr set sll sllx sra srax srl srlx st sta \
     stb sth stw stx stxa sub subcc ta udivx wr wrhpr wrpr xnor xor";
const ALONE: &str = "done retry retl saved restored flushw";

const OPPOSITES: [(&str, &str); 8] = [
    ("be", "bne"),
    ("bgeu", "blu"),
    ("bgu", "bleu"),
    ("bge", "bl"),
    ("bg", "ble"),
    ("brz", "brnz"),
    ("brgez", "brlz"),
    ("movrz", "movrnz"),
];

/// Returns all edits of a file that the rules make.
pub(crate) fn edits(text: &str) -> syn::Result<Vec<Edit>> {
    let mut instructions = Vec::new();
    find(text, text.parse()?, &mut instructions);
    let mut edits = Vec::new();
    for (number, instruction) in instructions.iter().enumerate() {
        edits.extend(instruction.edits(text));
        let Some(next) = instructions.get(number + 1) else { break };
        let between = &text[instruction.0.end..next.0.start];
        if is_nothing(between) && instruction.must_precede(next, text) {
            let range = instruction.0.start..next.0.end;
            let with = [next.of(text), between, instruction.of(text)].concat();
            edits.push(Edit { rule: Rule::AsmSwap, range, with });
        }
    }
    Ok(edits)
}

/// Adds the instructions in string literals. Attributes and documentation have none.
fn find(text: &str, tokens: TokenStream, found: &mut Vec<Instruction>) {
    let mut is_attribute = false;
    for token in tokens {
        match &token {
            TokenTree::Group(group) if !is_attribute => find(text, group.stream(), found),
            TokenTree::Literal(literal) => {
                let range = literal.span().byte_range();
                if text[range.clone()].starts_with('"') {
                    in_literal(text, range, found);
                }
            }
            _ => {}
        }
        is_attribute = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#')
            || is_attribute && matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '!');
    }
}

fn in_literal(text: &str, literal: Range<usize>, found: &mut Vec<Instruction>) {
    let mut start = literal.start;
    for line in text[literal].split_inclusive('\n') {
        let code = line.split('!').next().unwrap_or(line).trim_end_matches(['"', '\n', ' ']);
        let label = code.find(':').map_or(0, |colon| colon + 1);
        let spaces = code[label..].len() - code[label..].trim_start_matches(['"', ' ']).len();
        let instruction =
            Instruction(start + label + spaces..start + code.len().max(label + spaces));
        if instruction.is_known(text) {
            found.push(instruction);
        }
        start += line.len();
    }
}

/// Returns whether there is nothing but comments between two instructions: no label, no directive.
fn is_nothing(between: &str) -> bool {
    let code = between.lines().map(|line| line.split('!').next().unwrap_or(line));
    code.into_iter().all(|line| line.chars().all(|c| " \",".contains(c)))
}

/// The place of an instruction.
struct Instruction(Range<usize>);

impl Instruction {
    fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.0.clone()]
    }

    /// Returns the mnemonic without its suffixes.
    fn name<'a>(&self, text: &'a str) -> &'a str {
        self.of(text).split([' ', ',']).next().unwrap_or_default()
    }

    fn is_known(&self, text: &str) -> bool {
        let (of, name) = (self.of(text), self.name(text));
        let is_with =
            || of.len() > name.len() && WITH.split_whitespace().any(|known| known == name);
        let is_sparc = of.contains(['%', '{']) || matches!(name, "call" | "membar" | "ba");
        ALONE.split(' ').any(|known| known == of) || is_with() && is_sparc
    }

    /// Returns the places of registers, with the place of the `%`.
    fn registers(&self, text: &str) -> Vec<Range<usize>> {
        let of = self.of(text);
        let starts = of.match_indices('%').map(|(at, _)| at);
        let end = |at: usize| {
            let rest = of[at + 1..].find(|c: char| !c.is_ascii_alphanumeric());
            rest.map_or(of.len(), |rest| at + 1 + rest)
        };
        starts
            .map(|at| self.0.start + at..self.0.start + end(at))
            .filter(|range| range.len() > 1)
            .collect()
    }

    fn is_store(&self, text: &str) -> bool {
        self.name(text).starts_with("st")
    }

    fn branches(&self, text: &str) -> bool {
        let name = self.name(text);
        name.starts_with('b')
            || name.starts_with('j')
            || matches!(name, "call" | "done" | "retry" | "retl")
    }

    /// Returns the place of the register that the instruction writes. It is the last one.
    fn written(&self, text: &str) -> Option<Range<usize>> {
        let writes = !self.is_store(text)
            && !self.branches(text)
            && !matches!(self.name(text), "cmp" | "membar");
        self.registers(text).pop().filter(|last| writes && self.0.end == last.end)
    }

    /// Returns whether the order matters: one writes a register of the other, a branch is one of them, or memory or the strand's state.
    fn must_precede(&self, next: &Self, text: &str) -> bool {
        let has = |one: &Self, other: &Self| {
            let written = one.written(text).map(|range| &text[range]);
            written.is_some_and(|name| {
                other.registers(text).into_iter().any(|range| &text[range] == name)
            })
        };
        let is_state = |one: &Self| {
            let name = one.name(text);
            one.is_store(text)
                || name.starts_with("wr")
                || name.starts_with("cas")
                || name == "membar"
        };
        let memory = |one: &Self| {
            is_state(one) || one.name(text).starts_with("ld") || one.name(text).starts_with("rd")
        };
        let base = |one: &Self| one.of(text).split_once('[').map(|(_, at)| at.get(..3));
        let to_one = self.is_store(text) && next.is_store(text) && base(self) == base(next);
        let acts = (is_state(self) && memory(next) || memory(self) && is_state(next)) && !to_one;
        let branch = self.branches(text) || next.branches(text);
        self.of(text) != next.of(text) && (has(self, next) || has(next, self) || acts || branch)
    }

    fn edits(&self, text: &str) -> Vec<Edit> {
        let (of, name, start) = (self.of(text), self.name(text), self.0.start);
        let mut edits = Vec::new();
        let mut add =
            |rule, range, with: &str| edits.push(Edit { rule, range, with: with.to_owned() });
        add(Rule::AsmNop, self.0.clone(), "nop");
        for (one, other) in OPPOSITES {
            for (from, to) in [(one, other), (other, one)] {
                if name == from {
                    add(Rule::AsmNegate, start..start + name.len(), to);
                }
            }
        }
        if let Some(number) = number(of) {
            let old = &of[number.clone()];
            let by = if of.contains('[') && name.ends_with('x') { 8 } else { 1 };
            let digits = old
                .strip_prefix("0x")
                .map_or_else(|| old.parse(), |hex| u64::from_str_radix(hex, 16));
            let new =
                digits.map_or_else(|_| format!("{old} + {by}"), |value| (value + by).to_string());
            add(Rule::AsmNumber, start + number.start..start + number.end, &new);
        }
        let written = self.written(text);
        let source = self
            .registers(text)
            .into_iter()
            .find(|range| Some(range) != written.as_ref() && other(&text[range.clone()]).is_some());
        if let Some((range, with)) =
            source.and_then(|range| Some((range.clone(), other(&text[range])?)))
        {
            add(Rule::AsmRegister, range, &with);
        }
        edits
    }
}

/// Returns the place of the first number of an instruction: digits, or a named operand in braces.
fn number(of: &str) -> Option<Range<usize>> {
    let bytes = of.as_bytes();
    let starts = (1..of.len()).filter(|at| matches!(bytes[at - 1], b' ' | b'[' | b'('));
    let ends = |at: usize, c: &dyn Fn(char) -> bool| {
        of[at..].find(|found| !c(found)).map_or(of.len(), |end| at + end)
    };
    for at in starts {
        if bytes[at].is_ascii_digit() {
            let end = ends(at, &|c| c.is_ascii_alphanumeric());
            // `1f` and `1b` are labels.
            if !of[at..end].ends_with(['f', 'b']) || of[at..end].starts_with("0x") {
                return Some(at..end);
            }
        } else if bytes[at] == b'{' {
            let end = of[at..].find('}')? + at + 1;
            if of[at + 1..end - 1]
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            {
                return Some(at..end);
            }
        }
    }
    None
}

/// Returns another general register of the same kind.
fn other(register: &str) -> Option<String> {
    let (kind, number) = register.strip_prefix('%')?.split_at_checked(1)?;
    let number: u8 = number.parse().ok().filter(|number| *number < 8)?;
    let next = match kind {
        "g" => number % 5 + 1,
        "o" => (number + 1) % 6,
        "l" | "i" => (number + 1) % 8,
        _ => return None,
    };
    Some(format!("%{kind}{next}"))
}

#[cfg(test)]
#[path = "tests/assembly.rs"]
mod tests;

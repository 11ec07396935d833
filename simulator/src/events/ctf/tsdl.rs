//! Parses the part of the Trace Stream Description Language that traces of unsigned integers need.

use std::collections::HashMap;

use super::tokens::{Token, tokens};
use super::types::Type;

const MAX_DEPTH: usize = 8;

/// A metadata block, such as `event { name = "a"; fields := struct { ... }; };`.
#[derive(Debug)]
pub(super) struct Block {
    /// `trace`, `env`, `clock`, `stream` or `event`.
    pub(super) kind: String,
    values: Vec<(String, String)>,
    types: Vec<(String, Type)>,
}

impl Block {
    /// Returns a key's value. A string has no quotes.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let found = self.values.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a key's value, as [`get`](Self::get) does, or an error if the block lacks the key.
    pub(super) fn text(&self, key: &str) -> Result<&str, String> {
        let kind = &self.kind;
        self.get(key).ok_or_else(|| format!("the {kind} has no {key}"))
    }

    /// Returns a key's value, which must be a number. Returns an error if the block lacks the key.
    pub(super) fn number(&self, key: &str) -> Result<u64, String> {
        let text = self.text(key)?;
        number(text).ok_or_else(|| format!("found '{text}' for {key}, expected a number"))
    }

    /// Returns a key's value, which must be a type. Returns an error if the block lacks the key.
    pub(super) fn layout(&self, key: &str) -> Result<&Type, String> {
        let kind = &self.kind;
        let found = self.types.iter().find(|(name, _)| name == key);
        found.map(|(_, layout)| layout).ok_or_else(|| format!("the {kind} has no {key}"))
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Block>, String> {
    let tokens = tokens(text)?;
    let lines = text.lines().count();
    let mut parser = Parser { tokens: &tokens, lines, aliases: HashMap::new() };
    let mut blocks = Vec::new();
    while !parser.tokens.is_empty() {
        blocks.extend(parser.block()?);
    }
    Ok(blocks)
}

struct Parser<'t, 'a> {
    tokens: &'t [(usize, Token<'a>)],
    /// The number of lines in the metadata. An error at the end of the text names the last line.
    lines: usize,
    aliases: HashMap<&'a str, Type>,
}

impl<'a> Parser<'_, 'a> {
    fn expected<T>(&self, what: &str) -> Result<T, String> {
        let found = match self.tokens.first() {
            Some((_, Token::Word(word) | Token::Mark(word))) => format!("'{word}'"),
            Some((_, Token::Text(text))) => format!("{text:?}"),
            None => "the end".to_owned(),
        };
        self.wrong(&format!("found {found}, expected {what}"))
    }

    fn wrong<T>(&self, problem: &str) -> Result<T, String> {
        Err(format!("line {}: {problem}", self.line()))
    }

    /// Returns the line number of the next token, for error messages.
    fn line(&self) -> usize {
        self.tokens.first().map_or(self.lines, |(line, _)| *line)
    }

    /// If the next token is `mark`, consumes it and returns `true`.
    fn takes(&mut self, mark: &str) -> bool {
        match self.tokens {
            [(_, Token::Mark(next) | Token::Word(next)), rest @ ..] if *next == mark => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }

    fn mark(&mut self, mark: &str) -> Result<(), String> {
        match self.takes(mark) {
            true => Ok(()),
            false => self.expected(&format!("'{mark}'")),
        }
    }

    fn word(&mut self) -> Result<&'a str, String> {
        match self.tokens {
            [(_, Token::Word(word)), rest @ ..] => {
                self.tokens = rest;
                Ok(word)
            }
            _ => self.expected("a name"),
        }
    }

    fn number(&mut self) -> Result<u64, String> {
        match self.tokens {
            [(_, Token::Word(word)), rest @ ..] if number(word).is_some() => {
                self.tokens = rest;
                Ok(number(word).unwrap_or(0))
            }
            _ => self.expected("a number"),
        }
    }

    /// Consumes words separated by dots.
    fn path(&mut self) -> Result<String, String> {
        let mut path = self.word()?.to_owned();
        while self.takes(".") {
            path.push('.');
            path.push_str(self.word()?);
        }
        Ok(path)
    }

    /// Consumes a quoted string, or words separated by dots.
    fn value(&mut self) -> Result<String, String> {
        match self.tokens {
            [(_, Token::Text(text)), rest @ ..] => {
                self.tokens = rest;
                Ok(text.clone())
            }
            _ => self.path(),
        }
    }

    /// Consumes a block or a type alias. Returns `None` for an alias.
    fn block(&mut self) -> Result<Option<Block>, String> {
        if self.takes("typealias") {
            let of = self.layout(0)?;
            // Only integers can have aliases, because nested aliases of structures could make a type too large for memory.
            if !matches!(of, Type::Integer { .. }) {
                return self.expected("the alias of an integer");
            }
            self.mark(":=")?;
            let name = self.word()?;
            self.aliases.insert(name, of);
            self.mark(";")?;
            return Ok(None);
        }
        let mut block =
            Block { kind: self.word()?.to_owned(), values: Vec::new(), types: Vec::new() };
        self.mark("{")?;
        while !self.takes("}") {
            let key = self.path()?;
            if self.takes(":=") {
                block.types.push((key, self.layout(0)?));
            } else {
                self.mark("=")?;
                block.values.push((key, self.value()?));
            }
            self.mark(";")?;
        }
        self.mark(";")?;
        Ok(Some(block))
    }

    fn layout(&mut self, depth: usize) -> Result<Type, String> {
        if depth == MAX_DEPTH {
            return self.expected("fewer nested types");
        }
        if self.takes("integer") {
            self.integer()
        } else if self.takes("enum") {
            self.mark(":")?;
            let of = self.layout(depth + 1)?;
            self.names(of)
        } else if self.takes("struct") {
            let fields = self.fields(depth)?;
            let mut align = fields.iter().map(|(_, of)| of.align()).max().unwrap_or(1);
            if self.takes("align") {
                self.mark("(")?;
                align = align.max(self.alignment()?);
                self.mark(")")?;
            }
            Ok(Type::Struct { fields, align })
        } else if self.takes("variant") {
            self.mark("<")?;
            let tag = self.word()?.to_owned();
            self.mark(">")?;
            let options = self.fields(depth)?;
            Ok(Type::Variant { tag, options })
        } else {
            let known = match self.tokens.first() {
                Some((_, Token::Word(name))) => self.aliases.get(name).cloned(),
                _ => None,
            };
            let Some(known) = known else { return self.expected("a type") };
            self.word()?;
            Ok(known)
        }
    }

    fn alignment(&mut self) -> Result<u32, String> {
        if let [(_, Token::Word(word)), rest @ ..] = self.tokens
            && let Ok(align @ (1 | 8 | 16 | 32 | 64)) = word.parse()
        {
            self.tokens = rest;
            return Ok(align);
        }
        self.expected("1, 8, 16, 32 or 64")
    }

    fn integer(&mut self) -> Result<Type, String> {
        let (mut bits, mut align, mut clock, mut hex) = (0, None, false, false);
        self.mark("{")?;
        while !self.takes("}") {
            let key = self.word()?;
            self.mark("=")?;
            match key {
                "size" => match self.number()? {
                    size @ 1..=64 => bits = size as u32,
                    size => {
                        return self.wrong(&format!("an integer of {size} bits, expected 1 to 64"));
                    }
                },
                "align" => align = Some(self.alignment()?),
                "map" => {
                    self.path()?;
                    clock = true;
                }
                "signed" => self.mark("false")?,
                "base" => hex = ["hex", "hexadecimal", "x", "X", "16"].contains(&self.word()?),
                "encoding" => {
                    self.word()?;
                }
                _ => return self.wrong(&format!("an integer has no property {key}")),
            }
            self.mark(";")?;
        }
        if bits == 0 {
            return self.expected("an integer with a size before this");
        }
        let default = if bits % 8 == 0 { 8 } else { 1 };
        let (align, names) = (align.unwrap_or(default), Vec::new());
        Ok(Type::Integer { bits, align, clock, hex, names })
    }

    fn names(&mut self, of: Type) -> Result<Type, String> {
        let Type::Integer { bits, align, clock, hex, .. } = of else {
            return self.expected("an enumeration of integers before this");
        };
        let mut names = Vec::new();
        self.mark("{")?;
        while !self.takes("}") {
            let name = self.value()?;
            self.mark("=")?;
            let first = self.number()?;
            let last = match self.takes("...") {
                true => self.number()?,
                false => first,
            };
            names.push((name, first..=last));
            if !self.takes(",") {
                self.mark("}")?;
                break;
            }
        }
        Ok(Type::Integer { bits, align, clock, hex, names })
    }

    /// Consumes the fields of a structure or a variant.
    fn fields(&mut self, depth: usize) -> Result<Vec<(String, Type)>, String> {
        let mut fields = Vec::new();
        self.mark("{")?;
        while !self.takes("}") {
            let mut of = self.layout(depth + 1)?;
            let name = self.word()?;
            // A writer may prefix a name with an underscore to keep it apart from keywords.
            let name = name.strip_prefix('_').unwrap_or(name).to_owned();
            if self.takes("[") {
                if !matches!(of, Type::Integer { .. }) {
                    return self.expected("no length after a type that is not an integer");
                }
                let length = self.number()?;
                self.mark("]")?;
                of = Type::Array { of: Box::new(of), length };
            }
            self.mark(";")?;
            fields.push((name, of));
        }
        Ok(fields)
    }
}

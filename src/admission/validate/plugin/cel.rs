//! Whether an expression in the Common Expression Language can be used: its syntax, the names in it, what it yields.
//!
//! This is less than a compiler: the types of fields below the objects' own are not known here, so that what hangs on
//! them is found only when the expression runs.

use std::fmt;

/// How fields of objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// As in manifests: `vmi.metadata.name`. There is `vmi`.
    Json,
    /// As in programs: `vmi.Name`, `domainSpec.Devices`. There are `vmi`, `domainSpec` and the types of a domain.
    Domain,
}

/// What an expression has to yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yields {
    Truth,
    Domain,
}

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    Bool,
    Instance,
    Domain,
    /// A number, a text, a list …
    Plain,
    Any,
}

/// The fields of an instance in a manifest.
const MANIFEST: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
const TYPES: [&str; 11] = ["bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "string", "timestamp", "uint"];
/// How deep an expression may be nested; deeper ones are nobody's and would exhaust the stack.
const DEPTH: usize = 64;

/// Judges an expression.
pub(super) fn compile(text: &str, names: Names, yields: Yields) -> Result<(), Error> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, names, scope: Vec::new(), depth: 0 };
    let got = parser.expression()?;
    if let Some(token) = parser.peek() {
        return Err(Error(format!("{token} is too much")));
    }
    match (yields, got) {
        (_, Type::Any) | (Yields::Truth, Type::Bool) | (Yields::Domain, Type::Domain) => Ok(()),
        (Yields::Truth, _) => Err(Error("it must yield true or false".to_owned())),
        (Yields::Domain, _) => Err(Error("it must yield a Domain, as Domain{Name: \"x\"} does".to_owned())),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Number,
    Text,
    Sign(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name:?}"),
            Self::Number => f.write_str("the number"),
            Self::Text => f.write_str("the text"),
            Self::Sign(sign) => write!(f, "{sign:?}"),
        }
    }
}

const SIGNS: [&str; 25] =
    ["==", "!=", "<=", ">=", "&&", "||", "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "+", "-", "*", "/", "%", "!", "<", ">", "="];

fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    let mut rest = text.trim_start();
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first.is_ascii_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (name, after) = rest.split_at(length);
            // a text may have r or b before it: raw, bytes
            match after.chars().next().filter(|c| matches!(c, '"' | '\'') && is_prefix(name)) {
                Some(_) => (Token::Text, length + quoted(after, name.contains(['r', 'R']))?),
                None => (Token::Name(name.to_owned()), length),
            }
        } else if first.is_ascii_digit() {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
            (Token::Number, length)
        } else if matches!(first, '"' | '\'') {
            (Token::Text, quoted(rest, false)?)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(Error(format!("{first:?} cannot stand in it")));
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

fn is_prefix(name: &str) -> bool {
    name.len() <= 2 && name.bytes().all(|c| matches!(c, b'r' | b'R' | b'b' | b'B'))
}

/// The length of the quoted text at the beginning, quotes included.
fn quoted(text: &str, raw: bool) -> Result<usize, Error> {
    let quote = text.get(..1).unwrap_or_default();
    let triple = quote.repeat(3);
    let end = if text.starts_with(&triple) { triple.as_str() } else { quote };
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(end.len()) {
        if !escaped && text.get(at..).is_some_and(|rest| rest.starts_with(end)) {
            return Ok(at + end.len());
        }
        if c == '\n' && end.len() == 1 {
            break;
        }
        escaped = !raw && c == '\\' && !escaped;
    }
    Err(Error(format!("a text begins with {quote} and does not end")))
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    names: Names,
    /// Variables of the macros around.
    scope: Vec<String>,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.at += usize::from(found);
        found
    }

    fn needs(&mut self, sign: &str) -> Result<(), Error> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(Error(match self.peek() {
            Some(token) => format!("{token} stands where {sign:?} is missing"),
            None => format!("it ends where {sign:?} is missing"),
        }))
    }

    fn name(&mut self) -> Result<String, Error> {
        match self.peek().cloned() {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(Error("a name is missing".to_owned())),
        }
    }

    fn expression(&mut self) -> Result<Type, Error> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Error("it is nested too deeply".to_owned()));
        }
        let condition = self.binary(0)?;
        let got = if self.takes("?") {
            truth(&condition, "?")?;
            let left = self.binary(0)?;
            self.needs(":")?;
            let right = self.expression()?;
            if left == right { left } else { Type::Any }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(got)
    }

    /// Operators by how loosely they bind.
    fn binary(&mut self, level: usize) -> Result<Type, Error> {
        const LEVELS: [&[&str]; 5] = [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">", "in"], &["+", "-"], &["*", "/", "%"]];
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.operator(signs) {
            let right = self.binary(level + 1)?;
            left = match level {
                0 | 1 => {
                    truth(&left, sign)?;
                    truth(&right, sign)?;
                    Type::Bool
                }
                2 => Type::Bool,
                _ if left == Type::Bool || right == Type::Bool => return Err(Error(format!("{sign:?} does not combine true and false"))),
                _ => Type::Plain,
            };
        }
        Ok(left)
    }

    fn operator(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let found = match self.peek()? {
            Token::Sign(sign) => signs.iter().find(|s| *s == sign),
            Token::Name(name) => signs.iter().find(|s| *s == name),
            _ => None,
        }
        .copied();
        self.at += usize::from(found.is_some());
        found
    }

    fn unary(&mut self) -> Result<Type, Error> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Error("it is nested too deeply".to_owned()));
        }
        let got = if self.takes("!") {
            let got = self.unary()?;
            truth(&got, "!")?;
            Type::Bool
        } else if self.takes("-") {
            self.unary()?;
            Type::Plain
        } else {
            let got = self.primary()?;
            self.members(got)?
        };
        self.depth -= 1;
        Ok(got)
    }

    fn primary(&mut self) -> Result<Type, Error> {
        if self.takes("(") {
            let got = self.expression()?;
            self.needs(")")?;
            return Ok(got);
        }
        if self.takes("[") {
            self.list("]")?;
            return Ok(Type::Plain);
        }
        if self.takes("{") {
            while !self.takes("}") {
                self.expression()?;
                self.needs(":")?;
                self.expression()?;
                if !self.takes(",") {
                    self.needs("}")?;
                    break;
                }
            }
            return Ok(Type::Plain);
        }
        match self.peek().cloned() {
            Some(Token::Number | Token::Text) => {
                self.at += 1;
                Ok(Type::Plain)
            }
            Some(Token::Name(name)) => {
                self.at += 1;
                self.named(&name)
            }
            Some(token) => Err(Error(format!("{token} stands where a value is missing"))),
            None => Err(Error("it ends where a value is missing".to_owned())),
        }
    }

    fn named(&mut self, name: &str) -> Result<Type, Error> {
        if self.takes("(") {
            let boolean = name == "has" || name == "bool";
            self.list(")")?;
            return Ok(if boolean { Type::Bool } else { Type::Any });
        }
        if self.names == Names::Domain && name.starts_with(|c: char| c.is_ascii_uppercase()) && self.takes("{") {
            self.fields(name)?;
            return Ok(if name == "Domain" { Type::Domain } else { Type::Any });
        }
        match name {
            "true" | "false" => Ok(Type::Bool),
            "null" => Ok(Type::Plain),
            "vmi" => Ok(Type::Instance),
            "domainSpec" if self.names == Names::Domain => Ok(Type::Domain),
            _ if self.scope.iter().any(|variable| variable == name) => Ok(Type::Any),
            _ if TYPES.contains(&name) => Ok(Type::Plain),
            _ => Err(Error(format!("nothing is called {name:?}"))),
        }
    }

    /// The fields of an object that is made.
    fn fields(&mut self, of: &str) -> Result<(), Error> {
        while !self.takes("}") {
            let field = self.name()?;
            self.known(of, &field)?;
            self.needs(":")?;
            self.expression()?;
            if !self.takes(",") {
                return self.needs("}");
            }
        }
        Ok(())
    }

    fn known(&self, of: &str, field: &str) -> Result<(), Error> {
        let known = match self.names {
            Names::Json => of != "vmi" || MANIFEST.contains(&field),
            Names::Domain => field.starts_with(|c: char| c.is_ascii_uppercase()),
        };
        if known { Ok(()) } else { Err(Error(format!("{of} has no field {field:?}"))) }
    }

    fn list(&mut self, end: &str) -> Result<(), Error> {
        while !self.takes(end) {
            self.expression()?;
            if !self.takes(",") {
                return self.needs(end);
            }
        }
        Ok(())
    }

    fn members(&mut self, mut of: Type) -> Result<Type, Error> {
        loop {
            if self.takes("[") {
                self.expression()?;
                self.needs("]")?;
                of = Type::Any;
            } else if self.takes(".") {
                let name = self.name()?;
                of = if self.takes("(") { self.method(&name)? } else { self.field(&of, &name)? };
            } else {
                return Ok(of);
            }
        }
    }

    fn field(&self, of: &Type, field: &str) -> Result<Type, Error> {
        match of {
            Type::Instance => self.known("vmi", field)?,
            Type::Domain => self.known("domainSpec", field)?,
            Type::Bool | Type::Plain => return Err(Error(format!("a plain value has no field {field:?}"))),
            Type::Any => {}
        }
        Ok(Type::Any)
    }

    /// A function of a value, or a macro with a variable of its own.
    fn method(&mut self, name: &str) -> Result<Type, Error> {
        let variables = if matches!(name, "all" | "exists" | "exists_one" | "filter" | "map") { 1 } else { 0 };
        for _ in 0..variables {
            let variable = self.name()?;
            self.scope.push(variable);
            self.needs(",")?;
        }
        self.list(")")?;
        self.scope.truncate(self.scope.len() - variables);
        Ok(match name {
            "all" | "exists" | "exists_one" | "startsWith" | "endsWith" | "contains" | "matches" => Type::Bool,
            "size" | "filter" | "map" => Type::Plain,
            _ => Type::Any,
        })
    }
}

/// A value that is looked up may turn out to be true or false.
fn truth(of: &Type, sign: &str) -> Result<(), Error> {
    match of {
        Type::Bool | Type::Any => Ok(()),
        _ => Err(Error(format!("{sign:?} needs true or false"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn expressions_that_can_be_used() {
        for (names, yields, text) in [
            (Names::Json, Yields::Truth, "true"),
            (Names::Json, Yields::Truth, "vmi.metadata.name.startsWith('a') && !(size(vmi.spec.volumes) > 3)"),
            (Names::Json, Yields::Truth, "vmi.spec.volumes.exists(v, has(v.containerDisk) && v.name in ['a', \"b\"])"),
            (Names::Json, Yields::Truth, "vmi.spec.domain.cpu.cores * 2 >= 4 ? true : vmi.metadata.labels['x'] == r'\\d'"),
            (Names::Domain, Yields::Truth, "vmi.Spec.Domain.CPU.DedicatedCPUPlacement"),
            (Names::Domain, Yields::Truth, "domainSpec.Name != '' || vmi.Namespace == \"lab\""),
            (Names::Domain, Yields::Domain, "Domain{Name: domainSpec.Name, Devices: DomainDeviceList{Disks: []}}"),
            (Names::Domain, Yields::Domain, "vmi.Name == 'x' ? Domain{Title: 'a'} : domainSpec"),
        ] {
            assert_eq!(compile(text, names, yields), Ok(()), "{text}");
        }
    }

    #[test]
    fn expressions_that_cannot_be_used() {
        for (names, yields, text) in [
            (Names::Json, Yields::Truth, ""),
            (Names::Json, Yields::Truth, "1 +"),
            (Names::Json, Yields::Truth, "1 + 2"),
            (Names::Json, Yields::Truth, "true true"),
            (Names::Json, Yields::Truth, "(true"),
            (Names::Json, Yields::Truth, "'open"),
            (Names::Json, Yields::Truth, "vm.metadata.name == ''"),
            (Names::Json, Yields::Truth, "vmi.Name == ''"),
            (Names::Json, Yields::Truth, "domainSpec.Name == ''"),
            (Names::Json, Yields::Truth, "vmi.metadata.name == '' && 3"),
            (Names::Json, Yields::Truth, "true + 1"),
            (Names::Json, Yields::Truth, "a # b"),
            (Names::Json, Yields::Truth, "true = true"),
            (Names::Domain, Yields::Truth, "vmi.metadata.name != ''"),
            (Names::Domain, Yields::Truth, "vmi"),
            (Names::Domain, Yields::Truth, "Domain{}"),
            (Names::Domain, Yields::Domain, "Domain{name: 'x'}"),
            (Names::Domain, Yields::Domain, "true"),
        ] {
            assert!(compile(text, names, yields).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-zé\"'({\\[\\]}).,?:!=&|+ -]|vmi|Domain)*") {
            let _ = compile(&text, Names::Domain, Yields::Truth);
        }
    }

    #[test]
    fn deep_texts_end() {
        for open in ["(", "!", "[", "true?", "-"] {
            assert!(compile(&open.repeat(100_000), Names::Json, Yields::Truth).is_err());
        }
    }
}

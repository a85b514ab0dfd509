//! Text → expression.

use serde_json::Value;

use super::{Comparison, Expression, Method, Variable};

/// How deep an expression may nest; ours nest three deep.
const DEPTH: usize = 32;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} at byte {at} of the expression")]
pub struct SyntaxError {
    expected: &'static str,
    at: usize,
}

/// Reads a whole text.
pub(super) fn expression(text: &str) -> Result<Expression, SyntaxError> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let expression = reader.or()?;
    if reader.rest().is_empty() { Ok(expression) } else { reader.expected("an operator or the end") }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// What is left, without leading blanks.
    fn rest(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn expected<T>(&self, expected: &'static str) -> Result<T, SyntaxError> {
        Err(SyntaxError { expected, at: self.at })
    }

    /// Takes a token if it comes next.
    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn need(&mut self, token: &'static str) -> Result<(), SyntaxError> {
        if self.take(token) { Ok(()) } else { self.expected(token) }
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn or(&mut self) -> Result<Expression, SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.expected("less nesting");
        }
        let mut left = self.and()?;
        while self.take("||") {
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression, SyntaxError> {
        let mut left = self.comparison()?;
        while self.take("&&") {
            left = Expression::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Expression, SyntaxError> {
        const OPERATORS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let left = self.unary()?;
        for (token, operator) in OPERATORS {
            if self.take(token) {
                return Ok(Expression::Compare(Box::new(left), operator, Box::new(self.unary()?)));
            }
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, SyntaxError> {
        // Two negations are none.
        let mut negated = false;
        while self.take("!") {
            negated = !negated;
        }
        let inner = self.postfix()?;
        Ok(if negated { Expression::Not(Box::new(inner)) } else { inner })
    }

    fn postfix(&mut self) -> Result<Expression, SyntaxError> {
        let mut of = self.primary()?;
        while self.take(".") {
            let name = self.word();
            if name.is_empty() {
                return self.expected("a field");
            }
            of = if self.take("(") { self.call(of, name)? } else { Expression::Field(Box::new(of), name.to_owned()) };
        }
        Ok(of)
    }

    fn call(&mut self, of: Expression, name: &str) -> Result<Expression, SyntaxError> {
        let method = match name {
            "startsWith" => Method::StartsWith,
            "endsWith" => Method::EndsWith,
            "contains" => Method::Contains,
            "size" => Method::Size,
            _ => return self.expected("startsWith, endsWith, contains or size"),
        };
        let argument = if method == Method::Size { None } else { Some(Box::new(self.or()?)) };
        self.need(")")?;
        Ok(Expression::Call(Box::new(of), method, argument))
    }

    fn primary(&mut self) -> Result<Expression, SyntaxError> {
        let rest = self.rest();
        if self.take("(") {
            let inner = self.or()?;
            self.need(")")?;
            return Ok(inner);
        }
        if rest.starts_with(['\'', '"']) {
            return self.string();
        }
        if rest.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return self.number();
        }
        let start = self.at;
        let value = match self.word() {
            "self" => Expression::Variable(Variable::This),
            "oldSelf" => Expression::Variable(Variable::Old),
            "true" => Expression::Literal(true.into()),
            "false" => Expression::Literal(false.into()),
            "null" => Expression::Literal(Value::Null),
            "has" => return self.has(),
            _ => {
                self.at = start;
                return self.expected("a value");
            }
        };
        Ok(value)
    }

    fn has(&mut self) -> Result<Expression, SyntaxError> {
        self.need("(")?;
        let argument = self.postfix()?;
        self.need(")")?;
        match argument {
            Expression::Field(of, name) => Ok(Expression::Has(of, name)),
            _ => self.expected("a field in has()"),
        }
    }

    fn number(&mut self) -> Result<Expression, SyntaxError> {
        let rest = self.rest();
        let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(rest.len());
        let Ok(number) = rest[..end].parse::<i64>() else { return self.expected("a number") };
        self.at += end;
        Ok(Expression::Literal(number.into()))
    }

    fn string(&mut self) -> Result<Expression, SyntaxError> {
        let mut letters = self.rest().char_indices();
        let quote = letters.next().map(|(_, c)| c);
        let mut out = String::new();
        while let Some((at, c)) = letters.next() {
            if Some(c) == quote {
                self.at += at + c.len_utf8();
                return Ok(Expression::Literal(out.into()));
            }
            match c {
                '\\' => match letters.next() {
                    Some((_, c @ ('\\' | '\'' | '"'))) => out.push(c),
                    _ => return self.expected("\\\\, \\' or \\\" in a string"),
                },
                c => out.push(c),
            }
        }
        self.expected("the end of the string")
    }
}

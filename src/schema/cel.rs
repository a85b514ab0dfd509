//! The part of the Common Expression Language that the rules of our schemas are written in.
//!
//! `self` and `oldSelf`, fields, `has()`, the string functions, comparison, and logic that, as CEL wants it, is not
//! bothered by an error on one side when the other side decides. The API server evaluates the same texts with the
//! whole language; here they serve where there is no API server.

mod evaluate;
mod parse;

use serde_json::Value;

pub use evaluate::EvaluationError;
pub use parse::SyntaxError;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Literal(Value),
    /// `self`, `oldSelf`.
    Variable(Variable),
    /// `expression.field`.
    Field(Box<Expression>, String),
    /// `has(expression.field)`.
    Has(Box<Expression>, String),
    /// `expression.method(argument)`.
    Call(Box<Expression>, Method, Option<Box<Expression>>),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Compare(Box<Expression>, Comparison, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variable {
    This,
    Old,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    StartsWith,
    EndsWith,
    Contains,
    Size,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A rule, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Program(Expression);

/// Why a rule gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CelError {
    /// The text is no expression.
    #[error("read the rule")]
    Syntax(#[from] SyntaxError),
    /// The expression has no value.
    #[error("evaluate the rule")]
    Evaluation(#[from] EvaluationError),
}

impl Program {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse::expression(text).map(Self)
    }

    /// Whether the rule compares with what was there before, and so holds for updates only.
    pub fn is_transition(&self) -> bool {
        self.0.mentions_old()
    }

    /// Whether the rule holds for a value.
    pub fn holds(&self, this: &Value, old: Option<&Value>) -> Result<bool, EvaluationError> {
        evaluate::Scope { this, old }.truth(&self.0)
    }
}

impl Expression {
    fn mentions_old(&self) -> bool {
        match self {
            Self::Literal(_) => false,
            Self::Variable(variable) => *variable == Variable::Old,
            Self::Field(of, _) | Self::Has(of, _) | Self::Not(of) => of.mentions_old(),
            Self::Call(of, _, argument) => of.mentions_old() || argument.as_ref().is_some_and(|a| a.mentions_old()),
            Self::And(a, b) | Self::Or(a, b) | Self::Compare(a, _, b) => a.mentions_old() || b.mentions_old(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expressions_mean_what_cel_says() {
        let this = json!({"a": "x", "n": 3, "list": [1, 2], "inner": {"b": true}});
        for (text, truth) in [
            ("self.a == 'x'", Some(true)),
            ("self.a != \"x\"", Some(false)),
            ("has(self.a) && !has(self.b)", Some(true)),
            ("has(self.inner.b)", Some(true)),
            ("self.inner.b", Some(true)),
            ("self.n >= 3 && self.n < 4", Some(true)),
            ("self.list.size() == 2", Some(true)),
            ("self.a.startsWith('x') || self.missing == 1", Some(true)),
            ("self.missing == 1 || self.a.startsWith('x')", Some(true)),
            ("self.missing == 1 && false", Some(false)),
            ("self.missing == 1", None),
            ("self.a > 1", None),
            ("!(self.a == 'y')", Some(true)),
            ("true && false || true", Some(true)),
            ("self.a == 'it\\'s'", Some(false)),
        ] {
            let program = Program::parse(text).expect(text);
            assert_eq!(program.holds(&this, None).ok(), truth, "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in
            ["", "self.", "self == ", "has(self)", "(true", "self.a == 'x", "foo == 1", "self.nothing('x')", "1 2", &"(".repeat(10_000)]
        {
            assert!(Program::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_rules_that_look_back_are_transitions() {
        assert!(Program::parse("self == oldSelf").unwrap().is_transition());
        assert!(!Program::parse("has(self.a)").unwrap().is_transition());
        assert!(Program::parse("self == oldSelf").unwrap().holds(&json!({"a": 1}), None).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[-!&|=<>().'\"a-z0-9 ]{0,40}") {
            if let Ok(program) = Program::parse(&text) {
                let _ = program.holds(&json!({"a": 1}), Some(&json!(null)));
            }
        }
    }
}

//! Expression and document → value.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{Comparison, Expression, Method, Variable};

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// A field is not there.
    #[error("there is no field {0}")]
    NoSuchField(String),
    /// An operator got values that it does not take.
    #[error("{0} does not take such a value")]
    NoSuchOverload(&'static str),
    /// There is nothing to compare with.
    #[error("there is no oldSelf when an object is made")]
    NoOld,
}

/// What the variables stand for.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) this: &'a Value,
    pub(super) old: Option<&'a Value>,
}

impl<'a> Scope<'a> {
    pub(super) fn truth(self, expression: &'a Expression) -> Result<bool, EvaluationError> {
        self.value(expression)?.as_bool().ok_or(EvaluationError::NoSuchOverload("a condition"))
    }

    fn value(self, expression: &'a Expression) -> Result<Cow<'a, Value>, EvaluationError> {
        let truth = match expression {
            Expression::Literal(value) => return Ok(Cow::Borrowed(value)),
            Expression::Variable(Variable::This) => return Ok(Cow::Borrowed(self.this)),
            Expression::Variable(Variable::Old) => return self.old.map(Cow::Borrowed).ok_or(EvaluationError::NoOld),
            Expression::Field(of, name) => {
                let missing = || EvaluationError::NoSuchField(name.clone());
                return match self.value(of)? {
                    Cow::Borrowed(of) => of.get(name).map(Cow::Borrowed).ok_or_else(missing),
                    Cow::Owned(_) => Err(missing()),
                };
            }
            Expression::Call(of, Method::Size, _) => return self.size(of).map(Cow::Owned),
            Expression::Has(of, name) => match self.value(of)?.as_ref() {
                Value::Object(fields) => fields.contains_key(name),
                _ => return Err(EvaluationError::NoSuchOverload("has()")),
            },
            Expression::Call(of, method, argument) => self.ask(of, *method, argument.as_deref())?,
            Expression::Not(of) => !self.truth(of)?,
            Expression::And(a, b) => self.logic(a, b, false)?,
            Expression::Or(a, b) => self.logic(a, b, true)?,
            Expression::Compare(a, operator, b) => compare(self.value(a)?.as_ref(), *operator, self.value(b)?.as_ref())?,
        };
        Ok(Cow::Owned(truth.into()))
    }

    /// `&&` and `||`: the side that is `decisive` decides, also against an error of the other one.
    fn logic(self, a: &'a Expression, b: &'a Expression, decisive: bool) -> Result<bool, EvaluationError> {
        match (self.truth(a), self.truth(b)) {
            (Ok(value), _) | (_, Ok(value)) if value == decisive => Ok(decisive),
            (Err(error), _) | (_, Err(error)) => Err(error),
            _ => Ok(!decisive),
        }
    }

    fn size(self, of: &'a Expression) -> Result<Value, EvaluationError> {
        match self.value(of)?.as_ref() {
            Value::String(text) => Ok(text.chars().count().into()),
            Value::Array(items) => Ok(items.len().into()),
            Value::Object(fields) => Ok(fields.len().into()),
            _ => Err(EvaluationError::NoSuchOverload("size()")),
        }
    }

    fn ask(self, of: &'a Expression, method: Method, argument: Option<&'a Expression>) -> Result<bool, EvaluationError> {
        let (of, argument) = (self.value(of)?, argument.map(|a| self.value(a)).transpose()?);
        match (of.as_str(), argument.as_ref().and_then(|a| a.as_str())) {
            (Some(of), Some(argument)) => Ok(match method {
                Method::StartsWith => of.starts_with(argument),
                Method::EndsWith => of.ends_with(argument),
                Method::Contains | Method::Size => of.contains(argument),
            }),
            _ => Err(EvaluationError::NoSuchOverload("a string function")),
        }
    }
}

fn compare(a: &Value, operator: Comparison, b: &Value) -> Result<bool, EvaluationError> {
    let order = match (a, b) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64().zip(b.as_f64()).and_then(|(a, b)| a.partial_cmp(&b)),
        },
        _ => None,
    };
    match operator {
        Comparison::Equal => Ok(order.map_or(a == b, Ordering::is_eq)),
        Comparison::Unequal => Ok(!order.map_or(a == b, Ordering::is_eq)),
        _ => {
            let order = order.ok_or(EvaluationError::NoSuchOverload("a comparison"))?;
            Ok(match operator {
                Comparison::Less => order.is_lt(),
                Comparison::LessOrEqual => order.is_le(),
                Comparison::Greater => order.is_gt(),
                _ => order.is_ge(),
            })
        }
    }
}

//! What is worked out of the fields of a record: the expressions of a statement, read once and evaluated for each row.

use keyloom_key::Value;

use crate::arithmetic::Operator;
use crate::function::Function;

/// An expression. Names are checked and parameters are values by the time there is one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Constant(Value<'static>),
    /// A column of the record.
    Field(String),
    /// A column of the record that an INSERT would have written.
    Excluded(String),
    Negate(Box<Expression>),
    /// `a + b - c`: one after the other from the left, so that a long one is not a deep one.
    Calculate(Box<Expression>, Vec<(Operator, Expression)>),
    /// `a || b || c`.
    Join(Vec<Expression>),
    Compare(Comparison, Sides),
    /// `a BETWEEN b AND c`: two comparisons with the same first side.
    Between {
        value: Box<Expression>,
        ends: Box<[Expression; 2]>,
        nocase: bool,
    },
    In {
        value: Box<Expression>,
        list: Vec<Expression>,
        nocase: bool,
    },
    IsNull(Box<Expression>),
    Not(Box<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Case {
        operand: Option<Box<Expression>>,
        branches: Vec<[Expression; 2]>,
        otherwise: Box<Expression>,
        nocase: bool,
    },
    Coalesce(Vec<Expression>),
    NullIf(Sides),
    Cast(Box<Expression>, Target),
    Call(Function, Vec<Expression>),
}

/// What is compared, and whether text is the same in capitals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sides {
    pub(crate) both: Box<[Expression; 2]>,
    pub(crate) nocase: bool,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What a CAST makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Text,
    Integer,
    Double,
    Decimal,
}

impl Expression {
    /// Appends the names of the record's columns that it asks for, each once.
    pub(crate) fn fields<'a>(&'a self, names: &mut Vec<&'a str>) {
        let mut all = |list: &'a [Expression]| list.iter().for_each(|one| one.fields(names));
        match self {
            Self::Field(name) => {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            Self::Constant(_) | Self::Excluded(_) => {}
            Self::Negate(inner) | Self::IsNull(inner) | Self::Not(inner) | Self::Cast(inner, _) => {
                inner.fields(names)
            }
            Self::Calculate(first, rest) => {
                rest.iter().for_each(|(_, one)| all(std::slice::from_ref(one)));
                first.fields(names);
            }
            Self::Compare(_, sides) | Self::NullIf(sides) => all(sides.both.as_slice()),
            Self::Between { value, ends, .. } => {
                all(ends.as_slice());
                value.fields(names);
            }
            Self::In { value, list, .. } => {
                all(list);
                value.fields(names);
            }
            Self::And(list)
            | Self::Or(list)
            | Self::Join(list)
            | Self::Coalesce(list)
            | Self::Call(_, list) => all(list),
            Self::Case { operand, branches, otherwise, .. } => {
                branches.iter().for_each(|branch| all(branch));
                otherwise.fields(names);
                if let Some(operand) = operand {
                    operand.fields(names);
                }
            }
        }
    }
}

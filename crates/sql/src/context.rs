//! From the parser's trees to expressions: names are looked up, parameters become values, and what is not supported is
//! refused by name.

use keyloom_key::{Collation, Type, Value};
use keyloom_schema::sql::{self, sqlparser};
use keyloom_schema::{Predicate, Table};
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, Spanned, UnaryOperator, Value as Sql,
};
use sqlparser::tokenizer::Location;

use crate::arithmetic::Operator;
use crate::error::Error;
use crate::evaluate::Nothing;
use crate::expression::{Comparison, Expression, Sides, Target};
use crate::function::{Function, KNOWN};
use crate::parameters::Parameters;

/// What the names and placeholders of a statement stand for.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    parameters: &'a Parameters,
    /// The table whose columns may be named; none where only values may stand.
    table: Option<&'a Table>,
    /// Whether `excluded.column` may be named.
    excluded: bool,
    /// How deep in an expression this is.
    depth: u32,
}

/// How deep expressions may nest: they are worked out on the stack.
const DEEPEST: u32 = 100;

/// An error at a place in the text.
#[cold]
pub(crate) fn wrong(at: Location, reason: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::Text(keyloom_schema::Error::Sql { line: at.line, column: at.column, reason: reason.into() })
}

/// The error of something that is not supported, with what to do instead.
#[cold]
pub(crate) fn refused(at: Location, what: &str, remedy: &str) -> Error {
    wrong(at, format!("{what} is not supported: {remedy}"))
}

fn refused_expr(expr: &Expr, remedy: &str) -> Error {
    refused(sql::place(expr), &sql::shown(expr), remedy)
}

/// The only part of a name; a name of several parts is refused.
pub(crate) fn plain_name(name: &ObjectName) -> Result<&str, Error> {
    match name.0.as_slice() {
        [part] => part.as_ident().map(|ident| ident.value.as_str()),
        _ => None,
    }
    .ok_or_else(|| {
        refused(name.span().start, &format!("`{name}`"), "there are no schemas: write the last part alone")
    })
}

impl<'a> Context<'a> {
    /// A statement with these parameters.
    pub(crate) fn new(parameters: &'a Parameters) -> Self {
        Self { parameters, table: None, excluded: false, depth: 0 }
    }

    /// The same for expressions on the columns of a table.
    pub(crate) fn of(self, table: &'a Table) -> Self {
        Self { table: Some(table), ..self }
    }

    /// The same where a record that would have been written can be named as `excluded`.
    pub(crate) fn with_excluded(self) -> Self {
        Self { excluded: true, ..self }
    }

    /// The column of this name.
    pub(crate) fn column(&self, name: &Ident) -> Result<String, Error> {
        let Some(table) = self.table else {
            return Err(wrong(name.span.start, format!("{name} is a name: only values can stand here")));
        };
        self.check_column(table, &name.value, name.span.start)?;
        Ok(name.value.clone())
    }

    /// The column of this name, which has one part.
    pub(crate) fn named_column(&self, name: &ObjectName) -> Result<String, Error> {
        let column = plain_name(name)?;
        if let Some(table) = self.table {
            self.check_column(table, column, name.span().start)?;
        }
        Ok(column.to_owned())
    }

    fn check_column(&self, table: &Table, name: &str, at: Location) -> Result<(), Error> {
        if table.column(name).is_some() {
            return Ok(());
        }
        let known: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
        let (table, known) = (table.name(), known.join(", "));
        Err(wrong(at, format!("there is no column {name} in {table}; the columns are: {known}")))
    }

    /// What a record must be like.
    pub(crate) fn predicate(&self, table: &Table, expr: &Expr) -> Result<Predicate, Error> {
        let values = Self { table: None, ..*self };
        let value = |expr: &Expr| {
            values.constant(expr).map_err(|error| match error {
                Error::Text(error) => error,
                other => {
                    let at = sql::place(expr);
                    keyloom_schema::Error::Sql {
                        line: at.line,
                        column: at.column,
                        reason: other.to_string().into(),
                    }
                }
            })
        };
        let predicate = sql::predicate_with(expr, &value)?;
        for name in predicate.fields() {
            self.check_column(table, name, sql::place(expr))?;
        }
        Ok(predicate)
    }

    /// The value of an expression without fields.
    pub(crate) fn constant(&self, expr: &Expr) -> Result<Value<'static>, Error> {
        let expression = Self { table: None, ..*self }.expression(expr)?;
        let value = expression.evaluate(&Nothing)?;
        Ok(value.into_owned())
    }

    fn boxed(&self, expr: &Expr) -> Result<Box<Expression>, Error> {
        self.expression(expr).map(Box::new)
    }

    fn both(&self, a: &Expr, b: &Expr) -> Result<Box<[Expression; 2]>, Error> {
        Ok(Box::new([self.expression(a)?, self.expression(b)?]))
    }

    fn list(&self, list: &[Expr]) -> Result<Vec<Expression>, Error> {
        list.iter().map(|one| self.expression(one)).collect()
    }

    /// What is compared with what: texts become what the column beside them is, and its collation counts.
    fn sides(&self, mut a: Expression, mut b: Expression) -> Result<Sides, Error> {
        let nocase = self.agree(&mut a, std::slice::from_mut(&mut b))?;
        Ok(Sides { both: Box::new([a, b]), nocase })
    }

    /// Makes texts beside a column what the column is; whether its text is compared without case.
    fn agree(&self, one: &mut Expression, others: &mut [Expression]) -> Result<bool, Error> {
        let column = |expression: &Expression| match expression {
            Expression::Field(name) | Expression::Excluded(name) => self.table?.column(name),
            _ => None,
        };
        let adapt = |column: &keyloom_schema::Column, other: &mut Expression| {
            if let Expression::Constant(value @ Value::Str(_)) = other
                && !matches!(column.kind.element(), Type::Str(_))
            {
                *value = column.coerce_element(value.clone())?;
            }
            Ok::<(), Error>(())
        };
        if let Some(column) = column(one) {
            others.iter_mut().try_for_each(|other| adapt(column, other))?;
            return Ok(nocase(column));
        }
        let found = others.iter().find_map(column);
        if let Some(column) = found {
            adapt(column, one)?;
        }
        Ok(found.is_some_and(nocase))
    }

    /// Whether it is a column whose text is compared without case.
    pub(crate) fn is_nocase(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Field(name) => self.table.and_then(|table| table.column(name)).is_some_and(nocase),
            _ => false,
        }
    }

    /// The expression.
    pub(crate) fn expression(&self, expr: &Expr) -> Result<Expression, Error> {
        if self.depth == DEEPEST {
            let reason = format!("an expression nests deeper than {DEEPEST}: take it apart");
            return Err(wrong(Location::empty(), reason));
        }
        Self { depth: self.depth + 1, ..*self }.deeper(expr)
    }

    fn deeper(&self, expr: &Expr) -> Result<Expression, Error> {
        match expr {
            Expr::Nested(inner) => self.expression(inner),
            Expr::Identifier(name) => self.column(name).map(Expression::Field),
            Expr::CompoundIdentifier(names) => self.compound(expr, names),
            Expr::Value(value) => match &value.value {
                Sql::Placeholder(name) => self.parameter(name, expr),
                _ => Ok(Expression::Constant(sql::literal(expr)?)),
            },
            Expr::TypedString(_) | Expr::Interval(_) => Ok(Expression::Constant(sql::literal(expr)?)),
            Expr::Array(array) => {
                let values = array.elem.iter().map(|element| self.constant(element));
                Ok(Expression::Constant(Value::List(values.collect::<Result<_, _>>()?)))
            }
            Expr::UnaryOp { op, expr: inner } => self.unary(expr, op, inner),
            Expr::BinaryOp { .. } => self.binary(expr),
            Expr::IsNull(inner) => self.boxed(inner).map(Expression::IsNull),
            Expr::IsNotNull(inner) => Ok(Expression::Not(Box::new(Expression::IsNull(self.boxed(inner)?)))),
            Expr::Between { expr, negated, low, high } => {
                let (mut value, mut ends) = (self.boxed(expr)?, self.both(low, high)?);
                let nocase = self.agree(&mut value, ends.as_mut_slice())?;
                Ok(negate(*negated, Expression::Between { value, ends, nocase }))
            }
            Expr::InList { expr, list, negated } => {
                let (mut value, mut list) = (self.boxed(expr)?, self.list(list)?);
                let nocase = self.agree(&mut value, &mut list)?;
                Ok(negate(*negated, Expression::In { value, list, nocase }))
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let mut operand = operand.as_ref().map(|operand| self.boxed(operand)).transpose()?;
                let mut nocase = false;
                let branches = conditions.iter().map(|branch| {
                    let [mut when, then] = *self.both(&branch.condition, &branch.result)?;
                    if let Some(operand) = &mut operand {
                        nocase |= self.agree(operand, std::slice::from_mut(&mut when))?;
                    }
                    Ok([when, then])
                });
                let branches = branches.collect::<Result<Vec<_>, Error>>()?;
                let otherwise = match else_result {
                    Some(otherwise) => self.boxed(otherwise)?,
                    None => Box::new(Expression::Constant(Value::Null)),
                };
                Ok(Expression::Case { operand, branches, otherwise, nocase })
            }
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr: inner,
                data_type,
                format: None,
                ..
            } => Ok(Expression::Cast(self.boxed(inner)?, self.target(expr, data_type)?)),
            Expr::Substring { expr: text, substring_from: Some(from), substring_for, .. } => {
                let arguments = [text, from].into_iter().chain(substring_for);
                let arguments =
                    arguments.map(|argument| self.expression(argument)).collect::<Result<_, _>>()?;
                Ok(Expression::Call(Function::Substr, arguments))
            }
            Expr::Trim { trim_where: None, trim_what: None, expr, trim_characters: None } => {
                Ok(Expression::Call(Function::Trim, vec![self.expression(expr)?]))
            }
            Expr::Function(_) => self.call(expr),
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                Err(refused_expr(expr, "ask the inner query first and write its values here"))
            }
            Expr::Like { .. } | Expr::ILike { .. } => Err(refused_expr(
                expr,
                "LIKE 'start%' can stand in WHERE; elsewhere compare substr(…) with a text",
            )),
            _ => Err(refused_expr(
                expr,
                "an expression has columns, values, + - * / %, ||, comparisons, AND, OR, NOT, IN, BETWEEN, IS NULL, \
                 CASE, CAST and functions",
            )),
        }
    }

    fn compound(&self, expr: &Expr, names: &[Ident]) -> Result<Expression, Error> {
        match names {
            [table, column] if self.excluded && table.value.eq_ignore_ascii_case("excluded") => {
                self.column(column).map(Expression::Excluded)
            }
            _ => {
                let last = names.last().map_or("", |name| name.value.as_str());
                Err(refused_expr(expr, &format!("there is one table, so write {last}")))
            }
        }
    }

    fn parameter(&self, name: &str, expr: &Expr) -> Result<Expression, Error> {
        match self.parameters.get(name) {
            Some(value) => Ok(Expression::Constant(value.clone())),
            None => Err(wrong(sql::place(expr), format!("{name} stands for a value, and none was given"))),
        }
    }

    fn unary(&self, whole: &Expr, op: &UnaryOperator, inner: &Expr) -> Result<Expression, Error> {
        match op {
            UnaryOperator::Not => self.boxed(inner).map(Expression::Not),
            // The least integer is a number only with its sign.
            UnaryOperator::Minus | UnaryOperator::Plus if is_number(inner) => {
                Ok(Expression::Constant(sql::literal(whole)?))
            }
            UnaryOperator::Minus => self.boxed(inner).map(Expression::Negate),
            UnaryOperator::Plus => self.expression(inner),
            _ => Err(refused_expr(whole, "the operators before a value are -, + and NOT")),
        }
    }

    /// Operators from the left to the right, without going deeper for each.
    fn binary(&self, whole: &Expr) -> Result<Expression, Error> {
        let mut rest = Vec::new();
        let mut first = whole;
        while let Expr::BinaryOp { left, op, right } = first {
            if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
                break;
            }
            rest.push((op, &**right));
            first = left;
        }
        let mut result = match first {
            Expr::BinaryOp { op, .. } => self.chain(first, op)?,
            first => self.expression(first)?,
        };
        while let Some((op, right)) = rest.pop() {
            result = self.operator(whole, result, op, self.expression(right)?)?;
        }
        Ok(result)
    }

    /// What AND or OR joins.
    fn chain(&self, whole: &Expr, op: &BinaryOperator) -> Result<Expression, Error> {
        let chain = sql::chain(whole, op).into_iter().map(|one| self.expression(one));
        let chain = chain.collect::<Result<_, _>>()?;
        Ok(if *op == BinaryOperator::And { Expression::And(chain) } else { Expression::Or(chain) })
    }

    fn operator(
        &self,
        whole: &Expr,
        left: Expression,
        op: &BinaryOperator,
        right: Expression,
    ) -> Result<Expression, Error> {
        let comparison = match op {
            BinaryOperator::StringConcat => {
                let mut list = match left {
                    Expression::Join(list) => list,
                    left => vec![left],
                };
                list.push(right);
                return Ok(Expression::Join(list));
            }
            BinaryOperator::Plus => return Ok(calculation(left, Operator::Add, right)),
            BinaryOperator::Minus => return Ok(calculation(left, Operator::Subtract, right)),
            BinaryOperator::Multiply => return Ok(calculation(left, Operator::Multiply, right)),
            BinaryOperator::Divide => return Ok(calculation(left, Operator::Divide, right)),
            BinaryOperator::Modulo => return Ok(calculation(left, Operator::Remainder, right)),
            BinaryOperator::Eq => Comparison::Equal,
            BinaryOperator::NotEq => Comparison::NotEqual,
            BinaryOperator::Lt => Comparison::Less,
            BinaryOperator::LtEq => Comparison::LessOrEqual,
            BinaryOperator::Gt => Comparison::Greater,
            BinaryOperator::GtEq => Comparison::GreaterOrEqual,
            _ => {
                let known = "the operators are + - * / % || = <> < <= > >= AND and OR";
                return Err(refused_expr(whole, known));
            }
        };
        if let Expression::Compare(..) = left {
            return Err(refused_expr(whole, "compare two values at a time, and join that with AND"));
        }
        Ok(Expression::Compare(comparison, self.sides(left, right)?))
    }

    fn target(&self, whole: &Expr, kind: &DataType) -> Result<Target, Error> {
        match kind.to_string().to_ascii_uppercase().as_str() {
            "TEXT" | "VARCHAR" | "STRING" | "CHAR" => Ok(Target::Text),
            "INTEGER" | "INT" | "BIGINT" => Ok(Target::Integer),
            "DOUBLE" | "DOUBLE PRECISION" | "REAL" | "FLOAT" => Ok(Target::Double),
            "DECIMAL" | "NUMERIC" => Ok(Target::Decimal),
            _ => Err(refused_expr(whole, "CAST makes TEXT, INTEGER, DOUBLE or DECIMAL")),
        }
    }

    fn call(&self, whole: &Expr) -> Result<Expression, Error> {
        let Some((name, arguments)) = plain_call(whole) else { return Err(refused_expr(whole, KNOWN)) };
        match (name.as_str(), arguments.as_slice()) {
            ("coalesce", [_, _, ..]) | ("ifnull", [_, _]) => {
                let list = arguments.iter().map(|one| self.expression(one)).collect::<Result<_, _>>()?;
                Ok(Expression::Coalesce(list))
            }
            ("nullif", [a, b]) => {
                let sides = self.sides(self.expression(a)?, self.expression(b)?)?;
                Ok(Expression::NullIf(sides))
            }
            ("count" | "min" | "max", _) => {
                Err(refused_expr(whole, "COUNT, MIN and MAX stand alone between SELECT and FROM"))
            }
            ("sum" | "avg" | "total" | "group_concat" | "string_agg", _) => Err(refused_expr(
                whole,
                "of all rows there are COUNT, MIN and MAX: select the rows and add them up",
            )),
            (name, _) => match Function::named(name, arguments.len()) {
                Some(function) => {
                    let list = arguments.iter().map(|one| self.expression(one)).collect::<Result<_, _>>()?;
                    Ok(Expression::Call(function, list))
                }
                None => Err(refused_expr(whole, KNOWN)),
            },
        }
    }
}

fn nocase(column: &keyloom_schema::Column) -> bool {
    *column.kind.element() == Type::Str(Collation::NoCase)
}

/// The name of a function in small letters and its arguments, if that is all that the call has.
pub(crate) fn plain_call(expr: &Expr) -> Option<(String, Vec<&Expr>)> {
    let Expr::Function(function) = expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let plain = function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && function.parameters == FunctionArguments::None
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty();
    let arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    let arguments = arguments.collect::<Option<Vec<_>>>()?;
    plain.then(|| (function.name.to_string().to_ascii_lowercase(), arguments))
}

/// One more step of a calculation.
fn calculation(left: Expression, operator: Operator, right: Expression) -> Expression {
    match left {
        Expression::Calculate(first, mut rest) => {
            rest.push((operator, right));
            Expression::Calculate(first, rest)
        }
        left => Expression::Calculate(Box::new(left), vec![(operator, right)]),
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Sql::Number(..)))
}

fn negate(negated: bool, expression: Expression) -> Expression {
    if negated { Expression::Not(Box::new(expression)) } else { expression }
}

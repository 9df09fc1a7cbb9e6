//! SELECT: what is read, in which order, and what is shown of it.

use keyloom_key::{Direction, Nulls};
use keyloom_plan::{OrderBy, Query};
use keyloom_schema::Table;
use keyloom_schema::sql::{self, sqlparser};
use sqlparser::ast::{
    self, Expr, GroupByExpr, LimitClause, OrderByKind, OrderBySort, SelectFlavor, SelectItem, SetExpr,
    Spanned, TableFactor, TableWithJoins,
};
use sqlparser::tokenizer::Location;

use crate::aggregate::Aggregate;
use crate::context::{Context, plain_name, refused, wrong};
use crate::error::Error;
use crate::expression::Expression;

/// A SELECT that can be run.
#[derive(Debug)]
pub(crate) struct Select {
    /// The table; none if only values are asked for.
    pub(crate) table: Option<String>,
    /// The names of the columns.
    pub(crate) columns: Vec<String>,
    pub(crate) output: Output,
    /// What is read. Its limit takes in the rows that are passed over.
    pub(crate) query: Query,
    pub(crate) offset: u64,
    pub(crate) limit: Option<u64>,
}

/// What is shown.
#[derive(Debug)]
pub(crate) enum Output {
    /// Something of each record.
    Each(Vec<Expression>),
    /// One row of all records.
    All(Vec<Aggregate>),
}

impl Select {
    /// What is asked of the table: one query, or one for each end of an order that MIN and MAX look for.
    pub(crate) fn queries(self) -> Vec<(String, Query)> {
        let Some(table) = self.table else { return Vec::new() };
        let ends = match &self.output {
            Output::Each(_) => None,
            Output::All(all) => {
                all.iter().map(|one| one.end_of_order(&self.query)).collect::<Option<Vec<_>>>()
            }
        };
        let queries = ends.unwrap_or_else(|| vec![self.query]);
        queries.into_iter().map(|query| (table.clone(), query)).collect()
    }
}

/// The parts of a SELECT that are supported; it is refused if it has others.
pub(crate) struct Parts<'q> {
    at: Location,
    items: &'q [SelectItem],
    pub(crate) table: Option<&'q str>,
    filter: Option<&'q Expr>,
    order: &'q [ast::OrderByExpr],
    limit: Option<&'q Expr>,
    offset: Option<&'q Expr>,
}

impl<'q> Parts<'q> {
    pub(crate) fn of(query: &'q ast::Query) -> Result<Self, Error> {
        let at = query_place(query);
        let ast::Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        let SetExpr::Select(select) = &**body else {
            let (what, remedy) = match &**body {
                SetExpr::SetOperation { op, .. } => (op.to_string(), "run the queries one after the other"),
                SetExpr::Values(_) => ("VALUES".to_owned(), "write SELECT before the values"),
                SetExpr::Query(_) => ("a query in brackets".to_owned(), "leave the brackets out"),
                _ => ("this kind of query".to_owned(), "write SELECT … FROM table"),
            };
            return Err(refused(at, &what, remedy));
        };
        let (limit, offset) = limits(at, limit_clause.as_ref())?;
        let order = match order_by.as_ref().map(|order| (&order.kind, &order.interpolate)) {
            None => &[],
            Some((OrderByKind::Expressions(order), None)) => order.as_slice(),
            Some(_) => return Err(refused(at, "ORDER BY ALL", "name the columns")),
        };
        let rest = [
            ("WITH", "ask the inner query first", with.is_some()),
            ("FETCH", "write LIMIT", fetch.is_some()),
            ("FOR UPDATE", "use BEGIN and COMMIT: a conflict is found at the commit", !locks.is_empty()),
            ("FOR", "leave it out", for_clause.is_some()),
            ("SETTINGS", "leave it out", settings.is_some()),
            ("FORMAT", "leave it out", format_clause.is_some()),
            ("|>", "write one SELECT", !pipe_operators.is_empty()),
        ];
        refuse_rest(at, &rest)?;
        Self::of_select(at, select, order, limit, offset)
    }

    fn of_select(
        at: Location,
        select: &'q ast::Select,
        order: &'q [ast::OrderByExpr],
        limit: Option<&'q Expr>,
        offset: Option<&'q Expr>,
    ) -> Result<Self, Error> {
        let ast::Select {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        let grouped = match group_by {
            GroupByExpr::Expressions(list, modifiers) => !(list.is_empty() && modifiers.is_empty()),
            GroupByExpr::All(_) => true,
        };
        let one_table = "a query asks one table: select from each and put the rows together by their keys";
        let rest = [
            ("DISTINCT", "select the rows and drop the same ones", distinct.is_some()),
            ("GROUP BY", "ask for each group with WHERE, or select the rows and group them", grouped),
            ("HAVING", "there is no GROUP BY that it could belong to", having.is_some()),
            ("a join", one_table, from.len() > 1 || from.iter().any(|from| !from.joins.is_empty())),
            ("TOP", "write LIMIT", top.is_some()),
            ("SELECT INTO", "select the rows, then INSERT them", into.is_some()),
            ("WINDOW", "select the rows and work it out", !named_window.is_empty()),
            ("QUALIFY", "select the rows and work it out", qualify.is_some()),
            ("EXCLUDE", "name the columns", exclude.is_some()),
            ("LATERAL VIEW", one_table, !lateral_views.is_empty()),
            ("PREWHERE", "write WHERE", prewhere.is_some()),
            ("CONNECT BY", one_table, !connect_by.is_empty()),
            ("CLUSTER BY", "write ORDER BY", !cluster_by.is_empty()),
            ("DISTRIBUTE BY", "write ORDER BY", !distribute_by.is_empty()),
            ("SORT BY", "write ORDER BY", !sort_by.is_empty()),
            ("SELECT AS", "name the columns", value_table_mode.is_some()),
            ("this word behind SELECT", "leave it out", select_modifiers.is_some()),
            ("a hint", "leave it out", !optimizer_hints.is_empty()),
            ("FROM before SELECT", "write SELECT first", *flavor != SelectFlavor::Standard),
        ];
        refuse_rest(at, &rest)?;
        let table = from.first().map(table_name).transpose()?;
        Ok(Self { at, items: projection, table, filter: selection.as_ref(), order, limit, offset })
    }

    /// The SELECT on a table, or on none.
    pub(crate) fn bind(&self, context: Context<'_>, table: Option<&Table>) -> Result<Select, Error> {
        let items = match table {
            Some(table) => Items::read(self.items, context.of(table), Some(table))?,
            None => Items::read(self.items, context, None)?,
        };
        let limit = self.limit.map(|expr| count(context, expr, "LIMIT")).transpose()?.flatten();
        let offset =
            self.offset.map(|expr| count(context, expr, "OFFSET")).transpose()?.flatten().unwrap_or(0);
        let mut query = Query::new();
        match table {
            None if self.filter.is_some() || !self.order.is_empty() => {
                return Err(wrong(self.at, "WHERE and ORDER BY need a table: write FROM"));
            }
            None => {}
            Some(table) => {
                if let Some(filter) = self.filter {
                    query = query.filter(context.predicate(table, filter)?);
                }
                for by in self.order {
                    query = query.ordered(items.order(context.of(table), by)?);
                }
            }
        }
        let Items { columns, output, plain: _ } = items;
        let mut fields = Vec::new();
        match &output {
            Output::Each(expressions) => {
                expressions.iter().for_each(|expression| expression.fields(&mut fields));
                query.limit = limit.map(|limit| limit.saturating_add(offset));
            }
            Output::All(aggregates) => {
                if !self.order.is_empty() {
                    return Err(refused(self.at, "ORDER BY of one row", "leave it out"));
                }
                aggregates.iter().for_each(|aggregate| aggregate.fields(&mut fields));
            }
        }
        query.select = Some(fields.into_iter().map(str::to_owned).collect());
        Ok(Select {
            table: table.map(|table| table.name().to_owned()),
            columns,
            output,
            query,
            offset,
            limit,
        })
    }
}

// The parser's own spans go down the tree, which may be deeper than a stack.

/// Where a query begins, if that is known.
fn query_place(query: &ast::Query) -> Location {
    match (&query.with, &*query.body) {
        (Some(with), _) => with.with_token.0.span.start,
        (None, SetExpr::Select(select)) => select.select_token.0.span.start,
        _ => Location::empty(),
    }
}

fn item_place(item: &SelectItem) -> Location {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => sql::place(expr),
        SelectItem::Wildcard(options) => options.wildcard_token.0.span.start,
        _ => Location::empty(),
    }
}

/// Refuses the first thing that is there.
pub(crate) fn refuse_rest(at: Location, rest: &[(&str, &str, bool)]) -> Result<(), Error> {
    match rest.iter().find(|(.., there)| *there) {
        None => Ok(()),
        Some((what, remedy, _)) => Err(refused(at, what, remedy)),
    }
}

fn limits(at: Location, clause: Option<&LimitClause>) -> Result<(Option<&Expr>, Option<&Expr>), Error> {
    match clause {
        None => Ok((None, None)),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
            Ok((limit.as_ref(), offset.as_ref().map(|offset| &offset.value)))
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => Ok((Some(limit), Some(offset))),
        Some(LimitClause::LimitOffset { .. }) => Err(refused(at, "LIMIT BY", "write LIMIT alone")),
    }
}

/// The name of the only table.
pub(crate) fn table_name(from: &TableWithJoins) -> Result<&str, Error> {
    let at = match &from.relation {
        TableFactor::Table { name, .. } => name.span().start,
        _ => Location::empty(),
    };
    match &from.relation {
        TableFactor::Table {
            name,
            alias: None,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => plain_name(name),
        TableFactor::Table { alias: Some(_), .. } => Err(refused(
            at,
            "another name for a table",
            "there is one table, so its columns need no name before them",
        )),
        TableFactor::Derived { .. } => Err(refused(at, "a query behind FROM", "ask the inner query first")),
        _ => Err(wrong(at, "behind FROM stands the name of a table")),
    }
}

/// A count behind LIMIT or OFFSET; none if it is negative, as SQLite has it.
fn count(context: Context<'_>, expr: &Expr, word: &str) -> Result<Option<u64>, Error> {
    use keyloom_key::Value;
    match context.constant(expr)? {
        Value::Int(number) => Ok(u64::try_from(number).ok()),
        Value::Uint(number) => Ok(Some(number)),
        other => {
            Err(wrong(sql::place(expr), format!("behind {word} stands a whole number, not {}", other.kind())))
        }
    }
}

/// What stands between SELECT and FROM.
struct Items {
    columns: Vec<String>,
    output: Output,
    /// For each column, which column of the table it is, if it is no more than that.
    plain: Vec<Option<String>>,
}

impl Items {
    fn read(items: &[SelectItem], context: Context<'_>, table: Option<&Table>) -> Result<Self, Error> {
        let (mut columns, mut each, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for item in items {
            let (expr, name) = match item {
                SelectItem::UnnamedExpr(expr) => (expr, None),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value.clone())),
                SelectItem::Wildcard(options) if options.to_string().is_empty() => {
                    let Some(table) = table else {
                        return Err(wrong(item_place(item), "* needs a table: write FROM"));
                    };
                    columns.extend(table.columns().iter().map(|column| column.name.clone()));
                    each.extend(table.columns().iter().map(|column| Expression::Field(column.name.clone())));
                    continue;
                }
                other => {
                    return Err(refused(item_place(other), "this", "write * or name the columns"));
                }
            };
            columns.push(name.unwrap_or_else(|| match expr {
                Expr::Identifier(name) => name.value.clone(),
                other => {
                    sql::expression_text(other).unwrap_or_else(|| format!("column{}", columns.len() + 1))
                }
            }));
            match Aggregate::read(context, expr)? {
                Some(aggregate) => all.push(aggregate),
                None => each.push(context.expression(expr)?),
            }
        }
        let plain = each.iter().map(|expression| match expression {
            Expression::Field(name) => Some(name.clone()),
            _ => None,
        });
        let plain = plain.collect();
        if all.is_empty() {
            return Ok(Self { columns, output: Output::Each(each), plain });
        }
        let at = items.first().map_or(Location::empty(), item_place);
        if !each.is_empty() {
            return Err(refused(
                at,
                "a column beside COUNT, MIN or MAX",
                "there is one row for all records: ask apart",
            ));
        }
        if table.is_none() {
            return Err(wrong(at, "COUNT, MIN and MAX need a table: write FROM"));
        }
        Ok(Self { columns, output: Output::All(all), plain })
    }

    /// A column of the order: by the name that SELECT gives it, its own name, or its number.
    fn order(&self, context: Context<'_>, by: &ast::OrderByExpr) -> Result<OrderBy, Error> {
        let at = sql::place(&by.expr);
        let remedy = "order by a column, which an index can hold";
        if by.with_fill.is_some() {
            return Err(refused(at, "WITH FILL", "leave it out"));
        }
        let place = match &by.expr {
            Expr::Identifier(name) => self.columns.iter().position(|column| *column == name.value),
            Expr::Value(_) => {
                let number =
                    count(context, &by.expr, "ORDER BY")?.and_then(|number| usize::try_from(number).ok());
                let place =
                    number.and_then(|number| number.checked_sub(1)).filter(|at| *at < self.columns.len());
                Some(place.ok_or_else(|| {
                    wrong(at, format!("there is no column number {} to order by", sql::shown(&by.expr)))
                })?)
            }
            _ => None,
        };
        let field = match (place, &by.expr) {
            (Some(place), _) => match self.plain.get(place) {
                Some(Some(field)) => field.clone(),
                _ => return Err(refused(at, &format!("the order by {}", sql::shown(&by.expr)), remedy)),
            },
            (None, Expr::Identifier(name)) => context.column(name)?,
            (None, expr) => {
                return Err(refused(at, &format!("the order by {}", sql::shown(expr)), remedy));
            }
        };
        let direction = match by.options.sort {
            None | Some(OrderBySort::Asc) => Direction::Ascending,
            Some(OrderBySort::Desc) => Direction::Descending,
            _ => return Err(refused(at, "USING", "write ASC or DESC")),
        };
        let nulls = match (by.options.nulls_first, direction) {
            (Some(true), _) | (None, Direction::Ascending) => Nulls::First,
            (Some(false), _) | (None, Direction::Descending) => Nulls::Last,
        };
        Ok(OrderBy { field, direction, nulls })
    }
}

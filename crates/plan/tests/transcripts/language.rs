//! The few words that transcripts are written in: tables a line a column, queries as SQL says them.

use std::collections::BTreeMap;
use std::ops::Bound;

use keyloom_key::{Direction, Nulls, Value};
use keyloom_plan::{Error, OrderBy, Plan, Query, Statistics, TreeStatistics, plan};
use keyloom_schema::{Comparison, Index, Predicate, State, Table, field, row};

/// Tables and what is known of them.
#[derive(Default)]
pub struct Session {
    tables: BTreeMap<String, Table>,
    statistics: BTreeMap<String, Statistics>,
}

/// What is said to a command.
pub enum Asked {
    Said(String),
    Plan(Box<Result<Plan, Error>>),
}

impl Session {
    pub fn run(&mut self, command: &str) -> Asked {
        let (first, rest) = command.split_once([' ', '\n']).unwrap_or((command, ""));
        match first {
            "table" => self.table(rest),
            "known" => self.known(rest),
            name => {
                let table = &self.tables[name];
                let query = Words::of(rest).query();
                let known = self.statistics.get(name).cloned().unwrap_or_default();
                Asked::Plan(Box::new(plan(table, &known, &query)))
            }
        }
    }

    fn table(&mut self, text: &str) -> Asked {
        let (name, lines) = text.split_once('\n').unwrap();
        let mut builder = Table::named(name);
        let mut building = None;
        for line in lines.lines().map(str::trim) {
            let (word, rest) = line.split_once(' ').unwrap();
            let list =
                || rest.split(" only ").next().unwrap().split(" covering ").next().unwrap().split(", ");
            let index = || {
                let mut index = Index::on(list());
                if let Some((_, only)) = rest.split_once(" only ") {
                    index = index.only(Words::of(only).conditions());
                }
                if let Some((_, covering)) = rest.split_once(" covering ") {
                    index = index.covering(covering.split(", "));
                }
                index
            };
            builder = match word {
                "key" => builder.key(list()),
                "index" => builder.index(index()),
                "unique" => builder.index(index().unique()),
                "building" => {
                    building = Some(index());
                    builder
                }
                "format" => builder.format(rest.parse().unwrap()),
                "placement" => builder.placement(rest.parse().unwrap()),
                "expires" => builder.expires_by(rest),
                column => match rest.strip_suffix(" null") {
                    Some(kind) => builder.nullable(column, kind),
                    None => builder.column(column, rest),
                },
            };
        }
        let mut table = builder.build().unwrap();
        if let Some(index) = building {
            let (with, index) = table.with_index(index).unwrap();
            assert_eq!(index.state(), State::Building);
            table = with;
        }
        table.number_trees(1);
        let trees = std::iter::once(("primary", table.primary()))
            .chain(table.indexes().iter().map(|index| (index.name(), index.tree())));
        let said = trees.map(|(name, tree)| format!("{} {name} {}\n", tree.id(), tree.text())).collect();
        self.tables.insert(name.to_owned(), table);
        Asked::Said(said)
    }

    /// `known orders TREE ROWS DISTINCT…`
    fn known(&mut self, text: &str) -> Asked {
        let (table, numbers) = text.split_once(' ').unwrap();
        let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        let known = TreeStatistics { rows: numbers[1], distinct: numbers[2..].to_vec(), samples: Vec::new() };
        let statistics = self.statistics.entry(table.to_owned()).or_default();
        statistics.0.insert(u32::try_from(numbers[0]).unwrap(), known);
        Asked::Said(String::new())
    }
}

/// A text, word by word.
struct Words(Vec<String>);

impl Words {
    fn of(text: &str) -> Self {
        let mut words = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(first) = chars.next() {
            let mut word = first.to_string();
            match first {
                ' ' | '\n' => continue,
                '\'' => {
                    word.extend(chars.by_ref().take_while(|c| *c != '\''));
                }
                '<' | '>' => word.extend(chars.next_if(|c| matches!(c, '=' | '>'))),
                '(' | ')' | ',' | '=' => {}
                _ => {
                    while let Some(next) =
                        chars.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
                    {
                        word.push(next);
                    }
                }
            }
            words.push(word);
        }
        words.reverse();
        Self(words)
    }

    fn next(&mut self) -> String {
        self.0.pop().unwrap()
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.0.last().is_some_and(|next| next == word);
        if found {
            self.0.pop();
        }
        found
    }

    fn value(&mut self) -> Value<'static> {
        let word = self.next();
        match word.strip_prefix('\'') {
            Some(text) => Value::from(text.to_owned()),
            None if word == "null" => Value::Null,
            None => Value::from(word.parse::<i64>().unwrap()),
        }
    }

    /// What stands in brackets, with commas between.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut items = Vec::new();
        while !self.take(")") {
            items.push(item(self));
            self.take(",");
        }
        items
    }

    fn conditions(&mut self) -> Predicate {
        let mut all = self.either();
        while self.take("and") {
            all = all.and(self.either());
        }
        all
    }

    fn either(&mut self) -> Predicate {
        let mut any = self.condition();
        while self.take("or") {
            any = any.or(self.condition());
        }
        any
    }

    fn condition(&mut self) -> Predicate {
        if self.take("(") {
            let names = self.list(Self::next);
            let comparison = match self.next().as_str() {
                "<" => Comparison::Less,
                "<=" => Comparison::LessOrEqual,
                ">" => Comparison::Greater,
                _ => Comparison::GreaterOrEqual,
            };
            assert!(self.take("("));
            return row(names).compare(comparison, self.list(Self::value));
        }
        let name = field(self.next());
        match self.next().as_str() {
            "=" => name.eq(self.value()),
            "<>" => name.ne(self.value()),
            "<" => name.lt(self.value()),
            "<=" => name.le(self.value()),
            ">" => name.gt(self.value()),
            ">=" => name.ge(self.value()),
            "begins" => name.begins_with(self.value()),
            "between" => {
                let lower = self.value();
                assert!(self.take("and"));
                name.range(Bound::Included(lower), Bound::Included(self.value()))
            }
            "upto" => name.is_in(0..self.next().parse::<i64>().unwrap()),
            "in" => {
                assert!(self.take("("));
                name.is_in(self.list(Self::value))
            }
            "is" if self.take("null") => name.is_null(),
            _ => {
                assert!(self.take("not") && self.take("null") || self.take("null"));
                name.is_not_null()
            }
        }
    }

    fn query(&mut self) -> Query {
        let mut query = Query::new();
        while let Some(word) = self.0.pop() {
            query = match word.as_str() {
                "where" => query.filter(self.conditions()),
                "limit" => query.limit(self.next().parse().unwrap()),
                "scan" => query.allow_scan(),
                "select" => {
                    let mut names = vec![self.next()];
                    while self.take(",") {
                        names.push(self.next());
                    }
                    query.select(names.iter().map(String::as_str))
                }
                _ => {
                    assert!(self.take("by"), "{word}");
                    let mut query = query.ordered(self.order());
                    while self.take(",") {
                        query = query.ordered(self.order());
                    }
                    query
                }
            };
        }
        query
    }

    fn order(&mut self) -> OrderBy {
        let field = self.next();
        let (direction, mut nulls) = if self.take("desc") {
            (Direction::Descending, Nulls::Last)
        } else {
            (Direction::Ascending, Nulls::First)
        };
        if self.take("nulls") {
            nulls = if self.next() == "first" { Nulls::First } else { Nulls::Last };
        }
        OrderBy { field, direction, nulls }
    }
}

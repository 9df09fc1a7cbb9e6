//! Random tables, records and queries that mean the same to SQLite.
//!
//! Every query orders totally. Values are such that both calculate exactly: decimals are quarters, and divided only by
//! powers of two.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

/// A table, and what is done with it.
#[derive(Debug)]
pub struct Case {
    /// The statements that make the table and its indexes, for us.
    pub ours: String,
    /// The same for SQLite, which needs no indexes to answer.
    pub theirs: String,
    /// What is done with it.
    pub steps: Vec<Step>,
}

/// What is done with a table.
#[derive(Debug)]
pub enum Step {
    /// `BEGIN`, `COMMIT` or `ROLLBACK`.
    Transaction(&'static str),
    /// A statement that writes. An INSERT may meet a record that is there, but not within a transaction: it would end
    /// ours and not SQLite's.
    Write(String),
    /// A query.
    Query(String),
}

/// A value as both can be compared.
#[derive(Debug, PartialEq)]
pub enum Common {
    /// None.
    Null,
    /// Any number; truth is 1 or 0.
    Number(f64),
    /// A text.
    Text(String),
}

impl Case {
    /// The case of this number.
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let schema = Schema::new(&mut dice);
        let (ours, theirs) = schema.create(&mut dice);
        let mut steps = Vec::new();
        for step in 0..60 {
            // Some of it within a transaction, which sees its own writes.
            let begin = [(20, "BEGIN"), (35, "ROLLBACK"), (40, "BEGIN"), (50, "COMMIT")];
            if let Some((_, statement)) = begin.iter().find(|(at, _)| *at == step) {
                steps.push(Step::Transaction(statement));
            }
            steps.push(if step < 8 || dice.one_in(3) {
                let within = (20..35).contains(&step) || (40..50).contains(&step);
                let may_be = |write: &String| {
                    !within || !write.starts_with("INSERT INTO") || write.contains("ON CONFLICT")
                };
                Step::Write((0..).map(|_| schema.write(&mut dice)).find(may_be).unwrap())
            } else {
                Step::Query(schema.select(&mut dice))
            });
        }
        Self { ours, theirs, steps }
    }
}

/// Numbers that look random and are the same for a seed (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[usize::try_from(self.roll(list.len() as u64)).unwrap()]
    }

    /// Some of a list, in any order.
    fn some<T: Clone>(&mut self, list: &[T], most: usize) -> Vec<T> {
        let mut left = list.to_vec();
        let count = 1 + usize::try_from(self.roll(most.min(left.len()) as u64)).unwrap();
        (0..count)
            .map(|_| {
                let at = usize::try_from(self.roll(left.len() as u64)).unwrap();
                left.remove(at)
            })
            .collect()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Int,
    Text,
    NoCase,
    Decimal,
    Double,
}

#[derive(Clone)]
struct Column {
    name: &'static str,
    kind: Kind,
    key: bool,
}

impl Column {
    fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text | Kind::NoCase)
    }

    fn literal(&self, dice: &mut Dice) -> String {
        let number = i64::try_from(dice.roll(13)).unwrap() - 6;
        match self.kind {
            Kind::Int => number.to_string(),
            // Written with a point, so that it is no integer for SQLite.
            Kind::Decimal => format!("{:.2}", number as f64 / 4.0),
            Kind::Double => format!("{:.1}", number as f64 / 10.0),
            Kind::Text | Kind::NoCase => {
                format!("'{}'", dice.pick(&["", "a", "A", "ab", "aB", "b", "ba", "  b ", "zz", "é"]))
            }
        }
    }

    fn value(&self, dice: &mut Dice) -> String {
        if !self.key && dice.one_in(4) { "NULL".to_owned() } else { self.literal(dice) }
    }
}

struct Schema {
    columns: Vec<Column>,
    key: Vec<Column>,
}

impl Schema {
    fn new(dice: &mut Dice) -> Self {
        let kinds = [Kind::Int, Kind::Text, Kind::NoCase, Kind::Decimal, Kind::Double];
        let names = ["a", "b", "c", "d", "e", "f"];
        let mut columns: Vec<Column> =
            names.iter().map(|name| Column { name, kind: *dice.pick(&kinds), key: false }).collect();
        // Of every kind at least one can be asked for.
        columns[4].kind = Kind::Int;
        columns[5].kind = Kind::Text;
        let keys = 1 + usize::try_from(dice.roll(3)).unwrap();
        columns.iter_mut().take(keys).for_each(|column| column.key = true);
        let mut key: Vec<Column> = columns[..keys].to_vec();
        if dice.one_in(2) {
            key.reverse();
        }
        Self { columns, key }
    }

    /// The statements that make it, for us and for SQLite.
    fn create(&self, dice: &mut Dice) -> (String, String) {
        let (mut ours, mut theirs) = (String::new(), String::new());
        for column in &self.columns {
            let (our, their) = match column.kind {
                Kind::Int => ("INTEGER", "INTEGER"),
                Kind::Text => ("TEXT", "TEXT"),
                Kind::NoCase => ("TEXT COLLATE NOCASE", "TEXT COLLATE NOCASE"),
                Kind::Decimal => ("DECIMAL", "REAL"),
                Kind::Double => ("DOUBLE", "REAL"),
            };
            let null = if column.key { " NOT NULL" } else { "" };
            ours += &format!("{} {our}{null}, ", column.name);
            theirs += &format!("{} {their}{null}, ", column.name);
        }
        let direction = |dice: &mut Dice| if dice.one_in(3) { " DESC" } else { "" };
        let key: Vec<String> = self.key.iter().map(|c| format!("{}{}", c.name, direction(dice))).collect();
        let plain: Vec<&str> = self.key.iter().map(|column| column.name).collect();
        let shards = if dice.one_in(4) { " WITH (shards = 3)" } else { "" };
        let mut ours = format!("CREATE TABLE t ({ours}PRIMARY KEY ({})){shards};", key.join(", "));
        let theirs = format!("CREATE TABLE t ({theirs}PRIMARY KEY ({})) WITHOUT ROWID", plain.join(", "));
        for number in 0..dice.roll(4) {
            let parts = dice.some(&self.columns, 3);
            let parts: Vec<String> = parts.iter().map(|c| format!("{}{}", c.name, direction(dice))).collect();
            let include = if dice.one_in(3) { " INCLUDE (e, f)" } else { "" };
            let only = if dice.one_in(4) { " WHERE e > 0" } else { "" };
            ours += &format!("CREATE INDEX i{number} ON t ({}){include}{only};", parts.join(", "));
        }
        (ours, theirs)
    }

    fn of(&self, dice: &mut Dice, wanted: impl Fn(&Column) -> bool) -> Column {
        let fitting: Vec<Column> = self.columns.iter().filter(|column| wanted(column)).cloned().collect();
        dice.pick(&fitting).clone()
    }

    fn rows(&self, dice: &mut Dice) -> String {
        let rows: Vec<String> = (0..=dice.roll(6))
            .map(|_| {
                let values: Vec<String> = self.columns.iter().map(|column| column.value(dice)).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        rows.join(", ")
    }

    /// A statement that writes.
    fn write(&self, dice: &mut Dice) -> String {
        let free: Vec<Column> = self.columns.iter().filter(|column| !column.key).cloned().collect();
        let sets = |dice: &mut Dice, excluded: bool| {
            let sets: Vec<String> = dice
                .some(&free, 2)
                .iter()
                .map(|column| match column.kind {
                    _ if excluded && dice.one_in(2) => format!("{0} = excluded.{0}", column.name),
                    Kind::Int => format!("{} = {}", column.name, self.int(dice, 2)),
                    Kind::Text | Kind::NoCase => {
                        format!("{} = substr({}, 1, 3)", column.name, self.text(dice, 2))
                    }
                    _ => format!("{} = {}", column.name, column.value(dice)),
                })
                .collect();
            sets.join(", ")
        };
        match dice.roll(8) {
            0 => format!("DELETE FROM t WHERE {}", self.condition(dice, 2)),
            1 | 2 => format!("UPDATE t SET {} WHERE {}", sets(dice, false), self.condition(dice, 2)),
            3 => format!("INSERT INTO t VALUES {}", self.rows(dice)),
            4 => format!("INSERT OR REPLACE INTO t VALUES {}", self.rows(dice)),
            5 => format!("INSERT INTO t VALUES {} ON CONFLICT DO NOTHING", self.rows(dice)),
            6 => {
                let key: Vec<&str> = self.key.iter().map(|column| column.name).collect();
                let (rows, sets) = (self.rows(dice), sets(dice, true));
                format!("INSERT INTO t VALUES {rows} ON CONFLICT ({}) DO UPDATE SET {sets}", key.join(", "))
            }
            _ => format!("INSERT OR IGNORE INTO t VALUES {}", self.rows(dice)),
        }
    }

    /// What can stand behind WHERE.
    fn condition(&self, dice: &mut Dice, depth: u64) -> String {
        if depth > 0 && dice.one_in(2) {
            let (a, b) = (self.condition(dice, depth - 1), self.condition(dice, depth - 1));
            return match dice.roll(5) {
                0 => format!("({a} OR {b})"),
                1 => format!("NOT ({a})"),
                _ => format!("({a} AND {b})"),
            };
        }
        let column = dice.pick(&self.columns).clone();
        let name = column.name;
        let value = column.literal(dice);
        match dice.roll(12) {
            0 => format!("{name} IS NULL"),
            1 => format!("{name} IS NOT NULL"),
            2 => format!("{name} BETWEEN {value} AND {}", column.literal(dice)),
            3 => format!("{name} IN ({value}, {}, {})", column.literal(dice), column.value(dice)),
            4 => format!("{name} NOT IN ({value}, {})", column.literal(dice)),
            5 => {
                let text = self.of(dice, |column| column.kind == Kind::Text);
                format!("{} LIKE '{}%'", text.name, dice.pick(&["", "a", "A", "b", "ab"]))
            }
            6 => {
                let other = dice.pick(&self.columns).clone();
                if other.name == name {
                    return format!("{value} <= {name}");
                }
                let sign = dice.pick(&["<", "<=", ">", ">=", "="]);
                format!("({name}, {}) {sign} ({value}, {})", other.name, other.literal(dice))
            }
            _ => format!("{name} {} {value}", dice.pick(&["=", "=", "<>", "<", "<=", ">", ">="])),
        }
    }

    fn int(&self, dice: &mut Dice, depth: u64) -> String {
        if depth == 0 || dice.one_in(4) {
            return match dice.one_in(3) {
                true => format!("{}", dice.roll(9)),
                false => self.of(dice, |column| column.kind == Kind::Int).name.to_owned(),
            };
        }
        let (a, b) = (self.int(dice, depth - 1), self.int(dice, depth - 1));
        match dice.roll(12) {
            0 => format!("({a} - {b})"),
            1 => format!("({a} * {b})"),
            2 => format!("({a} / {b})"),
            3 => format!("({a} % {b})"),
            4 => format!("(-{a})"),
            5 => format!("abs({a})"),
            6 => format!("length({})", self.text(dice, depth - 1)),
            7 => format!("instr({}, {})", self.text(dice, depth - 1), self.text(dice, 0)),
            8 => format!("COALESCE({a}, {b}, 1)"),
            9 => format!("NULLIF({a}, {b})"),
            10 => format!("CASE WHEN {} THEN {a} ELSE {b} END", self.truth(dice, depth - 1)),
            _ => format!("({a} + {b})"),
        }
    }

    fn number(&self, dice: &mut Dice, depth: u64) -> String {
        let columns =
            || self.columns.iter().filter(|column| matches!(column.kind, Kind::Decimal | Kind::Double));
        if columns().next().is_none() {
            return self.int(dice, depth);
        }
        if depth == 0 || dice.one_in(4) {
            return self
                .of(dice, |column| matches!(column.kind, Kind::Decimal | Kind::Double))
                .name
                .to_owned();
        }
        let a = self.number(dice, depth - 1);
        match dice.roll(7) {
            0 => format!("({a} - {})", self.int(dice, depth - 1)),
            1 => format!("({a} * {})", self.int(dice, 0)),
            2 => format!("({a} / 2)"),
            3 => format!("CAST({a} AS INTEGER)"),
            4 => format!("abs({a})"),
            5 => format!("COALESCE({a}, 0.5)"),
            _ => format!("({a} + {})", self.number(dice, depth - 1)),
        }
    }

    fn text(&self, dice: &mut Dice, depth: u64) -> String {
        if depth == 0 || dice.one_in(4) {
            return match dice.one_in(3) {
                true => "'xaB '".to_owned(),
                false => self.of(dice, |column| column.is_text()).name.to_owned(),
            };
        }
        let a = self.text(dice, depth - 1);
        match dice.roll(9) {
            0 => format!("trim({a})"),
            1 => format!("replace({a}, 'a', 'cc')"),
            2 => format!("substr({a}, {}, {})", self.int(dice, 1), self.int(dice, 0)),
            3 => format!("substr({a}, {})", self.int(dice, 1)),
            4 => format!("ltrim(rtrim({a}))"),
            5 => format!("IFNULL({a}, 'none')"),
            6 => format!("CAST({} AS TEXT)", self.int(dice, 1)),
            7 => {
                let column = self.of(dice, Column::is_text);
                format!("CASE {} WHEN 'A' THEN {a} WHEN 'b' THEN 'x' END", column.name)
            }
            _ => format!("({a} || {})", self.int(dice, 0)),
        }
    }

    fn truth(&self, dice: &mut Dice, depth: u64) -> String {
        if depth > 0 && dice.one_in(2) {
            let (a, b) = (self.truth(dice, depth - 1), self.truth(dice, depth - 1));
            return match dice.roll(3) {
                0 => format!("({a} OR {b})"),
                1 => format!("(NOT {a})"),
                _ => format!("({a} AND {b})"),
            };
        }
        let sign = *dice.pick(&["=", "<>", "<", "<=", ">", ">="]);
        match dice.roll(6) {
            0 => format!("({} {sign} {})", self.int(dice, depth), self.number(dice, depth)),
            1 => format!("({} {sign} {})", self.number(dice, depth), self.number(dice, depth)),
            2 => format!("({} IS NULL)", self.text(dice, depth)),
            3 => {
                format!("({} BETWEEN {} AND {})", self.int(dice, depth), self.int(dice, 0), self.int(dice, 0))
            }
            4 => {
                let column = dice.pick(&self.columns).clone();
                format!("({} IN ({}, {}))", column.name, column.value(dice), column.literal(dice))
            }
            _ => {
                let column = self.of(dice, Column::is_text);
                format!("({} {sign} {})", column.name, column.literal(dice))
            }
        }
    }

    fn select(&self, dice: &mut Dice) -> String {
        let condition = match dice.one_in(8) {
            true => String::new(),
            false => format!(" WHERE {}", self.condition(dice, 3)),
        };
        if dice.one_in(6) {
            let column = self.of(dice, |column| column.kind != Kind::NoCase).name;
            let all = [
                format!("MIN({column})"),
                format!("MAX({column})"),
                format!("COUNT({column})"),
                "COUNT(*)".into(),
            ];
            return format!("SELECT {} FROM t{condition}", dice.some(&all, 3).join(", "));
        }
        let items: Vec<String> = (0..=dice.roll(3))
            .map(|_| match dice.roll(6) {
                0 => "*".to_owned(),
                1 => self.int(dice, 3),
                2 => self.text(dice, 3),
                3 => self.truth(dice, 2),
                4 => self.number(dice, 3),
                _ => dice.pick(&self.columns).name.to_owned(),
            })
            .collect();
        let mut order = if dice.one_in(3) { Vec::new() } else { dice.some(&self.columns, 3) };
        order.extend(self.key.iter().cloned());
        let order: Vec<String> = order
            .iter()
            .map(|column| {
                let direction = dice.pick(&["", "", " DESC"]);
                let nulls = dice.pick(&["", "", "", " NULLS FIRST", " NULLS LAST"]);
                format!("{}{direction}{nulls}", column.name)
            })
            .collect();
        let limit = match dice.roll(4) {
            0 => format!(" LIMIT {}", dice.roll(9)),
            1 => format!(" LIMIT {} OFFSET {}", dice.roll(9), dice.roll(5)),
            _ => String::new(),
        };
        format!("SELECT {} FROM t{condition} ORDER BY {}{limit}", items.join(", "), order.join(", "))
    }
}

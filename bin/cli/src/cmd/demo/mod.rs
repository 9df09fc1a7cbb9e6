//! `keyloom demo`: what Keyloom does, on a hundred thousand orders in a file that is kept.

mod orders;
mod show;

use std::time::Instant;

use keyloom::sql::{Answer, Error, Session};
use keyloom::{Database, Location, MemoryStore, UrlStore, Wait};

use crate::failure::Failure;
use crate::open;
use crate::output::text;
use crate::progress::{Progress, Unit};
use orders::{ORDERS, TABLE, order};
use show::Show;

/// The index that the refused query asks for.
const REFUSED: &str = "orders_by_city_amount";

/// What `keyloom demo` is asked.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  keyloom demo\n\n\
    The orders stay in the file, and a second run asks the same of them. A file that has other tables is left alone.")]
pub(crate) struct Demo {
    /// The database that it makes and keeps
    #[arg(default_value = "keyloom-demo.klm")]
    file: String,
    /// Makes the orders anew, as they were at first
    #[arg(long)]
    force: bool,
}

impl Demo {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let database = open::existing_or_new(&self.file)?;
        self.check(&database)?;
        let mut demo = Running { session: Session::new(database), show: Show::new() };
        demo.prepare(&self.file, self.force)?;
        demo.ask()?;
        demo.refuse()?;
        if open::locate(&self.file)?.location != Location::Memory {
            demo.tell_next(&self.file)?;
        }
        Ok(())
    }

    /// Refuses a database that somebody uses for something else.
    fn check(&self, database: &Database<UrlStore>) -> Result<(), Failure> {
        let other = |what: String| {
            let file = &self.file;
            Err(Failure::Failed(format!(
                "{file} is not a demo: {what}\nname another file: keyloom demo FILE"
            )))
        };
        match database.tables().as_slice() {
            [] => Ok(()),
            [one] if one == "orders" => {
                let model = Database::open(MemoryStore::new()).wait()?;
                model.define(TABLE).wait()?;
                let declared = model.table(one).wait()?.definition()?.without_index("orders_by_status");
                let stored = database.table(one).wait()?.definition()?;
                stored.compare(&declared).or_else(|error| other(error.to_string()))
            }
            others => other(format!("it has the tables {}", others.join(", "))),
        }
    }
}

/// A demo on its way.
struct Running {
    session: Session<UrlStore>,
    show: Show,
}

impl Running {
    /// Makes the table, or finds it.
    fn prepare(&mut self, file: &str, force: bool) -> Result<(), Failure> {
        if force {
            self.session.run("DROP TABLE IF EXISTS orders").wait()?;
        }
        if self.session.database().tables().is_empty() {
            self.session.run(TABLE).wait()?;
        }
        self.show.line(format!("A year of orders, in {file}. A record's key is its fields in a row:\n"))?;
        self.show.statement(TABLE)?;
        let start = Instant::now();
        let table = self.session.database().table("orders").wait()?;
        let first = self.session.run("SELECT order_id FROM orders LIMIT 1").wait()?;
        if matches!(first.as_slice(), [Answer::Rows { rows, .. }] if rows.is_empty()) {
            let progress = Progress::new("loading", Unit::Rows, Some(ORDERS));
            let orders = (1..=ORDERS).inspect(|id| progress.set(*id)).map(order);
            table.load(orders, |_| ()).wait()?;
            drop(progress);
            self.show.took("100,000 orders of 1,000 users are loaded and synced", start.elapsed())
        } else {
            // What the last run created, so that this one has something to refuse.
            self.session.run(&format!("DROP INDEX IF EXISTS {REFUSED} ON orders")).wait()?;
            self.session
                .run("CREATE INDEX IF NOT EXISTS orders_by_status ON orders (status, order_date DESC)")
                .wait()?;
            self.show.line("   The orders of an earlier run are there; --force makes them anew.")
        }
    }

    /// Questions that a key answers.
    fn ask(&mut self) -> Result<(), Failure> {
        let known = order(41_026);
        let field = |name| known.get(name).map(text).unwrap_or_default();
        let (user, date, id) = (field("user_id"), field("order_date"), field("order_id"));

        self.show.heading("One order: the whole key")?;
        self.answer(&format!(
            "SELECT name, city, status, amount FROM orders\n\
             WHERE user_id = '{user}' AND order_date = '{date}' AND order_id = {id}"
        ))?;
        self.show.heading("All orders of a user: the key's beginning")?;
        self.answer(&format!(
            "SELECT order_date, order_id, status, amount FROM orders\nWHERE user_id = '{user}'"
        ))?;
        self.show.heading("A month of them: a range behind the beginning")?;
        self.answer(&format!(
            "SELECT order_date, order_id, status, amount FROM orders\n\
             WHERE user_id = '{user}' AND order_date BETWEEN '2025-06-01' AND '2025-06-30'"
        ))?;
        self.show.heading("The newest three: the same keys, backward")?;
        self.answer(&format!(
            "SELECT order_date, order_id, status, amount FROM orders\n\
             WHERE user_id = '{user}' ORDER BY order_date DESC, order_id DESC LIMIT 3"
        ))?;
        self.show.heading("What was returned last, whoever ordered it: an index")?;
        self.answer(
            "SELECT order_date, user_id, name, amount FROM orders\n\
             WHERE status = 'returned' ORDER BY order_date DESC LIMIT 3",
        )?;
        self.show.heading("Page by page: the next begins behind the last row, however far that is")?;
        let page = format!("SELECT order_date, order_id, amount FROM orders\nWHERE user_id = '{user}'");
        let last = self.answer(&format!("{page} ORDER BY order_date, order_id LIMIT 3"))?;
        let [date, id, ..] = last.as_slice() else { return Ok(()) };
        self.answer(&format!(
            "{page} AND (order_date, order_id) > ('{date}', {id})\nORDER BY order_date, order_id LIMIT 3"
        ))?;
        Ok(())
    }

    /// A question that no key answers, and the index that does.
    fn refuse(&mut self) -> Result<(), Failure> {
        let statement = "SELECT amount, order_date, user_id, name FROM orders\n\
                         WHERE city = 'Lisbon' ORDER BY amount DESC LIMIT 3";
        self.show.heading("No key begins with a city: this would read every order, and is refused")?;
        self.show.statement(statement)?;
        let refusal = match self.session.run(statement).wait() {
            Err(Error::Refused(refusal)) => refusal,
            Err(error) => return Err(error.into()),
            // An index that somebody made serves it.
            Ok(_) => return self.answer(statement).map(drop),
        };
        self.show.refusal(&refusal.to_string())?;
        let Some(advice) = &refusal.index else { return Ok(()) };
        self.show.heading("With the index that it asks for, it reads three entries")?;
        self.show.statement(advice)?;
        let start = Instant::now();
        self.session.run(advice).wait()?;
        self.show.took("the index is filled", start.elapsed())?;
        self.answer(statement).map(drop)
    }

    /// Shows a statement, its plan, its first rows and its time; returns the last row as text.
    fn answer(&mut self, statement: &str) -> Result<Vec<String>, Failure> {
        self.show.statement(statement)?;
        let plans = self.session.run(&format!("EXPLAIN {statement}")).wait()?;
        for plan in plans.iter().filter_map(|answer| match answer {
            Answer::Explained(plans) => Some(plans),
            _ => None,
        }) {
            plan.iter().try_for_each(|plan| self.show.plan(&plan.explain()))?;
        }
        let start = Instant::now();
        let answers = self.session.run(statement).wait()?;
        let time = start.elapsed();
        let [Answer::Rows { columns, rows, examined }] = answers.as_slice() else { return Ok(Vec::new()) };
        self.show.rows(columns, rows)?;
        let count = rows.len();
        let word = if count == 1 { "row" } else { "rows" };
        self.show.took(&format!("{count} {word}, {} examined,", examined.rows), time)?;
        Ok(rows.last().map(|row| row.iter().map(text).collect()).unwrap_or_default())
    }

    /// What to try on the file.
    fn tell_next(&mut self, file: &str) -> Result<(), Failure> {
        let file = quoted(file);
        self.show.end("Your turn: the orders stay in the file")?;
        for (command, what) in [
            (format!("keyloom {file}"), "a shell; .help tells more"),
            (format!("keyloom sql {file} \"SELECT * FROM orders WHERE user_id = 'U42'\""), ""),
            (format!("keyloom stats {file}"), "its size, its largest users"),
            (format!("keyloom report {file} -o report.html"), "the same to look at"),
            (format!("keyloom verify {file}"), "every index against its table"),
        ] {
            self.show.line(format!("   {command:<46}  {what}").trim_end())?;
        }
        Ok(())
    }
}

/// A file's name as a shell takes it.
fn quoted(file: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/:".contains(letter);
    if file.chars().all(is_plain) { file.to_owned() } else { format!("'{}'", file.replace('\'', "'\\''")) }
}

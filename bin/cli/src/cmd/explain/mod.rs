//! `keyloom explain`: how a statement would be answered, which bytes are read for it, and what bounds them.

mod value;

use std::io::{Write, stdout};

use keyloom::Wait;
use keyloom::plan::Plan;
use keyloom::sql::{self, Parameters, Session, Statement};
use serde_json::{Value as Json, json};

use crate::failure::Failure;
use crate::{open, output};

/// What `keyloom explain` is asked.
#[derive(clap::Args)]
#[command(
    after_help = "A statement that no index bounds is refused: the index that it lacks is told, and the exit code is 1.

Examples:
  keyloom explain shop.klm \"SELECT * FROM orders WHERE user_id = 'U1' ORDER BY day DESC LIMIT 10\"
  keyloom explain shop.klm --format json \"DELETE FROM orders WHERE status = 'void'\""
)]
pub(crate) struct Explain {
    /// The database: a file, or `memory:`
    url: String,
    /// The statements, with or without EXPLAIN before them; nothing is run
    #[arg(value_name = "SQL")]
    sql: String,
    /// In which form plans are printed
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

/// In which form plans are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// In words, for people
    Text,
    /// One array with an object for each statement
    Json,
}

impl Explain {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let session = Session::new(open::existing(&self.url)?);
        let statements = sql::parse(&self.sql)?;
        if statements.is_empty() {
            return Err(Failure::Misuse("there is no statement to explain".to_owned()));
        }
        let several = statements.len() > 1;
        let (mut refused, mut objects, mut out) = (false, Vec::new(), stdout());
        for statement in &statements {
            let plans = match session.explain(statement, &Parameters::new()).wait() {
                Ok(plans) => Ok(plans),
                Err(sql::Error::Refused(refusal)) => {
                    refused = true;
                    Err(refusal)
                }
                Err(error) if several => return Err(error.on_line(statement.line()).into()),
                Err(error) => return Err(error.into()),
            };
            match self.format {
                Form::Json => objects.push(value::of_statement(statement, &plans)),
                Form::Text => {
                    if several {
                        writeln!(out, "{}", heading(statement))?;
                    }
                    match &plans {
                        Ok(plans) => out.write_all(words(plans).as_bytes())?,
                        Err(_) if several => writeln!(out, "refused")?,
                        Err(_) => {}
                    }
                    if several {
                        writeln!(out)?;
                    }
                }
            }
            if let Err(refusal) = plans {
                out.flush()?;
                anstream::eprintln!("{refusal}");
            }
        }
        if self.format == Form::Json {
            output::print_json(&Json::Array(objects))?;
        }
        if refused { Err(Failure::Reported) } else { Ok(()) }
    }
}

/// The statement on one line, as a remark.
fn heading(statement: &Statement) -> String {
    let text = statement.text().split_whitespace().collect::<Vec<_>>().join(" ");
    format!("-- line {}: {text}", statement.line())
}

fn words(plans: &[Plan]) -> String {
    match plans {
        [] => "read      nothing\n".to_owned(),
        plans => plans.iter().map(Plan::explain).collect::<Vec<_>>().join("\n"),
    }
}

/// A predicate or nothing, as JSON has it.
fn text_or_null(text: Option<impl ToString>) -> Json {
    text.map_or(Json::Null, |text| json!(text.to_string()))
}

//! The queries that advice is for.

use std::io::Read;
use std::path::Path;

use keyloom::plan::{Error as PlanError, Query, Statistics, plan};
use keyloom::sql::{self, Parameters, Session};
use keyloom::{Database, UrlStore, Wait};

use crate::failure::Failure;

/// One read of a statement.
pub(crate) struct Asked {
    /// The line that the statement begins on.
    pub(crate) line: u64,
    /// The statement on one line.
    pub(crate) text: String,
    pub(crate) table: String,
    pub(crate) query: Query,
}

/// The text of a file, or of the standard input.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// What the statements of a text ask; those that ask nothing are passed over.
pub(crate) fn parse(database: &Database<UrlStore>, text: &str) -> Result<Vec<Asked>, Failure> {
    let session = Session::new(database.clone());
    let mut asked = Vec::new();
    for statement in sql::parse(text)? {
        let queries = session.queries(&statement, &Parameters::new()).wait();
        let queries = queries.map_err(|error| error.on_line(statement.line()))?;
        for (table, query) in queries {
            let definition = database.table(&table).wait()?.definition()?;
            // What cannot be asked at all is said of its line, not of the whole file.
            match plan(&definition, &Statistics::default(), &query) {
                Ok(_) | Err(PlanError::Refused(_)) => {}
                Err(error) => return Err(Failure::Failed(format!("line {}: {error}", statement.line()))),
            }
            let text = statement.text().split_whitespace().collect::<Vec<_>>().join(" ");
            asked.push(Asked { line: statement.line(), text, table, query });
        }
    }
    if asked.is_empty() {
        return Err(Failure::Failed(
            "no statement asks anything of a table: there is nothing to advise on".to_owned(),
        ));
    }
    Ok(asked)
}

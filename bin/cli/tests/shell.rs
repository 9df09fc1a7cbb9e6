//! The shell at a real terminal: each test types into a pseudo-terminal and reads what comes back.
//!
//! Sixty seconds without an answer end a test that hangs; no test passes by time.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use rexpect::reader::Options;
use rexpect::session::{PtySession, spawn_with_options};
use tempfile::TempDir;

/// The up arrow.
const UP: &str = "\x1b[A";

/// A folder for a database and for what the shell remembers.
struct Home(TempDir);

/// A shell in a terminal.
struct Shell(PtySession);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("XDG_STATE_HOME", self.file("state"))
            .env("NO_COLOR", "1")
            .env("TERM", "xterm");
        command
    }

    /// Starts a command in a terminal.
    fn terminal(&self, arguments: &[&str]) -> Shell {
        let options = Options::new().timeout_ms(Some(60_000)).strip_ansi_escape_codes(true);
        Shell(spawn_with_options(self.command(arguments), options).unwrap())
    }

    /// Opens the shell on `shop.klm`.
    fn shell(&self) -> Shell {
        let mut shell = self.terminal(&["shop.klm"]);
        shell.is_ready();
        shell
    }

    /// A file that processes which write lock, one after the other.
    fn lock(&self, name: &str) -> File {
        File::options().write(true).open(self.file(&format!("shop.klm.{name}"))).unwrap()
    }

    /// Runs statements apart from the shell, and returns what they print.
    fn sql(&self, statements: &str) -> String {
        let output = self.command(&["sql", "--allow-scan", "shop.klm", statements]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A table of so many records.
    fn filled(&self, records: usize) {
        self.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
        for start in (0..records).step_by(1_000) {
            let values: Vec<String> = (start..start + 1_000).map(|id| format!("({id}, {id})")).collect();
            self.sql(&format!("INSERT INTO t VALUES {}", values.join(", ")));
        }
    }
}

impl Shell {
    /// Waits until this is on the terminal; what came before it.
    fn sees(&mut self, text: &str) -> String {
        self.0.exp_string(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn types(&mut self, keys: &str) {
        self.0.send(keys).unwrap();
        self.0.flush().unwrap();
    }

    /// Types a line, and waits until this is answered and the shell is ready again.
    fn asks(&mut self, line: &str, answer: &str) {
        self.types(&format!("{line}\r"));
        self.sees(answer);
        self.is_ready();
    }

    /// Waits for the prompt of a line that is empty as yet.
    fn is_ready(&mut self) {
        self.sees("shop> \r");
    }

    fn control(&mut self, key: char) {
        self.0.send_control(key).unwrap();
    }

    /// How it ends, once it has.
    fn ends(&mut self) -> i32 {
        self.0.exp_eof().unwrap();
        // Its type is of a crate that is not named here: `Exited(Pid(7), 0)`.
        let status = format!("{:?}", self.0.process().wait().unwrap());
        let code = status.strip_prefix("Exited(").and_then(|status| status.rsplit_once(", "));
        code.and_then(|(_, code)| code.strip_suffix(')'))
            .unwrap_or_else(|| panic!("{status}"))
            .parse()
            .unwrap()
    }

    /// Leaves by ctrl-d, once it is ready: what is typed between two lines, nobody may see.
    fn leaves(mut self) {
        self.control('d');
        assert_eq!(self.ends(), 0);
    }
}

#[test]
fn statements_are_answered() {
    let home = Home::new();
    let mut shell = home.terminal(&["shop.klm"]);
    shell.sees("shop.klm is not there yet: CREATE TABLE makes it");
    shell.is_ready();
    assert!(!home.file("shop.klm").exists());
    shell.asks("CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT);", "table t created");
    assert!(home.file("shop.klm").exists());
    shell.asks("INSERT INTO t VALUES (1, 'one'), (2, 'two');", "2 records changed");
    shell.asks("SELECT n FROM t WHERE id = 2;", "two\r\n1 row");
    shell.asks("SELECT n FROM t WHERE n = 'one';", "add:  CREATE INDEX t_by_n ON t (n)");
    shell.asks("SELECT x FROM t;", "error: line 1, column 8: there is no column x in t");
    shell.leaves();
    assert!(home.sql("SELECT n FROM t WHERE id = 1").contains("one"));
}

#[test]
fn a_statement_ends_with_its_semicolon() {
    let home = Home::new();
    let mut shell = home.shell();
    shell.types("SELECT 'a;\r");
    shell.types("b' AS text,\r");
    shell.types("-- c;\r");
    shell.asks("41 + 1; ", "a;\\nb      42");
    // Two statements on one line are two.
    shell.types("SELECT 'first'; SELECT 'second';\r");
    shell.sees("first\r\n1 row");
    shell.sees("second\r\n1 row");
    shell.is_ready();
    shell.leaves();
}

#[test]
fn lines_are_remembered() {
    let home = Home::new();
    let mut shell = home.shell();
    shell.asks("SELECT 'remember' || 'ed';", "remembered");
    shell.asks("SELECT\r 'mind' || 'ed';", "minded");
    shell.leaves();
    let mut shell = home.shell();
    // A statement of several lines comes back as one.
    shell.types(UP);
    shell.asks("", "minded");
    shell.types(&UP.repeat(3));
    shell.asks("", "remembered");
    shell.leaves();
    assert!(home.file("state/keyloom/history").exists());
}

#[test]
fn tab_completes() {
    let home = Home::new();
    home.sql("CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer TEXT); INSERT INTO orders VALUES (7, 'Ada')");
    let mut shell = home.shell();
    // A keyword, a field, a table, a keyword in small letters, fields.
    shell.asks("SEL\t custo\t FROM ord\t wher\t order_i\t = 7;", "Ada\r\n1 row");
    shell.types(".for\t js\t");
    shell.asks("l", "");
    shell.asks(".sch\t or\t", "CREATE TABLE orders (");
    // Where there are several, they are shown.
    shell.types("SELECT c\t\t");
    shell.sees("coalesce");
    shell.sees("customer");
    shell.control('c');
    shell.is_ready();
    shell.leaves();
}

#[test]
fn ctrl_c_gives_up_a_line_and_not_the_shell() {
    let home = Home::new();
    let mut shell = home.shell();
    shell.types("SELECT 'given up',\r 'twice");
    shell.control('c');
    shell.is_ready();
    shell.asks("SELECT 'a' || 'fter';", "after");
    // Nothing waits for its end any more.
    let mut again = home.shell();
    again.types("SELECT 1");
    again.control('c');
    again.is_ready();
    again.leaves();
    shell.leaves();
}

#[test]
fn ctrl_c_stops_a_query_that_finds_nothing() {
    let home = Home::new();
    home.filled(20_000);
    // Many seconds of looking at records that are not wanted.
    let unwanted: Vec<String> = (100_000..160_000).map(|number: u32| number.to_string()).collect();
    let query = format!("SELECT id FROM t WHERE n IN ({});", unwanted.join(", "));
    std::fs::write(home.file("slow.sql"), format!("SET allow_scan = on;\nSELECT 'begun';\n{query}\n"))
        .unwrap();
    let mut shell = home.shell();
    shell.types(".read slow.sql\r");
    shell.sees("begun\r\n1 row");
    shell.control('c');
    let before = shell.sees("stopped");
    assert!(!before.contains("rows"), "it came to its end: {before}");
    shell.is_ready();
    shell.asks("SELECT 'going' || ' on';", "going on");
    shell.leaves();
    // As a command, it ends, and says how.
    let mut command = home.terminal(&["sql", "shop.klm", "-f", "slow.sql"]);
    command.sees("begun\r\n1 row");
    command.control('c');
    command.sees("stopped");
    assert_eq!(command.ends(), 130);
}

#[test]
fn ctrl_c_stops_rows() {
    let home = Home::new();
    home.filled(20_000);
    let mut shell = home.shell();
    shell.asks("SET allow_scan = on;", "allow_scan = on");
    shell.asks(".format jsonl", "");
    // So much that it is not all written before ctrl-c comes. What is seen does not tell that it has begun: a terminal that
    // is always read is seen only when it pauses.
    let wide = "'".to_owned() + &"x".repeat(5_000) + "'";
    let rows = format!("INSERT INTO t VALUES (-1, -1);\nSELECT id, {wide} AS wide FROM t;");
    std::fs::write(home.file("rows.sql"), rows).unwrap();
    shell.types(".read rows.sql\r");
    while !home.sql("SELECT id FROM t WHERE id = -1").contains("-1") {}
    shell.control('c');
    let before = shell.sees("stopped");
    assert!(!before.contains("{\"id\":19999,"), "it came to its end");
    // No row was cut.
    assert!(before.trim_end().ends_with("\"}"), "{before}");
    shell.is_ready();
    shell.leaves();
}

#[test]
fn an_index_whose_filling_was_stopped_is_filled_when_the_file_is_opened() {
    let home = Home::new();
    home.filled(20_000);
    std::fs::write(home.file("index.sql"), "SELECT 'begun';\nCREATE INDEX by_n ON t (n);").unwrap();
    let mut shell = home.shell();
    // It comes no further than to wait for its turn to write, until it was stopped.
    let (writer, waiter) = (home.lock("writer"), home.lock("waiter"));
    writer.lock().unwrap();
    shell.types(".read index.sql\r");
    shell.sees("begun\r\n1 row");
    while waiter.try_lock().is_ok() {
        waiter.unlock().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    shell.control('c');
    writer.unlock().unwrap();
    shell.sees("stopped");
    shell.is_ready();
    shell.asks(".indexes", "CREATE INDEX by_n ON t (n); -- not filled yet");
    shell.leaves();
    let mut shell = home.shell();
    shell.asks("SELECT id FROM t WHERE n = 19999;", "19999\r\n1 row");
    shell.asks(".indexes t", "CREATE INDEX by_n ON t (n);\r\n");
    shell.leaves();
}

#[test]
fn the_prompt_shows_a_transaction_which_locks_nobody_out() {
    let home = Home::new();
    home.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO t VALUES (1, 1), (2, 2)");
    let mut shell = home.shell();
    shell.types("BEGIN;\r");
    shell.sees("shop*> ");
    shell.types("UPDATE t SET n = 10 WHERE id = 1;\r");
    shell.sees("1 record changed");
    shell.sees("shop*> ");
    // Another process writes while the transaction is open, and reads what it has not changed.
    home.sql("UPDATE t SET n = 20 WHERE id = 2");
    assert!(home.sql("SELECT n FROM t WHERE id = 1").ends_with("1\n"));
    shell.types("COMMIT;\r");
    shell.sees("transaction committed");
    shell.is_ready();
    shell.leaves();
    assert!(home.sql("SELECT n FROM t WHERE id = 1").ends_with("10\n"));
}

#[test]
fn commands_do_what_help_says() {
    let home = Home::new();
    home.sql("CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER); CREATE INDEX a_by_n ON a (n); CREATE TABLE b (id TEXT PRIMARY KEY)");
    std::fs::write(home.file("more.sql"), "INSERT INTO a VALUES (1, 5);\n.tables\n").unwrap();
    let mut shell = home.shell();
    for command in ["tables", "schema", "indexes", "explain", "timer", "format", "read", "help", "quit"] {
        shell.asks(".help", &format!(".{command}"));
    }
    shell.asks(".tables", "a\r\nb\r\n");
    shell.asks(".schema b", "CREATE TABLE b (\r\n  id TEXT NOT NULL,\r\n  PRIMARY KEY (id)\r\n);\r\n");
    shell.asks(".indexes", "CREATE INDEX a_by_n ON a (n);\r\n");
    shell.asks(".read more.sql", "a\r\nb\r\n");
    shell.asks(".explain on", "");
    shell.asks("SELECT id FROM a WHERE n = 5;", "a_by_n");
    shell.asks(".explain off", "");
    shell.asks(".timer on", "");
    shell.asks("SELECT id FROM a WHERE n = 5;", " ms, 1 row examined");
    shell.asks(".timer", ".timer on");
    shell.asks(".timer off", "");
    shell.asks(".format csv", "");
    shell.asks("SELECT id, n FROM a WHERE n = 5;", "id,n\r\n1,5\r\n");
    shell.asks(".format", "csv");
    shell.asks(".format xml", "error: write .format table|csv|json|jsonl");
    shell.asks(".nonsense", "error: there is no command .nonsense: .help tells which there are");
    shell.asks(".read nothing.sql", "error: nothing.sql: ");
    shell.types(".quit\r");
    assert_eq!(shell.ends(), 0);
    let mut shell = home.shell();
    shell.types(".exit\r");
    assert_eq!(shell.ends(), 0);
}

#[test]
fn a_busy_file_is_said_to_be_so() {
    let home = Home::new();
    home.sql("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    let mut shell = home.shell();
    // Whoever writes holds this file, as another process does for a long time here.
    let writer = home.lock("writer");
    writer.lock().unwrap();
    shell.asks("INSERT INTO t VALUES (1);", "error: busy: another process has been writing for 5s");
    // Who reads need not wait.
    shell.asks("SELECT id FROM t WHERE id = 1;", "0 rows");
    writer.unlock().unwrap();
    shell.asks("INSERT INTO t VALUES (1);", "1 record changed");
    shell.leaves();
}

/// Damages the file where this text is.
fn damage(file: &Path, text: &str) {
    let mut bytes = std::fs::read(file).unwrap();
    let places: Vec<usize> = bytes
        .windows(text.len())
        .enumerate()
        .filter(|(_, found)| *found == text.as_bytes())
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at] ^= 1);
    // In place, as a disk does it.
    std::os::unix::fs::FileExt::write_all_at(&File::options().write(true).open(file).unwrap(), &bytes, 0)
        .unwrap();
}

#[test]
fn a_damaged_file_is_said_to_be_so() {
    let home = Home::new();
    std::fs::write(home.file("shop.klm"), "no database at all, but a text of some length").unwrap();
    let mut shell = home.terminal(&["shop.klm"]);
    shell.sees("error: shop.klm: damaged: ");
    assert_eq!(shell.ends(), 1);

    let home = Home::new();
    home.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT); INSERT INTO t VALUES (1, 'to be damaged'), (2, 'whole')");
    let mut shell = home.shell();
    damage(&home.file("shop.klm"), "to be damaged");
    shell.asks("SELECT n FROM t WHERE id = 1;", "error: damaged: ");
    shell.asks("SELECT n FROM t WHERE id = 2;", "whole\r\n1 row");
    shell.leaves();
}

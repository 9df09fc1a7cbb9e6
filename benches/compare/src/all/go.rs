//! Systems in Go: a program beside this one, which is built if there is `go`, and run for each, asked over its standard streams.
//!
//! ```text
//! → {"do":"get","system":"pebble","file":"…"}        ← {"ns":1234,"rows":64,"sum":5678}
//! ```
//!
//! What is asked stands in files, which the program reads before it starts its clock. It makes the keys and the values
//! by itself, as the systems of this program do.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use keyloom_workload::{Ask, Error, Layout, Order, Questions, Tally, Work};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Loaded;
use super::peer::{Peer, Promise};

/// The systems that the program has.
pub(crate) const SYSTEMS: [&str; 2] = ["badger", "pebble"];

/// The program, built.
#[derive(Clone)]
pub(crate) struct Go {
    program: PathBuf,
    /// Where what is asked stands.
    questions: Rc<TempDir>,
}

/// The program, running for one system.
struct Program {
    child: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Go {
    /// Builds it; `None` if there is no `go`.
    pub(crate) fn build(folder: &Path) -> Result<Option<Self>, Error> {
        if Command::new("go").arg("version").stdout(Stdio::null()).status().is_err() {
            return Ok(None);
        }
        let program = folder.join("compare-go");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("go");
        // With C: Pebble's cache lies outside Go's heap then.
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(&program).arg(".").current_dir(source).env("CGO_ENABLED", "1");
        if !build.status()?.success() {
            return Err(
                "benches/compare/go could not be built: name the systems without badger and pebble".into()
            );
        }
        // In memory, if there is such a folder: what they take is not what the systems write to the disk.
        let memory = Path::new("/dev/shm");
        let questions = Rc::new(tempfile::tempdir_in(if memory.is_dir() { memory } else { folder })?);
        Ok(Some(Self { program, questions }))
    }

    pub(crate) fn load(
        &self,
        system: &'static str,
        folder: &Path,
        orders: &[Order],
        layout: &Layout,
    ) -> Result<Loaded, Error> {
        let mut child = Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (asked, answers) = child.stdin.take().zip(child.stdout.take()).ok_or("no streams")?;
        let program = RefCell::new(Program { child, asked, answers: BufReader::new(answers) });
        let loaded = InGo { go: self.clone(), program, system, sync: true };
        let file = self.orders("orders", orders)?;
        let (time, _) = loaded.ask(&json!({
            "do": "load", "system": system, "file": file, "folder": folder.join(system), "ids": layout.ids(),
        }))?;
        Ok((time, Box::new(loaded)))
    }

    /// Writes orders to a file of this name, unless they are there already.
    fn orders(&self, name: &str, orders: &[Order]) -> Result<PathBuf, Error> {
        self.file(name, |out| {
            for order in orders {
                text(out, &order.user)?;
                out.write_all(&order.date.to_be_bytes())?;
                out.write_all(order.id.as_bytes())?;
                out.write_all(&order.amount.to_be_bytes())?;
                text(out, order.status)?;
                text(out, order.note)?;
            }
            Ok(())
        })
    }

    /// Writes questions to a file of this name, unless they are there already.
    fn asks(&self, name: &str, asks: &[Ask]) -> Result<PathBuf, Error> {
        self.file(name, |out| {
            for ask in asks {
                text(out, &ask.name)?;
                out.write_all(&ask.date.to_be_bytes())?;
            }
            Ok(())
        })
    }

    fn file(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<std::fs::File>) -> Result<(), Error>,
    ) -> Result<PathBuf, Error> {
        let path = self.questions.path().join(format!("{name}.questions"));
        if !path.exists() {
            let mut out = BufWriter::new(std::fs::File::create(&path)?);
            write(&mut out)?;
            out.flush()?;
        }
        Ok(path)
    }
}

fn text(out: &mut impl std::io::Write, text: &str) -> Result<(), Error> {
    out.write_all(&[u8::try_from(text.len())?])?;
    Ok(out.write_all(text.as_bytes())?)
}

impl Drop for Program {
    fn drop(&mut self) {
        // It ends by itself with its input; a run that failed does not wait for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A system in Go.
struct InGo {
    go: Go,
    program: RefCell<Program>,
    system: &'static str,
    sync: bool,
}

impl InGo {
    /// Asks one thing; tells how long it took there, and what was read.
    fn ask(&self, question: &Value) -> Result<(Duration, Tally), Error> {
        let mut program = self.program.borrow_mut();
        writeln!(program.asked, "{question}")?;
        program.asked.flush()?;
        let mut line = String::new();
        program.answers.read_line(&mut line)?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|_| format!("the program in Go ended at {question}"))?;
        if let Some(error) = answer.get("error").and_then(Value::as_str) {
            return Err(format!("in Go: {question}: {error}").into());
        }
        let number = |name| answer.get(name).and_then(Value::as_u64).unwrap_or_default();
        Ok((Duration::from_nanos(number("ns")), Tally { rows: number("rows"), sum: number("sum") }))
    }

    fn with_file(&self, what: &str, file: &Path) -> Result<(Duration, Tally), Error> {
        self.ask(&json!({"do": what, "system": self.system, "file": file}))
    }

    /// Orders in a file that is removed again.
    fn with_orders<T>(
        &self,
        orders: &[Order],
        run: impl FnOnce(&Path) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let file = self.go.orders("some", orders)?;
        let done = run(&file);
        std::fs::remove_file(file)?;
        done
    }
}

impl Peer for InGo {
    fn read(&mut self, work: Work, questions: &Questions) -> Result<Option<(Duration, Tally)>, Error> {
        let (what, file) = match work {
            Work::Get => ("get", self.go.orders("picked", &questions.picked)?),
            Work::Miss => ("get", self.go.orders("absent", &questions.absent)?),
            Work::Prefix => ("prefix", self.go.asks("whole", &questions.whole)?),
            Work::Range => ("range", self.go.asks("from", &questions.from)?),
            Work::RangeBack => ("range_back", self.go.asks("from", &questions.from)?),
            Work::Index => ("index", self.go.asks("newest", &questions.newest)?),
            Work::Scan => ("scan", PathBuf::new()),
        };
        self.with_file(what, &file).map(Some)
    }

    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        self.sync = promise == Promise::Synced;
        Ok(match (promise, self.system) {
            (Promise::Synced, system) => Some(system),
            (Promise::Written, "badger") => Some("badger"),
            // Its log is written behind the commit: the last blocks are gone with the process.
            (Promise::Less, "pebble") => Some("pebble-nosync"),
            _ => None,
        })
    }

    fn write(&mut self, clients: usize, orders: &[Order]) -> Result<Duration, Error> {
        self.with_orders(orders, |file| {
            let question = json!({
                "do": "write", "system": self.system, "file": file, "clients": clients, "sync": self.sync,
            });
            Ok(self.ask(&question)?.0)
        })
    }

    fn check(&mut self, orders: &[Order]) -> Result<Tally, Error> {
        self.with_orders(orders, |file| Ok(self.with_file("get", file)?.1))
    }

    fn fingerprint(&mut self) -> Result<Option<u64>, Error> {
        Ok(Some(self.with_file("fingerprint", Path::new(""))?.1.sum))
    }
}

impl Drop for InGo {
    fn drop(&mut self) {
        // Its files are removed; a system that cannot be closed is of no more use either.
        let _ = self.with_file("close", Path::new(""));
    }
}

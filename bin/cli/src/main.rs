//! The `keyloom` command. One file for each verb, under `cmd`; without a verb, the shell.

#![forbid(unsafe_code)]

mod cmd;
mod failure;
mod files;
mod open;
mod output;
mod page;
mod progress;
mod shell;
mod statements;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Counts what `keyloom bench` allocates; for all else an allocation costs a load and a branch more.
#[global_allocator]
static HEAP: keyloom_workload::allocated::Counting = keyloom_workload::allocated::Counting;

/// Weaves the fields of a record into one sorted key.
#[derive(Parser)]
#[command(name = "keyloom", version, arg_required_else_help = true, args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Examples:\n  keyloom demo\n  keyloom shop.klm\n  keyloom sql shop.klm \"SELECT * FROM orders WHERE user_id = 'U1'\""
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Opens the shell on this database: a file, or `memory:`
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// A file of settings, for databases whose URL does not say otherwise; or the one that `KEYLOOM_CONFIG` names
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Shows what Keyloom does on a hundred thousand orders
    Demo(cmd::demo::Demo),
    /// Runs SQL statements
    Sql(cmd::sql::Sql),
    /// Loads a file of records into a table
    Import(cmd::import::Import),
    /// Writes what a query finds, or a whole table, to a file
    Export(cmd::export::Export),
    /// Shows how a statement would be answered
    Explain(cmd::explain::Explain),
    /// Tells which indexes queries need, which they do not, and what each costs
    Advise(cmd::advise::Advise),
    /// Shows how large tables are and how their keys spread
    Stats(cmd::stats::Stats),
    /// Draws a database as one HTML page
    Report(cmd::report::Report),
    /// Compares every index with its table
    Verify(cmd::verify::Verify),
    /// Mends what verify finds: the record wins
    Repair(cmd::repair::Repair),
    /// Copies a database while it is in use
    Backup(cmd::backup::Backup),
    /// Makes a database of a backup
    Restore(cmd::restore::Restore),
    /// Gives back the room that deleted records have left
    Compact(cmd::compact::Compact),
    /// Measures how fast the stores are on this machine
    Bench(cmd::bench::Bench),
    /// Keys: typed values to sorted bytes and back, in any format
    #[command(subcommand, arg_required_else_help = true)]
    Key(cmd::key::Verb),
    /// Prints what completes this command's words in a shell
    Completions(cmd::completions::Completions),
    /// Writes the manual pages
    Man(cmd::man::Man),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    failure::exit(open::configure(arguments.config).and_then(|()| match arguments.command {
        None => shell::run(&arguments.url.unwrap_or_default()),
        Some(command) => run(command),
    }))
}

fn run(command: Command) -> Result<(), failure::Failure> {
    match command {
        Command::Demo(verb) => verb.run(),
        Command::Sql(verb) => verb.run(),
        Command::Import(verb) => verb.run(),
        Command::Export(verb) => verb.run(),
        Command::Explain(verb) => verb.run(),
        Command::Advise(verb) => verb.run(),
        Command::Stats(verb) => verb.run(),
        Command::Report(verb) => verb.run(),
        Command::Verify(verb) => verb.run(),
        Command::Repair(verb) => verb.run(),
        Command::Backup(verb) => verb.run(),
        Command::Restore(verb) => verb.run(),
        Command::Compact(verb) => verb.run(),
        Command::Bench(verb) => verb.run(),
        Command::Key(verb) => cmd::key::run(verb),
        Command::Completions(verb) => verb.run(),
        Command::Man(verb) => verb.run(),
    }
}

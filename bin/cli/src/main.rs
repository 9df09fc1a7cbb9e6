//! The `keyloom` command. One file for each verb, under `cmd`.

#![forbid(unsafe_code)]

mod cmd;
mod failure;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Weaves the fields of a record into one sorted key.
#[derive(Parser)]
#[command(name = "keyloom", version, arg_required_else_help = true)]
#[command(after_help = "Example:\n  keyloom key encode '[\"U1\", 7]'")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Keys: typed values to sorted bytes and back, in any format
    #[command(subcommand, arg_required_else_help = true)]
    Key(cmd::key::Verb),
}

fn main() -> ExitCode {
    let Arguments { command: Command::Key(verb) } = Arguments::parse();
    failure::exit(cmd::key::run(verb))
}

//! Three nodes, several client processes, and what can go wrong under them.
//!
//! ```text
//! nodes     the cluster: nodes are killed, stopped, parted and brought back
//! client    a process that changes records, unique values and members, and writes down what it did and saw
//! splitters two who change the same ranges at the same time
//! history   whether one order explains what all of them did to a record
//! unknown   what the driver says of statements while no node answers
//! after     what must be so when it is quiet again
//! ```
//!
//! `./test cluster` starts the nodes and names the script that governs them; without it only the checker is tested.

#![allow(clippy::expect_used, clippy::panic, reason = "tests, which clippy does not see as such")]

mod after;
mod client;
mod history;
mod log;
mod nodes;
mod scenario;
mod splitters;
mod unknown;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// What is done to the nodes, and what must hold then.
type Case = fn(&nodes::Nodes) -> scenario::Outcome;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|word| word == client::WORD) {
        return client::main(arguments.get(2..).unwrap_or_default());
    }
    let mut arguments = Arguments::from_args();
    // They share the nodes.
    arguments.test_threads = Some(1);
    let mut trials = history::trials();
    match nodes::Nodes::given() {
        None => println!("no faults: {} names no cluster: ./test cluster starts one", nodes::CLUSTER),
        Some(nodes) => {
            let cases: [(&str, Case); 2] = [
                ("no_node_answers", unknown::no_node_answers),
                ("a_client_comes_while_nodes_sleep", unknown::a_client_comes_while_nodes_sleep),
            ];
            for (name, case) in cases {
                let nodes = nodes.clone();
                trials.push(Trial::test(format!("faults::{name}"), move || Ok(case(&nodes)?)));
            }
            for scenario in scenario::all().into_iter().filter(|scenario| scenario.fits(&nodes)) {
                let nodes = nodes.clone();
                trials.push(Trial::test(format!("faults::{}", scenario.name()), move || {
                    Ok(scenario.run(&nodes)?)
                }));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

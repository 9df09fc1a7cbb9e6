//! Passwords and encryption, on a real node that asks for both.
//!
//! `./test cluster` starts one and says where it is and whom it trusts; without it nothing is tested, and said so.

use std::process::ExitCode;

use keyloom_cassandra::{Cluster, Driver, Space};
use keyloom_store::Wait;
use libtest_mimic::{Arguments, Failed, Trial};

/// Where the node is: `host:port`.
const NODE: &str = "KEYLOOM_CASSANDRA_SECURE";
/// The certificate that signed the node's.
const CA: &str = "KEYLOOM_CASSANDRA_CA";

fn main() -> ExitCode {
    let (Ok(node), Ok(ca)) = (std::env::var(NODE), std::env::var(CA)) else {
        println!("not run: {NODE} and {CA} name no node: ./test cluster starts one");
        return ExitCode::SUCCESS;
    };
    let url =
        move |user: &str, options: &str| format!("cassandra://{user}{node}/secure?replication=1{options}");
    let mut trials = Vec::new();
    let right = url("cassandra:cassandra@", &format!("&tls=true&ca={ca}"));
    trials.push(Trial::test("a_password_and_encryption_are_taken", move || {
        let driver = Driver::connect(&right.parse()?).wait()?;
        driver.add_space(Space([1, 2, 3, 4])).wait().map_err(|fault| fault.to_string())?;
        assert_eq!(driver.spaces().wait(), Ok(vec![Space([1, 2, 3, 4])]));
        Ok(())
    }));
    // A certificate of nobody whom the node knows.
    let other = std::env::temp_dir().join(format!("keyloom-other-{}.pem", std::process::id()));
    for (name, user, options, says) in [
        ("a_wrong_password_is_told", "cassandra:wrong@", format!("&tls=true&ca={ca}"), "credentials"),
        ("a_missing_password_is_told", "", format!("&tls=true&ca={ca}"), "uthentication"),
        ("plain_text_is_not_answered", "cassandra:cassandra@", String::new(), "cannot reach"),
        (
            "a_file_without_certificates_is_told",
            "",
            "&tls=true&ca=/dev/null".into(),
            "no certificate in /dev/null",
        ),
        ("a_missing_file_is_told", "", "&tls=true&ca=/missing.pem".into(), "/missing.pem"),
        (
            "a_node_that_is_not_trusted_is_told",
            "cassandra:cassandra@",
            format!("&tls=true&ca={}", other.display()),
            "certificate",
        ),
    ] {
        let url = url(user, &options);
        let other = other.clone();
        trials.push(Trial::test(name, move || {
            std::fs::write(&other, STRANGER)?;
            let error = Driver::connect(&url.parse()?).wait().err().map(|error| error.to_string());
            let told = error.as_ref().is_some_and(|error| error.contains(says));
            if told { Ok(()) } else { Err(Failed::from(format!("{error:?} does not say {says:?}"))) }
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// An authority that signed nothing here.
const STRANGER: &str = include_str!("stranger.pem");

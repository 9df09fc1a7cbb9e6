use super::{SIZES, command, measure};

/// The command is another crate's, so nobody says that it was built.
#[test]
fn every_figure_is_there_for_both_sizes() {
    let beside = std::env::current_exe().unwrap().with_file_name("..").join("keyloom");
    let Ok(keyloom) = command(Some(beside)) else {
        eprintln!("not run: there is no command; `cargo build -p keyloom-cli` makes it");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let figures = measure(3_000, 2, &keyloom, folder.path()).unwrap();
    let works: &[&str] = if cfg!(target_os = "linux") {
        &["import", "peak_memory", "file_size"]
    } else {
        &["import", "file_size"]
    };
    let both: Vec<_> = works.iter().flat_map(|work| SIZES.map(|size| (*work, size))).collect();
    let names: Vec<_> = figures.iter().map(|figure| (figure.work, figure.system)).collect();
    assert_eq!(names, both);
    assert!(figures.iter().all(|figure| figure.value.is_finite() && figure.value > 0.0));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

#[test]
fn a_command_that_is_not_there_is_named_with_what_builds_it() {
    let error = command(Some("nowhere/keyloom".into())).unwrap_err().to_string();
    let remedy = "build it with `cargo build --release -p keyloom-cli`, or name it with --keyloom";
    assert_eq!(error, format!("nowhere/keyloom: there is no such command: {remedy}"));
}

/// A command that fails takes its own words along.
#[test]
#[cfg(unix)]
fn what_a_failing_command_said_is_told() {
    let mut failing = std::process::Command::new("sh");
    failing.args(["-c", "echo no disk >&2; exit 3"]);
    let error = super::watched(failing).unwrap_err().to_string();
    assert!(error.contains("exit status: 3: no disk"), "{error}");
}

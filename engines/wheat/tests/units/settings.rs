// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/settings.rs`.

use clap::Parser;

use super::*;

#[derive(Parser)]
#[command(args_override_self = true)]
#[allow(dead_code)]
struct Line {
    application: Option<String>,
    #[arg(long)]
    config: Option<std::path::PathBuf>,
    #[arg(long, default_value = "1")]
    workers: usize,
    #[arg(long)]
    bind: Vec<String>,
    #[arg(long)]
    reuse_port: bool,
    #[arg(long, default_value = "none")]
    trust: String,
    #[arg(long)]
    name: Option<String>,
}

fn all(file: &str, variables: &[(&str, &str)], given: &str) -> Result<Line, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wheat.toml");
    std::fs::write(&path, file).unwrap();
    let mut given: Vec<OsString> = given.split_whitespace().map(OsString::from).collect();
    given.extend(["--config".into(), path.into()]);
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
    let command = <Line as clap::CommandFactory>::command();
    let all = arguments(&command, given, variable, |error| error.kind().to_string()).map_err(|error| error.text)?;
    Line::try_parse_from([OsString::from("wheat")].into_iter().chain(all)).map_err(|error| error.to_string())
}

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_file() {
    let file = "application = 'a:b'\nworkers = 2\nbind = ['x:1', 'y:2']\nreuse-port = true\nname = \"é\"\n";
    let line = all(file, &[], "").unwrap();
    assert_eq!((line.application.as_deref(), line.workers, line.reuse_port), (Some("a:b"), 2, true));
    assert_eq!((line.bind, line.name.as_deref()), (vec!["x:1".to_owned(), "y:2".to_owned()], Some("é")));
    let variables = [("WHEAT_WORKERS", "3"), ("WHEAT_BIND", "z:3 w:4"), ("WHEAT_REUSE_PORT", "no")];
    let line = all(file, &variables, "").unwrap();
    assert_eq!((line.workers, line.reuse_port, line.bind.len()), (3, false, 2));
    let line = all(file, &variables, "c --workers 4 --bind v:5").unwrap();
    assert_eq!((line.application.as_deref(), line.workers, line.bind), (Some("c"), 4, vec!["v:5".to_owned()]));
}

#[test]
fn lists_within_a_value_are_joined() {
    assert_eq!(all("trust = ['10.0.0.0/8', '::1']", &[], "").unwrap().trust, "10.0.0.0/8,::1");
}

#[test]
fn mistakes_are_said_with_their_place() {
    for (file, words) in [
        ("wokers = 2", "wheat.toml: wokers is no option"),
        ("config = 'other'", "wheat.toml: config is no option"),
        ("workers = 'many'", "wheat.toml: "),
        ("workers = 1.5", "workers has a value that is no text, number or list"),
        ("[workers]\na = 1", "workers has a value that is no text, number or list"),
        ("reuse-port = 1", "reuse-port has a value"),
        ("workers = 1\n\nname = ", "wheat.toml: line 3: "),
    ] {
        let error = all(file, &[], "").err().unwrap();
        assert!(error.contains(words), "{file}: {error}");
    }
    let error = all("", &[("WHEAT_WORKERS", "many")], "").err().unwrap();
    assert!(error.starts_with("WHEAT_WORKERS: "), "{error}");
    // What is not used is not looked at.
    assert_eq!(all("workers = 'many'", &[], "--workers 5").unwrap().workers, 5);
}

#[test]
fn what_is_shown_means_the_same() {
    let command = <Line as clap::CommandFactory>::command();
    let typed: Vec<OsString> = ["a:b", "--bind", "x:1", "--name", "q\"é"].map(OsString::from).to_vec();
    let matches = command.clone().try_get_matches_from([OsString::from("wheat")].iter().chain(&typed)).unwrap();
    let text = shown(&command, &matches, &typed);
    assert!(text.contains("# the command line") && text.contains("workers = 1"), "{text}");
    let line = all(&text, &[], "").unwrap();
    assert_eq!((line.application.as_deref(), line.bind), (Some("a:b"), vec!["x:1".to_owned()]));
    assert_eq!((line.name.as_deref(), line.workers, line.reuse_port), (Some("q\"é"), 1, false));
}

// SPDX-License-Identifier: Apache-2.0
//! Options from a file and from the environment, as arguments in front of those of the command line. What the command line has
//! goes before the environment, and that before the file; the names of options are the same everywhere, so that a new option has all three.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::{Table, Value};

use crate::error::Error;

/// Options that say what is to be done, not how.
const OF_THE_COMMAND_LINE: [&str; 5] = ["check", "config", "help", "print_config", "version"];

/// How clap's errors are said.
type Explain = fn(&clap::Error) -> String;

/// The arguments of all three, for another parse. `variable`: of the environment.
pub fn arguments(
    command: &Command,
    given: Vec<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
    explain: Explain,
) -> Result<Vec<OsString>, Error> {
    let program = OsString::from("wheat");
    let Ok(matches) = command.clone().try_get_matches_from([program].into_iter().chain(given.iter().cloned())) else {
        return Ok(given); // the other parse says why, or shows the help
    };
    if matches.subcommand_name().is_some() {
        return Ok(given);
    }
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut all: BTreeMap<String, (String, Vec<OsString>)> = BTreeMap::new();
    let path = match matches.get_raw("config").and_then(|mut values| values.next_back()) {
        Some(path) => Some(path.to_owned()),
        None => variable("WHEAT_CONFIG"),
    };
    if let Some(path) = path {
        let shown = Path::new(&path).display().to_string();
        for (name, value) in read(Path::new(&path))? {
            let wrong = |why: &str| Error::config(format!("{shown}: {name} {why}"));
            let Some(option) = options(command).find(|option| name_of(option) == name) else {
                return Err(wrong("is no option: see wheat --help"));
            };
            let values =
                values_of(option, value).ok_or_else(|| wrong("has a value that is no text, number or list"))?;
            all.insert(option.get_id().to_string(), (shown.clone(), arguments_of(option, values)));
        }
    }
    for option in options(command) {
        let name = format!("WHEAT_{}", name_of(option).to_uppercase().replace('-', "_"));
        if let Some(value) = variable(&name) {
            let values = match (option.get_action(), value.to_str()) {
                (ArgAction::SetTrue, Some("1" | "true" | "yes" | "on")) => vec!["true".into()],
                (ArgAction::SetTrue, Some("" | "0" | "false" | "no" | "off")) => vec![],
                (ArgAction::Append, Some(list)) => list.split_whitespace().map(OsString::from).collect(),
                _ => vec![value],
            };
            all.insert(option.get_id().to_string(), (name, arguments_of(option, values)));
        }
    }
    let mut arguments = Vec::new();
    for (id, (origin, option)) in all {
        if is_given(&id) {
            continue;
        }
        let alone = command.clone().try_get_matches_from([OsString::from("wheat")].iter().chain(&option));
        match alone {
            // That another option belongs to it is seen when all are there.
            Err(error) if error.kind() != clap::error::ErrorKind::MissingRequiredArgument => {
                return Err(Error::config(format!("{origin}: {}", explain(&error))));
            }
            _ => arguments.extend(option),
        }
    }
    arguments.extend(given);
    Ok(arguments)
}

/// Those that a file and the environment may have.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|option| !OF_THE_COMMAND_LINE.contains(&option.get_id().as_str()))
}

/// `limit-body`, or `application` for the one without dashes.
fn name_of(option: &Arg) -> &str {
    option.get_long().unwrap_or(option.get_id().as_str())
}

fn read(path: &Path) -> Result<Table, Error> {
    let wrong = |why: String| Error::config(format!("--config {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    // The first line of the error says where, the last one what.
    text.parse::<Table>().map_err(|error| {
        let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
        wrong(format!("line {line}: {}", error.message()))
    })
}

/// None: it has none that an option could have.
fn values_of(option: &Arg, value: Value) -> Option<Vec<OsString>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        _ => None,
    };
    match (option.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(true)) => Some(vec!["true".into()]),
        (ArgAction::SetTrue, Value::Boolean(false)) => Some(vec![]),
        (ArgAction::SetTrue, _) => None,
        (ArgAction::Append, Value::Array(list)) => list.iter().map(|item| text(item).map(OsString::from)).collect(),
        // Lists within one value: networks, CPUs.
        (_, Value::Array(list)) => {
            let list: Option<Vec<String>> = list.iter().map(text).collect();
            Some(vec![list?.join(",").into()])
        }
        (_, value) => Some(vec![text(&value)?.into()]),
    }
}

fn arguments_of(option: &Arg, values: Vec<OsString>) -> Vec<OsString> {
    let Some(name) = option.get_long() else { return values };
    let one = |value: OsString| match option.get_action() {
        ArgAction::SetTrue => format!("--{name}").into(),
        _ => {
            let mut argument = OsString::from(format!("--{name}="));
            argument.push(value);
            argument
        }
    };
    values.into_iter().map(one).collect()
}

/// All options as a file that says the same, with where each value comes from.
pub fn shown(command: &Command, matches: &ArgMatches, from_the_command_line: &[OsString]) -> String {
    let of_command_line = command
        .clone()
        .ignore_errors(true)
        .try_get_matches_from([OsString::from("wheat")].iter().chain(from_the_command_line));
    let mut out = String::new();
    for option in options(command) {
        let (id, name) = (option.get_id().as_str(), name_of(option));
        let is_list = matches!(option.get_action(), ArgAction::Append);
        let origin = match matches.value_source(id) {
            Some(ValueSource::CommandLine) => {
                let typed = of_command_line.as_ref().ok().and_then(|typed| typed.value_source(id));
                if typed == Some(ValueSource::CommandLine) { "the command line" } else { "the file or the environment" }
            }
            _ => "the default",
        };
        let line = if let ArgAction::SetTrue = option.get_action() {
            format!("{name} = {}", matches.get_flag(id))
        } else {
            let values: Vec<String> = matches.get_raw(id).map_or(Vec::new(), |values| values.map(quoted).collect());
            match (values.as_slice(), is_list) {
                ([], _) => format!("# {name} ="),
                (values, true) => format!("{name} = [{}]", values.join(", ")),
                (values, false) => format!("{name} = {}", values[values.len() - 1]),
            }
        };
        out += &format!("{line:60} # {origin}\n");
    }
    out
}

/// As TOML has it: a number, or a basic string.
fn quoted(value: &OsStr) -> String {
    let text = value.to_string_lossy();
    match text.parse::<u32>() {
        Ok(number) if number.to_string() == text => text.into_owned(),
        _ => Value::String(text.into_owned()).to_string(),
    }
}

#[cfg(test)]
#[path = "../tests/units/settings.rs"]
mod tests;

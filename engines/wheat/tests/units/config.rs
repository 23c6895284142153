// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/config.rs`.

use super::*;

fn parse(line: &str) -> Result<Config, String> {
    match Config::parse(line.split_whitespace().map(OsString::from)) {
        Ok(Command::Serve(config)) => Ok(*config),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => {
            assert_eq!(error.exit, crate::error::Exit::Usage);
            Err(error.text)
        }
    }
}

#[test]
fn an_application_alone_gets_the_defaults() {
    let config = parse("shop.app:application").unwrap();
    assert_eq!(config.application.as_deref(), Some("shop.app:application"));
    assert!(config.binds.is_empty(), "the default gives way to the sockets of a service manager");
    assert_eq!((config.workers, config.threads, config.backlog), (1, 1, 2048));
    assert_eq!(config.limits.body, 64 << 20);
    assert_eq!(config.deadlines.idle, Duration::from_secs(60));
    assert_eq!(config.hang_after, Some(Duration::from_secs(60)));
    assert_eq!(config.max_requests, None);
    assert_eq!(config.access_log, AccessLog::Off);
}

#[test]
fn addresses_of_every_kind() {
    let config = parse("a --bind [::1]:80 -b localhost:0 --bind=unix:/run/a:b.sock -b1.2.3.4:5").unwrap();
    let wanted = [
        Bind::Tcp("[::1]:80".parse().unwrap()),
        Bind::Name("localhost".into(), 0),
        Bind::Unix("/run/a:b.sock".into()),
        Bind::Tcp("1.2.3.4:5".parse().unwrap()),
    ];
    assert_eq!(config.binds, wanted);
}

#[test]
fn units_are_read() {
    let config = parse("a --limit-body 2m --limit-head 65536 --spool 0 --deadline-idle 1500ms --hang-after 2").unwrap();
    assert_eq!((config.limits.body, config.limits.head, config.limits.spool), (2 << 20, 65536, 0));
    assert_eq!(config.deadlines.idle, Duration::from_millis(1500));
    assert_eq!(config.hang_after, Some(Duration::from_secs(2)));
}

#[test]
fn mistakes_are_named() {
    assert!(Config::parse(["a", "--name", ""].map(OsString::from)).unwrap_err().text.contains("--name is a name"));
    for (line, part) in [
        ("", "nothing to serve"),
        ("a b", "one application"),
        ("a:b:c", "MODULE:CALLABLE"),
        ("../a", "MODULE:CALLABLE"),
        ("a --wokers 2", "did you mean --workers?"),
        ("a --nothing-like-it", "see wheat --help"),
        ("a -x", "no option -x"),
        ("a --workers", "--workers needs a value: N"),
        ("a --workers 0", "a number from 1 to 512, not \"0\""),
        ("a --workers +1", "a number from 1 to 512"),
        ("a --bind :80", "0.0.0.0 for all"),
        ("a --bind 80", "HOST:PORT"),
        ("a --bind 1.2.3.4:65536", "HOST:PORT"),
        ("a --bind [::1:80", "HOST:PORT"),
        ("a --bind unix:", "unix:PATH"),
        ("a --limit-body 1.5m", "a size"),
        ("a --limit-body 99999999999999999999", "a size"),
        ("a --limit-body 17179869184g", "a size"),
        ("a --limit-line 64k", "--limit-head"),
        ("a --deadline-idle 0", "1ms to 24h"),
        ("a --deadline-idle s", "1ms to 24h"),
        ("a --socket-mode 888", "octal"),
        ("a --tls-key k", "come together"),
        ("a --input streamed", "--threads 2"),
        ("a --access-log common", "off, combined or json, not \"common\""),
        ("a --access-log-file f", "--access-log"),
        ("a --access-log-syslog unix:/dev/log", "--access-log"),
        ("a --access-log json --access-log-format %(h)s", "leave one of the two out"),
        ("a --access-log json --access-log-file f --access-log-syslog h:1", "two places"),
        ("a --access-log-format %(z)s", "there is no field z"),
        ("a --protocol udp", "http or line"),
        ("a --protocol line --static /=x", "--static is for --protocol http"),
        ("a --protocol line --trust ::1", "--trust is for --protocol http"),
        ("a --static assets", "/PREFIX=DIR"),
        ("a --static static=assets", "/PREFIX=DIR"),
        ("a --index index.html", "--static"),
        ("a --affinity 1-", "0,2-3"),
        ("a --affinity 5000", "may use"),
        ("a --reuse-port=yes", "--reuse-port takes no value"),
        ("a stat", "stat"),
        ("a --static /a=x --static /a/=y", "--static /a/ is given twice"),
        ("a --static /a/../b=x", "without . and .."),
        ("a --static /s=x --static-header /t=A:b", "no --static has this prefix"),
        ("a --static /s=x --static-header /s=date:b", "does not set itself"),
        ("a --static /s=x --static-header /s=Ab", "/PREFIX=NAME: VALUE"),
        ("a --static-header /s=A:b", "--static"),
        ("--static /=x --static-missing application", "needs an application"),
        ("--static /=x --static-missing ../a", "by its path in the folder"),
        ("--static /=x --preload", "need an application"),
        ("a --user=", "--user"),
        ("a --limit-headers 257", "from 1 to 256"),
        ("stat a b", "wheat stat --help"),
        ("stat --wach", "did you mean --watch?"),
        ("stat --watch=0", "1ms to 24h"),
    ] {
        let error = parse(line).expect_err(line);
        assert!(error.contains(part), "{line}: {error}");
        assert!(!error.contains('\n'), "{line}: {error}");
    }
}

#[test]
fn help_fits_its_width_and_has_the_default_address() {
    for line in ["--help", "stat --help"] {
        let Ok(Command::Tell(help)) = Config::parse(line.split(' ').map(OsString::from)) else { panic!("no help") };
        assert!(help.contains("Usage: wheat"), "{help}");
        assert!(help.contains(DEFAULT_BIND) == (line == "--help"), "{help}");
        help.lines().for_each(|line| assert!(line.len() <= 104, "{line}"));
    }
}

#[test]
fn the_declaration_agrees_with_itself() {
    use clap::CommandFactory;
    CommandLine::command().debug_assert();
}

#[test]
fn stat_takes_a_server_and_a_pace() {
    let stat = |line: &str| match Config::parse(line.split(' ').map(OsString::from)) {
        Ok(Command::Stat(request)) => request,
        other => panic!("{other:?}"),
    };
    assert_eq!(stat("stat"), StatRequest { which: None, every: None, openmetrics: false });
    assert_eq!(stat("stat shop --watch").every, Some(Duration::from_secs(1)));
    assert_eq!(stat("stat --watch=200ms shop").which, Some("shop".into()));
    assert!(stat("stat --openmetrics").openmetrics);
}

// SPDX-License-Identifier: Apache-2.0
//! The master: opens the sockets, keeps as many workers at work as are wanted, and never touches a request.
//!
//! Whatever happens (a signal, a death, a report) only changes what is wanted or what is known; `reconcile` then does what is
//! missing. Start, replacement, reload, `--max-requests` and a change of the number of workers are all the same to it: workers
//! of the current generation are started until there are enough, and when enough of them are ready the others retire.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};
use rustix::thread::CpuSet;

use crate::clock::monotonic_ns;
use crate::config::Config;
use crate::error::{Error, Exit};
use crate::observe::counters::{Memory, State};
use crate::options::MOST_WORKERS;
use crate::supervise::handover::{self, Handover, Line, Order, Report};
use crate::supervise::identity::Identity;
use crate::supervise::listen::{Listening, scheme};
use crate::supervise::metrics::Metrics;
use crate::supervise::notify::{Watchdog, notify};
use crate::supervise::resident::give_back_code;
use crate::supervise::signals::Signals;
use crate::supervise::takeover::{self, Legacy, Successor};
use crate::supervise::template::Template;
use crate::supervise::watch::Watch;

/// A worker that ended sooner than this is not replaced at once.
const SHORT_LIFE: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The time between SIGABRT, at which Python tells where it is, and SIGKILL.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Workers keep their deadline themselves; once this much more has passed they are killed.
const GRACE_OF_GRACE: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Serves until a signal ends it.
pub fn run(config: &Config) -> Result<ExitCode, Error> {
    look_over(config)?;
    let program = program();
    let mut legacy = Legacy::take();
    let watchdog = Watchdog::of_environment(legacy.is_some());
    let launch = Launch::find(config)?;
    let identity = Identity::of(config)?;
    raise_descriptor_limit();
    let signals = Signals::block()
        .map_err(|error| Error::unavailable(format!("can't take signals through a descriptor: {error}")))?;
    if config.preload {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| Error::unavailable(format!("--preload: this kernel gives no orphans: {error}")))?;
    }
    let listening = match &mut legacy {
        Some(legacy) => Listening::inherit(std::mem::take(&mut legacy.sockets), legacy.adopted, scheme(config))?,
        None => Listening::open(config)?,
    };
    let metrics = match (&mut legacy, &config.metrics) {
        (Some(legacy), Some(_)) => Some(Metrics::inherit(std::mem::take(&mut legacy.metrics))?),
        (None, Some(bind)) => Some(Metrics::open(bind, config)?),
        (_, None) => None,
    };
    let memory = Memory::create(&config.shown_name(), &listening.addresses.join(" "))
        .map_err(|error| Error::unavailable(format!("no memory for the counters: {error}")))?;
    // Who takes over writes it when it has.
    let pid_file = config.pid_file.as_deref().filter(|_| legacy.is_none()).map(PidFile::write).transpose()?;
    let watch = config.reload.then(Watch::new).transpose();
    let watch = watch.map_err(|error| Error::unavailable(format!("--reload: there is no inotify here: {error}")))?;
    let mut master = Master {
        config,
        launch,
        identity: identity.map(Arc::new),
        signals,
        listening: Some(listening),
        metrics,
        memory,
        workers: Vec::new(),
        templates: Vec::new(),
        wanted: config.workers,
        generation: 1,
        latest: 1,
        proven: 0,
        failures: 0,
        pause_until: None,
        stopping: None,
        pid_file,
        program,
        legacy,
        successor: None,
        watchdog,
        watch,
    };
    let outcome = master.serve();
    master.kill_all();
    outcome
}

/// Where this program is, by the name that it was started by: a link may lead elsewhere later.
fn program() -> Option<PathBuf> {
    let name = PathBuf::from(std::env::args_os().next()?);
    if name.components().count() > 1 { std::path::absolute(name).ok() } else { std::env::current_exe().ok() }
}

/// The soft limit of descriptors is 1024 in many places, for programs that still use select(2). Workers inherit this one.
fn raise_descriptor_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Where it can't be raised a worker still says when it has no more.
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
}

/// `--check`: everything short of listening, the import of the application included.
pub fn check(config: &Config) -> Result<ExitCode, Error> {
    look_over(config)?;
    if let launch @ Launch::Python(_) = Launch::find(config)? {
        let status = launch.command(config).env(handover::VARIABLE, handover::CHECK).status();
        let status = status.map_err(|error| launch.cannot_start(&error))?;
        if !status.success() {
            return Err(launch.no_worker(config, &Ending::of_exit(status)));
        }
    }
    say("the configuration is good");
    Ok(ExitCode::SUCCESS)
}

/// What only the master can say before a worker fails at it.
fn look_over(config: &Config) -> Result<(), Error> {
    let readable = |option: &str, path: &Path| {
        std::fs::File::open(path)
            .map(drop)
            .map_err(|error| Error::config(format!("{option} {}: {}", path.display(), reason(&error))))
    };
    let statics = config.statics.iter().map(|route| ("--static", route));
    for (option, route) in statics.chain(config.internals.iter().map(|route| ("--internal", route))) {
        let option = format!("{option} {}={}", route.prefix, route.root.display());
        match route.root.metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(Error::config(format!("{option}: it is not a folder"))),
            Err(error) => return Err(Error::config(format!("{option}: {}", reason(&error)))),
        }
    }
    if let Some(tls) = &config.tls {
        readable("--tls-certificate", &tls.certificate)?;
        readable("--tls-key", &tls.key)?;
    }
    if let Some(hooks) = &config.hooks {
        readable("--hooks", hooks)?;
    }
    for page in &config.error_pages {
        readable("--error-page", &page.path)?;
    }
    if let Some(folder) = &config.chdir {
        if !folder.is_dir() {
            return Err(Error::config(format!("--chdir {}: it is not a folder", folder.display())));
        }
    }
    Ok(())
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".into(),
        io::ErrorKind::PermissionDenied => "this user may not read it".into(),
        _ => error.to_string(),
    }
}

/// A line on standard error. A reader that goes away does not end the server.
fn say(text: &str) {
    let _ = io::stderr().write_all(format!("wheat: {text}\n").as_bytes());
}

/// How a worker is started.
#[derive(Debug)]
enum Launch {
    /// The interpreter: an application is served.
    Python(PathBuf),
    /// This very program: files only.
    Own,
}

impl Launch {
    fn find(config: &Config) -> Result<Self, Error> {
        if config.application.is_none() {
            return Ok(Self::Own);
        }
        if let Some(python) = &config.python {
            return Ok(Self::Python(python.clone()));
        }
        // The neighbour without resolving links: in a virtual environment it knows its packages by where it stands.
        let beside = std::env::current_exe().ok().and_then(|own| own.parent().map(|folder| folder.join("python3")));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).map(|folder| folder.join("python3"));
        beside.into_iter().chain(on_path).find(|python| python.is_file()).map(Self::Python).ok_or_else(|| {
            Error::unavailable("there is no python3 beside this program or on PATH: install it, or say --python FILE")
        })
    }

    fn command(&self, config: &Config) -> Command {
        let mut command = match self {
            Self::Python(python) => {
                let mut command = Command::new(python);
                // faulthandler tells where a worker was when it is ended because it hangs, or crashes.
                // Not `-m`: runpy would cost memory in every worker.
                command.args(["-X", "faulthandler", "-c", "from wheat._wheat import serve; serve()"]);
                command
            }
            Self::Own => {
                let mut command = Command::new("/proc/self/exe");
                command.arg0("wheat");
                command
            }
        };
        command.args(&config.arguments).stdin(Stdio::null());
        for inherited in ["LISTEN_FDS", "LISTEN_PID", takeover::VARIABLE] {
            command.env_remove(inherited);
        }
        command
    }

    fn cannot_start(&self, error: &io::Error) -> Error {
        match self {
            Self::Python(python) => {
                Error::unavailable(format!("{} can't be started: {}", python.display(), reason(error)))
            }
            Self::Own => Error::unavailable(format!("no worker can be started: {error}")),
        }
    }

    /// Why nothing is served.
    fn no_worker(&self, config: &Config, ending: &Ending) -> Error {
        match (self, ending, &config.application) {
            (Self::Python(_), Ending::Code(code), Some(application)) if *code == Exit::Application as i32 => {
                Error::config(format!("{application} can't be loaded, as said above"))
            }
            (_, Ending::Code(code), _) if *code == Exit::Config as i32 => {
                Error::config("no worker can begin, as said above")
            }
            (Self::Python(python), Ending::Code(1), _) => Error::config(format!(
                "{} can't run a worker, as said above: is wheat installed there?",
                python.display()
            )),
            _ => Error::config(format!("the worker {ending} before it was ready")),
        }
    }
}

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Code(i32),
    Signal(i32),
}

impl Ending {
    fn of(status: WaitStatus) -> Self {
        match status.terminating_signal() {
            Some(signal) => Self::Signal(signal),
            None => Self::Code(status.exit_status().unwrap_or(-1)),
        }
    }

    fn of_exit(status: std::process::ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        status.signal().map_or(Self::Code(status.code().unwrap_or(-1)), Self::Signal)
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "ended with exit code {code}"),
            Self::Signal(libc::SIGKILL) => f.write_str("was ended by SIGKILL"),
            Self::Signal(libc::SIGSEGV) => f.write_str("was ended by SIGSEGV"),
            Self::Signal(libc::SIGABRT) => f.write_str("was ended by SIGABRT"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
        }
    }
}

struct Worker {
    pid: Pid,
    line: Line,
    slot: usize,
    index: usize,
    generation: u64,
    state: State,
    /// Another one is to take its place; it serves until then.
    leaving: bool,
    born: Instant,
    /// What its counters said when they last said something new, and when that was.
    mark: [u64; 2],
    marked: Instant,
    /// When it is killed, if it is still there.
    kill_at: Option<Instant>,
}

struct Stop {
    kill_at: Instant,
}

struct Master<'a> {
    config: &'a Config,
    launch: Launch,
    /// Whom workers run as.
    identity: Option<Arc<Identity>>,
    signals: Signals,
    /// None once the server stops.
    listening: Option<Listening>,
    metrics: Option<Metrics>,
    memory: Memory,
    workers: Vec<Worker>,
    /// With `--preload`: one for the load that is wanted and, until that has proven itself, for the one of before.
    templates: Vec<Template>,
    wanted: usize,
    /// Which load of the application is wanted, and the newest that was tried.
    generation: u64,
    latest: u64,
    /// The newest load of which enough workers were ready at once. 0: none yet.
    proven: u64,
    /// Short lives in a row, and until when no worker is started because of them.
    failures: u32,
    pause_until: Option<Instant>,
    stopping: Option<Stop>,
    pid_file: Option<PidFile>,
    /// Where this program was when it started: by now another one may be there.
    program: Option<PathBuf>,
    /// Until this master is ready to take over from an older one.
    legacy: Option<Legacy>,
    /// Who is to take over from this one.
    successor: Option<Successor>,
    watchdog: Option<Watchdog>,
    /// `--reload`
    watch: Option<Watch>,
}

impl Master<'_> {
    fn serve(&mut self) -> Result<ExitCode, Error> {
        loop {
            self.reconcile()?;
            if self.stopping.is_some() && self.workers.is_empty() {
                return Ok(ExitCode::SUCCESS);
            }
            self.wait();
            while let Some(signal) = self.signals.next() {
                self.obey(signal);
            }
            self.hear();
            self.hear_successor();
            self.hear_changes();
            self.bury()?;
            self.end_the_hung();
            self.kill_the_late();
            if let Some(watchdog) = &mut self.watchdog {
                watchdog.turn();
            }
            if let Some(metrics) = &mut self.metrics {
                metrics.turn(&self.memory);
            }
        }
    }

    /// Starts what is missing, retires what is too much.
    fn reconcile(&mut self) -> Result<(), Error> {
        if self.stopping.is_some() {
            return Ok(());
        }
        self.memory.note_wanted(self.wanted, self.generation);
        let mut at_work = self.at_work();
        // The first of a new load shows whether the application can be loaded at all.
        let start_up_to = if self.generation == self.proven || self.ready() > 0 { self.wanted } else { 1 };
        while at_work < start_up_to
            && self.pause_until.is_none_or(|until| until <= Instant::now())
            && self.is_ready_to_start()?
        {
            self.start()?;
            at_work = self.at_work();
        }
        for _ in self.wanted..at_work {
            let generation = self.generation;
            let last = self.workers.iter_mut().filter(|w| w.is_at_work(generation)).max_by_key(|w| w.index);
            if let Some(worker) = last {
                worker.retire(&self.memory, self.config.deadlines.graceful);
            }
        }
        if self.ready() >= self.wanted {
            if self.proven == 0 {
                self.announce();
            } else if self.proven != self.generation {
                say("reloaded");
                notify("READY=1");
            }
            if self.proven != self.generation {
                give_back_code();
            }
            self.proven = self.generation;
            self.end_templates();
            let generation = self.generation;
            for worker in &mut self.workers {
                if !worker.is_at_work(generation) && worker.state != State::Finishing {
                    worker.retire(&self.memory, self.config.deadlines.graceful);
                }
            }
        }
        Ok(())
    }

    /// Workers of this load that start or serve, without those that are leaving.
    fn at_work(&self) -> usize {
        self.workers.iter().filter(|worker| worker.is_at_work(self.generation)).count()
    }

    fn ready(&self) -> usize {
        let ready = |worker: &&Worker| worker.is_at_work(self.generation) && worker.state == State::Ready;
        self.workers.iter().filter(ready).count()
    }

    fn announce(&mut self) {
        let addresses = self.listening.as_ref().map_or(String::new(), |l| l.addresses.join(", "));
        let what = self.config.application.as_deref().unwrap_or("files");
        let workers = if self.wanted == 1 { "1 worker".into() } else { format!("{} workers", self.wanted) };
        say(&format!("serving {what} at {addresses} with {workers}, master {}", std::process::id()));
        if let Some(metrics) = &self.metrics {
            say(&format!("counters at {}", metrics.address()));
        }
        if let Some(legacy) = self.legacy.take() {
            match self.config.pid_file.as_deref().map(PidFile::write).transpose() {
                Ok(pid_file) => self.pid_file = pid_file,
                Err(error) => say(&error.text),
            }
            legacy.ready();
        }
        notify("READY=1");
    }

    /// Starts the program that is to take over.
    fn appoint_successor(&mut self) {
        let (Some(program), Some(listening), None) = (&self.program, &self.listening, &self.successor) else {
            return say("SIGUSR2: another program is about to take over already");
        };
        let metrics = self.metrics.as_ref().map_or(&[][..], Metrics::sockets);
        match Successor::start(program, &listening.sockets, listening.adopted, metrics) {
            Ok(successor) => {
                say(&format!("{} is started to take over, as process {}", program.display(), successor.pid));
                self.successor = Some(successor);
            }
            Err(error) => say(&format!("{} can't be started to take over: {}", program.display(), reason(&error))),
        }
    }

    fn hear_successor(&mut self) {
        let Some(is_ready) = self.successor.as_ref().and_then(Successor::is_ready) else { return };
        let Some(successor) = self.successor.take() else { return };
        if !is_ready || self.stopping.is_some() {
            return say(&format!("process {} did not take over: this one goes on", successor.pid));
        }
        say(&format!("process {} has taken over", successor.pid));
        notify(&format!("MAINPID={}", successor.pid));
        for worker in &mut self.workers {
            worker.retire(&self.memory, self.config.deadlines.graceful);
        }
        if let Some(listening) = self.listening.take() {
            listening.leave_to_successor();
        }
        if let Some(metrics) = self.metrics.take() {
            metrics.leave_to_successor();
        }
        self.stopping = Some(Stop { kill_at: Instant::now() + self.config.deadlines.graceful + GRACE_OF_GRACE });
        self.end_templates();
    }

    fn template(&self) -> Option<&Template> {
        self.templates.iter().find(|template| template.generation == self.generation)
    }

    /// Whether a worker can be started now: with `--preload`, once there is a template, which is started here.
    fn is_ready_to_start(&mut self) -> Result<bool, Error> {
        let Some(listening) = self.listening.as_ref().filter(|_| self.config.preload) else { return Ok(true) };
        if let Some(template) = self.template() {
            return Ok(template.is_ready);
        }
        match self.spawn(listening, 0, 0, None) {
            Ok((pid, line)) => self.templates.push(Template::new(pid, self.generation, line)),
            Err(error) => self.cannot_start(&error)?,
        }
        Ok(false)
    }

    /// Those of loads that are not wanted any more.
    fn end_templates(&mut self) {
        self.templates.retain(|template| {
            let stays = self.stopping.is_none() && [self.generation, self.proven].contains(&template.generation);
            if !stays {
                template.end();
            }
            stays
        });
    }

    fn start(&mut self) -> Result<(), Error> {
        let Some(listening) = &self.listening else { return Ok(()) };
        let index = (0..)
            .find(|index| !self.workers.iter().any(|w| w.index == *index && w.is_at_work(self.generation)))
            .unwrap_or(0);
        let Some(slot) = self.memory.take(index, self.generation) else {
            self.pause(); // the workers of earlier loads still have all slots
            return Ok(());
        };
        let started = match self.template() {
            Some(template) => {
                line_of_two().and_then(|(ours, theirs)| template.fork(index, slot, &theirs).map(|pid| (pid, ours)))
            }
            None => {
                let cpus = self.config.affinity.cpus(index);
                self.spawn(listening, index, slot, cpus)
            }
        };
        match started {
            Ok((pid, line)) => {
                self.memory.slot(slot).pid.set(pid.as_raw_pid() as u64);
                self.workers.push(Worker {
                    pid,
                    line: Line::new(line),
                    slot,
                    index,
                    generation: self.generation,
                    state: State::Starting,
                    leaving: false,
                    born: Instant::now(),
                    mark: [0; 2],
                    marked: Instant::now(),
                    kill_at: None,
                });
                Ok(())
            }
            Err(error) => {
                self.memory.give_back(slot);
                self.cannot_start(&error)
            }
        }
    }

    fn cannot_start(&mut self, error: &io::Error) -> Result<(), Error> {
        let is_forbidden = error.kind() == io::ErrorKind::PermissionDenied && self.identity.is_some();
        let mut error = self.launch.cannot_start(error);
        if is_forbidden {
            error.text += " (the one of --user, who needs the folders above it as well)";
        }
        if self.proven == 0 {
            return Err(error);
        }
        say(&error.text);
        // Another template may do better.
        self.templates.iter().filter(|template| template.generation == self.generation).for_each(Template::end);
        self.give_up_reload();
        self.pause();
        Ok(())
    }

    /// The next start waits, the longer the more often this happened.
    fn pause(&mut self) {
        self.failures += 1;
        let pause = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(10)).min(LONGEST_PAUSE);
        self.pause_until = Some(Instant::now() + pause);
    }

    /// Waits until something happens or something is due.
    fn wait(&mut self) {
        let now = Instant::now();
        let hang_check = self.config.hang_after.map(|hang| now + (hang / 4).min(Duration::from_secs(1)));
        let due = self.workers.iter().filter_map(|worker| worker.kill_at);
        let due =
            due.chain(self.pause_until).chain(hang_check).chain(self.watchdog.as_ref().map(|watchdog| watchdog.due));
        let due = due.chain(self.metrics.as_ref().and_then(Metrics::due));
        let due = due.chain(self.watch.as_ref().and_then(Watch::due));
        let wait = due.min().map_or(LONGEST_WAIT, |due| due.saturating_duration_since(now));
        // Rounded up: otherwise a deadline that is almost there would be looked at over and over.
        let wait = wait.max(Duration::from_millis(1)).min(LONGEST_WAIT);
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        // Of the finishing ones only the end is of interest, and that is a signal.
        let heard = self.workers.iter().filter(|worker| worker.state != State::Finishing);
        fds.extend(heard.map(|worker| PollFd::from_borrowed_fd(worker.line.as_fd(), PollFlags::IN)));
        let templates = self.templates.iter().filter(|template| !template.is_ready);
        fds.extend(templates.map(|template| PollFd::new(template, PollFlags::IN)));
        fds.extend(self.watch.as_ref().map(|watch| PollFd::new(watch, PollFlags::IN)));
        fds.extend(self.successor.as_ref().map(|successor| PollFd::new(successor, PollFlags::IN)));
        if let Some(metrics) = &self.metrics {
            metrics.watch(&mut fds);
        }
        // An interrupted or failed wait only means to look at everything now.
        let _ = poll(&mut fds, Some(&wait));
    }

    fn obey(&mut self, signal: i32) {
        match signal {
            libc::SIGTERM | libc::SIGINT if self.stopping.is_none() => self.stop(),
            libc::SIGTERM | libc::SIGINT | libc::SIGQUIT => {
                self.stop();
                for worker in &mut self.workers {
                    worker.kill_at = Some(Instant::now());
                }
            }
            _ if self.stopping.is_some() => {}
            libc::SIGHUP => self.reload(),
            libc::SIGTTIN => self.wanted = (self.wanted + 1).min(MOST_WORKERS),
            libc::SIGTTOU => self.wanted = (self.wanted - 1).max(1),
            libc::SIGUSR2 => self.appoint_successor(),
            libc::SIGUSR1 => self.workers.iter().for_each(|worker| worker.line.order(Order::ReopenLogs)),
            _ => {} // SIGCHLD: `bury` looks
        }
    }

    /// What was written while a reload is under way begins another one.
    fn hear_changes(&mut self) {
        if let Some(name) = self.watch.as_mut().and_then(Watch::take).filter(|_| self.stopping.is_none()) {
            say(&format!("{name} has changed"));
            self.reload();
        }
    }

    fn reload(&mut self) {
        say("reloading");
        notify(&format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_ns() / 1000));
        self.latest += 1;
        self.generation = self.latest;
        self.forget_failures();
        self.kill_superseded();
    }

    fn stop(&mut self) {
        if self.stopping.is_some() {
            return;
        }
        notify("STOPPING=1");
        let kill_at = Instant::now() + self.config.deadlines.graceful + GRACE_OF_GRACE;
        for worker in &mut self.workers {
            worker.line.order(Order::Finish);
            worker.finishing(&self.memory, kill_at);
        }
        if let Some(listening) = self.listening.take() {
            listening.shut();
        }
        self.stopping = Some(Stop { kill_at });
        self.end_templates();
    }

    fn forget_failures(&mut self) {
        self.failures = 0;
        self.pause_until = None;
    }

    /// Workers of a load that is not wanted any more and that never served.
    fn kill_superseded(&mut self) {
        let generation = self.generation;
        for worker in self.workers.iter_mut().filter(|w| w.generation != generation && w.state == State::Starting) {
            worker.finishing(&self.memory, Instant::now());
        }
        self.end_templates();
    }

    /// Back to the load that worked.
    fn give_up_reload(&mut self) {
        notify("READY=1");
        if self.proven != 0 && self.generation != self.proven {
            say("the reload is given up: the workers of before go on");
            self.generation = self.proven;
            self.kill_superseded();
        }
    }

    fn hear(&mut self) {
        self.templates.iter_mut().for_each(Template::hear);
        for worker in &mut self.workers {
            while let Ok(Some(report)) = worker.line.report() {
                match report {
                    Report::Ready if worker.state == State::Starting => {
                        worker.state = State::Ready;
                        self.memory.slot(worker.slot).state.set(State::Ready as u64);
                    }
                    Report::Ready => {}
                    Report::ReplaceMe => worker.leaving = true,
                }
            }
        }
    }

    /// Takes note of workers that ended.
    fn bury(&mut self) -> Result<(), Error> {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if let Some(at) = self.templates.iter().position(|template| template.pid == pid) {
                let template = self.templates.swap_remove(at);
                self.mourn_template(&template, &Ending::of(status))?;
                continue;
            }
            // As process 1 of a container the master also gets the orphans of others.
            let Some(at) = self.workers.iter().position(|worker| worker.pid == pid) else { continue };
            let worker = self.workers.swap_remove(at);
            self.memory.give_back(worker.slot);
            if worker.state != State::Finishing {
                self.mourn(&worker, &Ending::of(status))?;
            }
        }
        Ok(())
    }

    /// Takes note of a template that ended and should not have. Another one is started when there is a worker to fork.
    fn mourn_template(&mut self, template: &Template, ending: &Ending) -> Result<(), Error> {
        if !template.is_ready && self.proven == 0 {
            return Err(self.launch.no_worker(self.config, ending));
        }
        let pid = template.pid.as_raw_pid();
        say(&format!("the process that imports the application and forks the workers ({pid}) {ending}"));
        if !template.is_ready && template.generation != self.proven {
            self.give_up_reload();
        } else {
            self.pause();
        }
        Ok(())
    }

    /// Takes note of a worker that ended and should not have.
    fn mourn(&mut self, worker: &Worker, ending: &Ending) -> Result<(), Error> {
        self.memory.note_died();
        let short = worker.born.elapsed() < SHORT_LIFE;
        if worker.state == State::Starting {
            let broken = [Exit::Config, Exit::Application].iter().any(|exit| *ending == Ending::Code(*exit as i32));
            let somebody_serves = self.workers.iter().any(|worker| worker.state == State::Ready);
            if self.proven == 0 || (broken && !somebody_serves) {
                return Err(self.launch.no_worker(self.config, ending));
            }
            say(&format!("worker {} (process {}) {ending} before it was ready", worker.index, worker.pid.as_raw_pid()));
            if worker.generation == self.generation && worker.generation != self.proven {
                self.give_up_reload();
                return Ok(());
            }
            self.pause();
            return Ok(());
        }
        say(&format!("worker {} (process {}) {ending}: it is replaced", worker.index, worker.pid.as_raw_pid()));
        if short {
            self.pause()
        } else {
            self.forget_failures()
        }
        Ok(())
    }

    fn end_the_hung(&mut self) {
        let Some(hang_after) = self.config.hang_after else { return };
        for worker in self.workers.iter_mut().filter(|worker| worker.state == State::Ready) {
            let slot = self.memory.slot(worker.slot);
            let mark = [slot.busy_since.get(), slot.progress.get()];
            if mark[0] == 0 || mark != worker.mark {
                (worker.mark, worker.marked) = (mark, Instant::now());
            }
            if worker.marked.elapsed() < hang_after {
                continue;
            }
            say(&format!(
                "worker {} (process {}) hangs: nothing has got on for {hang_after:?}, and it is replaced",
                worker.index,
                worker.pid.as_raw_pid()
            ));
            self.memory.note_hung();
            worker.signal(Signal::ABORT);
            worker.finishing(&self.memory, Instant::now() + LAST_WORDS);
        }
    }

    fn kill_the_late(&mut self) {
        let now = Instant::now();
        let stop_at = self.stopping.as_ref().map(|stop| stop.kill_at);
        for worker in &mut self.workers {
            let Some(at) = worker.kill_at.filter(|at| *at <= now) else { continue };
            if Some(at) == stop_at {
                say(&format!("worker {} (process {}) did not end in time", worker.index, worker.pid.as_raw_pid()));
            }
            worker.signal(Signal::KILL);
            worker.kill_at = None;
        }
    }

    fn kill_all(&mut self) {
        for worker in self.workers.drain(..) {
            worker.signal(Signal::KILL);
            let _ = rustix::process::waitpid(Some(worker.pid), WaitOptions::empty());
        }
        for template in self.templates.drain(..) {
            template.end();
            let _ = rustix::process::waitpid(Some(template.pid), WaitOptions::empty());
        }
    }
}

impl Worker {
    fn is_at_work(&self, generation: u64) -> bool {
        self.generation == generation && !self.leaving && self.state != State::Finishing
    }

    fn retire(&mut self, memory: &Memory, deadline: Duration) {
        self.line.order(Order::Retire);
        self.finishing(memory, Instant::now() + deadline + GRACE_OF_GRACE);
    }

    fn finishing(&mut self, memory: &Memory, kill_at: Instant) {
        self.state = State::Finishing;
        self.kill_at = Some(self.kill_at.map_or(kill_at, |at| at.min(kill_at)));
        memory.slot(self.slot).state.set(State::Finishing as u64);
    }

    fn signal(&self, signal: Signal) {
        // It is our child and not waited for yet: the number is still its own.
        let _ = rustix::process::kill_process(self.pid, signal);
    }
}

/// The master's end, and that of a worker or of a template.
fn line_of_two() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

impl Master<'_> {
    /// A worker or, with `--preload`, the template that forks them.
    fn spawn(
        &self,
        listening: &Listening,
        index: usize,
        slot: usize,
        cpus: Option<CpuSet>,
    ) -> io::Result<(Pid, OwnedFd)> {
        let (ours, theirs) = line_of_two()?;
        let master = rustix::process::getpid();
        let handover = Handover {
            master: master.as_raw_pid() as u32,
            index,
            slot,
            control: theirs.as_raw_fd(),
            counters: self.memory.file().as_raw_fd(),
            watch: self.watch.as_ref().map(|watch| watch.as_fd().as_raw_fd()),
            listeners: listening.sockets.iter().map(OwnedFd::as_raw_fd).collect(),
        };
        let inherited: Vec<RawFd> = handover
            .listeners
            .iter()
            .copied()
            .chain([handover.control, handover.counters])
            .chain(handover.watch)
            .collect();
        let mut command = self.launch.command(self.config);
        command.env(handover::VARIABLE, handover.to_text());
        let identity = self.identity.clone();
        if let Some((name, home)) = identity.as_ref().and_then(|identity| identity.account.as_ref()) {
            let (name, home) = (OsStr::from_bytes(name.to_bytes()), OsStr::from_bytes(home.to_bytes()));
            command.envs([("USER", name), ("LOGNAME", name), ("HOME", home)]);
        }
        // SAFETY: between fork and exec only async-signal-safe system calls are made, and nothing is allocated: what they
        // need was made before. The descriptors are open in the child as they are here.
        unsafe {
            command.pre_exec(move || {
                // Ctrl-C and a hang-up go to the whole group; it is the master that tells the workers what to do then.
                libc::signal(libc::SIGINT, libc::SIG_IGN);
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
                crate::supervise::signals::unblock_all()?;
                if let Some(identity) = &identity {
                    identity.take_on()?;
                }
                // A worker never outlives its master, however that ends: nobody could stop or replace it. After the change of
                // user, at which the kernel forgets this.
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                if rustix::process::getppid() != Some(master) {
                    return Err(io::ErrorKind::Interrupted.into()); // it ended before the line above
                }
                for fd in &inherited {
                    if libc::fcntl(*fd, libc::F_SETFD, 0) != 0 {
                        return Err(io::Error::last_os_error());
                    }
                }
                if let Some(cpus) = &cpus {
                    rustix::thread::sched_setaffinity(None, cpus)?;
                }
                Ok(())
            });
        }
        let child = command.spawn()?;
        let pid = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::InvalidData)?;
        Ok((pid, ours))
    }
}

/// The master's process id in a file, as service managers and log rotation want it.
struct PidFile {
    path: PathBuf,
    text: String,
}

impl PidFile {
    fn write(path: &Path) -> Result<Self, Error> {
        let text = format!("{}\n", std::process::id());
        std::fs::write(path, &text)
            .map_err(|error| Error::unavailable(format!("--pid-file {}: {}", path.display(), reason(&error))))?;
        Ok(Self { path: path.to_owned(), text })
    }
}

impl Drop for PidFile {
    /// Removes the file if no other server has put its own there.
    fn drop(&mut self) {
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

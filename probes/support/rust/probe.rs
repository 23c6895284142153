// SPDX-License-Identifier: Apache-2.0
//! Probe protocol 1 for probes written in Rust; docs/reference/protocol.md is its contract.
//!
//! A probe is a [`Probe`] and a function that makes the state of a run from its parameters and returns the batch; both
//! go to [`main!`]. The support does the rest: `--describe`, `--selftest`, key=value, finding the number of operations,
//! values, JSON lines, the deadline. Identity comes from the path of the source file: no name is typed twice.
//! Standard library only; the few system calls that it lacks are declared at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

mod counters;
use counters::{Counted, Counters};

const PROTOCOL: u32 = 1;
const SELFTEST_OPERATIONS: u64 = 23; // a prime, so that rounding to a batch size shows
const DEFAULT_TARGET_NS: u64 = 10_000_000;
const DEFAULT_VALUES: u64 = 9;
const DEFAULT_DEADLINE_S: u64 = 60;
const COUNTED_VALUES: usize = 3; // counts vary little: three tell an outlier
const BUCKET_BITS: u32 = 8; // leading bits of a number that its bucket of a histogram keeps, as in c/histogram.h
const SHORTEST_TAILED_NS: u64 = 1000;
const MAX_OPERATIONS: f64 = (1u64 << 40) as f64;

/// Set by the build: the compiler, and the flags with the versions of what is linked.
const COMPILER: &str = match option_env!("PROBE_COMPILER") {
    Some(text) => text,
    None => "unknown",
};
const FLAGS: &str = match option_env!("PROBE_FLAGS") {
    Some(text) => text,
    None => "unknown",
};

// --- what a probe says of itself -------------------------------------------------------------------------------------

/// One reported figure: quantity `over` divided by quantity `per`. A quantity is "wall" (seconds on the clock times
/// lanes), "cpu", "user", "system" (seconds), "operations", "one", or the name of a count or reading of the value.
pub struct Metric {
    pub name: &'static str,
    pub unit: &'static str,
    pub better: &'static str,
    pub over: &'static str,
    pub per: &'static str,
    pub doc: &'static str,
}

/// What may be varied: an integer within its limits (inclusive), or one of some words. The first of `sweep` is used when
/// nothing is said; `brief` is those of them that a first session of a few minutes takes, all when empty; `curves` are
/// metrics that are drawn over it beside the main one.
pub enum Parameter {
    Integer {
        name: &'static str,
        doc: &'static str,
        unit: &'static str,
        sweep: &'static [i64],
        brief: &'static [i64],
        curves: &'static [&'static str],
        minimum: i64,
        maximum: i64,
    },
    Choice {
        name: &'static str,
        doc: &'static str,
        choices: &'static [&'static str],
        sweep: &'static [&'static str],
        brief: &'static [&'static str],
    },
}

/// What a parameter is set to.
enum Setting {
    Integer(i64),
    Choice(&'static str),
}

impl Parameter {
    fn name(&self) -> &'static str {
        match self {
            Parameter::Integer { name, .. } | Parameter::Choice { name, .. } => name,
        }
    }

    fn default(&self) -> Setting {
        match self {
            Parameter::Integer { sweep, .. } => Setting::Integer(sweep[0]),
            Parameter::Choice { sweep, .. } => Setting::Choice(sweep[0]),
        }
    }

    fn read(&self, text: &str) -> Setting {
        match self {
            Parameter::Integer { name, minimum, maximum, .. } => match text.parse() {
                Ok(number) if (*minimum..=*maximum).contains(&number) => Setting::Integer(number),
                _ => refuse(&format!("{name} is an integer from {minimum} to {maximum}, not \"{text}\"")),
            },
            Parameter::Choice { name, choices, .. } => match choices.iter().find(|choice| **choice == text) {
                Some(choice) => Setting::Choice(choice),
                None => refuse(&format!("{name} is one of {}, not \"{text}\"", choices.join(","))),
            },
        }
    }

    fn described(&self) -> String {
        match self {
            Parameter::Integer { name, doc, unit, sweep, brief, curves, minimum, maximum } => object(&[
                ("type", quoted("integer")),
                ("name", quoted(name)),
                ("doc", quoted(doc)),
                ("unit", quoted(unit)),
                ("minimum", minimum.to_string()),
                ("maximum", maximum.to_string()),
                ("sweep", list(sweep, i64::to_string)),
                ("brief", list(brief, i64::to_string)),
                ("curves", list(curves, |word| quoted(word))),
            ]),
            Parameter::Choice { name, doc, choices, sweep, brief } => object(&[
                ("type", quoted("choice")),
                ("name", quoted(name)),
                ("doc", quoted(doc)),
                ("choices", list(choices, |word| quoted(word))),
                ("sweep", list(sweep, |word| quoted(word))),
                ("brief", list(brief, |word| quoted(word))),
            ]),
        }
    }
}

/// The descriptor: the fields are those of docs/reference/protocol.md.
pub struct Probe {
    /// What people call it, in a few plain words.
    pub title: &'static str,
    pub question: &'static str,
    pub operation: &'static str,
    pub source: &'static str,
    pub statistic: &'static str,
    pub placements: &'static [Placement],
    pub uses: &'static [&'static str],
    pub baseline: Option<&'static str>,
    /// The name under which ways of one question are drawn and tabled together.
    pub family: Option<&'static str>,
    /// A session's values need be no longer; 0: as long as it asks for.
    pub value_ms: u32,
    pub metrics: &'static [Metric],
    pub parameters: &'static [Parameter],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    Same,
    Cross,
    Free,
}

impl Placement {
    fn name(self) -> &'static str {
        match self {
            Placement::Same => "same",
            Placement::Cross => "cross",
            Placement::Free => "free",
        }
    }
}

// --- a run and its values --------------------------------------------------------------------------------------------

/// What was asked for: parameters, placement, and where this run may go, in order.
pub struct Run {
    pub placement: Placement,
    pub cpus: Vec<usize>,
    parameters: BTreeMap<&'static str, Setting>,
}

impl Run {
    /// The value of a declared parameter that is an integer.
    pub fn integer(&self, name: &str) -> i64 {
        match self.parameters.get(name) {
            Some(Setting::Integer(value)) => *value,
            _ => fail(&format!("the probe asks for an integer parameter {name} that it does not declare")),
        }
    }

    /// The value of a declared parameter that is one of some words.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.parameters.get(name) {
            Some(Setting::Choice(word)) => word,
            _ => fail(&format!("the probe asks for a choice parameter {name} that it does not declare")),
        }
    }

    /// Move the calling thread to the CPU of party number `party`: with `same` all share one, with `cross` they
    /// alternate, with `free` nobody is moved.
    pub fn place(&self, party: usize) {
        if self.placement == Placement::Free {
            return;
        }
        place_on(self.cpus[party % self.cpus.len()]);
    }
}

/// Move the calling thread to this CPU.
pub fn place_on(cpu: usize) {
    let mut set = CpuSet::default();
    set.words[cpu / 64] |= 1 << (cpu % 64);
    // SAFETY: the set outlives the call and has the size that is given.
    if unsafe { sched_setaffinity(0, std::mem::size_of::<CpuSet>(), &set) } != 0 {
        fail(&format!("cannot move a thread to CPU {cpu}: {}", std::io::Error::last_os_error()));
    }
}

/// Facts of one timed batch. `operations` is preset to what was asked for; a batch that did another number says so.
#[derive(Default)]
pub struct Value {
    pub operations: u64,
    /// CPUs on which operations went on at the same time.
    pub lanes: u64,
    pub wall_ns: u64,
    usage: Usage,
    begin: Option<(Usage, Instant)>,
    counts: Vec<(&'static str, u64)>,
    readings: Vec<(&'static str, f64)>,
    counters: Option<Arc<Counters>>,
    events: Counted,
    /// The batch that was run again for the counters: its operations, and what was counted.
    again: Option<(u64, Counted)>,
}

impl Value {
    fn new(operations: u64, counters: Option<Arc<Counters>>) -> Self {
        Value { operations, lanes: 1, counters, ..Value::default() }
    }

    fn read_counters(&self) -> Counted {
        self.counters.as_ref().map(|counters| counters.read()).unwrap_or_default()
    }

    /// Begin of the timed part: the clock is read last here and first in [`Value::stop`].
    pub fn start(&mut self) {
        let mut usage = Usage::default();
        if !ONE_BY_ONE.load(Ordering::Relaxed) {
            usage = Usage::now();
            self.events = self.read_counters();
        }
        self.begin = Some((usage, Instant::now()));
    }

    /// End of the timed part.
    pub fn stop(&mut self) {
        let now = Instant::now();
        let Some((usage, begin)) = self.begin.take() else { fail("a batch never began its timed part") };
        self.wall_ns = nanoseconds(now - begin);
        if !ONE_BY_ONE.load(Ordering::Relaxed) {
            self.events = counters::between(&self.events, self.read_counters());
            self.usage = Usage::now().since(&usage);
        }
        self.begin = Some((usage, begin));
    }

    /// A fact that is counted; `checked` is how many operations are proven to have happened.
    pub fn count(&mut self, name: &'static str, count: u64) {
        self.counts.push((name, count));
    }

    /// A fact that is read.
    pub fn reading(&mut self, name: &'static str, reading: f64) {
        self.readings.push((name, reading));
    }

    fn line(&self) -> String {
        let mut fields = vec![
            ("type", quoted("value")),
            ("operations", self.operations.to_string()),
            ("wall_ns", self.wall_ns.to_string()),
            ("lanes", self.lanes.to_string()),
            ("cpu_ns", (self.usage.user_ns + self.usage.system_ns).to_string()),
            ("user_ns", self.usage.user_ns.to_string()),
            ("system_ns", self.usage.system_ns.to_string()),
            ("voluntary", self.usage.voluntary.to_string()),
            ("involuntary", self.usage.involuntary.to_string()),
            ("minor_faults", self.usage.minor_faults.to_string()),
            ("run_delay_ns", self.usage.run_delay_ns.to_string()),
            ("counts", object(&self.counts)),
            (
                "readings",
                object(&self.readings.iter().map(|(name, value)| (*name, format!("{value:e}"))).collect::<Vec<_>>()),
            ),
        ];
        if let Some((operations, events)) = &self.again {
            let events: Vec<_> = events.iter().map(|(name, counter)| (name.as_str(), format!("{counter:?}"))).collect();
            fields.push(("counters", object(&[("operations", operations.to_string()), ("events", object(&events))])));
        }
        object(&fields)
    }
}

/// What the kernel accounts to this process, and the time for which its first thread was ready and not running.
#[derive(Default, Clone)]
struct Usage {
    user_ns: u64,
    system_ns: u64,
    voluntary: u64,
    involuntary: u64,
    minor_faults: u64,
    run_delay_ns: u64,
}

impl Usage {
    fn now() -> Self {
        let mut usage = RawUsage::default();
        // SAFETY: the structure outlives the call and is as large as that of 64-bit Linux.
        unsafe { getrusage(0, &mut usage) };
        let delay = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
        Usage {
            user_ns: usage.user.nanoseconds(),
            system_ns: usage.system.nanoseconds(),
            voluntary: usage.longs[12] as u64,
            involuntary: usage.longs[13] as u64,
            minor_faults: usage.longs[4] as u64,
            run_delay_ns: delay.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0),
        }
    }

    fn since(&self, begin: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns - begin.user_ns,
            system_ns: self.system_ns - begin.system_ns,
            voluntary: self.voluntary - begin.voluntary,
            involuntary: self.involuntary - begin.involuntary,
            minor_faults: self.minor_faults - begin.minor_faults,
            run_delay_ns: self.run_delay_ns - begin.run_delay_ns,
        }
    }
}

/// Bytes of this process that are resident in memory, or that hold its page tables.
pub struct Memory {
    pub resident: u64,
    pub page_tables: u64,
}

impl Memory {
    pub fn now() -> Self {
        Memory {
            resident: kibibytes("/proc/self/smaps_rollup", "Rss:") * 1024,
            page_tables: kibibytes("/proc/self/status", "VmPTE:") * 1024,
        }
    }
}

fn kibibytes(file: &str, field: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| skip(&format!("cannot read {file}: {error}")));
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    match line.and_then(|rest| rest.split_whitespace().next()).and_then(|number| number.parse().ok()) {
        Some(number) => number,
        None => skip(&format!("{file} has no line {field}")),
    }
}

// --- ending ----------------------------------------------------------------------------------------------------------

static NAME: OnceLock<String> = OnceLock::new();
static CAVEATS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn leave(code: i32, reason: &str) -> ! {
    let _ = std::io::stdout().flush();
    eprintln!("{}: {}", NAME.get().map_or("probe", String::as_str), reason.replace('\n', " "));
    // SAFETY: ends the process; other threads may be in the middle of anything, so nothing else is run.
    unsafe { _exit(code) }
}

/// End the whole probe with exit code 1.
pub fn fail(reason: &str) -> ! {
    leave(1, reason)
}

/// End the whole probe because it cannot run here, and say why.
pub fn skip(reason: &str) -> ! {
    leave(77, reason)
}

fn refuse(reason: &str) -> ! {
    leave(2, reason)
}

/// A doubt that travels with the result; printed once a run however often it is said.
pub fn caveat(text: &str) {
    let mut caveats = CAVEATS.lock().unwrap_or_else(|_| fail("a thread panicked"));
    if !caveats.iter().any(|known| known == text) {
        caveats.push(text.to_string());
    }
}

extern "C" fn out_of_time(_signal: i32) {
    const WORDS: &[u8] = b": not finished within the deadline\n";
    let name = NAME.get().map_or(&b"probe"[..], |name| name.as_bytes());
    // SAFETY: write and _exit may be called from a signal handler.
    unsafe {
        write(2, name.as_ptr(), name.len());
        write(2, WORDS.as_ptr(), WORDS.len());
        _exit(1)
    }
}

// --- printing --------------------------------------------------------------------------------------------------------

fn say(line: &str) {
    if let Err(error) = writeln!(std::io::stdout(), "{line}") {
        fail(&format!("cannot write to standard output: {error}"));
    }
}

fn quoted(text: &str) -> String {
    let mut result = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                result.push('\\');
                result.push(c);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(result, "\\u{:04x}", c as u32);
            }
            c => result.push(c),
        }
    }
    result.push('"');
    result
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(","))
}

/// An object of JSON, of values that are JSON already.
fn object<T: std::fmt::Display>(fields: &[(&str, T)]) -> String {
    let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
    format!("{{{}}}", pairs.join(","))
}

fn describe(name: &str, probe: &Probe) {
    let metric = |m: &Metric| {
        let fields = [
            ("name", m.name),
            ("unit", m.unit),
            ("better", m.better),
            ("over", m.over),
            ("per", m.per),
            ("doc", m.doc),
        ];
        object(&fields.map(|(field, text)| (field, quoted(text))))
    };
    let mut fields = vec![
        ("protocol", PROTOCOL.to_string()),
        ("probe", quoted(name)),
        ("title", quoted(probe.title)),
        ("question", quoted(probe.question)),
        ("operation", quoted(probe.operation)),
        ("source", quoted(probe.source)),
        ("statistic", quoted(probe.statistic)),
        ("baseline", probe.baseline.map_or("null".to_string(), quoted)),
        ("placements", list(probe.placements, |placement| quoted(placement.name()))),
        ("uses", list(probe.uses, |word| quoted(word))),
        ("metrics", list(probe.metrics, metric)),
        ("parameters", list(probe.parameters, Parameter::described)),
        ("tails", "true".to_string()),
    ];
    if let Some(family) = probe.family {
        fields.push(("family", quoted(family)));
    }
    if probe.value_ms > 0 {
        fields.push(("value_ms", probe.value_ms.to_string()));
    }
    say(&object(&fields));
}

fn print_lines(
    name: &str,
    run: &Run,
    operations: u64,
    search: Duration,
    values: &[Value],
    counters: &Counters,
    tails: Option<&Histogram>,
) {
    let given: Vec<_> = run
        .parameters
        .iter()
        .map(|(name, setting)| match setting {
            Setting::Integer(number) => (*name, number.to_string()),
            Setting::Choice(word) => (*name, quoted(word)),
        })
        .collect();
    say(&object(&[
        ("type", quoted("meta")),
        ("protocol", PROTOCOL.to_string()),
        ("probe", quoted(name)),
        ("parameters", object(&given)),
        ("placement", quoted(run.placement.name())),
        ("cpus", list(&run.cpus, usize::to_string)),
        ("operations", operations.to_string()),
        ("compiler", quoted(COMPILER)),
        ("flags", quoted(FLAGS)),
        ("clock", quoted("CLOCK_MONOTONIC")),
        ("search_ns", nanoseconds(search).to_string()),
        ("counters", quoted(&counters.scope)),
        ("counters_absent", quoted(&counters.absent)),
    ]));
    values.iter().for_each(|value| say(&value.line()));
    if let Some(histogram) = tails {
        let buckets: Vec<_> = histogram.iter().map(|(least, count)| format!("[{least},{count}]")).collect();
        say(&object(&[
            ("type", quoted("histogram")),
            ("name", quoted("operation")),
            ("unit", quoted("s")),
            ("scale", "1e-9".to_string()),
            ("buckets", list(&buckets, String::clone)),
        ]));
    }
    for text in CAVEATS.lock().unwrap_or_else(|_| fail("a thread panicked")).iter() {
        say(&object(&[("type", quoted("caveat")), ("text", quoted(text))]));
    }
    say(&object(&[("type", quoted("end")), ("values", values.len().to_string())]));
}

// --- the command line ------------------------------------------------------------------------------------------------

struct Options {
    operations: Option<u64>,
    values: u64,
    target_ns: u64,
    deadline_s: u64,
    tails_ns: u64, // 0: operations are not timed one by one
}

fn parse_count(option: &str, text: &str) -> u64 {
    match text.parse() {
        Ok(number) if (1..=MAX_OPERATIONS as u64).contains(&number) => number,
        _ => refuse(&format!("{option} takes a number from 1 to 2^40, not \"{text}\"")),
    }
}

fn parse_duration_ns(option: &str, text: &str) -> u64 {
    let (digits, suffix) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_lowercase()).len());
    let factor = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)].iter().find(|(unit, _)| *unit == suffix);
    match (digits.parse::<f64>(), factor) {
        (Ok(number), Some((_, factor)))
            if !digits.contains(|c: char| c != '.' && !c.is_ascii_digit())
                && number > 0.0
                && number * factor < 1e18 =>
        {
            (number * factor) as u64
        }
        _ => refuse(&format!("{option} takes a duration such as 10ms, not \"{text}\"")),
    }
}

fn parse_placement(probe: &Probe, text: &str) -> Placement {
    let known = probe.placements.iter().find(|placement| placement.name() == text);
    let names: Vec<&str> = probe.placements.iter().map(|placement| placement.name()).collect();
    *known.unwrap_or_else(|| refuse(&format!("--placement is one of {}, not \"{text}\"", names.join(","))))
}

fn parse(probe: &'static Probe, run: &mut Run, arguments: &[String]) -> Options {
    let mut options = Options {
        operations: None,
        values: DEFAULT_VALUES,
        target_ns: DEFAULT_TARGET_NS,
        deadline_s: DEFAULT_DEADLINE_S,
        tails_ns: 0,
    };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if word == "--json" {
            continue; // it prints nothing else
        } else if word.starts_with("--") {
            let Some(argument) = rest.next() else { refuse(&format!("{word} takes an argument")) };
            match word.as_str() {
                "--operations" => options.operations = Some(parse_count(word, argument)),
                "--values" => options.values = parse_count(word, argument),
                "--target" => options.target_ns = parse_duration_ns(word, argument),
                "--deadline" => options.deadline_s = parse_duration_ns(word, argument) / 1_000_000_000,
                "--tails" => options.tails_ns = parse_duration_ns(word, argument),
                "--placement" => run.placement = parse_placement(probe, argument),
                _ => refuse(&format!(
                    "unknown option {word} (--describe, --selftest, --operations, --values, --target, --deadline, \
                     --tails, --placement, --json, key=value)"
                )),
            }
        } else if let Some((key, text)) = word.split_once('=') {
            let Some(parameter) = probe.parameters.iter().find(|parameter| parameter.name() == key) else {
                refuse(&format!("no parameter is called \"{key}\"; --describe lists them"))
            };
            run.parameters.insert(parameter.name(), parameter.read(text));
        } else {
            refuse(&format!("\"{word}\" is neither an option nor key=value"));
        }
    }
    options
}

/// Where nobody restricted the CPUs, `same` takes the last one: CPU 0 is the one that interrupts prefer.
fn find_cpus(run: &mut Run) {
    let mut set = CpuSet::default();
    // SAFETY: the set outlives the call and has the size that is given.
    if unsafe { sched_getaffinity(0, std::mem::size_of::<CpuSet>(), &mut set) } < 0 {
        fail(&format!("cannot read the CPU affinity: {}", std::io::Error::last_os_error()));
    }
    run.cpus = (0..64 * set.words.len()).filter(|cpu| set.words[cpu / 64] >> (cpu % 64) & 1 == 1).collect();
    match run.placement {
        Placement::Same => run.cpus = run.cpus.split_off(run.cpus.len() - 1),
        Placement::Cross if run.cpus.len() < 2 => skip("placement cross needs two CPUs and this process may use one"),
        Placement::Cross | Placement::Free => {}
    }
    run.place(0);
}

// --- running ---------------------------------------------------------------------------------------------------------

/// Does that number of operations between `start` and `stop` of the value, checks that they happened and reports how many were
/// proven as the count `checked`.
pub type Batch<'run> = Box<dyn FnMut(u64, &mut Value) + 'run>;

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

fn run_batch(batch: &mut Batch<'_>, operations: u64) -> Value {
    run_batch_counted(batch, operations, None)
}

fn run_batch_counted(batch: &mut Batch<'_>, operations: u64, counters: Option<Arc<Counters>>) -> Value {
    let mut value = Value::new(operations, counters);
    batch(operations, &mut value);
    if value.begin.is_none() {
        fail("a batch never began its timed part");
    }
    if value.operations == 0 {
        fail("a batch did no operation at all");
    }
    match value.counts.iter().find(|(name, _)| *name == "checked") {
        None => fail("a value lacks the count \"checked\""),
        Some((_, checked)) if *checked != value.operations => {
            fail(&format!("{} operations were timed but {checked} were proven to have happened", value.operations))
        }
        Some(_) => value,
    }
}

/// The number of operations whose batch takes about `target_ns`; grows by at most 10 so that a slow first batch (cold
/// caches, page faults) does not settle it.
fn find_operations(batch: &mut Batch<'_>, target_ns: u64) -> u64 {
    let mut operations = 1u64;
    for attempt in 0..40 {
        let value = run_batch(batch, operations);
        let factor = target_ns as f64 / value.wall_ns.max(1) as f64;
        // From what was done, not from what was asked for: a probe may do far more, and then the time was for that.
        let wanted = value.operations as f64 * factor.min(10.0) + 0.5;
        if wanted > MAX_OPERATIONS {
            return operations;
        }
        let next = (wanted as u64).max(1);
        let settled = next >= operations - operations / 5 && next <= operations + operations / 5;
        let close_enough = factor < 4.0 && factor > 0.25 && attempt > 20; // a noisy machine never settles
        operations = next;
        if settled || close_enough {
            break;
        }
    }
    operations
}

fn selftest(batch: &mut Batch<'_>) {
    let value = run_batch(batch, SELFTEST_OPERATIONS);
    if value.operations < SELFTEST_OPERATIONS {
        fail(&format!("{SELFTEST_OPERATIONS} operations were asked for and {} done", value.operations));
    }
}

/// Runs batches like those that were timed, with the counters open.
fn count_values(batch: &mut Batch<'_>, operations: u64, values: &mut [Value]) -> Arc<Counters> {
    let counters = Arc::new(Counters::open());
    if counters.are_open() {
        for value in values.iter_mut().take(COUNTED_VALUES) {
            let again = run_batch_counted(batch, operations, Some(counters.clone()));
            value.again = Some((again.operations, again.events));
        }
    }
    counters
}

/// How many numbers lie in a bucket, by the least that the bucket holds.
type Histogram = BTreeMap<u64, u64>;

/// Of a batch nothing but the clock is read.
static ONE_BY_ONE: AtomicBool = AtomicBool::new(false);

/// Batches of one operation for so long; None if it was not asked for, or cannot be.
fn time_one_by_one(batch: &mut Batch<'_>, length_ns: u64) -> Option<Histogram> {
    if length_ns == 0 {
        return None;
    }
    let (begin, mut times, mut count) = (Instant::now(), Histogram::new(), 0);
    ONE_BY_ONE.store(true, Ordering::Relaxed);
    while count == 0 || nanoseconds(begin.elapsed()) < length_ns {
        let value = run_batch(batch, 1);
        if value.operations != 1 {
            caveat("no operation is timed by itself: this probe does several at least");
            return None;
        }
        let beyond = (64 - value.wall_ns.leading_zeros()).saturating_sub(BUCKET_BITS);
        *times.entry(value.wall_ns >> beyond << beyond).or_insert(0) += 1;
        count += 1;
    }
    ONE_BY_ONE.store(false, Ordering::Relaxed);
    let below: u64 = times.range(..SHORTEST_TAILED_NS).map(|(_, count)| count).sum();
    if 2 * below > count {
        caveat(
            "timed one by one, an operation takes less than a microsecond with two readings of the clock: their time is \
             much of its p50, p99 and p99_9",
        );
    }
    Some(times)
}

fn measure(name: &str, run: &Run, options: &Options, batch: &mut Batch<'_>) {
    let begin = Instant::now();
    let (operations, search) = match options.operations {
        Some(operations) => {
            run_batch(batch, 1 + operations / 8); // warm-up: page faults and caches of the first batch are not the subject
            (operations, Duration::ZERO)
        }
        None => (find_operations(batch, options.target_ns), begin.elapsed()),
    };
    let mut values: Vec<Value> = (0..options.values).map(|_| run_batch(batch, operations)).collect();
    let counters = count_values(batch, operations, &mut values);
    let tails = time_one_by_one(batch, options.tails_ns);
    print_lines(name, run, operations, search, &values, &counters, tails.as_ref());
}

/// Called by [`main!`]; `target` is the build's name of the program, `question-way`.
pub fn start(target: &str, probe: &'static Probe, setup: for<'run> fn(&'run Run) -> Batch<'run>) {
    let name = NAME.get_or_init(|| target.replacen('-', "/", 1));
    std::panic::set_hook(Box::new(|problem| fail(&problem.to_string())));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--describe"] {
        return describe(name, probe);
    }
    let testing = arguments == ["--selftest"];
    let parameters = probe.parameters.iter().map(|parameter| (parameter.name(), parameter.default())).collect();
    let mut run = Run { placement: probe.placements[0], cpus: Vec::new(), parameters };
    let options = parse(probe, &mut run, if testing { &[] } else { &arguments });
    find_cpus(&mut run);
    // SAFETY: the handler only calls what may be called from a handler.
    unsafe {
        signal(14, out_of_time);
        alarm(options.deadline_s.clamp(1, u64::from(u32::MAX)) as u32);
    }
    let mut batch = setup(&run);
    if testing {
        selftest(&mut batch);
    } else {
        measure(name, &run, &options, &mut batch);
    }
}

/// The main function of a probe: its descriptor, and the function that makes the batch of a run.
#[macro_export]
macro_rules! main {
    ($probe:expr, $setup:expr) => {
        fn main() {
            $crate::start(env!("CARGO_BIN_NAME"), &$probe, $setup)
        }
    };
}

// --- system calls that the standard library lacks, as 64-bit Linux has them ------------------------------------------

#[repr(C)]
#[derive(Default)]
struct CpuSet {
    words: [u64; 16], // 1024 CPUs
}

#[repr(C)]
#[derive(Default)]
struct TimeValue {
    seconds: i64,
    microseconds: i64,
}

impl TimeValue {
    fn nanoseconds(&self) -> u64 {
        self.seconds as u64 * 1_000_000_000 + self.microseconds as u64 * 1000
    }
}

#[repr(C)]
#[derive(Default)]
struct RawUsage {
    user: TimeValue,
    system: TimeValue,
    longs: [i64; 14], // 4: minor faults, 12 and 13: voluntary and involuntary switches
}

extern "C" {
    fn sched_setaffinity(pid: i32, size: usize, set: *const CpuSet) -> i32;
    fn sched_getaffinity(pid: i32, size: usize, set: *mut CpuSet) -> i32;
    fn getrusage(who: i32, usage: *mut RawUsage) -> i32;
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
    fn alarm(seconds: u32) -> u32;
    fn write(descriptor: i32, bytes: *const u8, count: usize) -> isize;
    fn _exit(code: i32) -> !;
}

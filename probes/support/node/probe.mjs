// SPDX-License-Identifier: Apache-2.0
// Probe protocol 1 for probes written in JavaScript; docs/reference/protocol.md is its contract.
//
// A probe hands probe() its descriptor and a function that makes the state of a run and returns its batch, which may be
// async. The support does the rest: --describe, --selftest, key=value, finding the number of operations, values, JSON
// lines. Identity comes from the path of the source file. The script that the build installs moves the run to its CPUs,
// because Node can't. No packages.
//
// V8 compiles while it runs, on threads of its own, and so the values of a run are a time series: a probe whose subject
// is time says warms_up. The deadline is looked at between batches: a loop of promises lets no timer run.
import { readFileSync, writeSync } from 'node:fs';

const SELFTEST_OPERATIONS = 23; // a prime, so that rounding to a batch size shows
const MOST_OPERATIONS = 2 ** 40;
const name = process.argv[1].replace(/^.*[/]([^/]+)[/]([^/]+)[.]mjs$/, '$1/$2');
const caveats = [];

function leave(code, reason) {
  writeSync(2, `${name}: ${String(reason).replaceAll('\n', ' ')}\n`);
  process.exit(code);
}

/** End the whole probe: exit code 1, or 77 with the reason why it can't run here. */
export const fail = (reason) => leave(1, reason);
export const skip = (reason) => leave(77, reason);
const refuse = (reason) => leave(2, reason);

/** A doubt that travels with the result; printed once a run however often it is said. */
export function caveat(text) {
  if (!caveats.includes(text)) caveats.push(text);
}

/** Bytes that follow a field of a file in /proc, such as Rss: in smaps_rollup. */
export function bytes(file, field) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    skip(`cannot read ${file}: ${error.message}`);
  }
  const line = text.split('\n').find((line) => line.startsWith(field));
  if (!line) skip(`${file} has no line ${field}`);
  return 1024 * Number.parseInt(line.slice(field.length), 10);
}

/** Second number of /proc/self/schedstat: how long the first thread was ready and not running. */
function runDelay() {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]);
  } catch {
    return 0;
  }
}

function used() {
  const usage = process.resourceUsage();
  return {
    user_ns: usage.userCPUTime * 1000,
    system_ns: usage.systemCPUTime * 1000,
    voluntary: usage.voluntaryContextSwitches,
    involuntary: usage.involuntaryContextSwitches,
    minor_faults: usage.minorPageFault,
    run_delay_ns: runDelay(),
  };
}

/** Facts of one timed batch. `operations` is preset to what was asked for; a batch that did another number says so. */
class Value {
  #before;
  #begin;
  #used = {};
  lanes = 1;
  wallNs = undefined;
  counts = {};
  readings = {};

  constructor(operations) {
    this.operations = operations;
  }

  /** The clock is read last here and first in stop(). */
  start() {
    this.#before = used();
    this.#begin = process.hrtime.bigint();
  }

  stop() {
    this.wallNs = Number(process.hrtime.bigint() - this.#begin);
    const after = used();
    for (const key of Object.keys(after)) this.#used[key] = after[key] - this.#before[key];
  }

  line() {
    const { user_ns, system_ns } = this.#used;
    return {
      type: 'value',
      operations: this.operations,
      wall_ns: this.wallNs,
      lanes: this.lanes,
      cpu_ns: user_ns + system_ns,
      ...this.#used,
      counts: this.counts,
      readings: this.readings,
    };
  }
}

// --- the command line ----------------------------------------------------------------------------------------------

function parseCount(option, text) {
  const number = /^[0-9]+$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > MOST_OPERATIONS) refuse(`${option} takes a number from 1 to 2^40, not "${text}"`);
  return number;
}

function parseDuration(option, text) {
  const match = /^([0-9]+(?:[.][0-9]+)?)(ns|us|ms|s)$/.exec(text);
  const ns = match ? Number(match[1]) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[match[2]] : 0;
  if (!(ns > 0 && ns < 1e18)) refuse(`${option} takes a duration such as 10ms, not "${text}"`);
  return ns;
}

function parseParameter({ name, choices, minimum, maximum }, text) {
  if (choices) {
    if (!choices.includes(text)) refuse(`${name} is one of ${choices}, not "${text}"`);
    return text;
  }
  if (!/^-?[0-9]{1,15}$/.test(text) || Number(text) < minimum || Number(text) > maximum)
    refuse(`${name} is an integer from ${minimum} to ${maximum}, not "${text}"`);
  return Number(text);
}

function parse(description, words) {
  const options = { operations: 0, values: 9, target: 10e6, deadline: 60e9 };
  const run = { placement: description.placements[0], parameters: {} };
  for (const parameter of description.parameters) run.parameters[parameter.name] = parameter.sweep[0];
  for (let i = 0; i < words.length; i++) {
    const [word, equals] = [words[i], words[i].indexOf('=')];
    if (word === '--json') continue; // it prints nothing else
    if (word.startsWith('--')) {
      const argument = words[++i];
      if (argument === undefined) refuse(`${word} takes an argument`);
      if (word === '--operations' || word === '--values') options[word.slice(2)] = parseCount(word, argument);
      else if (word === '--target' || word === '--deadline') options[word.slice(2)] = parseDuration(word, argument);
      else if (word === '--placement') run.placement = argument;
      else
        refuse(
          `unknown option ${word} (--describe, --selftest, --operations, --values, --target, --deadline, --placement, ` +
            `--json, key=value)`,
        );
    } else if (equals >= 0) {
      const key = word.slice(0, equals);
      const parameter = description.parameters.find((parameter) => parameter.name === key);
      if (!parameter) refuse(`no parameter is called "${key}"; --describe lists them`);
      run.parameters[key] = parseParameter(parameter, word.slice(equals + 1));
    } else {
      refuse(`"${word}" is neither an option nor key=value`);
    }
  }
  if (!description.placements.includes(run.placement))
    refuse(`--placement is one of ${description.placements}, not "${run.placement}"`);
  options.deadline = Math.max(1e9, options.deadline);
  return [options, run];
}

/** The CPUs that the script moved us to. It moves us as far as it can; whether that is far enough is found out here. */
function cpusOf(placement) {
  const list = /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1];
  const cpus = list.split(',').flatMap((range) => {
    const [first, last] = range.split('-').map(Number);
    return Array.from({ length: (last ?? first) - first + 1 }, (_, i) => first + i);
  });
  if (placement === 'same' && cpus.length !== 1)
    skip('placement same needs the program taskset to move Node to one CPU: install util-linux');
  if (placement === 'cross' && cpus.length < 2)
    skip('placement cross needs two CPUs and this process may use one');
  return cpus;
}

// --- running -------------------------------------------------------------------------------------------------------

async function runBatch(batch, operations, end) {
  if (process.hrtime.bigint() > end) fail('not finished within the deadline');
  const value = new Value(operations);
  await batch(operations, value);
  if (value.wallNs === undefined) fail('a batch never began its timed part');
  if (value.operations === 0) fail('a batch did no operation at all');
  const { checked } = value.counts;
  if (checked === undefined) fail('a value lacks the count "checked"');
  if (checked !== value.operations)
    fail(`${value.operations} operations were timed but ${checked} were proven to have happened`);
  return value;
}

/** The number of operations whose batch takes about the target. The first batches are slow by far, as nothing is compiled
 * yet: it grows by at most 10, and nothing is settled before many batches' time. */
async function findOperations(batch, target, end) {
  const earliest = process.hrtime.bigint() + BigInt(Math.round(10 * target));
  let operations = 1;
  for (let attempt = 0; attempt < 400; attempt++) {
    const value = await runBatch(batch, operations, end);
    const factor = target / Math.max(1, value.wallNs);
    // From what was done, not from what was asked for: a probe may do far more.
    const wanted = value.operations * Math.min(10, factor) + 0.5;
    if (wanted > MOST_OPERATIONS) return operations;
    const next = Math.max(1, Math.floor(wanted));
    const settled = Math.abs(next - operations) <= operations / 5;
    const closeEnough = factor < 4 && factor > 0.25 && attempt > 20; // a noisy machine never settles
    operations = next;
    if ((settled || closeEnough) && process.hrtime.bigint() > earliest) break;
  }
  return operations;
}

function print(...lines) {
  try {
    writeSync(1, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  } catch (error) {
    fail(`cannot write to standard output: ${error.message}`);
  }
}

async function measure(run, options, batch) {
  const begin = process.hrtime.bigint();
  const end = begin + BigInt(Math.round(options.deadline));
  let [operations, search] = [options.operations, 0];
  if (operations) {
    await runBatch(batch, 1 + Math.floor(operations / 8), end); // page faults and caches of the first are not the subject
  } else {
    operations = await findOperations(batch, options.target, end);
    search = Number(process.hrtime.bigint() - begin);
  }
  const values = [];
  for (let i = 0; i < options.values; i++) values.push(await runBatch(batch, operations, end));
  const meta = {
    type: 'meta',
    protocol: 1,
    probe: name,
    ...run,
    operations,
    compiler: `Node ${process.version}, V8 ${process.versions.v8}`,
    flags: process.execArgv.join(' '),
    clock: 'process.hrtime',
    search_ns: search,
    counters_absent: 'JavaScript cannot open counters: no library of Node makes the system call',
  };
  const said = caveats.map((text) => ({ type: 'caveat', text }));
  print(meta, ...values.map((value) => value.line()), ...said, { type: 'end', values: values.length });
}

async function selftest(batch) {
  const value = await runBatch(batch, SELFTEST_OPERATIONS, process.hrtime.bigint() + 60n * 10n ** 9n);
  if (value.operations < SELFTEST_OPERATIONS)
    fail(`${SELFTEST_OPERATIONS} operations were asked for and ${value.operations} done`);
}

/** What a probe calls. `setup(run)` gets the placement, the CPUs and the parameters, and returns the batch: a function of
 * the operations and the value, which calls value.start() and value.stop(), checks what happened and sets counts.checked. */
export async function probe(description, setup) {
  const words = process.argv.slice(2);
  if (words.length === 1 && words[0] === '--describe') {
    return print({ protocol: 1, probe: name, baseline: null, ...description });
  }
  const testing = words.length === 1 && words[0] === '--selftest';
  const [options, run] = parse(description, testing ? [] : words);
  run.cpus = cpusOf(run.placement);
  try {
    const batch = await setup(run);
    await (testing ? selftest(batch) : measure(run, options, batch));
  } catch (error) {
    fail(error);
  }
  process.exit(0); // contexts that never end must not keep it alive
}

/** An integer parameter; the first of the sweep is the default. `more` may have unit and curves. */
export const integer = (name, doc, minimum, maximum, sweep, brief, more) => ({
  name, type: 'integer', doc, unit: '1', minimum, maximum, sweep, brief, ...more,
});

/** A parameter that is one of some words. */
export const choice = (name, doc, choices, sweep, brief) => ({ name, type: 'choice', doc, choices, sweep, brief });

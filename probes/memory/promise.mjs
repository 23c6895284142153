// SPDX-License-Identifier: Apache-2.0
// promise - resident memory of a suspended async function of JavaScript.
//
// Each batch calls the functions, which all await one promise that nobody has kept, collects garbage, reads the memory,
// and keeps the promise. The growth is always against what was resident before the first function of the run: later
// batches find pages of earlier ones. Before, garbage is made and collected, so that the part of the heap in which
// things are born is resident already.
//
// Known answer: all have begun and none has ended when memory is read; all end afterwards.
// Overhead: none that scales with the functions.  Limits: V8 grows its heap by blocks of 256 KiB.
// Source: V8's blog, "Faster async functions and promises", 2018.
import { bytes, integer, probe, skip } from '../support/node/probe.mjs';

const GARBAGE_BYTES = 64 * 2 ** 20; // more than the two halves of V8's nursery

const description = {
  title: 'JavaScript async function',
  question: 'How much memory does a suspended async function of JavaScript take?',
  operation: 'one async function called and suspended, among as many others',
  source: 'V8 blog, Faster async functions and promises, 2018',
  statistic: 'median',
  placements: ['same'],
  uses: ['cpu'],
  metrics: [
    {
      name: 'resident', unit: 'B', better: 'lower', over: 'resident_bytes', per: 'operations',
      doc: 'resident bytes of user space a suspended context',
    },
    {
      name: 'page_tables', unit: 'B', better: 'lower', over: 'page_table_bytes', per: 'operations',
      doc: 'page tables a suspended context',
    },
    {
      name: 'heap', unit: 'B', better: 'lower', over: 'heap_bytes', per: 'operations',
      doc: 'live bytes of the heap after a collection a suspended context',
    },
  ],
  parameters: [integer('contexts', 'suspended async functions', 100, 1000000, [10000, 100000], [10000])],
};

const memory = () => ({
  resident: bytes('/proc/self/smaps_rollup', 'Rss:'),
  pagetables: bytes('/proc/self/status', 'VmPTE:'),
  heap: process.memoryUsage().heapUsed,
});

await probe(description, ({ parameters: { contexts } }) => {
  if (typeof globalThis.gc !== 'function') skip('memory can only be read after a collection: run it by node --expose-gc');
  let [begun, ended] = [0, 0];

  async function wait(gate) {
    begun++;
    await gate;
    ended++;
  }

  for (let made = 0; made < GARBAGE_BYTES; made += 1024) new Array(128).fill(made);
  gc();
  const before = memory();
  return async (_, value) => {
    [begun, ended] = [0, 0];
    let open;
    const gate = new Promise((resolve) => (open = resolve));
    value.start();
    for (let i = 0; i < contexts; i++) wait(gate);
    value.stop();
    gc();
    const now = memory();
    const suspended = begun - ended;
    open();
    await new Promise(setImmediate);
    value.operations = contexts;
    value.counts.checked = Math.min(suspended, ended);
    value.readings.resident_bytes = now.resident - before.resident;
    value.readings.page_table_bytes = now.pagetables - before.pagetables;
    value.readings.heap_bytes = now.heap - before.heap;
  };
});

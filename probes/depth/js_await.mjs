// SPDX-License-Identifier: Apache-2.0
// js_await - a chain of n async functions that await each other, called from its top and suspended once at its bottom.
//
// Unlike a poll in Rust or a send() in Python, resuming does not go through the chain: only the innermost function is
// resumed, and each level that ends makes a turn for the one above. So one operation is a whole call: n + 1 promises
// made, one suspension at the bottom, n + 1 ends.
//
// Known answer: the innermost function counts its calls.  Overhead: the loop, a nanosecond, and its own await, one
// turn.
// Limits: nothing else is in the queue of microtasks.
// Source: V8's blog, "Faster async functions and promises", 2018.
import { integer, probe } from '../support/node/probe.mjs';

const description = {
  title: 'JavaScript async function',
  family: 'chain',
  question: 'What does a call through n async functions that await each other cost in JavaScript?',
  operation: 'one call of a chain of n async functions above an innermost one that is suspended once, to its end',
  source: 'V8 blog, Faster async functions and promises, 2018',
  statistic: 'lower_quartile',
  placements: ['same'],
  uses: ['cpu'],
  warms_up: true,
  metrics: [
    { name: 'call', unit: 's', better: 'lower', over: 'wall', per: 'operations', doc: 'time of one call through all levels' },
  ],
  parameters: [
    integer('depth', 'async functions above the innermost', 1, 10000, [1, 2, 5, 10, 20, 50, 100], [1, 100]),
  ],
};

await probe(description, ({ parameters: { depth } }) => {
  let calls = 0;

  async function level(above) {
    if (above === 0) {
      await null;
      calls++;
      return;
    }
    await level(above - 1);
  }

  return async (operations, value) => {
    const before = calls;
    value.start();
    for (let i = 0; i < operations; i++) await level(depth);
    value.stop();
    value.counts.checked = calls - before;
  };
});

// SPDX-License-Identifier: Apache-2.0
// conformance - what tests/protocol/test_conformance.py holds every support to; in each language the same.
//
// Known answer: the sum of the numbers below `operations`.  `trouble` plants what a support has to find.
import { caveat, choice, fail, integer, probe, skip } from '../support/node/probe.mjs';

const troubles = [
  'none', 'more', 'caveat', 'wrong', 'unproven', 'unstarted', 'idle', 'fewer', 'slow', 'breaks', 'fails', 'skips',
];

const description = {
  title: 'conformance',
  family: 'supports',
  question: 'Does the support of this language keep the protocol?',
  operation: 'one addition',
  source: 'docs/reference/protocol.md',
  statistic: 'median',
  placements: ['same', 'cross', 'free'],
  uses: ['cpu'],
  value_ms: 5,
  warms_up: true,
  baseline: 'null/null',
  metrics: [
    { name: 'one', unit: 's', better: 'lower', over: 'wall', per: 'operations', doc: 'time of one addition' },
    { name: 'half', unit: '1', better: 'neither', over: 'half', per: 'one', doc: 'half of what was given as "number"' },
  ],
  parameters: [
    integer('number', 'a number', -2, 9, [3, 4], [4], { unit: 'B', curves: ['half'] }),
    choice('trouble', 'what goes wrong', troubles, ['none'], ['none']),
  ],
};

await probe(description, ({ parameters }) => {
  const trouble = process.env.CONFORMANCE_TROUBLE ?? parameters.trouble; // the selftest takes no parameters
  let batches = 0;
  return (operations, value) => {
    const done = { more: 2 * operations, fewer: operations - 1, idle: 0 }[trouble] ?? operations;
    if (trouble === 'slow') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    if (trouble === 'breaks') throw new Error('it went wrong');
    if (trouble === 'fails') fail('it went wrong');
    if (trouble === 'skips') skip('there is no such thing');
    if (trouble === 'caveat') caveat('a "doubt" of 1');
    let sum = 0;
    if (trouble !== 'unstarted') value.start();
    for (let i = 0; i < done; i++) sum += i;
    if (trouble !== 'unstarted') value.stop();
    value.operations = done;
    value.lanes = 2;
    const checked = sum === (done * (done - 1)) / 2 ? done : 0;
    if (trouble !== 'unproven') value.counts.checked = trouble === 'wrong' ? checked - 1 : checked;
    value.counts.batches = ++batches;
    value.readings.half = parameters.number / 2;
  };
});

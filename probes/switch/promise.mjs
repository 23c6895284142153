// SPDX-License-Identifier: Apache-2.0
// promise - one turn of a promise, `await null`, among 1 to 65536 async functions that all do nothing else.
//
// Known answer: with two functions or more every turn switches to another one, in strict order; with one, none does.
// Overhead: noting who ran last and counting, about 2 ns a turn.
// Limits: the turns of one loop of microtasks; no timer and no I/O is looked at in between. A batch lasts a round of
// all functions or more. The collector is part of the cost, as each turn makes garbage; it and the compiler share the
// CPU of `same`.
// Source: V8's blog, "Faster async functions and promises", 2018: three microtask turns an await before, one since.
import { integer, probe } from '../support/node/probe.mjs';

const description = {
  title: 'JavaScript promise',
  family: 'turn',
  question: 'What does a promise turn cost among many async functions, and how often does it switch?',
  operation: 'one await of a value that is there already, by one async function, whether it switched or not',
  source: 'V8 blog, Faster async functions and promises, 2018; after switch/yield',
  statistic: 'lower_quartile',
  placements: ['same'],
  uses: ['cpu'],
  warms_up: true,
  metrics: [
    { name: 'yield', unit: 's', better: 'lower', over: 'wall', per: 'operations', doc: 'time of one turn' },
    {
      name: 'real_switch', unit: 's', better: 'lower', over: 'wall', per: 'switches',
      doc: 'time a switch between two of the functions that happened',
    },
    {
      name: 'switched_fraction', unit: '1', better: 'neither', over: 'switches', per: 'operations',
      doc: 'share of the turns that switched',
    },
  ],
  parameters: [integer('contexts', 'async functions that await', 1, 65536, [2, 1, 64, 4096], [2])],
};

await probe(description, ({ parameters: { contexts } }) => {
  const turns = new Float64Array(contexts);
  let [last, switches, stop] = [-1, 0, false];

  async function take(index, times) {
    for (let i = 0; i < times && !stop; i++) {
      await null;
      if (last !== index) {
        last = index;
        switches++;
      }
      turns[index]++;
    }
  }

  const total = () => turns.reduce((sum, turn) => sum + turn, 0);

  return async (operations, value) => {
    stop = false;
    const others = [];
    for (let i = 1; i < contexts; i++) others.push(take(i, Infinity));
    await take(0, 1); // a batch begins inside the crowd, not where the functions are started
    const before = turns.slice();
    const [began, switched] = [total(), switches];
    let [done, own] = [0, 0];
    value.start();
    do {
      const share = Math.max(1, Math.floor((operations - done) / contexts));
      await take(0, share);
      own += share;
      done = total() - began;
    } while (done < operations || !turns.every((turn, i) => turn !== before[i]));
    value.stop();
    value.operations = done;
    value.counts.checked = turns[0] - before[0] === own ? done : 0;
    value.counts.switches = switches - switched;
    stop = true;
    await Promise.all(others);
  };
});

// SPDX-License-Identifier: Apache-2.0
// worker - a number posted to a worker of Node and posted back (worker_threads).
//
// Each number is one more than the one before and both sides look at what they get; the worker's own count is half the
// proof.
//
// Known answer: none but the numbers.  Overhead: a comparison.
// Limits: each side is a thread with its own loop and its own V8, and a message wakes the other's loop through the
// kernel; with `same` both threads share a CPU, with `cross` they may use two and are not tied to them.
// Source: Node's documentation, worker_threads; the ping-pong of lmbench's lat_pipe (McVoy & Staelin, USENIX 1996).
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

import { fail, probe } from '../support/node/probe.mjs';

const REPORT = -1; // to the worker: say how many numbers were right

function answer() {
  let [expected, right] = [0, 0];
  parentPort.on('message', (number) => {
    if (number === REPORT) {
      parentPort.postMessage(right);
      return;
    }
    right += number === expected ? 1 : 0;
    expected = number + 1;
    parentPort.postMessage(number);
  });
}

const description = {
  title: 'Node worker',
  question: 'How long does a number take to a worker of Node and back?',
  operation: 'one round trip of a number between the main thread and a worker, there and back',
  source: "Node's documentation, worker_threads; after lmbench lat_pipe (McVoy & Staelin 1996)",
  statistic: 'median',
  placements: ['same', 'cross'],
  uses: ['cpu', 'sched', 'ipc'],
  warms_up: true,
  metrics: [
    {
      name: 'round_trip', unit: 's', better: 'lower', over: 'wall', per: 'operations',
      doc: 'time of one round trip, there and back',
    },
    {
      name: 'round_trip_cpu', unit: 's', better: 'lower', over: 'cpu', per: 'operations',
      doc: 'CPU time of all threads for one round trip',
    },
  ],
  parameters: [],
};

async function measure() {
  const worker = new Worker(new URL(import.meta.url));
  worker.on('error', fail);
  const report = () =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage(REPORT);
    });
  let next = 0;

  /** How many of the numbers came back right. */
  const roundTrips = (times) =>
    new Promise((resolve) => {
      let [right, left] = [0, times];
      const back = (number) => {
        right += number === next ? 1 : 0;
        next++;
        if (--left > 0) {
          worker.postMessage(next);
          return;
        }
        worker.off('message', back);
        resolve(right);
      };
      worker.on('message', back);
      worker.postMessage(next);
    });

  await report(); // returns when the worker is there
  return async (operations, value) => {
    const before = await report();
    value.start();
    const right = await roundTrips(operations);
    value.stop();
    value.counts.checked = Math.min(right, (await report()) - before);
  };
}

if (isMainThread) await probe(description, measure);
else answer();

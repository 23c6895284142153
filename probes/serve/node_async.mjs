// SPDX-License-Identifier: Apache-2.0
// node_async - async functions on Node's loop, one for each connection.
//
// Known answer: checksum and result of each request.  Limits: one CPU; a wait is rounded to a millisecond, Node's clock.
// Source: the documentation of Node's net.
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { answerTo, main, parse, refusal, stepsOf, work } from '../support/node/service.mjs';

let lock = Promise.resolve();

// The port of the service that requests wait for; a timer where there is none.
const askedPort = process.env.STEELYARD_SERVE_ASKED;

/** Asks the other service by the connection's own socket to it, and waits for its answer. */
async function ask(own, waitUs) {
  if (!own.asked) {
    own.asked = net.connect({ port: Number(askedPort), host: '127.0.0.1', noDelay: true });
    own.asked.on('readable', () => own.answered?.());
    await once(own.asked, 'connect');
  }
  const question = waitUs.toString(16).padStart(8, '0');
  own.asked.write(question);
  while (own.asked.read(question.length) === null) await new Promise((resolve) => (own.answered = resolve));
}

async function deep(request, steps, depth, own) {
  if (depth > 1) return await deep(request, steps, depth - 1, own);
  const state = work(request.crc, Math.trunc(steps / 2));
  if (request.waitUs) await (askedPort ? ask(own, request.waitUs) : sleep(request.waitUs / 1000));
  const rest = () => work(state, steps - Math.trunc(steps / 2));
  if (!request.lock) return rest();
  lock = lock.then(rest);
  return await lock;
}

async function connection(socket) {
  let data = Buffer.alloc(0);
  const own = {}; // what it has beside its socket
  try {
    for await (const chunk of socket) {
      data = data.length ? Buffer.concat([data, chunk]) : chunk;
      for (let request; (request = parse(data)) !== null; data = data.subarray(request.size)) {
        if (request === undefined) {
          socket.end(refusal);
          return;
        }
        const steps = stepsOf(request);
        const answer = answerTo(request, steps, await deep(request, steps, request.depth, own));
        if (!socket.write(answer)) await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
      }
    }
    socket.end();
  } catch {
    socket.destroy(); // the client is gone
  } finally {
    own.asked?.destroy();
  }
}

main('JavaScript async function', "documentation of Node's net", (where) => {
  net.createServer({ noDelay: true, allowHalfOpen: true }, connection).listen(where);
});

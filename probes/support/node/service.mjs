// SPDX-License-Identifier: Apache-2.0
// The service of serve/ for models in JavaScript: what is asked, the work, the answer.
// probes/support/serve/serve.h says what a request is; the instrument is probes/support/serve/drive.py.
import { crc32 } from 'node:zlib';

const LEAST = 27; // bytes of an answer's three numbers
const MOST_HEAD = 4096;
const MOST = [1_000_000_000, 60_000_000, 1000, 1, 1 << 20];

/** What stands for an answer where no request came. */
export const refusal = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

/** The first request of a buffer, null if it is not whole yet, undefined for what is none. */
export function parse(data) {
  const end = data.indexOf('\r\n\r\n');
  if (end < 0) return data.length < MOST_HEAD ? null : undefined;
  const [line, ...headers] = data.toString('latin1', 0, end).split('\r\n');
  const [, target, version, ...more] = line.split(' ');
  const [nothing, ...parts] = (target ?? '').split('/');
  if (end > MOST_HEAD || version !== 'HTTP/1.1' || more.length || nothing || parts.length !== MOST.length) return undefined;
  const fields = parts.map((part) => (/^[0-9]+$/.test(part) ? Number(part) : Infinity));
  const header = headers.find((text) => /^content-length:/i.test(text));
  const length = header ? Number(header.slice(15)) : 0;
  if (fields.some((field, at) => field > MOST[at]) || !(Number.isInteger(length) && length >= 0 && length <= MOST[4])) return undefined;
  const [workNs, waitUs, depth, lock, answer] = fields;
  if (depth < 1 || answer < LEAST) return undefined;
  const size = end + 4 + length;
  if (data.length < size) return null;
  return { workNs, waitUs, depth, lock, answer, crc: crc32(data.subarray(end + 4, size), crc32(target)), size };
}

/** The state after so many steps. */
export function work(state, steps) {
  let now = state | 0;
  for (let step = 0; step < steps; step++) now = (Math.imul(now, 1664525) + 1013904223) | 0;
  return now >>> 0;
}

// The fastest of many short stretches, after as many for the compiler: whoever takes the CPU away for a while doesn't count.
function calibrate() {
  const steps = 20_000;
  let shortest = Infinity;
  for (let stretch = 0; stretch < 1500; stretch++) {
    const began = process.hrtime.bigint();
    work(1, steps);
    shortest = Math.min(shortest, Number(process.hrtime.bigint() - began));
  }
  return steps / shortest;
}

let stepsPerNs = 0;

/** So many steps are its work on this machine. */
export const stepsOf = (request) => Math.trunc(request.workNs * stepsPerNs);

const hex = (number) => number.toString(16).padStart(8, '0');

/** What is sent. */
export function answerTo(request, steps, state) {
  const head = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${request.answer}\r\n\r\n`;
  return `${head}${hex(request.crc)} ${hex(steps)} ${hex(state)}\n${'.'.repeat(request.answer - LEAST)}`;
}

/** A model's whole main; the script that starts it has started the instrument where --serve isn't asked for. */
export function main(title, source, serve) {
  if (process.argv[2] === '--about') {
    console.log(JSON.stringify({ title, source, threads: 0, version: process.version }));
    return;
  }
  stepsPerNs = calibrate();
  const at = process.argv[3]; // a port of the loopback interface, or the path of a UNIX socket
  serve(at.includes('/') ? { path: at, backlog: 4096 } : { port: Number(at), host: '127.0.0.1', backlog: 4096 });
}

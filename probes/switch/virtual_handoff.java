// SPDX-License-Identifier: Apache-2.0
// virtual_handoff - two virtual threads that hand a number to and fro through two SynchronousQueues.
//
// Such a queue has no place: whoever comes first parks until the other is there. Each number is one more than the one
// before, both sides look at what they get, and the partner's own count is half the proof.
//
// Known answer: none but the numbers.  Overhead: a comparison and a boxed number, nanoseconds.
// Limits: how often each really parked is not counted; on one carrier neither can go on without the other having run.
// The queue spins a little before it parks where there is more than one CPU (`cross`).
// Source: JEP 444, Virtual Threads; java.util.concurrent.SynchronousQueue; the ping-pong of lmbench's lat_pipe (McVoy &
// Staelin, USENIX 1996).
import java.util.List;
import java.util.concurrent.SynchronousQueue;

final class SwitchVirtualHandoff extends Probe {
    public static void main(String[] words) {
        new SwitchVirtualHandoff().run(words);
    }

    @Override
    Description description() {
        return new Description("Java virtual threads, by a queue",
            "What does handing a number between two virtual threads cost, there and back?",
            "one round trip of a number between two virtual threads, there and back",
            "JEP 444, Virtual Threads; java.util.concurrent.SynchronousQueue", "median", List.of("same", "cross"),
            List.of("cpu", "sched", "ipc"), true,
            List.of(
                new Metric("round_trip", "s", "lower", "wall", "operations", "time of one round trip, there and back"),
                new Metric("round_trip_cpu", "s", "lower", "cpu", "operations",
                    "CPU time of the whole virtual machine for one round trip")),
            List.of());
    }

    private static final class End implements Runnable {
        private final SynchronousQueue<Long> out, back;
        private final boolean first;
        private final long times;
        private long right;
        private Throwable trouble;

        End(SynchronousQueue<Long> out, SynchronousQueue<Long> back, boolean first, long times) {
            this.out = out;
            this.back = back;
            this.first = first;
            this.times = times;
        }

        @Override
        public void run() {
            try {
                for (long i = 0; i < times; i++) {
                    if (first)
                        out.put(i);
                    right += back.take() == i ? 1 : 0;
                    if (!first)
                        out.put(i);
                }
            } catch (Throwable error) {
                trouble = error;
            }
        }
    }

    @Override
    void batch(long operations, Value value) throws Exception {
        SynchronousQueue<Long> there = new SynchronousQueue<>(), back = new SynchronousQueue<>();
        End asks = new End(there, back, true, operations), answers = new End(back, there, false, operations);
        Thread partner = Thread.ofVirtual().start(answers);
        value.start();
        Thread.ofVirtual().start(asks).join();
        value.stop();
        partner.join();
        if (asks.trouble != null || answers.trouble != null)
            throw new IllegalStateException("one end failed: " + (asks.trouble != null ? asks : answers).trouble);
        value.count("checked", Math.min(asks.right, answers.right));
    }
}

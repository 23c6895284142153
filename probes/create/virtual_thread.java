// SPDX-License-Identifier: Apache-2.0
// virtual_thread - a virtual thread started and joined, one at a time, by a virtual thread.
//
// Known answer: a thread writes the complement of what it was given, which proves that it ran and not only that it was
// started.  Overhead: the loop and one object for the answer, nanoseconds.
// Limits: its starter is a virtual thread as well, as in a program made of them; started from a platform thread, the
// operation would be a wake-up of the carrier by the kernel. With `cross` there is a carrier a CPU, and the new thread
// may run on the other one. The collector is part of the cost, as the threads are its garbage; it and the compilers
// share the CPU of `same`.
// Source: JEP 444, Virtual Threads.
import java.util.List;

final class CreateVirtualThread extends Probe {
    public static void main(String[] words) {
        new CreateVirtualThread().run(words);
    }

    @Override
    Description description() {
        return new Description("Java virtual thread", "What does a virtual thread cost?",
            "one Thread.ofVirtual().start() and its join() by a virtual thread, one at a time", "JEP 444, Virtual Threads",
            "lower_quartile", List.of("same", "cross"), List.of("cpu", "sched"), true,
            List.of(
                new Metric("thread", "s", "lower", "wall", "operations",
                    "time from the start to the known end of the thread"),
                new Metric("thread_cpu", "s", "lower", "cpu", "operations",
                    "CPU time of the whole virtual machine for it, compilers and collector included")),
            List.of());
    }

    private static final class Answer implements Runnable {
        private final long question;
        private long answer;

        Answer(long question) {
            this.question = question;
        }

        @Override
        public void run() {
            answer = ~question;
        }
    }

    private static final class Starter implements Runnable {
        private final long times;
        private long right;
        private Throwable trouble;

        Starter(long times) {
            this.times = times;
        }

        @Override
        public void run() {
            try {
                for (long i = 0; i < times; i++) {
                    Answer answer = new Answer(i);
                    Thread.ofVirtual().start(answer).join();
                    right += answer.answer == ~i ? 1 : 0;
                }
            } catch (Throwable error) {
                trouble = error;
            }
        }
    }

    @Override
    void batch(long operations, Value value) throws Exception {
        Starter starter = new Starter(operations);
        value.start();
        Thread.ofVirtual().start(starter).join();
        value.stop();
        if (starter.trouble != null)
            throw new IllegalStateException("the starter failed: " + starter.trouble);
        value.count("checked", starter.right);
    }
}

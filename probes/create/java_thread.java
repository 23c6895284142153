// SPDX-License-Identifier: Apache-2.0
// java_thread - a platform thread of Java started and joined, one at a time.
//
// Known answer: a thread writes the complement of what it was given.  Overhead: the loop, nanoseconds against
// microseconds.
// Limits: it is a POSIX thread with a stack of 1 MiB and what the virtual machine adds: its own structures, guard
// pages, and the start's handshake, for which the starter sleeps once. No CPU time is given: that of ended threads
// can't be read from inside.
// Source: JEP 444, Virtual Threads, which calls platform threads expensive; create/thread.
import java.util.List;

final class CreateJavaThread extends Probe {
    public static void main(String[] words) {
        new CreateJavaThread().run(words);
    }

    @Override
    Description description() {
        return new Description("Java platform thread", "What does a platform thread of Java cost?",
            "one start() of a platform thread and its join(), one at a time", "JEP 444, Virtual Threads; after create/thread",
            "median", List.of("same", "free"), List.of("cpu", "sched"), true,
            List.of(new Metric("thread", "s", "lower", "wall", "operations",
                "time from the start to the known end of the thread")),
            List.of());
    }

    private static final class Answer extends Thread {
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

    @Override
    boolean threadsOutliveBatch() {
        return false;
    }

    @Override
    void batch(long operations, Value value) throws Exception {
        long right = 0;
        value.start();
        for (long i = 0; i < operations; i++) {
            Answer answer = new Answer(i);
            try {
                answer.start();
            } catch (OutOfMemoryError error) {
                throw new Skip("no thread can be started here: " + error.getMessage());
            }
            answer.join();
            right += answer.answer == ~i ? 1 : 0;
        }
        value.stop();
        value.count("checked", right);
    }
}

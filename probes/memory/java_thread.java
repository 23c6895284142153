// SPDX-License-Identifier: Apache-2.0
// java_thread - resident memory of a parked platform thread of Java.
//
// The method is that of memory/virtual_thread.
//
// Known answer: the state of every thread is WAITING when memory is read; all end afterwards.
// Overhead: none that scales with the threads.  Limits: what the kernel keeps of a thread, its stack of 16 KiB there
// among it, is not resident memory of the process and is not in the figure. Later batches take stacks that the C
// library kept. The time to start so many grows with their square, because the machine copies its list of threads at
// each start; hence the short sweep.
// Source: JEP 444, Virtual Threads, on why platform threads can't be had by the million; memory/virtual_thread.
import java.util.List;

final class MemoryJavaThread extends Parked {
    public static void main(String[] words) {
        new MemoryJavaThread().run(words);
    }

    @Override
    Description description() {
        return describedAs("Java platform thread", "How much memory does a parked platform thread of Java take?",
            "one platform thread started and parked, among as many others", "JEP 444, Virtual Threads",
            "parked platform threads", 30000, List.of(1000L, 4000L), List.of(1000L));
    }

    @Override
    Thread started(Runnable body) {
        Thread thread = new Thread(body);
        thread.start();
        return thread;
    }
}

// SPDX-License-Identifier: Apache-2.0
// virtual_thread - resident memory of a parked virtual thread.
//
// Each batch starts the threads, waits until all are parked, collects garbage, reads the memory, and lets them end. The
// growth is always against what was resident before the first thread of the run: later batches find pages of earlier
// ones. Before, garbage is made and collected, so that the part of the heap in which objects are born is resident
// already.
//
// Known answer: the state of every thread is WAITING when memory is read; all end afterwards.
// Overhead: none that scales with the threads.  Limits: each parks at the bottom of a stack of one frame of ours; a
// parked stack is copied to the heap, and a deep one takes more. The collector is Serial.
// Source: JEP 444, Virtual Threads: their stacks are stored in the heap as stack chunk objects.
import java.util.List;

final class MemoryVirtualThread extends Parked {
    public static void main(String[] words) {
        new MemoryVirtualThread().run(words);
    }

    @Override
    Description description() {
        return describedAs("Java virtual thread", "How much memory does a parked virtual thread take?",
            "one virtual thread started and parked, among as many others",
            "JEP 444, Virtual Threads: stacks are stored in the heap as stack chunk objects", "parked virtual threads",
            1000000, List.of(10000L, 100000L), List.of(10000L));
    }

    @Override
    Thread started(Runnable body) {
        return Thread.ofVirtual().start(body);
    }
}

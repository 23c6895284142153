// SPDX-License-Identifier: Apache-2.0
// What memory/virtual_thread and memory/java_thread have in common: threads that are parked while memory is read.

import java.util.List;
import java.util.concurrent.locks.LockSupport;

abstract class Parked extends Probe {
    private static final int GARBAGE_BYTES = 160 << 20; // more than the part of the heap in which objects are born (-Xmn)

    private long residentBefore, tablesBefore, heapBefore;
    private Thread[] threads;
    private volatile boolean open;
    static volatile Object garbage;

    /** Starts a thread of the kind in question. */
    abstract Thread started(Runnable body);

    static Description describedAs(String title, String question, String operation, String source, String contexts,
                                   long maximum, List<Long> sweep, List<Long> brief) {
        return new Description(title, question, operation, source, "median", List.of("same"), List.of("cpu"), false,
            List.of(
                new Metric("resident", "B", "lower", "resident_bytes", "operations",
                    "resident bytes of user space a suspended context"),
                new Metric("page_tables", "B", "lower", "page_table_bytes", "operations", "page tables a suspended context"),
                new Metric("heap", "B", "lower", "heap_bytes", "operations",
                    "live bytes of the heap after a collection a suspended context")),
            List.of(Parameter.integer("contexts", contexts, "1", 100, maximum, sweep, brief)));
    }

    private static long heap() {
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** Starts them all, as a thread of their kind: from outside, each start of a virtual thread would wake its carrier. */
    private final class Starter implements Runnable {
        private final Runnable body;
        private int count;
        private Throwable trouble;

        Starter(Runnable body) {
            this.body = body;
        }

        @Override
        public void run() {
            try {
                for (; count < threads.length; count++)
                    threads[count] = started(body);
            } catch (Throwable error) {
                trouble = error;
            }
        }
    }

    /** Parks until the gate is open, whatever wakes it before. */
    private final class Body implements Runnable {
        @Override
        public void run() {
            while (!open)
                LockSupport.park(Parked.this);
        }
    }

    @Override
    boolean threadsOutliveBatch() {
        return false;
    }

    @Override
    void setup() throws Exception {
        threads = new Thread[(int) integer("contexts")];
        for (int made = 0; made < GARBAGE_BYTES; made += 1024)
            garbage = new byte[1024];
        System.gc();
        residentBefore = bytes("/proc/self/smaps_rollup", "Rss:");
        tablesBefore = bytes("/proc/self/status", "VmPTE:");
        heapBefore = heap();
    }

    private long waiting() {
        long count = 0;
        for (Thread thread : threads)
            count += thread.getState() == Thread.State.WAITING ? 1 : 0;
        return count;
    }

    @Override
    void batch(long operations, Value value) throws Exception {
        Starter starter = new Starter(new Body());
        open = false;
        value.start();
        started(starter).join();
        if (starter.trouble != null)
            throw new Skip("only " + starter.count + " of " + threads.length + " threads can be started here: "
                + starter.trouble.getMessage() + "; see ulimit -u and the pids limit of the cgroup");
        while (waiting() < threads.length)
            Thread.sleep(1);
        value.stop();
        System.gc();
        long resident = bytes("/proc/self/smaps_rollup", "Rss:"), tables = bytes("/proc/self/status", "VmPTE:");
        long heap = heap(), parked = waiting();
        open = true;
        for (Thread thread : threads)
            LockSupport.unpark(thread);
        for (Thread thread : threads)
            thread.join();
        value.operations = threads.length;
        value.count("checked", parked);
        value.reading("resident_bytes", resident - residentBefore);
        value.reading("page_table_bytes", tables - tablesBefore);
        value.reading("heap_bytes", heap - heapBefore);
    }
}

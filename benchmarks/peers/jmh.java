// SPDX-License-Identifier: Apache-2.0
// The operations of create/virtual_thread and switch/virtual_handoff as benchmarks of JMH. Both go on inside a virtual
// thread, as in the probes; its start and end are spread over as many operations as a probe does at once.
package peers;

import java.util.concurrent.SynchronousQueue;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;

public class jmh {
    static final int OPERATIONS = 10_000;
    static volatile long sink;

    static void inVirtual(Runnable body) throws InterruptedException {
        Thread.ofVirtual().start(body).join();
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(java.util.concurrent.TimeUnit.NANOSECONDS)
    @OperationsPerInvocation(OPERATIONS)
    public void create() throws InterruptedException {
        inVirtual(() -> {
            for (long i = 0; i < OPERATIONS; i++) {
                long[] answer = {i};
                try {
                    inVirtual(() -> answer[0] = ~answer[0]);
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
                sink = answer[0];
            }
        });
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(java.util.concurrent.TimeUnit.NANOSECONDS)
    @OperationsPerInvocation(OPERATIONS)
    public void handoff() throws InterruptedException {
        SynchronousQueue<Long> there = new SynchronousQueue<>(), back = new SynchronousQueue<>();
        Thread partner = Thread.ofVirtual().start(() -> {
            try {
                for (long i = 0; i < OPERATIONS; i++)
                    back.put(there.take());
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        });
        inVirtual(() -> {
            try {
                for (long i = 0; i < OPERATIONS; i++) {
                    there.put(i);
                    sink = back.take();
                }
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        });
        partner.join();
    }
}

// SPDX-License-Identifier: Apache-2.0
// fork_join - a binary tree of forks by a ForkJoinPool of 1 to 1024 threads.
//
// Known answer: the leaves' numbers add up to n(n+1)/2, and n forks were counted.
// Overhead: adding two pairs of numbers, under 1 ns.
// Limits: one half is forked, the other one computed at once. The tasks are garbage, whose collection is part of the
// cost; the collector and the compilers use CPUs of their own if there are any.
// Source: Lea, A Java Fork/Join Framework (Java Grande 2000).
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;

final class ParallelForkJoin extends Probe {
    public static void main(String[] words) {
        new ParallelForkJoin().run(words);
    }

    @Override
    Description description() {
        return new Description("Java ForkJoinPool", "What does a fork cost whose halves may run at the same time?",
            "one fork of a binary tree and the join of its halves, by a RecursiveAction",
            "Lea, A Java Fork/Join Framework (Java Grande 2000)", "lower_quartile", List.of("free"),
            List.of("cpu", "sched"), true,
            List.of(
                new Metric("fork", "s", "lower", "wall", "operations", "time of one fork and its join, all threads together"),
                new Metric("fork_cpu", "s", "lower", "cpu", "operations",
                    "CPU time of the whole virtual machine for it, compilers and collector included")),
            List.of(Parameter.integer("threads", "threads that share the tree", "1", 1, 1024, List.of(1L, 2L),
                List.of(1L, 2L)))).ofFamily("fork");
    }

    private static final class Split extends RecursiveAction {
        private final long first, count;
        private long sum, forks;

        Split(long first, long count) {
            this.first = first;
            this.count = count;
        }

        @Override
        protected void compute() {
            if (count == 1) {
                sum = first;
                return;
            }
            Split lower = new Split(first, count / 2), upper = new Split(first + count / 2, count - count / 2);
            lower.fork();
            upper.compute();
            lower.join();
            sum = lower.sum + upper.sum;
            forks = lower.forks + upper.forks + 1;
        }
    }

    private ForkJoinPool pool;

    @Override
    void setup() {
        int threads = (int) integer("threads");
        if (threads > cpus.length)
            throw new Skip("threads=" + threads + " needs as many CPUs, and this process may use " + cpus.length);
        pool = new ForkJoinPool(threads);
    }

    @Override
    void batch(long operations, Value value) throws Exception {
        Split all = new Split(0, operations + 1);
        value.start();
        pool.invoke(all);
        value.stop();
        value.count("checked", all.sum == operations * (operations + 1) / 2 ? all.forks : 0);
    }
}

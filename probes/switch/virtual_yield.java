// SPDX-License-Identifier: Apache-2.0
// virtual_yield - Thread.yield() among 1 to 65536 virtual threads that all do nothing else.
//
// In each batch thread 0, the timekeeper, starts the others, waits until each has yielded, and then yields like them;
// between two of its yields it reads the clock and everybody's tally. It is started while no other lives: a carrier
// that always has threads of its own to run may never look at one that is started from outside (seen with Java 25).
//
// Known answer: on one carrier, with two threads or more, every yield switches to another thread; with one, none does.
// Overhead: noting who ran last and counting, 2 to 3 ns a yield.
// Limits: who ran last is known on one carrier only, so with `cross`, where each CPU has one, switches are not counted.
// The compilers and the collector share the CPU of `same`.
// Source: JEP 444, Virtual Threads; the crowd is that of switch/yield.
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

final class SwitchVirtualYield extends Probe {
    public static void main(String[] words) {
        new SwitchVirtualYield().run(words);
    }

    @Override
    Description description() {
        return new Description("Java virtual thread",
            "What does a yield cost among many virtual threads, and how often does it switch?",
            "one Thread.yield() of one virtual thread, whether it switched or not; CPU time",
            "JEP 444, Virtual Threads; after switch/yield", "lower_quartile", List.of("same", "cross"),
            List.of("cpu", "sched"), true,
            List.of(new Metric("yield", "s", "lower", "wall", "operations", "time of one yield on a CPU"),
                new Metric("real_switch", "s", "lower", "wall", "switches",
                    "time a switch between two of the threads that happened"),
                new Metric("switched_fraction", "1", "neither", "switches", "watched", "share of the yields that switched")),
            List.of(Parameter.integer("contexts", "virtual threads that yield", "1", 1, 65536, List.of(2L, 1L, 64L, 4096L),
                List.of(2L)))).ofFamily("turn");
    }

    /** What one thread has counted so far, written by that thread alone. */
    private static final class Tally {
        final AtomicLong yields = new AtomicLong(), switches = new AtomicLong();
    }

    private Tally[] tallies;
    private volatile boolean stop;
    private int lastRan = -1; // of the one carrier of `same`
    private boolean watched;

    /** Counted after the yield: the thread was taken off its carrier and mounted again, or went on. */
    private void yieldTimes(int index, long times) {
        Tally mine = tallies[index];
        for (long i = 0; i < times && !stop; i++) {
            Thread.yield();
            if (watched && lastRan != index) {
                lastRan = index;
                mine.switches.lazySet(mine.switches.getPlain() + 1);
            }
            mine.yields.lazySet(mine.yields.getPlain() + 1);
        }
    }

    private final class Yielder implements Runnable {
        private final int index;

        Yielder(int index) {
            this.index = index;
        }

        @Override
        public void run() {
            yieldTimes(index, Long.MAX_VALUE);
        }
    }

    private long sum(boolean ofSwitches) {
        long sum = 0;
        for (Tally tally : tallies)
            sum += (ofSwitches ? tally.switches : tally.yields).get();
        return sum;
    }

    /** Yields as often as falls to one thread of what is missing, until it is done and everyone took part. */
    private final class Timekeeper implements Runnable {
        private final long wanted;
        private long ns, yields, switches, own, counted;

        Timekeeper(long wanted) {
            this.wanted = wanted;
        }

        private boolean everyone(long[] before) {
            for (int i = 0; i < before.length; i++)
                if (tallies[i].yields.get() == before[i])
                    return false;
            return true;
        }

        private long[] tallied() {
            long[] yields = new long[tallies.length];
            for (int i = 0; i < yields.length; i++)
                yields[i] = tallies[i].yields.get();
            return yields;
        }

        @Override
        public void run() {
            long[] before = tallied();
            Thread[] others = new Thread[tallies.length - 1];
            for (int i = 0; i < others.length; i++)
                others[i] = Thread.ofVirtual().start(new Yielder(i + 1));
            do
                yieldTimes(0, 1);
            while (!everyone(before));
            before = tallied();
            long begin = System.nanoTime(), yieldsBefore = sum(false), switchesBefore = sum(true);
            do {
                long share = Math.max(1, (wanted - yields) / tallies.length);
                yieldTimes(0, share);
                own += share;
                ns = System.nanoTime() - begin;
                yields = sum(false) - yieldsBefore;
            } while (yields < wanted || !everyone(before));
            switches = sum(true) - switchesBefore;
            counted = tallies[0].yields.get() - before[0];
            stop = true;
            try {
                for (Thread other : others)
                    other.join();
            } catch (InterruptedException impossible) {
                counted = 0;
            }
        }
    }

    @Override
    void setup() {
        int contexts = (int) integer("contexts");
        watched = placement.equals("same");
        tallies = new Tally[contexts];
        for (int i = 0; i < contexts; i++)
            tallies[i] = new Tally();
    }

    @Override
    void batch(long operations, Value value) throws Exception {
        Timekeeper keeper = new Timekeeper(operations);
        stop = false;
        value.start();
        Thread.ofVirtual().start(keeper).join();
        value.stop();
        value.lanes = Math.min(tallies.length, cpus.length);
        value.wallNs = keeper.ns;
        value.operations = keeper.yields;
        value.count("checked", keeper.own == keeper.counted ? keeper.yields : 0);
        value.count("switches", keeper.switches);
        value.count("watched", watched ? keeper.yields : 0);
    }
}

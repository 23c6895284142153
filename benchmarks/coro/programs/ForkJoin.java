// SPDX-License-Identifier: Apache-2.0
// The programs on the Java virtual machine: fork-join by ForkJoinPool, the channel by virtual threads (Java 21).
// See programs.hpp for what is printed.
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;
import java.util.function.LongSupplier;

final class ForkJoin {
    private static final class Fib extends RecursiveTask<Long> {
        private final long n;

        Fib(long n) {
            this.n = n;
        }

        @Override
        protected Long compute() {
            if (n < 2)
                return n;
            Fib a = new Fib(n - 1);
            a.fork();
            return new Fib(n - 2).compute() + a.join();
        }
    }

    private static long joined(List<? extends RecursiveTask<Long>> children) {
        long sum = 0;
        for (int i = children.size() - 1; i >= 0; i--)
            sum += children.get(i).join();
        return sum;
    }

    private static final class Skynet extends RecursiveTask<Long> {
        private final long number, size;

        Skynet(long number, long size) {
            this.number = number;
            this.size = size;
        }

        @Override
        protected Long compute() {
            if (size == 1)
                return number;
            List<Skynet> children = new ArrayList<>(10);
            for (int i = 0; i < 10; i++) {
                Skynet child = new Skynet(number + i * (size / 10), size / 10);
                child.fork();
                children.add(child);
            }
            return joined(children);
        }
    }

    private static final class Queens extends RecursiveTask<Long> {
        private final byte[] placed;
        private final int row, n;

        Queens(byte[] placed, int row, int n) {
            this.placed = placed;
            this.row = row;
            this.n = n;
        }

        private boolean fits(int column) {
            for (int i = 0; i < row; i++) {
                int apart = placed[i] - column;
                if (apart == 0 || apart == row - i || apart == i - row)
                    return false;
            }
            return true;
        }

        @Override
        protected Long compute() {
            if (row == n)
                return 1L;
            List<Queens> children = new ArrayList<>(n);
            for (int column = 0; column < n; column++)
                if (fits(column)) {
                    byte[] next = placed.clone();
                    next[row] = (byte) column;
                    Queens child = new Queens(next, row + 1, n);
                    child.fork();
                    children.add(child);
                }
            return joined(children);
        }
    }

    private static long channel(int threads, long size) {
        int pairs = Math.max(1, threads / 2);
        long each = size / pairs;
        ArrayBlockingQueue<Long> between = new ArrayBlockingQueue<>(128);
        long[] sums = new long[pairs];
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < pairs; i++) {
            int pair = i;
            all.add(Thread.ofVirtual().start(() -> {
                try {
                    for (long n = 0; n < each; n++)
                        between.put(pair * each + n);
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            }));
            all.add(Thread.ofVirtual().start(() -> {
                try {
                    for (long n = 0; n < each; n++)
                        sums[pair] += between.take();
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            }));
        }
        long sum = 0;
        try {
            for (Thread thread : all)
                thread.join();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
        for (long one : sums)
            sum += one;
        return sum;
    }

    private static double cpuSeconds() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime() / 1e9;
    }

    private static String peakKib() throws java.io.IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status")))
            if (line.startsWith("VmHWM:"))
                return line.trim().split("\\s+")[1];
        return "0";
    }

    public static void main(String[] words) throws java.io.IOException {
        if (words.length != 3) {
            System.out.println("fib skynet nqueens channel");
            return;
        }
        int threads = Integer.parseInt(words[1]);
        long size = Long.parseLong(words[2]);
        ForkJoinPool pool = new ForkJoinPool(threads);
        LongSupplier run = switch (words[0]) {
            case "fib" -> () -> pool.invoke(new Fib(size));
            case "skynet" -> () -> pool.invoke(new Skynet(0, size));
            case "nqueens" -> () -> pool.invoke(new Queens(new byte[16], 0, (int) size));
            default -> () -> channel(threads, size);
        };
        // Warm for the compiler: the others need one run for that, this one some.
        long first = 0;
        for (int i = 0; i < 5; i++)
            first = run.getAsLong();
        double cpu = cpuSeconds();
        long start = System.nanoTime();
        long result = run.getAsLong();
        double took = (System.nanoTime() - start) / 1e9, used = cpuSeconds() - cpu;
        System.out.printf("%.6f %.6f %s %d%n", took, used, peakKib(), first == result ? result : 0);
    }
}

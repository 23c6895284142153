// SPDX-License-Identifier: Apache-2.0
// What the processor counted in a value, as probes/support/c/counters.h has it; of every thread of the machine, its
// compilers and its collector among them. By the foreign function interface, so for Java 22 and later alone: Probe loads
// it by its name, when all values have been timed.

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class Counters implements Probe.Counting {
    private static final int HARDWARE = 0, SOFTWARE = 1; // PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE
    private static final String[] HARDWARE_NAMES = {"cycles", "instructions", "branch_misses", "cache_misses"};
    private static final long[] HARDWARE_EVENTS = {0, 1, 5, 3};
    private static final String[] SOFTWARE_NAMES = {"task_clock_ns", "page_faults", "context_switches"};
    private static final long[] SOFTWARE_EVENTS = {1, 2, 3};
    private static final long BOTH_TIMES = 1 | 2; // PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
    private static final long INHERIT = 1 << 1, USER_ONLY = 1 << 5 | 1 << 6; // without the kernel and the hypervisor
    private static final long CLOSE_ON_EXEC = 8; // PERF_FLAG_FD_CLOEXEC
    private static final int SIZE = 64; // of perf_event_attr as it first was
    private static final int EPERM = 1, ESRCH = 3, EACCES = 13, ENFILE = 23, EMFILE = 24;
    private static final int MOST_TASKS = 128;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment attributes = arena.allocate(SIZE), counter = arena.allocate(24, 8), state;
    private final MethodHandle syscall, read, close, strerror;
    private final VarHandle errno;
    private final Map<String, List<Integer>> files = new LinkedHashMap<>();
    private final String scope;
    private String absent = "";

    private static final class Refused extends Exception {
        private final int code;

        Refused(int code) {
            this.code = code;
        }
    }

    Counters() throws Throwable {
        Linker linker = Linker.nativeLinker();
        SymbolLookup library = linker.defaultLookup();
        Linker.Option capture = Linker.Option.captureCallState("errno");
        MemoryLayout captured = Linker.Option.captureStateLayout();
        state = arena.allocate(captured);
        errno = captured.varHandle(MemoryLayout.PathElement.groupElement("errno"));
        ValueLayout.OfLong word = ValueLayout.JAVA_LONG;
        syscall = linker.downcallHandle(library.find("syscall").orElseThrow(),
            FunctionDescriptor.of(word, word, ValueLayout.ADDRESS, word, word, word, word), capture,
            Linker.Option.firstVariadicArg(1));
        read = linker.downcallHandle(library.find("read").orElseThrow(),
            FunctionDescriptor.of(word, ValueLayout.JAVA_INT, ValueLayout.ADDRESS, word));
        close = linker.downcallHandle(library.find("close").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
        strerror = linker.downcallHandle(library.find("strerror").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
        boolean bySoftware = "software".equals(System.getenv("STEELYARD_COUNTERS"));
        List<Long> tasks = tasks();
        if (tasks.size() > MOST_TASKS)
            throw new Probe.Absent(
                "more than " + MOST_TASKS + " contexts are not counted: reading so many counters would take too long");
        String who = "user and kernel";
        int code = openAll(bySoftware, INHERIT, tasks);
        if (code == EACCES || code == EPERM) {
            who = "user only"; // what an ordinary user may count of itself
            code = openAll(bySoftware, INHERIT | USER_ONLY, tasks);
        }
        if (code != 0)
            throw new Probe.Absent(why(code));
        scope = (bySoftware ? "software, " : "hardware, ") + who;
    }

    private static List<Long> tasks() throws IOException {
        List<Long> found = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path entry : entries)
                found.add(Long.parseLong(entry.getFileName().toString()));
        }
        return found;
    }

    /** Every event for every task. 0, or the error of the first event if none could be opened. */
    private int openAll(boolean bySoftware, long flags, List<Long> tasks) throws Throwable {
        String[] names = bySoftware ? SOFTWARE_NAMES : HARDWARE_NAMES;
        long[] events = bySoftware ? SOFTWARE_EVENTS : HARDWARE_EVENTS;
        List<String> missing = new ArrayList<>();
        int first = 0, last = 0;
        for (int i = 0; i < names.length; i++) {
            try {
                files.put(names[i], openEverywhere(bySoftware ? SOFTWARE : HARDWARE, events[i], flags, tasks));
            } catch (Refused refused) {
                missing.add(names[i]);
                last = refused.code;
                first = first == 0 ? last : first;
                if (last == EACCES || last == EPERM || last == EMFILE)
                    break;
            }
        }
        if (!files.isEmpty() && !missing.isEmpty())
            absent = String.join(", ", missing) + ": " + said(last);
        return files.isEmpty() ? first : 0;
    }

    private List<Integer> openEverywhere(int kind, long event, long flags, List<Long> tasks) throws Throwable {
        attributes.fill((byte) 0);
        attributes.set(ValueLayout.JAVA_INT, 0, kind);
        attributes.set(ValueLayout.JAVA_INT, 4, SIZE);
        attributes.set(ValueLayout.JAVA_LONG_UNALIGNED, 8, event);
        attributes.set(ValueLayout.JAVA_LONG_UNALIGNED, 32, BOTH_TIMES);
        attributes.set(ValueLayout.JAVA_LONG_UNALIGNED, 40, flags);
        List<Integer> opened = new ArrayList<>();
        for (long task : tasks) {
            long file = (long) syscall.invokeExact(state, number(), attributes, task, -1L, -1L, CLOSE_ON_EXEC);
            int code = (int) errno.get(state, 0L);
            if (file >= 0) {
                opened.add((int) file);
            } else if (code != ESRCH) { // a thread of the machine's own may end while we look
                for (int done : opened)
                    close(done);
                throw new Refused(code);
            }
        }
        return opened;
    }

    private static long number() {
        String architecture = System.getProperty("os.arch");
        switch (architecture) {
        case "amd64":
            return 298;
        case "aarch64", "riscv64":
            return 241;
        default:
            throw new Probe.Absent("the number of the system call perf_event_open is not known on " + architecture);
        }
    }

    private String said(int code) throws Throwable {
        return ((MemorySegment) strerror.invokeExact(code)).reinterpret(256).getString(0);
    }

    private String why(int code) throws Throwable {
        String said = said(code);
        switch (code) {
        case EACCES, EPERM:
            return "counting is not permitted here (" + said + "): sysctl kernel.perf_event_paranoid=2 or less permits it; a "
                + "container needs perf_event_open in its seccomp profile";
        case EMFILE, ENFILE:
            return "too many open files to count so many contexts (" + said + "): a higher ulimit -n permits it";
        default:
            return "the machine has no such counters (" + said
                + "): virtual machines have them only where the host passes them on";
        }
    }

    private void close(int file) throws Throwable {
        int ignored = (int) close.invokeExact(file);
    }

    @Override
    public Map<String, long[]> read() {
        Map<String, long[]> counted = new LinkedHashMap<>();
        try {
            for (Map.Entry<String, List<Integer>> event : files.entrySet()) {
                long[] sum = new long[3];
                for (int file : event.getValue()) {
                    if ((long) read.invokeExact(file, counter, 24L) != 24)
                        throw new IllegalStateException("cannot read the counter " + event.getKey());
                    for (int i = 0; i < 3; i++)
                        sum[i] += counter.getAtIndex(ValueLayout.JAVA_LONG, i);
                }
                counted.put(event.getKey(), sum);
            }
        } catch (RuntimeException | Error known) {
            throw known;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
        return counted;
    }

    @Override
    public String scope() {
        return scope;
    }

    @Override
    public String absent() {
        return absent;
    }
}

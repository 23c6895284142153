// SPDX-License-Identifier: Apache-2.0
// Probe protocol 1 for probes written in Java; docs/reference/protocol.md is its contract.
//
// A probe extends Probe: it describes itself, sets up, and does a batch. The support does the rest: --describe,
// --selftest, key=value, finding the number of operations, values, JSON lines, the deadline. The launcher that the
// build installs gives the identity (-Dsteelyard.probe=question/way) and moves the machine to its CPUs before it
// starts, because Java's library can't. Standard library only, and no lambda here: each would cost milliseconds at
// every start.
//
// A virtual machine is never one thread: its compilers and its collector run beside the probe, on the same CPU with
// placement `same`. So a probe in Java says that it warms up: the values of a run are a time series, in their order.

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

abstract class Probe {
    static final int SELFTEST_OPERATIONS = 23; // a prime, so that rounding to a batch size shows
    static final double MAX_OPERATIONS = (double) (1L << 40);
    /** The clocks of more threads than this are not read: that would take longer than what is measured. */
    static final int MOST_CLOCKS = 256;
    private static final int COUNTED_VALUES = 3; // counts vary little: three tell an outlier
    static final String NAME = System.getProperty("steelyard.probe", "probe/probe");

    /** One reported figure: quantity over divided by quantity per of the same value. */
    record Metric(String name, String unit, String better, String over, String per, String doc) {}

    /** What may be varied: an integer within its limits, or one of some words; the first of the sweep is the default. The
     * fields are those of the descriptor. */
    record Parameter(String name, Map<String, Object> fields) {
        /** `brief` is what a first session of a few minutes takes of the sweep; all when empty. */
        static Parameter integer(String name, String doc, String unit, long minimum, long maximum, List<Long> sweep,
                                 List<Long> brief) {
            return new Parameter(name, object("type", "integer", "name", name, "doc", doc, "unit", unit, "minimum", minimum,
                "maximum", maximum, "sweep", sweep, "brief", brief));
        }

        static Parameter choice(String name, String doc, List<String> choices, List<String> sweep, List<String> brief) {
            return new Parameter(name, object("type", "choice", "name", name, "doc", doc, "choices", choices, "sweep", sweep,
                "brief", brief));
        }

        /** With metrics that are drawn over it beside the main one. */
        Parameter curves(List<String> metrics) {
            fields.put("curves", metrics);
            return this;
        }

        private Object first() {
            return ((List<?>) fields.get("sweep")).get(0);
        }

        private Object read(String text) {
            if (fields.get("choices") instanceof List<?> choices) {
                if (!choices.contains(text))
                    throw new Usage(name + " is one of " + commas(choices) + ", not \"" + text + "\"");
                return text;
            }
            long minimum = (Long) fields.get("minimum"), maximum = (Long) fields.get("maximum");
            long number = text.matches("-?[0-9]{1,18}") ? Long.parseLong(text) : Long.MIN_VALUE;
            if (number < minimum || number > maximum)
                throw new Usage(name + " is an integer from " + minimum + " to " + maximum + ", not \"" + text + "\"");
            return number;
        }
    }

    /** The descriptor: the fields are those of docs/reference/protocol.md. family and baseline may be null, valueMs 0. */
    record Description(String title, String family, String question, String operation, String source, String statistic,
                       String baseline, long valueMs, List<String> placements, List<String> uses, boolean warmsUp,
                       List<Metric> metrics, List<Parameter> parameters) {
        Description(String title, String question, String operation, String source, String statistic,
                    List<String> placements, List<String> uses, boolean warmsUp, List<Metric> metrics,
                    List<Parameter> parameters) {
            this(title, null, question, operation, source, statistic, null, 0, placements, uses, warmsUp, metrics,
                parameters);
        }

        Description ofFamily(String name) {
            return new Description(title, name, question, operation, source, statistic, baseline, valueMs, placements, uses,
                warmsUp, metrics, parameters);
        }
    }

    String placement;
    int[] cpus;
    final Map<String, Object> parameters = new LinkedHashMap<>();
    private final List<String> caveats = new ArrayList<>();

    abstract Description description();

    /** Called once before the first batch, untimed. */
    void setup() throws Exception {}

    /** Does that number of operations between value.start() and value.stop(), checks that they happened and reports how many
     * were proven as the count "checked". */
    abstract void batch(long operations, Value value) throws Exception;

    /** Whether the threads that work live as long as the batch: the CPU time of those that end can't be read. */
    boolean threadsOutliveBatch() {
        return true;
    }

    final long integer(String name) {
        return (Long) parameter(name);
    }

    final String choice(String name) {
        return (String) parameter(name);
    }

    private Object parameter(String name) {
        if (!parameters.containsKey(name))
            throw new IllegalStateException("the probe asks for a parameter " + name + " that it does not declare");
        return parameters.get(name);
    }

    /** A doubt that travels with the result; printed once a run however often it is said. */
    final void caveat(String text) {
        if (!caveats.contains(text))
            caveats.add(text);
    }

    // --- counters ------------------------------------------------------------------------------------------------

    /** Open counters: foreign/Counters.java, where Java has the foreign function interface. */
    interface Counting {
        /** What has been counted so far, by event: the count, the time for which it was enabled and for which it was counted. */
        Map<String, long[]> read();

        String scope();

        /** Which events are missing, if some are. */
        String absent();
    }

    /** Nothing can be counted here, and why. */
    static final class Absent extends RuntimeException {
        Absent(String reason) {
            super(reason);
        }
    }

    private static Counting counting;
    private String countersScope = "", countersAbsent = "";

    /** Runs batches like those that were timed, with the counters open. */
    private void countValues(long count, List<Value> done) throws Exception {
        try {
            counting = counters();
        } catch (Absent absent) {
            countersAbsent = absent.getMessage();
            return;
        }
        countersScope = counting.scope();
        countersAbsent = counting.absent();
        for (int i = 0; i < done.size() && i < COUNTED_VALUES; i++)
            done.get(i).again = runBatch(count);
        counting = null;
    }

    private static Counting counters() throws Exception {
        String wanted = System.getenv("STEELYARD_COUNTERS");
        int version = Runtime.version().feature();
        if ("off".equals(wanted))
            throw new Absent("turned off by STEELYARD_COUNTERS");
        if (version < 22)
            throw new Absent("reading counters needs Java 22 or later, and this is " + version);
        if (!"software".equals(wanted) && !processorCounts())
            throw new Absent("the machine has no such counters (none in /sys/bus/event_source/devices): virtual machines "
                + "have them only where the host passes them on");
        try {
            return (Counting) Class.forName("Counters").getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException missing) {
            throw new Absent("the JDK that compiled the probes was older than 22: build again with a newer one");
        } catch (java.lang.reflect.InvocationTargetException thrown) {
            if (thrown.getCause() instanceof Absent absent)
                throw absent;
            throw thrown;
        }
    }

    /** Whether the kernel knows counters of a processor: to ask it through the foreign function interface would take a
     * tenth of a second. */
    private static boolean processorCounts() throws IOException {
        Path devices = Path.of("/sys/bus/event_source/devices");
        if (!Files.isDirectory(devices))
            return true; // unknown
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(devices)) {
            for (Path entry : entries)
                if (entry.getFileName().toString().matches("cpu.*|arm.*|apple.*"))
                    return true;
        }
        return false;
    }

    // --- values --------------------------------------------------------------------------------------------------

    /** Facts of one timed batch. operations is preset to what was asked for; a batch that did another number says so. */
    static final class Value {
        long operations;
        int lanes = 1; // CPUs on which operations went on at the same time
        long wallNs;
        final Map<String, Long> counts = new LinkedHashMap<>();
        final Map<String, Double> readings = new LinkedHashMap<>();
        private final boolean clocks;
        private boolean started;
        private long begin;
        private long[] usage;
        private Map<String, long[]> events;
        private Value again; // the batch that was run again for the counters

        Value(long operations, boolean clocks) {
            this.operations = operations;
            this.clocks = clocks;
        }

        /** The clock is read last here and first in stop(). */
        void start() throws IOException {
            usage = clocks ? usage(false) : null;
            events = counting == null ? null : counting.read();
            started = true;
            begin = System.nanoTime();
        }

        void stop() throws IOException {
            wallNs = System.nanoTime() - begin;
            Map<String, long[]> counted = counting == null ? Map.of() : counting.read();
            for (Map.Entry<String, long[]> event : counted.entrySet())
                for (int i = 0; i < event.getValue().length; i++)
                    event.getValue()[i] -= events.get(event.getKey())[i];
            events = counted;
            long[] end = usage == null ? null : usage(true);
            for (int i = 0; end != null && i < end.length; i++)
                usage[i] = end[i] - usage[i];
            if (end == null)
                usage = null;
        }

        void count(String name, long count) {
            counts.put(name, count);
        }

        void reading(String name, double reading) {
            readings.put(name, reading);
        }

        private Map<String, Object> line() {
            Map<String, Object> line = object("type", "value", "operations", operations, "wall_ns", wallNs, "lanes", lanes,
                "counts", counts, "readings", readings);
            if (usage != null)
                line.putAll(object("cpu_ns", usage[0], "run_delay_ns", usage[1]));
            if (again != null)
                line.put("counters", object("operations", again.operations, "events", again.events));
            return line;
        }
    }

    /** CPU time of all threads of the machine, compilers and collector among them, and the run delay of the caller. Null
     * where there are too many threads to ask. The caller's own clock is read last at the start of a batch and first at
     * its end, so that the reading is not measured. */
    private static long[] usage(boolean ownFirst) throws IOException {
        Path own = Path.of("/proc/thread-self").toRealPath();
        String[] mine = ownFirst ? clocks(own) : null;
        long cpuNs = 0;
        int threads = 0;
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(own.getParent())) {
            for (Path task : tasks) {
                if (++threads > MOST_CLOCKS)
                    return null;
                try {
                    if (!task.equals(own))
                        cpuNs += Long.parseLong(clocks(task)[0]);
                } catch (IOException ended) {
                    continue; // a thread of the machine's own may end while we look
                }
            }
        }
        if (mine == null)
            mine = clocks(own);
        return new long[] {cpuNs + Long.parseLong(mine[0]), Long.parseLong(mine[1])};
    }

    private static String[] clocks(Path task) throws IOException {
        return Files.readString(task.resolve("schedstat")).split(" ");
    }

    /** Bytes that follow a field of a file in /proc, such as Rss: in smaps_rollup. */
    static long bytes(String file, String field) throws IOException {
        try (BufferedReader reader = Files.newBufferedReader(Path.of(file))) {
            for (String line; (line = reader.readLine()) != null;)
                if (line.startsWith(field))
                    return 1024 * Long.parseLong(line.substring(field.length()).trim().split(" ")[0]);
        } catch (IOException error) {
            throw new Skip("cannot read " + file + ": " + error.getMessage());
        }
        throw new Skip(file + " has no line " + field);
    }

    // --- ending --------------------------------------------------------------------------------------------------

    /** It can't be measured here, and why. */
    static final class Skip extends RuntimeException {
        Skip(String reason) {
            super(reason);
        }
    }

    private static final class Usage extends RuntimeException {
        Usage(String reason) {
            super(reason);
        }
    }

    private static void leave(int code, String reason) {
        System.out.flush();
        System.err.println(NAME + ": " + reason.replace('\n', ' '));
        System.err.flush();
        Runtime.getRuntime().halt(code); // no shutdown hooks: other threads may be in the middle of anything
    }

    private static final class Deadline extends Thread {
        private final long ns;

        Deadline(long ns) {
            super("deadline");
            this.ns = ns;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                Thread.sleep(Math.max(1000, ns / 1_000_000));
            } catch (InterruptedException impossible) {
                return;
            }
            leave(1, "not finished within the deadline");
        }
    }

    // --- printing ------------------------------------------------------------------------------------------------

    private static Map<String, Object> object(Object... pairs) {
        Map<String, Object> result = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2)
            result.put((String) pairs[i], pairs[i + 1]);
        return result;
    }

    /** JSON of maps, lists, texts and numbers. */
    private static String json(Object value) {
        if (value instanceof String text)
            return quoted(text);
        if (value instanceof long[] numbers)
            return Arrays.toString(numbers);
        List<String> items = new ArrayList<>();
        if (value instanceof List<?> list) {
            for (Object item : list)
                items.add(json(item));
            return "[" + commas(items) + "]";
        }
        if (!(value instanceof Map<?, ?> map))
            return String.valueOf(value);
        for (Map.Entry<?, ?> entry : map.entrySet())
            items.add(json(entry.getKey()) + ":" + json(entry.getValue()));
        return "{" + commas(items) + "}";
    }

    private static String commas(List<?> items) {
        StringBuilder result = new StringBuilder();
        for (Object item : items)
            result.append(result.isEmpty() ? "" : ",").append(item);
        return result.toString();
    }

    private static String quoted(String text) {
        StringBuilder result = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\')
                result.append('\\').append(c);
            else if (c < 0x20)
                result.append(String.format("\\u%04x", (int) c));
            else
                result.append(c);
        }
        return result.append('"').toString();
    }

    private Map<String, Object> descriptor() {
        Description d = description();
        List<Object> metrics = new ArrayList<>(), numbers = new ArrayList<>();
        for (Metric m : d.metrics)
            metrics.add(object("name", m.name, "unit", m.unit, "better", m.better, "over", m.over, "per", m.per, "doc", m.doc));
        for (Parameter p : d.parameters)
            numbers.add(p.fields);
        Map<String, Object> result = object("protocol", 1, "probe", NAME, "title", d.title, "question", d.question,
            "operation", d.operation, "source", d.source, "statistic", d.statistic, "baseline", d.baseline, "warms_up",
            d.warmsUp, "placements", d.placements, "uses", d.uses, "metrics", metrics, "parameters", numbers);
        if (d.family != null)
            result.put("family", d.family);
        if (d.valueMs > 0)
            result.put("value_ms", d.valueMs);
        return result;
    }

    private Map<String, Object> meta(long operations, long searchNs) {
        List<Long> where = new ArrayList<>();
        for (int cpu : cpus)
            where.add((long) cpu);
        return object("type", "meta", "protocol", 1, "probe", NAME, "parameters", parameters, "placement", placement, "cpus",
            where, "operations", operations, "compiler",
            System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"), "flags",
            System.getProperty("steelyard.flags", ""), "clock", "System.nanoTime", "search_ns", searchNs, "counters",
            countersScope, "counters_absent", countersAbsent);
    }

    private static void print(List<Object> lines) {
        StringBuilder out = new StringBuilder();
        for (Object line : lines)
            out.append(json(line)).append('\n');
        System.out.print(out);
        if (System.out.checkError())
            throw new IllegalStateException("cannot write to standard output");
    }

    // --- the command line ----------------------------------------------------------------------------------------

    private long operations, values = 9, targetNs = 10_000_000, deadlineNs = 60_000_000_000L;

    private static long parseCount(String option, String text) {
        long number = text.matches("[0-9]{1,18}") ? Long.parseLong(text) : 0;
        if (number == 0 || number > MAX_OPERATIONS)
            throw new Usage(option + " takes a number from 1 to 2^40, not \"" + text + "\"");
        return number;
    }

    private static long parseDuration(String option, String text) {
        String number = text.replaceFirst("[a-z]+$", ""), suffix = text.substring(number.length());
        double factor = switch (suffix) {
            case "ns" -> 1;
            case "us" -> 1e3;
            case "ms" -> 1e6;
            case "s" -> 1e9;
            default -> 0;
        };
        double length = number.matches("[0-9]+([.][0-9]+)?") ? Double.parseDouble(number) * factor : 0;
        if (length == 0 || length >= 1e18)
            throw new Usage(option + " takes a duration such as 10ms, not \"" + text + "\"");
        return (long) Math.max(1, length);
    }

    private void setParameter(String key, String text) {
        for (Parameter p : description().parameters)
            if (p.name.equals(key)) {
                parameters.put(key, p.read(text));
                return;
            }
        throw new Usage("no parameter is called \"" + key + "\"; --describe lists them");
    }

    private void setOption(String option, String argument) {
        switch (option) {
        case "--operations" -> operations = parseCount(option, argument);
        case "--values" -> values = parseCount(option, argument);
        case "--target" -> targetNs = parseDuration(option, argument);
        case "--deadline" -> deadlineNs = parseDuration(option, argument);
        case "--placement" -> {
            if (!description().placements.contains(argument))
                throw new Usage("--placement is one of " + commas(description().placements) + ", not \""
                    + argument + "\"");
            placement = argument;
        }
        default -> throw new Usage("unknown option " + option + " (--describe, --selftest, --operations, --values, "
            + "--target, --deadline, --placement, --json, key=value)");
        }
    }

    private void parse(String[] words) {
        for (int i = 0; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            if (words[i].equals("--json")) {
                continue; // it prints nothing else
            } else if (words[i].startsWith("--")) {
                if (i + 1 == words.length)
                    throw new Usage(words[i] + " takes an argument");
                setOption(words[i], words[i + 1]);
                i++;
            } else if (equals >= 0) {
                setParameter(words[i].substring(0, equals), words[i].substring(equals + 1));
            } else {
                throw new Usage("\"" + words[i] + "\" is neither an option nor key=value");
            }
        }
    }

    /** The CPUs that the launcher moved us to. It moves us as far as it can; whether that is far enough is found out here. */
    private void findCpus() throws IOException {
        List<Integer> found = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (!line.startsWith("Cpus_allowed_list:"))
                continue;
            for (String range : line.substring(18).trim().split(",")) {
                String[] ends = range.split("-");
                for (int cpu = Integer.parseInt(ends[0]); cpu <= Integer.parseInt(ends[ends.length - 1]); cpu++)
                    found.add(cpu);
            }
        }
        cpus = new int[found.size()];
        for (int i = 0; i < cpus.length; i++)
            cpus[i] = found.get(i);
        if (placement.equals("same") && cpus.length != 1)
            throw new Skip("placement same needs the program taskset to move Java to one CPU: install util-linux");
        if (placement.equals("cross") && cpus.length < 2)
            throw new Skip("placement cross needs two CPUs and this process may use one");
    }

    // --- running -------------------------------------------------------------------------------------------------

    private Value runBatch(long wanted) throws Exception {
        Value value = new Value(wanted, threadsOutliveBatch());
        batch(wanted, value);
        if (!value.started)
            throw new IllegalStateException("a batch never began its timed part");
        if (value.operations == 0)
            throw new IllegalStateException("a batch did no operation at all");
        Long checked = value.counts.get("checked");
        if (checked == null)
            throw new IllegalStateException("a value lacks the count \"checked\"");
        if (checked != value.operations)
            throw new IllegalStateException(
                value.operations + " operations were timed but " + checked + " were proven to have happened");
        return value;
    }

    /** The number of operations whose batch takes about the target. The first batches are slow by far, as nothing is
     * compiled yet: it grows by at most 10, and nothing is settled before many batches' time. */
    private long findOperations() throws Exception {
        long count = 1, earliest = System.nanoTime() + 30 * targetNs;
        for (int attempt = 0; attempt < 400; attempt++) {
            Value value = runBatch(count);
            double factor = targetNs / (double) Math.max(1, value.wallNs);
            // From what was done, not from what was asked for: a probe may do far more.
            double wanted = value.operations * Math.min(10, factor) + 0.5;
            if (wanted > MAX_OPERATIONS)
                return count;
            long next = Math.max(1, (long) wanted);
            boolean settled = next >= count - count / 5 && next <= count + count / 5;
            boolean closeEnough = factor < 4 && factor > 0.25 && attempt > 20; // a noisy machine never settles
            count = next;
            if ((settled || closeEnough) && System.nanoTime() > earliest)
                break;
        }
        return count;
    }

    private void selftest() throws Exception {
        setup();
        Value value = runBatch(SELFTEST_OPERATIONS);
        if (value.operations < SELFTEST_OPERATIONS)
            throw new IllegalStateException(SELFTEST_OPERATIONS + " operations were asked for and " + value.operations
                + " done");
    }

    private void measure() throws Exception {
        setup();
        long count = operations, searchNs = 0;
        if (count > 0) {
            runBatch(1 + count / 8); // page faults and caches of the first batch are not the subject
        } else {
            long begin = System.nanoTime();
            count = findOperations();
            searchNs = System.nanoTime() - begin;
        }
        List<Value> done = new ArrayList<>();
        for (long i = 0; i < values; i++)
            done.add(runBatch(count));
        countValues(count, done);
        List<Object> lines = new ArrayList<>();
        lines.add(meta(count, searchNs));
        for (Value value : done)
            lines.add(value.line());
        for (String text : caveats)
            lines.add(object("type", "caveat", "text", text));
        lines.add(object("type", "end", "values", values));
        print(lines);
    }

    /** Does what the command line asks of this probe, and ends the process; main() calls it. */
    final void run(String[] words) {
        try {
            if (words.length == 1 && words[0].equals("--describe")) {
                print(List.of(descriptor()));
                return;
            }
            placement = description().placements.get(0);
            for (Parameter p : description().parameters)
                parameters.put(p.name, p.first());
            boolean test = words.length == 1 && words[0].equals("--selftest");
            if (!test)
                parse(words);
            findCpus();
            new Deadline(deadlineNs).start();
            if (test)
                selftest();
            else
                measure();
            Runtime.getRuntime().halt(0); // contexts that never end must not keep it alive
        } catch (Usage wrong) {
            leave(2, wrong.getMessage());
        } catch (Skip reason) {
            leave(77, reason.getMessage());
        } catch (Throwable error) {
            leave(1, error instanceof IllegalStateException ? error.getMessage() : error.toString());
        }
    }
}

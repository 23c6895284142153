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
    /** Above so many threads their clocks are not read: that would take longer than what is measured. */
    static final int MOST_CLOCKS = 256;
    private static final int COUNTED_VALUES = 3; // counts vary little: three tell an outlier
    static final String NAME = System.getProperty("steelyard.probe", "probe/probe");

    /** One reported figure: quantity over divided by quantity per of the same value. */
    record Metric(String name, String unit, String better, String over, String per, String doc) {}

    /** What may be varied, an integer within its limits; the first of the sweep is the default. */
    record Parameter(String name, String doc, String unit, long minimum, long maximum, List<Long> sweep, List<Long> brief) {}

    /** The descriptor: the fields are those of docs/reference/protocol.md. */
    record Description(String question, String operation, String source, String statistic, List<String> placements,
                       List<String> uses, boolean warmsUp, List<Metric> metrics, List<Parameter> parameters) {}

    String placement;
    int[] cpus;
    final Map<String, Long> parameters = new LinkedHashMap<>();
    private final List<String> caveats = new ArrayList<>();

    abstract Description description();

    /** Called once before the first batch, untimed. */
    void setup() throws Exception {}

    /** Does so many operations between value.start() and value.stop(), checks that they happened and reports how many
     * were proven as the count "checked". */
    abstract void batch(long operations, Value value) throws Exception;

    /** Whether the threads that work live as long as the batch: the CPU time of those that end can't be read. */
    boolean threadsOutliveBatch() {
        return true;
    }

    final long integer(String name) {
        Long value = parameters.get(name);
        if (value == null)
            throw new IllegalStateException("the probe asks for a parameter " + name + " that it does not declare");
        return value;
    }

    /** A doubt that travels with the result; printed once a run however often it is said. */
    final void caveat(String text) {
        if (!caveats.contains(text))
            caveats.add(text);
    }

    // --- counters ------------------------------------------------------------------------------------------------

    /** Open counters: foreign/Counters.java, where Java has the foreign function interface. */
    interface Counting {
        /** What has been counted so far, by event: the count, the time in which it was wanted and in which it was had. */
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

    /** Batches as those that were timed, with the counters open. */
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

        double quantity(String name) {
            switch (name) {
            case "wall":
                return wallNs * (double) lanes / 1e9;
            case "cpu":
                if (usage != null)
                    return usage[0] / 1e9;
                break;
            case "operations":
                return operations;
            case "one":
                return 1;
            default:
                if (counts.containsKey(name))
                    return counts.get(name);
                if (readings.containsKey(name))
                    return readings.get(name);
            }
            throw new IllegalStateException("a metric is made of " + name + ", which no value reports");
        }

        String json() {
            StringBuilder line = new StringBuilder("{\"type\":\"value\",\"operations\":" + operations + ",\"wall_ns\":" + wallNs
                + ",\"lanes\":" + lanes);
            if (usage != null)
                line.append(",\"cpu_ns\":" + usage[0] + ",\"run_delay_ns\":" + usage[1]);
            line.append(",\"counts\":{");
            String separator = "";
            for (Map.Entry<String, Long> count : counts.entrySet()) {
                line.append(separator).append(quoted(count.getKey())).append(':').append(count.getValue());
                separator = ",";
            }
            line.append("},\"readings\":{");
            separator = "";
            for (Map.Entry<String, Double> reading : readings.entrySet()) {
                line.append(separator).append(quoted(reading.getKey())).append(':').append(reading.getValue());
                separator = ",";
            }
            line.append('}');
            if (again != null) {
                line.append(",\"counters\":{\"operations\":" + again.operations + ",\"events\":{");
                separator = "";
                for (Map.Entry<String, long[]> event : again.events.entrySet()) {
                    line.append(separator).append(quoted(event.getKey())).append(':');
                    line.append(Arrays.toString(event.getValue()));
                    separator = ",";
                }
                line.append("}}");
            }
            return line.append('}').toString();
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

    private static String list(List<String> words) {
        List<String> items = new ArrayList<>();
        for (String word : words)
            items.add(quoted(word));
        return items.toString();
    }

    private String describe() {
        Description d = description();
        List<String> metrics = new ArrayList<>(), numbers = new ArrayList<>();
        for (Metric m : d.metrics)
            metrics.add("{\"name\":" + quoted(m.name) + ",\"unit\":" + quoted(m.unit) + ",\"better\":" + quoted(m.better)
                + ",\"over\":" + quoted(m.over) + ",\"per\":" + quoted(m.per) + ",\"doc\":" + quoted(m.doc) + "}");
        for (Parameter p : d.parameters)
            numbers.add("{\"name\":" + quoted(p.name) + ",\"type\":\"integer\",\"doc\":" + quoted(p.doc) + ",\"unit\":"
                + quoted(p.unit) + ",\"minimum\":" + p.minimum + ",\"maximum\":" + p.maximum + ",\"sweep\":" + p.sweep
                + (p.brief.isEmpty() ? "" : ",\"brief\":" + p.brief) + "}");
        return "{\"protocol\":1,\"probe\":" + quoted(NAME) + ",\"question\":" + quoted(d.question) + ",\"operation\":"
            + quoted(d.operation) + ",\"source\":" + quoted(d.source) + ",\"statistic\":" + quoted(d.statistic)
            + ",\"baseline\":null,\"warms_up\":" + d.warmsUp + ",\"placements\":" + list(d.placements) + ",\"uses\":"
            + list(d.uses) + ",\"metrics\":" + metrics + ",\"parameters\":" + numbers + "}";
    }

    private String meta(long operations, long searchNs) {
        List<String> pairs = new ArrayList<>();
        for (Map.Entry<String, Long> parameter : parameters.entrySet())
            pairs.add(quoted(parameter.getKey()) + ":" + parameter.getValue());
        String machine = System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version");
        return "{\"type\":\"meta\",\"protocol\":1,\"probe\":" + quoted(NAME) + ",\"parameters\":{" + String.join(",", pairs)
            + "},\"placement\":" + quoted(placement) + ",\"cpus\":" + Arrays.toString(cpus) + ",\"operations\":" + operations
            + ",\"compiler\":" + quoted(machine) + ",\"flags\":" + quoted(System.getProperty("steelyard.flags", ""))
            + ",\"clock\":\"System.nanoTime\",\"search_ns\":" + searchNs
            + (countersScope.isEmpty() ? "" : ",\"counters\":" + quoted(countersScope))
            + (countersAbsent.isEmpty() ? "" : ",\"counters_absent\":" + quoted(countersAbsent)) + "}";
    }

    /** One readable line for a person. */
    private void printLine(List<Value> values) {
        Description d = description();
        boolean quartile = d.statistic.equals("lower_quartile");
        StringBuilder line = new StringBuilder(NAME);
        for (Map.Entry<String, Long> parameter : parameters.entrySet())
            line.append(' ').append(parameter.getKey()).append('=').append(parameter.getValue());
        line.append(" @").append(placement).append(':');
        String separator = "";
        for (Metric metric : d.metrics) {
            List<Double> figures = new ArrayList<>(); // none where nothing happened that it could be divided by
            for (Value value : values)
                if (value.quantity(metric.per) > 0)
                    figures.add(value.quantity(metric.over) / value.quantity(metric.per));
            figures.sort(null);
            line.append(separator).append(' ').append(metric.name).append(' ');
            line.append(figures.isEmpty() ? "-"
                : readable(figures.get((figures.size() - 1) / (quartile ? 4 : 2)), metric.unit));
            separator = ",";
        }
        System.out.println(line + " (" + (quartile ? "lower quartile" : "median") + " of " + values.size() + " values of "
            + values.get(0).operations + " operations)");
        if (d.warmsUp)
            System.out.println("  caveat: first and last of these values may differ, as the machine warms up; steelyard run "
                + "tells whether it came to rest");
        for (String text : caveats)
            System.out.println("  caveat: " + text);
    }

    private static String readable(double figure, String unit) {
        String[] prefixes = {"", "m", "u", "n"};
        int i = 0;
        for (; unit.equals("s") && i < 3 && figure < 1; i++)
            figure *= 1000;
        return String.format("%.4g", figure) + (unit.equals("1") ? "" : " " + prefixes[i] + unit);
    }

    // --- the command line ----------------------------------------------------------------------------------------

    private long operations, values = 9, targetNs = 10_000_000, deadlineNs = 60_000_000_000L;
    private boolean json = System.getProperty("steelyard.terminal") == null;

    private static long parseCount(String option, String text) {
        if (!text.matches("[0-9]{1,18}") || Long.parseLong(text) == 0)
            throw new Usage(option + " takes a positive number, not \"" + text + "\"");
        return Long.parseLong(text);
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
        if (factor == 0 || !number.matches("[0-9]{1,12}([.][0-9]{1,12})?") || Double.parseDouble(number) == 0)
            throw new Usage(option + " takes a duration such as 10ms, not \"" + text + "\"");
        return (long) Math.max(1, Double.parseDouble(number) * factor);
    }

    private void setParameter(String key, String text) {
        for (Parameter p : description().parameters) {
            if (!p.name.equals(key))
                continue;
            long number = text.matches("-?[0-9]{1,18}") ? Long.parseLong(text) : Long.MIN_VALUE;
            if (number < p.minimum || number > p.maximum)
                throw new Usage(key + " is an integer from " + p.minimum + " to " + p.maximum + ", not \"" + text + "\"");
            parameters.put(key, number);
            return;
        }
        throw new Usage("no parameter is called " + key + "; --describe lists them");
    }

    private void setOption(String option, String argument) {
        switch (option) {
        case "--operations" -> operations = parseCount(option, argument);
        case "--values" -> values = parseCount(option, argument);
        case "--target" -> targetNs = parseDuration(option, argument);
        case "--deadline" -> deadlineNs = parseDuration(option, argument);
        case "--placement" -> {
            if (!description().placements.contains(argument))
                throw new Usage("--placement is one of " + String.join(",", description().placements) + ", not \""
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
                json = true;
            } else if (words[i].startsWith("--")) {
                if (i + 1 == words.length)
                    throw new Usage(words[i] + " takes an argument");
                setOption(words[i], words[i + 1]);
                i++;
            } else if (equals > 0) {
                setParameter(words[i].substring(0, equals), words[i].substring(equals + 1));
            } else {
                throw new Usage("\"" + words[i] + "\" is neither an option nor key=value");
            }
        }
    }

    /** Where the launcher moved us to; it moves as far as it can, and here is looked whether that was far enough. */
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
            throw new IllegalStateException("a batch never called start()");
        Long checked = value.counts.get("checked");
        if (checked == null)
            throw new IllegalStateException("a value lacks the count \"checked\"");
        if (checked != value.operations || checked == 0)
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
        for (Metric metric : description().metrics) {
            value.quantity(metric.over);
            value.quantity(metric.per);
        }
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
        if (!json) {
            printLine(done);
            return;
        }
        countValues(count, done);
        StringBuilder out = new StringBuilder(meta(count, searchNs)).append('\n');
        for (Value value : done)
            out.append(value.json()).append('\n');
        for (String text : caveats)
            out.append("{\"type\":\"caveat\",\"text\":").append(quoted(text)).append("}\n");
        System.out.print(out.append("{\"type\":\"end\",\"values\":" + values + "}\n"));
    }

    /** What main() calls. */
    final void run(String[] words) {
        try {
            if (words.length == 1 && words[0].equals("--describe")) {
                System.out.println(describe());
                System.out.flush();
                return;
            }
            placement = description().placements.get(0);
            for (Parameter p : description().parameters)
                parameters.put(p.name, p.sweep.get(0));
            boolean test = words.length == 1 && words[0].equals("--selftest");
            if (!test)
                parse(words);
            findCpus();
            new Deadline(deadlineNs).start();
            if (test)
                selftest();
            else
                measure();
            System.out.flush();
            Runtime.getRuntime().halt(System.out.checkError() ? 1 : 0); // contexts that never end must not keep it alive
        } catch (Usage wrong) {
            leave(2, wrong.getMessage());
        } catch (Skip reason) {
            leave(77, reason.getMessage());
        } catch (Throwable error) {
            leave(1, error instanceof IllegalStateException ? error.getMessage() : error.toString());
        }
    }
}

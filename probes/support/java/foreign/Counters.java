// SPDX-License-Identifier: Apache-2.0
// What the processor counted in a value, by ../../c/counters.h as a library; of every thread of the machine, its compilers
// and its collector among them. By the foreign function interface, so for Java 22 and later alone: Probe loads it by its
// name, when all values have been timed.

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

final class Counters implements Probe.Counting {
    private static final int MOST = 4; // COUNTERS_MAX
    private static final ValueLayout.OfBoolean TRUTH = ValueLayout.JAVA_BOOLEAN;

    private final Arena arena = Arena.ofShared();
    private final SymbolLookup library;
    private final MemorySegment counted = arena.allocate(MOST * 24, 8);
    private final MethodHandle read;
    private final Map<Integer, String> events = new LinkedHashMap<>();
    private final String scope, absent;

    Counters() throws Throwable {
        try {
            library = SymbolLookup.libraryLookup(Path.of(System.getProperty("steelyard.native"), "libcounters.so"), arena);
        } catch (IllegalArgumentException missing) {
            throw new Probe.Absent("the library that reads counters is not there: " + missing.getMessage());
        }
        MethodHandle open = function("counters_open", TRUTH, ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
        boolean opened = (boolean) open.invokeExact(MemorySegment.NULL, 0);
        absent = text((MemorySegment) function("counters_absent", ValueLayout.ADDRESS).invokeExact());
        if (!opened)
            throw new Probe.Absent(absent);
        scope = text((MemorySegment) function("counters_scope", ValueLayout.ADDRESS).invokeExact());
        MethodHandle name = function("counters_name", ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
        for (int event = 0; event < MOST; event++) {
            MemorySegment said = (MemorySegment) name.invokeExact(event);
            if (!said.equals(MemorySegment.NULL))
                events.put(event, text(said));
        }
        read = function("counters_read", TRUTH, ValueLayout.ADDRESS);
    }

    private MethodHandle function(String name, MemoryLayout result, MemoryLayout... arguments) {
        return Linker.nativeLinker().downcallHandle(library.find(name).orElseThrow(),
            FunctionDescriptor.of(result, arguments));
    }

    private static String text(MemorySegment said) {
        return said.reinterpret(512).getString(0);
    }

    @Override
    public Map<String, long[]> read() {
        try {
            if (!(boolean) read.invokeExact(counted))
                throw new IllegalStateException("cannot read the counters");
        } catch (RuntimeException | Error known) {
            throw known;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
        Map<String, long[]> result = new LinkedHashMap<>();
        for (Map.Entry<Integer, String> event : events.entrySet())
            result.put(event.getValue(), counted.asSlice(event.getKey() * 24L, 24).toArray(ValueLayout.JAVA_LONG));
        return result;
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

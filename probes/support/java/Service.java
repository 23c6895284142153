// SPDX-License-Identifier: Apache-2.0
// Service - the service of serve/ for models in Java: what is asked, the work, the answer. A model says which threads serve.
// probes/support/serve/serve.h says what a request is; the instrument is probes/support/serve/drive.py.
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.ReentrantLock;
import java.util.zip.CRC32;

abstract class Service {
    private static final int LEAST = 27; // bytes of an answer's three numbers
    private static final int MOST_HEAD = 4096;
    private static final long[] MOST = {1_000_000_000, 60_000_000, 1000, 1, 1 << 20};
    private static final byte[] REFUSAL =
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    private final ReentrantLock lock = new ReentrantLock();
    /** The port of the service that requests wait for; a timer where there is none. */
    private final String askedPort = System.getenv("STEELYARD_SERVE_ASKED");
    private double stepsPerNs;

    /** What a client asks for: WORK_NS, WAIT_US, DEPTH, LOCK, ANSWER. */
    private record Request(int[] fields, int crc, int size) {
    }

    /** A connection's own to the service that requests wait for, made for its first question. */
    private final class Asked implements AutoCloseable {
        private Socket socket;

        void waitFor(int us) throws IOException, InterruptedException {
            if (askedPort == null) {
                Thread.sleep(us / 1000, us % 1000 * 1000);
                return;
            }
            if (socket == null) {
                socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(askedPort));
                socket.setTcpNoDelay(true);
            }
            byte[] question = hex(us).getBytes(StandardCharsets.US_ASCII);
            socket.getOutputStream().write(question);
            if (socket.getInputStream().readNBytes(question, 0, question.length) < question.length)
                throw new IOException("the service that requests wait for has ended");
        }

        @Override
        public void close() throws IOException {
            if (socket != null)
                socket.close();
        }
    }

    /** As people call it. */
    abstract String title();

    /** Of what it keeps one for each connection, "thread" or nothing that has a limit. */
    String each() {
        return "";
    }

    /** Makes the thread that serves a connection. */
    abstract ThreadFactory threads();

    private static IllegalArgumentException refused() {
        return new IllegalArgumentException("not a request");
    }

    private static int number(String text, long most) {
        long value = Long.parseLong(text);
        if (value < 0 || value > most)
            throw refused();
        return (int)value;
    }

    private static int endOfHead(byte[] data, int have) {
        for (int at = 0; at + 4 <= have; at++)
            if (data[at] == '\r' && data[at + 1] == '\n' && data[at + 2] == '\r' && data[at + 3] == '\n')
                return at;
        return -1;
    }

    /** The first request; null if it is not whole yet. Throws IllegalArgumentException for what is none. */
    private static Request parse(byte[] data, int have) {
        int end = endOfHead(data, have);
        if (end < 0 && have < MOST_HEAD)
            return null;
        if (end < 0 || end > MOST_HEAD)
            throw refused();
        String[] lines = new String(data, 0, end, StandardCharsets.ISO_8859_1).split("\r\n");
        String[] words = lines[0].split(" ");
        String[] parts = words.length == 3 ? words[1].split("/") : new String[0];
        if (parts.length != 1 + MOST.length || !parts[0].isEmpty() || !words[2].equals("HTTP/1.1"))
            throw refused();
        int[] fields = new int[MOST.length];
        for (int field = 0; field < fields.length; field++)
            fields[field] = number(parts[1 + field], MOST[field]);
        int length = 0;
        for (int line = 1; line < lines.length; line++)
            if (lines[line].regionMatches(true, 0, "content-length:", 0, 15))
                length = number(lines[line].substring(15).strip(), MOST[4]);
        if (fields[2] < 1 || fields[4] < LEAST)
            throw refused();
        if (have < end + 4 + length)
            return null;
        CRC32 crc = new CRC32();
        crc.update(words[1].getBytes(StandardCharsets.ISO_8859_1));
        crc.update(data, end + 4, length);
        return new Request(fields, (int)crc.getValue(), end + 4 + length);
    }

    private static int work(int state, int steps) {
        for (int step = 0; step < steps; step++)
            state = state * 1664525 + 1013904223;
        return state;
    }

    private int deep(Request request, int steps, int depth, Asked asked) throws IOException, InterruptedException {
        if (depth > 1)
            return deep(request, steps, depth - 1, asked) + depth - depth;
        int state = work(request.crc, steps / 2);
        if (request.fields[1] > 0)
            asked.waitFor(request.fields[1]);
        if (request.fields[3] == 0)
            return work(state, steps - steps / 2);
        lock.lock();
        try {
            return work(state, steps - steps / 2);
        } finally {
            lock.unlock();
        }
    }

    private byte[] respond(Request request, Asked asked) throws IOException, InterruptedException {
        int steps = (int)(request.fields[0] * stepsPerNs);
        int state = deep(request, steps, request.fields[2], asked);
        int size = request.fields[4];
        byte[] said = ("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " + size + "\r\n\r\n" + hex(request.crc) + " "
            + hex(steps) + " " + hex(state) + "\n").getBytes(StandardCharsets.US_ASCII);
        byte[] answer = Arrays.copyOf(said, said.length - LEAST + size);
        Arrays.fill(answer, said.length, answer.length, (byte)'.');
        return answer;
    }

    private static String hex(int number) {
        String digits = Integer.toHexString(number);
        return "00000000".substring(digits.length()) + digits;
    }

    private void connection(Closeable held, InputStream in, OutputStream out) {
        try (held; Asked asked = new Asked()) {
            byte[] data = new byte[2048];
            int have = 0;
            while (true) {
                Request request;
                try {
                    request = parse(data, have);
                } catch (IllegalArgumentException none) {
                    out.write(REFUSAL);
                    return;
                }
                if (request != null) {
                    out.write(respond(request, asked));
                    have -= request.size;
                    System.arraycopy(data, request.size, data, 0, have);
                    continue;
                }
                if (have == data.length)
                    data = Arrays.copyOf(data, 2 * data.length);
                int came = in.read(data, have, data.length - have);
                if (came < 0)
                    return;
                have += came;
            }
        } catch (IOException | InterruptedException gone) {
            // The client is gone, or the service ends.
        }
    }

    /** The fastest of many short stretches, after as many for the compiler: whoever takes the CPU away for a while doesn't count. */
    private void calibrate() {
        final int steps = 20_000;
        long shortest = Long.MAX_VALUE;
        int state = 1;
        for (int stretch = 0; stretch < 1500; stretch++) {
            long began = System.nanoTime();
            state = work(state, steps);
            shortest = Math.min(shortest, System.nanoTime() - began);
        }
        if (state == 0)
            System.err.println("an unlikely number");
        stepsPerNs = (double)steps / shortest;
    }

    /** The rest of a model's main; the script that starts it has started the instrument where --serve isn't asked for. */
    final void run(String[] words) throws IOException {
        if (words.length > 0 && words[0].equals("--about")) {
            System.out.println("{\"title\":\"" + title() + "\",\"source\":\"JEP 444\",\"threads\":0,\"each\":\"" + each()
                + "\",\"version\":\"" + System.getProperty("java.version") + "\"}");
            return;
        }
        calibrate();
        if (words[1].contains("/"))
            listenAt(words[1], threads());
        else
            listenOn(Integer.parseInt(words[1]), threads());
    }

    private void listenOn(int port, ThreadFactory threads) throws IOException {
        try (ServerSocket listener = new ServerSocket()) {
            listener.setReuseAddress(true);
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 4096);
            while (true) {
                Socket socket = listener.accept();
                socket.setTcpNoDelay(true);
                InputStream in = socket.getInputStream();
                OutputStream out = socket.getOutputStream();
                threads.newThread(() -> connection(socket, in, out)).start();
            }
        }
    }

    /** Java has UNIX sockets as channels only. */
    private void listenAt(String path, ThreadFactory threads) throws IOException {
        try (ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            listener.bind(UnixDomainSocketAddress.of(path), 4096);
            while (true) {
                SocketChannel channel = listener.accept();
                InputStream in = Channels.newInputStream(channel);
                OutputStream out = Channels.newOutputStream(channel);
                threads.newThread(() -> connection(channel, in, out)).start();
            }
        }
    }
}

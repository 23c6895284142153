// SPDX-License-Identifier: Apache-2.0
// virtual_thread - a virtual thread of Java for each connection, blocking calls.
//
// Known answer: checksum and result of each request.  Limits: as many carriers as there are CPUs.
// Source: JEP 444, the thread-per-request style.
import java.util.concurrent.ThreadFactory;

final class ServeVirtualThread extends Service {
    public static void main(String[] words) throws Exception {
        new ServeVirtualThread().run(words);
    }

    @Override
    String title() {
        return "Java virtual thread a connection";
    }

    @Override
    ThreadFactory threads() {
        return Thread.ofVirtual().factory();
    }
}

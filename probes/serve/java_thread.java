// SPDX-License-Identifier: Apache-2.0
// java_thread - a platform thread of Java for each connection, blocking calls.
//
// Known answer: checksum and result of each request.  Limits: a thread is created for each connection and ends with it.
// Source: JEP 444, the thread-per-request style.
import java.util.concurrent.ThreadFactory;

final class ServeJavaThread extends Service {
    public static void main(String[] words) throws Exception {
        new ServeJavaThread().run(words);
    }

    @Override
    String title() {
        return "Java thread a connection";
    }

    @Override
    String each() {
        return "thread";
    }

    @Override
    ThreadFactory threads() {
        return body -> new Thread(body);
    }
}

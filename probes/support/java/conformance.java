// SPDX-License-Identifier: Apache-2.0
// conformance - what tests/protocol/test_conformance.py holds every support to; in each language the same.
//
// Known answer: the sum of the numbers below `operations`.  `trouble` plants what a support has to find.
import java.util.List;

final class Conformance extends Probe {
    private long batches;

    public static void main(String[] words) {
        new Conformance().run(words);
    }

    @Override
    Description description() {
        return new Description("conformance", "supports", "Does the support of this language keep the protocol?",
            "one addition", "docs/reference/protocol.md", "median", "null/null", 5, List.of("same", "cross", "free"),
            List.of("cpu"), true,
            List.of(new Metric("one", "s", "lower", "wall", "operations", "time of one addition"),
                new Metric("half", "1", "neither", "half", "one", "half of what was given as \"number\"")),
            List.of(Parameter.integer("number", "a number", "B", -2, 9, List.of(3L, 4L), List.of(4L)).curves(List.of("half")),
                Parameter.choice("trouble", "what goes wrong",
                    List.of("none", "more", "caveat", "wrong", "unproven", "unstarted", "idle", "fewer", "slow", "breaks",
                        "fails", "skips"),
                    List.of("none"), List.of("none"))));
    }

    @Override
    void batch(long operations, Value value) throws Exception {
        String elsewhere = System.getenv("CONFORMANCE_TROUBLE"); // for the selftest, which takes no parameters
        String trouble = elsewhere == null ? choice("trouble") : elsewhere;
        long done = operations;
        switch (trouble) {
        case "more" -> done = 2 * operations;
        case "fewer" -> done = operations - 1;
        case "idle" -> done = 0;
        case "slow" -> Thread.sleep(100);
        case "breaks" -> throw new RuntimeException("it went wrong");
        case "fails" -> throw new IllegalStateException("it went wrong");
        case "skips" -> throw new Skip("there is no such thing");
        case "caveat" -> caveat("a \"doubt\" of 1");
        default -> { }
        }
        long sum = 0;
        if (!trouble.equals("unstarted"))
            value.start();
        for (long i = 0; i < done; i++)
            sum += i;
        if (!trouble.equals("unstarted"))
            value.stop();
        value.operations = done;
        value.lanes = 2;
        long checked = sum == done * (done - 1) / 2 ? done : 0;
        if (!trouble.equals("unproven"))
            value.count("checked", trouble.equals("wrong") ? checked - 1 : checked);
        value.count("batches", ++batches);
        value.reading("half", integer("number") / 2.0);
    }
}

package bench;

import java.util.concurrent.ExecutorService;

/** The steps of concurrent work that are measured, each in a loop. */
public interface Work {
    void locks(int calls);

    void permits(int calls) throws InterruptedException;

    void countDowns(int calls);

    void executes(ExecutorService executor, int calls);

    void submits(ExecutorService executor, int calls);
}

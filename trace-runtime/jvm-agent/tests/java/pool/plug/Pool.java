package plug;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** What is handed to it is a task, as only its super class says. */
public class Pool extends ThreadPoolExecutor {
    public Pool() {
        super(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
    }
}

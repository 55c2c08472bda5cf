import dev.anrscope.MethodBeat;
import java.io.RandomAccessFile;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;

/**
 * Main and three threads record events as fast as they can and count them in a shared page of their own: exits, and as each seventh a
 * step of concurrent work.
 */
public final class Counter {
    private static void count(LongBuffer page, int place) {
        long calls = 0;
        while (true) {
            // An exit: open calls would be recorded at the start of each block.
            int method = (int) (calls % 0xFE000) + 1;
            if (calls % 7 == 6) {
                MethodBeat.c(page, null, 8 << 16, method);
            } else {
                MethodBeat.o(method);
            }
            calls++;
            page.put(place, calls);
        }
    }

    public static void main(String[] args) throws Exception {
        LongBuffer page;
        try (RandomAccessFile file = new RandomAccessFile(args[0], "rw")) {
            page =
                    file.getChannel()
                            .map(FileChannel.MapMode.READ_WRITE, 0, 4096)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .asLongBuffer();
        }
        // The recorded main thread is the first to call.
        MethodBeat.i(1);
        MethodBeat.o(1);
        for (int i = 1; i < 4; i++) {
            int place = i;
            Thread thread = new Thread(() -> count(page, place), "counter-" + place);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("running");
        count(page, 0);
    }
}

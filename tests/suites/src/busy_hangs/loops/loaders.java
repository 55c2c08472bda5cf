// Six threads that load in calls of a millisecond each, as main does.
// loop: Gallery.loadAll
// callee: Picture.load
final class Gallery {
    static int loadAll(int seed) {
        for (int n = 0; n < 6; n++) {
            Thread loader = new Thread(() -> BusyTime.keep(loop(0)), "loader-" + n);
            loader.setDaemon(true);
            loader.start();
        }
        int sum = seed;
        for (int n = 0; !BusyTime.over(); n++) {
            sum += Picture.load(n);
        }
        return sum;
    }

    private static int loop(int sum) {
        for (int n = 0; !BusyTime.over(); n++) {
            sum += Picture.load(n);
        }
        return sum;
    }
}

final class Picture {
    static int load(int n) {
        int sum = 0;
        for (int line = 0; line < 20_000; line++) {
            sum += pixel(n, line);
        }
        return sum;
    }

    private static int pixel(int n, int line) {
        return Math.floorMod(n ^ line, 255);
    }
}

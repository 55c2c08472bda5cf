// A loop that calls nothing.
// loop: Hash.mixAll
final class Hash {
    static int mixAll(int seed) {
        int hash = seed;
        while (!BusyTime.up) {
            hash = hash * 31 + 17;
            hash ^= hash >>> 7;
        }
        return hash;
    }
}

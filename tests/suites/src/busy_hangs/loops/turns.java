// Two kinds of work in turn, some milliseconds each: the loop is around both.
// loop: Game.play
// callee: Game.move
final class Game {
    static int play(int seed) {
        int sum = seed;
        for (int n = 0; !BusyTime.over(); n++) {
            sum += move(n) + draw(n);
        }
        return sum;
    }

    private static int move(int n) {
        int sum = 0;
        for (int body = 0; body < 150_000; body++) {
            sum += force(n, body);
        }
        return sum;
    }

    private static int draw(int n) {
        int sum = 0;
        for (int line = 0; line < 40_000; line++) {
            sum += force(n, -line);
        }
        return sum;
    }

    private static int force(int n, int body) {
        return Math.floorMod(n + body, 13);
    }
}

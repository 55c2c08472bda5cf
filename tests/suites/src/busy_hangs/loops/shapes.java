// Polymorphic calls.
// loop: Canvas.drawAll
interface Shape {
    int draw(int n);
}

final class Circle implements Shape {
    @Override
    public int draw(int n) {
        return Math.abs(n) * 3;
    }
}

final class Square implements Shape {
    @Override
    public int draw(int n) {
        return Math.abs(n) * 4;
    }
}

class Line implements Shape {
    @Override
    public int draw(int n) {
        return Math.abs(n);
    }
}

final class Arrow extends Line {
    @Override
    public int draw(int n) {
        return super.draw(n) + Math.min(n, 2);
    }
}

final class Canvas {
    private final Shape[] shapes = {new Circle(), new Square(), new Line(), new Arrow()};

    static int drawAll(int seed) {
        Canvas canvas = new Canvas();
        int sum = seed;
        for (int n = 0; (n & 511) != 0 || !BusyTime.over(); n++) {
            sum += canvas.shapes[n & 3].draw(n);
        }
        return sum;
    }
}

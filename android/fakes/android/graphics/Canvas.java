package android.graphics;

import java.util.ArrayList;
import java.util.List;

/** Records what was drawn, one line each. */
public class Canvas {
    private final List<String> drawn = new ArrayList<String>();

    public List<String> hostDrawn() {
        return drawn;
    }

    public void drawColor(int color) {
        drawn.add("fill " + hex(color));
    }

    public void drawText(String text, float x, float y, Paint paint) {
        drawn.add("text " + hex(paint.getColor()) + " " + at(x, y) + " " + text);
    }

    public void drawRect(float left, float top, float right, float bottom, Paint paint) {
        drawn.add("rect " + hex(paint.getColor()) + " " + at(left, top) + " " + at(right, bottom));
    }

    public void drawLine(float fromX, float fromY, float toX, float toY, Paint paint) {
        String kind = paint.getPathEffect() == null ? "line " : "dashes ";
        drawn.add(kind + hex(paint.getColor()) + " " + at(fromX, fromY) + " " + at(toX, toY));
    }

    private static String hex(int color) {
        return String.format("%08x", color);
    }

    private static String at(float x, float y) {
        return Math.round(x) + "," + Math.round(y);
    }
}

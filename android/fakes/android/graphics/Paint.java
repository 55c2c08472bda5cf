package android.graphics;

public class Paint {
    public static final int ANTI_ALIAS_FLAG = 1;

    private int color = 0xff000000;
    private float textSize = 12;
    private PathEffect effect;

    public Paint() {}

    public Paint(int flags) {}

    public void setColor(int color) {
        this.color = color;
    }

    public int getColor() {
        return color;
    }

    public void setTextSize(float size) {
        textSize = size;
    }

    public float getTextSize() {
        return textSize;
    }

    public void setStrokeWidth(float width) {}

    public PathEffect setPathEffect(PathEffect effect) {
        this.effect = effect;
        return effect;
    }

    public PathEffect getPathEffect() {
        return effect;
    }

    public float measureText(String text) {
        return text.length() * textSize / 2;
    }
}

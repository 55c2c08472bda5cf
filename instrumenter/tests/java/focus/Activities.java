package focus;

import android.app.Activity;

/** Activities that override the focus method in every way. */
public class Activities {
    public static class Base extends Activity {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            Log.add("Base " + hasFocus);
            super.onWindowFocusChanged(hasFocus);
        }
    }

    public static class Leaf extends Base {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            super.onWindowFocusChanged(hasFocus);
            Log.add("Leaf");
        }
    }

    public static class WithoutSuper extends Base {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            Log.add("WithoutSuper");
        }
    }

    public static class WithoutOverride extends Leaf {}

    public static class Sometimes extends WithoutOverride {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            if (hasFocus) {
                super.onWindowFocusChanged(hasFocus);
            } else {
                // Another event for the same window, as far as this class can know.
                Log.add("Sometimes");
            }
        }
    }

    public static class Twice extends Base {
        @Override
        public final void onWindowFocusChanged(boolean hasFocus) {
            super.onWindowFocusChanged(hasFocus);
            Runnable again = () -> super.onWindowFocusChanged(!hasFocus);
            again.run();
        }
    }

    public static class Trivial extends Activity {
        boolean focus;

        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            focus = hasFocus;
        }
    }

    public static class Throwing extends Activity {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            throw new IllegalStateException("thrown");
        }
    }

    public abstract static class AbstractBase extends Activity {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            Log.add("AbstractBase");
            super.onWindowFocusChanged(hasFocus);
        }
    }

    public static class OfAbstract extends AbstractBase {}

    public abstract static class AbstractMethod extends Activity {
        @Override
        public abstract void onWindowFocusChanged(boolean hasFocus);
    }

    public static class OfAbstractMethod extends AbstractMethod {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            Log.add("OfAbstractMethod");
        }
    }

    public static class Empty extends Activity {}

    public static class OfEmpty extends Empty {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            Log.add("OfEmpty");
            super.onWindowFocusChanged(hasFocus);
        }
    }

    public static class BelowMiddle extends focuslib.Middle {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            Log.add("BelowMiddle");
            super.onWindowFocusChanged(hasFocus);
        }
    }

    public static class BelowMiddleSilent extends focuslib.Middle {
        @Override
        public void onWindowFocusChanged(boolean hasFocus) {
            Log.add("BelowMiddleSilent");
        }
    }

    public static class BelowMiddleEmpty extends focuslib.Middle {}

    public static class BelowSealed extends focuslib.Sealed {}

    /** Has the method, but is not an activity. */
    public static class View {
        public void onWindowFocusChanged(boolean hasFocus) {
            Log.add("View");
        }
    }

    static final Activity[] ALL = {
        new Base(), new Leaf(), new WithoutSuper(), new WithoutOverride(), new Sometimes(), new Twice(),
        new Trivial(), new Throwing(), new OfAbstract(), new OfAbstractMethod(), new Empty(), new OfEmpty(),
        new BelowMiddle(), new BelowMiddleSilent(), new BelowMiddleEmpty(),
    };

    public static void main(String[] arguments) throws Exception {
        for (Activity activity : ALL) {
            for (boolean hasFocus : new boolean[] {true, false}) {
                Log.add("> " + activity.getClass().getSimpleName());
                try {
                    activity.onWindowFocusChanged(hasFocus);
                } catch (IllegalStateException e) {
                    Log.add(e.getMessage());
                }
            }
        }
        new View().onWindowFocusChanged(true);
        System.out.print(Log.TEXT);
        if (arguments.length > 0) {
            java.nio.file.Files.write(java.nio.file.Paths.get(arguments[0]), Log.EVENTS);
        }
    }
}

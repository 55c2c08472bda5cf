package marked;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Classes and methods with annotations, for rules about annotations. */
public class Marked {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Seen {
        String[] names() default {};

        Level level() default @Level(3);

        Class<?> type() default Object.class;
    }

    @interface Unseen {}

    @interface Level {
        int value();
    }

    @Seen(names = {"a", "b"}, level = @Level(1))
    @Unseen
    void both() {
        System.out.println();
    }

    @Unseen
    int getter() {
        return 1;
    }

    void none() {
        System.out.println();
    }

    @Seen(type = int.class)
    static class Whole {
        void inside() {
            System.out.println();
        }
    }
}

package plug;

/** Loaded by a loader of its own. */
public class Work {
    public static String main(String how) {
        return Inner.greet(how) + " by " + Work.class.getClassLoader().getClass().getName();
    }

    /** Loaded after its loader was asked. */
    static class Inner extends Base {
        static String greet(String how) {
            return greeting(new StringBuilder(how));
        }
    }

    static class Base {
        static synchronized String greeting(StringBuilder how) {
            return how.reverse().append('!').toString();
        }
    }
}

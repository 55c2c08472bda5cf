package android;

/** The framework's resources in use, with AOSP's ids (core/res/res/values/public-final.xml, all levels). */
public final class R {
    public static final class drawable {
        public static final int ic_dialog_alert = 0x01080027;
    }
}

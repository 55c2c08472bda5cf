package android.app;

import android.content.Context;
import android.os.Build;

/**
 * What a builder was given (core/java/android/app/Notification.java, API 21 to 35). A test reads the fields.
 */
public class Notification {
    public String hostChannel;
    public int hostIcon;
    public CharSequence hostTitle;
    public CharSequence hostText;
    public CharSequence hostSubText;
    public CharSequence hostBigText;
    public CharSequence tickerText;
    public PendingIntent contentIntent;
    public String hostGroup;
    public int number;
    public long when;
    public boolean hostOnlyAlertOnce;

    public abstract static class Style {}

    public static class BigTextStyle extends Style {
        private CharSequence text;

        public BigTextStyle bigText(CharSequence text) {
            this.text = text;
            return this;
        }
    }

    public static class Builder {
        private final Notification built = new Notification();

        public Builder(Context context) {}

        /** API 26. */
        public Builder(Context context, String channel) {
            if (Build.VERSION.SDK_INT < 26) {
                throw new NoSuchMethodError("Notification.Builder.<init>");
            }
            built.hostChannel = channel;
        }

        public Builder setSmallIcon(int icon) {
            built.hostIcon = icon;
            return this;
        }

        public Builder setContentTitle(CharSequence title) {
            built.hostTitle = title;
            return this;
        }

        public Builder setContentText(CharSequence text) {
            built.hostText = text;
            return this;
        }

        public Builder setSubText(CharSequence text) {
            built.hostSubText = text;
            return this;
        }

        public Builder setNumber(int number) {
            built.number = number;
            return this;
        }

        public Builder setStyle(Style style) {
            built.hostBigText = ((BigTextStyle) style).text;
            return this;
        }

        public Builder setTicker(CharSequence text) {
            built.tickerText = text;
            return this;
        }

        public Builder setWhen(long when) {
            built.when = when;
            return this;
        }

        public Builder setShowWhen(boolean show) {
            return this;
        }

        public Builder setContentIntent(PendingIntent intent) {
            built.contentIntent = intent;
            return this;
        }

        public Builder setGroup(String key) {
            built.hostGroup = key;
            return this;
        }

        public Builder setOnlyAlertOnce(boolean once) {
            built.hostOnlyAlertOnce = once;
            return this;
        }

        public Builder setLocalOnly(boolean local) {
            return this;
        }

        public Builder setAutoCancel(boolean cancel) {
            return this;
        }

        public Notification build() {
            return built;
        }
    }
}

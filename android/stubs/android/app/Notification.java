package android.app;

import android.content.Context;

/** The methods in use, including those added in API 20 and 26. Signatures only. */
public class Notification {
    public abstract static class Style {}

    public static class BigTextStyle extends Style {
        public BigTextStyle() {}

        public BigTextStyle bigText(CharSequence text) {
            return this;
        }
    }

    public static class Builder {
        public Builder(Context context) {}

        /** API 26. */
        public Builder(Context context, String channelId) {}

        public Builder setSmallIcon(int icon) {
            return this;
        }

        public Builder setContentTitle(CharSequence title) {
            return this;
        }

        public Builder setContentText(CharSequence text) {
            return this;
        }

        public Builder setSubText(CharSequence text) {
            return this;
        }

        public Builder setNumber(int number) {
            return this;
        }

        public Builder setStyle(Style style) {
            return this;
        }

        public Builder setTicker(CharSequence text) {
            return this;
        }

        public Builder setWhen(long when) {
            return this;
        }

        public Builder setShowWhen(boolean show) {
            return this;
        }

        public Builder setContentIntent(PendingIntent intent) {
            return this;
        }

        /** API 20. */
        public Builder setGroup(String key) {
            return this;
        }

        public Builder setOnlyAlertOnce(boolean once) {
            return this;
        }

        /** API 20. */
        public Builder setLocalOnly(boolean local) {
            return this;
        }

        public Builder setAutoCancel(boolean cancel) {
            return this;
        }

        public Notification build() {
            return null;
        }
    }
}

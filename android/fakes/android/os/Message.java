package android.os;

public final class Message {
    public int what;
    public int arg1;
    public int arg2;
    public Object obj;

    long when;
    boolean inUse;
    boolean asynchronous;
    Handler target;
    Runnable callback;
    Message next;

    private static Message pool;
    private static int pooled;

    public Message() {}

    public static Message obtain() {
        synchronized (Message.class) {
            if (pool != null) {
                Message taken = pool;
                pool = taken.next;
                taken.next = null;
                pooled--;
                return taken;
            }
        }
        return new Message();
    }

    public static Message obtain(Handler target) {
        Message message = obtain();
        message.target = target;
        return message;
    }

    public static Message obtain(Handler target, Runnable callback) {
        Message message = obtain(target);
        message.callback = callback;
        return message;
    }

    public static Message obtain(Handler target, int what) {
        Message message = obtain(target);
        message.what = what;
        return message;
    }

    public static Message obtain(Handler target, int what, Object obj) {
        Message message = obtain(target, what);
        message.obj = obj;
        return message;
    }

    void recycleUnchecked() {
        what = arg1 = arg2 = 0;
        obj = null;
        when = 0;
        inUse = false;
        asynchronous = false;
        target = null;
        callback = null;
        synchronized (Message.class) {
            if (pooled < 50) {
                next = pool;
                pool = this;
                pooled++;
            }
        }
    }

    public long getWhen() {
        return when;
    }

    public Handler getTarget() {
        return target;
    }

    public Runnable getCallback() {
        return callback;
    }

    public void setTarget(Handler target) {
        this.target = target;
    }

    public void sendToTarget() {
        target.sendMessage(this);
    }

    public boolean isAsynchronous() {
        return asynchronous;
    }

    public void setAsynchronous(boolean asynchronous) {
        this.asynchronous = asynchronous;
    }

    @Override
    public String toString() {
        return toString(SystemClock.uptimeMillis());
    }

    String toString(long now) {
        StringBuilder text = new StringBuilder("{ when=");
        long ahead = when - now;
        text.append(ahead > 0 ? "+" : "").append(ahead).append("ms");
        if (target == null) {
            return text.append(" barrier=").append(arg1).append(" }").toString();
        }
        if (callback != null) {
            text.append(" callback=").append(callback.getClass().getName());
        } else {
            text.append(" what=").append(what);
        }
        if (arg1 != 0) {
            text.append(" arg1=").append(arg1);
        }
        if (arg2 != 0) {
            text.append(" arg2=").append(arg2);
        }
        if (obj != null) {
            text.append(" obj=").append(obj);
        }
        return text.append(" target=").append(target.getClass().getName()).append(" }").toString();
    }
}

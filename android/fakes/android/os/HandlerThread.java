package android.os;

public class HandlerThread extends Thread {
    private Looper looper;

    public HandlerThread(String name) {
        super(name);
    }

    public HandlerThread(String name, int priority) {
        super(name);
    }

    protected void onLooperPrepared() {}

    @Override
    public void run() {
        Looper.prepare();
        synchronized (this) {
            looper = Looper.myLooper();
            notifyAll();
        }
        onLooperPrepared();
        Looper.loop();
    }

    public Looper getLooper() {
        synchronized (this) {
            while (isAlive() && looper == null) {
                try {
                    wait();
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                    return null;
                }
            }
            return looper;
        }
    }

    public boolean quit() {
        getLooper().quit();
        return true;
    }

    public boolean quitSafely() {
        getLooper().quitSafely();
        return true;
    }
}

package dev.anrscope;

import android.os.Handler;

/** An app that uses a person's name in every text it can set; {@code words[0]} is the option. */
public final class AppRedact {
    private AppRedact() {}

    public static void main(String[] words) {
        AppScript script = new AppScript(false, () -> {});
        Anrscope.install(script.app, new Config.Builder().redact(words[0].equals("1")).build());
        AppScript.Home home = new AppScript.Home();
        script.show(1, home);
        script.then(
                1,
                () -> {
                    Anrscope.mark("alice opened the basket");
                    Anrscope.mark("alice opened the basket");
                    Anrscope.counter("alice's basket", 2.5);
                    Anrscope.setScene("basket of alice");
                    new Handler()
                            .post(
                                    new Runnable() {
                                        @Override
                                        public void run() {}

                                        @Override
                                        public String toString() {
                                            return "alice is greeted";
                                        }
                                    });
                });
        script.then(20, () -> Anrscope.setScene(null));
        script.run(50);
    }
}

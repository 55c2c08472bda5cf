// Sorting with the app's comparator.
// loop: Names.sortAll
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

final class Names {
    private static final class ByName implements Comparator<String> {
        @Override
        public int compare(String one, String other) {
            return key(one).compareTo(key(other));
        }

        private String key(String name) {
            return name.substring(1);
        }
    }

    static int sortAll(int seed) {
        Random random = new Random(seed);
        List<String> names = new ArrayList<>();
        for (int n = 0; n < 5_000; n++) {
            names.add("n" + random.nextInt(1_000_000));
        }
        int sum = 0;
        while (!BusyTime.over()) {
            Collections.shuffle(names, random);
            names.sort(new ByName());
            sum += names.get(0).length();
        }
        return sum;
    }
}

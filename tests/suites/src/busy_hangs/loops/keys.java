// A map whose keys are of an app class.
// loop: Stock.count
import java.util.HashMap;
import java.util.Map;

final class Stock {
    private static final class Key {
        private final String shop;
        private final int article;

        Key(String shop, int article) {
            this.shop = shop;
            this.article = article;
        }

        @Override
        public int hashCode() {
            return shop.hashCode() * 31 + Integer.hashCode(article);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && same((Key) other);
        }

        private boolean same(Key other) {
            return article == other.article && shop.equals(other.shop);
        }
    }

    static int count(int seed) {
        Map<Key, Integer> stock = new HashMap<>();
        for (int n = 0; (n & 255) != 0 || !BusyTime.over(); n++) {
            stock.merge(new Key("shop " + (n & 7), n & 1023), 1, Integer::sum);
        }
        return stock.size() + seed;
    }
}

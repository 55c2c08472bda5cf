package shop;

/** A program with something to trace. */
public final class Shop {
    private int sold;

    public static void main(String[] arguments) throws InterruptedException {
        Shop shop = new Shop();
        for (int n = 0; n < 3; n++) {
            shop.sell(n);
        }
        System.out.println("sold " + shop.sold);
    }

    private void sell(int count) throws InterruptedException {
        for (int n = 0; n <= count; n++) {
            Thread.sleep(1);
            sold++;
        }
    }
}

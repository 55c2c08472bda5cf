/** Spends its time in a small method that is called often, and sometimes in a slow one. */
public class Busy {
    public static void main(String[] arguments) throws InterruptedException {
        long sum = 0;
        for (int round = 0; round < 3; round++) {
            for (int n = 0; n < 40_000; n++) {
                sum += digits(n);
            }
            sum += slow();
        }
        System.out.println(sum);
    }

    /** Has a loop, so that only a run can show that it is short. */
    static int digits(int number) {
        int digits = 0;
        while (number > 0) {
            number /= 10;
            digits++;
        }
        return Math.max(digits, 1);
    }

    static int slow() throws InterruptedException {
        Thread.sleep(30);
        return 1;
    }
}

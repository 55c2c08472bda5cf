// A repeated walk over a tree of objects.
// loop: Folders.sumAll
// callee: Folders$Node.sum
final class Folders {
    static final class Node {
        private final Node left;
        private final Node right;
        private final int size;

        Node(int depth) {
            size = depth;
            left = depth == 0 ? null : new Node(depth - 1);
            right = depth == 0 ? null : new Node(depth - 1);
        }

        int sum() {
            return size + (left == null ? 0 : left.sum() + right.sum());
        }
    }

    static int sumAll(int seed) {
        Node root = new Node(12);
        int sum = seed;
        while (!BusyTime.over()) {
            sum += root.sum();
        }
        return sum;
    }
}

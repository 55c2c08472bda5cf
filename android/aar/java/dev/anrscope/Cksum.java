package dev.anrscope;

import java.io.IOException;
import java.io.InputStream;

/** The checksum of POSIX's {@code cksum}: a 32-bit CRC over the bytes and their count. */
final class Cksum {
    /** The polynomial, from the highest bit on (POSIX.1-2017, cksum). */
    private static final int POLYNOMIAL = 0x04C11DB7;

    private static final int[] TABLE = table();

    private int crc;
    private long length;

    private static int[] table() {
        int[] table = new int[256];
        for (int n = 0; n < 256; n++) {
            int crc = n << 24;
            for (int bit = 0; bit < 8; bit++) {
                crc = crc << 1 ^ (crc < 0 ? POLYNOMIAL : 0);
            }
            table[n] = crc;
        }
        return table;
    }

    void add(byte[] bytes, int count) {
        for (int at = 0; at < count; at++) {
            step(bytes[at]);
        }
        length += count;
    }

    private void step(int one) {
        crc = crc << 8 ^ TABLE[(crc >>> 24 ^ one) & 0xFF];
    }

    /** Number of bytes added. */
    long length() {
        return length;
    }

    /** The checksum, 0 to 2^32 - 1. Add nothing after this call. */
    long sum() {
        for (long left = length; left != 0; left >>>= 8) {
            step((int) left);
        }
        return ~crc & 0xFFFFFFFFL;
    }

    /** Checksum of the rest of a stream. */
    static Cksum of(InputStream in) throws IOException {
        Cksum sum = new Cksum();
        byte[] some = new byte[64 << 10];
        for (int read; (read = in.read(some)) > 0; ) {
            sum.add(some, read);
        }
        return sum;
    }
}

package tools;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.ConcurrentHashMap;

/** Adds the lines of a file to a map, one after the other, and prints them in the map's order. */
public class HashOrder {
    public static void main(String[] arguments) throws Exception {
        ConcurrentHashMap<String, String> map = new ConcurrentHashMap<>();
        for (String line : Files.readAllLines(Paths.get(arguments[0]))) {
            map.put(line, line);
        }
        StringBuilder out = new StringBuilder();
        map.values().forEach(line -> out.append(line).append('\n'));
        System.out.print(out);
    }
}

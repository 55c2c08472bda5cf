"""Writes a C program of many short nested calls, for a function tracer to record: calls.py FUNCTIONS > calls.c"""

import sys

functions = int(sys.argv[1])
names = [f"com_example_app_feature{i % 7}_Klass{i % 60}_method{i}" for i in range(functions)]
print("""#include <stdlib.h>
static unsigned long seed = 7;
static long left;
static unsigned long below(unsigned long n) __attribute__((no_instrument_function));
static unsigned long below(unsigned long n)
{
    seed = seed * 6364136223846793005UL + 1442695040888963407UL;
    return (seed >> 33) % n;
}""")
print(f"static void (*table[{functions}])(int);")
for name in names:
    print(f"__attribute__((noinline)) static void {name}(int depth)")
    print("{")
    print(f"    while (left > 0 && depth < 30 && below(2)) {{ left--; table[below({functions})](depth + 1); }}")
    print("}")
print("int main(int count, char **words)")
print("{")
print("    left = count > 1 ? atol(words[1]) : 1000;")
for i, name in enumerate(names):
    print(f"    table[{i}] = {name};")
print(f"    while (left > 0) {{ left--; table[below({functions})](0); }}")
print("    return 0;")
print("}")

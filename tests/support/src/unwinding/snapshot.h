// What a generated program calls to record its own call chain, and to capture its own stack.
//
// Each generated function stores its number and its return address when it is entered, and removes them when it leaves. The list is
// the truth that an unwinder is compared with. Functions are named f_NUMBER, and main is number 0.
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <alloca.h>
#include <errno.h>
#include <poll.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

// Entries that are no functions: frames of libraries follow, one or more; none or more; a signal interrupted the next one, at this address.
#define TR_LIBRARY (1ull << 32)
#define TR_MAYBE (2ull << 32)
#define TR_SIGNAL (3ull << 32)

struct tr_entry {
    uint64_t id;
    uint64_t address;
};
struct tr_large {
    long words[9];
};

extern volatile uint32_t tr_depth;
extern volatile struct tr_entry tr_entries[1024];
// How the chain ends: see tr_leaf.
extern volatile int tr_kind;
// A signal may interrupt the chain anywhere: no recursion and no exceptions, which make the innermost function ambiguous.
extern volatile int tr_anywhere;
extern volatile int tr_captured;
// The chain runs in a handler of a signal that may have interrupted the allocator.
extern volatile int tr_in_handler;
// The next function of the chain, where one cannot pass it: a comparator and a signal handler find it here.
extern volatile int tr_left;
extern volatile int tr_descend;
extern long (*volatile tr_next)(int, long);
extern volatile uint64_t tr_state;
extern volatile long tr_sink;
extern int tr_pipe[2];
extern sem_t tr_semaphore;
extern volatile int tr_futex;
extern volatile int *volatile tr_protected;
extern int tr_signal;

void tr_arm(int signal, long nanoseconds);
// For Rust, which has no macros of these.
long f_1000(int left, long a);
void tr_raise_next(void);

// What the generated part has.
long f_1(int left, long a);

#ifdef __cplusplus
}
#endif

#define TR_INLINE static inline __attribute__((always_inline, unused))
#define TR_NOINLINE __attribute__((noinline, noclone, used))

TR_INLINE void tr_push(uint64_t id, void *address) {
    uint32_t depth = tr_depth;
    tr_entries[depth].id = id;
    tr_entries[depth].address = (uint64_t)(uintptr_t)address;
    __asm__ volatile("" ::: "memory");
    tr_depth = depth + 1;
}
TR_INLINE void tr_pop(void) {
    __asm__ volatile("" ::: "memory");
    tr_depth = tr_depth - 1;
}
#define TR_ENTER(ID) tr_push(ID, __builtin_return_address(0))

TR_INLINE uint32_t tr_random(void) {
    uint64_t x = tr_state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    tr_state = x;
    return (uint32_t)(x >> 24);
}
// One of the alternatives; of the first ones only while a signal may interrupt anywhere.
TR_INLINE uint32_t tr_choose(uint32_t safe, uint32_t all) { return (tr_random() & 0xffff) % (tr_anywhere ? safe : all); }

// The end of a chain, in the function that calls it.
TR_INLINE long tr_leaf(void) {
    int before = tr_captured;
    switch (tr_kind) {
    case 0:
        raise(tr_signal);
        break;
    case 1:
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), tr_signal);
        break;
    case 2: {
        char byte;
        tr_arm(tr_signal, 200000);
        while (read(tr_pipe[0], &byte, 1) != 1) {
        }
        break;
    }
    case 3: {
        struct timespec time = {0, 3000000};
        tr_arm(tr_signal, 200000);
        nanosleep(&time, 0);
        break;
    }
    case 4:
        tr_futex = 0;
        tr_arm(tr_signal, 200000);
        while (tr_captured == before)
            syscall(SYS_futex, &tr_futex, 128, 0, 0, 0, 0);
        break;
    case 5:
        tr_arm(tr_signal, 200000);
        while (tr_captured == before)
            sem_wait(&tr_semaphore);
        break;
    case 6: {
        struct pollfd poll_fd = {tr_pipe[0], POLLIN, 0};
        tr_arm(tr_signal, 200000);
        poll(&poll_fd, 1, 3);
        break;
    }
    case 7: // The handler makes the page readable.
        tr_sink += *tr_protected;
        break;
    case 8:
        tr_arm(tr_signal, 30000 + tr_random() % 60000);
        while (tr_captured == before)
            tr_sink += tr_random();
        break;
    default: // The signal is under way.
        tr_sink += tr_random();
    }
    return tr_sink;
}

// A little work, in the function itself and in libraries.
TR_INLINE long tr_work(long a, char *memory, int size) {
    switch (tr_random() % 8) {
    case 0:
        memset(memory, (int)a, (size_t)size);
        break;
    case 1:
        a += snprintf(memory, (size_t)size, "%ld %d", a, size);
        break;
    case 2:
        a += (long)strtol("12345", 0, 10) + (long)strtod("1.25e3", 0);
        break;
    case 3: {
        void *volatile block = tr_in_handler ? 0 : malloc((size_t)size);
        free(block);
        break;
    }
    default:
        for (int i = 0; i < size && i < 40; i++)
            memory[i] = (char)(memory[i] + a * i);
    }
    return a + memory[0] + memory[size - 1];
}

#endif

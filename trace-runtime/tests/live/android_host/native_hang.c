/* A library in which a thread hangs: it computes, sleeps, or waits for a mutex that another thread holds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "anrscope.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int held;
static long hold_ms;

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* The clock of the captures. */
static long long boottime_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) void hang_spin(long ms) {
    volatile unsigned long sum = 0;
    long long until = now_ms() + ms;
    while (now_ms() < until)
        for (int i = 0; i < 5000000; i++) sum += i;
}

__attribute__((noinline)) void hang_sleep(long ms) { sleep_ms(ms); }

static void *holder(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    held = 1;
    hang_spin(hold_ms);
    pthread_mutex_unlock(&lock);
    return NULL;
}

__attribute__((noinline)) void hang_mutex(long ms) {
    pthread_t thread;
    hold_ms = ms;
    pthread_create(&thread, NULL, holder, NULL);
    while (!held) sleep_ms(1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

long long Java_dev_anrscope_NativeHang_stuck(void *env, void *class, int how, long long ms) {
    (void)env;
    (void)class;
    long long from = now_ms(), began = boottime_ns();
    if (how == 0) hang_spin(ms);
    if (how == 1) hang_sleep(ms);
    if (how == 2) hang_mutex(ms);
    dprintf(STDOUT_FILENO, "inside %lld %lld\n", began, boottime_ns());
    return now_ms() - from;
}

int Java_dev_anrscope_NativeHang_game(void *env, void *class, long long ms) {
    (void)env;
    (void)class;
    void *library = dlopen(getenv("ANRSCOPE_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
    if (!library) return -1;
    __typeof__(anrscope_watch) *watch = (__typeof__(anrscope_watch) *)dlsym(library, "anrscope_watch");
    __typeof__(anrscope_beat) *beat = (__typeof__(anrscope_beat) *)dlsym(library, "anrscope_beat");
    if (!watch || !beat) return -2;
    int watched = watch(200);
    for (int i = 0; i < 10; i++) {
        beat();
        sleep_ms(20);
    }
    hang_sleep(ms);
    beat();
    return watched;
}

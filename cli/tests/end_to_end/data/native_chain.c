/* The library in which dev.anrscope.NativeChain stalls. chain.inc is generated: chains of functions, the outer one of which ends in
 * up(), and the inner one in a function that does not come back for a while. Compiled as C or as C++. */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <jni.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "anrscope.h"

/* A function of its own: not inlined, cloned, or called with fewer arguments. */
#define ALONE __attribute__((noipa))
/* Code that stays behind a call: the call is no jump. */
#define AFTER __asm__ volatile("" ::: "memory")

#ifdef __cplusplus
#define TABLE(env) (env)->functions
#define EXPORTED extern "C" __attribute__((visibility("default")))
#else
#define TABLE(env) (*(env))
#define EXPORTED __attribute__((visibility("default")))
#endif

static volatile int stop;
static int pipes[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
static JNIEnv *environment;
static jclass class_of_main;
static jint at_of_route;

static long boottime(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void sleep_ms(long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* Ends the wait or the computation of the other thread. */
static void *ender(void *ms) {
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&ready);
    sleep_ms((long)ms);
    stop = 1;
    pthread_mutex_unlock(&lock);
    if (write(pipes[1], "x", 1) != 1) abort();
    return NULL;
}

#ifdef __cplusplus
namespace chain {
#endif

ALONE long leaf_compute(long ms) {
    unsigned long sum = (unsigned long)ms;
    while (!stop) sum = sum * 31 + 7;
    return (long)sum;
}

ALONE long leaf_read(long ms) {
    char byte;
    long length = read(pipes[0], &byte, 1);
    AFTER;
    return length + ms;
}

ALONE long leaf_mutex(long ms) {
    pthread_mutex_lock(&lock);
    AFTER;
    pthread_mutex_unlock(&lock);
    AFTER;
    return ms;
}

ALONE long leaf_sleep(long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&left, &left);
    AFTER;
    return ms;
}

ALONE long leaf_poll(long ms) {
    int poll = epoll_create1(0);
    struct epoll_event event;
    long found = epoll_wait(poll, &event, 1, (int)ms);
    AFTER;
    close(poll);
    return found;
}

ALONE long up(long ms) {
    jmethodID back = TABLE(environment)->GetStaticMethodID(environment, class_of_main, "back", "(IJ)J");
    long result = TABLE(environment)->CallStaticLongMethod(environment, class_of_main, back, at_of_route, (jlong)ms);
    AFTER;
    return result;
}

#include "chain.inc"

/* Two mutexes, which two threads lock in different orders. */
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER, frame_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int cache_held, frame_held;

ALONE void decode_frame(void) {
    pthread_mutex_lock(&frame_lock);
    frame_held = 1;
    while (!cache_held) sleep_ms(1);
    pthread_mutex_lock(&cache_lock);
    AFTER;
}

ALONE void evict_cache(void) {
    pthread_mutex_lock(&cache_lock);
    cache_held = 1;
    while (!frame_held) sleep_ms(1);
    pthread_mutex_lock(&frame_lock);
    AFTER;
}

ALONE long run_inner(long ms) { return INNER(ms) + 1; }

ALONE long stuck_for(long ms) {
    pthread_t thread;
    if (ms < 0) return 0;
    stop = 0;
    if (pipe(pipes) != 0) abort();
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&thread, NULL, ender, (void *)ms);
    pthread_barrier_wait(&ready);
    dprintf(1, "began %ld\n", boottime());
    long result = run_inner(ms);
    pthread_join(thread, NULL);
    close(pipes[0]);
    close(pipes[1]);
    return result;
}

ALONE long run_outer(long ms) { return OUTER(ms) + 1; }

#ifdef __cplusplus
}
using namespace chain;
#endif

EXPORTED jlong Java_dev_anrscope_NativeChain_stuck(JNIEnv *env, jclass cls, jlong ms) {
    (void)env;
    (void)cls;
    return stuck_for(ms) + 1;
}

EXPORTED jlong Java_dev_anrscope_NativeChain_through(JNIEnv *env, jclass cls, jint at, jlong ms) {
    environment = env;
    class_of_main = cls;
    at_of_route = at;
    return run_outer(ms) + 1;
}

EXPORTED void Java_dev_anrscope_NativeChain_lockBoth(JNIEnv *env, jclass cls, jboolean is_main) {
    (void)env;
    (void)cls;
    if (is_main) decode_frame();
    else evict_cache();
    AFTER;
}

static __typeof__(anrscope_watch) *watch_this;
static __typeof__(anrscope_beat) *beat;
static volatile int watched = -1;
static int is_deadlock;

static void *render(void *ms) {
    pthread_setname_np(pthread_self(), "Render");
    int answer = watch_this(300);
    for (int i = 0; i < 20; i++) {
        beat();
        sleep_ms(20);
    }
    watched = answer;
    if (is_deadlock) decode_frame();
    else run_inner((long)ms);
    beat();
    return NULL;
}

static void *physics(void *unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "Physics");
    evict_cache();
    return NULL;
}

EXPORTED jint Java_dev_anrscope_NativeChain_startNative(JNIEnv *env, jclass cls, jboolean deadlock, jlong ms) {
    (void)env;
    (void)cls;
    void *library = dlopen(getenv("ANRSCOPE_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
    if (!library) return -1;
    watch_this = (__typeof__(anrscope_watch) *)dlsym(library, "anrscope_watch");
    beat = (__typeof__(anrscope_beat) *)dlsym(library, "anrscope_beat");
    if (!watch_this || !beat) return -2;
    is_deadlock = deadlock;
    stop = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, render, (void *)(long)ms);
    if (deadlock) pthread_create(&thread, NULL, physics, NULL);
    while (watched < 0) sleep_ms(1);
    return watched;
}

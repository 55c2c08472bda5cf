/* Heartbeats for native threads of an app with anrscope: a game's, Dart's or a JavaScript engine's.
 *
 * A watched thread that does not call anrscope_beat() within its limit is recorded: a notice, and its native stack if the option
 * native_stacks is on. Nothing is missed while the app is in the background.
 *
 * Link with libanrscope.so, or look the functions up with dlsym(RTLD_DEFAULT, "anrscope_watch").
 */
#ifndef ANRSCOPE_H
#define ANRSCOPE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Watches the calling thread, which must beat at least once in limit_ms (100 to 600,000). This call is the first beat. A thread that is watched
 * already gets the new limit. Returns 1, or 0 if nothing is recorded or 16 threads are watched. */
int anrscope_watch(uint32_t limit_ms);

/* The calling thread's heartbeat: one store. Does nothing on a thread that is not watched. */
void anrscope_beat(void);

/* Stops watching the calling thread. A thread that ends need not call it. */
void anrscope_unwatch(void);

#ifdef __cplusplus
}
#endif

#endif

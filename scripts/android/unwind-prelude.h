/* Read before each file of LLVM's libunwind, which is compiled against musl's headers but runs on bionic. */
#ifndef __ASSEMBLER__
#include <stdint.h>
#include <stdio.h>

/* libunwind prints to stderr before it aborts; libc exports that only from API 23 on: it aborts silently. */
#undef stderr
#define stderr ((FILE *)0)
#define fprintf(...) ((void)0)
#define fflush(...) ((void)0)

/* In bionic's link.h: the table of unwind entries (.ARM.exidx) that covers an address. 32-bit ARM only. */
#ifdef __arm__
typedef uintptr_t _Unwind_Ptr;
#ifdef __cplusplus
extern "C"
#endif
_Unwind_Ptr dl_unwind_find_exidx(_Unwind_Ptr address, int *entries);
#endif
#endif

/* The parts that the linker expects beside the program's own objects, and an NDK has as crtbegin: in every library
 * and program the handle by which libc tells them apart, atexit() on top of it (no 64-bit libc exports that name),
 * and the call that drops their exit handlers when they are unloaded. With -DPROGRAM also the first instructions
 * of a program, which pass the kernel's stack to libc. */
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

int __cxa_atexit(void (*call)(void *), void *argument, void *handle);

__attribute__((visibility("hidden"))) int atexit(void (*call)(void)) {
    return __cxa_atexit((void (*)(void *))call, 0, &__dso_handle);
}

#ifndef PROGRAM
void __cxa_finalize(void *handle);

__attribute__((destructor)) static void unloaded(void) {
    __cxa_finalize(&__dso_handle);
}
#else
typedef void hook(void);
/* All three lists are absent: the dynamic linker runs those of DT_INIT_ARRAY and DT_FINI_ARRAY. */
struct hooks {
    hook **before, **at_start, **at_end;
};
int main(int count, char **words, char **environment);
__attribute__((noreturn)) void __libc_init(
    void *stack, void (*unused)(void), int (*program)(int, char **, char **), const struct hooks *hooks);

__attribute__((used, noreturn, visibility("hidden"))) void anrscope_start(void *stack) {
    static const struct hooks hooks;
    __libc_init(stack, 0, main, &hooks);
}

#if defined(__aarch64__)
__asm__(".text\n.globl _start\n.type _start, %function\n_start:\n"
        "    mov x0, sp\n    mov x29, xzr\n    mov x30, xzr\n    b anrscope_start\n");
#elif defined(__arm__)
__asm__(".text\n.arm\n.globl _start\n.type _start, %function\n_start:\n"
        "    mov r0, sp\n    mov r11, #0\n    mov lr, #0\n    bic sp, sp, #7\n    bl anrscope_start\n");
#elif defined(__x86_64__)
__asm__(".text\n.globl _start\n.type _start, @function\n_start:\n"
        "    mov %rsp, %rdi\n    xor %ebp, %ebp\n    and $-16, %rsp\n    call anrscope_start\n");
#endif
#endif

// Runs chains of a generated program, captures the stack at the end of each, and stores the captures with the chains.
//
//   PROGRAM OUT SEED COUNT
//
// OUT: a byte of kind, four bytes of length, and the payload, again and again. 1: NativeModules. 2: NativeStack. 3: the truth of that
// stack, pairs of 64 bits (see snapshot.h), innermost first. 4 and 5: the same stack as libunwind and libgcc have it, addresses to look up.
// 6: how long these took, in nanoseconds.
#include "snapshot.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>
#ifdef TR_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

volatile uint32_t tr_depth;
volatile struct tr_entry tr_entries[1024];
volatile int tr_kind, tr_anywhere, tr_captured, tr_in_handler, tr_left, tr_descend, tr_futex;
long (*volatile tr_next)(int, long);
volatile uint64_t tr_state;
volatile long tr_sink;
int tr_pipe[2];
sem_t tr_semaphore;
volatile int *volatile tr_protected;
int tr_signal;

static int out;
static uint32_t root;         // where the entries of this thread start
static uint64_t stack_end;    // of this thread
static uint64_t number;
static long page;
static timer_t timers[2];

#define MAX_STACK (64 * 1024)
#define HEADER 416
#define MAX_PEER 512
// An emulator runs the chain so much slower, and the signal should come in the chain, not in the call that asks for it.
#ifdef __x86_64__
#define SLOWNESS 1
#else
#define SLOWNESS 20
#endif

static void fail(const char *what) {
    perror(what);
    exit(3);
}
static void put(const void *bytes, size_t length) {
    const char *at = bytes;
    while (length > 0) {
        ssize_t n = write(out, at, length);
        if (n <= 0)
            _exit(4);
        at += n;
        length -= (size_t)n;
    }
}
static void head(uint8_t kind, uint32_t length) {
    put(&kind, 1);
    put(&length, 4);
}

// Registers in the order of their DWARF numbers, the program counter last.
static uint64_t registers(const ucontext_t *context, uint64_t *all, int *machine, uint64_t *pc) {
#if defined(__x86_64__)
    static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (int i = 0; i < 17; i++)
        all[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    *machine = 1;
    *pc = all[16];
    return all[7];
#elif defined(__aarch64__)
    for (int i = 0; i < 31; i++)
        all[i] = context->uc_mcontext.regs[i];
    all[31] = context->uc_mcontext.sp;
    all[32] = context->uc_mcontext.pc;
    *machine = 2;
    *pc = all[32];
    return all[31];
#elif defined(__arm__)
    const unsigned long *from = &context->uc_mcontext.arm_r0;
    for (int i = 0; i < 16; i++)
        all[i] = from[i];
    *machine = 3;
    *pc = all[15];
    all[15] |= context->uc_mcontext.arm_cpsr >> 5 & 1; // Thumb
    return all[13];
#elif defined(__riscv)
    for (int i = 1; i < 32; i++)
        all[i] = context->uc_mcontext.__gregs[i];
    all[0] = 0;
    all[32] = context->uc_mcontext.__gregs[0];
    *machine = 4;
    *pc = all[32];
    return all[2];
#endif
}

// Without stack protection, as these run on any stack: what they do is compared, not measured.
struct trace {
    uint64_t pc;
    uint64_t frames[MAX_PEER];
    uint32_t count;
};
static _Unwind_Reason_Code libgcc_frame(struct _Unwind_Context *context, void *data) {
    struct trace *trace = data;
    int exact = 0;
    uint64_t ip = _Unwind_GetIPInfo(context, &exact) & ~(uint64_t)(sizeof(void *) == 4);
    if (trace->count == 0 && ip != trace->pc)
        return _URC_NO_REASON;
    if (trace->count < MAX_PEER && ip != 0)
        trace->frames[trace->count] = exact || trace->count == 0 ? ip : ip - 1, trace->count++;
    return _URC_NO_REASON;
}

// Another unwinder may read where nothing is mapped: it has no answer then.
static volatile int in_peer;
static sigjmp_buf after_peer;

static uint64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void capture(void *context) {
    static uint8_t header[HEADER];
    static struct trace trace;
    uint64_t all[33] = {0}, pc, now = 1;
    int machine;
    uint64_t sp = registers(context, all, &machine, &pc);
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    now += (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    uint64_t length = sp < stack_end ? stack_end - sp : 0;
    uint16_t flags = length > MAX_STACK;
    if (length > MAX_STACK)
        length = MAX_STACK;
    uint32_t form = 1, tid = (uint32_t)syscall(SYS_gettid), length32 = (uint32_t)length;
    uint64_t none = ~0ull;
    number++;
    memset(header, 0, sizeof header);
    memcpy(header, &form, 4);
    memcpy(header + 4, &tid, 4);
    memcpy(header + 8, &number, 8);
    memcpy(header + 16, &now, 8);
    memcpy(header + 24, &now, 8);
    memcpy(header + 32, &stack_end, 8);
    memcpy(header + 40, &sp, 8);
    memcpy(header + 48, &length32, 4);
    header[52] = (uint8_t)machine;
    header[53] = 5;
    memcpy(header + 54, &flags, 2);
    memcpy(header + 56, &none, 8);
    memcpy(header + 128, all, sizeof all);
    head(2, HEADER + length32);
    put(header, HEADER);
    put((const void *)(uintptr_t)sp, length);

    uint32_t depth = tr_depth;
    uint64_t kind = (uint64_t)tr_kind;
    head(3, 8 + 16 * (depth - root));
    put(&kind, 8);
    for (uint32_t i = depth; i > root; i--) {
        struct tr_entry entry = {tr_entries[i - 1].id, tr_entries[i - 1].address};
        put(&entry, 16);
    }
    uint64_t taken[2] = {0, 0}, begin = clock_ns();
#ifdef TR_LIBUNWIND
    static unw_cursor_t cursor;
    uint32_t count = 0;
    int exact = 1; // where a signal interrupted a function: this one, or after a step over the frame of a signal
    if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME) == 0) {
        do {
            unw_word_t ip = 0;
            unw_get_reg(&cursor, UNW_REG_IP, &ip);
            if (ip == 0)
                break;
            exact |= unw_is_signal_frame(&cursor) > 0;
            trace.frames[count++] = exact ? ip : ip - 1;
            exact = 0;
        } while (count < MAX_PEER && unw_step(&cursor) > 0);
    }
    taken[0] = clock_ns() - begin;
    head(4, 8 * count);
    put(trace.frames, 8 * count);
#endif
    trace.count = 0;
    trace.pc = pc;
    in_peer = 1;
    begin = clock_ns();
    if (sigsetjmp(after_peer, 1) == 0)
        _Unwind_Backtrace(libgcc_frame, &trace);
    in_peer = 0;
    taken[1] = clock_ns() - begin;
    head(5, 8 * trace.count);
    put(trace.frames, 8 * trace.count);
    head(6, sizeof taken);
    put(taken, sizeof taken);
}

static volatile int wanted;
int main(int argc, char **argv);
static void on_capture(int signal, siginfo_t *info, void *context) {
    int saved = errno;
    (void)info;
    if (signal == SIGSEGV) {
        if (in_peer)
            siglongjmp(after_peer, 1);
        if (info->si_addr != (void *)tr_protected) {
            char text[200];
            uint64_t all[33], pc;
            int machine, n;
            registers(context, all, &machine, &pc);
            n = snprintf(text, sizeof text, "a generated program crashed at %#llx, address %p, kind %d, anywhere %d, in a handler %d, main %p\n",
                         (unsigned long long)pc, info->si_addr, tr_kind, tr_anywhere, tr_in_handler, (void *)main);
            (void)!write(2, text, (size_t)n);
            _exit(5);
        }
        mprotect((void *)tr_protected, (size_t)page, PROT_READ | PROT_WRITE);
    }
    if (wanted) {
        wanted = 0;
        capture(context);
        tr_captured++;
    }
    // Anything that the thread waits for.
    tr_futex = 1;
    sem_post(&tr_semaphore);
    (void)!write(tr_pipe[1], "x", 1);
    errno = saved;
}

// A handler in the middle of a chain: it goes on with the chain.
TR_NOINLINE void f_997(int signal, siginfo_t *info, void *context) {
    uint64_t all[33], pc;
    int machine, saved = errno, anywhere = tr_anywhere, kind = tr_kind;
    uint64_t state = tr_state;
    (void)info;
    registers(context, all, &machine, &pc);
    tr_push(TR_SIGNAL, 0);
    tr_entries[tr_depth - 1].address = pc;
    TR_ENTER(997);
    if (signal == SIGUSR2) { // anywhere: the chain below may be in the allocator
        if (tr_captured != 0) {
            tr_depth = tr_depth - 2;
            return;
        }
        tr_in_handler = 1;
        tr_anywhere = 1;
        tr_kind = tr_left & 1 ? 1 : 7;
        tr_next = f_1;
    }
    tr_sink += tr_next(tr_left, 7);
    tr_in_handler = 0;
    tr_anywhere = anywhere;
    tr_kind = kind;
    tr_state = state;
    tr_depth = tr_depth - 2;
    errno = saved;
}

// The end of a chain as a function of its own, and a signal to this thread, for Rust.
TR_NOINLINE long f_1000(int left, long a) {
    TR_ENTER(1000);
    char memory[64];
    long r = tr_work(a, memory, 64) + tr_leaf() + left;
    tr_pop();
    return r;
}
TR_NOINLINE void tr_raise_next(void) { raise(SIGUSR1); }

void tr_arm(int signal, long nanoseconds) {
    struct itimerspec spec = {{0, 0}, {0, nanoseconds}};
    timer_settime(timers[signal == SIGUSR2], 0, &spec, 0);
}

static void prepare(int kind) {
    char bytes[64];
    while (read(tr_pipe[0], bytes, sizeof bytes) > 0) {
    }
    while (sem_trywait(&tr_semaphore) == 0) {
    }
    tr_kind = kind;
    tr_anywhere = kind >= 9;
    tr_captured = 0;
    tr_descend = 0;
    tr_futex = 0;
    mprotect((void *)tr_protected, (size_t)page, PROT_NONE);
    wanted = 1;
}

static void block(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, tr_signal);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(how, &set, 0);
}

// Runs a chain until its stack is captured: kind 9 is captured anywhere, kind 10 has a handler anywhere, which goes on with the chain.
#define RUN(KIND, LEFT)                                                                                                        \
    do {                                                                                                                       \
        prepare(KIND);                                                                                                         \
        tr_left = (LEFT);                                                                                                      \
        if ((KIND) >= 9)                                                                                                       \
            tr_arm((KIND) == 9 ? tr_signal : SIGUSR2, (2000 + tr_random() % 150000) * SLOWNESS);                                 \
        else                                                                                                                   \
            fcntl(tr_pipe[0], F_SETFL, 0);                                                                                     \
        do                                                                                                                     \
            tr_sink += f_1(LEFT, 3);                                                                                           \
        while (tr_captured == 0);                                                                                              \
        fcntl(tr_pipe[0], F_SETFL, O_NONBLOCK);                                                                                \
    } while (0)

struct run {
    int kind, left;
};
TR_NOINLINE void *f_998(void *data) {
    struct run *run = data;
    pthread_attr_t attributes;
    void *low;
    size_t size;
    uint64_t end = stack_end;
    TR_ENTER(998);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    stack_end = (uint64_t)(uintptr_t)low + size;
    block(SIG_UNBLOCK);
    RUN(run->kind, run->left);
    stack_end = end;
    tr_pop();
    return 0;
}

static void find_stack(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    unsigned long long start, end, here = (unsigned long long)(uintptr_t)&maps;
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%llx-%llx", &start, &end) == 2 && start <= here && here < end)
            stack_end = end;
    if (maps)
        fclose(maps);
    if (!stack_end)
        fail("stack");
}

// The modules, as text.
struct object {
    uint64_t bias, low, high;
    char id[129];
};
static struct object objects[64];
static int object_count;
static int object(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    (void)data;
    if (object_count == 64)
        return 1;
    struct object *found = &objects[object_count++];
    found->bias = info->dlpi_addr;
    found->low = ~0ull;
    strcpy(found->id, "-");
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            if (start < found->low)
                found->low = start;
            if (start + part->p_memsz > found->high)
                found->high = start + part->p_memsz;
        }
        if (part->p_type == PT_NOTE) {
            const char *at = (const char *)(uintptr_t)start, *behind = at + part->p_memsz;
            while (at + sizeof(ElfW(Nhdr)) <= behind) {
                const ElfW(Nhdr) *note = (const void *)at;
                const char *name = at + sizeof *note;
                const uint8_t *bytes = (const uint8_t *)name + ((note->n_namesz + 3) & ~3u);
                if (note->n_type == 3 && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 && note->n_descsz <= 64)
                    for (uint32_t k = 0; k < note->n_descsz; k++)
                        sprintf(found->id + 2 * k, "%02x", bytes[k]);
                at = (const char *)bytes + ((note->n_descsz + 3) & ~3u);
            }
        }
    }
    return 0;
}
static void modules(void) {
    static char text[1 << 20];
    size_t length = (size_t)sprintf(text, "at=1\n");
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    char line[4096], path[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    dl_iterate_phdr(object, 0);
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long long start, end, offset;
        char rights[8];
        path[0] = 0;
        if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %4095[^\n]", &start, &end, rights, &offset, path) < 4 || rights[2] != 'x' || strcmp(path, "[vsyscall]") == 0)
            continue;
        const struct object *found = 0;
        for (int i = 0; i < object_count; i++)
            if (objects[i].low < end && start < objects[i].high)
                found = &objects[i];
        if (found)
            length += (size_t)sprintf(text + length, "map %llx %llx %llx %llx %s %s\n", start, end, offset,
                                      (unsigned long long)found->bias, found->id, path);
        // Code without a file: the vDSO, or the page of an emulator by which signal handlers return. An emulator reads what is only
        // executable.
        if ((vdso && start <= vdso && vdso < end) || (!found && end - start <= 0x2000)) {
            length += (size_t)sprintf(text + length, "image %llx ", start);
            for (uint64_t at = start; at < end; at++)
                length += (size_t)sprintf(text + length, "%02x", *(const uint8_t *)(uintptr_t)at);
            text[length++] = '\n';
        }
    }
    fclose(maps);
    head(1, (uint32_t)length);
    put(text, length);
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    // A handler in the middle of a chain is captured in its turn.
    if (handler == f_997)
        sigemptyset(&action.sa_mask);
    else
        sigfillset(&action.sa_mask);
    // Another unwinder may fault in the handler.
    sigdelset(&action.sa_mask, SIGSEGV);
    if (signal == SIGSEGV)
        action.sa_flags |= SA_NODEFER;
    if (sigaction(signal, &action, 0) != 0)
        fail("sigaction");
}

int main(int argc, char **argv) {
    TR_ENTER(0);
    if (argc != 4)
        return 2;
    out = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    uint64_t seed = strtoull(argv[2], 0, 10);
    int count = atoi(argv[3]);
    page = sysconf(_SC_PAGESIZE);
    tr_protected = mmap(0, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tr_signal = SIGRTMIN + 9;
    if (out < 0 || tr_protected == MAP_FAILED || pipe2(tr_pipe, O_NONBLOCK) != 0 || sem_init(&tr_semaphore, 0, 0) != 0)
        fail("setup");
    find_stack();
    handle(tr_signal, on_capture);
    handle(SIGSEGV, on_capture);
    handle(SIGUSR1, f_997);
    handle(SIGUSR2, f_997);
    for (int i = 0; i < 2; i++) {
        struct sigevent event;
        memset(&event, 0, sizeof event);
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = i ? SIGUSR2 : tr_signal;
        if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]) != 0)
            fail("timer_create");
    }
    static const int weights[] = {0, 1, 1, 2, 3, 4, 5, 6, 7, 7, 8, 8, 9, 9, 9, 9, 10, 10, 10};
    for (int i = 0; i < count; i++) {
        tr_state = (seed * 1000003 + (uint64_t)i + 1) * 0x9e3779b97f4a7c15ull;
        for (int k = 0; k < 4; k++)
            tr_random();
        int kind = weights[tr_random() % (sizeof weights / sizeof *weights)], left = 2 + (int)(tr_random() % 38);
        if (tr_random() % 8 == 0) {
            struct run run = {kind, left};
            uint32_t depth = root;
            pthread_t thread;
            block(SIG_BLOCK);
            root = tr_depth;
            if (pthread_create(&thread, 0, f_998, &run) != 0)
                fail("pthread_create");
            pthread_join(thread, 0);
            root = depth;
            block(SIG_UNBLOCK);
        } else {
            RUN(kind, left);
        }
    }
    modules();
    close(out);
    tr_pop();
    return 0;
}

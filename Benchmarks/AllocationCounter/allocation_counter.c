// Counts the C library's allocations, Swift's reference counting and locks of the process it is preloaded into (LD_PRELOAD), in a file that another process maps.
//
// ALLOCATION_COUNTER_FILE names the file, which must exist and be large enough. Without it nothing is counted. The counting itself does not allocate:
// calls go to glibc's own entry points (__libc_malloc and so on), and stacks are read from frame pointers, which Swift's code keeps. A stack that runs
// through a library without frame pointers ends early or skips its callers; what it shows is still the innermost function that asked.

#define _GNU_SOURCE
#include "allocation_counter.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

static struct allocation_counts *counts;

__attribute__((constructor)) static void map_counts(void) {
    const char *path = getenv("ALLOCATION_COUNTER_FILE");
    if (path == NULL) return;
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    void *memory = mmap(NULL, sizeof(struct allocation_counts), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED) return;
    counts = memory;
    atomic_store(&counts->magic, COUNTER_MAGIC);
}

/// Where the calling thread's stack ends, found once per thread.
static __thread uintptr_t stack_end;
static __thread int finds_stack;

static uintptr_t find_stack_end(void) {
    if (stack_end != 0) return stack_end;
    if (finds_stack) return 0; // pthread_getattr_np itself allocates
    finds_stack = 1;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *low;
        size_t bytes;
        if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) stack_end = (uintptr_t)low + bytes;
        pthread_attr_destroy(&attributes);
    }
    finds_stack = 0;
    return stack_end;
}

static void note_site(void *caller, void *frame, size_t bytes) {
    uint64_t frames[FRAMES_MAX] = {(uint64_t)caller};
    int depth = 1;
    uintptr_t end = find_stack_end(), at = (uintptr_t)frame;
    if (end == 0) return;
    // Each frame begins with the caller's frame pointer and the return address; pointers must go up and stay within the stack.
    while (depth < FRAMES_MAX && at % sizeof(uintptr_t) == 0 && at + 2 * sizeof(uintptr_t) <= end) {
        uintptr_t next = ((uintptr_t *)at)[0], back = ((uintptr_t *)at)[1];
        if (back < 4096) break;
        frames[depth++] = back;
        if (next <= at) break;
        at = next;
    }
    uint64_t hash = 1469598103934665603u;
    for (int place = 0; place < depth; place++) hash = (hash ^ frames[place]) * 1099511628211u;
    if (hash == 0) hash = 1;
    for (uint64_t probe = 0; probe < SITES_MAX; probe++) {
        struct allocation_site *site = &counts->sites[(hash + probe) % SITES_MAX];
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(&site->hash, &seen, hash)) {
            for (int place = 0; place < depth; place++) site->frames[place] = frames[place];
            atomic_store(&site->ready, 1);
        } else if (seen != hash) {
            continue;
        }
        atomic_fetch_add_explicit(&site->count, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&site->bytes, bytes, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&counts->sites_lost, 1, memory_order_relaxed);
}

#define COUNT(field, size)                                                                       \
    do {                                                                                         \
        if (counts != NULL) {                                                                    \
            atomic_fetch_add_explicit(&counts->field, 1, memory_order_relaxed);                  \
            atomic_fetch_add_explicit(&counts->bytes, (size), memory_order_relaxed);             \
            if (atomic_load_explicit(&counts->tracing, memory_order_relaxed) == TRACES_ALLOCATIONS) \
                note_site(__builtin_return_address(0), __builtin_frame_address(0), (size));      \
        }                                                                                        \
    } while (0)

void *malloc(size_t bytes) {
    COUNT(malloc_calls, bytes);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    COUNT(calloc_calls, count * bytes);
    return __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes) {
    COUNT(realloc_calls, bytes);
    return __libc_realloc(block, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    COUNT(aligned_calls, bytes);
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    COUNT(aligned_calls, bytes);
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    COUNT(aligned_calls, bytes);
    void *block = __libc_memalign(alignment, bytes);
    if (block == NULL) return ENOMEM;
    *result = block;
    return 0;
}

void free(void *block) {
    if (block != NULL && counts != NULL) atomic_fetch_add_explicit(&counts->free_calls, 1, memory_order_relaxed);
    __libc_free(block);
}

// Swift's reference counting. What the run-time library does to itself, through pointers of its own, is not seen; what compiled code does is.

#define COUNT_CALL(field)                                                                        \
    do {                                                                                         \
        if (counts != NULL) {                                                                    \
            atomic_fetch_add_explicit(&counts->field, 1, memory_order_relaxed);                  \
            if (atomic_load_explicit(&counts->tracing, memory_order_relaxed) == TRACES_REFERENCES) \
                note_site(__builtin_return_address(0), __builtin_frame_address(0), 0);           \
        }                                                                                        \
    } while (0)

#define NEXT(type, name)                                                                         \
    static _Atomic(type) next;                                                                   \
    type call = atomic_load_explicit(&next, memory_order_relaxed);                               \
    if (call == NULL) {                                                                          \
        call = (type)dlsym(RTLD_NEXT, name);                                                     \
        atomic_store_explicit(&next, call, memory_order_relaxed);                                \
    }

typedef void *(*retain_function)(void *);
typedef void (*release_function)(void *);
typedef void *(*retain_n_function)(void *, uint32_t);
typedef void (*release_n_function)(void *, uint32_t);
typedef int (*lock_function)(pthread_mutex_t *);

#define RETAINING(name)                                                                          \
    void *name(void *object) {                                                                   \
        NEXT(retain_function, #name)                                                             \
        COUNT_CALL(retain_calls);                                                                \
        return call(object);                                                                     \
    }
#define RELEASING(name)                                                                          \
    void name(void *object) {                                                                    \
        NEXT(release_function, #name)                                                            \
        COUNT_CALL(release_calls);                                                               \
        call(object);                                                                            \
    }

RETAINING(swift_retain)
RETAINING(swift_bridgeObjectRetain)
RETAINING(swift_unownedRetainStrong)
RETAINING(swift_weakLoadStrong)
RELEASING(swift_release)
RELEASING(swift_bridgeObjectRelease)

void *swift_retain_n(void *object, uint32_t count) {
    NEXT(retain_n_function, "swift_retain_n")
    COUNT_CALL(retain_calls);
    return call(object, count);
}

void swift_release_n(void *object, uint32_t count) {
    NEXT(release_n_function, "swift_release_n")
    COUNT_CALL(release_calls);
    call(object, count);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    NEXT(lock_function, "pthread_mutex_lock")
    COUNT_CALL(lock_calls);
    return call(mutex);
}

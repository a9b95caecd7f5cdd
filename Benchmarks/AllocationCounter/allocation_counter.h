#pragma once

#include <stdatomic.h>
#include <stdint.h>

// The shared-memory file between the preloaded counter and whoever reads it. All numbers are native-endian and only ever grow, but for `tracing`,
// which the reader sets. The reader knows the offsets: 8 bytes each, in this order.

enum { COUNTER_MAGIC = 0x53454755, SITES_MAX = 512, FRAMES_MAX = 24, TRACES_ALLOCATIONS = 1, TRACES_REFERENCES = 2 };

/// One place in the program that allocates, or whatever else is traced, told by its return addresses, innermost first.
struct allocation_site {
    _Atomic uint64_t hash; // 0: free
    _Atomic uint64_t count;
    _Atomic uint64_t bytes;
    uint64_t frames[FRAMES_MAX];
    _Atomic uint64_t ready; // the frames are written
};

struct allocation_counts {
    _Atomic uint64_t magic;
    _Atomic uint64_t malloc_calls;
    _Atomic uint64_t calloc_calls;
    _Atomic uint64_t realloc_calls;
    _Atomic uint64_t aligned_calls; // posix_memalign, aligned_alloc, memalign
    _Atomic uint64_t free_calls;    // of anything but a null pointer
    _Atomic uint64_t bytes;         // asked for
    _Atomic uint64_t tracing;       // set by the reader: whose call sites are noted, TRACES_… or 0
    _Atomic uint64_t sites_lost;    // traced calls that found the table full
    _Atomic uint64_t retain_calls;  // of Swift's run-time library, by whoever is linked to it; weak and unowned references made strong included
    _Atomic uint64_t release_calls;
    _Atomic uint64_t lock_calls; // pthread_mutex_lock
    struct allocation_site sites[SITES_MAX];
};

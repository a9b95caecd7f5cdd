// What Embedded Swift asks of a C library, for a module that is alone in its memory and has one thread: memory, and moving bytes about.
//
// The allocator is the classic one of a free list in the order of addresses, first fit, whose neighbours grow together again. The buffers allocate when they
// are made and never after, so its speed does not matter; that it gives back what it got does.

#include <stddef.h>
#include <stdint.h>

extern unsigned char __heap_base;

enum { alignment = 16, page_bytes = 65536 };

// In front of every block, free or not; as long as the alignment, so that what follows is aligned.
struct head {
    size_t byte_count; // of the block, this head included
    struct head *next; // while it is free
    unsigned char pad[alignment - sizeof(size_t) - sizeof(struct head *)];
};
_Static_assert(sizeof(struct head) == alignment, "a head keeps the alignment");

static struct head *free_list;
static uintptr_t heap_end;

static void give_back(struct head *block) {
    struct head **link = &free_list;
    while (*link && *link < block) link = &(*link)->next;
    block->next = *link;
    *link = block;
    if (block->next && (uintptr_t)block + block->byte_count == (uintptr_t)block->next) {
        block->byte_count += block->next->byte_count;
        block->next = block->next->next;
    }
    if (link != &free_list) {
        // `next` is not the first member: from the link to the head that holds it.
        struct head *before = (struct head *)((uintptr_t)link - offsetof(struct head, next));
        if ((uintptr_t)before + before->byte_count == (uintptr_t)block) {
            before->byte_count += block->byte_count;
            before->next = block->next;
        }
    }
}

// Takes more memory of the machine and puts it on the list.
static int grow(size_t byte_count) {
    if (!heap_end) heap_end = ((uintptr_t)&__heap_base + alignment - 1) & ~(uintptr_t)(alignment - 1);
    uintptr_t there = (uintptr_t)__builtin_wasm_memory_size(0) * page_bytes;
    if (heap_end + byte_count > there) {
        size_t pages = (heap_end + byte_count - there + page_bytes - 1) / page_bytes;
        if (__builtin_wasm_memory_grow(0, pages) == (size_t)-1) return 0;
        there += pages * page_bytes;
    }
    struct head *block = (struct head *)heap_end;
    block->byte_count = there - heap_end;
    heap_end = there;
    give_back(block);
    return 1;
}

void *malloc(size_t byte_count) {
    if (byte_count > (size_t)1 << 30) return NULL;
    size_t needed = (byte_count + sizeof(struct head) + alignment - 1) & ~(size_t)(alignment - 1);
    do {
        for (struct head **link = &free_list; *link; link = &(*link)->next) {
            struct head *block = *link;
            if (block->byte_count < needed) continue;
            if (block->byte_count >= needed + 2 * sizeof(struct head)) {
                struct head *rest = (struct head *)((uintptr_t)block + needed);
                rest->byte_count = block->byte_count - needed;
                rest->next = block->next;
                *link = rest;
                block->byte_count = needed;
            } else {
                *link = block->next;
            }
            return block + 1;
        }
    } while (grow(needed));
    return NULL;
}

void free(void *bytes) {
    if (bytes) give_back((struct head *)bytes - 1);
}

// Nothing here is aligned to more than 16.
int posix_memalign(void **result, size_t wanted, size_t byte_count) {
    if (wanted > alignment) return 22; // EINVAL
    *result = malloc(byte_count);
    return *result ? 0 : 12; // ENOMEM
}

// Compiled with bulk memory operations, so each is one instruction and no call of itself.
void *memmove(void *target, const void *source, size_t count) { return __builtin_memmove(target, source, count); }
void *memcpy(void *target, const void *source, size_t count) { return __builtin_memcpy(target, source, count); }
void *memset(void *target, int value, size_t count) { return __builtin_memset(target, value, count); }

// The product of two numbers of 128 bits, with which the compiler checks products of 64 bits for overflow. Clang's runtime has it for other machines.
typedef int wide __attribute__((mode(TI)));
typedef unsigned unsigned_wide __attribute__((mode(TI)));

wide __multi3(wide left, wide right) {
    uint64_t a = (uint64_t)left, b = (uint64_t)right;
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32), other = a_low * b_high + (uint32_t)middle;
    uint64_t high = a_high * b_high + (middle >> 32) + (other >> 32);
    high += (uint64_t)((unsigned_wide)left >> 64) * b + a * (uint64_t)((unsigned_wide)right >> 64);
    return (wide)((unsigned_wide)high << 64 | (unsigned_wide)(other << 32 | (uint32_t)low));
}

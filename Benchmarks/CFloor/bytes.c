#include "floor.h"

#include <stdlib.h>
#include <string.h>

bool bytes_append(struct bytes *bytes, const void *data, size_t count) {
    if (bytes->capacity - bytes->count < count) {
        size_t capacity = bytes->capacity ? bytes->capacity : 4096;
        while (capacity - bytes->count < count) capacity *= 2;
        uint8_t *grown = realloc(bytes->data, capacity);
        if (!grown) return false;
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
    return true;
}

void bytes_consume(struct bytes *bytes, size_t count) {
    bytes->count -= count;
    memmove(bytes->data, bytes->data + count, bytes->count);
}

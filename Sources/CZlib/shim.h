#pragma once

#include <zlib.h>

// deflateInit2 and inflateInit2 are macros, which Swift does not import. Negative window bits mean raw deflate data, without zlib's wrapper.

static inline int segue_deflate_init_raw(z_streamp stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

static inline int segue_inflate_init_raw(z_streamp stream, int window_bits) {
    return inflateInit2(stream, -window_bits);
}

// The gzip format (RFC 1952) with the largest window.
static inline int segue_deflate_init_gzip(z_streamp stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
}

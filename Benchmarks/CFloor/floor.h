// The floor of the speed comparison: the least that a correct server does for publish/subscribe over WebSocket and TLS 1.3 with client certificates.
//
// It corks per loop: what came in one batch of epoll events goes to each subscriber as one buffer, sealed by one SSL_write (one record up to 16 KiB, one
// send each). There is nothing else: no sessions, no rights, no lanes, no accounts, no expiry.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <openssl/ssl.h>

enum {
    ROOM_NAME_BYTES_MAX = 64,
    // A request head, or a WebSocket message with its header, must fit whole. Two records' worth more, so that one read takes what a record holds.
    INPUT_BYTES = 128 << 10,
    MESSAGE_BYTES_MAX = 64 << 10,
    // What a subscriber may lag behind; beyond it, it is cut off.
    UNSENT_BYTES_MAX = 16 << 20,
    CONNECTIONS_MAX = 4096,
    ROOMS_MAX = 64,
    EVENTS_MAX = 512,
};

// Bytes that grow.
struct bytes {
    uint8_t *data;
    size_t count, capacity;
};

struct connection;

// A room: who subscribes, and what came for them in this batch of events, in frames as they leave.
struct room {
    char name[ROOM_NAME_BYTES_MAX];
    struct connection *subscribers[CONNECTIONS_MAX];
    size_t subscriber_count;
    struct bytes batch;
    bool is_dirty;
};

struct connection {
    int descriptor;
    SSL *ssl;
    struct room *room;
    size_t place;  // Among the room's subscribers.
    enum { HANDSHAKING, UPGRADING, PUBLISHING, SUBSCRIBED } phase;
    bool watches_write, is_gone;
    uint8_t *input;
    size_t input_count;
    struct bytes unsent;  // Plaintext that the kernel had no room for.
};

// bytes.c
bool bytes_append(struct bytes *bytes, const void *data, size_t count);
void bytes_consume(struct bytes *bytes, size_t count);

// websocket.c
enum frame_result { FRAME_INCOMPLETE, FRAME_BAD, FRAME_CLOSE, FRAME_IGNORED, FRAME_MESSAGE };
struct frame {
    uint8_t *payload;
    size_t payload_count, whole_count;
};
// Takes a masked frame at the start of `input` apart and unmasks it in place (RFC 6455 §5.2).
enum frame_result frame_parse(uint8_t *input, size_t count, struct frame *frame);
// Writes an unmasked binary frame's header; returns its length.
size_t frame_header(uint8_t header[10], size_t payload_count);
// Looks for a whole upgrade request (RFC 6455 §4.2) and makes the response. Returns the length of the head, 0 when more must come, -1 when it is refused.
long upgrade_parse(const uint8_t *input, size_t count, char room[ROOM_NAME_BYTES_MAX], bool *publishes, char *response, size_t response_size);

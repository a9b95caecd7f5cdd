#include "floor.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

static void unmask(uint8_t *payload, size_t count, const uint8_t key[4]) {
    uint64_t word;
    uint8_t twice[8];
    memcpy(twice, key, 4);
    memcpy(twice + 4, key, 4);
    memcpy(&word, twice, 8);
    size_t place = 0;
    for (; place + 8 <= count; place += 8) {
        uint64_t value;
        memcpy(&value, payload + place, 8);
        value ^= word;
        memcpy(payload + place, &value, 8);
    }
    for (; place < count; place++) payload[place] ^= key[place & 3];
}

enum frame_result frame_parse(uint8_t *input, size_t count, struct frame *frame) {
    if (count < 2) return FRAME_INCOMPLETE;
    // Whole messages only, no extension bits, and a client masks.
    if ((input[0] & 0xF0) != 0x80 || !(input[1] & 0x80)) return FRAME_BAD;
    size_t length = input[1] & 0x7F, header = 2;
    if (length == 126) {
        if (count < 4) return FRAME_INCOMPLETE;
        length = (size_t)input[2] << 8 | input[3];
        header = 4;
    } else if (length == 127) {
        if (count < 10) return FRAME_INCOMPLETE;
        length = 0;
        for (int place = 2; place < 10; place++) {
            if (length > MESSAGE_BYTES_MAX) return FRAME_BAD;
            length = length << 8 | input[place];
        }
        header = 10;
    }
    if (length > MESSAGE_BYTES_MAX) return FRAME_BAD;
    if (count < header + 4 + length) return FRAME_INCOMPLETE;
    frame->payload = input + header + 4;
    frame->payload_count = length;
    frame->whole_count = header + 4 + length;
    switch (input[0] & 0x0F) {
        case 2:
            unmask(frame->payload, length, input + header);
            return FRAME_MESSAGE;
        case 8: return FRAME_CLOSE;
        case 1:
        case 10: return FRAME_IGNORED;
        default: return FRAME_BAD;
    }
}

size_t frame_header(uint8_t header[10], size_t payload_count) {
    header[0] = 0x82;
    if (payload_count < 126) {
        header[1] = (uint8_t)payload_count;
        return 2;
    }
    if (payload_count <= UINT16_MAX) {
        header[1] = 126;
        header[2] = (uint8_t)(payload_count >> 8);
        header[3] = (uint8_t)payload_count;
        return 4;
    }
    header[1] = 127;
    for (int place = 0; place < 8; place++) header[2 + place] = (uint8_t)(payload_count >> (56 - 8 * place));
    return 10;
}

// The value of a field in a head that ends with 0; NULL when it is not there.
static const char *field(const char *head, const char *name, size_t *length) {
    size_t name_length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, name_length) != 0 || line[name_length] != ':') continue;
        const char *value = line + name_length + 1;
        while (*value == ' ') value++;
        *length = strcspn(value, "\r");
        return value;
    }
    return NULL;
}

long upgrade_parse(const uint8_t *input, size_t count, char room[ROOM_NAME_BYTES_MAX], bool *publishes, char *response, size_t response_size) {
    char head[4096];
    if (count >= sizeof head) count = sizeof head - 1;
    memcpy(head, input, count);
    head[count] = 0;
    char *end = strstr(head, "\r\n\r\n");
    if (!end) return count == sizeof head - 1 || memchr(head, 0, count) ? -1 : 0;
    end[2] = 0;
    char role[16];
    // "GET /ROOM?role=publish HTTP/1.1"
    if (sscanf(head, "GET /%63[A-Za-z0-9_-]?role=%15[a-z] HTTP/1.1", room, role) != 2) return -1;
    *publishes = strcmp(role, "publish") == 0;
    if (!*publishes && strcmp(role, "subscribe") != 0) return -1;
    size_t length = 0, version_length = 0;
    const char *key = field(head, "sec-websocket-key", &length), *version = field(head, "sec-websocket-version", &version_length);
    if (!key || length != 24 || !version || version_length != 2 || memcmp(version, "13", 2) != 0) return -1;
    char text[24 + 36 + 1];
    memcpy(text, key, 24);
    memcpy(text + 24, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 37);
    unsigned char digest[SHA_DIGEST_LENGTH], accept[4 * ((SHA_DIGEST_LENGTH + 2) / 3) + 1];
    if (!EVP_Digest(text, 60, digest, NULL, EVP_sha1(), NULL)) return -1;
    EVP_EncodeBlock(accept, digest, sizeof digest);
    snprintf(
        response, response_size, "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: %s\r\n\r\n",
        (char *)accept);
    return end + 4 - head;
}

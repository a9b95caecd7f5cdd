#define _GNU_SOURCE
#include "floor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <openssl/err.h>

static int selector;
static SSL_CTX *context;
static struct room *rooms[ROOMS_MAX];
static size_t room_count, connection_count;
// Gone in this batch of events, whose later events may still name them.
static struct connection *gone[CONNECTIONS_MAX];
static size_t gone_count;

static BIO_METHOD *sending;

static void fail(const char *what) {
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    ERR_print_errors_fp(stderr);
    exit(1);
}

// The library's own BIO writes by write(2), which costs a little more than send(2) on a socket.
static int bio_send(BIO *bio, const char *data, int count) {
    ssize_t sent = send((int)(intptr_t)BIO_get_data(bio), data, (size_t)count, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return (int)sent;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO *make_sending_bio(int descriptor) {
    BIO *bio = BIO_new(sending);
    if (!bio) fail("BIO_new");
    BIO_set_data(bio, (void *)(intptr_t)descriptor);
    BIO_set_init(bio, 1);
    return bio;
}

static void leave(struct connection *connection) {
    if (connection->is_gone) return;
    connection->is_gone = true;
    struct room *room = connection->room;
    if (room && connection->phase == SUBSCRIBED) {
        struct connection *last = room->subscribers[--room->subscriber_count];
        room->subscribers[connection->place] = last;
        last->place = connection->place;
    }
    SSL_free(connection->ssl);
    // What it left there would be taken for the next connection's.
    ERR_clear_error();
    close(connection->descriptor);
    gone[gone_count++] = connection;
}

static void forget_gone(void) {
    for (size_t place = 0; place < gone_count; place++) {
        free(gone[place]->input);
        free(gone[place]->unsent.data);
        free(gone[place]);
        connection_count--;
    }
    gone_count = 0;
}

static void watch_write(struct connection *connection, bool wanted) {
    if (connection->watches_write == wanted) return;
    connection->watches_write = wanted;
    struct epoll_event event = {.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = connection};
    epoll_ctl(selector, EPOLL_CTL_MOD, connection->descriptor, &event);
}

// Writes what the kernel takes; keeps the rest.
static void write_now(struct connection *connection, const uint8_t *data, size_t count) {
    while (count > 0 && connection->unsent.count == 0) {
        int written = SSL_write(connection->ssl, data, (int)count);
        if (written > 0) {
            data += written;
            count -= (size_t)written;
            continue;
        }
        if (SSL_get_error(connection->ssl, written) != SSL_ERROR_WANT_WRITE) return leave(connection);
        break;
    }
    if (count == 0) return;
    if (connection->unsent.count + count > UNSENT_BYTES_MAX || !bytes_append(&connection->unsent, data, count)) return leave(connection);
    watch_write(connection, true);
}

static void write_unsent(struct connection *connection) {
    size_t done = 0;
    while (done < connection->unsent.count) {
        int written = SSL_write(connection->ssl, connection->unsent.data + done, (int)(connection->unsent.count - done));
        if (written <= 0) {
            if (SSL_get_error(connection->ssl, written) != SSL_ERROR_WANT_WRITE) return leave(connection);
            break;
        }
        done += (size_t)written;
    }
    bytes_consume(&connection->unsent, done);
    watch_write(connection, connection->unsent.count > 0);
}

static struct room *room_named(const char *name) {
    for (size_t place = 0; place < room_count; place++) {
        if (strcmp(rooms[place]->name, name) == 0) return rooms[place];
    }
    struct room *room = room_count < ROOMS_MAX ? calloc(1, sizeof *room) : NULL;
    if (!room) return NULL;
    snprintf(room->name, sizeof room->name, "%s", name);
    return rooms[room_count++] = room;
}

static void upgrade(struct connection *connection) {
    char name[ROOM_NAME_BYTES_MAX], response[256];
    bool publishes;
    long head = upgrade_parse(connection->input, connection->input_count, name, &publishes, response, sizeof response);
    if (head == 0) return;
    struct room *room = head > 0 ? room_named(name) : NULL;
    if (!room) return leave(connection);
    connection->input_count -= (size_t)head;
    memmove(connection->input, connection->input + head, connection->input_count);
    connection->room = room;
    connection->phase = publishes ? PUBLISHING : SUBSCRIBED;
    if (!publishes) {
        connection->place = room->subscriber_count;
        room->subscribers[room->subscriber_count++] = connection;
    }
    write_now(connection, (const uint8_t *)response, strlen(response));
}

// Takes the messages that lie whole in the input: a publisher's go into the room's batch.
static void take_messages(struct connection *connection) {
    size_t done = 0;
    struct frame frame;
    while (true) {
        enum frame_result result = frame_parse(connection->input + done, connection->input_count - done, &frame);
        if (result == FRAME_INCOMPLETE) break;
        if (result == FRAME_BAD || result == FRAME_CLOSE) return leave(connection);
        done += frame.whole_count;
        if (result != FRAME_MESSAGE || connection->phase != PUBLISHING) continue;
        uint8_t header[10];
        struct room *room = connection->room;
        if (!bytes_append(&room->batch, header, frame_header(header, frame.payload_count)) ||
            !bytes_append(&room->batch, frame.payload, frame.payload_count))
            return leave(connection);
        room->is_dirty = true;
    }
    connection->input_count -= done;
    if (done > 0) memmove(connection->input, connection->input + done, connection->input_count);
}

static void read_all(struct connection *connection) {
    if (connection->phase == HANDSHAKING) {
        int result = SSL_accept(connection->ssl);
        if (result != 1) {
            int error = SSL_get_error(connection->ssl, result);
            if (error == SSL_ERROR_WANT_READ) return;
            ERR_clear_error();
            return leave(connection);
        }
        connection->phase = UPGRADING;
    }
    while (!connection->is_gone) {
        int count = SSL_read(connection->ssl, connection->input + connection->input_count, (int)(INPUT_BYTES - connection->input_count));
        if (count <= 0) {
            if (SSL_get_error(connection->ssl, count) != SSL_ERROR_WANT_READ) leave(connection);
            return;
        }
        connection->input_count += (size_t)count;
        if (connection->phase == UPGRADING) upgrade(connection);
        if (!connection->is_gone && connection->phase != UPGRADING) take_messages(connection);
    }
}

static void accept_all(int listener) {
    while (true) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;
        if (descriptor < 0) return;
        struct connection *connection = connection_count < CONNECTIONS_MAX ? calloc(1, sizeof *connection) : NULL;
        if (!connection || !(connection->input = malloc(INPUT_BYTES)) || !(connection->ssl = SSL_new(context))) fail("a connection too many");
        connection_count++;
        connection->descriptor = descriptor;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        SSL_set_bio(connection->ssl, BIO_new_socket(descriptor, BIO_NOCLOSE), make_sending_bio(descriptor));
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        if (epoll_ctl(selector, EPOLL_CTL_ADD, descriptor, &event) != 0) fail("epoll_ctl");
    }
}

// One buffer, one SSL_write per subscriber.
static void flush_rooms(void) {
    for (size_t place = 0; place < room_count; place++) {
        struct room *room = rooms[place];
        if (!room->is_dirty) continue;
        // Backwards: who leaves is replaced by the last.
        for (size_t member = room->subscriber_count; member-- > 0;) write_now(room->subscribers[member], room->batch.data, room->batch.count);
        room->batch.count = 0;
        room->is_dirty = false;
    }
}

static SSL_CTX *make_context(char **arguments) {
    SSL_CTX *made = SSL_CTX_new(TLS_server_method());
    if (!made || !SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) || !SSL_CTX_set_ciphersuites(made, "TLS_AES_128_GCM_SHA256") ||
        SSL_CTX_use_certificate_chain_file(made, arguments[2]) != 1 || SSL_CTX_use_PrivateKey_file(made, arguments[3], SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_load_verify_locations(made, arguments[4], NULL) != 1)
        fail("certificates");
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
    // One read takes a record with its header, and several of them.
    SSL_CTX_set_read_ahead(made, 1);
    SSL_CTX_set_default_read_buffer_len(made, 32 << 10);
    return made;
}

static int make_listener(const char *port) {
    int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1024) != 0) fail("listen");
    return listener;
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: floor PORT CERTIFICATE KEY AUTHORITY\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    sending = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "send");
    if (!sending || !BIO_meth_set_write(sending, bio_send) || !BIO_meth_set_ctrl(sending, bio_control)) fail("BIO_meth_new");
    context = make_context(arguments);
    int listener = make_listener(arguments[1]);
    selector = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[EVENTS_MAX], event = {.events = EPOLLIN, .data.ptr = NULL};
    if (selector < 0 || epoll_ctl(selector, EPOLL_CTL_ADD, listener, &event) != 0) fail("epoll");
    while (true) {
        int ready = epoll_wait(selector, events, EVENTS_MAX, -1);
        if (ready < 0 && errno != EINTR) fail("epoll_wait");
        for (int place = 0; place < ready; place++) {
            struct connection *connection = events[place].data.ptr;
            if (!connection) {
                accept_all(listener);
                continue;
            }
            if (!connection->is_gone && events[place].events & EPOLLOUT) write_unsent(connection);
            if (!connection->is_gone && events[place].events & ~(uint32_t)EPOLLOUT) read_all(connection);
        }
        flush_rooms();
        forget_gone();
    }
}

#pragma once

// What Swift's Glibc module lacks on Linux: whole headers, GNU-only functions, macros and variadic calls.
// No feature-test macro is defined here: it would change the headers under every other module that includes them.

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

/// accept4(2), which glibc declares for _GNU_SOURCE only.
int clinux_accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

/// open(2) without its variadic mode.
int clinux_open(const char *path, int flags);

/// The C library's own text for an errno; static storage, safe on any thread, NULL when unknown.
const char *clinux_errno_text(int code);

/// Starts a thread. `cpu` < 0 leaves it unpinned, `stack_bytes` 0 takes the default. Returns an errno, 0 on success.
int clinux_thread_create(pthread_t *thread, size_t stack_bytes, int cpu, void *(*body)(void *), void *argument);

/// Names the calling thread; the kernel keeps 15 bytes. Returns an errno.
int clinux_thread_set_name(const char *name);

/// Reads the calling thread's name into `name` (16 bytes at least). Returns an errno.
int clinux_thread_get_name(char *name, size_t bytes);

/// The processor that runs the caller, or -1.
int clinux_current_cpu(void);

/// epoll_pwait2(2): epoll_wait(2) with a timeout in nanoseconds. Where the kernel lacks it (before 5.11) the timeout is rounded up to milliseconds.
int clinux_epoll_wait_nanoseconds(int epoll, struct epoll_event *events, int events_max, int64_t nanoseconds);

/// getrusage(2) of the calling thread.
int clinux_thread_usage(struct rusage *usage);

/// The head of Linux's `struct tcp_info` up to `tcpi_snd_wnd`; the layout is checked against <linux/tcp.h> when shim.c is compiled.
struct clinux_tcp_info {
    uint8_t state, ca_state, retransmits, probes, backoff, options, window_scales, flags;
    uint32_t rto, ato, snd_mss, rcv_mss;
    uint32_t unacked, sacked, lost, retrans, fackets;
    uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
    uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
    uint32_t rcv_rtt, rcv_space, total_retrans;
    uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
    uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
    uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
    uint32_t delivered, delivered_ce;
    uint64_t bytes_sent, bytes_retrans;
    uint32_t dsack_dups, reord_seen, rcv_ooopack, snd_wnd;
};

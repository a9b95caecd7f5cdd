#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int clinux_accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags) {
    return accept4(descriptor, address, length, flags);
}

int clinux_open(const char *path, int flags) {
    return open(path, flags);
}

const char *clinux_errno_text(int code) {
    return strerrordesc_np(code);
}

int clinux_thread_create(pthread_t *thread, size_t stack_bytes, int cpu, void *(*body)(void *), void *argument) {
    pthread_attr_t attributes;
    int fault = pthread_attr_init(&attributes);
    if (fault != 0) return fault;
    if (stack_bytes > 0) fault = pthread_attr_setstacksize(&attributes, stack_bytes);
    if (fault == 0 && cpu >= 0) {
        if (cpu >= CPU_SETSIZE) {
            fault = EINVAL;
        } else {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(cpu, &set);
            fault = pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
        }
    }
    if (fault == 0) fault = pthread_create(thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return fault;
}

int clinux_thread_set_name(const char *name) {
    char kept[16];
    strncpy(kept, name, sizeof kept - 1);
    kept[sizeof kept - 1] = 0;
    return pthread_setname_np(pthread_self(), kept);
}

int clinux_thread_get_name(char *name, size_t bytes) {
    return pthread_getname_np(pthread_self(), name, bytes);
}

int clinux_current_cpu(void) {
    return sched_getcpu();
}

int clinux_epoll_wait_nanoseconds(int epoll, struct epoll_event *events, int events_max, int64_t nanoseconds) {
#ifdef SYS_epoll_pwait2
    // The kernel's own structure: 64 bits on every machine.
    struct {
        int64_t seconds, nanoseconds;
    } timeout = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    int count = (int)syscall(SYS_epoll_pwait2, epoll, events, events_max, &timeout, NULL, 0);
    if (count >= 0 || errno != ENOSYS) return count;
#endif
    int64_t milliseconds = (nanoseconds + 999999) / 1000000;
    return epoll_wait(epoll, events, events_max, milliseconds > INT32_MAX ? INT32_MAX : (int)milliseconds);
}

int clinux_thread_usage(struct rusage *usage) {
    return getrusage(RUSAGE_THREAD, usage);
}

#define SAME(ours, theirs)                                                                                             \
    _Static_assert(offsetof(struct clinux_tcp_info, ours) == offsetof(struct tcp_info, theirs), #ours " is where the kernel puts it")

SAME(rto, tcpi_rto);
SAME(unacked, tcpi_unacked);
SAME(rtt, tcpi_rtt);
SAME(rttvar, tcpi_rttvar);
SAME(snd_cwnd, tcpi_snd_cwnd);
SAME(total_retrans, tcpi_total_retrans);
SAME(bytes_acked, tcpi_bytes_acked);
SAME(notsent_bytes, tcpi_notsent_bytes);
SAME(min_rtt, tcpi_min_rtt);
SAME(delivery_rate, tcpi_delivery_rate);
SAME(delivered, tcpi_delivered);
SAME(bytes_retrans, tcpi_bytes_retrans);
SAME(snd_wnd, tcpi_snd_wnd);

#pragma once

// Calls for network namespaces, TUN devices and short waits that Swift's Glibc module lacks: GNU-only functions and variadic ones.

#include <poll.h>
#include <stdint.h>

/// setns(2) for network namespaces. Moves the calling thread alone. Returns 0, or -1 with errno.
int cnamespaces_enter(int descriptor);

/// Makes the TUN device `name` (15 bytes at most) in the calling thread's namespace behind a descriptor of /dev/net/tun: whole IP packets without a header
/// before them. The device goes when the descriptor is closed. Returns 0, or -1 with errno.
int cnamespaces_attach_tun(int descriptor, const char *name);

/// ppoll(2) without a signal mask. `nanoseconds` < 0 waits for ever. Returns the number of ready descriptors, or -1 with errno.
int cnamespaces_poll(struct pollfd *descriptors, nfds_t count, int64_t nanoseconds);

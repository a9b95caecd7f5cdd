#define _GNU_SOURCE
#include "CNamespaces.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

int cnamespaces_enter(int descriptor) {
    return setns(descriptor, CLONE_NEWNET);
}

int cnamespaces_attach_tun(int descriptor, const char *name) {
    struct ifreq request;
    memset(&request, 0, sizeof request);
    if (strlen(name) >= sizeof request.ifr_name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(request.ifr_name, name);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    return ioctl(descriptor, TUNSETIFF, &request);
}

int cnamespaces_poll(struct pollfd *descriptors, nfds_t count, int64_t nanoseconds) {
    if (nanoseconds < 0) return ppoll(descriptors, count, NULL, NULL);
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    return ppoll(descriptors, count, &time, NULL);
}

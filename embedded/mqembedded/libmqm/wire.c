/* Frames over TCP in the format of wire/verbs.py. Like the rest of this library, only for little-endian hosts. */
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Definitions that macOS, or an older version of it, does not have. */
#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 0
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

#define HEADER_LENGTH 8
#define CONNECT_TIMEOUT_MS 5000

/* Seconds. IBM MQ's Connect_Timeout applies only to the socket (IBM MQ, "TCP stanza of the client configuration file"). If a
 * peer accepts the connection and then stays silent for this time, the call ends with MQRC_CONNECTION_BROKEN. This is our
 * choice, and has not been tried on IBM MQ. */
#ifndef SILENCE_TIMEOUT
#define SILENCE_TIMEOUT 60
#endif

/* The bytes that can be sent before an answer must be read. They are enough for a line with a long round trip, but so few that
 * the answers meanwhile fit into the socket's buffer. */
#define POSTED_WINDOW 256
#define POSTED_BYTES (4u * 1024 * 1024)
#define POSTED_ANSWER_LENGTH 8

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames and structures are little-endian");

/* The wires with a socket. A forked child closes its copies, even the socket of a connection that is being made. Sockets are
 * opened and closed only under the lock, so fork never comes between a socket and its entry. */
static pthread_mutex_t sockets_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wire *open_wires;

/* The thread that sends heartbeats, and the condition that wakes it when a wire gets heartbeats. sockets_lock guards both. */
static bool beating;
static pthread_cond_t heartbeats_changed;

void request_begin(struct request *request) {
    request->small_length = HEADER_LENGTH;
    request->piece_count = 1;
    request->body_length = 0;
}

static void put_small(struct request *request, const void *value, size_t length) {
    memcpy(request->small + request->small_length, value, length);
    request->small_length += length;
    request->body_length += length;
}

void request_i32(struct request *request, int32_t value) { put_small(request, &value, sizeof value); }

void request_i64(struct request *request, int64_t value) { put_small(request, &value, sizeof value); }

void request_blob(struct request *request, struct blob value) {
    if (value.length == 0) {
        return;
    }
    request->pieces[request->piece_count].iov_base = (void *)value.data;
    request->pieces[request->piece_count].iov_len = value.length;
    request->piece_count++;
    request->body_length += value.length;
}

static const uint8_t *take(struct reply *reply, size_t length) {
    if (reply->bad || (size_t)(reply->end - reply->at) < length) {
        reply->bad = true;
        return NULL;
    }
    const uint8_t *at = reply->at;
    reply->at += length;
    return at;
}

int32_t reply_i32(struct reply *reply) {
    int32_t value = 0;
    const uint8_t *at = take(reply, sizeof value);
    if (at != NULL) {
        memcpy(&value, at, sizeof value);
    }
    return value;
}

int64_t reply_i64(struct reply *reply) {
    int64_t value = 0;
    const uint8_t *at = take(reply, sizeof value);
    if (at != NULL) {
        memcpy(&value, at, sizeof value);
    }
    return value;
}

struct blob reply_blob(struct reply *reply, uint32_t length) {
    const uint8_t *at = take(reply, length);
    return (struct blob){at, at == NULL ? 0 : length};
}

bool reply_is_whole(const struct reply *reply, int32_t comp) {
    return !reply->bad && reply->at == reply->end && comp >= 0 && comp <= 2;
}

bool is_answer_to(struct blob sent, struct blob answered) {
    return answered.length == 0 ||
           (answered.length == sent.length && sent.length >= 8 && memcmp(answered.data, sent.data, 8) == 0);
}

void write_part(void *structure, struct blob answered, size_t at, size_t length) {
    if (answered.length > at) {
        size_t there = answered.length - at;
        memcpy((uint8_t *)structure + at, (const uint8_t *)answered.data + at, there < length ? there : length);
    }
}

/* Call connect(2) with a limit of CONNECT_TIMEOUT_MS. */
static bool connect_in_time(int fd, const struct sockaddr *address, socklen_t length) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        return false;
    }
    if (connect(fd, address, length) < 0) {
        if (errno != EINPROGRESS) {
            return false;
        }
        struct pollfd waiting = {.fd = fd, .events = POLLOUT};
        int ready;
        do {
            ready = poll(&waiting, 1, CONNECT_TIMEOUT_MS);
        } while (ready < 0 && errno == EINTR);
        int error = 0;
        socklen_t size = sizeof error;
        if (ready <= 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error != 0) {
            return false;
        }
    }
    return fcntl(fd, F_SETFL, flags) == 0;
}

static bool open_socket(struct wire *wire, const struct addrinfo *address) {
    pthread_mutex_lock(&sockets_lock);
    wire->fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
    bool opened = wire->fd >= 0;
    if (opened) {
        if (SOCK_CLOEXEC == 0) {
            fcntl(wire->fd, F_SETFD, FD_CLOEXEC);
        }
        wire->next_open = open_wires;
        open_wires = wire;
    }
    pthread_mutex_unlock(&sockets_lock);
    return opened;
}

static void close_socket(struct wire *wire) {
    pthread_mutex_lock(&sockets_lock);
    for (struct wire **link = &open_wires; *link != NULL; link = &(*link)->next_open) {
        if (*link == wire) {
            *link = wire->next_open;
            close(wire->fd);
            wire->fd = -1;
            break;
        }
    }
    pthread_mutex_unlock(&sockets_lock);
}

void wires_before_fork(void) { pthread_mutex_lock(&sockets_lock); }

void wires_after_fork_in_parent(void) { pthread_mutex_unlock(&sockets_lock); }

void wires_after_fork_in_child(void) {
    for (struct wire *one = open_wires; one != NULL; one = one->next_open) {
        close(one->fd);
        one->fd = -1;
    }
    open_wires = NULL;
    /* The child does not have the parent's threads. */
    beating = false;
    pthread_mutex_unlock(&sockets_lock);
}

void wire_init(struct wire *wire) {
    memset(wire, 0, sizeof *wire);
    wire->fd = -1;
    pthread_mutex_init(&wire->sending, NULL);
}

static void limit_silence(const struct wire *wire, int32_t seconds) {
    struct timeval limit = {.tv_sec = seconds};
    setsockopt(wire->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(wire->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool wire_connect(struct wire *wire, const char *host, const char *port) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        return false;
    }
    bool connected = false;
    for (struct addrinfo *one = found; one != NULL && !connected; one = one->ai_next) {
        if (open_socket(wire, one)) {
            connected = connect_in_time(wire->fd, one->ai_addr, one->ai_addrlen);
            if (!connected) {
                close_socket(wire);
            }
        }
    }
    freeaddrinfo(found);
    if (connected) {
        int on = 1;
        setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#ifdef SO_NOSIGPIPE
        setsockopt(wire->fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
        limit_silence(wire, SILENCE_TIMEOUT);
    }
    return connected;
}

static bool timed_out(void) { return errno == EAGAIN || errno == EWOULDBLOCK; }

static bool send_all(const struct wire *wire, struct iovec *pieces, int count) {
    while (count > 0) {
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
        ssize_t sent = sendmsg(wire->fd, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR || (wire->patient && timed_out())) {
                continue;
            }
            return false;
        }
        size_t left = (size_t)sent;
        while (count > 0 && left >= pieces->iov_len) {
            left -= pieces->iov_len;
            pieces++;
            count--;
        }
        if (count > 0) {
            pieces->iov_base = (uint8_t *)pieces->iov_base + left;
            pieces->iov_len -= left;
        }
    }
    return true;
}

static bool reserve(struct wire *wire, size_t capacity) {
    if (wire->capacity >= capacity) {
        return true;
    }
    uint8_t *grown = realloc(wire->body, capacity);
    if (grown == NULL) {
        return false;
    }
    wire->body = grown;
    wire->capacity = capacity;
    return true;
}

/* Receive until the frame that begins at `at` has `wanted` bytes in the buffer. */
static bool receive_until(struct wire *wire, size_t wanted) {
    if (wire->length - wire->at >= wanted) {
        return true;
    }
    memmove(wire->body, wire->body + wire->at, wire->length - wire->at);
    wire->length -= wire->at;
    wire->at = 0;
    if (!reserve(wire, wanted)) {
        return false;
    }
    while (wire->length < wanted) {
        ssize_t got = recv(wire->fd, wire->body + wire->length, wire->capacity - wire->length, 0);
        if (got < 0 && (errno == EINTR || (wire->patient && wire->length == 0 && timed_out()))) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        wire->length += (size_t)got;
    }
    return true;
}

/* Receive the next answer, which must answer a request with this code. */
static bool receive_answer(struct wire *wire, uint16_t code, struct reply *reply) {
    uint32_t body_length;
    uint16_t answered_code, answered_serial;
    for (;;) {
        if (!reserve(wire, 16384) || !receive_until(wire, HEADER_LENGTH)) {
            return false;
        }
        const uint8_t *header = wire->body + wire->at;
        memcpy(&body_length, header, 4);
        memcpy(&answered_code, header + 4, 2);
        memcpy(&answered_serial, header + 6, 2);
        if (wire->heartbeat == 0 || answered_code != wire->heartbeat || body_length != 0) {
            break;
        }
        wire->at += HEADER_LENGTH;
        wire_notify(wire, wire->heartbeat);
    }
    if (body_length > WIRE_MAX_BODY || answered_code != code || answered_serial != (uint16_t)(wire->answered + 1)) {
        return false;
    }
    size_t whole = HEADER_LENGTH + (size_t)body_length;
    if (!receive_until(wire, whole)) {
        return false;
    }
    wire->answered++;
    *reply = (struct reply){wire->body + wire->at + HEADER_LENGTH, wire->body + wire->at + whole, false};
    wire->at += whole;
    return true;
}

static bool send_request(struct wire *wire, uint16_t code, struct request *request) {
    if (wire->fd < 0 || request->body_length > WIRE_MAX_BODY) {
        return false;
    }
    uint32_t body_length = (uint32_t)request->body_length;
    uint16_t serial = ++wire->serial;
    memcpy(request->small, &body_length, 4);
    memcpy(request->small + 4, &code, 2);
    memcpy(request->small + 6, &serial, 2);
    request->pieces[0].iov_base = request->small;
    request->pieces[0].iov_len = request->small_length;
    pthread_mutex_lock(&wire->sending);
    bool sent = send_all(wire, request->pieces, request->piece_count);
    pthread_mutex_unlock(&wire->sending);
    return sent;
}

/* Receive answers to posted requests, until at most `left` requests are unanswered. */
static bool collect(struct wire *wire, uint16_t left) {
    struct reply reply;
    while ((uint16_t)(wire->serial - wire->answered) > left) {
        if (!receive_answer(wire, wire->posted, &reply) || reply.end - reply.at != POSTED_ANSWER_LENGTH) {
            return false;
        }
    }
    return true;
}

bool wire_call(struct wire *wire, uint16_t code, struct request *request, struct reply *reply) {
    wire->posted_bytes = 0;
    /* A peer that sends more than one answer to a request cannot be trusted. */
    return send_request(wire, code, request) && collect(wire, 1) && receive_answer(wire, code, reply) &&
           wire->at == wire->length;
}

bool wire_post(struct wire *wire, uint16_t code, struct request *request) {
    if (wire->fd < 0) {
        return false;
    }
    wire->posted = code;
    uint16_t left = POSTED_WINDOW - 1;
    if (wire->posted_bytes > POSTED_BYTES) {
        wire->posted_bytes = left = 0;
    }
    wire->posted_bytes += request->body_length;
    return collect(wire, left) && send_request(wire, code, request);
}

void wire_notify(struct wire *wire, uint16_t code) {
    uint8_t header[HEADER_LENGTH] = {0};
    memcpy(header + 4, &code, 2);
    struct iovec piece = {.iov_base = header, .iov_len = sizeof header};
    pthread_mutex_lock(&wire->sending);
    /* If the connection is lost, the waiting call notices. */
    (void)send_all(wire, &piece, 1);
    pthread_mutex_unlock(&wire->sending);
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Send a heartbeat, except if another frame is being sent (the peer gets data anyway) or the socket's buffer is full (the peer
 * does not read). */
static void send_heartbeat(struct wire *wire) {
    if (pthread_mutex_trylock(&wire->sending) != 0) {
        return;
    }
    uint8_t header[HEADER_LENGTH] = {0};
    memcpy(header + 4, &wire->heartbeat, 2);
    ssize_t sent = send(wire->fd, header, sizeof header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0 && sent < (ssize_t)sizeof header) {
        shutdown(wire->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&wire->sending);
}

/* Make heartbeats_changed, and wait for it by the monotonic clock, which conditions on macOS do not support. */
#ifdef __APPLE__
static void init_heartbeats_changed(void) { pthread_cond_init(&heartbeats_changed, NULL); }

static void wait_until(int64_t at_ms) {
    int64_t left_ms = at_ms - now_ms();
    left_ms = left_ms > 0 ? left_ms : 0;
    struct timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};
    pthread_cond_timedwait_relative_np(&heartbeats_changed, &sockets_lock, &left);
}
#else
static void init_heartbeats_changed(void) {
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&heartbeats_changed, &clock);
    pthread_condattr_destroy(&clock);
}

static void wait_until(int64_t at_ms) {
    struct timespec until = {.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000};
    pthread_cond_timedwait(&heartbeats_changed, &sockets_lock, &until);
}
#endif

static void *beat(void *unused) {
    (void)unused;
    pthread_mutex_lock(&sockets_lock);
    for (;;) {
        int64_t now = now_ms(), next = INT64_MAX;
        for (struct wire *one = open_wires; one != NULL; one = one->next_open) {
            if (one->interval_ms == 0) {
                continue;
            }
            if (one->next_heartbeat_ms <= now) {
                send_heartbeat(one);
                one->next_heartbeat_ms = now + one->interval_ms;
            }
            if (one->next_heartbeat_ms < next) {
                next = one->next_heartbeat_ms;
            }
        }
        if (next == INT64_MAX) {
            pthread_cond_wait(&heartbeats_changed, &sockets_lock);
        } else {
            wait_until(next);
        }
    }
    return NULL;
}

/* Start the thread, with sockets_lock held. The thread blocks signals, so that the application's threads get them. */
static bool start_beating(void) {
    init_heartbeats_changed();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    bool started = pthread_create(&thread, NULL, beat, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        pthread_detach(thread);
    }
    return started;
}

/* "If HBINT is less than 60, twice this value; otherwise 60 seconds more" (IBM MQ, "Receive timeout"; APAR IT26614). */
static int32_t receive_timeout(int32_t interval_s) { return interval_s < 60 ? 2 * interval_s : interval_s + 60; }

bool wire_heartbeats(struct wire *wire, uint16_t code, int32_t interval_s, bool always) {
    wire->patient = interval_s == 0;
    if (wire->patient) {
        return true;
    }
    wire->heartbeat = code;
    limit_silence(wire, receive_timeout(interval_s));
    if (!always) {
        return true;
    }
    pthread_mutex_lock(&sockets_lock);
    beating = beating || start_beating();
    bool done = beating;
    if (done) {
        wire->interval_ms = (int64_t)interval_s * 1000;
        wire->next_heartbeat_ms = now_ms() + wire->interval_ms;
        pthread_cond_signal(&heartbeats_changed);
    }
    pthread_mutex_unlock(&sockets_lock);
    return done;
}

void wire_close(struct wire *wire) {
    close_socket(wire);
    free(wire->body);
    wire->body = NULL;
    wire->capacity = wire->at = wire->length = 0;
}

void wire_destroy(struct wire *wire) { pthread_mutex_destroy(&wire->sending); }

/* Fields and frames. verbs.h, which is generated from wire/verbs.py, calls these functions; nothing here knows a verb. */
#ifndef MQEMBEDDED_WIRE_H
#define MQEMBEDDED_WIRE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define WIRE_MAX_BODY (128u * 1024 * 1024)
#define WIRE_MAX_FIELDS 16

/* Bytes that belong to somebody else. */
struct blob {
    const void *data;
    uint32_t length;
};

/* One TCP connection to a queue manager; `fd` is -1 if there is none. Received bytes stay in `body` until the next call. Must
 * not move while it is open. */
struct wire {
    struct wire *next_open;
    int fd;
    uint16_t serial;   /* of the last request */
    uint16_t answered; /* of the last answer */
    uint16_t posted;   /* the code of posted requests whose answers have not been read yet */
    uint64_t posted_bytes;
    uint8_t *body;
    size_t capacity;
    size_t at; /* where the next frame begins */
    size_t length;
    bool patient;
    uint16_t heartbeat;      /* the code of heartbeats; 0 if none flow */
    int64_t interval_ms;     /* how often this side sends one of its own accord; 0 if it only answers them */
    int64_t next_heartbeat_ms;
    pthread_mutex_t sending; /* so that wire_notify does not cut a request in two */
};

/* A request that is being built. The header and all numbers are copied to `small`, the first piece; blobs are pointers only. */
struct request {
    uint8_t small[8 + WIRE_MAX_FIELDS * 8];
    size_t small_length;
    struct iovec pieces[WIRE_MAX_FIELDS + 1];
    int piece_count;
    uint64_t body_length;
};

/* The body of a reply that is being read. `bad` is set if a field was cut short. */
struct reply {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

/* All numbers, including the length of each blob, come before all blobs. */
void request_begin(struct request *request);
void request_i32(struct request *request, int32_t value);
void request_i64(struct request *request, int64_t value);
void request_blob(struct request *request, struct blob value);

int32_t reply_i32(struct reply *reply);
int64_t reply_i64(struct reply *reply);
struct blob reply_blob(struct reply *reply, uint32_t length);

/* Whether the reply had its fields and nothing else, and `comp` is a completion code. */
bool reply_is_whole(const struct reply *reply, int32_t comp);

/* Whether a structure may be the answer to the one that was sent: it is empty; or it has the same length, StrucId and Version,
 * which say how much room the caller has. */
bool is_answer_to(struct blob sent, struct blob answered);

/* Copy `length` bytes at an offset of a returned structure to the caller's structure, as far as the returned one has them. */
void write_part(void *structure, struct blob answered, size_t at, size_t length);

void wire_init(struct wire *wire);

/* Connect to host and port (numbers or names), trying every address; false if none answers. */
bool wire_connect(struct wire *wire, const char *host, const char *port);

/* Send a request and receive its reply. False if the connection is lost, or the peer sends anything but a reply to it. */
bool wire_call(struct wire *wire, uint16_t code, struct request *request, struct reply *reply);

/* Send a request without waiting for its answer. If too many are unanswered, it first waits for some answers. The content of
 * the answers is ignored, but they must be answers. A later wire_call is answered after them. */
bool wire_post(struct wire *wire, uint16_t code, struct request *request);

/* Send a frame without a body, which is not answered. May be called while another thread is in wire_call, as long as that
 * thread keeps the wire open. */
void wire_notify(struct wire *wire, uint16_t code);

/* Both ends have agreed on heartbeats: frames of this code without a body, which may come before any answer. From now on a
 * silence of more than `interval_s` (receive_timeout in wire.c) means that the connection is lost. `always`: this side sends
 * heartbeats whatever the application does; otherwise it only answers them. With an interval of 0 there are no heartbeats, and
 * answers may take their time to begin.
 *
 * Before this call, and without heartbeats in the middle of any answer, a silence of SILENCE_TIMEOUT seconds means that the
 * connection is lost. False if no thread can be started. */
bool wire_heartbeats(struct wire *wire, uint16_t code, int32_t interval_s, bool always);

void wire_close(struct wire *wire);

/* Only for a closed wire. */
void wire_destroy(struct wire *wire);

/* For pthread_atfork: the child closes the socket of every wire, in use or not. */
void wires_before_fork(void);
void wires_after_fork_in_parent(void);
void wires_after_fork_in_child(void);

#endif

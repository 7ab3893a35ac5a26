/* Fields and frames, for verbs.h, which is generated from wire/verbs.py. */
#ifndef MQEMBEDDED_WIRE_H
#define MQEMBEDDED_WIRE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define WIRE_MAX_BODY (128u * 1024 * 1024)
#define WIRE_MAX_FIELDS 16

/* Bytes that belong to another owner. */
struct blob {
    const void *data;
    uint32_t length;
};

/* A TCP connection to a queue manager. `fd` is -1 if there is no connection. Received bytes stay in `body` until the next call.
 * An open wire must not move in memory. */
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
    uint16_t heartbeat;      /* the code of heartbeats; 0 without heartbeats */
    int64_t interval_ms;     /* the interval at which this side sends heartbeats; 0 if it only answers them */
    int64_t next_heartbeat_ms;
    pthread_mutex_t sending; /* guards sending, so that wire_notify does not split a request */
};

/* A request that is being built. Header and numbers are copied to `small`, the first piece. Blobs are pointers. */
struct request {
    uint8_t small[8 + WIRE_MAX_FIELDS * 8];
    size_t small_length;
    struct iovec pieces[WIRE_MAX_FIELDS + 1];
    int piece_count;
    uint64_t body_length;
};

/* The body of a reply that is being read. `bad` is set if a field was cut. */
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

/* Whether the reply had exactly its fields, and `comp` is a completion code. */
bool reply_is_whole(const struct reply *reply, int32_t comp);

/* Whether `answered` can be the answer to the structure `sent`. It is empty, or has the same length, StrucId and Version, so
 * that it fits into the caller's structure. */
bool is_answer_to(struct blob sent, struct blob answered);

/* Copy at most `length` bytes at an offset of a returned structure to the caller's structure. */
void write_part(void *structure, struct blob answered, size_t at, size_t length);

void wire_init(struct wire *wire);

/* Connect to host and port (numbers or names). Every address of the host is tried. False if no address answers. */
bool wire_connect(struct wire *wire, const char *host, const char *port);

/* Send a request and receive its reply. False if the connection is lost, or the peer sends an unexpected frame. */
bool wire_call(struct wire *wire, uint16_t code, struct request *request, struct reply *reply);

/* Send a request without waiting for its answer. If too many requests are unanswered, first wait for some answers. The content
 * of these answers is ignored. A later wire_call gets its answer after them. */
bool wire_post(struct wire *wire, uint16_t code, struct request *request);

/* Send a frame without body and answer. The caller can do this while another thread is in wire_call and keeps the wire open. */
void wire_notify(struct wire *wire, uint16_t code);

/* Start the heartbeats that both ends have agreed on. They are frames with this code and no body, which can come before any
 * answer. From now on, the connection is lost after a silence that is too long for `interval_s` (receive_timeout in wire.c).
 * With `always`, this side sends heartbeats at any time, otherwise it only answers them. With an interval of 0 there are no
 * heartbeats, and an answer can begin at any time.
 *
 * Before this call, the connection is lost after a silence of SILENCE_TIMEOUT seconds. Without heartbeats, this also holds in
 * the middle of an answer. False if no thread can be started. */
bool wire_heartbeats(struct wire *wire, uint16_t code, int32_t interval_s, bool always);

void wire_close(struct wire *wire);

/* Call this only for a closed wire. */
void wire_destroy(struct wire *wire);

/* The handlers for pthread_atfork. The child closes the socket of every wire, in use or not. */
void wires_before_fork(void);
void wires_after_fork_in_parent(void);
void wires_after_fork_in_child(void);

#endif

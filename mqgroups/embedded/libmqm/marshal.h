/* What every verb does: gather arguments for the call that verbs.h was generated for, and copy back what its answer holds.
 * Structures travel as long as their Version says and come back in place. Nothing is decided here. */
#ifndef MQGROUPS_MARSHAL_H
#define MQGROUPS_MARSHAL_H

#include <cmqc.h>

#include <string.h>

#include "connection.h"
#include "verbs.h"
#include "wire.h"

#define EXPORTED __attribute__((visibility("default")))

/* The longest data of a call: more than the 100 MB of IBM MQ's longest message, with room for its structures in a frame. */
#define MAX_DATA ((MQLONG)(WIRE_MAX_BODY - 1024 * 1024))

static inline struct blob bytes(const void *data, size_t length) {
    return (struct blob){data, data == NULL ? 0 : (uint32_t)length};
}

/* A character field, up to its first NUL and without the blanks that pad it. */
static inline struct blob name(const char *field, size_t length) {
    length = strnlen(field, length);
    while (length > 0 && field[length - 1] == ' ') {
        length--;
    }
    return bytes(field, length);
}

/* A structure as long as its Version says; nothing at all for a NULL pointer. */
static inline struct blob structure(const void *data, uint32_t (*length_of)(const void *structure)) {
    return data == NULL ? bytes(NULL, 0) : bytes(data, length_of(data));
}

static inline void write_back(void *structure, struct blob sent, struct blob answered) {
    if (sent.length > 0 && answered.length == sent.length) {
        memcpy(structure, answered.data, answered.length);
    }
}

/* The frame of every call on a connection: reserve it, run `call`, give the codes back. `call` is an expression that is
 * false when the wire failed. */
#define WITH_CONNECTION(hconn, comp, reason, call)                       \
    do {                                                                 \
        struct connection *reserved = connection_enter((hconn), (reason)); \
        if (reserved == NULL) {                                          \
            *(comp) = MQCC_FAILED;                                       \
        } else {                                                         \
            struct wire *wire = connection_wire(reserved);               \
            bool answered = (call);                                      \
            if (!answered) {                                             \
                *(comp) = MQCC_FAILED;                                   \
                *(reason) = MQRC_CONNECTION_BROKEN;                      \
            }                                                            \
            connection_leave(reserved, !answered);                       \
        }                                                                \
    } while (0)

/* What a pointer or, where it is NULL, an offset from the structure's start leads to; NULL for neither. */
static inline const uint8_t *pointed_at(const void *structure, const void *pointer, MQLONG offset) {
    if (pointer != NULL) {
        return pointer;
    }
    return offset != 0 ? (const uint8_t *)structure + offset : NULL;
}

static inline bool fail(MQLONG code, PMQLONG comp, PMQLONG reason) {
    *comp = MQCC_FAILED;
    *reason = code;
    return false;
}

#endif

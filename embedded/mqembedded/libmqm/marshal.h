/* What every verb does: it gathers the arguments for its generated call (verbs.h), and copies the answer to the caller.
 * Structures are sent with the length of their Version, and returned in place. The queue manager decides everything.
 *
 * A reply is not trusted. The library knows before the call where it can write, and how many bytes. The lengths in a reply must
 * agree with the received bytes, otherwise the call ends with MQRC_CONNECTION_BROKEN. */
#ifndef MQEMBEDDED_MARSHAL_H
#define MQEMBEDDED_MARSHAL_H

#include <cmqc.h>

#include <string.h>

#include "connection.h"
#include "verbs.h"
#include "wire.h"

#define EXPORTED __attribute__((visibility("default")))

/* The longest data of a call. It is more than the 100 MB of IBM MQ's longest message, and leaves room for structures in a frame.
 * */
#define MAX_DATA ((MQLONG)(WIRE_MAX_BODY - 1024 * 1024))

static inline struct blob bytes(const void *data, size_t length) {
    return (struct blob){data, data == NULL ? 0 : (uint32_t)length};
}

/* A character field, up to its first NUL and without padding blanks. */
static inline struct blob name(const char *field, size_t length) {
    length = strnlen(field, length);
    while (length > 0 && field[length - 1] == ' ') {
        length--;
    }
    return bytes(field, length);
}

/* A structure with the length of its Version, or an empty blob for a NULL pointer. */
static inline struct blob structure(const void *data, uint32_t (*length_of)(const void *structure)) {
    return data == NULL ? bytes(NULL, 0) : bytes(data, length_of(data));
}

/* The frame of every call on a connection: reserve the connection, run `call`, return the codes. `call` is an expression that
 * uses the connection `reserved` and its `wire`, and is false if the wire failed. */
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

/* The place that a pointer or, if it is NULL, an offset from the structure's start leads to. NULL if there is neither. */
static inline const uint8_t *pointed_at(const void *structure, const void *pointer, MQLONG offset) {
    if (pointer != NULL) {
        return pointer;
    }
    return offset != 0 ? (const uint8_t *)structure + offset : NULL;
}

/* The longest text of an MQCHARV in MQOD or MQSD, and the offsets of the MQCHARVs in their structures. The structures can have
 * any alignment, so an MQCHARV is copied before it is read. */
#define MAX_CHARV 10240
#define OD_OBJECT_STRING 344
#define OD_RES_OBJECT_STRING 392
#define SD_OBJECT_STRING 120
#define SD_SUB_NAME 144
#define SD_SUB_USER_DATA 168
#define SD_RES_OBJECT_STRING 320
#define STS_OBJECT_STRING 224
#define STS_SUB_NAME 248

/* The text of an MQCHARV, whose offset counts from `structure`. A text that is too long or has no end is cut to one byte more
 * than allowed, so that the queue manager notices that it is too long. */
static inline struct blob charv_text(const void *structure, const MQCHARV *value, size_t longest) {
    const char *text = (const char *)pointed_at(structure, value->VSPtr, value->VSOffset);
    if (text == NULL) {
        return bytes(NULL, 0);
    }
    if (value->VSLength == MQVS_NULL_TERMINATED) {
        return bytes(text, strnlen(text, longest + 1));
    }
    if (value->VSLength < 0) {
        return bytes(NULL, 0);
    }
    return bytes(text, (size_t)value->VSLength <= longest ? (size_t)value->VSLength : longest + 1);
}

/* The text of the MQCHARV at an offset in `sent`, or an empty text if the structure is too short. */
static inline struct blob text_in(struct blob sent, size_t offset) {
    MQCHARV value;
    if (sent.length < offset + sizeof value) {
        return bytes(NULL, 0);
    }
    memcpy(&value, (const uint8_t *)sent.data + offset, sizeof value);
    return charv_text(sent.data, &value, MAX_CHARV);
}

/* The place for a returned text, from the MQCHARV at an offset of a structure before the call. */
struct room {
    size_t offset;
    void *at; /* NULL if the caller gave no buffer */
    uint32_t length;
    int32_t said; /* VSLength */
};

static inline struct room room_in(struct blob sent, size_t offset) {
    MQCHARV value;
    if (sent.length < offset + sizeof value) {
        return (struct room){offset, NULL, 0, 0};
    }
    memcpy(&value, (const uint8_t *)sent.data + offset, sizeof value);
    void *at = (void *)pointed_at(sent.data, value.VSPtr, value.VSOffset);
    return (struct room){offset, at, at != NULL && value.VSBufSize > 0 ? (uint32_t)value.VSBufSize : 0, value.VSLength};
}

/* Whether a text has the length that VSLength of the returned structure gives, or fills a shorter buffer. An empty text with an
 * unchanged VSLength is correct, too. */
static inline bool text_fits(struct room room, struct blob answered, struct blob text) {
    int32_t length = room.said;
    if (answered.length >= room.offset + sizeof(MQCHARV)) {
        memcpy(&length, (const uint8_t *)answered.data + room.offset + offsetof(MQCHARV, VSLength), sizeof length);
    }
    if (text.length == 0 && length == room.said) {
        return true;
    }
    return length >= 0 && text.length == ((uint32_t)length < room.length ? (uint32_t)length : room.length);
}

/* Call this only for a text that has passed text_fits. */
static inline void write_text(struct room room, struct blob text) {
    if (text.length > 0) {
        memcpy(room.at, text.data, text.length);
    }
}

/* Whether `came` is the length of the whole data, or of a shorter buffer. */
static inline bool is_cut_to(uint32_t came, MQLONG whole, MQLONG room) {
    MQLONG most = room > 0 ? room : 0;
    return whole >= 0 && came == (uint32_t)(whole < most ? whole : most);
}

/* The ObjectString of an MQOD. Only topics use it. Programs that open queues need not set it. */
static inline struct blob object_string(struct blob od) {
    MQLONG type = 0;
    if (od.length >= 12) {
        memcpy(&type, (const uint8_t *)od.data + 8, sizeof type);
    }
    return type == MQOT_TOPIC ? text_in(od, OD_OBJECT_STRING) : bytes(NULL, 0);
}

static inline bool fail(MQLONG code, PMQLONG comp, PMQLONG reason) {
    *comp = MQCC_FAILED;
    *reason = code;
    return false;
}

#endif

/* Asynchronous puts: the client makes the identifiers, fills in the fields that it knows, sends the message, and continues. */
#include "asynchronous.h"

#include <stdlib.h>
#include <string.h>

#include "marshal.h"

/* Offsets in MQMD and MQPMO. */
#define MD_MSG_ID 48
#define MD_CORREL_ID 72
#define MD_CONTEXT 240
#define MD_CONTEXT_LENGTH 64
#define MD_APPL_ORIGIN_DATA 320
#define PMO_OPTIONS 8
#define PMO_RECS_PRESENT 128
#define PMO_MSG_HANDLES 160
#define PMO_MSG_HANDLES_LENGTH 20 /* with Action */

/* A put with any other option waits. */
#define SIMPLE                                                                                                           \
    (MQPMO_SYNCPOINT | MQPMO_NO_SYNCPOINT | MQPMO_DEFAULT_CONTEXT | MQPMO_NEW_MSG_ID | MQPMO_NEW_CORREL_ID |            \
     MQPMO_FAIL_IF_QUIESCING | MQPMO_LOGICAL_ORDER | MQPMO_ASYNC_RESPONSE | MQPMO_RESOLVE_LOCAL_Q)

/* --- handles */

void asynchronous_destroy(struct asynchronous *asynchronous) { free(asynchronous->outputs); }

/* The index of a handle among the outputs, or the index where a new handle belongs. */
static size_t place_of(const struct asynchronous *asynchronous, MQHOBJ hobj) {
    size_t low = 0, high = asynchronous->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (asynchronous->outputs[middle].hobj < hobj) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_output(const struct asynchronous *asynchronous, size_t place, MQHOBJ hobj) {
    return place < asynchronous->count && asynchronous->outputs[place].hobj == hobj;
}

void asynchronous_opened(struct asynchronous *asynchronous, MQHOBJ hobj, MQLONG response) {
    size_t place = place_of(asynchronous, hobj);
    if ((response != MQPRT_SYNC_RESPONSE && response != MQPRT_ASYNC_RESPONSE) || is_output(asynchronous, place, hobj)) {
        return;
    }
    if (asynchronous->count == asynchronous->capacity) {
        size_t capacity = asynchronous->capacity == 0 ? 8 : 2 * asynchronous->capacity;
        struct output *grown = realloc(asynchronous->outputs, capacity * sizeof *grown);
        if (grown == NULL) {
            /* Puts with this handle will wait. */
            return;
        }
        asynchronous->outputs = grown;
        asynchronous->capacity = capacity;
    }
    struct output *here = asynchronous->outputs + place;
    memmove(here + 1, here, (asynchronous->count - place) * sizeof *here);
    *here = (struct output){hobj, response};
    asynchronous->count++;
}

void asynchronous_closed(struct asynchronous *asynchronous, MQHOBJ hobj) {
    size_t place = place_of(asynchronous, hobj);
    if (is_output(asynchronous, place, hobj)) {
        struct output *here = asynchronous->outputs + place;
        asynchronous->count--;
        memmove(here, here + 1, (asynchronous->count - place) * sizeof *here);
    }
}

/* --- puts */

static MQLONG options_of(struct blob pmo) {
    MQLONG options;
    memcpy(&options, (const uint8_t *)pmo.data + PMO_OPTIONS, sizeof options);
    return options;
}

/* Whether all bytes of a field are zero, or the structure is too short to have the field. */
static bool is_unset(struct blob structure, size_t at, size_t length) {
    static const uint8_t zeros[IDENTIFIER_LENGTH];
    return structure.length < at + length || memcmp((const uint8_t *)structure.data + at, zeros, length) == 0;
}

bool asynchronous_is_eligible(const struct asynchronous *asynchronous, MQHOBJ hobj, struct blob md, struct blob pmo) {
    size_t place = place_of(asynchronous, hobj);
    if (!is_output(asynchronous, place, hobj) || !is_MQMD(md) || !is_MQPMO(pmo)) {
        return false;
    }
    MQLONG options = options_of(pmo);
    bool asked = options & MQPMO_ASYNC_RESPONSE || asynchronous->outputs[place].response == MQPRT_ASYNC_RESPONSE;
    bool both_syncpoints = options & MQPMO_SYNCPOINT && options & MQPMO_NO_SYNCPOINT;
    return asked && !(options & ~SIMPLE) && !both_syncpoints && is_unset(pmo, PMO_RECS_PRESENT, sizeof(MQLONG)) &&
           is_unset(pmo, PMO_MSG_HANDLES, PMO_MSG_HANDLES_LENGTH);
}

/* Get a new block of identifiers if none are left. False if the wire failed, or the answer is malformed. */
static bool have_identifiers(struct asynchronous *asynchronous, struct wire *wire, PMQLONG comp, PMQLONG reason) {
    if (asynchronous->left > 0) {
        return true;
    }
    struct answer_IDENTIFIERS answer;
    if (!call_IDENTIFIERS(wire, comp, reason, &answer)) {
        return false;
    }
    if (*comp != MQCC_OK) {
        return true;
    }
    if (answer.first.length != IDENTIFIER_LENGTH || answer.context.length != CONTEXT_LENGTH || answer.count <= 0 ||
        answer.at < 0 || answer.at > (MQLONG)(IDENTIFIER_LENGTH - sizeof(uint64_t))) {
        return false;
    }
    memcpy(asynchronous->identifier, answer.first.data, IDENTIFIER_LENGTH);
    memcpy(asynchronous->context, answer.context.data, CONTEXT_LENGTH);
    asynchronous->at = answer.at;
    asynchronous->left = answer.count;
    return true;
}

/* Take the next identifier, whose number is big-endian. */
static void take_identifier(struct asynchronous *asynchronous, uint8_t *field) {
    memcpy(field, asynchronous->identifier, IDENTIFIER_LENGTH);
    uint8_t *number = asynchronous->identifier + asynchronous->at;
    for (int i = (int)sizeof(uint64_t) - 1; i >= 0 && ++number[i] == 0; i--) {
    }
    asynchronous->left--;
}

bool asynchronous_put(struct asynchronous *asynchronous, struct wire *wire, MQHOBJ hobj, void *md_structure, struct blob md,
                      struct blob pmo, struct blob data, PMQLONG comp, PMQLONG reason) {
    MQMD sent_md;
    MQPMO sent_pmo;
    memcpy(&sent_md, md.data, md.length);
    memcpy(&sent_pmo, pmo.data, pmo.length);
    uint8_t *fields = (uint8_t *)&sent_md;
    MQLONG options = options_of(pmo);
    bool makes[] = {options & MQPMO_NEW_MSG_ID || is_unset(md, MD_MSG_ID, IDENTIFIER_LENGTH), options & MQPMO_NEW_CORREL_ID};
    static const size_t offsets[] = {MD_MSG_ID, MD_CORREL_ID};
    *comp = MQCC_OK;
    *reason = MQRC_NONE;
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        if (makes[i] || asynchronous->left == 0) {
            if (!have_identifiers(asynchronous, wire, comp, reason)) {
                return false;
            }
            if (*comp != MQCC_OK) {
                return true;
            }
        }
        if (makes[i]) {
            take_identifier(asynchronous, fields + offsets[i]);
        }
    }
    /* The identifiers are already made, so the queue manager must not make them. */
    options &= ~(MQPMO_NEW_MSG_ID | MQPMO_NEW_CORREL_ID);
    memcpy((uint8_t *)&sent_pmo + PMO_OPTIONS, &options, sizeof options);
    if (!post_ASYNC_PUT(wire, hobj, bytes(&sent_md, md.length), bytes(&sent_pmo, pmo.length), data)) {
        return false;
    }
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        memcpy((uint8_t *)md_structure + offsets[i], fields + offsets[i], IDENTIFIER_LENGTH);
    }
    memcpy((uint8_t *)md_structure + MD_CONTEXT, asynchronous->context, MD_CONTEXT_LENGTH);
    memcpy((uint8_t *)md_structure + MD_APPL_ORIGIN_DATA, asynchronous->context + MD_CONTEXT_LENGTH,
           CONTEXT_LENGTH - MD_CONTEXT_LENGTH);
    return true;
}

/* Puts that do not wait for their answer: with MQPMO_ASYNC_RESPONSE, or to a queue with DEFPRESP(ASYNC). The queue manager keeps
 * their outcome for MQSTAT. */
#ifndef MQEMBEDDED_ASYNCHRONOUS_H
#define MQEMBEDDED_ASYNCHRONOUS_H

#include <cmqc.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define IDENTIFIER_LENGTH 24
#define CONTEXT_LENGTH 68

/* An object handle for puts, and the MQPRT_* value of its queue. */
struct output {
    MQHOBJ hobj;
    MQLONG response;
};

/* The asynchronous puts of a connection. Only the thread that has reserved the connection can use it. */
struct asynchronous {
    struct output *outputs; /* ascending by handle */
    size_t count, capacity;
    uint8_t identifier[IDENTIFIER_LENGTH]; /* the next identifier */
    MQLONG at, left;                       /* the offset of its number, and how many identifiers are left */
    uint8_t context[CONTEXT_LENGTH];       /* ApplIdentityData, PutApplType, PutApplName, ApplOriginData */
};

void asynchronous_destroy(struct asynchronous *asynchronous);

/* Call this after MQOPEN with the answer's put_response, and after MQCLOSE. */
void asynchronous_opened(struct asynchronous *asynchronous, MQHOBJ hobj, MQLONG response);
void asynchronous_closed(struct asynchronous *asynchronous, MQHOBJ hobj);

/* Whether an MQPUT is asynchronous and need not wait. The library sends other asynchronous puts like synchronous puts ("if a
 * message is not eligible for asynchronous put": IBM MQ, "Using asynchronous put in a client application"). These are puts with
 * context, message handles or records, and puts with an error in handle, structures or options, which is returned at once. IBM
 * does not document which messages are eligible. */
bool asynchronous_is_eligible(const struct asynchronous *asynchronous, MQHOBJ hobj, struct blob md, struct blob pmo);

/* Make such an MQPUT. As "MQPMO options" documents, it returns four fields of context, and MsgId and CorrelId if the client made
 * them. False if the wire failed. */
bool asynchronous_put(struct asynchronous *asynchronous, struct wire *wire, MQHOBJ hobj, void *md_structure, struct blob md,
                      struct blob pmo, struct blob data, PMQLONG comp, PMQLONG reason);

#endif

/* Puts that do not wait for their answer: MQPMO_ASYNC_RESPONSE, or a queue whose DEFPRESP is ASYNC. What becomes of them the
 * queue manager keeps for MQSTAT. */
#ifndef MQGROUPS_ASYNCHRONOUS_H
#define MQGROUPS_ASYNCHRONOUS_H

#include <cmqc.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define IDENTIFIER_LENGTH 24
#define CONTEXT_LENGTH 68

/* An object handle that messages can be put with, and MQPRT_* of its queue. */
struct output {
    MQHOBJ hobj;
    MQLONG response;
};

/* What belongs to a connection, for who has reserved it. */
struct asynchronous {
    struct output *outputs; /* ascending by handle */
    size_t count, capacity;
    uint8_t identifier[IDENTIFIER_LENGTH]; /* the next one */
    MQLONG at, left;                       /* where its number is, and how many there are */
    uint8_t context[CONTEXT_LENGTH];       /* ApplIdentityData, PutApplType, PutApplName, ApplOriginData */
};

void asynchronous_destroy(struct asynchronous *asynchronous);

/* After MQOPEN: the answer's put_response; after MQCLOSE. */
void asynchronous_opened(struct asynchronous *asynchronous, MQHOBJ hobj, MQLONG response);
void asynchronous_closed(struct asynchronous *asynchronous, MQHOBJ hobj);

/* Whether an MQPUT is asynchronous and of the kind that need not wait. The others are put synchronously ("if a message is not
 * eligible for asynchronous put", topic q027340): those with context, message handles or records, and whatever is wrong with
 * handle, structures or options, so that it is told at once. Which messages IBM MQ finds eligible is not documented. */
bool asynchronous_is_eligible(const struct asynchronous *asynchronous, MQHOBJ hobj, struct blob md, struct blob pmo);

/* Make such an MQPUT. What comes back is what topic "MQPMO options" (q098730) promises: four fields of context, MsgId and
 * CorrelId where they were to be made. False when the wire failed. */
bool asynchronous_put(struct asynchronous *asynchronous, struct wire *wire, MQHOBJ hobj, void *md_structure, struct blob md,
                      struct blob pmo, struct blob data, PMQLONG comp, PMQLONG reason);

#endif

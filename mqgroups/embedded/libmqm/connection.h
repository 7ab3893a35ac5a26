/* Connection handles: what belongs to this process alone and so cannot be the queue manager's business. */
#ifndef MQGROUPS_CONNECTION_H
#define MQGROUPS_CONNECTION_H

#include <cmqc.h>

#include "wire.h"

struct connection;

/* Make a connection that no handle names yet, reserved for this thread; NULL when memory is short. `options` are those of
 * MQCNO: they say which threads may use the handle. To be ended by connection_publish and connection_leave, or by
 * connection_remove. */
struct connection *connection_new(MQLONG options);

/* Give the connection its handle. */
MQHCONN connection_publish(struct connection *connection);

/* Reserve a connection for one call of this thread. On failure returns NULL and gives the reason: MQRC_HCONN_ERROR for a
 * handle that is unknown, came over fork, or is another thread's; MQRC_CALL_IN_PROGRESS. */
struct connection *connection_enter(MQHCONN hconn, PMQLONG reason);

struct wire *connection_wire(struct connection *connection);

/* End the call. A connection whose wire failed stays known, and every call over its wire fails from now on. */
void connection_leave(struct connection *connection, bool wire_failed);

/* End the call, and the connection with it: its handle is unknown from now on. */
void connection_remove(struct connection *connection);

#endif

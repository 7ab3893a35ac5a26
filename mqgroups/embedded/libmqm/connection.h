/* Connection handles: what belongs to this process alone and so cannot be the queue manager's business. */
#ifndef MQGROUPS_CONNECTION_H
#define MQGROUPS_CONNECTION_H

#include <cmqc.h>

#include "wire.h"

struct connection;

/* Take a new connection into the table. Returns its handle, or MQHC_UNUSABLE_HCONN when memory is short; `fd` is closed
 * then. `options` are those of MQCNO: they say which threads may use the handle. */
MQHCONN connection_add(int fd, MQLONG options);

/* Reserve a connection for one call of this thread. On failure returns NULL and gives the reason: MQRC_HCONN_ERROR for a
 * handle that is unknown, came over fork, or is another thread's; MQRC_CALL_IN_PROGRESS; MQRC_CONNECTION_BROKEN. */
struct connection *connection_enter(MQHCONN hconn, PMQLONG reason);

struct wire *connection_wire(struct connection *connection);

/* End the call. A connection whose wire failed stays known, and answers MQRC_CONNECTION_BROKEN from now on. */
void connection_leave(struct connection *connection, bool wire_failed);

/* Forget a handle for good, whatever its state. Returns false with the reason as connection_enter does. */
bool connection_remove(MQHCONN hconn, PMQLONG reason);

#endif

/* Connection handles: what belongs to this process alone and so cannot be the queue manager's business. */
#ifndef MQGROUPS_CONNECTION_H
#define MQGROUPS_CONNECTION_H

#include <cmqc.h>

#include "asynchronous.h"
#include "consumption.h"
#include "wire.h"

struct connection;

/* Guards everything that is not a call in progress. Held for moments only, and over fork. */
extern pthread_mutex_t connections_lock;

/* Numbers of threads for connection_give. pthread_self comes again when a thread has ended; these numbers do not. */
#define NOBODY 0
#define NOT_RUNNING_YET UINT64_MAX
uint64_t this_thread(void);

/* Make a connection that no handle names yet, reserved for this thread; NULL when memory is short. `options` are those of
 * MQCNO: they say which threads may use the handle. To be ended by connection_publish and connection_leave, or by
 * connection_remove. */
struct connection *connection_new(MQLONG options);

/* Give the connection its handle. */
MQHCONN connection_publish(struct connection *connection);

/* Reserve a connection for one call of this thread. On failure returns NULL and gives the reason: MQRC_HCONN_ERROR for a
 * handle that is unknown, came over fork, or is another thread's; MQRC_HCONN_ASYNC_ACTIVE; MQRC_CALL_IN_PROGRESS. */
struct connection *connection_enter(MQHCONN hconn, PMQLONG reason);

struct wire *connection_wire(struct connection *connection);

/* End the call. A connection whose wire failed stays known, and every call over its wire fails from now on. */
void connection_leave(struct connection *connection, bool wire_failed);

/* End the call, and the connection with it: its handle is unknown from now on. */
void connection_remove(struct connection *connection);

/* Keep a connection from going away, without reserving it; NULL and MQRC_HCONN_ERROR as connection_enter. To be ended by
 * connection_release. connection_keep does the same for another thread, by one that holds it. */
struct connection *connection_hold(MQHCONN hconn, PMQLONG reason);
void connection_keep(struct connection *connection);
void connection_release(struct connection *connection);

/* Let only this thread call, with connections_lock held; NOBODY: all again. */
void connection_give(struct connection *connection, uint64_t thread);

/* Let those that wait for their turn look again, with connections_lock held. */
void connection_turns(struct connection *connection);

/* Whether it is this thread that the connection is given to: the caller is a callback. */
bool connection_is_mine(struct connection *connection);

MQHCONN connection_handle(const struct connection *connection);
struct consumption *connection_consumption(struct connection *connection);

/* Only for who has reserved the connection. */
struct asynchronous *connection_asynchronous(struct connection *connection);

#endif

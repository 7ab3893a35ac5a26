/* Connection handles: the state of connections in this process. */
#ifndef MQEMBEDDED_CONNECTION_H
#define MQEMBEDDED_CONNECTION_H

#include <cmqc.h>

#include "asynchronous.h"
#include "consumption.h"
#include "wire.h"

struct connection;

/* Guards everything except a call in progress. It is held only for short times, and during fork. */
extern pthread_mutex_t connections_lock;

/* Thread numbers for connection_give. pthread_self is reused after a thread has ended; these numbers are not. */
#define NOBODY 0
#define NOT_RUNNING_YET UINT64_MAX
uint64_t this_thread(void);

/* Whether this process is the child of a process that had made an MQI call before it forked; each of its calls gets
 * MQRC_ENVIRONMENT_ERROR. This counts as a call. */
bool connections_are_refused(void);

/* Make a connection without a handle, reserved for this thread; NULL if there is no memory. `options`, of MQCNO, say which
 * threads may use the handle. The caller must then call connection_publish and connection_leave, or connection_remove. */
struct connection *connection_new(MQLONG options);

/* Count the connection as one with TLS, until it is removed. */
void connection_has_tls(struct connection *connection);

/* Whether a connection of this process has TLS. */
bool connections_have_tls(void);

/* Give the connection its handle. */
MQHCONN connection_publish(struct connection *connection);

/* Reserve a connection for one call of this thread. On failure returns NULL and sets the reason: MQRC_HCONN_ERROR for a handle
 * that is unknown or another thread's; MQRC_ENVIRONMENT_ERROR after fork; MQRC_HCONN_ASYNC_ACTIVE; MQRC_CALL_IN_PROGRESS. */
struct connection *connection_enter(MQHCONN hconn, PMQLONG reason);

struct wire *connection_wire(struct connection *connection);

/* End the call. A connection whose wire failed keeps its handle, and every later call over the wire fails. */
void connection_leave(struct connection *connection, bool wire_failed);

/* End the call and the connection. The handle is then unknown. */
void connection_remove(struct connection *connection);

/* Keep a connection in memory without reserving it. On failure returns NULL, with the first two reasons of connection_enter.
 * The caller must then call connection_release. A thread that holds a connection calls connection_keep to hold it for another
 * thread. */
struct connection *connection_hold(MQHCONN hconn, PMQLONG reason);
void connection_keep(struct connection *connection);
void connection_release(struct connection *connection);

/* Let only this thread make calls, or, with NOBODY, all threads. connections_lock must be held. */
void connection_give(struct connection *connection, uint64_t thread);

/* Wake threads that wait for their turn. connections_lock must be held. */
void connection_turns(struct connection *connection);

/* Whether the connection is given to this thread, so that the caller is a callback. */
bool connection_is_mine(struct connection *connection);

MQHCONN connection_handle(const struct connection *connection);
struct consumption *connection_consumption(struct connection *connection);

/* Only the thread that has reserved the connection may call this. */
struct asynchronous *connection_asynchronous(struct connection *connection);

#endif

/* Connection handles, and the state of this process's connections. */
#ifndef MQEMBEDDED_CONNECTION_H
#define MQEMBEDDED_CONNECTION_H

#include <cmqc.h>

#include "asynchronous.h"
#include "consumption.h"
#include "wire.h"

struct connection;

/* Guards everything except a call in progress. Threads hold it only for a short time, and during fork. */
extern pthread_mutex_t connections_lock;

/* Thread numbers for connection_give. The system reuses pthread_self after a thread has ended, but these numbers are unique. */
#define NOBODY 0
#define NOT_RUNNING_YET UINT64_MAX
uint64_t this_thread(void);

/* Whether this process is the child of a process that had made an MQI call before it forked. Each of its calls gets
 * MQRC_ENVIRONMENT_ERROR. A call of this function counts as an MQI call. */
bool connections_are_refused(void);

/* Make a connection without a handle, reserved for this thread. NULL if there is no memory. `options` of MQCNO decide which
 * threads can use the handle. The caller must then call connection_publish and connection_leave, or connection_remove. */
struct connection *connection_new(MQLONG options);

/* Mark the connection as a connection with TLS, until it is removed. */
void connection_has_tls(struct connection *connection);

/* Whether any connection of this process has TLS. */
bool connections_have_tls(void);

/* Give the connection its handle, and return the handle. */
MQHCONN connection_publish(struct connection *connection);

/* Reserve a connection for a call of this thread. On failure, return NULL and set the reason: MQRC_HCONN_ERROR for a handle that
 * is unknown or belongs to another thread; MQRC_ENVIRONMENT_ERROR after fork; MQRC_HCONN_ASYNC_ACTIVE; MQRC_CALL_IN_PROGRESS. */
struct connection *connection_enter(MQHCONN hconn, PMQLONG reason);

struct wire *connection_wire(struct connection *connection);

/* End the call. If the wire failed, the connection keeps its handle, and every later call over the wire fails. */
void connection_leave(struct connection *connection, bool wire_failed);

/* End the call and the connection. From then on the handle is unknown. */
void connection_remove(struct connection *connection);

/* Keep a connection in memory without reserving it. On failure, return NULL, with the first two reasons of connection_enter. The
 * caller must then call connection_release. A thread that holds a connection calls connection_keep to hold it for another
 * thread. */
struct connection *connection_hold(MQHCONN hconn, PMQLONG reason);
void connection_keep(struct connection *connection);
void connection_release(struct connection *connection);

/* Allow only this thread to make calls, or with NOBODY all threads. The caller holds connections_lock. */
void connection_give(struct connection *connection, uint64_t thread);

/* Wake the threads that wait for their turn. The caller holds connections_lock. */
void connection_turns(struct connection *connection);

/* Whether the connection is given to this thread, which means that the caller is a callback. */
bool connection_is_mine(struct connection *connection);

MQHCONN connection_handle(const struct connection *connection);
struct consumption *connection_consumption(struct connection *connection);

/* The connection's asynchronous puts. Only the thread that has reserved the connection can call this. */
struct asynchronous *connection_asynchronous(struct connection *connection);

#endif

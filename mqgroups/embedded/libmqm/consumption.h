/* Asynchronous consumption of messages: who is called back, and the dispatcher, the thread that does it.
 *
 * The queue manager decides which callback is next, with what (the internal call CALLBACK); this side owns the functions,
 * their areas and the thread. MQOP_START makes a dispatcher, MQOP_START_WAIT makes one of the thread that calls it. While it runs, the
 * connection is given to it, so that calls of other threads are refused. It does what `wish` says:
 *
 *     RUN      wait for the next message or event
 *     PAUSE    a thread is about to stop or suspend: rest, and let it have the connection
 *     SUSPEND  rest; a thread that called MQOP_START_WAIT returns from it
 *     END      end, after the callbacks that are owed
 *
 * Whatever the wish, callbacks that are owed (for a start, a stop, a registration) come first. A dispatcher that waits is
 * woken by the one-way frame WAKE; one that is in a callback sees the wish when the callback returns. */
#ifndef MQGROUPS_CONSUMPTION_H
#define MQGROUPS_CONSUMPTION_H

#include <cmqc.h>

#include <pthread.h>
#include <stdbool.h>

struct connection;

/* A registered function; kept until nothing is owed to it any more. */
struct callback {
    struct callback *next;
    MQHOBJ hobj; /* MQHO_NONE for the event handler */
    MQCB_FUNCTION function;
    MQPTR area;
    MQLONG options;
    bool registered;
    bool told; /* that the connection is lost */
};

enum wish { RUN, PAUSE, SUSPEND, END };

/* What belongs to a connection; guarded by connections_lock. */
struct consumption {
    struct callback *callbacks;
    MQPTR connection_area;
    enum wish wish;
    bool dispatching; /* there is a dispatcher, or one is being made */
    bool waits;       /* it is a thread in MQOP_START_WAIT */
    bool started;     /* the callbacks owed at the start were made */
    bool resting;
    bool asleep;   /* in CALLBACK, which WAKE ends */
    MQLONG reason; /* why the dispatcher ended; MQRC_NONE if it was told to */
    pthread_cond_t changed;
};

void consumption_init(struct consumption *consumption);
void consumption_destroy(struct consumption *consumption);

/* Whether the dispatcher is to give the connection back, as soon as it is no longer in a callback; with connections_lock
 * held. */
static inline bool consumption_is_ending(const struct consumption *consumption) {
    return consumption->wish == SUSPEND || consumption->wish == END;
}

/* The callback of an object handle, with connections_lock held; NULL if there is none. */
struct callback *callback_of(struct consumption *consumption, MQHOBJ hobj);

/* --- of consuming.c */

/* Before MQDISC: stop, and deregister all callbacks. False with a reason in a callback of this connection. */
bool consumption_ends(struct connection *connection, PMQLONG reason);

/* After MQCLOSE: the callback of a handle that is closed is not registered any more. */
void consumption_without(MQHCONN hconn, MQHOBJ hobj);

/* --- of dispatching.c, for consuming.c */

/* What CALLBACK is asked for, as in callbacks/dispatching.py. */
enum { CALLBACK_OWED, CALLBACK_NEXT, CALLBACK_DEREGISTERED };

/* Make all callbacks that are owed, in this thread. */
void callbacks_owed(struct connection *connection, int32_t asked);

/* Let a dispatcher rest, if there is one that is not this thread. Returns whether there is. */
bool dispatcher_pause(struct connection *connection);

/* Tell a dispatcher what to do next, with connections_lock held. */
void dispatcher_wish(struct connection *connection, enum wish wish);

/* Be the dispatcher until told otherwise. Returns why it ended: MQRC_NONE, MQRC_CONNECTION_BROKEN, or what CALLBACK said. */
MQLONG dispatch(struct connection *connection);

/* Make a thread that does so; false when there can be none. */
bool dispatcher_start(struct connection *connection);

/* Whether this thread is in a callback of any connection. */
bool is_in_callback(void);

#endif

/* Asynchronous consumption of messages: the registered callbacks, and the dispatcher, the thread that makes them.
 *
 * The queue manager decides which callback is next, and with which data (the internal call CALLBACK). This library has the
 * functions, their areas and the thread. MQOP_START starts a dispatcher; MQOP_START_WAIT makes the calling thread the
 * dispatcher. While the dispatcher runs, the connection is given to it, so calls of other threads are refused. It does what
 * `wish` says:
 *
 *     RUN      wait for the next message or event
 *     PAUSE    another thread is about to stop or suspend: rest, and give the connection back
 *     SUSPEND  rest; a thread in MQOP_START_WAIT returns from it instead
 *     END      end, after the callbacks that are owed
 *
 * Callbacks that are owed (for a start, a stop, a registration) always come first. A waiting dispatcher is woken by the one-way
 * frame WAKE; a dispatcher in a callback sees the wish when the callback returns. */
#ifndef MQEMBEDDED_CONSUMPTION_H
#define MQEMBEDDED_CONSUMPTION_H

#include <cmqc.h>

#include <pthread.h>
#include <stdbool.h>

struct connection;

/* A registered function, which is kept until it is owed no calls. */
struct callback {
    struct callback *next;
    MQHOBJ hobj; /* MQHO_NONE for the event handler */
    MQCB_FUNCTION function;
    MQPTR area;
    MQLONG options;
    bool registered;
    bool told; /* whether it was told that the connection is lost */
};

enum wish { RUN, PAUSE, SUSPEND, END };

/* The state of a connection; guarded by connections_lock. */
struct consumption {
    struct callback *callbacks;
    MQPTR connection_area;
    enum wish wish;
    bool dispatching; /* there is a dispatcher, or one is being made */
    bool waits;       /* the dispatcher is a thread in MQOP_START_WAIT */
    bool started;     /* the callbacks owed at the start have been made */
    bool resting;
    bool asleep;   /* in CALLBACK, until WAKE ends it */
    MQLONG reason; /* the reason of the dispatcher's end; MQRC_NONE if it was told to end */
    pthread_cond_t changed;
};

void consumption_init(struct consumption *consumption);
void consumption_destroy(struct consumption *consumption);

/* Whether the dispatcher gives the connection back as soon as it is no longer in a callback. connections_lock must be held. */
static inline bool consumption_is_ending(const struct consumption *consumption) {
    return consumption->wish == SUSPEND || consumption->wish == END;
}

/* The callback of an object handle, with connections_lock held; NULL if there is none. */
struct callback *callback_of(struct consumption *consumption, MQHOBJ hobj);

/* --- from consuming.c */

/* Before MQDISC: stop, and deregister all callbacks. Returns false with a reason in a callback of this connection. */
bool consumption_ends(struct connection *connection, PMQLONG reason);

/* After MQCLOSE: deregister the callback of the closed handle. */
void consumption_without(MQHCONN hconn, MQHOBJ hobj);

/* --- from dispatching.c, for consuming.c */

/* What CALLBACK asks for; the same values as in callbacks/dispatching.py. */
enum { CALLBACK_OWED, CALLBACK_NEXT, CALLBACK_DEREGISTERED };

/* Make all callbacks that are owed, in this thread. */
void callbacks_owed(struct connection *connection, int32_t asked);

/* Let a dispatcher in another thread rest. Returns whether there is one. */
bool dispatcher_pause(struct connection *connection);

/* Tell a dispatcher what to do next, with connections_lock held. */
void dispatcher_wish(struct connection *connection, enum wish wish);

/* Be the dispatcher until told otherwise. Returns the reason of the end: MQRC_NONE, MQRC_CONNECTION_BROKEN, or that of
 * CALLBACK. */
MQLONG dispatch(struct connection *connection);

/* Start a thread that dispatches; false if there cannot be one. */
bool dispatcher_start(struct connection *connection);

/* Whether this thread is in a callback of any connection. */
bool is_in_callback(void);

#endif

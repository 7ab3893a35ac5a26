/* Asynchronous consumption of messages: the registered callbacks, and the dispatcher, which is the thread that makes them.
 *
 * The queue manager decides which callback is next, and with which data (the internal call CALLBACK). This library has the
 * functions, their areas and the thread. MQOP_START starts a dispatcher; MQOP_START_WAIT makes the calling thread the
 * dispatcher. While the dispatcher runs, the connection is given to it, so that calls of other threads are refused. The
 * dispatcher follows `wish`:
 *
 *     RUN      wait for the next message or event
 *     PAUSE    another thread is about to stop or suspend: rest, and give the connection back
 *     SUSPEND  rest; a thread in MQOP_START_WAIT returns from it instead
 *     END      end, after the callbacks that are owed
 *
 * Callbacks that are owed (for a start, a stop, a registration) always come first. The one-way frame WAKE wakes a waiting
 * dispatcher. A dispatcher in a callback notices the wish when the callback returns. */
#ifndef MQEMBEDDED_CONSUMPTION_H
#define MQEMBEDDED_CONSUMPTION_H

#include <cmqc.h>

#include <pthread.h>
#include <stdbool.h>

struct connection;

/* A registered function. It is kept until no more calls to it are owed. */
struct callback {
    struct callback *next;
    MQHOBJ hobj; /* MQHO_NONE for the event handler */
    MQCB_FUNCTION function;
    MQPTR area;
    MQLONG options;
    bool registered;
    bool told; /* whether it got the event of a lost connection */
};

enum wish { RUN, PAUSE, SUSPEND, END };

/* The state of a connection's consumption. connections_lock guards it. */
struct consumption {
    struct callback *callbacks;
    MQPTR connection_area;
    enum wish wish;
    bool dispatching; /* a dispatcher exists, or is being made */
    bool waits;       /* the dispatcher is a thread in MQOP_START_WAIT */
    bool started;     /* the callbacks that are owed at the start have been made */
    bool resting;
    bool asleep;   /* in CALLBACK, until WAKE ends it */
    MQLONG reason; /* why the dispatcher ended; MQRC_NONE if the wish was END */
    pthread_cond_t changed;
};

void consumption_init(struct consumption *consumption);
void consumption_destroy(struct consumption *consumption);

/* Whether the dispatcher returns the connection as soon as it is not in a callback any more. The caller holds connections_lock.
 * */
static inline bool consumption_is_ending(const struct consumption *consumption) {
    return consumption->wish == SUSPEND || consumption->wish == END;
}

/* The callback of an object handle, or NULL. The caller holds connections_lock. */
struct callback *callback_of(struct consumption *consumption, MQHOBJ hobj);

/* --- from consuming.c */

/* Stop, and deregister all callbacks, before MQDISC. In a callback of this connection, return false and a reason. */
bool consumption_ends(struct connection *connection, PMQLONG reason);

/* Deregister the callback of a handle that MQCLOSE has closed. */
void consumption_without(MQHCONN hconn, MQHOBJ hobj);

/* --- from dispatching.c, for consuming.c */

/* What CALLBACK asks for, with the same values as in callbacks/dispatching.py. */
enum { CALLBACK_OWED, CALLBACK_NEXT, CALLBACK_DEREGISTERED };

/* Make all callbacks that are owed, in this thread. */
void callbacks_owed(struct connection *connection, int32_t asked);

/* Let a dispatcher in another thread rest. Returns whether there is such a dispatcher. */
bool dispatcher_pause(struct connection *connection);

/* Set a dispatcher's next wish. The caller holds connections_lock. */
void dispatcher_wish(struct connection *connection, enum wish wish);

/* Be the dispatcher until a wish ends it. Returns the reason of the end: MQRC_NONE, MQRC_CONNECTION_BROKEN, or CALLBACK's
 * reason. */
MQLONG dispatch(struct connection *connection);

/* Start a thread that dispatches. False if no thread can be started. */
bool dispatcher_start(struct connection *connection);

/* Whether this thread is in a callback of any connection. */
bool is_in_callback(void);

#endif

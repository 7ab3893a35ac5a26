/* The table of connections.
 *
 * A single lock guards the table and the state of every connection in it. No thread holds the lock while a call is on the wire
 * or a callback runs. The connection is reserved instead.
 *
 * After fork, the child closes its copies of the sockets, so that the queue manager notices the parent's death even if the child
 * lives. The child also empties its table. If the parent has made an MQI call, each call of the child, with or without an
 * inherited handle, gets MQRC_ENVIRONMENT_ERROR until exec (IBM MQ, "The fork system call in UNIX and Linux systems"). Handles
 * are counted up, and never repeated in either process.
 *
 * A call ends with connection_leave. MQDISC ends with connection_remove, which ends the handle first and then the reservation.
 * So another thread cannot make a call between the answer to MQDISC and the end of the handle.
 *
 * During asynchronous consumption, only one thread can use a connection. Calls of other threads are refused, even calls that
 * wait for their turn. But MQOP_SUSPEND and MQOP_STOP in a callback take effect when the callback returns (IBM MQ, "MQCTL").
 * After them, calls of other threads wait for the return, because the callback can inform another thread that consumption is
 * suspended, and that thread can make a call before the callback returns. */
#include "connection.h"

#include <stdatomic.h>
#include <stdlib.h>

#define FIRST_HCONN 0x10000

struct connection {
    struct connection *next;
    MQHCONN hconn;
    MQLONG options;
    uint64_t thread;
    struct wire wire;
    bool removed;
    bool has_tls;
    bool in_call;
    uint64_t given_to; /* the only thread that can make calls, or NOBODY */
    int users;         /* how many threads are in a call, wait for their turn, or hold the connection */
    pthread_cond_t turn;
    struct consumption consumption;
    struct asynchronous asynchronous;
};

pthread_mutex_t connections_lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection *table;
static MQHCONN next_hconn = FIRST_HCONN;
static int with_tls;
/* Whether this process has made an MQI call, and whether a parent had made one before it forked. */
static bool has_called, is_forked;

uint64_t this_thread(void) {
    static atomic_uint_fast64_t count;
    static _Thread_local uint64_t number;
    if (number == 0) {
        number = atomic_fetch_add(&count, 1) + 1;
    }
    return number;
}

static void before_fork(void) {
    pthread_mutex_lock(&connections_lock);
    wires_before_fork();
}

static void after_fork_in_parent(void) {
    wires_after_fork_in_parent();
    pthread_mutex_unlock(&connections_lock);
}

static void after_fork_in_child(void) {
    wires_after_fork_in_child();
    for (struct connection *one = table; one != NULL;) {
        struct connection *next = one->next;
        /* The child does not have the parent's threads. A thread in a call could have been changing the reply's buffer, so a
         * connection in use is left as it is. */
        if (one->users == 0) {
            wire_close(&one->wire);
            consumption_destroy(&one->consumption);
            asynchronous_destroy(&one->asynchronous);
            free(one);
        }
        one = next;
    }
    table = NULL;
    with_tls = 0;
    is_forked = has_called;
    pthread_mutex_unlock(&connections_lock);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

bool connections_are_refused(void) {
    pthread_mutex_lock(&connections_lock);
    has_called = true;
    bool refused = is_forked;
    pthread_mutex_unlock(&connections_lock);
    return refused;
}

struct connection *connection_new(MQLONG options) {
    struct connection *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->options = options;
        made->thread = this_thread();
        made->in_call = true;
        made->users = 1;
        wire_init(&made->wire);
        pthread_cond_init(&made->turn, NULL);
        consumption_init(&made->consumption);
    }
    return made;
}

void connection_has_tls(struct connection *connection) {
    pthread_mutex_lock(&connections_lock);
    connection->has_tls = true;
    with_tls++;
    pthread_mutex_unlock(&connections_lock);
}

bool connections_have_tls(void) {
    pthread_mutex_lock(&connections_lock);
    bool some = with_tls > 0;
    pthread_mutex_unlock(&connections_lock);
    return some;
}

MQHCONN connection_publish(struct connection *connection) {
    pthread_mutex_lock(&connections_lock);
    connection->hconn = next_hconn++;
    connection->next = table;
    table = connection;
    pthread_mutex_unlock(&connections_lock);
    return connection->hconn;
}

/* Find a connection. The caller holds the lock. */
static struct connection *find(MQHCONN hconn) {
    for (struct connection *one = table; one != NULL; one = one->next) {
        if (one->hconn == hconn) {
            return one;
        }
    }
    return NULL;
}

/* Whether this thread can use the handle. A handle that is not shared can be used only by the thread that connected, and by the
 * thread that it is given to. */
static bool is_usable(const struct connection *connection) {
    MQLONG sharing = MQCNO_HANDLE_SHARE_BLOCK | MQCNO_HANDLE_SHARE_NO_BLOCK;
    uint64_t me = this_thread();
    return connection->options & sharing || connection->thread == me || connection->given_to == me;
}

struct connection *connection_hold(MQHCONN hconn, PMQLONG reason) {
    pthread_mutex_lock(&connections_lock);
    struct connection *found = find(hconn);
    if (found != NULL && is_usable(found)) {
        found->users++;
    } else {
        found = NULL;
        *reason = is_forked ? MQRC_ENVIRONMENT_ERROR : MQRC_HCONN_ERROR;
    }
    has_called = true;
    pthread_mutex_unlock(&connections_lock);
    return found;
}

void connection_keep(struct connection *connection) {
    pthread_mutex_lock(&connections_lock);
    connection->users++;
    pthread_mutex_unlock(&connections_lock);
}

/* Subtract a user, with the lock held. The last user of a removed connection frees it. */
static void release(struct connection *connection) {
    if (--connection->users == 0 && connection->removed) {
        pthread_cond_destroy(&connection->turn);
        consumption_destroy(&connection->consumption);
        asynchronous_destroy(&connection->asynchronous);
        wire_destroy(&connection->wire);
        free(connection);
    }
}

void connection_release(struct connection *connection) {
    pthread_mutex_lock(&connections_lock);
    release(connection);
    pthread_mutex_unlock(&connections_lock);
}

void connection_give(struct connection *connection, uint64_t thread) {
    connection->given_to = thread;
    pthread_cond_broadcast(&connection->turn);
}

void connection_turns(struct connection *connection) { pthread_cond_broadcast(&connection->turn); }

bool connection_is_mine(struct connection *connection) {
    pthread_mutex_lock(&connections_lock);
    bool mine = connection->given_to == this_thread();
    pthread_mutex_unlock(&connections_lock);
    return mine;
}

/* Wait for this thread's turn, with the lock held. Returns MQRC_NONE, or the reason why this thread cannot make a call. */
static MQLONG wait_for_turn(struct connection *connection) {
    for (;;) {
        if (connection->removed) {
            return MQRC_HCONN_ERROR;
        }
        bool is_given = connection->given_to != NOBODY && connection->given_to != this_thread();
        if (is_given && !consumption_is_ending(&connection->consumption)) {
            return MQRC_HCONN_ASYNC_ACTIVE;
        }
        if (!is_given && !connection->in_call) {
            return MQRC_NONE;
        }
        if (connection->options & MQCNO_HANDLE_SHARE_NO_BLOCK) {
            return MQRC_CALL_IN_PROGRESS;
        }
        pthread_cond_wait(&connection->turn, &connections_lock);
    }
}

struct connection *connection_enter(MQHCONN hconn, PMQLONG reason) {
    struct connection *found = connection_hold(hconn, reason);
    if (found == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&connections_lock);
    MQLONG refused = wait_for_turn(found);
    if (refused == MQRC_NONE) {
        found->in_call = true;
    } else {
        *reason = refused;
        release(found);
        found = NULL;
    }
    pthread_mutex_unlock(&connections_lock);
    return found;
}

MQHCONN connection_handle(const struct connection *connection) { return connection->hconn; }

struct consumption *connection_consumption(struct connection *connection) { return &connection->consumption; }

struct asynchronous *connection_asynchronous(struct connection *connection) { return &connection->asynchronous; }

struct wire *connection_wire(struct connection *connection) { return &connection->wire; }

/* End the reservation, with the lock held. */
static void leave(struct connection *connection) {
    connection->in_call = false;
    pthread_cond_broadcast(&connection->turn);
    release(connection);
}

void connection_leave(struct connection *connection, bool wire_failed) {
    if (wire_failed) {
        wire_close(&connection->wire);
    }
    pthread_mutex_lock(&connections_lock);
    leave(connection);
    pthread_mutex_unlock(&connections_lock);
}

void connection_remove(struct connection *connection) {
    wire_close(&connection->wire);
    pthread_mutex_lock(&connections_lock);
    for (struct connection **link = &table; *link != NULL; link = &(*link)->next) {
        if (*link == connection) {
            *link = connection->next;
            break;
        }
    }
    connection->removed = true;
    with_tls -= connection->has_tls;
    leave(connection);
    pthread_mutex_unlock(&connections_lock);
}

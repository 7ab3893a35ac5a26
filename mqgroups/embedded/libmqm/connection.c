/* The table of connections.
 *
 * The table's lock is held for look-ups only; a connection's own lock is held for the length of a call. Over fork the child
 * closes its copies of the sockets, so that the death of the parent reaches the queue manager although the child lives, and
 * forgets the table, so that an inherited handle is unknown. Handles are counted up and never given out twice, in neither
 * process.
 *
 * A call ends by connection_leave or, if it is MQDISC, by connection_remove, which ends the handle before it gives up the
 * reservation: no other thread's call comes between the answer to MQDISC and the end of the handle. */
#include "connection.h"

#include <pthread.h>
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
    int users; /* threads in a call or waiting for their turn; counted under the table's lock */
    pthread_mutex_t call;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection *table;
static MQHCONN next_hconn = FIRST_HCONN;

/* pthread_self comes again when a thread has ended; this number does not. */
static uint64_t this_thread(void) {
    static atomic_uint_fast64_t count;
    static _Thread_local uint64_t number;
    if (number == 0) {
        number = atomic_fetch_add(&count, 1) + 1;
    }
    return number;
}

static void before_fork(void) {
    pthread_mutex_lock(&table_lock);
    wires_before_fork();
}

static void after_fork_in_parent(void) {
    wires_after_fork_in_parent();
    pthread_mutex_unlock(&table_lock);
}

static void after_fork_in_child(void) {
    wires_after_fork_in_child();
    for (struct connection *one = table; one != NULL;) {
        struct connection *next = one->next;
        /* The thread that is in a call does not exist here, and may have been half-way through a change of the reply's
         * buffer: what is in use is left alone. */
        if (one->users == 0) {
            wire_close(&one->wire);
            free(one);
        }
        one = next;
    }
    table = NULL;
    pthread_mutex_unlock(&table_lock);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

struct connection *connection_new(MQLONG options) {
    struct connection *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->options = options;
        made->thread = this_thread();
        made->wire.fd = -1;
        made->users = 1;
        pthread_mutex_init(&made->call, NULL);
        pthread_mutex_lock(&made->call);
    }
    return made;
}

MQHCONN connection_publish(struct connection *connection) {
    pthread_mutex_lock(&table_lock);
    connection->hconn = next_hconn++;
    connection->next = table;
    table = connection;
    pthread_mutex_unlock(&table_lock);
    return connection->hconn;
}

/* With the table locked. */
static struct connection *find(MQHCONN hconn) {
    for (struct connection *one = table; one != NULL; one = one->next) {
        if (one->hconn == hconn) {
            return one;
        }
    }
    return NULL;
}

/* One user less; the last one of a connection that nobody can find any more frees it. */
static void release(struct connection *connection) {
    pthread_mutex_lock(&table_lock);
    if (--connection->users == 0 && connection->removed) {
        pthread_mutex_destroy(&connection->call);
        free(connection);
    }
    pthread_mutex_unlock(&table_lock);
}

struct connection *connection_enter(MQHCONN hconn, PMQLONG reason) {
    pthread_mutex_lock(&table_lock);
    struct connection *found = find(hconn);
    MQLONG sharing = MQCNO_HANDLE_SHARE_BLOCK | MQCNO_HANDLE_SHARE_NO_BLOCK;
    if (found == NULL || (!(found->options & sharing) && found->thread != this_thread())) {
        pthread_mutex_unlock(&table_lock);
        *reason = MQRC_HCONN_ERROR;
        return NULL;
    }
    found->users++;
    pthread_mutex_unlock(&table_lock);
    bool blocks = !(found->options & MQCNO_HANDLE_SHARE_NO_BLOCK);
    if (blocks ? pthread_mutex_lock(&found->call) == 0 : pthread_mutex_trylock(&found->call) == 0) {
        if (!found->removed) {
            return found;
        }
        /* Another thread disconnected while this one waited for its turn. */
        pthread_mutex_unlock(&found->call);
        *reason = MQRC_HCONN_ERROR;
    } else {
        *reason = MQRC_CALL_IN_PROGRESS;
    }
    release(found);
    return NULL;
}

struct wire *connection_wire(struct connection *connection) { return &connection->wire; }

void connection_leave(struct connection *connection, bool wire_failed) {
    if (wire_failed) {
        wire_close(&connection->wire);
    }
    pthread_mutex_unlock(&connection->call);
    release(connection);
}

void connection_remove(struct connection *connection) {
    pthread_mutex_lock(&table_lock);
    for (struct connection **link = &table; *link != NULL; link = &(*link)->next) {
        if (*link == connection) {
            *link = connection->next;
            break;
        }
    }
    connection->removed = true;
    pthread_mutex_unlock(&table_lock);
    connection_leave(connection, true);
}

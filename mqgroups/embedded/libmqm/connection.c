/* The table of connections.
 *
 * The table's lock is held for look-ups only; a connection's own lock is held for the length of a call. Over fork the child
 * closes its copies of the sockets, so that the death of the parent reaches the queue manager although the child lives, and
 * forgets the table, so that an inherited handle is unknown. Handles are counted up and never given out twice, in neither
 * process. */
#define _GNU_SOURCE
#include "connection.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_HCONN 0x10000

struct connection {
    struct connection *next;
    MQHCONN hconn;
    MQLONG options;
    uint64_t thread;
    struct wire wire;
    bool broken;
    bool removed;
    int users;
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

static void before_fork(void) { pthread_mutex_lock(&table_lock); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&table_lock); }

static void after_fork_in_child(void) {
    for (struct connection *one = table; one != NULL;) {
        struct connection *next = one->next;
        wire_close(&one->wire);
        free(one);
        one = next;
    }
    table = NULL;
    pthread_mutex_init(&table_lock, NULL);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

MQHCONN connection_add(int fd, MQLONG options) {
    struct connection *made = calloc(1, sizeof *made);
    if (made == NULL) {
        close(fd);
        return MQHC_UNUSABLE_HCONN;
    }
    made->options = options;
    made->thread = this_thread();
    made->wire.fd = fd;
    pthread_mutex_init(&made->call, NULL);
    pthread_mutex_lock(&table_lock);
    made->hconn = next_hconn++;
    made->next = table;
    table = made;
    pthread_mutex_unlock(&table_lock);
    return made->hconn;
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

/* With the table locked: free a connection that nobody can find or uses any more. */
static void free_unused(struct connection *connection) {
    if (connection->removed && connection->users == 0) {
        pthread_mutex_destroy(&connection->call);
        free(connection);
    }
}

static struct connection *reserve(MQHCONN hconn, PMQLONG reason) {
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
    pthread_mutex_lock(&table_lock);
    found->users--;
    free_unused(found);
    pthread_mutex_unlock(&table_lock);
    return NULL;
}

struct connection *connection_enter(MQHCONN hconn, PMQLONG reason) {
    struct connection *found = reserve(hconn, reason);
    if (found != NULL && found->broken) {
        connection_leave(found, false);
        *reason = MQRC_CONNECTION_BROKEN;
        return NULL;
    }
    return found;
}

struct wire *connection_wire(struct connection *connection) { return &connection->wire; }

void connection_leave(struct connection *connection, bool wire_failed) {
    if (wire_failed) {
        connection->broken = true;
        wire_close(&connection->wire);
    }
    pthread_mutex_unlock(&connection->call);
    pthread_mutex_lock(&table_lock);
    connection->users--;
    free_unused(connection);
    pthread_mutex_unlock(&table_lock);
}

bool connection_remove(MQHCONN hconn, PMQLONG reason) {
    struct connection *found = reserve(hconn, reason);
    if (found == NULL) {
        return false;
    }
    pthread_mutex_lock(&table_lock);
    for (struct connection **link = &table; *link != NULL; link = &(*link)->next) {
        if (*link == found) {
            *link = found->next;
            break;
        }
    }
    found->removed = true;
    pthread_mutex_unlock(&table_lock);
    wire_close(&found->wire);
    connection_leave(found, false);
    return true;
}

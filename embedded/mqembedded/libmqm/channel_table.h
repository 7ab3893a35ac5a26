/* Client channel definition tables (CCDT): the table that the client uses, and its definitions for a queue manager. */
#ifndef MQGROUPS_CHANNEL_TABLE_H
#define MQGROUPS_CHANNEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmqc.h>

#define LONGEST_HEARTBEAT_INTERVAL 999999

/* A client-connection channel, from a table or from elsewhere. */
struct channel {
    char name[21];
    char connections[265]; /* host(port),host(port) */
    MQLONG unreadable;     /* the reason if no connection is well-formed */
    bool has_tls;
    int32_t heartbeat, sharing;
    int32_t max_msg_length; /* 0 means the queue manager's limit */
    MQLONG reconnect;       /* DEFRECON as an option of MQCNO */
};

/* The definitions in a table for a queue manager or group, in the order in which the client tries them. */
struct channel_table {
    char *text;
    struct candidate *candidates;
    size_t count, next;
};

/* Read the table that this MQCNO (which can be NULL) leads to. Returns MQRC_NONE if there are definitions, otherwise a reason.
 * If the table has an error, a sentence is written to standard error. */
MQLONG channel_table_open(struct channel_table *table, const MQCNO *options, const char *q_mgr_name);

/* Get the next definition. False after the last definition. */
bool channel_table_next(struct channel_table *table, struct channel *channel);

/* Record that the latest definition of channel_table_next has failed. */
void channel_table_failed(struct channel_table *table);

void channel_table_close(struct channel_table *table);

/* Whether MQCNO has a URL of a table, which takes precedence over MQSERVER. `options` can be NULL. */
bool gives_channel_table(const MQCNO *options);

#endif

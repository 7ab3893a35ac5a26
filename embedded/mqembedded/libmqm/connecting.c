/* MQCONN, MQCONNX, MQDISC: how the client finds the queue manager, and the first call of a connection. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "channel_table.h"
#include "configuration.h"
#include "marshal.h"
#include "security.h"

/* Offsets in MQCD. Programs fill in the structure themselves; the headers only have a pointer to it. */
#define CD_CHANNEL_NAME 0
#define CD_VERSION 20
#define CD_TRANSPORT_TYPE 28
#define CD_SHORT_CONNECTION_NAME 192
#define CD_MAX_MSG_LENGTH 844
#define CD_CONNECTION_NAME 1024
#define CD_HEARTBEAT_INTERVAL 1480
#define CD_SHARING_CONVERSATIONS 1884
/* An offset in MQCNO, from version 7 on. */
#define CNO_APPL_NAME 224
#define TRANSPORT_TCP 2

_Static_assert(sizeof(MQCNO) == 224 && offsetof(MQCNO, ClientConnPtr) == 16, "MQCNO");
_Static_assert(offsetof(MQCNO, SSLConfigPtr) == 152 && offsetof(MQCNO, ConnectionId) == 164, "MQCNO");
_Static_assert(offsetof(MQCNO, SecurityParmsPtr) == 192 && offsetof(MQCNO, CCDTUrlPtr) == 200, "MQCNO");
_Static_assert(sizeof(MQCSP) == 56 && offsetof(MQCSP, CSPUserIdPtr) == 16, "MQCSP");
_Static_assert(offsetof(MQCSP, CSPPasswordPtr) == 40, "MQCSP");

#define CNO_NEWEST 8
#define CD_NEWEST 13
#define SHARING_OPTIONS (MQCNO_HANDLE_SHARE_NONE | MQCNO_HANDLE_SHARE_BLOCK | MQCNO_HANDLE_SHARE_NO_BLOCK)
/* All options of IBM MQ 9.4, with or without an effect here. */
#define KNOWN_OPTIONS 0x1F3DFFFF
#define RECONNECT_OPTIONS (MQCNO_RECONNECT | MQCNO_RECONNECT_DISABLED | MQCNO_RECONNECT_Q_MGR)

/* The defaults of a channel: HeartbeatInterval 1 (IBM MQ, "ibm-amqHeartBeatInterval") and 10 conversations. */
static const struct channel minimal = {.unreadable = MQRC_CHANNEL_CONFIG_ERROR, .heartbeat = 1, .sharing = 10};

/* Read a channel from CHANNEL/TCP/host(port), which is the form of the environment variable MQSERVER and of
 * ServerConnectionParms in mqclient.ini (IBM MQ, "MQSERVER", "CHANNELS stanza of the client configuration file"). An address
 * that cannot be read gives MQRC_CHANNEL_CONFIG_ERROR. This is our reading, and has not been tried on IBM MQ. */
static bool channel_of_text(struct channel *channel, const char *text) {
    char transport[21];
    *channel = minimal;
    return sscanf(text, "%20[^/]/%20[^/]/%264[^\n]", channel->name, transport, channel->connections) == 3 &&
           strcasecmp(transport, "TCP") == 0;
}

/* HeartbeatInterval is in MQCD from version 4 on (IBM MQ, "HeartbeatInterval"), SharingConversations from version 9 on (IBM MQ,
 * "SharingConversations"). If SharingConversations is missing or 0, the channel works as before version 7. Invalid data in MQCD
 * gives reason code 2277. */
static void channel_of_cd(struct channel *channel, const uint8_t *cd) {
    int32_t version, transport;
    memcpy(&version, cd + CD_VERSION, sizeof version);
    memcpy(&transport, cd + CD_TRANSPORT_TYPE, sizeof transport);
    *channel = (struct channel){.unreadable = MQRC_CD_ERROR, .has_tls = asks_for_tls(cd), .heartbeat = 300};
    struct blob named = name((const char *)cd + CD_CHANNEL_NAME, 20);
    /* The long field exists from version 2 on. */
    struct blob connections = version >= 2 ? name((const char *)cd + CD_CONNECTION_NAME, 264)
                                           : name((const char *)cd + CD_SHORT_CONNECTION_NAME, 20);
    snprintf(channel->name, sizeof channel->name, "%.*s", (int)named.length, (const char *)named.data);
    if (transport == TRANSPORT_TCP) {
        snprintf(channel->connections, sizeof channel->connections, "%.*s", (int)connections.length,
                 (const char *)connections.data);
    }
    memcpy(&channel->max_msg_length, cd + CD_MAX_MSG_LENGTH, sizeof channel->max_msg_length);
    if (version >= 4) {
        memcpy(&channel->heartbeat, cd + CD_HEARTBEAT_INTERVAL, sizeof channel->heartbeat);
    }
    if (version >= 9) {
        memcpy(&channel->sharing, cd + CD_SHARING_CONVERSATIONS, sizeof channel->sharing);
    }
}

/* Connect to the first address in `host(port),host(port)` that answers. The default port is 1414. Returns
 * MQRC_HOST_NOT_AVAILABLE if no address answers, and `unreadable` if no address is well-formed. */
static MQLONG connect_to(struct wire *wire, const char *connections, MQLONG unreadable) {
    char list[265];
    snprintf(list, sizeof list, "%s", connections);
    MQLONG reason = unreadable;
    char *rest = NULL;
    for (char *one = strtok_r(list, ",", &rest); one != NULL; one = strtok_r(NULL, ",", &rest)) {
        char host[265], port[8] = "1414", opening, closing, more;
        int fields = sscanf(one, " %264[^( ] %c %7[0-9] %c %c", host, &opening, port, &closing, &more);
        bool with_port = fields == 4 && opening == '(' && closing == ')' && atoi(port) > 0 && atoi(port) <= 65535;
        if (fields != 1 && !with_port) {
            continue;
        }
        if (wire_connect(wire, host, port)) {
            return MQRC_NONE;
        }
        reason = MQRC_HOST_NOT_AVAILABLE;
    }
    return reason;
}

static void credentials(const MQCNO *cno, struct blob *user, struct blob *password) {
    *user = *password = bytes(NULL, 0);
    const MQCSP *csp = NULL;
    if (cno != NULL && cno->Version >= MQCNO_VERSION_5) {
        csp = (const MQCSP *)pointed_at(cno, cno->SecurityParmsPtr, cno->SecurityParmsOffset);
    }
    if (csp == NULL || csp->AuthenticationType != MQCSP_AUTH_USER_ID_AND_PWD) {
        return;
    }
    if (csp->CSPUserIdLength > 0) {
        *user = bytes(pointed_at(csp, csp->CSPUserIdPtr, csp->CSPUserIdOffset), (size_t)csp->CSPUserIdLength);
    }
    if (csp->CSPPasswordLength > 0) {
        *password = bytes(pointed_at(csp, csp->CSPPasswordPtr, csp->CSPPasswordOffset), (size_t)csp->CSPPasswordLength);
    }
}

/* Here conversations never share a socket, as with this option (IBM MQ, "Default behavior of client-connection and
 * server-connection channels"). */
static int32_t sharing_of(const MQCNO *cno, const struct channel *channel) {
    bool alone = cno != NULL && cno->Options & MQCNO_NO_CONV_SHARING && channel->sharing > 1;
    return alone ? 1 : channel->sharing;
}

/* The channel's DEFRECON applies if the application does not choose whether it reconnects. DEFRECON(DISABLED) always applies
 * (IBM MQ, "Default reconnection (DEFRECON)"). */
static MQLONG options_of(const MQCNO *cno, const struct channel *channel) {
    MQLONG options = cno != NULL ? cno->Options : MQCNO_NONE;
    bool counts = (options & RECONNECT_OPTIONS) == 0 || channel->reconnect == MQCNO_RECONNECT_DISABLED;
    return counts ? (options & ~RECONNECT_OPTIONS) | channel->reconnect : options;
}

#ifdef __APPLE__
#define program_invocation_short_name getprogname()
#endif

/* The name that the application gives, or the name of its program. */
static struct blob appl_name(const MQCNO *cno) {
    if (cno != NULL && cno->Version >= 7) {
        struct blob given = name((const char *)cno + CNO_APPL_NAME, 28);
        if (given.length > 0) {
            return given;
        }
    }
    return name(program_invocation_short_name, 28);
}

/* The first call on a connected wire. False if the wire failed. */
static bool introduce(struct wire *wire, const char *q_mgr_name, const struct channel *channel, MQCNO *cno, PMQLONG comp,
                      PMQLONG reason) {
    struct blob user, password;
    credentials(cno, &user, &password);
    /* `mqembedded exec` gives this key only to its program. */
    const char *key = getenv("MQEMBEDDED_ACCESS_KEY");
    key = key != NULL ? key : "";
    struct answer_MQCONNX answer;
    if (!call_MQCONNX(wire, bytes(TABLE_DIGEST, strlen(TABLE_DIGEST)), (int32_t)getpid(),
                      appl_name(cno), name(q_mgr_name, 48), name(channel->name, 20), user, password,
                      options_of(cno, channel), channel->max_msg_length, configured_put1_always_sync(),
                      bytes(key, strlen(key)), channel->heartbeat, sharing_of(cno, channel), comp, reason, &answer) ||
         answer.connection_id.length != (*comp == MQCC_FAILED ? 0 : sizeof cno->ConnectionId) || answer.heartbeat < 0 ||
         answer.heartbeat > LONGEST_HEARTBEAT_INTERVAL ||
         !wire_heartbeats(wire, HEARTBEAT_CODE, answer.heartbeat, answer.sharing > 0)) {
        return false;
    }
    if (*comp != MQCC_FAILED && cno != NULL && cno->Version >= MQCNO_VERSION_5) {
        memcpy(cno->ConnectionId, answer.connection_id.data, sizeof cno->ConnectionId);
    }
    return true;
}

/* Read host(port) of the queue manager on this machine from MQEMBEDDED_LOCAL_BINDINGS. libmqm and libmqm_r try this address
 * first, even if a channel is given, except if the program or MQ_CONNECT_TYPE asks for a client connection (IBM MQ, "MQCNO").
 * Without the variable, this machine has no queue manager. */
static bool channel_of_local_queue_manager(struct channel *channel, MQLONG options) {
    const char *local = getenv("MQEMBEDDED_LOCAL_BINDINGS"), *type = getenv("MQ_CONNECT_TYPE");
    if (local == NULL || *local == '\0' || options & MQCNO_CLIENT_BINDING || (type != NULL && strcmp(type, "CLIENT") == 0)) {
        return false;
    }
    *channel = minimal;
    snprintf(channel->connections, sizeof channel->connections, "%s", local);
    return true;
}

static void connect_by(const struct channel *channel, PMQCHAR QMgrName, PMQCNO ConnectOpts, PMQHCONN Hconn, PMQLONG CompCode,
                       PMQLONG Reason) {
    struct connection *connection = connection_new(ConnectOpts != NULL ? ConnectOpts->Options : MQCNO_NONE);
    if (connection == NULL) {
        *Reason = MQRC_STORAGE_NOT_AVAILABLE;
        return;
    }
    struct wire *wire = connection_wire(connection);
    *Reason = connect_to(wire, channel->connections, channel->unreadable);
    if (*Reason == MQRC_NONE && !introduce(wire, QMgrName, channel, ConnectOpts, CompCode, Reason)) {
        *CompCode = MQCC_FAILED;
        *Reason = MQRC_CONNECTION_BROKEN;
    }
    if (*CompCode == MQCC_FAILED) {
        connection_remove(connection);
        return;
    }
    if (channel->has_tls) {
        connection_has_tls(connection);
    }
    *Hconn = connection_publish(connection);
    connection_leave(connection, false);
}

/* Try one definition after the other, whatever the reason of a failure (IBM MQ, "Examples of MQCONN calls"). If queue managers
 * answered all of them with the same reason, return this reason, otherwise MQRC_Q_MGR_NOT_AVAILABLE (reason code 2059). This has
 * not been tried on IBM MQ. */
static void connect_by_table(PMQCHAR QMgrName, PMQCNO ConnectOpts, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    struct channel_table table;
    struct channel channel;
    *Reason = channel_table_open(&table, ConnectOpts, QMgrName);
    if (*Reason != MQRC_NONE) {
        return;
    }
    MQLONG common = MQRC_NONE;
    while (*CompCode == MQCC_FAILED && channel_table_next(&table, &channel)) {
        *Reason = security_refusal(ConnectOpts, channel.has_tls);
        if (*Reason == MQRC_NONE) {
            connect_by(&channel, QMgrName, ConnectOpts, Hconn, CompCode, Reason);
        }
        if (*CompCode == MQCC_FAILED) {
            channel_table_failed(&table);
            bool is_first = common == MQRC_NONE, differs = *Reason != common || *Reason == MQRC_HOST_NOT_AVAILABLE;
            common = is_first ? *Reason : differs ? MQRC_Q_MGR_NOT_AVAILABLE : common;
        }
    }
    if (*CompCode == MQCC_FAILED) {
        *Reason = common;
    }
    channel_table_close(&table);
}

/* Copy the text of MQSERVER, or of ServerConnectionParms in mqclient.ini. False if there is none. */
static bool defines_channel(char *text, size_t size) {
    const char *given = getenv("MQSERVER");
    if (given == NULL || *given == '\0') {
        return configured("ServerConnectionParms", text, size);
    }
    snprintf(text, size, "%s", given);
    return true;
}

/* The order is that of "Web addressable access to the client channel definition table". channel_table.c continues it. */
static void connect_client(PMQCHAR QMgrName, PMQCNO ConnectOpts, const uint8_t *cd, PMQHCONN Hconn, PMQLONG CompCode,
                           PMQLONG Reason) {
    struct channel channel;
    char text[512];
    if (cd != NULL) {
        channel_of_cd(&channel, cd);
    }
    *Reason = security_refusal(ConnectOpts, cd != NULL && channel.has_tls);
    if (*Reason != MQRC_NONE) {
        return;
    }
    if (cd == NULL && (gives_channel_table(ConnectOpts) || !defines_channel(text, sizeof text))) {
        connect_by_table(QMgrName, ConnectOpts, Hconn, CompCode, Reason);
    } else if (cd == NULL && !channel_of_text(&channel, text)) {
        *Reason = MQRC_Q_MGR_NAME_ERROR;
    } else {
        connect_by(&channel, QMgrName, ConnectOpts, Hconn, CompCode, Reason);
    }
}

/* The reason code for an MQCNO that is not valid (reason codes 2139, 2046, 2278). */
static MQLONG refusal_of_cno(const MQCNO *cno) {
    MQLONG sharing = cno->Options & SHARING_OPTIONS;
    if (memcmp(cno->StrucId, "CNO ", 4) != 0 || cno->Version < 1 || cno->Version > CNO_NEWEST) {
        return MQRC_CNO_ERROR;
    }
    if (cno->Options & ~KNOWN_OPTIONS || (sharing & (sharing - 1)) != 0) {
        return MQRC_OPTIONS_ERROR;
    }
    bool twice = cno->Version >= MQCNO_VERSION_2 && cno->ClientConnPtr != NULL && cno->ClientConnOffset != 0;
    return twice ? MQRC_CLIENT_CONN_ERROR : credentials_refusal(cno);
}

/* Whether MQCD has a version that exists (reason code 2277). */
static bool has_known_version(const uint8_t *cd) {
    int32_t version;
    memcpy(&version, cd + CD_VERSION, sizeof version);
    return version >= 1 && version <= CD_NEWEST;
}

static void connect_application(PMQCHAR QMgrName, PMQCNO ConnectOpts, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason,
                                bool with_server_library) {
    *Hconn = MQHC_UNUSABLE_HCONN;
    *CompCode = MQCC_FAILED;
    if (connections_are_refused()) {
        *Reason = MQRC_ENVIRONMENT_ERROR;
        return;
    }
    *Reason = ConnectOpts != NULL ? refusal_of_cno(ConnectOpts) : MQRC_NONE;
    if (*Reason != MQRC_NONE) {
        return;
    }
    struct channel local;
    if (with_server_library &&
        channel_of_local_queue_manager(&local, ConnectOpts != NULL ? ConnectOpts->Options : MQCNO_NONE)) {
        /* Only clients use the channel and TLS. */
        connect_by(&local, QMgrName, ConnectOpts, Hconn, CompCode, Reason);
        return;
    }
    const uint8_t *cd = NULL;
    if (ConnectOpts != NULL && ConnectOpts->Version >= MQCNO_VERSION_2) {
        cd = pointed_at(ConnectOpts, ConnectOpts->ClientConnPtr, ConnectOpts->ClientConnOffset);
    }
    if (cd != NULL && !has_known_version(cd)) {
        *Reason = MQRC_CD_ERROR;
        return;
    }
    bool is_ignored = gives_tls_information(ConnectOpts, cd) && connections_have_tls();
    connect_client(QMgrName, ConnectOpts, cd, Hconn, CompCode, Reason);
    if (is_ignored && *CompCode == MQCC_OK) {
        /* A process has one TLS environment, until its last connection with TLS ends (IBM MQ, "MQSCO", reason code 2391). */
        *CompCode = MQCC_WARNING;
        *Reason = MQRC_SSL_ALREADY_INITIALIZED;
    }
}

EXPORTED void MQCONNX(PMQCHAR QMgrName, PMQCNO ConnectOpts, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    connect_application(QMgrName, ConnectOpts, Hconn, CompCode, Reason, false);
}

EXPORTED void MQCONN(PMQCHAR QMgrName, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    connect_application(QMgrName, NULL, Hconn, CompCode, Reason, false);
}

/* MQCONN and MQCONNX in libmqm and libmqm_r. */
EXPORTED void mqembedded_server_MQCONNX(PMQCHAR QMgrName, PMQCNO ConnectOpts, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    connect_application(QMgrName, ConnectOpts, Hconn, CompCode, Reason, true);
}

EXPORTED void mqembedded_server_MQCONN(PMQCHAR QMgrName, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    connect_application(QMgrName, NULL, Hconn, CompCode, Reason, true);
}

EXPORTED void MQDISC(PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    *CompCode = MQCC_FAILED;
    struct connection *held = connection_hold(*Hconn, Reason);
    if (held == NULL) {
        return;
    }
    if (consumption_ends(held, Reason)) {
        struct connection *connection = connection_enter(*Hconn, Reason);
        if (connection != NULL) {
            if (!call_MQDISC(connection_wire(connection), CompCode, Reason)) {
                *CompCode = MQCC_FAILED;
                *Reason = MQRC_CONNECTION_BROKEN;
            }
            connection_remove(connection);
            *Hconn = MQHC_UNUSABLE_HCONN;
        }
    }
    connection_release(held);
}

/* MQCONN, MQCONNX, MQDISC: finding the queue manager, and the first call of a connection. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "configuration.h"
#include "marshal.h"
#include "security.h"

/* Offsets of MQCD. Programs fill it themselves; the headers only have a pointer to it. */
#define CD_CHANNEL_NAME 0
#define CD_VERSION 20
#define CD_TRANSPORT_TYPE 28
#define CD_SHORT_CONNECTION_NAME 192
#define CD_MAX_MSG_LENGTH 844
#define CD_CONNECTION_NAME 1024
#define TRANSPORT_TCP 2

_Static_assert(sizeof(MQCNO) == 224 && offsetof(MQCNO, ClientConnPtr) == 16, "MQCNO");
_Static_assert(offsetof(MQCNO, SSLConfigPtr) == 152 && offsetof(MQCNO, ConnectionId) == 164, "MQCNO");
_Static_assert(offsetof(MQCNO, SecurityParmsPtr) == 192 && offsetof(MQCNO, CCDTUrlPtr) == 200, "MQCNO");
_Static_assert(sizeof(MQCSP) == 56 && offsetof(MQCSP, CSPUserIdPtr) == 16, "MQCSP");
_Static_assert(offsetof(MQCSP, CSPPasswordPtr) == 40, "MQCSP");

struct address {
    char channel[21];
    char connections[265];
};

/* Read channel and connection name from the environment variable MQSERVER: CHANNEL/TCP/host(port). */
static bool address_of_mqserver(struct address *address) {
    const char *text = getenv("MQSERVER");
    if (text == NULL) {
        return false;
    }
    char transport[21];
    return sscanf(text, "%20[^/]/%20[^/]/%264[^\n]", address->channel, transport, address->connections) == 3 &&
           strcasecmp(transport, "TCP") == 0;
}

static bool address_of_cd(struct address *address, const uint8_t *cd) {
    int32_t version, transport;
    memcpy(&version, cd + CD_VERSION, sizeof version);
    memcpy(&transport, cd + CD_TRANSPORT_TYPE, sizeof transport);
    struct blob channel = name((const char *)cd + CD_CHANNEL_NAME, 20);
    /* The long field exists from version 2 on. */
    struct blob connections = version >= 2 ? name((const char *)cd + CD_CONNECTION_NAME, 264)
                                           : name((const char *)cd + CD_SHORT_CONNECTION_NAME, 20);
    snprintf(address->channel, sizeof address->channel, "%.*s", (int)channel.length, (const char *)channel.data);
    snprintf(address->connections, sizeof address->connections, "%.*s", (int)connections.length,
             (const char *)connections.data);
    return transport == TRANSPORT_TCP && connections.length > 0;
}

/* Connect to the first address of `host(port),host(port)` that answers; the default port is 1414. Returns
 * MQRC_HOST_NOT_AVAILABLE if none answers, and `unreadable` if no address is well-formed. */
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

/* The handshake on a connected wire; false if the wire failed. */
static bool introduce(struct wire *wire, const char *q_mgr_name, const char *channel, MQCNO *cno, int32_t max_msg_length,
                      PMQLONG comp, PMQLONG reason) {
    struct blob user, password;
    credentials(cno, &user, &password);
    /* `mqgroups embedded exec` gives the key to its program, and nobody else knows it. */
    const char *key = getenv("MQGROUPS_ACCESS_KEY");
    key = key != NULL ? key : "";
    struct answer_MQCONNX answer;
    if (!call_MQCONNX(wire, bytes(TABLE_DIGEST, strlen(TABLE_DIGEST)), (int32_t)getpid(),
                      name(program_invocation_short_name, 28), name(q_mgr_name, 48), name(channel, 20), user, password,
                       cno != NULL ? cno->Options : MQCNO_NONE, max_msg_length, configured_put1_always_sync(),
                       bytes(key, strlen(key)), comp, reason, &answer) ||
         answer.connection_id.length != (*comp == MQCC_FAILED ? 0 : sizeof cno->ConnectionId)) {
        return false;
    }
    wire_is_patient(wire);
    if (*comp != MQCC_FAILED && cno != NULL && cno->Version >= MQCNO_VERSION_5) {
        memcpy(cno->ConnectionId, answer.connection_id.data, sizeof cno->ConnectionId);
    }
    return true;
}

EXPORTED void MQCONNX(PMQCHAR QMgrName, PMQCNO ConnectOpts, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    *Hconn = MQHC_UNUSABLE_HCONN;
    *CompCode = MQCC_FAILED;
    if (ConnectOpts != NULL && memcmp(ConnectOpts->StrucId, "CNO ", 4) != 0) {
        *Reason = MQRC_CNO_ERROR;
        return;
    }
    const uint8_t *cd = NULL;
    if (ConnectOpts != NULL && ConnectOpts->Version >= MQCNO_VERSION_2) {
        cd = pointed_at(ConnectOpts, ConnectOpts->ClientConnPtr, ConnectOpts->ClientConnOffset);
    }
    *Reason = security_refusal(ConnectOpts, cd);
    if (*Reason != MQRC_NONE) {
        return;
    }
    struct address address;
    int32_t max_msg_length = 0;
    if (cd != NULL) {
        memcpy(&max_msg_length, cd + CD_MAX_MSG_LENGTH, sizeof max_msg_length);
        if (!address_of_cd(&address, cd)) {
            *Reason = MQRC_CD_ERROR;
            return;
        }
    } else if (!address_of_mqserver(&address)) {
        /* A client without a channel cannot know a queue manager. */
        *Reason = MQRC_Q_MGR_NAME_ERROR;
        return;
    }
    struct connection *connection = connection_new(ConnectOpts != NULL ? ConnectOpts->Options : MQCNO_NONE);
    if (connection == NULL) {
        *Reason = MQRC_STORAGE_NOT_AVAILABLE;
        return;
    }
    struct wire *wire = connection_wire(connection);
    /* Invalid data in MQCD has a reason code of its own (topic q043070). That an MQSERVER whose address cannot be read
     * answers MQRC_CHANNEL_CONFIG_ERROR is our reading, not tried on IBM MQ. */
    *Reason = connect_to(wire, address.connections, cd != NULL ? MQRC_CD_ERROR : MQRC_CHANNEL_CONFIG_ERROR);
    if (*Reason == MQRC_NONE &&
        !introduce(wire, QMgrName, address.channel, ConnectOpts, max_msg_length, CompCode, Reason)) {
        *CompCode = MQCC_FAILED;
        *Reason = MQRC_CONNECTION_BROKEN;
    }
    if (*CompCode == MQCC_FAILED) {
        connection_remove(connection);
    } else {
        *Hconn = connection_publish(connection);
        connection_leave(connection, false);
    }
}

EXPORTED void MQCONN(PMQCHAR QMgrName, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    MQCONNX(QMgrName, NULL, Hconn, CompCode, Reason);
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

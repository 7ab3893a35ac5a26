/* The MQI: every verb of IBM MQ's client library, marshalled to the queue manager. Nothing is decided here.
 *
 * A verb gathers its arguments, calls the queue manager through the function that verbs.h was generated for it, and copies
 * back what the answer holds. Structures travel as long as their Version says and come back in place. The verbs whose
 * requests are empty in verbs.py are answered by the queue manager too: with MQRC_FUNCTION_NOT_SUPPORTED. */
#define _GNU_SOURCE
#include <cmqc.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connection.h"
#include "verbs.h"
#include "wire.h"

#define EXPORTED __attribute__((visibility("default")))

/* Offsets of MQCD, which programs fill themselves; it is only ever a pointer in the headers. */
#define CD_CHANNEL_NAME 0
#define CD_VERSION 20
#define CD_TRANSPORT_TYPE 28
#define CD_SHORT_CONNECTION_NAME 192
#define CD_MAX_MSG_LENGTH 844
#define CD_CONNECTION_NAME 1024
#define TRANSPORT_TCP 2

/* The longest data of a call: more than the 100 MB of IBM MQ's longest message, with room for its structures in a frame. */
#define MAX_DATA ((MQLONG)(WIRE_MAX_BODY - 1024 * 1024))
/* IBM MQ, topic "MQINQ"; no selector has a value of more than 128 characters. */
#define MAX_SELECTORS 256
#define MAX_CHARACTERS (MAX_SELECTORS * 128)

_Static_assert(sizeof(MQCHARV) == 24, "MQCHARV");
_Static_assert(sizeof(MQCNO) == 200 && offsetof(MQCNO, ClientConnPtr) == 16, "MQCNO");
_Static_assert(offsetof(MQCNO, SSLConfigPtr) == 152 && offsetof(MQCNO, ConnectionId) == 164, "MQCNO");
_Static_assert(offsetof(MQCNO, SecurityParmsPtr) == 192, "MQCNO");
_Static_assert(sizeof(MQCSP) == 56 && offsetof(MQCSP, CSPUserIdPtr) == 16, "MQCSP");
_Static_assert(offsetof(MQCSP, CSPPasswordPtr) == 40, "MQCSP");
_Static_assert(sizeof(MQIMPO) == 64 && sizeof(MQPD) == 24 && sizeof(MQBO) == 12, "property structures");

static struct blob bytes(const void *data, size_t length) {
    return (struct blob){data, data == NULL ? 0 : (uint32_t)length};
}

/* A character field, up to its first NUL and without the blanks that pad it. */
static struct blob name(const char *field, size_t length) {
    length = strnlen(field, length);
    while (length > 0 && field[length - 1] == ' ') {
        length--;
    }
    return bytes(field, length);
}

/* A structure as long as its Version says; nothing at all for a NULL pointer. */
static struct blob structure(const void *data, uint32_t (*length_of)(const void *structure)) {
    return data == NULL ? bytes(NULL, 0) : bytes(data, length_of(data));
}

static void write_back(void *structure, struct blob sent, struct blob answered) {
    if (sent.length > 0 && answered.length == sent.length) {
        memcpy(structure, answered.data, answered.length);
    }
}

/* The frame of every call on a connection: reserve it, run `call`, give the codes back. `call` is an expression that is
 * false when the wire failed. */
#define WITH_CONNECTION(hconn, comp, reason, call)                         \
    do {                                                                   \
        struct connection *connection = connection_enter((hconn), (reason)); \
        if (connection == NULL) {                                          \
            *(comp) = MQCC_FAILED;                                         \
        } else {                                                           \
            struct wire *wire = connection_wire(connection);               \
            bool answered = (call);                                        \
            if (!answered) {                                               \
                *(comp) = MQCC_FAILED;                                     \
                *(reason) = MQRC_CONNECTION_BROKEN;                        \
            }                                                              \
            connection_leave(connection, !answered);                       \
        }                                                                  \
    } while (0)

/* --- connecting */

struct address {
    char channel[21];
    char connections[265];
};

/* Take channel and connection name out of the environment variable MQSERVER: CHANNEL/TCP/host(port). */
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
    /* The long field came with version 2. */
    struct blob connections = version >= 2 ? name((const char *)cd + CD_CONNECTION_NAME, 264)
                                           : name((const char *)cd + CD_SHORT_CONNECTION_NAME, 20);
    snprintf(address->channel, sizeof address->channel, "%.*s", (int)channel.length, (const char *)channel.data);
    snprintf(address->connections, sizeof address->connections, "%.*s", (int)connections.length,
             (const char *)connections.data);
    return transport == TRANSPORT_TCP && connections.length > 0;
}

/* Connect to the first that answers of `host(port),host(port)`; the port is 1414 where none is given. Returns
 * MQRC_HOST_NOT_AVAILABLE when nobody does, and `unreadable` if there is no name among them that can be read. */
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

/* What a pointer or, where it is NULL, an offset from the structure's start leads to; NULL for neither. */
static const uint8_t *pointed_at(const void *structure, const void *pointer, MQLONG offset) {
    if (pointer != NULL) {
        return pointer;
    }
    return offset != 0 ? (const uint8_t *)structure + offset : NULL;
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

/* The handshake on a wire that is connected; false if that broke. */
static bool introduce(struct wire *wire, const char *q_mgr_name, const char *channel, MQCNO *cno, int32_t max_msg_length,
                      PMQLONG comp, PMQLONG reason) {
    struct blob user, password;
    credentials(cno, &user, &password);
    struct answer_MQCONNX answer;
    if (!call_MQCONNX(wire, bytes(TABLE_DIGEST, strlen(TABLE_DIGEST)), (int32_t)getpid(),
                      name(program_invocation_short_name, 28), name(q_mgr_name, 48), name(channel, 20), user, password,
                      cno != NULL ? cno->Options : MQCNO_NONE, max_msg_length, comp, reason, &answer)) {
        return false;
    }
    if (*comp != MQCC_FAILED && cno != NULL && cno->Version >= MQCNO_VERSION_5) {
        size_t room = sizeof cno->ConnectionId, length = answer.connection_id.length;
        memset(cno->ConnectionId, 0, room);
        memcpy(cno->ConnectionId, answer.connection_id.data, length < room ? length : room);
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
    struct address address;
    int32_t max_msg_length = 0;
    if (cd != NULL) {
        memcpy(&max_msg_length, cd + CD_MAX_MSG_LENGTH, sizeof max_msg_length);
        if (!address_of_cd(&address, cd)) {
            *Reason = MQRC_CD_ERROR;
            return;
        }
    } else if (!address_of_mqserver(&address)) {
        /* A client that was not told of any channel knows no queue manager either. */
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
    struct connection *connection = connection_enter(*Hconn, Reason);
    if (connection == NULL) {
        *CompCode = MQCC_FAILED;
        return;
    }
    if (!call_MQDISC(connection_wire(connection), CompCode, Reason)) {
        *CompCode = MQCC_FAILED;
        *Reason = MQRC_CONNECTION_BROKEN;
    }
    connection_remove(connection);
    *Hconn = MQHC_UNUSABLE_HCONN;
}

/* --- objects */

EXPORTED void MQOPEN(MQHCONN Hconn, PMQVOID ObjDesc, MQLONG Options, PMQHOBJ Hobj, PMQLONG CompCode, PMQLONG Reason) {
    struct blob od = structure(ObjDesc, length_of_MQOD);
    struct answer_MQOPEN answer = {.hobj = MQHO_UNUSABLE_HOBJ};
    *Hobj = MQHO_UNUSABLE_HOBJ;
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQOPEN(wire, od, Options, CompCode, Reason, &answer) &&
                                                 (write_back(ObjDesc, od, answer.od), true));
    if (*CompCode != MQCC_FAILED) {
        *Hobj = answer.hobj;
    }
}

EXPORTED void MQCLOSE(MQHCONN Hconn, PMQHOBJ Hobj, MQLONG Options, PMQLONG CompCode, PMQLONG Reason) {
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQCLOSE(wire, *Hobj, Options, CompCode, Reason));
    if (*CompCode != MQCC_FAILED) {
        *Hobj = MQHO_UNUSABLE_HOBJ;
    }
}

/* Copy attributes that MQINQ answered, no more than the caller has room for. */
static bool copy_attributes(const struct answer_MQINQ *answer, MQLONG int_count, PMQLONG integers, MQLONG char_length,
                            PMQCHAR characters) {
    if (integers != NULL && int_count > 0) {
        size_t room = (size_t)int_count * sizeof *integers;
        size_t length = answer->int_attrs.length < room ? answer->int_attrs.length : room;
        memcpy(integers, answer->int_attrs.data != NULL ? answer->int_attrs.data : "", length);
    }
    if (characters != NULL && char_length > 0) {
        size_t room = (size_t)char_length;
        size_t length = answer->char_attrs.length < room ? answer->char_attrs.length : room;
        memcpy(characters, answer->char_attrs.data != NULL ? answer->char_attrs.data : "", length);
    }
    return true;
}

/* As many selectors, or values for them, as a call can have: what is beyond is not read. */
static struct blob integers(const MQLONG *values, MQLONG count) {
    count = count < MAX_SELECTORS ? count : MAX_SELECTORS;
    return bytes(values, count > 0 ? (size_t)count * sizeof *values : 0);
}

static bool fail(MQLONG code, PMQLONG comp, PMQLONG reason) {
    *comp = MQCC_FAILED;
    *reason = code;
    return false;
}

/* Whether the number of selectors is one that a call can have. It does not travel by itself, so it is checked here. */
static bool selectors_fit(MQLONG count, PMQLONG comp, PMQLONG reason) {
    if (count < 0) {
        return fail(MQRC_SELECTOR_COUNT_ERROR, comp, reason);
    }
    return count <= MAX_SELECTORS || fail(MQRC_SELECTOR_LIMIT_EXCEEDED, comp, reason);
}

EXPORTED void MQINQ(MQHCONN Hconn, MQHOBJ Hobj, MQLONG SelectorCount, PMQLONG Selectors, MQLONG IntAttrCount,
                    PMQLONG IntAttrs, MQLONG CharAttrLength, PMQCHAR CharAttrs, PMQLONG CompCode, PMQLONG Reason) {
    if (!selectors_fit(SelectorCount, CompCode, Reason)) {
        return;
    }
    struct answer_MQINQ answer;
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQINQ(wire, Hobj, integers(Selectors, SelectorCount), IntAttrCount, CharAttrLength, CompCode,
                               Reason, &answer) &&
                        copy_attributes(&answer, IntAttrCount, IntAttrs, CharAttrLength, CharAttrs));
}

EXPORTED void MQSET(MQHCONN Hconn, MQHOBJ Hobj, MQLONG SelectorCount, PMQLONG Selectors, MQLONG IntAttrCount,
                    PMQLONG IntAttrs, MQLONG CharAttrLength, PMQCHAR CharAttrs, PMQLONG CompCode, PMQLONG Reason) {
    if (!selectors_fit(SelectorCount, CompCode, Reason)) {
        return;
    }
    if (IntAttrCount < 0 || CharAttrLength < 0) {
        fail(IntAttrCount < 0 ? MQRC_INT_ATTR_COUNT_ERROR : MQRC_CHAR_ATTR_LENGTH_ERROR, CompCode, Reason);
        return;
    }
    struct blob characters = bytes(CharAttrs, CharAttrLength < MAX_CHARACTERS ? (size_t)CharAttrLength : MAX_CHARACTERS);
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQSET(wire, Hobj, integers(Selectors, SelectorCount), integers(IntAttrs, IntAttrCount), characters,
                               CompCode, Reason));
}

/* --- messages */

/* Whether there is a message at the buffer that can be sent at all; the queue manager would not see what was wrong. No
 * frame carries more than MAX_DATA: for a client that is a channel's limit, MQRC_DATA_LENGTH_ERROR (topic "2010"). */
static bool message_fits(MQLONG length, const void *buffer, PMQLONG comp, PMQLONG reason) {
    if (length < 0) {
        return fail(MQRC_BUFFER_LENGTH_ERROR, comp, reason);
    }
    if (length > 0 && buffer == NULL) {
        return fail(MQRC_BUFFER_ERROR, comp, reason);
    }
    return length <= MAX_DATA || fail(MQRC_DATA_LENGTH_ERROR, comp, reason);
}

EXPORTED void MQPUT(MQHCONN Hconn, MQHOBJ Hobj, PMQVOID MsgDesc, PMQVOID PutMsgOpts, MQLONG BufferLength, PMQVOID Buffer,
                    PMQLONG CompCode, PMQLONG Reason) {
    if (!message_fits(BufferLength, Buffer, CompCode, Reason)) {
        return;
    }
    struct blob md = structure(MsgDesc, length_of_MQMD), pmo = structure(PutMsgOpts, length_of_MQPMO);
    struct answer_MQPUT answer;
    WITH_CONNECTION(
        Hconn, CompCode, Reason,
        call_MQPUT(wire, Hobj, md, pmo, bytes(Buffer, (size_t)BufferLength), CompCode, Reason, &answer) &&
            (write_back(MsgDesc, md, answer.md), write_back(PutMsgOpts, pmo, answer.pmo), true));
}

EXPORTED void MQPUT1(MQHCONN Hconn, PMQVOID ObjDesc, PMQVOID MsgDesc, PMQVOID PutMsgOpts, MQLONG BufferLength,
                     PMQVOID Buffer, PMQLONG CompCode, PMQLONG Reason) {
    if (!message_fits(BufferLength, Buffer, CompCode, Reason)) {
        return;
    }
    struct blob od = structure(ObjDesc, length_of_MQOD);
    struct blob md = structure(MsgDesc, length_of_MQMD), pmo = structure(PutMsgOpts, length_of_MQPMO);
    struct answer_MQPUT1 answer;
    WITH_CONNECTION(
        Hconn, CompCode, Reason,
        call_MQPUT1(wire, od, md, pmo, bytes(Buffer, (size_t)BufferLength), CompCode, Reason, &answer) &&
            (write_back(ObjDesc, od, answer.od), write_back(MsgDesc, md, answer.md),
             write_back(PutMsgOpts, pmo, answer.pmo), true));
}

static bool copy_message(const struct answer_MQGET *answer, MQLONG buffer_length, void *buffer, PMQLONG data_length) {
    *data_length = answer->data_length;
    if (buffer != NULL && buffer_length > 0 && answer->data.length > 0) {
        size_t room = (size_t)buffer_length;
        memcpy(buffer, answer->data.data, answer->data.length < room ? answer->data.length : room);
    }
    return true;
}

EXPORTED void MQGET(MQHCONN Hconn, MQHOBJ Hobj, PMQVOID MsgDesc, PMQVOID GetMsgOpts, MQLONG BufferLength, PMQVOID Buffer,
                    PMQLONG DataLength, PMQLONG CompCode, PMQLONG Reason) {
    struct blob md = structure(MsgDesc, length_of_MQMD), gmo = structure(GetMsgOpts, length_of_MQGMO);
    struct answer_MQGET answer;
    MQLONG length = 0;
    if (BufferLength > 0 && Buffer == NULL) {
        /* The message would be taken off the queue and go nowhere. */
        fail(MQRC_BUFFER_ERROR, CompCode, Reason);
    } else {
        WITH_CONNECTION(Hconn, CompCode, Reason,
                        call_MQGET(wire, Hobj, md, gmo, BufferLength, CompCode, Reason, &answer) &&
                            (write_back(MsgDesc, md, answer.md), write_back(GetMsgOpts, gmo, answer.gmo),
                             copy_message(&answer, BufferLength, Buffer, &length)));
    }
    if (DataLength != NULL) {
        *DataLength = length;
    }
}

/* --- units of work */

EXPORTED void MQBEGIN(MQHCONN Hconn, PMQVOID BeginOptions, PMQLONG CompCode, PMQLONG Reason) {
    (void)BeginOptions;
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQBEGIN(wire, CompCode, Reason));
}

EXPORTED void MQCMIT(MQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQCMIT(wire, CompCode, Reason));
}

EXPORTED void MQBACK(MQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason) {
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQBACK(wire, CompCode, Reason));
}

/* --- verbs that the queue manager does not have yet: it says so; outputs are left in a defined state */

EXPORTED void MQSUB(MQHCONN Hconn, PMQVOID SubDesc, PMQHOBJ Hobj, PMQHOBJ Hsub, PMQLONG CompCode, PMQLONG Reason) {
    (void)SubDesc;
    (void)Hobj;
    *Hsub = MQHO_UNUSABLE_HOBJ;
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQSUB(wire, CompCode, Reason));
}

EXPORTED void MQSUBRQ(MQHCONN Hconn, MQHOBJ Hsub, MQLONG Action, PMQVOID SubRqOpts, PMQLONG CompCode, PMQLONG Reason) {
    (void)Hsub;
    (void)Action;
    (void)SubRqOpts;
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQSUBRQ(wire, CompCode, Reason));
}

EXPORTED void MQSTAT(MQHCONN Hconn, MQLONG Type, PMQVOID Stat, PMQLONG CompCode, PMQLONG Reason) {
    (void)Type;
    (void)Stat;
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQSTAT(wire, CompCode, Reason));
}

EXPORTED void MQCB(MQHCONN Hconn, MQLONG Operation, PMQVOID CallbackDesc, MQHOBJ Hobj, PMQVOID MsgDesc, PMQVOID GetMsgOpts,
                   PMQLONG CompCode, PMQLONG Reason) {
    (void)Operation;
    (void)CallbackDesc;
    (void)Hobj;
    (void)MsgDesc;
    (void)GetMsgOpts;
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQCB(wire, CompCode, Reason));
}

EXPORTED void MQCTL(MQHCONN Hconn, MQLONG Operation, PMQVOID ControlOpts, PMQLONG CompCode, PMQLONG Reason) {
    (void)Operation;
    (void)ControlOpts;
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQCTL(wire, CompCode, Reason));
}

/* --- message handles and properties */

/* The text of an MQCHARV, at its pointer or else its offset. A longer one than any name is cut behind what tells the queue
 * manager that it is too long; so is none that says it has no end. */
static struct blob name_text(const MQCHARV *name) {
    const char *text = name == NULL ? NULL : (const char *)pointed_at(name, name->VSPtr, name->VSOffset);
    size_t longest = MQ_MAX_PROPERTY_NAME_LENGTH + 1;
    if (text == NULL) {
        return bytes(NULL, 0);
    }
    if (name->VSLength == MQVS_NULL_TERMINATED) {
        return bytes(text, strnlen(text, longest));
    }
    if (name->VSLength < 0) {
        return bytes(NULL, 0);
    }
    return bytes(text, (size_t)name->VSLength < longest ? (size_t)name->VSLength : longest);
}

static MQLONG name_ccsid(const MQCHARV *name) { return name == NULL ? 0 : name->VSCCSID; }

EXPORTED void MQCRTMH(MQHCONN Hconn, PMQVOID CrtMsgHOpts, PMQHMSG Hmsg, PMQLONG CompCode, PMQLONG Reason) {
    struct answer_MQCRTMH answer = {.hmsg = MQHM_UNUSABLE_HMSG};
    *Hmsg = MQHM_UNUSABLE_HMSG;
    if (Hconn == MQHC_UNASSOCIATED_HCONN) {
        /* A handle that belongs to no connection would have to live here; neither binding asks for one. */
        *CompCode = MQCC_FAILED;
        *Reason = MQRC_FUNCTION_NOT_SUPPORTED;
        return;
    }
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQCRTMH(wire, structure(CrtMsgHOpts, length_of_MQCMHO), CompCode, Reason, &answer));
    if (*CompCode != MQCC_FAILED) {
        *Hmsg = answer.hmsg;
    }
}

EXPORTED void MQDLTMH(MQHCONN Hconn, PMQHMSG Hmsg, PMQVOID DltMsgHOpts, PMQLONG CompCode, PMQLONG Reason) {
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQDLTMH(wire, *Hmsg, structure(DltMsgHOpts, length_of_MQDMHO), CompCode, Reason));
    if (*CompCode != MQCC_FAILED) {
        *Hmsg = MQHM_UNUSABLE_HMSG;
    }
}

EXPORTED void MQSETMP(MQHCONN Hconn, MQHMSG Hmsg, PMQVOID SetPropOpts, PMQVOID Name, PMQVOID PropDesc, MQLONG Type,
                      MQLONG ValueLength, PMQVOID Value, PMQLONG CompCode, PMQLONG Reason) {
    size_t length = 0;
    if (ValueLength > 0) {
        if (ValueLength > MAX_DATA) {
            fail(MQRC_BUFFER_LENGTH_ERROR, CompCode, Reason);
            return;
        }
        length = (size_t)ValueLength;
    } else if (ValueLength == MQVL_NULL_TERMINATED && Type == MQTYPE_STRING && Value != NULL) {
        length = strnlen(Value, MAX_DATA);
    }
    struct blob pd = structure(PropDesc, length_of_MQPD);
    struct answer_MQSETMP answer;
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQSETMP(wire, Hmsg, structure(SetPropOpts, length_of_MQSMPO), name_text(Name), name_ccsid(Name), pd,
                                 Type, ValueLength, bytes(Value, length), CompCode, Reason, &answer) &&
                        (write_back(PropDesc, pd, answer.pd), true));
}

/* Copy what MQINQMP answered, no more than the caller has room for. The name goes where MQIMPO pointed before the call. */
static bool copy_property(const struct answer_MQINQMP *answer, MQLONG value_length, void *value, MQLONG name_room, void *name,
                          PMQLONG type, PMQLONG data_length) {
    *data_length = answer->data_length;
    if (answer->type != 0) {
        *type = answer->type;
    }
    if (value != NULL && value_length > 0 && answer->value.length > 0) {
        size_t room = (size_t)value_length;
        memcpy(value, answer->value.data, answer->value.length < room ? answer->value.length : room);
    }
    if (name != NULL && name_room > 0 && answer->returned_name.length > 0) {
        size_t room = (size_t)name_room;
        memcpy(name, answer->returned_name.data, answer->returned_name.length < room ? answer->returned_name.length : room);
    }
    return true;
}

EXPORTED void MQINQMP(MQHCONN Hconn, MQHMSG Hmsg, PMQVOID InqPropOpts, PMQVOID Name, PMQVOID PropDesc, PMQLONG Type,
                      MQLONG ValueLength, PMQVOID Value, PMQLONG DataLength, PMQLONG CompCode, PMQLONG Reason) {
    struct blob impo = structure(InqPropOpts, length_of_MQIMPO), pd = structure(PropDesc, length_of_MQPD);
    MQLONG name_room = -1, length = 0;
    void *returned_name = NULL;
    if (InqPropOpts != NULL) {
        const MQCHARV *returned = &((PMQIMPO)InqPropOpts)->ReturnedName;
        returned_name = (void *)pointed_at(InqPropOpts, returned->VSPtr, returned->VSOffset);
        if (returned_name != NULL) {
            /* MQVS_USE_VSLENGTH, which is 0: the buffer is as long as the text in it. */
            name_room = returned->VSBufSize > 0 ? returned->VSBufSize : returned->VSLength;
            name_room = name_room > 0 ? name_room : 0;
        }
    }
    struct answer_MQINQMP answer;
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQINQMP(wire, Hmsg, impo, name_text(Name), name_ccsid(Name), pd, *Type, ValueLength, name_room,
                                 CompCode, Reason, &answer) &&
                        (write_back(InqPropOpts, impo, answer.impo), write_back(PropDesc, pd, answer.pd),
                         copy_property(&answer, ValueLength, Value, name_room, returned_name, Type, &length)));
    /* The bindings read a value of this length whatever the codes say. */
    if (DataLength != NULL) {
        *DataLength = length;
    }
}

EXPORTED void MQDLTMP(MQHCONN Hconn, MQHMSG Hmsg, PMQVOID DltPropOpts, PMQVOID Name, PMQLONG CompCode, PMQLONG Reason) {
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQDLTMP(wire, Hmsg, structure(DltPropOpts, length_of_MQDMPO), name_text(Name), name_ccsid(Name),
                                 CompCode, Reason));
}

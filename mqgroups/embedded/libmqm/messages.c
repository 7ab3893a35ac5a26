/* MQPUT, MQPUT1, MQGET, and how their units of work end. */
#include "marshal.h"

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
        call_MQPUT1(wire, od, md, pmo, bytes(Buffer, (size_t)BufferLength), object_string(od), CompCode, Reason, &answer) &&
            (write_back(ObjDesc, od, answer.od), write_text(od, OD_RES_OBJECT_STRING, answer.res_object_string),
             write_back(MsgDesc, md, answer.md),
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

EXPORTED void MQSTAT(MQHCONN Hconn, MQLONG Type, PMQVOID Stat, PMQLONG CompCode, PMQLONG Reason) {
    struct blob sts = structure(Stat, length_of_MQSTS);
    struct answer_MQSTAT answer;
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQSTAT(wire, Type, sts, CompCode, Reason, &answer) &&
                        (write_back(Stat, sts, answer.sts), true));
}

/* MQPUT, MQPUT1, MQGET, and the verbs that end units of work. */
#include "marshal.h"

/* Whether the buffer has a message that can be sent. The queue manager could not detect these errors. No frame has more than
 * MAX_DATA, which for a client is the channel's limit: MQRC_DATA_LENGTH_ERROR (reason code 2010). */
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
    struct blob data = bytes(Buffer, (size_t)BufferLength);
    WITH_CONNECTION(
        Hconn, CompCode, Reason,
        asynchronous_is_eligible(connection_asynchronous(reserved), Hobj, md, pmo)
            ? asynchronous_put(connection_asynchronous(reserved), wire, Hobj, MsgDesc, md, pmo, data, CompCode, Reason)
            : call_MQPUT(wire, Hobj, md, pmo, data, CompCode, Reason, &answer) &&
                  (write_back_MQMD(MsgDesc, answer.md), write_back_MQPMO(PutMsgOpts, answer.pmo), true));
}

EXPORTED void MQPUT1(MQHCONN Hconn, PMQVOID ObjDesc, PMQVOID MsgDesc, PMQVOID PutMsgOpts, MQLONG BufferLength,
                     PMQVOID Buffer, PMQLONG CompCode, PMQLONG Reason) {
    if (!message_fits(BufferLength, Buffer, CompCode, Reason)) {
        return;
    }
    struct blob od = structure(ObjDesc, length_of_MQOD);
    struct blob md = structure(MsgDesc, length_of_MQMD), pmo = structure(PutMsgOpts, length_of_MQPMO);
    struct room resolved = room_in(od, OD_RES_OBJECT_STRING);
    struct answer_MQPUT1 answer;
    WITH_CONNECTION(
        Hconn, CompCode, Reason,
        call_MQPUT1(wire, od, md, pmo, bytes(Buffer, (size_t)BufferLength), object_string(od), CompCode, Reason, &answer) &&
            text_fits(resolved, answer.od, answer.res_object_string) &&
            (write_back_MQOD(ObjDesc, answer.od), write_text(resolved, answer.res_object_string),
             write_back_MQMD(MsgDesc, answer.md), write_back_MQPMO(PutMsgOpts, answer.pmo), true));
}

/* Whether ReturnedLength in MQGMO is unchanged, the length of the received data, or undefined. */
static bool returned_length_fits(struct blob sent, const struct answer_MQGET *answer) {
    const size_t at = 96;
    if (answer->gmo.length < at + 4 || memcmp((const uint8_t *)sent.data + at, (const uint8_t *)answer->gmo.data + at, 4) == 0) {
        return true;
    }
    MQLONG length;
    memcpy(&length, (const uint8_t *)answer->gmo.data + at, sizeof length);
    return length == MQRL_UNDEFINED || (length >= 0 && (uint32_t)length == answer->data.length);
}

/* Whether DataLength fits the data. Either all data came, or, with a warning or failure, as much as the buffer holds. */
static bool message_is_whole(const struct answer_MQGET *answer, MQLONG buffer_length, MQLONG comp) {
    return is_cut_to(answer->data.length, answer->data_length, buffer_length) &&
           (comp != MQCC_OK || answer->data.length == (uint32_t)answer->data_length);
}

static bool copy_message(const struct answer_MQGET *answer, void *buffer, PMQLONG data_length) {
    *data_length = answer->data_length;
    if (answer->data.length > 0) {
        memcpy(buffer, answer->data.data, answer->data.length);
    }
    return true;
}

EXPORTED void MQGET(MQHCONN Hconn, MQHOBJ Hobj, PMQVOID MsgDesc, PMQVOID GetMsgOpts, MQLONG BufferLength, PMQVOID Buffer,
                    PMQLONG DataLength, PMQLONG CompCode, PMQLONG Reason) {
    struct blob md = structure(MsgDesc, length_of_MQMD), gmo = structure(GetMsgOpts, length_of_MQGMO);
    struct answer_MQGET answer;
    MQLONG length = 0;
    if (BufferLength > 0 && Buffer == NULL) {
        /* Without a buffer, the message would be removed from the queue and lost. */
        fail(MQRC_BUFFER_ERROR, CompCode, Reason);
    } else {
        WITH_CONNECTION(Hconn, CompCode, Reason,
                        call_MQGET(wire, Hobj, md, gmo, BufferLength, CompCode, Reason, &answer) &&
                            message_is_whole(&answer, BufferLength, *CompCode) && returned_length_fits(gmo, &answer) &&
                            (write_back_MQMD(MsgDesc, answer.md), write_back_MQGMO(GetMsgOpts, answer.gmo),
                             copy_message(&answer, Buffer, &length)));
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
    struct blob sts = structure(Stat, length_of_MQSTS), none = bytes(NULL, 0);
    struct room object = room_in(sts, STS_OBJECT_STRING), subscription = room_in(sts, STS_SUB_NAME);
    struct answer_MQSTAT answer;
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQSTAT(wire, Type, sts, CompCode, Reason, &answer) && text_fits(object, answer.sts, none) &&
                        text_fits(subscription, answer.sts, none) && (write_back_MQSTS(Stat, answer.sts), true));
}

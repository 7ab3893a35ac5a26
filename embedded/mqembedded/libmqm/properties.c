/* Message handles and properties: MQCRTMH, MQDLTMH, MQSETMP, MQINQMP, MQDLTMP. */
#include "marshal.h"

#define IMPO_OPTIONS 8
#define IMPO_RETURNED_NAME 32

_Static_assert(sizeof(MQCHARV) == 24 && offsetof(MQIMPO, ReturnedName) == IMPO_RETURNED_NAME, "MQCHARV");
_Static_assert(sizeof(MQIMPO) == 64 && sizeof(MQPD) == 24 && sizeof(MQBO) == 12, "property structures");

static struct blob name_text(const MQCHARV *name) {
    return name == NULL ? bytes(NULL, 0) : charv_text(name, name, MQ_MAX_PROPERTY_NAME_LENGTH);
}

static MQLONG name_ccsid(const MQCHARV *name) { return name == NULL ? 0 : name->VSCCSID; }

EXPORTED void MQCRTMH(MQHCONN Hconn, PMQVOID CrtMsgHOpts, PMQHMSG Hmsg, PMQLONG CompCode, PMQLONG Reason) {
    struct answer_MQCRTMH answer = {.hmsg = MQHM_UNUSABLE_HMSG};
    *Hmsg = MQHM_UNUSABLE_HMSG;
    if (Hconn == MQHC_UNASSOCIATED_HCONN) {
        /* Handles without a connection would have to be kept in this process. No binding needs them. */
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
                        (write_back_MQPD(PropDesc, answer.pd), true));
}

/* The length in bytes of values of a type; -1 if lengths vary, -2 if there is no such type. */
static MQLONG length_of_type(MQLONG type) {
    switch (type) {
    case MQTYPE_NULL: return 0;
    case MQTYPE_INT8: return 1;
    case MQTYPE_INT16: return 2;
    case MQTYPE_BOOLEAN:
    case MQTYPE_INT32:
    case MQTYPE_FLOAT32: return 4;
    case MQTYPE_INT64:
    case MQTYPE_FLOAT64: return 8;
    case MQTYPE_BYTE_STRING:
    case MQTYPE_STRING: return -1;
    default: return -2;
    }
}

/* Whether DataLength fits the value and its type. A call that failed, or that asks only for the length, can return the length
 * without the value. */
static bool value_fits(const struct answer_MQINQMP *answer, MQLONG value_length, bool asks_for_length, MQLONG comp,
                       MQLONG reason) {
    MQLONG of_type = length_of_type(answer->type);
    if (comp == MQCC_FAILED) {
        bool too_big = reason == MQRC_PROPERTY_VALUE_TOO_BIG || reason == MQRC_PROPERTY_NAME_TOO_BIG;
        return answer->value.length == 0 ? answer->data_length == 0 || (too_big && answer->data_length > 0)
                                         : too_big && is_cut_to(answer->value.length, answer->data_length, value_length);
    }
    return of_type != -2 && (of_type == -1 || of_type == answer->data_length) && answer->data_length >= 0 &&
           (asks_for_length ? answer->value.length == 0
                            : answer->value.length == (uint32_t)answer->data_length && answer->data_length <= value_length);
}

/* Whether ReturnedName is complete, or the call failed because the name is not complete. */
static bool name_fits(struct room room, const struct answer_MQINQMP *answer, MQLONG comp, MQLONG reason) {
    MQLONG length = room.said;
    if (answer->impo.length > 0) {
        memcpy(&length, (const uint8_t *)answer->impo.data + room.offset + offsetof(MQCHARV, VSLength), sizeof length);
    }
    bool is_told = answer->returned_name.length > 0 || length != room.said;
    bool may_be_cut = comp == MQCC_FAILED && reason == MQRC_PROPERTY_NAME_TOO_BIG;
    return text_fits(room, answer->impo, answer->returned_name) &&
           (!is_told || may_be_cut || (room.at != NULL && (uint32_t)length <= room.length));
}

static bool copy_property(const struct answer_MQINQMP *answer, void *value, struct room name, PMQLONG type,
                          PMQLONG data_length) {
    *data_length = answer->data_length;
    if (answer->type != 0) {
        *type = answer->type;
    }
    if (answer->value.length > 0 && value != NULL) {
        memcpy(value, answer->value.data, answer->value.length);
    }
    write_text(name, answer->returned_name);
    return true;
}

EXPORTED void MQINQMP(MQHCONN Hconn, MQHMSG Hmsg, PMQVOID InqPropOpts, PMQVOID Name, PMQVOID PropDesc, PMQLONG Type,
                      MQLONG ValueLength, PMQVOID Value, PMQLONG DataLength, PMQLONG CompCode, PMQLONG Reason) {
    struct blob impo = structure(InqPropOpts, length_of_MQIMPO), pd = structure(PropDesc, length_of_MQPD);
    struct room returned = room_in(impo, IMPO_RETURNED_NAME);
    MQLONG length = 0, options = 0;
    if (impo.length > 0) {
        memcpy(&options, (const uint8_t *)impo.data + IMPO_OPTIONS, sizeof options);
    }
    if (returned.at != NULL && returned.length == 0 && returned.said > 0) {
        /* With MQVS_USE_VSLENGTH, which is 0, the buffer's length is the length of the text in it. */
        returned.length = (uint32_t)returned.said;
    }
    struct answer_MQINQMP answer;
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQINQMP(wire, Hmsg, impo, name_text(Name), name_ccsid(Name), pd, *Type, ValueLength,
                                 returned.at != NULL ? (MQLONG)returned.length : -1, CompCode, Reason, &answer) &&
                        value_fits(&answer, ValueLength, options & MQIMPO_QUERY_LENGTH, *CompCode, *Reason) &&
                        name_fits(returned, &answer, *CompCode, *Reason) &&
                        (write_back_MQIMPO(InqPropOpts, answer.impo), write_back_MQPD(PropDesc, answer.pd),
                         copy_property(&answer, Value, returned, Type, &length)));
    /* The bindings read this many bytes, even if the call failed. */
    if (DataLength != NULL) {
        *DataLength = length;
    }
}

EXPORTED void MQDLTMP(MQHCONN Hconn, MQHMSG Hmsg, PMQVOID DltPropOpts, PMQVOID Name, PMQLONG CompCode, PMQLONG Reason) {
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQDLTMP(wire, Hmsg, structure(DltPropOpts, length_of_MQDMPO), name_text(Name), name_ccsid(Name),
                                 CompCode, Reason));
}

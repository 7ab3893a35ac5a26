/* Message handles and properties: MQCRTMH, MQDLTMH, MQSETMP, MQINQMP, MQDLTMP. */
#include "marshal.h"

_Static_assert(sizeof(MQCHARV) == 24, "MQCHARV");
_Static_assert(sizeof(MQIMPO) == 64 && sizeof(MQPD) == 24 && sizeof(MQBO) == 12, "property structures");

static struct blob name_text(const MQCHARV *name) {
    return name == NULL ? bytes(NULL, 0) : charv_text(name, name, MQ_MAX_PROPERTY_NAME_LENGTH);
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

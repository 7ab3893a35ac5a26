/* MQOPEN, MQCLOSE, MQINQ, MQSET. */
#include "marshal.h"

/* IBM MQ, topic "MQINQ"; no selector has a value of more than 128 characters. */
#define MAX_SELECTORS 256
#define MAX_CHARACTERS (MAX_SELECTORS * 128)

EXPORTED void MQOPEN(MQHCONN Hconn, PMQVOID ObjDesc, MQLONG Options, PMQHOBJ Hobj, PMQLONG CompCode, PMQLONG Reason) {
    struct blob od = structure(ObjDesc, length_of_MQOD);
    struct answer_MQOPEN answer = {.hobj = MQHO_UNUSABLE_HOBJ};
    *Hobj = MQHO_UNUSABLE_HOBJ;
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQOPEN(wire, od, Options, object_string(od), CompCode, Reason, &answer) &&
                                                 (write_back(ObjDesc, od, answer.od),
                                                  write_text(od, OD_RES_OBJECT_STRING, answer.res_object_string), true));
    if (*CompCode != MQCC_FAILED) {
        *Hobj = answer.hobj;
    }
}

EXPORTED void MQCLOSE(MQHCONN Hconn, PMQHOBJ Hobj, MQLONG Options, PMQLONG CompCode, PMQLONG Reason) {
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQCLOSE(wire, *Hobj, Options, CompCode, Reason));
    if (*CompCode != MQCC_FAILED) {
        consumption_without(Hconn, *Hobj);
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

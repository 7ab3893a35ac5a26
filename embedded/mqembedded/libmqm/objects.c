/* The verbs MQOPEN, MQCLOSE, MQINQ and MQSET. */
#include "marshal.h"

/* The limit of IBM MQ, "MQINQ". No selector has a value of more than 128 characters. */
#define MAX_SELECTORS 256
#define MAX_CHARACTERS (MAX_SELECTORS * 128)

/* Store the data about a new handle that MQPUT needs. */
static bool may_put(struct connection *connection, const struct answer_MQOPEN *answer) {
    asynchronous_opened(connection_asynchronous(connection), answer->hobj, answer->put_response);
    return true;
}

static bool forget(struct connection *connection, MQHOBJ hobj) {
    asynchronous_closed(connection_asynchronous(connection), hobj);
    return true;
}

EXPORTED void MQOPEN(MQHCONN Hconn, PMQVOID ObjDesc, MQLONG Options, PMQHOBJ Hobj, PMQLONG CompCode, PMQLONG Reason) {
    struct blob od = structure(ObjDesc, length_of_MQOD);
    struct answer_MQOPEN answer = {.hobj = MQHO_UNUSABLE_HOBJ};
    *Hobj = MQHO_UNUSABLE_HOBJ;
    struct room resolved = room_in(od, OD_RES_OBJECT_STRING);
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQOPEN(wire, od, Options, object_string(od), CompCode, Reason, &answer) &&
                        text_fits(resolved, answer.od, answer.res_object_string) &&
                        (write_back_MQOD(ObjDesc, answer.od), write_text(resolved, answer.res_object_string), true) &&
                        (*CompCode == MQCC_FAILED || may_put(reserved, &answer)));
    if (*CompCode != MQCC_FAILED) {
        *Hobj = answer.hobj;
    }
}

EXPORTED void MQCLOSE(MQHCONN Hconn, PMQHOBJ Hobj, MQLONG Options, PMQLONG CompCode, PMQLONG Reason) {
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQCLOSE(wire, *Hobj, Options, CompCode, Reason) &&
                        (*CompCode == MQCC_FAILED || forget(reserved, *Hobj)));
    if (*CompCode != MQCC_FAILED) {
        consumption_without(Hconn, *Hobj);
        *Hobj = MQHO_UNUSABLE_HOBJ;
    }
}

/* The number of integer selectors among `selectors`. */
static MQLONG integers_among(const MQLONG *selectors, MQLONG count) {
    MQLONG found = 0;
    for (MQLONG i = 0; i < count; i++) {
        found += selectors[i] >= MQIA_FIRST && selectors[i] <= MQIA_LAST;
    }
    return found;
}

/* Whether the answer has as many requested integers as fit, and not too many characters. */
static bool attributes_fit(const struct answer_MQINQ *answer, MQLONG integers_asked, MQLONG int_count, MQLONG char_length,
                           MQLONG comp) {
    MQLONG wanted = comp == MQCC_FAILED ? 0 : integers_asked;
    return answer->int_attrs.length % sizeof(MQLONG) == 0 &&
           is_cut_to(answer->int_attrs.length / sizeof(MQLONG), wanted, int_count) &&
           answer->char_attrs.length <= (uint32_t)(char_length > 0 ? char_length : 0);
}

static bool copy_attributes(const struct answer_MQINQ *answer, PMQLONG integers, PMQCHAR characters) {
    if (integers != NULL && answer->int_attrs.length > 0) {
        memcpy(integers, answer->int_attrs.data, answer->int_attrs.length);
    }
    if (characters != NULL && answer->char_attrs.length > 0) {
        memcpy(characters, answer->char_attrs.data, answer->char_attrs.length);
    }
    return true;
}

/* The selectors or their values. No more than the greatest possible number of them are read. */
static struct blob integers(const MQLONG *values, MQLONG count) {
    count = count < MAX_SELECTORS ? count : MAX_SELECTORS;
    return bytes(values, count > 0 ? (size_t)count * sizeof *values : 0);
}

/* Whether the number of selectors is possible. The number is not sent as a field, so this library checks it. */
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
    MQLONG asked = Selectors != NULL ? integers_among(Selectors, SelectorCount) : 0;
    struct answer_MQINQ answer;
    WITH_CONNECTION(Hconn, CompCode, Reason,
                    call_MQINQ(wire, Hobj, integers(Selectors, SelectorCount), IntAttrCount, CharAttrLength, CompCode,
                               Reason, &answer) &&
                        attributes_fit(&answer, asked, IntAttrCount, CharAttrLength, *CompCode) &&
                        copy_attributes(&answer, IntAttrs, CharAttrs));
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

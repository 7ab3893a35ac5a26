/* The verbs MQSUB and MQSUBRQ. */
#include "marshal.h"

_Static_assert(SD_RES_OBJECT_STRING + sizeof(MQCHARV) == sizeof(MQSD), "MQSD");
_Static_assert(OD_RES_OBJECT_STRING + sizeof(MQCHARV) < sizeof(MQOD), "MQOD");

EXPORTED void MQSUB(MQHCONN Hconn, PMQVOID SubDesc, PMQHOBJ Hobj, PMQHOBJ Hsub, PMQLONG CompCode, PMQLONG Reason) {
    struct blob sd = structure(SubDesc, length_of_MQSD);
    struct answer_MQSUB answer = {.hobj = *Hobj, .hsub = MQHO_UNUSABLE_HOBJ};
    *Hsub = MQHO_UNUSABLE_HOBJ;
    struct room user_data = room_in(sd, SD_SUB_USER_DATA), resolved = room_in(sd, SD_RES_OBJECT_STRING);
    WITH_CONNECTION(
        Hconn, CompCode, Reason,
        call_MQSUB(wire, sd, *Hobj, text_in(sd, SD_OBJECT_STRING), text_in(sd, SD_SUB_NAME), text_in(sd, SD_SUB_USER_DATA),
                   CompCode, Reason, &answer) &&
            text_fits(user_data, answer.sd, answer.sub_user_data) &&
            text_fits(resolved, answer.sd, answer.res_object_string) &&
            (write_back_MQSD(SubDesc, answer.sd), write_text(user_data, answer.sub_user_data),
             write_text(resolved, answer.res_object_string), true));
    if (*CompCode != MQCC_FAILED) {
        *Hobj = answer.hobj;
        *Hsub = answer.hsub;
    }
}

EXPORTED void MQSUBRQ(MQHCONN Hconn, MQHOBJ Hsub, MQLONG Action, PMQVOID SubRqOpts, PMQLONG CompCode, PMQLONG Reason) {
    struct blob sro = structure(SubRqOpts, length_of_MQSRO);
    struct answer_MQSUBRQ answer;
    WITH_CONNECTION(Hconn, CompCode, Reason, call_MQSUBRQ(wire, Hsub, Action, sro, CompCode, Reason, &answer) &&
                                                 (write_back_MQSRO(SubRqOpts, answer.sro), true));
}

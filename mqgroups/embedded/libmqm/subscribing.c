/* MQSUB, MQSUBRQ. */
#include "marshal.h"

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

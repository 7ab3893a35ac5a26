/* MQCB, MQCTL. */
#include "marshal.h"

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

/* The MQAI (bags). pymqi needs it to compile but never calls it: its PCFExecute sends PCF over ordinary queues. Every call here
 * fails with MQRC_FUNCTION_NOT_SUPPORTED. */
#ifndef MQEMBEDDED_CMQBC_H
#define MQEMBEDDED_CMQBC_H

#include <cmqc.h>

#define MQHB_UNUSABLE_HBAG (-1)
#define MQHB_NONE (-2)
#define MQCBO_ADMIN_BAG 1
#define MQBL_NULL_TERMINATED (-1)
#define MQIND_NONE (-1)
#define MQHA_BAG_HANDLE 4001
#define MQIASY_COMP_CODE (-8)
#define MQIASY_REASON (-9)
#define MQSEL_ANY_USER_SELECTOR (-2)
#define MQSEL_ALL_USER_SELECTORS (-5)
#define MQIT_INTEGER 1
#define MQIT_STRING 2
#define MQITEM_BYTE_STRING 4
#define MQRC_STRING_TRUNCATED 2311
#define MQRCCF_COMMAND_FAILED 3008

static inline void mqembedded_refuse(PMQLONG comp, PMQLONG reason) {
    *comp = MQCC_FAILED;
    *reason = MQRC_FUNCTION_NOT_SUPPORTED;
}

#define mqAddByteString(bag, selector, length, buffer, comp, reason) mqembedded_refuse(comp, reason)
#define mqAddInquiry(bag, selector, comp, reason) mqembedded_refuse(comp, reason)
#define mqAddInteger(bag, selector, value, comp, reason) mqembedded_refuse(comp, reason)
#define mqAddIntegerFilter(bag, selector, value, operator, comp, reason) mqembedded_refuse(comp, reason)
#define mqAddString(bag, selector, length, buffer, comp, reason) mqembedded_refuse(comp, reason)
#define mqAddStringFilter(bag, selector, length, buffer, operator, comp, reason) mqembedded_refuse(comp, reason)
#define mqCountItems(bag, selector, count, comp, reason) mqembedded_refuse(comp, reason)
#define mqCreateBag(options, bag, comp, reason) mqembedded_refuse(comp, reason)
#define mqDeleteBag(bag, comp, reason) mqembedded_refuse(comp, reason)
#define mqExecute(hconn, command, options, admin, response, hobj, reply, comp, reason) mqembedded_refuse(comp, reason)
#define mqInquireBag(bag, selector, index, value, comp, reason) mqembedded_refuse(comp, reason)
#define mqInquireByteString(bag, selector, index, size, buffer, length, comp, reason) mqembedded_refuse(comp, reason)
#define mqInquireInteger(bag, selector, index, value, comp, reason) mqembedded_refuse(comp, reason)
#define mqInquireItemInfo(bag, selector, index, out, type, comp, reason) mqembedded_refuse(comp, reason)
#define mqInquireString(bag, selector, index, size, buffer, length, ccsid, comp, reason) mqembedded_refuse(comp, reason)

#endif

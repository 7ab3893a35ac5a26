/* Channel structures. A program only passes pointers to them; libmqm reads the few fields that it needs by offset. */
#ifndef MQEMBEDDED_CMQXC_H
#define MQEMBEDDED_CMQXC_H

#include <cmqc.h>

#define MQCD_CURRENT_LENGTH 1988

#endif

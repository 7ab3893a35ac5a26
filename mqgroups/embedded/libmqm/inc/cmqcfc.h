/* Programmable command formats. pymqi builds its commands in Python; its C part needs only the name of this file. */
#ifndef MQGROUPS_CMQCFC_H
#define MQGROUPS_CMQCFC_H

#include <cmqc.h>

#endif

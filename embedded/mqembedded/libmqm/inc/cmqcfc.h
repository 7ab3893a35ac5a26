/* Programmable command formats. pymqi builds its commands in Python; its C part only needs this file to exist. */
#ifndef MQEMBEDDED_CMQCFC_H
#define MQEMBEDDED_CMQCFC_H

#include <cmqc.h>

#endif

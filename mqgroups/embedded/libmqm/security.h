/* What a program asks for when it connects, and that is not to be had here: TLS, tokens, a channel definition table. */
#ifndef MQGROUPS_SECURITY_H
#define MQGROUPS_SECURITY_H

#include <stdint.h>

#include <cmqc.h>

/* The reason to refuse a connection for, MQRC_NONE if there is nothing against it. `options` and `cd` may be NULL. */
MQLONG security_refusal(const MQCNO *options, const uint8_t *cd);

#endif

/* Security features that a program can request when it connects, but that are missing here: TLS and tokens. */
#ifndef MQEMBEDDED_SECURITY_H
#define MQEMBEDDED_SECURITY_H

#include <stdbool.h>
#include <stdint.h>

#include <cmqc.h>

/* The reason code for an invalid MQCSP or MQSCO (reason codes 2595, 2380); MQRC_NONE if both are valid. */
MQLONG credentials_refusal(const MQCNO *options);

/* The reason to refuse a connection by a channel with or without a CipherSpec, or MQRC_NONE. `options` can be NULL. */
MQLONG security_refusal(const MQCNO *options, bool has_tls);

/* Whether a channel definition has a CipherSpec. NULL means no definition. */
bool asks_for_tls(const uint8_t *cd);

/* Whether an MQSCO is given with a channel definition. Both arguments can be NULL. */
bool gives_tls_information(const MQCNO *options, const uint8_t *cd);

#endif

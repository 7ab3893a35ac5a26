/* Features that a program may ask for when it connects, but that are missing here: TLS and tokens. */
#ifndef MQEMBEDDED_SECURITY_H
#define MQEMBEDDED_SECURITY_H

#include <stdbool.h>
#include <stdint.h>

#include <cmqc.h>

/* The reason to refuse an MQCSP or MQSCO that is not valid (reason codes 2595, 2380); MQRC_NONE if there is none. */
MQLONG credentials_refusal(const MQCNO *options);

/* The reason to refuse a connection by a channel that has a CipherSpec or not; MQRC_NONE if it may go on. `options` may be
 * NULL. */
MQLONG security_refusal(const MQCNO *options, bool has_tls);

/* Whether a channel definition has a CipherSpec; NULL has none. */
bool asks_for_tls(const uint8_t *cd);

/* Whether an MQSCO is given beside a channel definition. Both arguments may be NULL. */
bool gives_tls_information(const MQCNO *options, const uint8_t *cd);

#endif

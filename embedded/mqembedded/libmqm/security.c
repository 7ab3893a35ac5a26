/* Security features that are not available here. A program that asks for such a feature is refused. Otherwise its data would be
 * sent without the requested encryption, or a user would be accepted without a check.
 *
 * Tests set MQEMBEDDED_PRETEND_TLS. A connection that asks for TLS is then made without TLS, and follows the rules for the TLS
 * environment of a process. */
#include "security.h"

#include <stdlib.h>
#include <string.h>

#include "marshal.h"

#define CD_VERSION 20
#define CD_SSL_CIPHER_SPEC 1688
#define SCO_KEY_REPOSITORY 8
#define CSP_NEWEST 3
#define SCO_NEWEST 7

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value != NULL && *value != '\0';
}

static const uint8_t *sco_of(const MQCNO *options) {
    bool has_field = options != NULL && options->Version >= 4;
    return has_field ? pointed_at(options, options->SSLConfigPtr, options->SSLConfigOffset) : NULL;
}

bool asks_for_tls(const uint8_t *cd) {
    int32_t version = 0;
    if (cd != NULL) {
        memcpy(&version, cd + CD_VERSION, sizeof version);
    }
    return version >= 7 && name((const char *)cd + CD_SSL_CIPHER_SPEC, 32).length > 0;
}

bool gives_tls_information(const MQCNO *options, const uint8_t *cd) {
    return cd != NULL && sco_of(options) != NULL;
}

/* With a CipherSpec, a client first opens its key repository. Without a key repository, the reason is MQRC_KEY_REPOSITORY_ERROR.
 * Then it initializes the TLS environment, which fails here: MQRC_SSL_INITIALIZATION_ERROR. If an MQSCO is given with an MQCD,
 * the client ignores MQSSLKEYR (IBM MQ, "MQSCO"). */
static MQLONG tls_refusal(const MQCNO *options) {
    const uint8_t *sco = sco_of(options);
    bool has_key_repository =
        sco != NULL ? name((const char *)sco + SCO_KEY_REPOSITORY, 256).length > 0 : is_set("MQSSLKEYR");
    if (!has_key_repository) {
        return MQRC_KEY_REPOSITORY_ERROR;
    }
    return is_set("MQEMBEDDED_PRETEND_TLS") ? MQRC_NONE : MQRC_SSL_INITIALIZATION_ERROR;
}

/* Whether a structure has this StrucId, and a version from 1 to `newest`. */
static bool is_valid(const void *structure, const char *struc_id, int32_t newest) {
    int32_t version;
    memcpy(&version, (const uint8_t *)structure + 4, sizeof version);
    return memcmp(structure, struc_id, 4) == 0 && version >= 1 && version <= newest;
}

MQLONG credentials_refusal(const MQCNO *options) {
    const uint8_t *sco = sco_of(options);
    if (options->Version >= MQCNO_VERSION_5) {
        const MQCSP *csp = (const MQCSP *)pointed_at(options, options->SecurityParmsPtr, options->SecurityParmsOffset);
        bool is_type = csp == NULL || (csp->AuthenticationType >= 0 && csp->AuthenticationType <= MQCSP_AUTH_ID_TOKEN);
        if (csp != NULL && (!is_type || !is_valid(csp, "CSP ", CSP_NEWEST))) {
            return MQRC_CSP_ERROR;
        }
    }
    return sco != NULL && !is_valid(sco, "SCO ", SCO_NEWEST) ? MQRC_SCO_ERROR : MQRC_NONE;
}

MQLONG security_refusal(const MQCNO *options, bool has_tls) {
    if (options != NULL && options->Version >= MQCNO_VERSION_5) {
        const MQCSP *csp = (const MQCSP *)pointed_at(options, options->SecurityParmsPtr, options->SecurityParmsOffset);
        if (csp != NULL && csp->AuthenticationType == MQCSP_AUTH_ID_TOKEN) {
            return MQRC_NOT_AUTHORIZED;
        }
    }
    return has_tls ? tls_refusal(options) : MQRC_NONE;
}

/* Stands in front of the client library (LD_PRELOAD) and prints, as JSON, what MQCONNX is given: each structure by its Version, with
 * what it points to. Then it fails with 2059. Layouts: IBM MQ's topics MQCNO, MQCD, MQSCO, MQCSP; 64-bit. Run by
 * test_connect_abi.py. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int32_t integer(const char *at) {
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static const char *pointer(const char *at) {
    const char *value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void text(const char *label, const char *at, size_t length) {
    printf(", \"%s\": \"%.*s\"", label, (int)strnlen(at, length), at);
}

/* A pointer, an offset and a length, as in MQCSP, MQSCO and MQCNO. */
static void pointed(const char *label, const char *at) {
    const char *value = pointer(at);
    if (value != NULL) {
        text(label, value, (size_t)integer(at + 12));
    }
}

void MQCONNX(const char *q_mgr_name, const char *cno, int32_t *hconn, int32_t *comp, int32_t *reason) {
    int32_t version = integer(cno + 4);
    const char *cd = pointer(cno + 16), *sco = NULL, *csp = NULL;
    if (version >= 4) {
        sco = pointer(cno + 152);
    }
    if (version >= 5) {
        csp = pointer(cno + 192);
    }
    printf("{\"cno\": %d, \"options\": %d", version, integer(cno + 8));
    text("q_mgr_name", q_mgr_name, 48);
    if (version >= 6) {
        pointed("ccdt_url", cno + 200);
    }
    if (version >= 7) {
        text("appl_name", cno + 224, 28);
    }
    if (cd != NULL) {
        printf(", \"cd\": %d", integer(cd + 20));
        text("channel", cd, 20);
        text("conn_name", cd + 1024, 264);
        printf(", \"heartbeat_interval\": %d", integer(cd + 1480));
        if (integer(cd + 20) >= 9) {
            printf(", \"sharing_conversations\": %d", integer(cd + 1884));
        }
        if (integer(cd + 20) >= 7) {
            text("cipher_spec", cd + 1688, 32);
            if (pointer(cd + 1720) != NULL) {
                text("peer_name", pointer(cd + 1720), (size_t)integer(cd + 1728));
            }
        }
    }
    if (sco != NULL) {
        printf(", \"sco\": %d", integer(sco + 4));
        text("key_repository", sco + 8, 256);
        text("crypto_hardware", sco + 264, 256);
        if (integer(sco + 4) >= 2) {
            printf(", \"fips_required\": %d", integer(sco + 540));
        }
        if (integer(sco + 4) >= 5) {
            text("certificate_label", sco + 564, 64);
        }
        if (integer(sco + 4) >= 6) {
            pointed("key_repository_password", sco + 632);
        }
    }
    if (csp != NULL) {
        printf(", \"csp\": %d, \"authentication\": %d", integer(csp + 4), integer(csp + 8));
        pointed("user", csp + 16);
        pointed("password", csp + 40);
        if (integer(csp + 4) >= 3) {
            pointed("token", csp + 88);
        }
    }
    printf("}\n");
    fflush(stdout);
    *hconn = -1;
    *comp = 2;
    *reason = 2059;
}

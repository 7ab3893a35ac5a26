/* Makes every call of the MQI once or more, in a process watched by the sanitizers. Run by test_libmqm.py. */
#include <cmqc.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void expect(const char *what, MQLONG comp, MQLONG reason, MQLONG wanted_comp, MQLONG wanted_reason) {
    if (comp != wanted_comp || reason != wanted_reason) {
        fprintf(stderr, "%s: %d/%d, expected %d/%d\n", what, comp, reason, wanted_comp, wanted_reason);
        failures++;
    }
}

static void set_int(void *structure, size_t offset, MQLONG value) { memcpy((char *)structure + offset, &value, 4); }

static void begin(void *structure, size_t size, const char *struc_id, MQLONG version) {
    memset(structure, 0, size);
    memcpy(structure, struc_id, 4);
    set_int(structure, 4, version);
}

static MQMD new_md(MQLONG version) {
    MQMD md;
    begin(&md, sizeof md, "MD  ", version);
    set_int(&md, 12, 8);     /* MsgType: datagram */
    set_int(&md, 16, -1);    /* Expiry */
    set_int(&md, 24, 0x222); /* Encoding */
    set_int(&md, 40, -1);    /* Priority */
    set_int(&md, 44, 2);     /* Persistence: as the queue's */
    set_int(&md, 348, 1);    /* MsgSeqNumber */
    set_int(&md, 360, -1);   /* OriginalLength */
    return md;
}

static void *call_from_another_thread(void *handle) {
    MQLONG comp, reason;
    MQCMIT(*(MQHCONN *)handle, &comp, &reason);
    expect("MQCMIT in another thread", comp, reason, MQCC_FAILED, MQRC_HCONN_ERROR);
    return NULL;
}

/* A name, a value and a returned name that end with the last byte of their memory, so that a byte too much is seen. */
static void message_properties(MQHCONN hconn) {
    MQLONG comp, reason, length = -1, type = MQTYPE_AS_SET;
    MQHMSG hmsg;
    MQCMHO cmho;
    MQDMHO dmho;
    MQDMPO dmpo;
    MQSMPO smpo;
    MQPD pd = {MQPD_DEFAULT};
    MQIMPO impo = {MQIMPO_DEFAULT};
    MQCHARV name = {MQCHARV_DEFAULT};
    begin(&cmho, sizeof cmho, "CMHO", 1);
    begin(&dmho, sizeof dmho, "DMHO", 1);
    begin(&dmpo, sizeof dmpo, "DMPO", 1);
    begin(&smpo, sizeof smpo, "SMPO", 1);
    set_int(&smpo, 12, 0x222);
    set_int(&smpo, 16, -3);

    MQCRTMH(MQHC_UNASSOCIATED_HCONN, &cmho, &hmsg, &comp, &reason);
    expect("MQCRTMH for no connection", comp, reason, MQCC_FAILED, MQRC_FUNCTION_NOT_SUPPORTED);
    MQCRTMH(hconn, NULL, &hmsg, &comp, &reason);
    expect("MQCRTMH without MQCMHO", comp, reason, MQCC_FAILED, 2461);
    MQCRTMH(hconn, &cmho, &hmsg, &comp, &reason);
    expect("MQCRTMH", comp, reason, MQCC_OK, MQRC_NONE);

    char *colour = malloc(6), *green = malloc(5), *returned = malloc(6);
    memcpy(colour, "colour", 6);
    memcpy(green, "green", 5);
    name.VSPtr = colour;
    name.VSLength = 6;
    MQSETMP(hconn, hmsg, &smpo, &name, &pd, MQTYPE_STRING, 5, green, &comp, &reason);
    expect("MQSETMP", comp, reason, MQCC_OK, MQRC_NONE);
    MQSETMP(hconn, hmsg, &smpo, &name, &pd, MQTYPE_STRING, MQVL_NULL_TERMINATED, "green", &comp, &reason);
    expect("MQSETMP up to a null", comp, reason, MQCC_OK, MQRC_NONE);
    MQSETMP(hconn, hmsg, &smpo, &name, &pd, MQTYPE_STRING, 5, NULL, &comp, &reason);
    expect("MQSETMP of a null pointer", comp, reason, MQCC_FAILED, 2004);
    MQSETMP(hconn, hmsg, &smpo, &name, &pd, MQTYPE_INT32, MQVL_NULL_TERMINATED, green, &comp, &reason);
    expect("MQSETMP of a number without length", comp, reason, MQCC_FAILED, MQRC_BUFFER_LENGTH_ERROR);
    MQSETMP(hconn, hmsg, &smpo, &name, &pd, MQTYPE_STRING, 0x7fffffff, green, &comp, &reason);
    expect("MQSETMP of an absurd length", comp, reason, MQCC_FAILED, MQRC_BUFFER_LENGTH_ERROR);
    MQSETMP(hconn, hmsg, &smpo, NULL, &pd, MQTYPE_STRING, 5, green, &comp, &reason);
    expect("MQSETMP without a name", comp, reason, MQCC_FAILED, 2513);
    name.VSLength = -7;
    MQSETMP(hconn, hmsg, &smpo, &name, &pd, MQTYPE_STRING, 5, green, &comp, &reason);
    expect("MQSETMP of a name of negative length", comp, reason, MQCC_FAILED, 2513);
    MQSETMP(hconn, hmsg, &smpo, &name, NULL, MQTYPE_STRING, 5, green, &comp, &reason);
    expect("MQSETMP without MQPD", comp, reason, MQCC_FAILED, 2482);

    /* At an offset from the structure, and ended by a null. */
    struct {
        MQCHARV name;
        char text[8];
    } with_offset = {{MQCHARV_DEFAULT}, "col%"};
    with_offset.name.VSOffset = offsetof(__typeof__(with_offset), text);
    with_offset.name.VSLength = MQVS_NULL_TERMINATED;
    impo.ReturnedName.VSPtr = returned;
    impo.ReturnedName.VSBufSize = 6;
    char *value = malloc(5);
    MQINQMP(hconn, hmsg, &impo, &with_offset.name, &pd, &type, 5, value, &length, &comp, &reason);
    expect("MQINQMP", comp, reason, MQCC_OK, MQRC_NONE);
    if (length != 5 || type != MQTYPE_STRING || memcmp(value, "green", 5) != 0 || memcmp(returned, "colour", 6) != 0 ||
        impo.ReturnedName.VSPtr != returned || impo.ReturnedName.VSLength != 6 || impo.ReturnedCCSID != 1208) {
        fprintf(stderr, "MQINQMP: type %d, length %d, %.5s, %.6s, %d\n", type, length, value, returned, impo.ReturnedCCSID);
        failures++;
    }
    impo.ReturnedName.VSBufSize = 5;
    MQINQMP(hconn, hmsg, &impo, &with_offset.name, &pd, &type, 5, value, &length, &comp, &reason);
    expect("MQINQMP with too little room for the name", comp, reason, MQCC_FAILED, 2465);
    impo.ReturnedName.VSPtr = NULL;
    value = realloc(value, 3);
    MQINQMP(hconn, hmsg, &impo, &with_offset.name, &pd, &type, 3, value, &length, &comp, &reason);
    expect("MQINQMP with too little room", comp, reason, MQCC_FAILED, 2469);
    if (length != 5 || memcmp(value, "gre", 3) != 0) {
        fprintf(stderr, "MQINQMP cut: length %d, %.3s\n", length, value);
        failures++;
    }
    MQINQMP(hconn, hmsg, &impo, &with_offset.name, &pd, &type, -1, value, &length, &comp, &reason);
    expect("MQINQMP of a negative length", comp, reason, MQCC_FAILED, MQRC_BUFFER_LENGTH_ERROR);
    MQINQMP(hconn, hmsg, NULL, &with_offset.name, &pd, &type, 0, NULL, NULL, &comp, &reason);
    expect("MQINQMP without MQIMPO", comp, reason, MQCC_FAILED, 2464);

    name.VSLength = 6;
    MQDLTMP(hconn, hmsg, &dmpo, &name, &comp, &reason);
    expect("MQDLTMP", comp, reason, MQCC_OK, MQRC_NONE);
    MQDLTMP(hconn, hmsg, &dmpo, &name, &comp, &reason);
    expect("MQDLTMP once more", comp, reason, MQCC_WARNING, 2471);
    char *longest = malloc(5000);
    memset(longest, 'n', 5000);
    name.VSPtr = longest;
    name.VSLength = 5000;
    MQDLTMP(hconn, hmsg, &dmpo, &name, &comp, &reason);
    expect("MQDLTMP of a name too long", comp, reason, MQCC_FAILED, 2513);
    MQDLTMH(hconn, &hmsg, &dmho, &comp, &reason);
    expect("MQDLTMH", comp, reason, MQCC_OK, MQRC_NONE);
    if (hmsg != MQHM_UNUSABLE_HMSG) {
        fprintf(stderr, "message handle after MQDLTMH: %lld\n", (long long)hmsg);
        failures++;
    }
    MQDLTMH(hconn, &hmsg, &dmho, &comp, &reason);
    expect("MQDLTMH once more", comp, reason, MQCC_FAILED, 2460);
    free(colour);
    free(green);
    free(returned);
    free(value);
    free(longest);
}

/* Texts that end with the last byte of their memory, in structures that stand at odd addresses. */
static void publish_and_subscribe(MQHCONN hconn) {
    MQLONG comp, reason, length;
    MQHOBJ hobj = 0, hsub, topic;
    char *memory = malloc(sizeof(MQSD) + sizeof(MQOD) + 1), buffer[16];
    char *sd = memory + 1, *od = sd + sizeof(MQSD);
    char *string = malloc(9), *resolved = malloc(4);
    MQCHARV text = {MQCHARV_DEFAULT};
    MQSRO sro;
    memcpy(string, "a/b/c/d/e", 9);

    MQSUB(hconn, NULL, &hobj, &hsub, &comp, &reason);
    expect("MQSUB without MQSD", comp, reason, MQCC_FAILED, 2424);
    begin(sd, sizeof(MQSD), "SD  ", 1);
    set_int(sd, 8, 2 | 0x20); /* MQSO_CREATE, MQSO_MANAGED */
    set_int(sd, 112, -1);     /* SubExpiry */
    set_int(sd, 216, -3);     /* PubPriority: as published */
    text.VSLength = 9;
    memcpy(sd + 120, &text, sizeof text);
    MQSUB(hconn, sd, &hobj, &hsub, &comp, &reason);
    expect("MQSUB without the text of ObjectString", comp, reason, MQCC_FAILED, 2441);
    text.VSPtr = string;
    memcpy(sd + 120, &text, sizeof text);
    text.VSLength = -5;
    memcpy(sd + 168, &text, sizeof text);
    MQSUB(hconn, sd, &hobj, &hsub, &comp, &reason);
    expect("MQSUB with SubUserData of negative length", comp, reason, MQCC_FAILED, 2431);
    memset(sd + 168, 0, sizeof text);
    text.VSPtr = resolved;
    text.VSBufSize = 4;
    text.VSLength = 0;
    memcpy(sd + 320, &text, sizeof text);
    MQSUB(hconn, sd, &hobj, &hsub, &comp, &reason);
    expect("MQSUB", comp, reason, MQCC_OK, MQRC_NONE);
    memcpy(&length, sd + 336, 4);
    if (hobj <= 0 || hsub <= 0 || memcmp(resolved, "/d/e", 4) != 0 || length != 9) {
        fprintf(stderr, "MQSUB: %d, %d, %.4s, %d\n", hobj, hsub, resolved, length);
        failures++;
    }

    begin(od, sizeof(MQOD), "OD  ", 4);
    set_int(od, 8, MQOT_TOPIC);
    text.VSPtr = string;
    text.VSBufSize = 0;
    text.VSLength = 9;
    memcpy(od + 344, &text, sizeof text);
    memset(resolved, 'x', 4);
    text.VSPtr = resolved;
    text.VSBufSize = 3;
    memcpy(od + 392, &text, sizeof text);
    MQOPEN(hconn, od, 0x10, &topic, &comp, &reason);
    expect("MQOPEN of a topic", comp, reason, MQCC_OK, MQRC_NONE);
    if (memcmp(resolved, "d/ex", 4) != 0) {
        fprintf(stderr, "MQOPEN of a topic: %.4s\n", resolved);
        failures++;
    }
    MQMD md = new_md(2);
    MQPMO pmo;
    MQGMO gmo;
    begin(&pmo, sizeof pmo, "PMO ", 1);
    MQPUT(hconn, topic, &md, &pmo, 3, "one", &comp, &reason);
    expect("MQPUT to a topic", comp, reason, MQCC_OK, MQRC_NONE);
    md = new_md(2);
    MQPUT1(hconn, od, &md, &pmo, 3, "two", &comp, &reason);
    expect("MQPUT1 to a topic", comp, reason, MQCC_OK, MQRC_NONE);
    for (int number = 0; number < 2; number++) {
        md = new_md(2);
        begin(&gmo, sizeof gmo, "GMO ", 1);
        MQGET(hconn, hobj, &md, &gmo, sizeof buffer, buffer, &length, &comp, &reason);
        expect("MQGET of a publication", comp, reason, MQCC_OK, MQRC_NONE);
    }

    begin(&sro, sizeof sro, "SRO ", 1);
    MQSUBRQ(hconn, hsub, 1, &sro, &comp, &reason);
    expect("MQSUBRQ of a subscription that gets everything", comp, reason, MQCC_FAILED, 2046);
    MQSUBRQ(hconn, topic, 1, NULL, &comp, &reason);
    expect("MQSUBRQ of a topic", comp, reason, MQCC_FAILED, 2019);
    MQCLOSE(hconn, &topic, 0, &comp, &reason);
    expect("MQCLOSE of a topic", comp, reason, MQCC_OK, MQRC_NONE);
    MQCLOSE(hconn, &hsub, 0, &comp, &reason);
    expect("MQCLOSE of a subscription", comp, reason, MQCC_OK, MQRC_NONE);
    MQCLOSE(hconn, &hobj, 0, &comp, &reason);
    expect("MQCLOSE of a managed queue", comp, reason, MQCC_OK, MQRC_NONE);
    free(memory);
    free(string);
    free(resolved);
}

/* What callbacks were called with, and what they do. */
struct consumed {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    MQCTLO ctlo;
    int types[9];
    MQLONG length;
    char data[64];
};

static void called(MQHCONN hconn, PMQVOID md, PMQVOID gmo, PMQVOID buffer, PMQCBC context) {
    struct consumed *consumed = context->CallbackArea;
    MQLONG comp, reason;
    pthread_mutex_lock(&consumed->lock);
    consumed->types[context->CallType]++;
    if (context->CallType == MQCBCT_MSG_REMOVED) {
        MQMD copy;
        memcpy(&copy, md, sizeof copy);
        consumed->length = context->DataLength;
        memcpy(consumed->data, buffer, (size_t)context->BufferLength);
        memset(buffer, 0, (size_t)context->BufferLength);
        /* It begins anew at each start, and keeps what a callback makes of it. */
        if (gmo == NULL || context->ConnectionArea != (char *)consumed + (consumed->types[MQCBCT_MSG_REMOVED] - 1) % 2) {
            failures++;
        }
        context->ConnectionArea = (char *)consumed + 1;
        MQCMIT(hconn, &comp, &reason);
        expect("MQCMIT in a callback", comp, reason, MQCC_OK, MQRC_NONE);
    }
    pthread_cond_broadcast(&consumed->changed);
    pthread_mutex_unlock(&consumed->lock);
}

static void wait_for(struct consumed *consumed, int type, int count) {
    pthread_mutex_lock(&consumed->lock);
    while (consumed->types[type] < count) {
        pthread_cond_wait(&consumed->changed, &consumed->lock);
    }
    pthread_mutex_unlock(&consumed->lock);
}

/* Put from a connection of its own, so that the dispatcher is woken by a message. */
static void put_from_elsewhere(char *q_mgr_name, MQOD *od) {
    MQHCONN hconn;
    MQLONG comp, reason;
    MQPMO pmo;
    MQMD md = new_md(2);
    begin(&pmo, sizeof pmo, "PMO ", 3);
    MQCONN(q_mgr_name, &hconn, &comp, &reason);
    MQPUT1(hconn, od, &md, &pmo, 5, "hello", &comp, &reason);
    expect("MQPUT1 to a consumer", comp, reason, MQCC_OK, MQRC_NONE);
    MQDISC(&hconn, &comp, &reason);
}

static struct consumed consumed = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {MQCTLO_DEFAULT}, {0}, 0, {0}};

static void *stop_elsewhere(void *hconn) {
    MQLONG comp, reason;
    wait_for(&consumed, MQCBCT_START_CALL, 7);
    MQCTL(*(MQHCONN *)hconn, MQOP_STOP, &consumed.ctlo, &comp, &reason);
    expect("MQOP_STOP elsewhere", comp, reason, MQCC_OK, MQRC_NONE);
    return NULL;
}

/* Consumers of two handles and an event handler; then MQDISC in the middle of it. */
static void callbacks(char *q_mgr_name) {
    MQCTLO *ctlo = &consumed.ctlo;
    MQCBD cbd = {MQCBD_DEFAULT};
    MQCNO cno = {MQCNO_DEFAULT};
    cno.Options = MQCNO_HANDLE_SHARE_BLOCK;
    MQHCONN hconn;
    MQHOBJ hobj, other;
    MQLONG comp, reason;
    MQOD od;
    MQGMO gmo;
    MQMD md = new_md(1);
    begin(&od, sizeof od, "OD  ", 4);
    set_int(&od, 8, 1);
    memcpy((char *)&od + 12, "EVERY.CALLBACK", 14);
    begin(&gmo, sizeof gmo, "GMO ", 1);
    set_int(&gmo, 8, 1 | 2);
    set_int(&gmo, 12, -1);
    ctlo->ConnectionArea = &consumed;
    MQCONNX(q_mgr_name, &cno, &hconn, &comp, &reason);
    MQOPEN(hconn, &od, 0x2 | 0x10, &hobj, &comp, &reason);
    MQOPEN(hconn, &od, 0x2 | 0x10, &other, &comp, &reason);
    expect("MQOPEN to consume", comp, reason, MQCC_OK, MQRC_NONE);

    MQCB(hconn, MQOP_REGISTER, NULL, hobj, &md, &gmo, &comp, &reason);
    expect("MQCB without MQCBD", comp, reason, MQCC_FAILED, 2444);
    MQCB(hconn, MQOP_REGISTER, &cbd, hobj, &md, &gmo, &comp, &reason);
    expect("MQCB without a function", comp, reason, MQCC_FAILED, 2486);
    memcpy(cbd.CallbackName, "library(function)", 17);
    MQCB(hconn, MQOP_REGISTER, &cbd, hobj, &md, &gmo, &comp, &reason);
    expect("MQCB with a name", comp, reason, MQCC_FAILED, 2495);
    memset(cbd.CallbackName, 0, sizeof cbd.CallbackName);
    MQCB(hconn, MQOP_DEREGISTER, NULL, hobj, NULL, NULL, &comp, &reason);
    expect("MQOP_DEREGISTER of nothing", comp, reason, MQCC_FAILED, 2448);
    cbd.CallbackFunction = called;
    cbd.CallbackArea = &consumed;
    cbd.Options = MQCBDO_REGISTER_CALL | MQCBDO_START_CALL | MQCBDO_STOP_CALL | MQCBDO_DEREGISTER_CALL;
    MQCB(hconn, MQOP_REGISTER, &cbd, hobj, &md, &gmo, &comp, &reason);
    expect("MQCB", comp, reason, MQCC_OK, MQRC_NONE);
    MQCB(hconn, MQOP_REGISTER, &cbd, other, NULL, NULL, &comp, &reason);
    expect("MQCB with the defaults", comp, reason, MQCC_OK, MQRC_NONE);
    cbd.CallbackType = MQCBT_EVENT_HANDLER;
    MQCB(hconn, MQOP_REGISTER, &cbd, MQHO_NONE, NULL, NULL, &comp, &reason);
    expect("MQCB of an event handler", comp, reason, MQCC_OK, MQRC_NONE);
    MQCTL(hconn, MQOP_START, NULL, &comp, &reason);
    expect("MQCTL without MQCTLO", comp, reason, MQCC_FAILED, 2445);
    for (int round = 1; round <= 3; round++) {
        MQCTL(hconn, MQOP_START, ctlo, &comp, &reason);
        expect("MQOP_START", comp, reason, MQCC_OK, MQRC_NONE);
        MQCMIT(hconn, &comp, &reason);
        expect("MQCMIT while started", comp, reason, MQCC_FAILED, MQRC_HCONN_ASYNC_ACTIVE);
        put_from_elsewhere(q_mgr_name, &od);
        wait_for(&consumed, MQCBCT_MSG_REMOVED, 2 * round - 1);
        MQCTL(hconn, MQOP_SUSPEND, ctlo, &comp, &reason);
        expect("MQOP_SUSPEND", comp, reason, MQCC_OK, MQRC_NONE);
        MQCTL(hconn, MQOP_RESUME, ctlo, &comp, &reason);
        expect("MQOP_RESUME", comp, reason, MQCC_OK, MQRC_NONE);
        put_from_elsewhere(q_mgr_name, &od);
        wait_for(&consumed, MQCBCT_MSG_REMOVED, 2 * round);
        MQCTL(hconn, MQOP_STOP, ctlo, &comp, &reason);
        expect("MQOP_STOP", comp, reason, MQCC_OK, MQRC_NONE);
    }
    if (consumed.length != 5 || memcmp(consumed.data, "hello", 5) != 0) {
        fprintf(stderr, "consumed: %d bytes, %.5s\n", consumed.length, consumed.data);
        failures++;
    }
    MQCLOSE(hconn, &other, 0, &comp, &reason);
    expect("MQCLOSE of a consumer", comp, reason, MQCC_OK, MQRC_NONE);
    pthread_t thread;
    pthread_create(&thread, NULL, stop_elsewhere, &hconn);
    MQCTL(hconn, MQOP_START_WAIT, ctlo, &comp, &reason);
    pthread_join(thread, NULL);
    expect("MQOP_START_WAIT", comp, reason, MQCC_OK, MQRC_NONE);
    MQCTL(hconn, MQOP_START, ctlo, &comp, &reason);
    put_from_elsewhere(q_mgr_name, &od);
    MQDISC(&hconn, &comp, &reason);
    expect("MQDISC while started", comp, reason, MQCC_OK, MQRC_NONE);
    static const int expected[9] = {0, 8, 8, 3, 3};
    for (int type = MQCBCT_REGISTER_CALL; type <= MQCBCT_DEREGISTER_CALL; type++) {
        if (consumed.types[type] != expected[type]) {
            fprintf(stderr, "calls of type %d: %d\n", type, consumed.types[type]);
            failures++;
        }
    }
}

/* More asynchronous puts than may be under way at once, of all sizes; then MQSTAT tells of all of them. */
static void asynchronous_puts(MQHCONN hconn) {
    enum { NUMBER = 600, LONGEST = 50000 };
    MQHOBJ hobj;
    MQLONG comp, reason, length;
    MQOD od;
    MQPMO pmo;
    MQGMO gmo;
    char *data = calloc(1, LONGEST), *sts = malloc(224);
    begin(&od, sizeof od, "OD  ", 4);
    set_int(&od, 8, 1);
    memcpy((char *)&od + 12, "EVERY.CALLBACK", 14);
    MQOPEN(hconn, &od, 0x10 | 0x1, &hobj, &comp, &reason);
    expect("MQOPEN to put asynchronously", comp, reason, MQCC_OK, MQRC_NONE);
    for (int number = 0; number < NUMBER; number++) {
        MQMD md = new_md(1 + number % 2);
        begin(&pmo, sizeof pmo, "PMO ", 1 + number % 3);
        set_int(&pmo, 8, MQPMO_ASYNC_RESPONSE | MQPMO_SYNCPOINT | MQPMO_NEW_CORREL_ID);
        MQPUT(hconn, hobj, &md, &pmo, number * (LONGEST / NUMBER), data, &comp, &reason);
        expect("MQPUT with MQPMO_ASYNC_RESPONSE", comp, reason, MQCC_OK, MQRC_NONE);
        if (memcmp((char *)&md + 48, "AMQ ", 4) != 0 || memcmp((char *)&md + 72, "AMQ ", 4) != 0) {
            fprintf(stderr, "identifiers of an asynchronous put: %.16s, %.16s\n", (char *)&md + 48, (char *)&md + 72);
            failures++;
        }
    }
    begin(sts, 224, "STAT", 1);
    MQSTAT(hconn, 0, sts, &comp, &reason);
    expect("MQSTAT of asynchronous puts", comp, reason, MQCC_OK, MQRC_NONE);
    memcpy(&length, sts + 16, sizeof length);
    if (length != NUMBER) {
        fprintf(stderr, "MQSTAT: %d puts succeeded\n", length);
        failures++;
    }
    MQCMIT(hconn, &comp, &reason);
    expect("MQCMIT of asynchronous puts", comp, reason, MQCC_OK, MQRC_NONE);
    for (int number = 0; number < NUMBER; number++) {
        MQMD md = new_md(2);
        begin(&gmo, sizeof gmo, "GMO ", 4);
        MQGET(hconn, hobj, &md, &gmo, LONGEST, data, &length, &comp, &reason);
        expect("MQGET of what was put asynchronously", comp, reason, MQCC_OK, MQRC_NONE);
    }
    MQCLOSE(hconn, &hobj, 0, &comp, &reason);
    free(data);
    free(sts);
}

int main(void) {
    MQHCONN hconn;
    MQHOBJ hobj;
    MQLONG comp, reason, length;
    char buffer[64], name[49] = "QM1";
    MQCNO cno = {MQCNO_DEFAULT};
    cno.Version = MQCNO_VERSION_5;
    MQOD od;
    MQPMO pmo;
    MQGMO gmo;

    MQCONNX(name, &cno, &hconn, &comp, &reason);
    expect("MQCONNX", comp, reason, MQCC_OK, MQRC_NONE);
    begin(&od, sizeof od, "OD  ", 4);
    set_int(&od, 8, 1);
    memcpy((char *)&od + 12, "EVERY.CALL", 10);
    MQOPEN(hconn, &od, 0x10 | 0x2 | 0x20 | 0x40, &hobj, &comp, &reason);
    expect("MQOPEN", comp, reason, MQCC_OK, MQRC_NONE);
    for (MQLONG version = 1; version <= 2; version++) {
        MQMD md = new_md(version);
        begin(&pmo, sizeof pmo, "PMO ", version + 1);
        set_int(&pmo, 8, 2);
        MQPUT(hconn, hobj, &md, &pmo, 5, "hello", &comp, &reason);
        expect("MQPUT", comp, reason, MQCC_OK, MQRC_NONE);
    }
    MQMD md = new_md(2);
    MQPUT(hconn, hobj, &md, NULL, 5, "hello", &comp, &reason);
    expect("MQPUT without MQPMO", comp, reason, MQCC_FAILED, 2173);
    MQPUT(hconn, hobj, NULL, &pmo, 5, "hello", &comp, &reason);
    expect("MQPUT without MQMD", comp, reason, MQCC_FAILED, 2026);
    MQPUT(hconn, hobj, &md, &pmo, -1, "hello", &comp, &reason);
    expect("MQPUT of a negative length", comp, reason, MQCC_FAILED, MQRC_BUFFER_LENGTH_ERROR);
    md = new_md(2);
    begin(&pmo, sizeof pmo, "PMO ", 3);
    MQPUT1(hconn, &od, &md, &pmo, 0, NULL, &comp, &reason);
    expect("MQPUT1", comp, reason, MQCC_OK, MQRC_NONE);
    MQCMIT(hconn, &comp, &reason);
    expect("MQCMIT", comp, reason, MQCC_OK, MQRC_NONE);
    for (MQLONG version = 1; version <= 3; version++) {
        md = new_md(2);
        begin(&gmo, sizeof gmo, "GMO ", version);
        set_int(&gmo, 8, 2);
        MQGET(hconn, hobj, &md, &gmo, sizeof buffer, buffer, &length, &comp, &reason);
        expect("MQGET", comp, reason, MQCC_OK, MQRC_NONE);
    }
    md = new_md(2);
    begin(&gmo, sizeof gmo, "GMO ", 4);
    MQGET(hconn, hobj, &md, &gmo, 0, NULL, NULL, &comp, &reason);
    expect("MQGET from an empty queue", comp, reason, MQCC_FAILED, 2033);
    MQBACK(hconn, &comp, &reason);
    expect("MQBACK", comp, reason, MQCC_OK, MQRC_NONE);
    MQLONG selectors[3] = {3, 15, 2016}, values[2] = {-9, -9};
    char text[48];
    MQINQ(hconn, hobj, 3, selectors, 2, values, sizeof text, text, &comp, &reason);
    expect("MQINQ", comp, reason, MQCC_OK, MQRC_NONE);
    if (values[0] != 3 || memcmp(text, "EVERY.CALL ", 11) != 0) {
        fprintf(stderr, "MQINQ: depth %d, name %.48s\n", values[0], text);
        failures++;
    }
    MQINQ(hconn, hobj, 3, selectors, 1, values, 4, text, &comp, &reason);
    expect("MQINQ with too little room", comp, reason, MQCC_WARNING, 2022);
    MQLONG inhibit = 10, inhibited = 1;
    MQSET(hconn, hobj, 1, &inhibit, 1, &inhibited, 0, NULL, &comp, &reason);
    expect("MQSET", comp, reason, MQCC_OK, MQRC_NONE);
    MQBEGIN(hconn, NULL, &comp, &reason);
    expect("MQBEGIN", comp, reason, MQCC_FAILED, 2012);

    for (MQLONG version = 1; version <= 2; version++) {
        /* The structure ends where its memory ends. */
        size_t size = version == 1 ? 224 : 280;
        char *sts = malloc(size);
        begin(sts, size, "STAT", version);
        MQSTAT(hconn, 0, sts, &comp, &reason);
        expect("MQSTAT", comp, reason, MQCC_OK, MQRC_NONE);
        free(sts);
    }
    MQSTAT(hconn, 0, NULL, &comp, &reason);
    expect("MQSTAT without MQSTS", comp, reason, MQCC_FAILED, 2426);
    asynchronous_puts(hconn);
    message_properties(hconn);
    publish_and_subscribe(hconn);
    callbacks(name);

    pthread_t thread;
    pthread_create(&thread, NULL, call_from_another_thread, &hconn);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        MQCMIT(hconn, &comp, &reason);
        expect("MQCMIT over fork", comp, reason, MQCC_FAILED, MQRC_ENVIRONMENT_ERROR);
        exit(failures != 0);
    }
    int status;
    waitpid(child, &status, 0);
    failures += status != 0;

    MQCLOSE(hconn, &hobj, 0, &comp, &reason);
    expect("MQCLOSE", comp, reason, MQCC_OK, MQRC_NONE);
    MQDISC(&hconn, &comp, &reason);
    expect("MQDISC", comp, reason, MQCC_OK, MQRC_NONE);
    if (hconn != MQHC_UNUSABLE_HCONN || hobj != MQHO_UNUSABLE_HOBJ) {
        fprintf(stderr, "handles after MQDISC and MQCLOSE: %d, %d\n", hconn, hobj);
        failures++;
    }
    hconn = 4711;
    MQDISC(&hconn, &comp, &reason);
    expect("MQDISC of an unknown handle", comp, reason, MQCC_FAILED, MQRC_HCONN_ERROR);
    memset(name, 'X', 48);
    MQCONN(name, &hconn, &comp, &reason);
    expect("MQCONN to an unknown queue manager", comp, reason, MQCC_FAILED, MQRC_Q_MGR_NAME_ERROR);
    setenv("MQSERVER", "NO.SUCH.CHANNEL/TCP/nonsense(", 1);
    MQCONN(name, &hconn, &comp, &reason);
    expect("MQCONN by nonsense", comp, reason, MQCC_FAILED, MQRC_CHANNEL_CONFIG_ERROR);
    unsetenv("MQSERVER");
    MQCONN(name, &hconn, &comp, &reason);
    expect("MQCONN without any channel", comp, reason, MQCC_FAILED, MQRC_Q_MGR_NAME_ERROR);
    return failures != 0;
}

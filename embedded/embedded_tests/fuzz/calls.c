/* Makes calls at random against a server that may answer anything, and looks at what comes back as a program would.
 *
 *     calls SEED CALLS
 *
 * All memory is as long as its structure's version says, so that AddressSanitizer sees a byte too many. Buffers are filled with
 * CANARY, which the server never sends. A call that does not return is ended by SIGALRM, with its name. */
#include <cmqc.h>

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANARY 0xA5
#define DEADLINE 30
#define CONSUMED 4

static unsigned seed;
static const char *verb = "";
static volatile unsigned sink;

static unsigned draw(unsigned most) {
    seed = seed * 1103515245u + 12345u;
    return most == 0 ? 0 : (seed >> 8) % most;
}

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", verb);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    _exit(3);
}

static void is_late(int number) {
    (void)number;
    const char *text = " has not returned\n";
    if (write(2, verb, strlen(verb)) < 0 || write(2, text, strlen(text)) < 0) {
        _exit(5);
    }
    _exit(4);
}

static void begin_call(const char *name) {
    verb = name;
    alarm(DEADLINE);
}

/* --- structures */

struct region {
    size_t at, length;
};

/* What is the caller's own (the structures' topics): StrucId and Version, pointers, offsets, room, what goes in only. */
static const struct region own_od[] = {{0, 8}, {168, 4}, {184, 24}, {344, 48}, {392, 16}, {0, 0}};
static const struct region own_pmo[] = {{0, 8}, {128, 32}, {0, 0}};
static const struct region own_sd[] = {{0, 8}, {120, 48}, {168, 16}, {288, 24}, {320, 16}, {0, 0}};
static const struct region own_impo[] = {{0, 8}, {32, 16}, {0, 0}};
static const struct region own_sts[] = {{0, 8}, {224, 16}, {248, 16}, {0, 0}};
static const struct region own_gmo[] = {{0, 8}, {16, 8}, {0, 0}};
static const struct region own_head[] = {{0, 8}, {0, 0}};

struct structure {
    unsigned char *bytes, *before;
    size_t length;
    const struct region *own;
};

/* Lengths of versions 1, 2, ...; 0 ends them. */
static const size_t lengths_md[] = {324, 364, 0}, lengths_gmo[] = {72, 80, 100, 112, 0}, lengths_pmo[] = {128, 160, 184, 0};
static const size_t lengths_od[] = {168, 208, 344, 424, 0}, lengths_sd[] = {344, 0}, lengths_sts[] = {224, 280, 0};
static const size_t lengths_impo[] = {64, 0}, lengths_pd[] = {24, 0}, lengths_sro[] = {16, 0};

static void set_int(struct structure *structure, size_t at, MQLONG value) {
    if (structure->length >= at + 4) {
        memcpy(structure->bytes + at, &value, 4);
    }
}

static MQLONG int_at(const struct structure *structure, size_t at) {
    MQLONG value = 0;
    if (structure->length >= at + 4) {
        memcpy(&value, structure->bytes + at, 4);
    }
    return value;
}

static struct structure made(const char *struc_id, const size_t *lengths, const struct region *own) {
    MQLONG version = 1;
    while (lengths[version] != 0 && draw(3) != 0) {
        version++;
    }
    struct structure structure = {NULL, NULL, lengths[version - 1], own};
    structure.bytes = calloc(1, structure.length);
    structure.before = malloc(structure.length);
    memcpy(structure.bytes, struc_id, 4);
    set_int(&structure, 4, version);
    return structure;
}

static void remember(struct structure *structure) { memcpy(structure->before, structure->bytes, structure->length); }

static void check_own(const struct structure *structure) {
    for (const struct region *one = structure->own; one->length != 0; one++) {
        if (one->at + one->length <= structure->length &&
            memcmp(structure->before + one->at, structure->bytes + one->at, one->length) != 0) {
            wrong("%.4s: bytes %zu to %zu are the caller's own", structure->bytes, one->at, one->at + one->length);
        }
    }
}

static void release(struct structure *structure) {
    free(structure->bytes);
    free(structure->before);
}

/* --- what was told */

static unsigned char *canaries(size_t length) {
    unsigned char *buffer = malloc(length > 0 ? length : 1);
    memset(buffer, CANARY, length > 0 ? length : 1);
    return buffer;
}

/* Read bytes that the library said came from the server. */
static void read_told(const char *what, const void *buffer, size_t length) {
    const unsigned char *bytes = buffer;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == CANARY) {
            wrong("byte %zu of %zu of %s did not come from the server", i, length, what);
        }
        sink += bytes[i];
    }
}

static void check_codes(MQLONG comp) {
    if (comp < MQCC_OK || comp > MQCC_FAILED) {
        wrong("completion code %d", comp);
    }
}

/* Give a structure's MQCHARV a buffer, or none. */
static unsigned char *give_room(struct structure *structure, size_t at) {
    if (structure->length < at + sizeof(MQCHARV) || draw(4) == 0) {
        return NULL;
    }
    MQLONG size = (MQLONG)draw(40);
    unsigned char *room = canaries((size_t)size);
    memcpy(structure->bytes + at, &room, sizeof room);
    set_int(structure, at + 12, size);
    return room;
}

static void check_room(struct structure *structure, size_t at, unsigned char *room, MQLONG comp) {
    if (structure->length >= at + sizeof(MQCHARV)) {
        MQLONG size = int_at(structure, at + 12), length = int_at(structure, at + 16);
        if (length < 0) {
            wrong("VSLength %d", length);
        }
        if (room != NULL && comp != MQCC_FAILED) {
            read_told("a text", room, (size_t)(length < size ? length : size));
        }
    }
    free(room);
}

/* --- the calls; each returns its reason */

static MQHCONN hconn = MQHC_UNUSABLE_HCONN;

static MQLONG connect_again(void) {
    char name[49] = "QM1";
    MQCNO cno = {MQCNO_DEFAULT};
    MQLONG comp, reason;
    cno.Version = MQCNO_VERSION_5;
    cno.Options = MQCNO_HANDLE_SHARE_BLOCK;
    begin_call("MQCONNX");
    MQCONNX(name, &cno, &hconn, &comp, &reason);
    check_codes(comp);
    return reason;
}

static MQLONG open_object(void) {
    struct structure od = made("OD  ", lengths_od, own_od);
    MQLONG comp, reason;
    MQHOBJ hobj;
    unsigned char *room = give_room(&od, 392);
    set_int(&od, 8, draw(2) ? 8 : 1);
    remember(&od);
    bool put1 = draw(3) == 0;
    if (put1) {
        struct structure md = made("MD  ", lengths_md, own_head), pmo = made("PMO ", lengths_pmo, own_pmo);
        remember(&md);
        remember(&pmo);
        begin_call("MQPUT1");
        MQPUT1(hconn, od.bytes, md.bytes, pmo.bytes, 4, "data", &comp, &reason);
        check_own(&md);
        check_own(&pmo);
        release(&md);
        release(&pmo);
    } else {
        begin_call("MQOPEN");
        MQOPEN(hconn, od.bytes, 0x10 | 0x2, &hobj, &comp, &reason);
    }
    check_codes(comp);
    check_own(&od);
    check_room(&od, 392, room, comp);
    release(&od);
    return reason;
}

static MQLONG close_object(void) {
    MQHOBJ hobj = 101 + (MQHOBJ)draw(4);
    MQLONG comp, reason;
    begin_call("MQCLOSE");
    MQCLOSE(hconn, &hobj, 0, &comp, &reason);
    check_codes(comp);
    return reason;
}

/* Some puts are asynchronous, and then there are many. */
static MQLONG put(void) {
    MQLONG comp, reason = MQRC_NONE, options = draw(2) ? MQPMO_ASYNC_RESPONSE : 0;
    options |= draw(2) ? MQPMO_NEW_CORREL_ID : 0;
    size_t length = draw(200);
    char *data = calloc(1, length + 1);
    for (unsigned count = options & MQPMO_ASYNC_RESPONSE ? 1 + draw(300) : 1; count > 0; count--) {
        struct structure md = made("MD  ", lengths_md, own_head), pmo = made("PMO ", lengths_pmo, own_pmo);
        set_int(&pmo, 8, options);
        remember(&md);
        remember(&pmo);
        begin_call("MQPUT");
        MQPUT(hconn, 101 + (MQHOBJ)draw(4), md.bytes, pmo.bytes, (MQLONG)length, data, &comp, &reason);
        check_codes(comp);
        check_own(&md);
        check_own(&pmo);
        release(&md);
        release(&pmo);
        if (reason == MQRC_CONNECTION_BROKEN) {
            break;
        }
    }
    free(data);
    return reason;
}

static MQLONG get(void) {
    struct structure md = made("MD  ", lengths_md, own_head), gmo = made("GMO ", lengths_gmo, own_gmo);
    MQLONG comp, reason, whole = -7, room = (MQLONG)draw(300);
    unsigned char *buffer = canaries((size_t)room);
    remember(&md);
    remember(&gmo);
    begin_call("MQGET");
    MQGET(hconn, 101, md.bytes, gmo.bytes, room, buffer, &whole, &comp, &reason);
    check_codes(comp);
    check_own(&md);
    check_own(&gmo);
    if (whole < 0 || (comp == MQCC_OK && whole > room)) {
        wrong("DataLength %d with a buffer of %d", whole, room);
    }
    read_told("a message", buffer, (size_t)(whole < room ? whole : room));
    MQLONG returned = int_at(&gmo, 96);
    if (returned != MQRL_UNDEFINED && gmo.length >= 100 && (returned < 0 || returned > room)) {
        wrong("ReturnedLength %d with a buffer of %d", returned, room);
    }
    free(buffer);
    release(&md);
    release(&gmo);
    return reason;
}

static MQLONG inquire(void) {
    MQLONG comp, reason, selectors[] = {3, 2016, 15, 2004}, count = (MQLONG)draw(5);
    MQLONG wanted = count == 0 ? 0 : count < 3 ? 1 : 2, int_count = (MQLONG)draw(4), char_length = (MQLONG)draw(100);
    MQLONG *integers = (MQLONG *)canaries((size_t)int_count * 4);
    unsigned char *characters = canaries((size_t)char_length);
    begin_call("MQINQ");
    MQINQ(hconn, 101, count, selectors, int_count, integers, char_length, (PMQCHAR)characters, &comp, &reason);
    check_codes(comp);
    if (comp != MQCC_FAILED) {
        read_told("integers", integers, 4 * (size_t)(wanted < int_count ? wanted : int_count));
    }
    free(integers);
    free(characters);
    return reason;
}

static MQLONG set(void) {
    MQLONG comp, reason, selector = 10, value = 0;
    begin_call("MQSET");
    MQSET(hconn, 101, 1, &selector, 1, &value, 0, NULL, &comp, &reason);
    check_codes(comp);
    return reason;
}

static MQLONG subscribe(void) {
    struct structure sd = made("SD  ", lengths_sd, own_sd), sro = made("SRO ", lengths_sro, own_head);
    MQHOBJ hobj = 0, hsub = 0;
    MQLONG comp, reason;
    unsigned char *user_data = give_room(&sd, 168), *topic = give_room(&sd, 320);
    remember(&sd);
    remember(&sro);
    begin_call("MQSUB");
    MQSUB(hconn, sd.bytes, &hobj, &hsub, &comp, &reason);
    check_codes(comp);
    check_own(&sd);
    check_room(&sd, 168, user_data, comp);
    check_room(&sd, 320, topic, comp);
    begin_call("MQSUBRQ");
    MQSUBRQ(hconn, hsub, 1, sro.bytes, &comp, &reason);
    check_own(&sro);
    release(&sd);
    release(&sro);
    return reason;
}

static MQLONG tell_status(void) {
    struct structure sts = made("STAT", lengths_sts, own_sts);
    MQLONG comp, reason;
    unsigned char *object = give_room(&sts, 224), *subscription = give_room(&sts, 248);
    remember(&sts);
    begin_call("MQSTAT");
    MQSTAT(hconn, 0, sts.bytes, &comp, &reason);
    check_codes(comp);
    check_own(&sts);
    check_room(&sts, 224, object, comp);
    check_room(&sts, 248, subscription, comp);
    release(&sts);
    return reason;
}

static MQLONG end_unit_of_work(void) {
    MQLONG comp, reason;
    begin_call(draw(2) ? "MQCMIT" : "MQBACK");
    if (*verb == 'M' && verb[2] == 'C') {
        MQCMIT(hconn, &comp, &reason);
    } else {
        MQBACK(hconn, &comp, &reason);
    }
    check_codes(comp);
    return reason;
}

static size_t length_of_type(MQLONG type) {
    return type == MQTYPE_INT8 ? 1 : type == MQTYPE_INT16 ? 2 : type & (MQTYPE_INT64 | MQTYPE_FLOAT64) ? 8 : 4;
}

static MQLONG use_properties(void) {
    char cmho[12] = "CMHO\1", smpo[20] = "SMPO\1", dmpo[12] = "DMPO\1", dmho[12] = "DMHO\1";
    MQCHARV name = {MQCHARV_DEFAULT};
    struct structure impo = made("IMPO", lengths_impo, own_impo), pd = made("PD  ", lengths_pd, own_head);
    MQHMSG hmsg = 0;
    MQLONG comp, reason, type = 0, length = -7, room = (MQLONG)draw(40);
    unsigned char *value = canaries((size_t)room), *returned = give_room(&impo, 32);
    name.VSPtr = "name";
    name.VSLength = 4;
    remember(&impo);
    remember(&pd);
    begin_call("MQCRTMH");
    MQCRTMH(hconn, cmho, &hmsg, &comp, &reason);
    begin_call("MQSETMP");
    MQSETMP(hconn, hmsg, smpo, &name, pd.bytes, MQTYPE_STRING, 4, "text", &comp, &reason);
    check_own(&pd);
    remember(&pd);
    begin_call("MQINQMP");
    MQINQMP(hconn, hmsg, impo.bytes, &name, pd.bytes, &type, room, value, &length, &comp, &reason);
    check_codes(comp);
    check_own(&impo);
    check_own(&pd);
    if (length < 0 || (comp != MQCC_FAILED && length > room)) {
        wrong("DataLength %d with room for %d", length, room);
    }
    if (comp != MQCC_FAILED) {
        read_told("a value", value, (size_t)length);
        if (!(type & (MQTYPE_NULL | MQTYPE_STRING | MQTYPE_BYTE_STRING)) && length_of_type(type) != (size_t)length) {
            wrong("type 0x%x with DataLength %d", type, length);
        }
        MQLONG told = int_at(&impo, 48);
        if (returned != NULL && told > int_at(&impo, 44)) {
            wrong("a name of %d bytes in room for %d", told, int_at(&impo, 44));
        }
    }
    check_room(&impo, 32, returned, comp);
    begin_call("MQDLTMP");
    MQDLTMP(hconn, hmsg, dmpo, &name, &comp, &reason);
    begin_call("MQDLTMH");
    MQDLTMH(hconn, &hmsg, dmho, &comp, &reason);
    free(value);
    release(&impo);
    release(&pd);
    return reason;
}

/* --- callbacks */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls;
} consumed = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void called(MQHCONN of, PMQVOID md, PMQVOID gmo, PMQVOID buffer, PMQCBC context) {
    if (memcmp(context->StrucId, "CBC ", 4) != 0 || context->CallbackArea != &consumed || context->DataLength < 0 ||
        context->BufferLength < 0 || context->BufferLength > context->DataLength) {
        wrong("in a callback: DataLength %d, BufferLength %d", context->DataLength, context->BufferLength);
    }
    bool is_message = context->CallType == MQCBCT_MSG_REMOVED || context->CallType == MQCBCT_MSG_NOT_REMOVED;
    if (is_message != (md != NULL) || is_message != (gmo != NULL)) {
        wrong("in a callback of type %d: MQMD and MQGMO", context->CallType);
    }
    if (md != NULL) {
        read_told("MQMD", md, sizeof(MQMD));
        read_told("MQGMO", gmo, sizeof(MQGMO));
        read_told("a message", buffer, (size_t)context->BufferLength);
        MQLONG comp, reason;
        MQCMIT(of, &comp, &reason);
        check_codes(comp);
    }
    pthread_mutex_lock(&consumed.lock);
    consumed.calls++;
    pthread_cond_broadcast(&consumed.changed);
    pthread_mutex_unlock(&consumed.lock);
}

static void wait_for_calls(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    /* The server may have nothing to call back for. */
    until.tv_nsec += 20 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&consumed.lock);
    int wanted = consumed.calls + CONSUMED;
    while (consumed.calls < wanted && pthread_cond_timedwait(&consumed.changed, &consumed.lock, &until) == 0) {
    }
    pthread_mutex_unlock(&consumed.lock);
}

static MQLONG consume(void) {
    MQCBD cbd = {MQCBD_DEFAULT};
    MQCTLO ctlo = {MQCTLO_DEFAULT};
    MQLONG comp, reason;
    cbd.CallbackFunction = called;
    cbd.CallbackArea = &consumed;
    for (MQHOBJ hobj = 101; hobj <= 103; hobj++) {
        bool handler = hobj == 103;
        cbd.CallbackType = handler ? MQCBT_EVENT_HANDLER : MQCBT_MESSAGE_CONSUMER;
        begin_call("MQCB");
        MQCB(hconn, MQOP_REGISTER, &cbd, handler ? MQHO_NONE : hobj, NULL, NULL, &comp, &reason);
        check_codes(comp);
    }
    begin_call("MQCTL MQOP_START");
    MQCTL(hconn, MQOP_START, &ctlo, &comp, &reason);
    check_codes(comp);
    if (comp == MQCC_OK) {
        wait_for_calls();
    }
    if (draw(2)) {
        begin_call("MQCTL MQOP_SUSPEND");
        MQCTL(hconn, MQOP_SUSPEND, &ctlo, &comp, &reason);
        begin_call("MQCTL MQOP_RESUME");
        MQCTL(hconn, MQOP_RESUME, &ctlo, &comp, &reason);
    }
    begin_call("MQCTL MQOP_STOP");
    MQCTL(hconn, MQOP_STOP, &ctlo, &comp, &reason);
    check_codes(comp);
    begin_call("MQCB MQOP_DEREGISTER");
    MQCB(hconn, MQOP_DEREGISTER, NULL, 101, NULL, NULL, &comp, &reason);
    check_codes(comp);
    return reason;
}

static MQLONG begin_unit_of_work(void) {
    MQLONG comp, reason;
    begin_call("MQBEGIN");
    MQBEGIN(hconn, NULL, &comp, &reason);
    check_codes(comp);
    return reason;
}

static void disconnect(void) {
    MQLONG comp, reason;
    begin_call("MQDISC");
    MQDISC(&hconn, &comp, &reason);
    check_codes(comp);
    if (hconn != MQHC_UNUSABLE_HCONN) {
        wrong("%d/%d, and the handle is still there", comp, reason);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        return 2;
    }
    static MQLONG (*const calls[])(void) = {open_object, close_object, put,         get,     get,
                                            inquire,     set,          subscribe,   consume, tell_status,
                                            use_properties, end_unit_of_work, begin_unit_of_work};
    seed = (unsigned)strtoul(argv[1], NULL, 10);
    signal(SIGALRM, is_late);
    MQLONG reason = connect_again();
    for (long left = strtol(argv[2], NULL, 10); left > 0; left--) {
        if (hconn == MQHC_UNUSABLE_HCONN) {
            reason = connect_again();
            continue;
        }
        reason = calls[draw(sizeof calls / sizeof *calls)]();
        if (reason == MQRC_CONNECTION_BROKEN || draw(60) == 0) {
            disconnect();
        }
    }
    if (hconn != MQHC_UNUSABLE_HCONN) {
        disconnect();
    }
    return 0;
}

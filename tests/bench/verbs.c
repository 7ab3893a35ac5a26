/* How long single verbs take, and whose time that is: `verbs SERVER_PID CALLS`. Run by verbs.py.
 *
 * Prints for each kind of call: name, wall-clock, this process's and the server's processor time, in nanoseconds a call. */
#include <cmqc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LENGTH 100
#define IN_UNIT_OF_WORK 100

static MQHCONN hconn;
static MQHOBJ queue, object;
static char data[LENGTH];
static clockid_t server;

static void set_int(void *structure, size_t offset, MQLONG value) { memcpy((char *)structure + offset, &value, 4); }

static void begin(void *structure, size_t size, const char *struc_id, MQLONG version, MQLONG options) {
    memset(structure, 0, size);
    memcpy(structure, struc_id, 4);
    set_int(structure, 4, version);
    set_int(structure, 8, options);
}

static void must(const char *what, MQLONG comp, MQLONG reason) {
    if (comp != 0) {
        fprintf(stderr, "%s: completion code %d, reason %d\n", what, comp, reason);
        exit(1);
    }
}

static MQHOBJ open_queue(const char *name, MQLONG options) {
    MQOD od;
    MQHOBJ hobj;
    MQLONG comp, reason;
    begin(&od, sizeof od, "OD  ", 1, 1 /* ObjectType: queue */);
    memcpy((char *)&od + 12, name, strlen(name));
    MQOPEN(hconn, &od, options, &hobj, &comp, &reason);
    must("MQOPEN", comp, reason);
    return hobj;
}

static void put(MQLONG persistence, MQLONG options) {
    MQMD md;
    MQPMO pmo;
    MQLONG comp, reason;
    begin(&md, sizeof md, "MD  ", 2, 0);
    set_int(&md, 12, 8);    /* MsgType: datagram */
    set_int(&md, 16, -1);   /* Expiry */
    set_int(&md, 24, 546);  /* Encoding */
    set_int(&md, 40, -1);   /* Priority: the queue's */
    set_int(&md, 44, persistence);
    set_int(&md, 348, 1);   /* MsgSeqNumber */
    set_int(&md, 360, -1);  /* OriginalLength */
    begin(&pmo, sizeof pmo, "PMO ", 2, options | 0x20000 /* MQPMO_SYNC_RESPONSE */);
    MQPUT(hconn, queue, &md, &pmo, LENGTH, data, &comp, &reason);
    must("MQPUT", comp, reason);
}

static void get(MQLONG options) {
    MQMD md;
    MQGMO gmo;
    MQLONG comp, reason, length;
    begin(&md, sizeof md, "MD  ", 2, 0);
    begin(&gmo, sizeof gmo, "GMO ", 2, options);
    MQGET(hconn, queue, &md, &gmo, LENGTH, data, &length, &comp, &reason);
    must("MQGET", comp, reason);
}

static void commit(void) {
    MQLONG comp, reason;
    MQCMIT(hconn, &comp, &reason);
    must("MQCMIT", comp, reason);
}

static void inquire(int number) {
    MQLONG comp, reason, selector = 3 /* MQIA_CURRENT_Q_DEPTH */, depth;
    (void)number;
    MQINQ(hconn, object, 1, &selector, 1, &depth, 0, NULL, &comp, &reason);
    must("MQINQ", comp, reason);
}

static void put_alone(int number) {
    (void)number;
    put(0, 4 /* MQPMO_NO_SYNCPOINT */);
}

static void get_alone(int number) {
    (void)number;
    get(4 /* MQGMO_NO_SYNCPOINT */);
}

static void put_in_unit_of_work(int number) {
    put(1, 2 /* MQPMO_SYNCPOINT */);
    if (number % IN_UNIT_OF_WORK == 0) {
        commit();
    }
}

static void get_in_unit_of_work(int number) {
    get(2 /* MQGMO_SYNCPOINT */);
    if (number % IN_UNIT_OF_WORK == 0) {
        commit();
    }
}

static void commit_nothing(int number) {
    (void)number;
    commit();
}

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void measure(const char *what, void (*call)(int number), int calls) {
    long long wall = now(CLOCK_MONOTONIC), client = now(CLOCK_PROCESS_CPUTIME_ID), serving = now(server);
    for (int number = 1; number <= calls; number++) {
        call(number);
    }
    printf("%s\t%lld\t%lld\t%lld\n", what, (now(CLOCK_MONOTONIC) - wall) / calls,
           (now(CLOCK_PROCESS_CPUTIME_ID) - client) / calls, (now(server) - serving) / calls);
}

int main(int argc, char **argv) {
    MQLONG comp, reason;
    MQCHAR name[48] = "";
    if (argc != 3 || clock_getcpuclockid(atoi(argv[1]), &server) != 0) {
        fprintf(stderr, "usage: verbs SERVER_PID CALLS\n");
        return 2;
    }
    int calls = atoi(argv[2]);
    MQCONN(name, &hconn, &comp, &reason);
    must("MQCONN", comp, reason);
    queue = open_queue("BENCH", 0x2012 /* MQOO_INPUT_SHARED | MQOO_OUTPUT | MQOO_FAIL_IF_QUIESCING */);
    object = open_queue("BENCH", 0x20 /* MQOO_INQUIRE */);
    measure("MQINQ of one attribute", inquire, calls);
    measure("MQCMIT of nothing", commit_nothing, calls);
    measure("MQPUT, 100 bytes, not persistent, outside syncpoint", put_alone, calls);
    measure("MQGET of it", get_alone, calls);
    measure("MQPUT, persistent, with MQCMIT after 100", put_in_unit_of_work, calls);
    measure("MQGET of it, with MQCMIT after 100", get_in_unit_of_work, calls);
    MQDISC(&hconn, &comp, &reason);
    return 0;
}

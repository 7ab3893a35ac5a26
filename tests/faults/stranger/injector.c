/* Faults at counted MQI calls, below the binding and above the MQ client library, whose ever that is.
 *
 * A process loads it with LD_PRELOAD, so that a binding's MQPUT is this one. Connections of programs with the chosen name count;
 * others pass through. What is armed and counted is in memory that a process shares with those it forks.
 *
 *   kill_client   SIGKILL
 *   kill_server   all lines are cut, and nobody is let in until the proxy opens again: as if the queue manager had ended
 *   drop          the connection's line is cut: before, the call fails; after, it has taken effect and its answer is lost
 *   answer        codes instead of the call, or instead of its answer
 *   delay         a while before or after the call
 *   freeze        the line falls silent, as when a host vanishes: before, in both directions; after, answers alone are lost
 *
 * Callbacks (MQCB, MQCTL), MQPUT1 and message handles are not counted: the library under test uses none, or they make no call
 * over the line. */
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmqc.h>

#define EXPORTED __attribute__((visibility("default")))
#define LONGEST_MD 364
#define SOCKETS 1024

enum action { NONE, KILL_CLIENT, KILL_SERVER, DROP, ANSWER, DELAY, FREEZE };

struct fault {
    int32_t action, after, nth, comp, reason, delay_us;
    char verb[12];
};

struct line {
    int32_t pid, hconn, fd, port;
};

static struct shared {
    pthread_mutex_t lock;
    char program[28];
    char control[108];
    int32_t proxy_port, fired, armed_count;
    bool ended;
    struct fault armed[32];
    struct line lines[256];
} *shared;

/* A verb that the client library calls by itself is no call of the program. */
static _Thread_local bool inside;

__attribute__((constructor)) static void make_shared(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        abort();
    }
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    /* Who holds it may be killed by somebody else. */
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->lock, &attributes);
}

static void lock(void) {
    if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD) {
        pthread_mutex_consistent(&shared->lock);
    }
}

static void unlock(void) { pthread_mutex_unlock(&shared->lock); }

/* --- what the campaign calls */

EXPORTED void injector_watch(const char *program, const char *control, int32_t proxy_port) {
    lock();
    snprintf(shared->program, sizeof shared->program, "%s", program);
    snprintf(shared->control, sizeof shared->control, "%s", control);
    shared->proxy_port = proxy_port;
    unlock();
}

EXPORTED bool injector_arm(int32_t action, bool after, int32_t nth, const char *verb, int32_t comp, int32_t reason,
                         int32_t delay_us) {
    lock();
    bool has_room = shared->armed_count < (int)(sizeof shared->armed / sizeof *shared->armed);
    if (has_room) {
        struct fault *fault = &shared->armed[shared->armed_count++];
        *fault = (struct fault){action, after, nth, comp, reason, delay_us, ""};
        snprintf(fault->verb, sizeof fault->verb, "%s", verb);
    }
    unlock();
    return has_room;
}

EXPORTED void injector_clear(void) {
    lock();
    shared->armed_count = shared->fired = 0;
    shared->ended = false;
    unlock();
}

EXPORTED int32_t injector_fired(void) { return shared->fired; }

/* Whether a fault has ended all lines, which are not open again. */
EXPORTED bool injector_ended(void) { return shared->ended; }

/* The ports at this end of the lines of a process; returns how many. */
EXPORTED int32_t injector_ports(int32_t pid, int32_t *ports, int32_t room) {
    int32_t count = 0;
    lock();
    for (struct line *line = shared->lines; line < shared->lines + 256; line++) {
        if (line->pid == pid && count < room) {
            ports[count++] = line->port;
            *line = (struct line){0};
        }
    }
    unlock();
    return count;
}

/* --- lines */

static struct line *line_of(MQHCONN hconn) {
    int32_t pid = getpid();
    for (struct line *line = shared->lines; line < shared->lines + 256; line++) {
        if (line->pid == pid && line->hconn == hconn) {
            return line;
        }
    }
    return NULL;
}

static void forget(MQHCONN hconn) {
    lock();
    struct line *line = line_of(hconn);
    if (line != NULL) {
        *line = (struct line){0};
    }
    unlock();
}

/* Which of this process's sockets are lines: each by the port at this end, 0 for none. */
static void lines_of_process(int32_t ports[SOCKETS]) {
    memset(ports, 0, SOCKETS * sizeof *ports);
    DIR *directory = opendir("/proc/self/fd");
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        int fd = atoi(entry->d_name);
        struct sockaddr_in peer, own;
        socklen_t length = sizeof peer;
        if (fd <= 0 || fd >= SOCKETS || getpeername(fd, (struct sockaddr *)&peer, &length) != 0 ||
            peer.sin_family != AF_INET || ntohs(peer.sin_port) != shared->proxy_port) {
            continue;
        }
        length = sizeof own;
        if (getsockname(fd, (struct sockaddr *)&own, &length) == 0) {
            ports[fd] = ntohs(own.sin_port);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
}

/* Note the line that a new connection has made. Each has to have one of its own. */
static void note_line(MQHCONN hconn, const int32_t before[SOCKETS]) {
    int32_t now[SOCKETS], found = 0;
    lines_of_process(now);
    for (int fd = 0; fd < SOCKETS; fd++) {
        if (now[fd] != 0 && now[fd] != before[fd]) {
            found = fd;
        }
    }
    if (found == 0) {
        fprintf(stderr, "injector: a connection has no line of its own to the proxy\n");
        abort();
    }
    lock();
    struct line *free_line = NULL;
    for (struct line *line = shared->lines; line < shared->lines + 256; line++) {
        if (line->pid != 0 && kill(line->pid, 0) != 0 && errno == ESRCH) {
            *line = (struct line){0};
        }
        if (line->pid == 0 && free_line == NULL) {
            free_line = line;
        }
    }
    if (free_line == NULL) {
        abort();
    }
    *free_line = (struct line){getpid(), hconn, found, now[found]};
    unlock();
}

static void cut(MQHCONN hconn) {
    lock();
    struct line *line = line_of(hconn);
    int fd = line != NULL ? line->fd : -1;
    unlock();
    if (fd >= 0) {
        shutdown(fd, SHUT_RDWR);
    }
}

/* Have the proxy do something, and return when that is done. */
static void order(const char *text) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", shared->control);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char answer;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        write(fd, text, strlen(text)) != (ssize_t)strlen(text) || read(fd, &answer, 1) != 1) {
        abort();
    }
    close(fd);
}

static void end_all_lines(void) {
    order("down\n");
    shared->ended = true;
}

static void silence(MQHCONN hconn, bool answers_alone) {
    char text[32];
    lock();
    struct line *line = line_of(hconn);
    snprintf(text, sizeof text, "%s %d\n", answers_alone ? "deafen" : "silence", line != NULL ? line->port : 0);
    unlock();
    order(text);
}

/* --- faults */

/* Count a call; the fault that is due at it. Each fault counts by itself, as those of the embedded queue manager do. */
static struct fault count(const char *verb) {
    struct fault due = {0};
    lock();
    for (int i = 0; i < shared->armed_count; i++) {
        struct fault *fault = &shared->armed[i];
        if (fault->action == NONE || (fault->verb[0] != '\0' && strcmp(fault->verb, verb) != 0)) {
            continue;
        }
        if (fault->nth > 1) {
            fault->nth--;
        } else if (due.action == NONE) {
            due = *fault;
            fault->action = NONE;
            shared->fired++;
        }
    }
    unlock();
    return due;
}

static struct fault due_at(const char *verb, MQHCONN hconn) {
    if (inside) {
        return (struct fault){0};
    }
    lock();
    bool counts = line_of(hconn) != NULL;
    unlock();
    return counts ? count(verb) : (struct fault){0};
}

static void answer(PMQLONG comp, PMQLONG reason, MQLONG comp_code, MQLONG reason_code) {
    *comp = comp_code;
    *reason = reason_code;
}

/* What happens before the call; returns whether it is not made. */
static bool instead(const struct fault *fault, MQHCONN hconn, PMQLONG comp, PMQLONG reason) {
    if (fault->action == FREEZE) {
        silence(hconn, fault->after);
    }
    if (fault->action == NONE || fault->action == FREEZE || fault->after) {
        return false;
    }
    switch (fault->action) {
    case KILL_CLIENT:
        kill(getpid(), SIGKILL);
        return true;
    case KILL_SERVER:
        end_all_lines();
        return false;
    case DROP:
        cut(hconn);
        return false;
    case DELAY:
        usleep((useconds_t)fault->delay_us);
        return false;
    default:
        answer(comp, reason, fault->comp, fault->reason);
        return true;
    }
}

/* What happens after the call; returns whether the program learns nothing of its results. */
static bool afterwards(const struct fault *fault, MQHCONN hconn, PMQLONG comp, PMQLONG reason) {
    if (fault->action == NONE || fault->action == FREEZE || !fault->after) {
        return false;
    }
    switch (fault->action) {
    case KILL_CLIENT:
        kill(getpid(), SIGKILL);
        return true;
    case KILL_SERVER:
        end_all_lines();
        break;
    case DROP:
        cut(hconn);
        break;
    case DELAY:
        usleep((useconds_t)fault->delay_us);
        return false;
    default:
        answer(comp, reason, fault->comp, fault->reason);
        return true;
    }
    answer(comp, reason, MQCC_FAILED, MQRC_CONNECTION_BROKEN);
    return true;
}

/* --- verbs */

/* The client library's function: of the library that the calling binding is linked to. */
static void *function(const char *verb, void *caller) {
    Dl_info info;
    bool is_ibmmq = dladdr(caller, &info) != 0 && info.dli_fname != NULL && strstr(info.dli_fname, "ibmmq") != NULL;
    const char *names[] = {"libmqic_r.so", "libmqm_r.so"};
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(names[i ^ is_ibmmq], RTLD_LAZY | RTLD_NOLOAD);
        void *found = library != NULL ? dlsym(library, verb) : NULL;
        if (found != NULL) {
            return found;
        }
    }
    fprintf(stderr, "injector: no MQ client library with %s is loaded\n", verb);
    abort();
}

#define REAL(verb, ...) ((void (*)(__VA_ARGS__))function(#verb, __builtin_return_address(0)))

/* Call it, with the verbs that it calls by itself not counted. */
#define CALL(call)                                                                                                               \
    do {                                                                                                                         \
        bool was_inside = inside;                                                                                                \
        inside = true;                                                                                                           \
        call;                                                                                                                    \
        inside = was_inside;                                                                                                     \
    } while (0)

/* How long an MQMD is: version 1 has no group fields. */
static size_t length_of(const void *md) {
    int32_t version;
    memcpy(&version, (const char *)md + 4, sizeof version);
    return version < 2 ? 324 : LONGEST_MD;
}

EXPORTED void MQCONNX(PMQCHAR q_mgr_name, PMQCNO cno, PMQHCONN hconn, PMQLONG comp, PMQLONG reason) {
    void (*real)(PMQCHAR, PMQCNO, PMQHCONN, PMQLONG, PMQLONG) =
        REAL(MQCONNX, PMQCHAR, PMQCNO, PMQHCONN, PMQLONG, PMQLONG);
    bool counts = !inside && shared->program[0] != '\0' && strcmp(program_invocation_short_name, shared->program) == 0;
    struct fault fault = counts ? count("MQCONNX") : (struct fault){0};
    *hconn = MQHC_UNUSABLE_HCONN;
    if (fault.action == DROP && !fault.after) {
        answer(comp, reason, MQCC_FAILED, MQRC_CONNECTION_BROKEN);
        return;
    }
    if (instead(&fault, *hconn, comp, reason)) {
        return;
    }
    int32_t before[SOCKETS];
    if (counts) {
        lines_of_process(before);
    }
    CALL(real(q_mgr_name, cno, hconn, comp, reason));
    if (!counts || *comp == MQCC_FAILED) {
        return;
    }
    note_line(*hconn, before);
    if (afterwards(&fault, *hconn, comp, reason)) {
        /* Nobody has the handle. */
        MQLONG ignored;
        cut(*hconn);
        forget(*hconn);
        CALL(REAL(MQDISC, PMQHCONN, PMQLONG, PMQLONG)(hconn, &ignored, &ignored));
        *hconn = MQHC_UNUSABLE_HCONN;
    }
}

EXPORTED void MQCONN(PMQCHAR q_mgr_name, PMQHCONN hconn, PMQLONG comp, PMQLONG reason) {
    MQCONNX(q_mgr_name, NULL, hconn, comp, reason);
}

EXPORTED void MQDISC(PMQHCONN hconn, PMQLONG comp, PMQLONG reason) {
    MQHCONN was = *hconn;
    struct fault fault = due_at("MQDISC", was);
    if (instead(&fault, was, comp, reason)) {
        return;
    }
    CALL(REAL(MQDISC, PMQHCONN, PMQLONG, PMQLONG)(hconn, comp, reason));
    afterwards(&fault, was, comp, reason);
    forget(was);
}

EXPORTED void MQOPEN(MQHCONN hconn, PMQVOID od, MQLONG options, PMQHOBJ hobj, PMQLONG comp, PMQLONG reason) {
    struct fault fault = due_at("MQOPEN", hconn);
    *hobj = MQHO_UNUSABLE_HOBJ;
    if (instead(&fault, hconn, comp, reason)) {
        return;
    }
    CALL(REAL(MQOPEN, MQHCONN, PMQVOID, MQLONG, PMQHOBJ, PMQLONG, PMQLONG)(hconn, od, options, hobj, comp, reason));
    if (afterwards(&fault, hconn, comp, reason)) {
        *hobj = MQHO_UNUSABLE_HOBJ;
    }
}

EXPORTED void MQCLOSE(MQHCONN hconn, PMQHOBJ hobj, MQLONG options, PMQLONG comp, PMQLONG reason) {
    struct fault fault = due_at("MQCLOSE", hconn);
    MQHOBJ was = *hobj;
    if (instead(&fault, hconn, comp, reason)) {
        return;
    }
    CALL(REAL(MQCLOSE, MQHCONN, PMQHOBJ, MQLONG, PMQLONG, PMQLONG)(hconn, hobj, options, comp, reason));
    if (afterwards(&fault, hconn, comp, reason)) {
        *hobj = was;
    }
}

EXPORTED void MQPUT(MQHCONN hconn, MQHOBJ hobj, PMQVOID md, PMQVOID pmo, MQLONG length, PMQVOID buffer, PMQLONG comp,
                    PMQLONG reason) {
    struct fault fault = due_at("MQPUT", hconn);
    if (instead(&fault, hconn, comp, reason)) {
        return;
    }
    char kept[LONGEST_MD];
    size_t length_of_md = length_of(md);
    memcpy(kept, md, length_of_md);
    CALL(REAL(MQPUT, MQHCONN, MQHOBJ, PMQVOID, PMQVOID, MQLONG, PMQVOID, PMQLONG, PMQLONG)(hconn, hobj, md, pmo, length, buffer,
                                                                                         comp, reason));
    if (afterwards(&fault, hconn, comp, reason)) {
        memcpy(md, kept, length_of_md);
    }
}

EXPORTED void MQGET(MQHCONN hconn, MQHOBJ hobj, PMQVOID md, PMQVOID gmo, MQLONG room, PMQVOID buffer, PMQLONG data_length,
                    PMQLONG comp, PMQLONG reason) {
    struct fault fault = due_at("MQGET", hconn);
    *data_length = 0;
    if (instead(&fault, hconn, comp, reason)) {
        return;
    }
    char kept[LONGEST_MD];
    size_t length_of_md = length_of(md);
    memcpy(kept, md, length_of_md);
    CALL(REAL(MQGET, MQHCONN, MQHOBJ, PMQVOID, PMQVOID, MQLONG, PMQVOID, PMQLONG, PMQLONG, PMQLONG)(
        hconn, hobj, md, gmo, room, buffer, data_length, comp, reason));
    if (afterwards(&fault, hconn, comp, reason)) {
        memcpy(md, kept, length_of_md);
        *data_length = 0;
    }
}

EXPORTED void MQINQ(MQHCONN hconn, MQHOBJ hobj, MQLONG selector_count, PMQLONG selectors, MQLONG int_count, PMQLONG ints,
                    MQLONG char_length, PMQCHAR chars, PMQLONG comp, PMQLONG reason) {
    struct fault fault = due_at("MQINQ", hconn);
    if (instead(&fault, hconn, comp, reason)) {
        return;
    }
    CALL(REAL(MQINQ, MQHCONN, MQHOBJ, MQLONG, PMQLONG, MQLONG, PMQLONG, MQLONG, PMQCHAR, PMQLONG, PMQLONG)(
        hconn, hobj, selector_count, selectors, int_count, ints, char_length, chars, comp, reason));
    afterwards(&fault, hconn, comp, reason);
}

#define END_OF_UNIT_OF_WORK(verb)                                                                                                \
    EXPORTED void verb(MQHCONN hconn, PMQLONG comp, PMQLONG reason) {                                                            \
        struct fault fault = due_at(#verb, hconn);                                                                               \
        if (!instead(&fault, hconn, comp, reason)) {                                                                             \
            CALL(REAL(verb, MQHCONN, PMQLONG, PMQLONG)(hconn, comp, reason));                                                    \
            afterwards(&fault, hconn, comp, reason);                                                                             \
        }                                                                                                                        \
    }
END_OF_UNIT_OF_WORK(MQCMIT)
END_OF_UNIT_OF_WORK(MQBACK)

EXPORTED void MQSTAT(MQHCONN hconn, MQLONG type, PMQVOID status, PMQLONG comp, PMQLONG reason) {
    struct fault fault = due_at("MQSTAT", hconn);
    if (instead(&fault, hconn, comp, reason)) {
        return;
    }
    CALL(REAL(MQSTAT, MQHCONN, MQLONG, PMQVOID, PMQLONG, PMQLONG)(hconn, type, status, comp, reason));
    afterwards(&fault, hconn, comp, reason);
}

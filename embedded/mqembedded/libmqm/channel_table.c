/* Client channel definition tables in JSON (IBM MQ, "Configuring a JSON format CCDT", "Complete list of CCDT channel attribute
 * definitions").
 *
 * The client uses the first table that is named: in MQCNO, in MQCCDTURL, in MQCHLLIB and MQCHLTAB or the same attributes of
 * mqclient.ini, or else AMQCLCHL.TAB in the data directory (IBM MQ, "Web addressable access to the client channel definition
 * table", "Connecting IBM MQ MQI client applications to queue managers"). MQCNO and MQCCDTURL contain URLs, not paths (IBM MQ,
 * "MQCCDTURL"). This client reads only files, and no binary tables.
 *
 * The client uses the definitions whose queueManager is the name that the application gives, without its asterisk. For a blank
 * name, it uses definitions without queueManager (IBM MQ, "Examples of MQCONN calls", "MQCONN"). It tries definitions in the
 * order of their names, and definitions with the same name in the order of the table. For a group (a blank name or a name with
 * an asterisk), definitions with a clientWeight come after all others, in random order by weight (IBM MQ, "Client channel weight
 * (CLNTWGHT)"). If they all have the affinity "preferred", a host always has the same order, and a process moves failed
 * definitions to the end until the table is changed (IBM MQ, "Connection affinity (AFFINITY)"). Mixed affinities count as
 * "none". This is our choice, and has not been tried on IBM MQ.
 *
 * The reason is 2058 if the table has no definition for the name (reason code 2058). If a table cannot be read, the reason is
 * 2600 if a URL names the table, otherwise 2058. This is our reading, and has not been tried on IBM MQ. */
#include "channel_table.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "configuration.h"
#include "json.h"
#include "marshal.h"

#define MOST_BYTES (1024 * 1024)
/* The values that DEFINE CHANNEL allows for a client-connection channel. */
#define HEARTBEAT_INTERVAL 300
#define SHARING_CONVERSATIONS 10
#define MAX_MSG_LENGTH 4194304
#define FAILURES_KEPT 64

struct candidate {
    struct json definition;
    char name[21];
    int32_t weight;
    size_t index;
    uint64_t identity; /* 0 if no failure is remembered */
    unsigned rank;
};

/* The latest failures of definitions with a weight, in a ring. There is no lock, which a fork could leave locked. */
static _Atomic uint64_t failures[FAILURES_KEPT];
static atomic_uint failure_count;

__attribute__((format(printf, 2, 3))) static MQLONG refuse(MQLONG reason, const char *format, ...) {
    char sentence[PATH_MAX + 256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "mqembedded: %s\n", sentence);
    return reason;
}

static uint64_t hash(uint64_t seed, const void *data, size_t length) {
    for (size_t i = 0; i < length; i++) {
        seed = (seed ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
    }
    return seed;
}

/* splitmix64 */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

bool gives_channel_table(const MQCNO *options) {
    return options != NULL && options->Version >= MQCNO_VERSION_6 &&
           (options->CCDTUrlPtr != NULL || options->CCDTUrlOffset != 0);
}

static bool has_scheme(const char *url) {
    size_t length = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return length > 0 && url[length] == ':';
}

/* A URL can contain a password, so only its scheme is shown. */
static MQLONG other_scheme(const char *url) {
    return refuse(MQRC_FUNCTION_NOT_SUPPORTED,
                  "a channel definition table was given by an %.*s URL, but the embedded queue manager's client reads only JSON "
                  "tables in files (file:///...)",
                  (int)strcspn(url, ":"), url);
}

static MQLONG path_of_url(const char *url, const char *origin, char *path, size_t size) {
    if (is_file_url(url)) {
        snprintf(path, size, "%s", path_of_file_url(url));
        return MQRC_NONE;
    }
    if (has_scheme(url)) {
        return other_scheme(url);
    }
    return refuse(MQRC_CCDT_URL_ERROR, "%s must be the URL of a channel definition table, file:///...; a path is none", origin);
}

static MQLONG path_of_options(const MQCNO *options, char *path, size_t size) {
    char url[PATH_MAX];
    const char *given = (const char *)pointed_at(options, options->CCDTUrlPtr, options->CCDTUrlOffset);
    MQLONG length = options->CCDTUrlLength;
    if ((options->CCDTUrlPtr != NULL && options->CCDTUrlOffset != 0) || length <= 0 || length >= (MQLONG)sizeof url) {
        return refuse(MQRC_CCDT_URL_ERROR, "MQCNO must have either CCDTUrlPtr or CCDTUrlOffset, and the length of the URL");
    }
    snprintf(url, sizeof url, "%.*s", (int)length, given);
    return path_of_url(url, "MQCNO.CCDTUrl", path, size);
}

/* The value of a variable, or of the equivalent attribute of mqclient.ini (IBM MQ, "CHANNELS stanza of the client configuration
 * file"). */
static bool setting(const char *variable, const char *attribute, char *value, size_t size) {
    const char *given = getenv(variable);
    if (given == NULL || *given == '\0') {
        return configured(attribute, value, size);
    }
    snprintf(value, size, "%s", given);
    return true;
}

/* The path of the table, and the reason if the table cannot be read. Without a path, the caller must return this reason at once.
 * */
static MQLONG locate(const MQCNO *options, char *path, size_t size, MQLONG *unreadable) {
    *unreadable = MQRC_CCDT_URL_ERROR;
    const char *url = getenv("MQCCDTURL");
    if (gives_channel_table(options)) {
        return path_of_options(options, path, size);
    }
    if (url != NULL && *url != '\0') {
        return path_of_url(url, "MQCCDTURL", path, size);
    }
    *unreadable = MQRC_Q_MGR_NAME_ERROR;
    char directory[PATH_MAX], file[PATH_MAX] = "AMQCLCHL.TAB";
    bool has_directory = setting("MQCHLLIB", "ChannelDefinitionDirectory", directory, sizeof directory);
    bool has_file = setting("MQCHLTAB", "ChannelDefinitionFile", file, sizeof file);
    if (has_directory && has_scheme(directory) && !is_file_url(directory)) {
        return other_scheme(directory);
    }
    snprintf(path, size, "%s/%s", has_directory ? path_of_file_url(directory) : data_directory(), file);
    /* A client without definitions knows no queue manager. */
    return has_directory || has_file || access(path, F_OK) == 0 ? MQRC_NONE : MQRC_Q_MGR_NAME_ERROR;
}

/* Read a file of at most MOST_BYTES, and add a NUL. NULL if the file cannot be read; errno has the cause. */
static char *contents_of(const char *path, size_t *length, struct stat *status) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return NULL;
    }
    char *text = malloc(MOST_BYTES + 1);
    if (text != NULL) {
        *length = fread(text, 1, MOST_BYTES + 1, file);
        bool fits = *length <= MOST_BYTES;
        if (ferror(file) || !fits || fstat(fileno(file), status) != 0) {
            int error = fits ? errno : EFBIG;
            free(text);
            text = NULL;
            errno = error;
        }
    }
    int error = errno;
    fclose(file);
    errno = error;
    return text;
}

static MQLONG read_table(struct channel_table *table, const char *path, MQLONG unreadable, struct stat *status,
                         struct json *definitions) {
    size_t length = 0;
    table->text = contents_of(path, &length, status);
    if (table->text == NULL) {
        return refuse(unreadable, "the channel definition table %s cannot be read: %m", path);
    }
    size_t start = 0;
    while (start < length && isspace((unsigned char)table->text[start])) {
        start++;
    }
    if (start == length || table->text[start] != '{') {
        return refuse(MQRC_FUNCTION_NOT_SUPPORTED,
                      "the channel definition table %s is not in JSON, and the embedded queue manager's client reads only JSON "
                      "tables",
                      path);
    }
    struct json whole;
    int line;
    if (!json_parse(table->text, length, &whole, &line)) {
        return refuse(unreadable, "the channel definition table %s is not valid JSON: line %d", path, line);
    }
    *definitions = json_elements(json_member(whole, "channel"));
    return MQRC_NONE;
}

static void without_blanks(char *text) {
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ') {
        text[--length] = '\0';
    }
}

/* Whether a definition is for this queue manager or group. Name and type are required attributes (IBM MQ, "Complete list of CCDT
 * channel attribute definitions"). */
static bool is_for(struct json definition, const char *wanted, struct candidate *candidate) {
    char type[32], q_mgr_name[49] = "";
    struct json named = json_member(json_member(definition, "clientConnection"), "queueManager");
    if (!json_text(json_member(definition, "type"), type, sizeof type) || strcmp(type, "clientConnection") != 0 ||
        !json_text(json_member(definition, "name"), candidate->name, sizeof candidate->name) ||
        (named.at < named.end && !json_text(named, q_mgr_name, sizeof q_mgr_name))) {
        return false;
    }
    without_blanks(candidate->name);
    without_blanks(q_mgr_name);
    candidate->definition = definition;
    return strcmp(q_mgr_name, wanted) == 0;
}

static bool is_preferred(struct json definition) {
    char affinity[16];
    struct json value = json_member(json_member(definition, "connectionManagement"), "affinity");
    return !json_text(value, affinity, sizeof affinity) || strcmp(affinity, "none") != 0;
}

static int by_name(const void *one, const void *other) {
    const struct candidate *a = one, *b = other;
    int order = (a->weight > 0) - (b->weight > 0);
    order = order != 0 ? order : strcmp(a->name, b->name);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* When a definition has failed: 0 if it never failed, otherwise a number that is higher for a later failure. */
static unsigned rank_of(uint64_t identity) {
    unsigned count = atomic_load(&failure_count);
    for (unsigned back = 1; back <= FAILURES_KEPT && back <= count; back++) {
        if (atomic_load(&failures[(count - back) % FAILURES_KEPT]) == identity) {
            return FAILURES_KEPT - back + 1;
        }
    }
    return 0;
}

/* Put definitions with weights into a random order. A definition with twice the weight comes first twice as often. */
static void shuffle(struct candidate *candidates, size_t count, uint64_t state) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (uint64_t)candidates[i].weight;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t left = draw(&state) % sum;
        size_t chosen = i;
        while (left >= (uint64_t)candidates[chosen].weight) {
            left -= (uint64_t)candidates[chosen++].weight;
        }
        struct candidate first = candidates[chosen];
        sum -= (uint64_t)first.weight;
        memmove(candidates + i + 1, candidates + i, (chosen - i) * sizeof first);
        candidates[i] = first;
    }
}

static void put_failed_behind(struct candidate *candidates, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct candidate one = candidates[i];
        one.rank = rank_of(one.identity);
        size_t at = i;
        for (; at > 0 && candidates[at - 1].rank > one.rank; at--) {
            candidates[at] = candidates[at - 1];
        }
        candidates[at] = one;
    }
}

static void put_weighted_in_order(struct candidate *candidates, size_t count, const char *wanted, uint64_t of_table) {
    bool preferred = true;
    uint64_t seed = 0;
    for (size_t i = 0; i < count; i++) {
        preferred = preferred && is_preferred(candidates[i].definition);
    }
    if (!preferred) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        pid_t pid = getpid();
        seed = hash(hash(of_table, &now, sizeof now), &pid, sizeof pid);
        shuffle(candidates, count, seed);
        return;
    }
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    seed = hash(hash(0, host, strlen(host)), wanted, strlen(wanted));
    for (size_t i = 0; i < count; i++) {
        candidates[i].identity = hash(of_table, &candidates[i].index, sizeof candidates[i].index) | 1;
    }
    shuffle(candidates, count, seed);
    put_failed_behind(candidates, count);
}

static MQLONG choose(struct channel_table *table, struct json definitions, const char *wanted, bool is_group,
                     uint64_t of_table) {
    struct json definition;
    size_t room = 0;
    for (size_t index = 0; json_next(&definitions, &definition); index++) {
        struct candidate candidate = {.index = index};
        if (!is_for(definition, wanted, &candidate)) {
            continue;
        }
        if (is_group) {
            candidate.weight =
                json_integer(json_member(json_member(definition, "connectionManagement"), "clientWeight"), 0, 99, 0);
        }
        if (table->count == room) {
            room = room > 0 ? 2 * room : 16;
            struct candidate *more = realloc(table->candidates, room * sizeof *more);
            if (more == NULL) {
                return MQRC_STORAGE_NOT_AVAILABLE;
            }
            table->candidates = more;
        }
        table->candidates[table->count++] = candidate;
    }
    if (table->count == 0) {
        return MQRC_Q_MGR_NAME_ERROR;
    }
    qsort(table->candidates, table->count, sizeof *table->candidates, by_name);
    size_t first = 0;
    while (first < table->count && table->candidates[first].weight == 0) {
        first++;
    }
    put_weighted_in_order(table->candidates + first, table->count - first, wanted, of_table);
    return MQRC_NONE;
}

MQLONG channel_table_open(struct channel_table *table, const MQCNO *options, const char *q_mgr_name) {
    *table = (struct channel_table){NULL, NULL, 0, 0};
    struct blob given = name(q_mgr_name, 48);
    char asked[49], path[2 * PATH_MAX + 1];
    snprintf(asked, sizeof asked, "%.*s", (int)given.length, (const char *)given.data);
    const char *wanted = asked[0] == '*' ? asked + 1 : asked;
    MQLONG unreadable;
    MQLONG reason = locate(options, path, sizeof path, &unreadable);
    struct stat status;
    struct json definitions;
    if (reason == MQRC_NONE) {
        reason = read_table(table, path, unreadable, &status, &definitions);
    }
    if (reason == MQRC_NONE) {
        uint64_t of_table = hash(hash(0, &status.st_ino, sizeof status.st_ino), &status.st_mtim, sizeof status.st_mtim);
        reason = choose(table, definitions, wanted, wanted != asked || *wanted == '\0', of_table);
    }
    if (reason != MQRC_NONE) {
        channel_table_close(table);
    }
    return reason;
}

/* The array of hosts and ports as a connection name, or an empty text if it is not an array, or is too long. */
static void read_connections(struct json connections, char *text, size_t size) {
    struct json rest = json_elements(connections), connection;
    size_t length = 0;
    while (json_next(&rest, &connection)) {
        char host[265];
        struct json given = json_member(connection, "port");
        int32_t port = given.at < given.end ? json_integer(given, 1, 65535, 0) : 1414;
        int more = -1;
        if (port > 0 && json_text(json_member(connection, "host"), host, sizeof host)) {
            more = snprintf(text + length, size - length, "%s%s(%d)", length > 0 ? "," : "", host, port);
        }
        if (more < 0 || (size_t)more >= size - length) {
            length = 0;
            break;
        }
        length += (size_t)more;
    }
    text[length] = '\0';
}

/* Whether a definition has a CipherSpec. A value that is not text counts as a CipherSpec, so that no connection is made without
 * TLS. */
static bool has_cipher_spec(struct json definition) {
    char text[33];
    struct json value = json_member(json_member(definition, "transmissionSecurity"), "cipherSpecification");
    return value.at < value.end &&
           (!json_text(value, text, sizeof text) || strspn(text, " ") < strlen(text));
}

static MQLONG read_reconnect(struct json management) {
    char text[16];
    if (!json_text(json_member(management, "defaultReconnect"), text, sizeof text)) {
        return MQCNO_RECONNECT_AS_DEF;
    }
    return strcmp(text, "yes") == 0            ? MQCNO_RECONNECT
           : strcmp(text, "queueManager") == 0 ? MQCNO_RECONNECT_Q_MGR
           : strcmp(text, "disabled") == 0     ? MQCNO_RECONNECT_DISABLED
                                               : MQCNO_RECONNECT_AS_DEF;
}

bool channel_table_next(struct channel_table *table, struct channel *channel) {
    if (table->next == table->count) {
        return false;
    }
    struct candidate *candidate = &table->candidates[table->next++];
    struct json definition = candidate->definition;
    struct json management = json_member(definition, "connectionManagement");
    *channel = (struct channel){.unreadable = MQRC_CHANNEL_CONFIG_ERROR};
    snprintf(channel->name, sizeof channel->name, "%s", candidate->name);
    read_connections(json_member(json_member(definition, "clientConnection"), "connection"), channel->connections,
                     sizeof channel->connections);
    channel->has_tls = has_cipher_spec(definition);
    /* The list of attributes calls it heartInterval (IBM MQ, "Complete list of CCDT channel attribute definitions"). */
    int32_t heartbeat =
        json_integer(json_member(management, "heartInterval"), 0, LONGEST_HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL);
    channel->heartbeat =
        json_integer(json_member(management, "heartbeatInterval"), 0, LONGEST_HEARTBEAT_INTERVAL, heartbeat);
    channel->sharing =
        json_integer(json_member(management, "sharingConversations"), 0, 999999999, SHARING_CONVERSATIONS);
    channel->max_msg_length =
        json_integer(json_member(json_member(definition, "general"), "maximumMessageLength"), 0, 104857600, MAX_MSG_LENGTH);
    channel->reconnect = read_reconnect(management);
    return true;
}

void channel_table_failed(struct channel_table *table) {
    uint64_t identity = table->candidates[table->next - 1].identity;
    if (identity != 0) {
        atomic_store(&failures[atomic_fetch_add(&failure_count, 1) % FAILURES_KEPT], identity);
    }
}

void channel_table_close(struct channel_table *table) {
    free(table->candidates);
    free(table->text);
    *table = (struct channel_table){NULL, NULL, 0, 0};
}

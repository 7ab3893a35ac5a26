/* The client configuration file, mqclient.ini: where it is, and its only attribute that is used here. */
#include "configuration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DATA_DIRECTORY "/var/mqm"

/* Open the first of these files that exists: the one that MQCLNTCF names, then mqclient.ini in the working directory, in IBM
 * MQ's data directory and in the home directory (IBM MQ, topic q016850). NULL if there is none. */
static FILE *open_configuration(void) {
    const char *named = getenv("MQCLNTCF");
    if (named != NULL) {
        if (strncmp(named, "file:", 5) == 0) {
            named += strncmp(named, "file://", 7) == 0 ? 7 : 5;
        }
        FILE *file = fopen(named, "re");
        if (file != NULL) {
            return file;
        }
    }
    const char *home = getenv("HOME");
    const char *directories[] = {".", DATA_DIRECTORY, home};
    FILE *file = NULL;
    for (size_t i = 0; i < sizeof directories / sizeof *directories && file == NULL; i++) {
        char path[4096];
        if (directories[i] != NULL &&
            snprintf(path, sizeof path, "%s/mqclient.ini", directories[i]) < (int)sizeof path) {
            file = fopen(path, "re");
        }
    }
    return file;
}

bool configured_put1_always_sync(void) {
    FILE *file = open_configuration();
    if (file == NULL) {
        return false;
    }
    bool in_channels = false, always_sync = false;
    char line[1024];
    while (fgets(line, sizeof line, file) != NULL) {
        char name[64], value[64], colon;
        if (sscanf(line, " %63[A-Za-z0-9] %c", name, &colon) == 2 && colon == ':') {
            in_channels = strcasecmp(name, "CHANNELS") == 0;
        } else if (in_channels && sscanf(line, " %63[A-Za-z0-9] = %63s", name, value) == 2 &&
                   strcasecmp(name, "Put1DefaultAlwaysSync") == 0) {
            always_sync = strcasecmp(value, "YES") == 0;
        }
    }
    fclose(file);
    return always_sync;
}

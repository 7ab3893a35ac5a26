/* The client configuration file, mqclient.ini: its location, and the attributes in its stanza Channels. */
#include "configuration.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *data_directory(void) {
    const char *other = getenv("MQ_OVERRIDE_DATA_PATH");
    return other != NULL && *other != '\0' ? other : "/var/mqm";
}

bool is_file_url(const char *url) { return strncasecmp(url, "file:", 5) == 0; }

const char *path_of_file_url(const char *url) {
    if (!is_file_url(url)) {
        return url;
    }
    return url + (strncmp(url + 5, "//", 2) == 0 ? 7 : 5);
}

/* Open the first of these files that exists: the file that MQCLNTCF names, then mqclient.ini in the working directory, in IBM
 * MQ's data directory, and in the home directory (IBM MQ, "Location of the client configuration file"). NULL if no file exists.
 * */
static FILE *open_configuration(void) {
    const char *named = getenv("MQCLNTCF");
    if (named != NULL) {
        FILE *file = fopen(path_of_file_url(named), "re");
        if (file != NULL) {
            return file;
        }
    }
    const char *home = getenv("HOME");
    const char *directories[] = {".", data_directory(), home};
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

bool configured(const char *attribute, char *value, size_t size) {
    FILE *file = open_configuration();
    if (file == NULL) {
        return false;
    }
    bool in_channels = false, found = false;
    char line[5120];
    while (fgets(line, sizeof line, file) != NULL) {
        char name[64], colon;
        int at = 0;
        if (sscanf(line, " %63[A-Za-z0-9] %c", name, &colon) == 2 && colon == ':') {
            in_channels = strcasecmp(name, "CHANNELS") == 0;
        } else if (in_channels && sscanf(line, " %63[A-Za-z0-9] = %n", name, &at) == 1 && at > 0 &&
                   strcasecmp(name, attribute) == 0) {
            size_t length = strlen(line + at);
            while (length > 0 && isspace((unsigned char)line[at + (int)length - 1])) {
                length--;
            }
            found = length > 0 && length < size;
            snprintf(value, size, "%.*s", (int)length, line + at);
        }
    }
    fclose(file);
    return found;
}

bool configured_put1_always_sync(void) {
    char value[8];
    return configured("Put1DefaultAlwaysSync", value, sizeof value) && strcasecmp(value, "YES") == 0;
}

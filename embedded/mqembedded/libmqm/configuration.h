/* The client configuration file, mqclient.ini. */
#ifndef MQEMBEDDED_CONFIGURATION_H
#define MQEMBEDDED_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>

/* Copy the value of an attribute in the stanza Channels. False if there is no value, or it does not fit. */
bool configured(const char *attribute, char *value, size_t size);

/* Whether the stanza Channels has Put1DefaultAlwaysSync=YES (IBM MQ, "MQPUT1 sync point behavior change"). */
bool configured_put1_always_sync(void);

/* The path of IBM MQ's data directory. */
const char *data_directory(void);

bool is_file_url(const char *url);

/* The path in a file: URL. Any other text is returned as it is. */
const char *path_of_file_url(const char *url);

#endif

/* The client configuration file, mqclient.ini. */
#ifndef MQGROUPS_CONFIGURATION_H
#define MQGROUPS_CONFIGURATION_H

#include <stdbool.h>

/* Whether the stanza Channels says Put1DefaultAlwaysSync=YES (IBM MQ, topic q001670). */
bool configured_put1_always_sync(void);

#endif

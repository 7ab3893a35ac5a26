/* The callbacks of a connection, in a list. */
#include "consumption.h"

#include <stdlib.h>

void consumption_init(struct consumption *consumption) { pthread_cond_init(&consumption->changed, NULL); }

void consumption_destroy(struct consumption *consumption) {
    for (struct callback *one = consumption->callbacks; one != NULL;) {
        struct callback *next = one->next;
        free(one);
        one = next;
    }
    pthread_cond_destroy(&consumption->changed);
}

struct callback *callback_of(struct consumption *consumption, MQHOBJ hobj) {
    struct callback *one = consumption->callbacks;
    while (one != NULL && one->hobj != hobj) {
        one = one->next;
    }
    return one;
}

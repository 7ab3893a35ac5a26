/* The dispatcher, which gets the next callback from the queue manager and makes it. During a callback it holds no lock, because
 * the callback can take locks, such as the interpreter's, and can make calls. */
#include <stdlib.h>

#include "marshal.h"

_Static_assert(sizeof(MQCBC) == 64 && offsetof(MQCBC, CallbackArea) == 16 && offsetof(MQCBC, CompCode) == 32, "MQCBC");

/* A callback to make. Structures have the length of their longest version, because callbacks read that many bytes. */
struct call {
    MQHOBJ hobj;
    MQCB_FUNCTION function;
    MQCBC context;
    MQMD md;
    MQGMO gmo;
    bool with_md, with_gmo;
    void *buffer;
};

enum outcome { FETCHED, NOTHING, REFUSED, BROKEN };

static _Thread_local int depth;

bool is_in_callback(void) { return depth > 0; }

static bool copy_structure(void *structure, size_t room, struct blob from) {
    memset(structure, 0, room);
    memcpy(structure, from.length > 0 ? from.data : "", from.length < room ? from.length : room);
    return from.length > 0;
}

static bool is_message(const MQCBC *context) {
    return context->CallType == MQCBCT_MSG_REMOVED || context->CallType == MQCBCT_MSG_NOT_REMOVED;
}

/* Whether the answer is a callback that can be made now. It has a message, complete or of the length in MQCBC, or is a control
 * call or event without a message. Only control calls can be owed. */
static bool is_whole(const struct answer_CALLBACK *answer, int32_t asked, MQCBC *context) {
    if (!copy_structure(context, sizeof *context, answer->cbc) || answer->cbc.length != sizeof *context ||
        memcmp(context->StrucId, "CBC ", 4) != 0 || context->Version != 2 || context->CallType < MQCBCT_START_CALL ||
        context->CallType > (asked == CALLBACK_NEXT ? MQCBCT_MSG_NOT_REMOVED : MQCBCT_DEREGISTER_CALL) ||
        (context->Hobj != answer->hobj && context->Hobj != MQHO_UNUSABLE_HOBJ)) {
        return false;
    }
    if (context->BufferLength < 0 || (uint32_t)context->BufferLength != answer->buffer.length ||
        context->DataLength < context->BufferLength ||
        (context->DataLength > context->BufferLength && context->CompCode == MQCC_OK)) {
        return false;
    }
    if (is_message(context)) {
        return is_MQMD(answer->md) && is_MQGMO(answer->gmo);
    }
    return answer->md.length == 0 && answer->gmo.length == 0 && context->DataLength == 0;
}

/* Copy an answer out of the wire, because calls in the callback use the wire. False if the answer is not a call to a known
 * callback. Then there is no memory to free. */
static bool take_call(struct consumption *consumption, const struct answer_CALLBACK *answer, int32_t asked,
                      struct call *call) {
    if (!is_whole(answer, asked, &call->context)) {
        return false;
    }
    call->hobj = answer->hobj;
    pthread_mutex_lock(&connections_lock);
    const struct callback *callback = callback_of(consumption, call->hobj);
    call->function = callback != NULL ? callback->function : NULL;
    call->context.CallbackArea = callback != NULL ? callback->area : NULL;
    call->context.ConnectionArea = consumption->connection_area;
    pthread_mutex_unlock(&connections_lock);
    if (call->function == NULL) {
        return false;
    }
    call->with_md = copy_structure(&call->md, sizeof call->md, answer->md);
    call->with_gmo = copy_structure(&call->gmo, sizeof call->gmo, answer->gmo);
    call->buffer = NULL;
    if (answer->buffer.length > 0) {
        call->buffer = malloc(answer->buffer.length);
        if (call->buffer != NULL) {
            memcpy(call->buffer, answer->buffer.data, answer->buffer.length);
        } else {
            /* "DataLength" documents this for this reason code. */
            call->context.BufferLength = 0;
            call->context.CompCode = MQCC_FAILED;
            call->context.Reason = MQRC_STORAGE_NOT_AVAILABLE;
        }
    }
    return true;
}

/* Free callbacks that are not registered any more, after all owed calls were made. */
static void sweep(struct consumption *consumption) {
    pthread_mutex_lock(&connections_lock);
    for (struct callback **link = &consumption->callbacks; *link != NULL;) {
        struct callback *one = *link;
        if (one->registered) {
            link = &one->next;
        } else {
            *link = one->next;
            free(one);
        }
    }
    pthread_mutex_unlock(&connections_lock);
}

/* Whether the dispatcher can sleep now. From then on, a thread that changes the wish wakes it. */
static bool falls_asleep(struct consumption *consumption) {
    pthread_mutex_lock(&connections_lock);
    consumption->asleep = consumption->wish == RUN;
    bool asleep = consumption->asleep;
    pthread_mutex_unlock(&connections_lock);
    return asleep;
}

static void is_awake(struct consumption *consumption) {
    pthread_mutex_lock(&connections_lock);
    consumption->asleep = false;
    pthread_mutex_unlock(&connections_lock);
}

/* Get the next callback from the queue manager. With the outcome REFUSED, the reason is set. */
static enum outcome fetch(struct connection *connection, int32_t asked, struct call *call, PMQLONG reason) {
    struct consumption *consumption = connection_consumption(connection);
    if (connection_enter(connection_handle(connection), reason) == NULL) {
        return REFUSED;
    }
    if (asked == CALLBACK_NEXT && !falls_asleep(consumption)) {
        connection_leave(connection, false);
        return NOTHING;
    }
    struct answer_CALLBACK answer;
    MQLONG comp;
    enum outcome outcome = BROKEN;
    bool answered = call_CALLBACK(connection_wire(connection), asked, &comp, reason, &answer);
    /* This comes before the wire is closed, because WAKE must not be sent on a closed wire. */
    is_awake(consumption);
    if (answered && comp == MQCC_FAILED) {
        outcome = REFUSED;
    } else if (answered && answer.hobj == MQHO_UNUSABLE_HOBJ) {
        outcome = NOTHING;
    } else if (answered && take_call(consumption, &answer, asked, call)) {
        outcome = FETCHED;
    }
    connection_leave(connection, outcome == BROKEN);
    return outcome;
}

/* Keep the areas as a callback has changed them, for the next call (IBM MQ, "MQCBC"). */
static void keep_areas(struct consumption *consumption, const struct call *call) {
    pthread_mutex_lock(&connections_lock);
    struct callback *callback = callback_of(consumption, call->hobj);
    if (callback != NULL) {
        callback->area = call->context.CallbackArea;
    }
    consumption->connection_area = call->context.ConnectionArea;
    pthread_mutex_unlock(&connections_lock);
}

static void call_back(struct connection *connection, struct call *call) {
    /* An interpreter that shuts down ends this thread inside the callback. */
    pthread_cleanup_push(free, call->buffer);
    depth++;
    call->function(connection_handle(connection), call->with_md ? &call->md : NULL, call->with_gmo ? &call->gmo : NULL,
                   call->buffer, &call->context);
    depth--;
    pthread_cleanup_pop(1);
    keep_areas(connection_consumption(connection), call);
}

void callbacks_owed(struct connection *connection, int32_t asked) {
    struct call call;
    MQLONG reason;
    enum outcome outcome;
    while ((outcome = fetch(connection, asked, &call, &reason)) == FETCHED) {
        call_back(connection, &call);
    }
    if (outcome == NOTHING) {
        sweep(connection_consumption(connection));
    }
}

/* Prepare the call that reports the lost connection to the next callback. False if all callbacks have got it. */
static bool next_untold(struct consumption *consumption, struct call *call, MQLONG *options) {
    pthread_mutex_lock(&connections_lock);
    struct callback *one = consumption->callbacks;
    while (one != NULL && (one->told || !one->registered)) {
        one = one->next;
    }
    if (one != NULL) {
        one->told = true;
        *options = one->options;
        *call = (struct call){.hobj = one->hobj, .function = one->function};
        call->context = (MQCBC){{'C', 'B', 'C', ' '}, 2, MQCBCT_EVENT_CALL, one->hobj, one->area,
                                consumption->connection_area, MQCC_FAILED, MQRC_CONNECTION_BROKEN, MQCS_STOPPED, 0, 0, 0, 0};
    }
    pthread_mutex_unlock(&connections_lock);
    return one != NULL;
}

/* Report the lost connection to all callbacks, because the queue manager cannot do this. */
static void tell_broken(struct connection *connection) {
    struct call call;
    MQLONG options;
    while (next_untold(connection_consumption(connection), &call, &options)) {
        call_back(connection, &call);
        if (options & MQCBDO_STOP_CALL) {
            call.context.CallType = MQCBCT_STOP_CALL;
            call_back(connection, &call);
        }
    }
}

void dispatcher_wish(struct connection *connection, enum wish wish) {
    struct consumption *consumption = connection_consumption(connection);
    consumption->wish = wish;
    if (consumption->asleep) {
        wire_notify(connection_wire(connection), WAKE_CODE);
    }
    pthread_cond_broadcast(&consumption->changed);
    connection_turns(connection);
}

bool dispatcher_pause(struct connection *connection) {
    struct consumption *consumption = connection_consumption(connection);
    pthread_mutex_lock(&connections_lock);
    while (consumption->dispatching && !consumption->resting) {
        /* This is repeated, because a callback can call MQOP_START or MQOP_RESUME meanwhile. */
        if (consumption->wish == RUN) {
            dispatcher_wish(connection, PAUSE);
        }
        pthread_cond_wait(&consumption->changed, &connections_lock);
    }
    bool there = consumption->dispatching;
    pthread_mutex_unlock(&connections_lock);
    return there;
}

/* Follow the wish, when no calls are owed. False if the dispatcher must end. */
static bool obey(struct connection *connection, enum wish seen) {
    struct consumption *consumption = connection_consumption(connection);
    pthread_mutex_lock(&connections_lock);
    bool goes_on = true;
    if (consumption->wish == seen) {
        if (seen == RUN) {
            consumption->started = true;
            pthread_cond_broadcast(&consumption->changed);
        } else if (seen == END || (seen == SUSPEND && consumption->waits)) {
            goes_on = false;
        } else {
            while (consumption->wish == PAUSE || (consumption->wish == SUSPEND && !consumption->waits)) {
                if (!consumption->resting) {
                    consumption->resting = true;
                    connection_give(connection, NOBODY);
                    pthread_cond_broadcast(&consumption->changed);
                }
                pthread_cond_wait(&consumption->changed, &connections_lock);
            }
            consumption->resting = false;
            connection_give(connection, this_thread());
        }
    }
    pthread_mutex_unlock(&connections_lock);
    return goes_on;
}

MQLONG dispatch(struct connection *connection) {
    struct consumption *consumption = connection_consumption(connection);
    struct call call;
    MQLONG reason;
    for (;;) {
        pthread_mutex_lock(&connections_lock);
        enum wish wish = consumption->wish;
        int32_t asked = wish == RUN && consumption->started ? CALLBACK_NEXT : CALLBACK_OWED;
        pthread_mutex_unlock(&connections_lock);
        switch (fetch(connection, asked, &call, &reason)) {
        case FETCHED:
            call_back(connection, &call);
            break;
        case NOTHING:
            if (asked == CALLBACK_OWED) {
                sweep(consumption);
                if (!obey(connection, wish)) {
                    return MQRC_NONE;
                }
            }
            break;
        case REFUSED:
            return reason;
        case BROKEN:
            tell_broken(connection);
            return MQRC_CONNECTION_BROKEN;
        }
    }
}

/* Runs at the end of the thread, also if the interpreter shuts down. */
static void has_ended(void *argument) {
    struct connection *connection = argument;
    struct consumption *consumption = connection_consumption(connection);
    pthread_mutex_lock(&connections_lock);
    consumption->dispatching = false;
    connection_give(connection, NOBODY);
    pthread_cond_broadcast(&consumption->changed);
    pthread_mutex_unlock(&connections_lock);
    connection_release(connection);
}

static void *run(void *argument) {
    struct connection *connection = argument;
    struct consumption *consumption = connection_consumption(connection);
    pthread_cleanup_push(has_ended, connection);
    pthread_mutex_lock(&connections_lock);
    connection_give(connection, this_thread());
    pthread_mutex_unlock(&connections_lock);
    MQLONG reason = dispatch(connection);
    pthread_mutex_lock(&connections_lock);
    consumption->reason = reason;
    pthread_mutex_unlock(&connections_lock);
    pthread_cleanup_pop(1);
    return NULL;
}

bool dispatcher_start(struct connection *connection) {
    pthread_t thread;
    connection_keep(connection);
    if (pthread_create(&thread, NULL, run, connection) != 0) {
        has_ended(connection);
        return false;
    }
    pthread_detach(thread);
    return true;
}

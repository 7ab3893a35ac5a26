/* MQCB and MQCTL. The queue manager decides their effect. */
#include <stdlib.h>

#include "marshal.h"

_Static_assert(sizeof(MQCBD) == 168 && offsetof(MQCBD, CallbackFunction) == 24, "MQCBD");
_Static_assert(offsetof(MQCBD, MaxMsgLength) == 160, "MQCBD");
_Static_assert(sizeof(MQCTLO) == 24 && offsetof(MQCTLO, ConnectionArea) == 16, "MQCTLO");

/* --- registration */

/* Make room for a callback before the call, because the library cannot refuse the callback after the queue manager's answer. */
static bool make_room(struct consumption *consumption, MQHOBJ hobj) {
    pthread_mutex_lock(&connections_lock);
    struct callback *one = callback_of(consumption, hobj);
    if (one == NULL && (one = calloc(1, sizeof *one)) != NULL) {
        one->hobj = hobj;
        one->next = consumption->callbacks;
        consumption->callbacks = one;
    }
    pthread_mutex_unlock(&connections_lock);
    return one != NULL;
}

/* Store the outcome of MQCB. If a definition is replaced, CallbackArea stays unchanged (IBM MQ, "MQCBD"). The answer to a failed
 * call can be without a callback. False if the answer names another callback, because it is malformed. */
static bool keep(struct consumption *consumption, const struct answer_MQCB *answer, MQHOBJ hobj, const MQCBD *cbd, MQLONG comp) {
    if (answer->hobj != hobj) {
        return comp == MQCC_FAILED;
    }
    pthread_mutex_lock(&connections_lock);
    struct callback *one = callback_of(consumption, hobj);
    if (one != NULL) {
        if (cbd != NULL && answer->registered) {
            one->function = (MQCB_FUNCTION)cbd->CallbackFunction;
            one->options = cbd->Options;
            one->area = one->registered ? one->area : cbd->CallbackArea;
        }
        one->registered = answer->registered;
    }
    pthread_mutex_unlock(&connections_lock);
    return true;
}

/* Make the callbacks that are owed before MQCB or MQCLOSE returns. In a callback, the dispatcher makes them next instead. */
static void make_callbacks(MQHCONN hconn) {
    MQLONG reason;
    struct connection *connection = connection_hold(hconn, &reason);
    if (connection != NULL) {
        if (!connection_is_mine(connection)) {
            callbacks_owed(connection, CALLBACK_OWED);
        }
        connection_release(connection);
    }
}

EXPORTED void MQCB(MQHCONN Hconn, MQLONG Operation, PMQVOID CallbackDesc, MQHOBJ Hobj, PMQVOID MsgDesc, PMQVOID GetMsgOpts,
                   PMQLONG CompCode, PMQLONG Reason) {
    struct blob cbd = structure(CallbackDesc, length_of_MQCBD);
    struct blob md = structure(MsgDesc, length_of_MQMD), gmo = structure(GetMsgOpts, length_of_MQGMO);
    const MQCBD *registers = Operation & MQOP_REGISTER ? CallbackDesc : NULL;
    const MQCBD *described = CallbackDesc;
    MQHOBJ about = described != NULL && described->CallbackType == MQCBT_EVENT_HANDLER ? MQHO_NONE : Hobj;
    struct answer_MQCB answer;
    struct connection *held = connection_hold(Hconn, Reason);
    if (held == NULL) {
        *CompCode = MQCC_FAILED;
        return;
    }
    struct consumption *consumption = connection_consumption(held);
    if (registers != NULL && !make_room(consumption, about)) {
        fail(MQRC_STORAGE_NOT_AVAILABLE, CompCode, Reason);
    } else {
        WITH_CONNECTION(Hconn, CompCode, Reason,
                        call_MQCB(wire, Operation, cbd, Hobj, md, gmo, CompCode, Reason, &answer) &&
                            keep(consumption, &answer, about, registers, *CompCode));
        make_callbacks(Hconn);
    }
    connection_release(held);
}

void consumption_without(MQHCONN hconn, MQHOBJ hobj) {
    MQLONG reason;
    struct connection *connection = connection_hold(hconn, &reason);
    if (connection == NULL) {
        return;
    }
    pthread_mutex_lock(&connections_lock);
    struct callback *one = callback_of(connection_consumption(connection), hobj);
    if (one != NULL) {
        one->registered = false;
    }
    pthread_mutex_unlock(&connections_lock);
    connection_release(connection);
    if (one != NULL) {
        make_callbacks(hconn);
    }
}

/* --- starting and stopping */

/* Give the connection, which starts to consume, to the dispatcher, which can be this thread. `rested` is set if there is a
 * suspended dispatcher. */
static bool begins(struct connection *connection, MQLONG operation, const MQCTLO *ctlo, bool *rested) {
    struct consumption *consumption = connection_consumption(connection);
    pthread_mutex_lock(&connections_lock);
    if (operation != MQOP_RESUME) {
        consumption->waits = operation == MQOP_START_WAIT;
        consumption->connection_area = ctlo != NULL ? ctlo->ConnectionArea : NULL;
    }
    *rested = consumption->dispatching;
    consumption->dispatching = true;
    consumption->started = false;
    /* A resting dispatcher can be slow to wake up. It must not count as resting until it rests again. */
    consumption->resting = false;
    consumption->reason = MQRC_NONE;
    connection_give(connection, consumption->waits ? this_thread() : NOT_RUNNING_YET);
    dispatcher_wish(connection, RUN);
    pthread_mutex_unlock(&connections_lock);
    return true;
}

/* Be the dispatcher in this thread, for MQOP_START_WAIT and for the MQOP_RESUME after it. */
static void dispatch_here(struct connection *connection, PMQLONG comp, PMQLONG reason) {
    struct consumption *consumption = connection_consumption(connection);
    MQLONG ended = dispatch(connection);
    pthread_mutex_lock(&connections_lock);
    bool suspended = ended == MQRC_NONE && consumption->wish == SUSPEND;
    consumption->dispatching = false;
    connection_give(connection, NOBODY);
    pthread_cond_broadcast(&consumption->changed);
    pthread_mutex_unlock(&connections_lock);
    *comp = ended != MQRC_NONE ? MQCC_FAILED : suspended ? MQCC_WARNING : MQCC_OK;
    *reason = suspended ? MQRC_CONNECTION_SUSPENDED : ended;
}

/* Wait for the callbacks that are made at the start. Any of them can stop the consumption. */
static void wait_for_start(struct connection *connection, PMQLONG comp, PMQLONG reason) {
    struct consumption *consumption = connection_consumption(connection);
    pthread_mutex_lock(&connections_lock);
    while (consumption->dispatching && !consumption->started && !consumption->resting) {
        pthread_cond_wait(&consumption->changed, &connections_lock);
    }
    bool stopped = !consumption->dispatching && !consumption->started;
    MQLONG ended = consumption->reason;
    pthread_mutex_unlock(&connections_lock);
    if (stopped) {
        fail(ended != MQRC_NONE ? ended : MQRC_CONNECTION_STOPPED, comp, reason);
    }
}

/* Carry out MQOP_STOP or MQOP_SUSPEND. */
static void stop(struct connection *connection, MQLONG operation, const MQCTLO *ctlo, PMQLONG comp, PMQLONG reason) {
    struct consumption *consumption = connection_consumption(connection);
    bool dispatched = dispatcher_pause(connection);
    WITH_CONNECTION(connection_handle(connection), comp, reason,
                    call_MQCTL(wire, operation, structure(ctlo, length_of_MQCTLO), false, comp, reason));
    if (!dispatched) {
        callbacks_owed(connection, CALLBACK_OWED);
        return;
    }
    pthread_mutex_lock(&connections_lock);
    if (*comp != MQCC_FAILED) {
        dispatcher_wish(connection, operation == MQOP_STOP ? END : SUSPEND);
    } else if (consumption->wish == PAUSE) {
        dispatcher_wish(connection, RUN);
    }
    while (consumption->wish == END && consumption->dispatching) {
        pthread_cond_wait(&consumption->changed, &connections_lock);
    }
    pthread_mutex_unlock(&connections_lock);
}

/* Carry out MQOP_START, MQOP_START_WAIT or MQOP_RESUME, or refuse a value that is not an operation. */
static void start(struct connection *connection, MQLONG operation, const MQCTLO *ctlo, PMQLONG comp, PMQLONG reason) {
    struct consumption *consumption = connection_consumption(connection);
    bool rested = false;
    WITH_CONNECTION(connection_handle(connection), comp, reason,
                    call_MQCTL(wire, operation, structure(ctlo, length_of_MQCTLO), false, comp, reason) &&
                        (*comp == MQCC_FAILED || begins(connection, operation, ctlo, &rested)));
    if (*comp == MQCC_FAILED) {
        return;
    }
    if (consumption->waits) {
        dispatch_here(connection, comp, reason);
    } else if (rested || dispatcher_start(connection)) {
        wait_for_start(connection, comp, reason);
    } else {
        stop(connection, MQOP_STOP, ctlo, comp, reason);
        fail(MQRC_STORAGE_NOT_AVAILABLE, comp, reason);
    }
}

/* Carry out MQCTL in a callback, in the dispatcher's own thread. It takes effect when the callback returns. */
static void control_from_callback(struct connection *connection, MQLONG operation, const MQCTLO *ctlo, PMQLONG comp,
                                  PMQLONG reason) {
    WITH_CONNECTION(connection_handle(connection), comp, reason,
                    call_MQCTL(wire, operation, structure(ctlo, length_of_MQCTLO), true, comp, reason));
    if (*comp != MQCC_FAILED) {
        pthread_mutex_lock(&connections_lock);
        dispatcher_wish(connection, operation == MQOP_STOP ? END : operation == MQOP_SUSPEND ? SUSPEND : RUN);
        pthread_mutex_unlock(&connections_lock);
    }
}

EXPORTED void MQCTL(MQHCONN Hconn, MQLONG Operation, PMQVOID ControlOpts, PMQLONG CompCode, PMQLONG Reason) {
    struct connection *connection = connection_hold(Hconn, Reason);
    if (connection == NULL) {
        *CompCode = MQCC_FAILED;
        return;
    }
    if (Operation == MQOP_START_WAIT && is_in_callback()) {
        fail(MQRC_ENVIRONMENT_ERROR, CompCode, Reason);
    } else if (connection_is_mine(connection)) {
        control_from_callback(connection, Operation, ControlOpts, CompCode, Reason);
    } else if (Operation == MQOP_STOP || Operation == MQOP_SUSPEND) {
        stop(connection, Operation, ControlOpts, CompCode, Reason);
    } else {
        start(connection, Operation, ControlOpts, CompCode, Reason);
    }
    connection_release(connection);
}

/* MQDISC ends the handle, even if MQOP_STOP failed, and whatever calls a callback makes meanwhile. */
static void end_dispatcher(struct connection *connection) {
    struct consumption *consumption = connection_consumption(connection);
    pthread_mutex_lock(&connections_lock);
    while (consumption->dispatching) {
        if (consumption->wish != END) {
            dispatcher_wish(connection, END);
        }
        pthread_cond_wait(&consumption->changed, &connections_lock);
    }
    pthread_mutex_unlock(&connections_lock);
}

bool consumption_ends(struct connection *connection, PMQLONG reason) {
    if (connection_is_mine(connection)) {
        /* "Usage notes for MQCB" forbids this, but does not document the reason code, so the reason code is unverified. */
        *reason = MQRC_CALL_IN_PROGRESS;
        return false;
    }
    pthread_mutex_lock(&connections_lock);
    /* Consumption can be started without any callback, because the last callback was deregistered. */
    const struct consumption *consumption = connection_consumption(connection);
    bool consumes = consumption->callbacks != NULL || consumption->dispatching;
    pthread_mutex_unlock(&connections_lock);
    if (consumes) {
        const MQCTLO ctlo = {MQCTLO_DEFAULT};
        MQLONG comp;
        stop(connection, MQOP_STOP, &ctlo, &comp, reason);
        end_dispatcher(connection);
        callbacks_owed(connection, CALLBACK_DEREGISTERED);
    }
    return true;
}

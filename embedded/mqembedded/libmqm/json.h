/* Reads JSON. A value is a place in the text; only requested texts and numbers are copied. */
#ifndef MQGROUPS_JSON_H
#define MQGROUPS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value in a text that json_parse has accepted; empty if there is no value. Each function treats a value of another type as
 * empty. */
struct json {
    const char *at, *end;
};

/* Whether a text is JSON. If it is JSON, `value` is its value, otherwise `line` is the line of the first error. A comma before a
 * closing bracket is accepted, because an example of IBM has such a comma (IBM MQ, "JSON CCDT examples"). */
bool json_parse(const char *text, size_t length, struct json *value, int *line);

/* The member of an object with this name; the last one if there are several (IBM MQ, "Configuring a JSON format CCDT"). */
struct json json_member(struct json object, const char *name);

/* Get the next element of an array. `rest` is first the result of json_elements. False after the last element. */
struct json json_elements(struct json array);
bool json_next(struct json *rest, struct json *element);

/* Copy a string. False if the value is not a string, is too long for `size`, or has an escape outside ASCII. */
bool json_text(struct json value, char *text, size_t size);

/* The number of a value if it is an integer within these bounds, else `otherwise`. */
int32_t json_integer(struct json value, int32_t least, int32_t most, int32_t otherwise);

#endif

/* Reading JSON: the place of a value in a text. Only requested texts and numbers are copied. */
#ifndef MQGROUPS_JSON_H
#define MQGROUPS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value in a text that json_parse has accepted; empty if there is none. For the functions, a value of another type is empty,
 * too. */
struct json {
    const char *at, *end;
};

/* Whether a text is JSON. If so, `value` is its value; otherwise `line` is the line of the first error. A comma before a
 * closing bracket is accepted, because an example of IBM has one (IBM MQ, "JSON CCDT examples"). */
bool json_parse(const char *text, size_t length, struct json *value, int *line);

/* The member of an object with this name, and the last one if there are several (IBM MQ, "Configuring a JSON format CCDT"). */
struct json json_member(struct json object, const char *name);

/* The next element of an array; `rest` begins as its json_elements. False after the last one. */
struct json json_elements(struct json array);
bool json_next(struct json *rest, struct json *element);

/* Copy a string. False if the value is no string, is too long for `size`, or has an escape outside ASCII. */
bool json_text(struct json value, char *text, size_t size);

/* The number of a value, if it is an integer in these bounds; else `otherwise`. */
int32_t json_integer(struct json value, int32_t least, int32_t most, int32_t otherwise);

#endif

/* Reading JSON: where in a text a value is. Nothing is copied but the texts and numbers that are asked for. */
#ifndef MQGROUPS_JSON_H
#define MQGROUPS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value in a text that json_parse has accepted; empty if there is none. The functions take an empty value, or one of another
 * type than they are for, as if it had nothing in it. */
struct json {
    const char *at, *end;
};

/* Whether a text is JSON, whose value is then `value`; otherwise `line` is the line with the first error. A comma may stand
 * before a closing bracket: an example of IBM's has one (IBM MQ, "JSON CCDT examples"). */
bool json_parse(const char *text, size_t length, struct json *value, int *line);

/* The member of an object with this name, and the last one if there are several (IBM MQ, "Configuring a JSON format CCDT"). */
struct json json_member(struct json object, const char *name);

/* The elements of an array: `rest` is first json_elements of it. False after the last one. */
struct json json_elements(struct json array);
bool json_next(struct json *rest, struct json *element);

/* Copy a string. False if the value is none, is longer than `size` allows, or has an escape for anything but ASCII. */
bool json_text(struct json value, char *text, size_t size);

/* The number of a value, if it is an integer in these bounds; else `otherwise`. */
int32_t json_integer(struct json value, int32_t least, int32_t most, int32_t otherwise);

#endif

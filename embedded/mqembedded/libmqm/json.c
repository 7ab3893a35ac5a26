/* A parser with the grammar of RFC 8259. The text ends at `end`, not with a NUL, and can have any content. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

/* The greatest depth of nesting. A channel definition table needs five levels. */
#define DEEPEST 32
#define LONGEST_NAME 64
#define LONGEST_INTEGER 11

static const struct json nothing = {"", ""};

static bool is_at(const struct json *rest, const char *characters) {
    return rest->at < rest->end && *rest->at != '\0' && strchr(characters, *rest->at) != NULL;
}

static void skip_space(struct json *rest) {
    while (is_at(rest, " \t\r\n")) {
        rest->at++;
    }
}

static bool take(struct json *rest, const char *character) {
    skip_space(rest);
    bool there = is_at(rest, character);
    rest->at += there;
    return there;
}

static bool skip_digits(struct json *rest) {
    bool any = false;
    while (is_at(rest, "0123456789")) {
        rest->at++;
        any = true;
    }
    return any;
}

static bool skip_number(struct json *rest) {
    rest->at += is_at(rest, "-");
    if (is_at(rest, "0")) {
        rest->at++;
    } else if (!skip_digits(rest)) {
        return false;
    }
    if (is_at(rest, ".")) {
        rest->at++;
        if (!skip_digits(rest)) {
            return false;
        }
    }
    if (is_at(rest, "eE")) {
        rest->at++;
        rest->at += is_at(rest, "+-");
        return skip_digits(rest);
    }
    return true;
}

static bool skip_word(struct json *rest, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(rest->end - rest->at) < length || memcmp(rest->at, word, length) != 0) {
        return false;
    }
    rest->at += length;
    return true;
}

static bool skip_escape(struct json *rest) {
    if (!is_at(rest, "u")) {
        bool known = is_at(rest, "\"\\/bfnrt");
        rest->at += known;
        return known;
    }
    rest->at++;
    for (int i = 0; i < 4; i++) {
        if (!is_at(rest, "0123456789abcdefABCDEF")) {
            return false;
        }
        rest->at++;
    }
    return true;
}

static bool skip_string(struct json *rest) {
    if (!take(rest, "\"")) {
        return false;
    }
    while (rest->at < rest->end && (unsigned char)*rest->at >= ' ') {
        char character = *rest->at++;
        if (character == '"') {
            return true;
        }
        if (character == '\\' && !skip_escape(rest)) {
            return false;
        }
    }
    return false;
}

static bool skip_value(struct json *rest, int depth) {
    skip_space(rest);
    bool is_object = is_at(rest, "{");
    if (!is_object && !is_at(rest, "[")) {
        return is_at(rest, "\"")  ? skip_string(rest)
               : is_at(rest, "t") ? skip_word(rest, "true")
               : is_at(rest, "f") ? skip_word(rest, "false")
               : is_at(rest, "n") ? skip_word(rest, "null")
                                  : skip_number(rest);
    }
    if (depth == 0) {
        return false;
    }
    rest->at++;
    const char *closing = is_object ? "}" : "]";
    while (!take(rest, closing)) {
        if ((is_object && !(skip_string(rest) && take(rest, ":"))) || !skip_value(rest, depth - 1)) {
            return false;
        }
        if (!take(rest, ",")) {
            return take(rest, closing);
        }
    }
    return true;
}

bool json_parse(const char *text, size_t length, struct json *value, int *line) {
    *value = (struct json){text, text + length};
    struct json rest = *value;
    bool is_json = skip_value(&rest, DEEPEST);
    skip_space(&rest);
    *line = 1;
    for (const char *at = text; at < rest.at; at++) {
        *line += *at == '\n';
    }
    return is_json && rest.at == rest.end;
}

/* Take the value at the beginning of `rest`, which then begins after the value. */
static struct json take_value(struct json *rest) {
    skip_space(rest);
    struct json value = *rest;
    if (!skip_value(rest, DEEPEST)) {
        rest->at = rest->end;
        return nothing;
    }
    value.end = rest->at;
    return value;
}

static struct json contents(struct json value, const char *opening) {
    return take(&value, opening) ? value : nothing;
}

struct json json_member(struct json object, const char *name) {
    struct json rest = contents(object, "{"), found = nothing;
    while (rest.at < rest.end && !take(&rest, "}")) {
        char text[LONGEST_NAME];
        bool is_it = json_text(take_value(&rest), text, sizeof text) && strcmp(text, name) == 0;
        take(&rest, ":");
        struct json value = take_value(&rest);
        found = is_it ? value : found;
        take(&rest, ",");
    }
    return found;
}

struct json json_elements(struct json array) { return contents(array, "["); }

bool json_next(struct json *rest, struct json *element) {
    if (rest->at >= rest->end || take(rest, "]")) {
        *rest = nothing;
        return false;
    }
    *element = take_value(rest);
    take(rest, ",");
    return true;
}

/* The character that an escape means, after its backslash was taken. NUL if the character is not in ASCII. */
static char escaped(struct json *rest) {
    static const char names[] = "bfnrt", characters[] = "\b\f\n\r\t";
    char name = *rest->at++;
    if (name != 'u') {
        const char *known = strchr(names, name);
        return known != NULL ? characters[known - names] : name;
    }
    char digits[5] = "";
    memcpy(digits, rest->at, 4);
    rest->at += 4;
    long code = strtol(digits, NULL, 16);
    return (char)(code < 0x80 ? code : '\0');
}

bool json_text(struct json value, char *text, size_t size) {
    if (!take(&value, "\"")) {
        return false;
    }
    size_t length = 0;
    while (!is_at(&value, "\"")) {
        char character = *value.at++;
        if (character == '\\') {
            character = escaped(&value);
        }
        if (character == '\0' || length + 1 >= size) {
            return false;
        }
        text[length++] = character;
    }
    text[length] = '\0';
    return true;
}

int32_t json_integer(struct json value, int32_t least, int32_t most, int32_t otherwise) {
    char digits[LONGEST_INTEGER + 1] = "";
    size_t length = (size_t)(value.end - value.at);
    if (length == 0 || length > LONGEST_INTEGER) {
        return otherwise;
    }
    memcpy(digits, value.at, length);
    char *end = digits;
    long number = strtol(digits, &end, 10);
    return *end == '\0' && number >= least && number <= most ? (int32_t)number : otherwise;
}

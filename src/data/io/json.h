/* JSON text as one flat list of values, in the order of the text.
 *
 * The values of an object or a list follow it; `next` is the index after all of them, so no
 * recursion is needed to traverse, skip or release a document. Strings are not copied unless they
 * have escapes. Memory is 24 bytes per value in addition to the text, from the allocator of the
 * context.
 *
 * The parser is yajl: it accepts an allocator for each call (others have one for the whole process,
 * which a library must not change), and it returns numbers as text, so that number.c reads them.
 */
#ifndef ABUTI_MESH_JSON_H
#define ABUTI_MESH_JSON_H

#include "base/base.h"

typedef enum abuti_json_kind {
    ABUTI_JSON_NULL = 0,
    ABUTI_JSON_BOOLEAN,
    ABUTI_JSON_NUMBER,
    ABUTI_JSON_TEXT,
    ABUTI_JSON_LIST,
    ABUTI_JSON_OBJECT
} abuti_json_kind;

#define ABUTI_JSON_DEPTH 128         /* nesting depth of lists and objects */
#define ABUTI_JSON_BYTES 0x7fffffffu /* length of a text */

typedef struct abuti_json_value {
    uint32_t kind;
    uint32_t next;           /* index of the value after this one and its contents */
    uint32_t key, key_bytes; /* of a member of an object: position and length of its name */
    union {
        double number; /* finite; 0 or 1 for a boolean */
        struct {
            uint32_t at, bytes;
        } text;
        uint32_t count; /* of a list */
    } is;
} abuti_json_value;

typedef struct abuti_json {
    abut_context *context;
    const char *text; /* not owned */
    size_t text_bytes;
    char *pool; /* strings that had escapes; their positions continue after the end of the text */
    size_t pool_bytes, pool_room;
    abuti_json_value *values; /* the first is the root */
    size_t count, room;
} abuti_json;

/* Parses a text, which must stay valid until the release. `name` begins messages, `stage` names the
 * work for progress. Integers beyond 2^53 are rounded like other numbers. Numbers beyond the range
 * of double, text after the value and nesting beyond ABUTI_JSON_DEPTH are errors. */
abut_status abuti_json_read(abut_context *context, const char *name, const char *stage,
                            const void *text, size_t bytes, abuti_json *json);
void abuti_json_release(abuti_json *json);

/* The characters at `at`, which are not terminated. */
static inline const char *abuti_json_characters(const abuti_json *json, uint32_t at) {
    return at < json->text_bytes ? json->text + at : json->pool + (at - json->text_bytes);
}
/* Whether a string of the document equals `text`. */
bool abuti_json_is(const abuti_json *json, uint32_t at, uint32_t bytes, const char *text);
/* The member of this name of an object, or 0 if there is none. Sets *twice if there are several;
 * adds the number of members that it examined to *lookups. */
uint32_t abuti_json_member(const abuti_json *json, uint32_t object, const char *name, bool *twice,
                           uint64_t *lookups);

#endif

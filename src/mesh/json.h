/* JSON text as one flat list of values, in the order of the text.
 *
 * Values of an object or a list follow it; `next` leads past all that is in it, so that no
 * recursion is needed to walk, skip or release a document. Strings are not copied unless they have
 * escapes. Memory is 24 bytes a value beside the text, from the hooks of the context.
 *
 * The parser is yajl: it takes the memory hooks of each call (others have one set for the whole
 * process, which is not ours to change), and gives numbers as text, so that ours reads them.
 */
#ifndef ABUTI_MESH_JSON_H
#define ABUTI_MESH_JSON_H

#include "base/base.h"
#include "base/locale.h"

typedef enum abuti_json_kind {
    ABUTI_JSON_NULL = 0,
    ABUTI_JSON_BOOLEAN,
    ABUTI_JSON_NUMBER,
    ABUTI_JSON_TEXT,
    ABUTI_JSON_LIST,
    ABUTI_JSON_OBJECT
} abuti_json_kind;

#define ABUTI_JSON_DEPTH 128         /* lists and objects in each other */
#define ABUTI_JSON_BYTES 0x7fffffffu /* of a text */

typedef struct abuti_json_value {
    uint32_t kind;
    uint32_t next;           /* the value after this one and what is in it */
    uint32_t key, key_bytes; /* of a member of an object: where its name stands */
    union {
        double number; /* finite; of a boolean 0 or 1 */
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
    char *pool; /* strings that had escapes; their places count on from the end of the text */
    size_t pool_bytes, pool_room;
    abuti_json_value *values; /* the first is the root */
    size_t count, room;
} abuti_json;

/* Parses a text, which must stay until the release. `name` stands first in sentences, `stage` names
 * the work for progress. Whole numbers beyond 2^53 are rounded as others are; numbers beyond the
 * range of double, text behind the value and nesting beyond ABUTI_JSON_DEPTH are refused. */
abut_status abuti_json_read(abut_context *context, const char *name, const char *stage,
                            locale_t locale, const void *text, size_t bytes, abuti_json *json);
void abuti_json_release(abuti_json *json);

/* The characters at `at`, which are not terminated. */
static inline const char *abuti_json_characters(const abuti_json *json, uint32_t at) {
    return at < json->text_bytes ? json->text + at : json->pool + (at - json->text_bytes);
}
/* Whether a string of the document is `text`. */
bool abuti_json_is(const abuti_json *json, uint32_t at, uint32_t bytes, const char *text);
/* The member of this name of an object, or 0 where there is none. Sets *twice where there are
 * several; adds to *looks how many members it has looked at. */
uint32_t abuti_json_member(const abuti_json *json, uint32_t object, const char *name, bool *twice,
                           uint64_t *looks);

#endif

#include "io/json.h"

#include "io/files.h"

#ifdef ABUT_HAS_GLTF

#include <setjmp.h>
#include <string.h>
#include <yajl/yajl_parse.h>

/* One allocation of yajl. yajl does not check allocations for null, so if memory runs out we leave
 * it by longjmp() and release its allocations from this list. */
typedef struct block {
    struct block *next, *previous;
    size_t bytes;
} block;

#define HEAD_BYTES 64 /* keeps the memory after it aligned */

/* A document being parsed. */
typedef struct builder {
    abuti_json *json;
    const char *stage;
    uint32_t key, key_bytes; /* name of the next member */
    uint32_t depth;
    uint32_t open[ABUTI_JSON_DEPTH]; /* lists and objects around the next value */
    abut_status status;              /* our error, if we stopped the parser */
    const char *reason;              /* the reason, if the text is invalid */
    block blocks;                    /* head of the circular list */
    yajl_handle parser;
    jmp_buf out_of_memory;
} builder;

/* ---- memory of the parser ---- */

static void unlink_block(block *one) {
    one->previous->next = one->next;
    one->next->previous = one->previous;
}

static void *parser_allocate(void *user, size_t bytes) {
    builder *b = user;
    size_t padded;
    block *one = NULL;
    if (!abuti_add_overflows(bytes, HEAD_BYTES, &padded))
        one = abuti_allocate(b->json->context, padded, 1);
    if (!one)
        longjmp(b->out_of_memory, 1);
    *one = (block){b->blocks.next, &b->blocks, bytes};
    one->next->previous = one;
    b->blocks.next = one;
    return (unsigned char *)one + HEAD_BYTES;
}

static void parser_free(void *user, void *memory) {
    builder *b = user;
    if (!memory)
        return;
    block *one = (block *)(void *)((unsigned char *)memory - HEAD_BYTES);
    unlink_block(one);
    abuti_release(b->json->context, one);
}

static void *parser_reallocate(void *user, void *memory, size_t bytes) {
    void *larger = parser_allocate(user, bytes);
    if (memory) {
        const block *old = (const block *)(void *)((unsigned char *)memory - HEAD_BYTES);
        memcpy(larger, memory, old->bytes < bytes ? old->bytes : bytes);
        parser_free(user, memory);
    }
    return larger;
}

static void free_blocks(builder *b) {
    while (b->blocks.next != &b->blocks)
        parser_free(b, (unsigned char *)b->blocks.next + HEAD_BYTES);
}

/* ---- parser events: return 1 to continue, 0 to stop ---- */

static int stop_parsing(builder *b, const char *reason) {
    b->status = ABUT_ERROR_FORMAT;
    b->reason = reason;
    return 0;
}

static int add_value(builder *b, abuti_json_value value) {
    abuti_json *json = b->json;
    b->status = abuti_grow(json->context, &json->values, json->count, json->count + 1,
                           sizeof *json->values, &json->room);
    if (!b->status && json->count % 65536 == 65535)
        b->status = abuti_progress(json->context, b->stage, 0);
    if (b->status)
        return 0;
    if (b->depth) {
        abuti_json_value *around = &json->values[b->open[b->depth - 1]];
        around->is.count += around->kind == ABUTI_JSON_LIST;
    }
    value.key = b->key;
    value.key_bytes = b->key_bytes;
    b->key_bytes = 0;
    value.next = (uint32_t)json->count + 1;
    json->values[json->count++] = value;
    return 1;
}

/* Sets *at to the position of a string of the parser: in the text, or in the pool, to which it is
 * copied. */
static int locate_string(builder *b, const unsigned char *string, size_t bytes, uint32_t *at) {
    abuti_json *json = b->json;
    uintptr_t from = (uintptr_t)json->text, here = (uintptr_t)string;
    if (here >= from && here - from < json->text_bytes) {
        *at = (uint32_t)(here - from);
        return 1;
    }
    *at = (uint32_t)(json->text_bytes + json->pool_bytes); /* a pool is no longer than its text */
    b->status = abuti_grow(json->context, &json->pool, json->pool_bytes, json->pool_bytes + bytes,
                           1, &json->pool_room);
    if (b->status)
        return 0;
    if (bytes)
        memcpy(json->pool + json->pool_bytes, string, bytes);
    json->pool_bytes += bytes;
    return 1;
}

static int on_null(void *user) {
    return add_value(user, (abuti_json_value){.kind = ABUTI_JSON_NULL});
}

static int on_boolean(void *user, int value) {
    return add_value(user, (abuti_json_value){.kind = ABUTI_JSON_BOOLEAN, .is.number = value != 0});
}

static int on_number(void *user, const char *digits, size_t bytes) {
    builder *b = user;
    const unsigned char *at = (const unsigned char *)digits;
    abuti_json_value value = {.kind = ABUTI_JSON_NUMBER};
    if (bytes > ABUTI_SOURCE_LOOKAHEAD)
        return stop_parsing(b, "a number of more than 4096 digits");
    if (abuti_number_read(at, at + bytes, &value.is.number) != at + bytes)
        return stop_parsing(b, "a number that cannot be read");
    if (!(fabs(value.is.number) <= DBL_MAX))
        return stop_parsing(b, "a number beyond the range of double");
    return add_value(b, value);
}

static int on_text(void *user, const unsigned char *string, size_t bytes) {
    abuti_json_value value = {.kind = ABUTI_JSON_TEXT, .is.text.bytes = (uint32_t)bytes};
    return locate_string(user, string, bytes, &value.is.text.at) && add_value(user, value);
}

static int on_key(void *user, const unsigned char *string, size_t bytes) {
    builder *b = user;
    b->key_bytes = (uint32_t)bytes;
    return locate_string(b, string, bytes, &b->key);
}

static int on_begin(builder *b, abuti_json_kind kind) {
    if (b->depth == ABUTI_JSON_DEPTH)
        return stop_parsing(b, "lists or objects nested more than 128 deep");
    uint32_t here = (uint32_t)b->json->count;
    if (!add_value(b, (abuti_json_value){.kind = kind}))
        return 0;
    b->open[b->depth++] = here;
    return 1;
}

static int on_list(void *user) {
    return on_begin(user, ABUTI_JSON_LIST);
}

static int on_object(void *user) {
    return on_begin(user, ABUTI_JSON_OBJECT);
}

static int on_end(void *user) {
    builder *b = user;
    b->json->values[b->open[--b->depth]].next = (uint32_t)b->json->count;
    return 1;
}

/* ---- parsing ---- */

/* Fails with the position and the reason. */
static abut_status fail_at(builder *b, const char *name, const char *reason, size_t byte) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < byte && i < b->json->text_bytes; i++) {
        column = b->json->text[i] == '\n' ? 1 : column + 1;
        line += b->json->text[i] == '\n';
    }
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: line %zu, column %zu: invalid JSON: %s", name, line,
                      column, reason);
}

static abut_status parse(builder *b, const char *name) {
    static const yajl_callbacks events = {.yajl_null = on_null,
                                          .yajl_boolean = on_boolean,
                                          .yajl_number = on_number,
                                          .yajl_string = on_text,
                                          .yajl_start_map = on_object,
                                          .yajl_map_key = on_key,
                                          .yajl_end_map = on_end,
                                          .yajl_start_array = on_list,
                                          .yajl_end_array = on_end};
    yajl_alloc_funcs memory = {parser_allocate, parser_reallocate, parser_free, b};
    const unsigned char *text = (const unsigned char *)b->json->text;
    size_t bytes = b->json->text_bytes;
    if (setjmp(b->out_of_memory))
        return ABUT_ERROR_MEMORY;
    b->parser = yajl_alloc(&events, &memory, b);
    yajl_status result = yajl_parse(b->parser, text, bytes);
    size_t byte = yajl_get_bytes_consumed(b->parser);
    if (result == yajl_status_ok) {
        result = yajl_complete_parse(b->parser);
        byte = bytes;
    }
    if (result == yajl_status_ok)
        return ABUT_OK;
    if (result == yajl_status_client_canceled)
        return b->reason ? fail_at(b, name, b->reason, byte) : b->status;
    char *message = (char *)yajl_get_error(b->parser, 0, text, bytes);
    size_t length = strcspn(message, "\n");
    message[length] = 0;
    return fail_at(b, name, message, byte);
}

abut_status abuti_json_read(abut_context *context, const char *name, const char *stage,
                            const void *text, size_t bytes, abuti_json *json) {
    *json = (abuti_json){.context = context, .text = text, .text_bytes = bytes};
    if (bytes > ABUTI_JSON_BYTES)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: has more than 2 GiB of JSON", name);
    builder b = {.json = json, .stage = stage};
    b.blocks.next = b.blocks.previous = &b.blocks;
    abut_status status = parse(&b, name);
    free_blocks(&b);
    if (status)
        abuti_json_release(json);
    return status;
}

void abuti_json_release(abuti_json *json) {
    ABUTI_RELEASE(json->context, json->pool, json->values);
    json->pool = NULL;
    json->values = NULL;
    json->count = 0;
}

/* ---- lookup ---- */

bool abuti_json_is(const abuti_json *json, uint32_t at, uint32_t bytes, const char *text) {
    return bytes == strlen(text) && !memcmp(abuti_json_characters(json, at), text, bytes);
}

uint32_t abuti_json_member(const abuti_json *json, uint32_t object, const char *name, bool *twice,
                           uint64_t *lookups) {
    uint32_t found = 0, end = json->values[object].next;
    *twice = false;
    for (uint32_t i = object + 1; i < end; i = json->values[i].next, ++*lookups)
        if (abuti_json_is(json, json->values[i].key, json->values[i].key_bytes, name)) {
            *twice = *twice || found;
            found = i;
        }
    return found;
}

#endif

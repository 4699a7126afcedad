/* A file of the cache: a head with the digest of the mesh, fields one after the other as .abutf
 * files are, and a table of them at the end, which is checked before any of it is believed. What a
 * table points to is checked as every .abutf file is when it is read.
 *
 * A file is never changed: a new field means a new file, written beside the old one from all that
 * this holds, and renamed. So readers see the old one or the new one. Writers take turns by a lock
 * on a byte of a file beside it, so that none forgets what another has just added; where a file
 * system has no locks that may happen, and the field is built once more. Only processes of the user
 * can open that file, so that nobody else can keep it locked.
 */
#include "field/cache.h"

#include "base/checksum.h"
#include "base/system.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#define MAGIC "\211abutc\r\n"
enum { VERSION = 1, ORDER = 0x01020304 };

typedef struct cache_head {
    unsigned char magic[8];
    uint32_t order, version;
    unsigned char mesh[ABUTI_DIGEST_BYTES];
    uint64_t checksum; /* of all before */
} cache_head;

/* After the table, at the very end. */
typedef struct cache_tail {
    uint64_t count;
    uint64_t bytes;    /* of the file */
    uint64_t checksum; /* of the table and all before */
} cache_tail;

_Static_assert(sizeof(cache_head) == 56 && sizeof(cache_item) == 48 && sizeof(cache_tail) == 24,
               "as in files");

/* ---- in ---- */

static abut_status damaged(const abuti_source *source, const char *what) {
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: %s", source->name, what);
}

static abut_status read_at(abuti_source *source, uint64_t offset, void *to, size_t bytes) {
    abut_status status = abuti_source_seek(source, offset, bytes);
    if (!status && abuti_source_read(source, to, bytes) != bytes)
        status = source->failed ? abuti_fail(ABUT_ERROR_FILE, "%s: cannot be read", source->name)
                                : damaged(source, "is damaged: it ends too early");
    return status;
}

static abut_status get_head(cache_file *file) {
    cache_head head;
    abut_status status = read_at(&file->source, 0, &head, sizeof head);
    if (status)
        return status;
    if (memcmp(head.magic, MAGIC, sizeof head.magic) != 0)
        return damaged(&file->source, "is no cache of fields");
    if (head.order != ORDER)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: comes from a machine of the other byte order", file->source.name);
    if (head.version > VERSION)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: was written by a newer version of abut (its format is %u, this "
                          "version knows %d)",
                          file->source.name, head.version, VERSION);
    if (head.version != VERSION ||
        head.checksum != abuti_checksum(&head, offsetof(cache_head, checksum)))
        return damaged(&file->source, "is damaged: its head is not as it was written");
    memcpy(file->mesh, head.mesh, sizeof file->mesh);
    return ABUT_OK;
}

/* The table and the tail in one piece. */
static abut_status get_table(cache_file *file, uint64_t total) {
    cache_tail tail;
    if (total < sizeof(cache_head) + sizeof tail)
        return damaged(&file->source, "is damaged: it ends too early");
    abut_status status = read_at(&file->source, total - sizeof tail, &tail, sizeof tail);
    if (status)
        return status;
    uint64_t room = total - sizeof(cache_head) - sizeof tail;
    if (tail.bytes != total || tail.count > room / sizeof(cache_item))
        return damaged(&file->source, "is damaged: its end is not as it was written");
    size_t bytes = (size_t)tail.count * sizeof(cache_item),
           checked = offsetof(cache_tail, checksum);
    uint64_t end = total - sizeof tail - bytes;
    unsigned char *table = abuti_allocate(file->source.context, bytes + checked, 1);
    if (!table)
        return ABUT_ERROR_MEMORY;
    file->items = (cache_item *)(void *)table;
    file->count = (size_t)tail.count;
    status = read_at(&file->source, end, table, bytes + checked);
    if (!status && abuti_checksum(table, bytes + checked) != tail.checksum)
        status = damaged(&file->source, "is damaged: its table is not as it was written");
    for (size_t i = 0; !status && i < file->count; i++) {
        const cache_item *item = &file->items[i];
        if (item->offset < sizeof(cache_head) || item->offset > end ||
            item->bytes > end - item->offset)
            status = damaged(&file->source, "is damaged: a field is not within it");
    }
    return status;
}

abut_status abuti_cache_file_open(cache_file *file, abut_context *context, const char *path) {
    *file = (cache_file){.count = 0};
    abut_status status = abuti_source_open_own(&file->source, context, path);
    if (status)
        return status;
    uint64_t total = file->source.total;
    status = get_head(file);
    status = status ? status : get_table(file, total);
    if (status)
        abuti_cache_file_close(file);
    return status;
}

void abuti_cache_file_close(cache_file *file) {
    abuti_release(file->source.context, file->items);
    abuti_source_close(&file->source);
    file->items = NULL;
}

const cache_item *abuti_cache_file_find(const cache_file *file, const unsigned char *key) {
    for (size_t i = 0; i < file->count; i++)
        if (memcmp(file->items[i].key, key, ABUTI_DIGEST_BYTES) == 0)
            return &file->items[i];
    return NULL;
}

abut_status abuti_cache_file_load(cache_file *file, const cache_item *item, abut_field **field) {
    abut_field *made = NULL;
    unsigned char mesh[ABUTI_DIGEST_BYTES];
    abut_status status = abuti_source_seek(&file->source, item->offset, item->bytes);
    status = status ? status : abuti_field_restore(&file->source, file->source.name, &made);
    if (!status && (!abuti_field_digest(made, mesh) || memcmp(mesh, file->mesh, sizeof mesh) != 0))
        status = damaged(&file->source, "is damaged: it has a field of another mesh");
    if (status)
        abut_field_destroy(made);
    else
        *field = made;
    return status;
}

abut_status abuti_cache_file_peek(cache_file *file, const cache_item *item, abut_field_info *info) {
    abut_status status = abuti_source_seek(&file->source, item->offset, item->bytes);
    return status ? status : abuti_field_peek(&file->source, file->source.name, info);
}

/* ---- out ---- */

/* The lock of a mesh is one byte of a file for all. A process does not shut out itself, and closing
 * the file once gives up all its locks: so its threads take turns by a flag. */
typedef struct turn {
    int descriptor;
} turn;

static atomic_flag busy = ATOMIC_FLAG_INIT;

static void turn_begin(turn *t, const char *path, const unsigned char *mesh) {
    char name[CACHE_PATH_BYTES + 16];
    const char *slash = strrchr(path, '/');
    const struct timespec moment = {0, 1000000};
    while (atomic_flag_test_and_set(&busy))
        nanosleep(&moment, NULL);
    snprintf(name, sizeof name, "%.*sfields.lock", slash ? (int)(slash - path) + 1 : 0, path);
    t->descriptor = abuti_folder_open_file(name, O_RDWR | O_CREAT);
    if (t->descriptor < 0)
        return;
    abuti_system_lock(t->descriptor, (uint64_t)mesh[0] << 16 | (uint64_t)mesh[1] << 8 | mesh[2]);
}

static void turn_end(turn *t) {
    if (t->descriptor >= 0)
        close(t->descriptor);
    atomic_flag_clear(&busy);
}

/* Copies a field of the old file; false where that cannot be read any more, and what was written of
 * it is of no use. */
static bool copy(cache_file *from, const cache_item *item, abuti_sink *sink) {
    uint64_t left = item->bytes;
    if (abuti_source_seek(&from->source, item->offset, item->bytes))
        return false;
    while (left) {
        size_t visible = abuti_source_fill(&from->source, 1);
        if (!visible)
            return false;
        abuti_sink_write(sink, from->source.at, visible);
        from->source.at += visible;
        left -= visible;
    }
    return true;
}

static uint64_t offset_of(abuti_sink *sink) {
    off_t at = sink->error ? 0 : ftello(sink->file);
    return at > 0 ? (uint64_t)at : 0;
}

/* All but the head; `items` has room for one more than the old file has. */
static abut_status put_fields(abuti_sink *sink, cache_file *old, const unsigned char *key,
                              const abut_field *field, cache_item *items) {
    size_t count = 0;
    for (size_t i = 0; i < old->count; i++) {
        uint64_t at = offset_of(sink);
        if (memcmp(old->items[i].key, key, ABUTI_DIGEST_BYTES) == 0 ||
            !copy(old, &old->items[i], sink))
            continue;
        items[count] = old->items[i];
        items[count++].offset = at;
    }
    cache_item *last = &items[count++];
    memcpy(last->key, key, sizeof last->key);
    last->offset = offset_of(sink);
    abut_status status = abuti_field_save(field, sink, false);
    if (status)
        return status;
    uint64_t end = offset_of(sink);
    last->bytes = end - last->offset;
    cache_tail tail = {.count = count, .bytes = end + count * sizeof *items + sizeof(cache_tail)};
    memcpy(items + count, &tail, offsetof(cache_tail, checksum));
    tail.checksum = abuti_checksum(items, count * sizeof *items + offsetof(cache_tail, checksum));
    abuti_sink_write(sink, items, count * sizeof *items);
    abuti_sink_write(sink, &tail, sizeof tail);
    return ABUT_OK;
}

static abut_status put_file(abut_context *context, const char *path, const unsigned char *mesh,
                            const unsigned char *key, const abut_field *field, cache_file *old) {
    abuti_sink sink;
    cache_item *items = abuti_allocate(context, old->count + 2, sizeof *items); /* and the tail */
    abut_status status = items ? abuti_sink_open_own(&sink, context, path) : ABUT_ERROR_MEMORY;
    if (!status) {
        cache_head head = {.order = ORDER, .version = VERSION};
        memcpy(head.magic, MAGIC, sizeof head.magic);
        memcpy(head.mesh, mesh, sizeof head.mesh);
        head.checksum = abuti_checksum(&head, offsetof(cache_head, checksum));
        abuti_sink_write(&sink, &head, sizeof head);
        status = put_fields(&sink, old, key, field, items);
        if (status)
            abuti_sink_discard(&sink);
        else
            status = abuti_sink_commit(&sink);
    }
    abuti_release(context, items);
    return status;
}

abut_status abuti_cache_file_add(abut_context *context, const char *path, const unsigned char *mesh,
                                 const unsigned char *key, const abut_field *field) {
    cache_file old = {.count = 0};
    turn t;
    turn_begin(&t, path, mesh);
    bool open = access(path, F_OK) == 0 && !abuti_cache_file_open(&old, context, path);
    if (!open || memcmp(old.mesh, mesh, sizeof old.mesh) != 0)
        old.count = 0;
    abut_status status = put_file(context, path, mesh, key, field, &old);
    if (open)
        abuti_cache_file_close(&old);
    turn_end(&t);
    return status;
}

/* A cache file: a head with the digest of the mesh, fields in the .abutf format one after the
 * other, and a table of fields at the end. The checksum of the table is verified before it is used.
 * Each field is verified like an .abutf file when it is read.
 *
 * A file is never modified. To add a field, a new file is written beside the old one and renamed,
 * so readers see the old file or the new one. Writers are serialised by a lock on one byte of a
 * separate lock file, so that no writer drops a field that another has just added. On a file system
 * without locks a field may be dropped; it is then built again. Only processes of the same user can
 * open the lock file, so other users cannot block it.
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
    uint64_t checksum; /* of all preceding members */
} cache_head;

/* At the end of the file, after the table. */
typedef struct cache_tail {
    uint64_t count;
    uint64_t bytes;    /* size of the file */
    uint64_t checksum; /* of the table and all preceding members */
} cache_tail;

_Static_assert(sizeof(cache_head) == 56 && sizeof(cache_item) == 48 && sizeof(cache_tail) == 24,
               "layout of cache files");

/* ---- read ---- */

static abut_status fail_damaged(const abuti_source *source, const char *what) {
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: %s", source->name, what);
}

static abut_status read_bytes_at(abuti_source *source, uint64_t offset, void *to, size_t bytes) {
    abut_status status = abuti_source_seek(source, offset, bytes);
    if (!status && abuti_source_read(source, to, bytes) != bytes)
        status = source->failed ? abuti_fail(ABUT_ERROR_FILE, "%s: cannot be read", source->name)
                                : fail_damaged(source, "is damaged: it ends too early");
    return status;
}

static abut_status read_cache_head(cache_file *file) {
    cache_head head;
    abut_status status = read_bytes_at(&file->source, 0, &head, sizeof head);
    if (status)
        return status;
    if (memcmp(head.magic, MAGIC, sizeof head.magic) != 0)
        return fail_damaged(&file->source, "is not a cache file of fields");
    if (head.order != ORDER)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: was written on a machine with the other byte order; remove it",
                          file->source.name);
    if (head.version > VERSION)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: was written by a newer version of abut (format %u; this version "
                          "supports up to %d)",
                          file->source.name, head.version, VERSION);
    if (head.version != VERSION ||
        head.checksum != abuti_checksum(&head, offsetof(cache_head, checksum)))
        return fail_damaged(&file->source, "is damaged: the checksum of its head does not match");
    memcpy(file->mesh, head.mesh, sizeof file->mesh);
    return ABUT_OK;
}

/* Reads and verifies the table and the tail. */
static abut_status read_cache_table(cache_file *file, uint64_t total) {
    cache_tail tail;
    if (total < sizeof(cache_head) + sizeof tail)
        return fail_damaged(&file->source, "is damaged: it ends too early");
    abut_status status = read_bytes_at(&file->source, total - sizeof tail, &tail, sizeof tail);
    if (status)
        return status;
    uint64_t room = total - sizeof(cache_head) - sizeof tail;
    if (tail.bytes != total || tail.count > room / sizeof(cache_item))
        return fail_damaged(&file->source,
                            "is damaged: its tail does not match the size of the file");
    size_t bytes = (size_t)tail.count * sizeof(cache_item),
           checked = offsetof(cache_tail, checksum);
    uint64_t end = total - sizeof tail - bytes;
    unsigned char *table = abuti_allocate(file->source.context, bytes + checked, 1);
    if (!table)
        return ABUT_ERROR_MEMORY;
    file->items = (cache_item *)(void *)table;
    file->count = (size_t)tail.count;
    status = read_bytes_at(&file->source, end, table, bytes + checked);
    if (!status && abuti_checksum(table, bytes + checked) != tail.checksum)
        status =
            fail_damaged(&file->source, "is damaged: the checksum of its table does not match");
    for (size_t i = 0; !status && i < file->count; i++) {
        const cache_item *item = &file->items[i];
        if (item->offset < sizeof(cache_head) || item->offset > end ||
            item->bytes > end - item->offset)
            status = fail_damaged(&file->source,
                                  "is damaged: its table refers to bytes outside the file");
    }
    return status;
}

abut_status abuti_cache_file_open(cache_file *file, abut_context *context, const char *path) {
    *file = (cache_file){.count = 0};
    abut_status status = abuti_source_open_own(&file->source, context, path);
    if (status)
        return status;
    uint64_t total = file->source.total;
    status = read_cache_head(file);
    status = status ? status : read_cache_table(file, total);
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
        status = fail_damaged(&file->source, "is damaged: it contains a field of another mesh");
    if (status)
        abut_field_destroy(made);
    else
        *field = made;
    return status;
}

abut_status abuti_cache_file_load_info(cache_file *file, const cache_item *item,
                                       abut_field_info *info) {
    abut_status status = abuti_source_seek(&file->source, item->offset, item->bytes);
    return status ? status : abuti_field_restore_info(&file->source, file->source.name, info);
}

/* ---- write ---- */

/* Serialises writers. The lock of a mesh is one byte of a lock file that all meshes share. POSIX
 * locks do not exclude threads of the same process, and closing the file once releases all locks of
 * the process, so threads are serialised by a flag. */
typedef struct writer_lock {
    int descriptor;
} writer_lock;

static atomic_flag busy = ATOMIC_FLAG_INIT;

static void writer_lock_acquire(writer_lock *t, const char *path, const unsigned char *mesh) {
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

static void writer_lock_release(writer_lock *t) {
    if (t->descriptor >= 0)
        close(t->descriptor);
    atomic_flag_clear(&busy);
}

/* Copies a field of the old file. Returns false if it can no longer be read; the bytes written for
 * it are then unused. */
static bool copy_stored_field(cache_file *from, const cache_item *item, abuti_sink *sink) {
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

static uint64_t current_offset(abuti_sink *sink) {
    off_t at = sink->error ? 0 : ftello(sink->file);
    return at > 0 ? (uint64_t)at : 0;
}

/* Writes everything after the head. `items` has space for two more than the old file has: the new
 * field and the tail. */
static abut_status write_fields(abuti_sink *sink, cache_file *old, const unsigned char *key,
                                const abut_field *field, cache_item *items) {
    size_t count = 0;
    for (size_t i = 0; i < old->count; i++) {
        uint64_t at = current_offset(sink);
        if (memcmp(old->items[i].key, key, ABUTI_DIGEST_BYTES) == 0 ||
            !copy_stored_field(old, &old->items[i], sink))
            continue;
        items[count] = old->items[i];
        items[count++].offset = at;
    }
    cache_item *last = &items[count++];
    memcpy(last->key, key, sizeof last->key);
    last->offset = current_offset(sink);
    abut_status status = abuti_field_save(field, sink, false);
    if (status)
        return status;
    uint64_t end = current_offset(sink);
    last->bytes = end - last->offset;
    cache_tail tail = {.count = count, .bytes = end + count * sizeof *items + sizeof(cache_tail)};
    memcpy(items + count, &tail, offsetof(cache_tail, checksum));
    tail.checksum = abuti_checksum(items, count * sizeof *items + offsetof(cache_tail, checksum));
    abuti_sink_write(sink, items, count * sizeof *items);
    abuti_sink_write(sink, &tail, sizeof tail);
    return ABUT_OK;
}

static abut_status write_cache_file(abut_context *context, const char *path,
                                    const unsigned char *mesh, const unsigned char *key,
                                    const abut_field *field, cache_file *old) {
    abuti_sink sink;
    cache_item *items =
        abuti_allocate(context, old->count + 2, sizeof *items); /* the new field and the tail */
    abut_status status = items ? abuti_sink_open_own(&sink, context, path) : ABUT_ERROR_MEMORY;
    if (!status) {
        cache_head head = {.order = ORDER, .version = VERSION};
        memcpy(head.magic, MAGIC, sizeof head.magic);
        memcpy(head.mesh, mesh, sizeof head.mesh);
        head.checksum = abuti_checksum(&head, offsetof(cache_head, checksum));
        abuti_sink_write(&sink, &head, sizeof head);
        status = write_fields(&sink, old, key, field, items);
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
    writer_lock t;
    writer_lock_acquire(&t, path, mesh);
    bool open = access(path, F_OK) == 0 && !abuti_cache_file_open(&old, context, path);
    if (!open || memcmp(old.mesh, mesh, sizeof old.mesh) != 0)
        old.count = 0;
    abut_status status = write_cache_file(context, path, mesh, key, field, &old);
    if (open)
        abuti_cache_file_close(&old);
    writer_lock_release(&t);
    return status;
}

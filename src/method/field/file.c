/* The file format of fields (.abutf): all data of a field, with checksums.
 *
 * The head has its own checksum. It is followed by the brick index and the corner values of sparse
 * fields, and the values. Each of these sections is divided into blocks of 256 KiB. A block has a
 * checksum, and is compressed if zstd is available and makes it smaller. Threads process a batch of
 * blocks at a time, so reading and writing need little memory beside the field. Numbers are in
 * native byte order; files of the other byte order are detected by `order` and rejected.
 *
 * No data of a file is trusted: counts are compared with the file size before memory is allocated,
 * and values are validated.
 */
#include "field/field.h"

#include "base/checksum.h"
#include "sign/sign.h"

#include <math.h>

enum {
    VERSION = 1,
    ORDER = 0x01020304,
    BLOCK = FIELD_FILE_BLOCK,
    BATCH = 32, /* blocks processed at a time */
    PLAIN = 0,
    COMPRESSED = 1,
    COMPRESSED_BYTES_MIN = 9, /* smallest possible size of a zstd frame in bytes */
};

/* Boundary of the mesh: open, closed, or closed with flipped neighbours. */
enum { OPEN = 0, CLOSED = 1, FLIPPED = 2 };

typedef struct file_head {
    unsigned char magic[FIELD_MAGIC_BYTES];
    uint32_t order, version;
    uint32_t layout, type, sign, closed;
    double origin[3], cell, band, step;
    uint32_t count[3], brick_count;
    uint32_t has_digest, reserved;
    unsigned char digest[ABUTI_DIGEST_BYTES];
    uint64_t checksum; /* of all preceding members */
} file_head;

typedef struct block_head {
    uint32_t bytes, method;
    uint64_t checksum; /* of the stored bytes */
} block_head;

_Static_assert(sizeof(file_head) == FIELD_FILE_HEAD && sizeof(block_head) == FIELD_FILE_BLOCK_HEAD,
               "layout of field files");

/* ---- blocks ---- */

/* A contiguous array of the field. */
typedef struct section {
    unsigned char *data;
    size_t bytes, element_bytes;
    size_t skipped; /* bytes before `data`: values of bricks that another process has
                       (distributed.c) */
} section;

typedef struct block {
    unsigned char *data;
    size_t bytes, element_bytes;
    int section;
} block;

/* A batch of blocks with its buffers. */
typedef struct batch {
    const abut_field *field;
    section sections[SECTION_COUNT];
    size_t block_count;
    bool plain;
    size_t first, count;   /* first block and number of blocks of this batch */
    unsigned char *stored; /* BLOCK bytes for each block of a batch; so is scratch */
    unsigned char *scratch;
    block_head heads[BATCH];
    const char *problem[BATCH]; /* problem of each block; null = none */
    float lowest[BATCH], highest[BATCH];
} batch;

static size_t blocks_of(const section *s) {
    return s->bytes / BLOCK + (s->bytes % BLOCK != 0);
}

static void list_sections(const abut_field *field, batch *b) {
    const uint32_t *n = field->bricks;
    b->field = field;
    if (field->layout == ABUT_FIELD_SPARSE) {
        b->sections[SECTION_INDEX] =
            (section){(unsigned char *)field->index,
                      sizeof *field->index * ((size_t)n[0] * n[1] * n[2]), sizeof *field->index, 0};
        b->sections[SECTION_COARSE] =
            (section){(unsigned char *)field->coarse,
                      sizeof *field->coarse * ((size_t)n[0] + 1) * (n[1] + 1) * (n[2] + 1),
                      sizeof *field->coarse, 0};
    }
    size_t each = field_value_bytes(field), values = field->value_count;
    if (field->layout == ABUT_FIELD_SPARSE)
        values = (size_t)field->brick_count * FIELD_VALUES;
    b->sections[SECTION_VALUES] = (section){field->values, values * each, each,
                                            (size_t)field->first_brick * FIELD_VALUES * each};
    for (int i = 0; i < SECTION_COUNT; i++)
        b->block_count += blocks_of(&b->sections[i]);
}

static block block_at(const batch *b, size_t number) {
    int which = 0;
    while (number >= blocks_of(&b->sections[which]))
        number -= blocks_of(&b->sections[which++]);
    const section *s = &b->sections[which];
    size_t left = s->bytes - number * BLOCK;
    return (block){s->data + (number * BLOCK - s->skipped), left < BLOCK ? left : BLOCK,
                   s->element_bytes, which};
}

static abut_status batch_reserve(abut_context *context, batch *b) {
    size_t most = b->block_count < BATCH ? b->block_count : BATCH;
    b->stored = abuti_allocate(context, most, BLOCK);
    b->scratch = abuti_allocate(context, most, BLOCK);
    return b->stored && b->scratch ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static void batch_release(abut_context *context, batch *b) {
    ABUTI_RELEASE(context, b->stored, b->scratch);
}

/* ---- write ---- */

static void compress_task(void *data, size_t chunk, size_t begin, size_t end) {
    batch *b = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        block from = block_at(b, b->first + i);
        unsigned char *to = b->stored + i * BLOCK;
        size_t got = b->plain ? 0
                              : abuti_block_compress(from.data, from.bytes, from.element_bytes,
                                                     b->scratch + i * BLOCK, to);
        b->heads[i] = (block_head){(uint32_t)got, COMPRESSED, got ? abuti_checksum(to, got) : 0};
        if (!got)
            b->heads[i] =
                (block_head){(uint32_t)from.bytes, PLAIN, abuti_checksum(from.data, from.bytes)};
    }
}

void abuti_field_save_head(const abut_field *field, unsigned char to[FIELD_FILE_HEAD]) {
    const abut_grid *g = &field->grid;
    file_head head = {.order = ORDER,
                      .version = VERSION,
                      .layout = field->layout,
                      .type = field->type,
                      .sign = field->sign,
                      .closed = field->closed                                             ? CLOSED
                                : field->reliability.level == ABUT_RELIABILITY_UNRELIABLE ? FLIPPED
                                                                                          : OPEN,
                      .origin = {g->origin.x, g->origin.y, g->origin.z},
                      .cell = g->cell,
                      .band = field->band,
                      .step = field->step,
                      .count = {g->count[0], g->count[1], g->count[2]},
                      .brick_count = field->brick_count};
    memcpy(head.magic, FIELD_MAGIC, sizeof head.magic);
    head.has_digest = abuti_field_digest(field, head.digest);
    head.checksum = abuti_checksum(&head, offsetof(file_head, checksum));
    memcpy(to, &head, sizeof head);
}

/* The stored bytes of a block of the batch, which follow its head. */
static const unsigned char *stored_block(const batch *b, size_t i) {
    return b->heads[i].method == PLAIN ? block_at(b, b->first + i).data : b->stored + i * BLOCK;
}

/* Passes the blocks from `begin` up to `end`, each with its head, to a function. */
static abut_status encode_blocks(batch *b, size_t begin, size_t end, bool plain, const char *stage,
                                 void (*write)(void *user, const void *data, size_t bytes),
                                 void *user) {
    abut_context *context = b->field->context;
    b->plain = plain || !abuti_block_can_compress();
    abut_status status = b->plain ? ABUT_OK : batch_reserve(context, b);
    for (b->first = begin; !status && b->first < end; b->first += BATCH) {
        b->count = end - b->first < BATCH ? end - b->first : BATCH;
        abuti_parallel_for(context, b->count, 1, compress_task, b);
        for (size_t i = 0; i < b->count; i++) {
            write(user, &b->heads[i], sizeof b->heads[i]);
            write(user, stored_block(b, i), b->heads[i].bytes);
        }
        status = abuti_progress(context, stage,
                                (double)(b->first - begin + b->count) / (double)(end - begin));
    }
    batch_release(context, b);
    return status;
}

uint64_t abuti_field_section_bytes(const abut_field *field, field_section which) {
    batch b = {0};
    list_sections(field, &b);
    return b.sections[which].bytes;
}

typedef struct memory_target {
    unsigned char *to;
    size_t used;
} memory_target;

static void write_to_memory(void *user, const void *data, size_t bytes) {
    memory_target *target = user;
    memcpy(target->to + target->used, data, bytes);
    target->used += bytes;
}

abut_status abuti_field_save_blocks(const abut_field *field, field_section which, bool plain,
                                    uint64_t begin, uint64_t end, unsigned char *to, size_t *used) {
    batch b = {0};
    memory_target target = {to, 0};
    list_sections(field, &b);
    for (int i = 0; i < (int)which; i++) { /* block indices run through all sections */
        begin += blocks_of(&b.sections[i]);
        end += blocks_of(&b.sections[i]);
    }
    abut_status status =
        encode_blocks(&b, begin, end, plain, "packing the field", write_to_memory, &target);
    *used = target.used;
    return status;
}

static void write_to_sink(void *user, const void *data, size_t bytes) {
    abuti_sink_write(user, data, bytes);
}

abut_status abuti_field_save(const abut_field *field, abuti_sink *sink, bool plain) {
    batch b = {0};
    abut_status status = abuti_field_host(field);
    if (status)
        return status;
    unsigned char head[FIELD_FILE_HEAD];
    list_sections(field, &b);
    abuti_field_save_head(field, head);
    abuti_sink_write(sink, head, sizeof head);
    return encode_blocks(&b, 0, b.block_count, plain, "writing the field", write_to_sink, sink);
}

/* ---- read ---- */

static abut_status fail_damaged(const char *name, const char *what) {
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: is damaged: %s; build the field again", name, what);
}

static abut_status fail_truncated(const abuti_source *source, const char *name) {
    if (source->failed)
        return abuti_fail(ABUT_ERROR_FILE, "%s: cannot be read to its end", name);
    return fail_damaged(name, "it ends too early");
}

static abut_grid grid_of(const file_head *h) {
    return (abut_grid){{h->origin[0], h->origin[1], h->origin[2]},
                       h->cell,
                       {h->count[0], h->count[1], h->count[2]}};
}

static abut_reliability reliability_of(const file_head *h) {
    if (h->sign == ABUT_SIGN_AUTO && h->closed == OPEN)
        return abuti_field_values_reliability();
    return abuti_sign_method_reliability((abut_sign_method)h->sign, h->closed == CLOSED,
                                         h->closed == FLIPPED);
}

/* Validates all members of the head, since a checksum can be forged. Returns a problem or null. */
static const char *find_head_problem(const file_head *h) {
    if (h->layout > ABUT_FIELD_SPARSE || h->type > ABUT_FIELD_INT16 || h->closed > FLIPPED ||
        h->sign > ABUT_SIGN_NORMAL || h->has_digest > 1 || h->reserved)
        return "its head has unknown enumerators";
    const abut_grid grid = grid_of(h);
    if (abuti_field_check_grid("", &grid) || !(h->band > 0))
        return "its grid or its band is invalid";
    if (h->type == ABUT_FIELD_FLOAT
            ? h->step != 0
            : !(h->step > 0 && h->step < (double)INFINITY && h->step == (double)(float)h->step))
        return "its step is invalid";
    if (h->layout == ABUT_FIELD_DENSE && h->brick_count)
        return "it is dense and has bricks";
    return NULL;
}

static abut_status read_file_head(abuti_source *source, const char *name, file_head *head) {
    if (abuti_source_read(source, head, sizeof *head) != sizeof *head)
        return fail_truncated(source, name);
    if (memcmp(head->magic, FIELD_MAGIC, sizeof head->magic) != 0)
        return abuti_fail(ABUT_ERROR_FORMAT, "%s: is not a field file", name);
    if (head->order != ORDER)
        return abuti_fail(
            ABUT_ERROR_UNSUPPORTED,
            "%s: was written on a machine with the other byte order; build the field again", name);
    if (head->version > VERSION)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: was written by a newer version of abut (format %u; this version "
                          "supports up to %d); update abut, or build the field again",
                          name, head->version, VERSION);
    if (head->version != VERSION ||
        head->checksum != abuti_checksum(head, offsetof(file_head, checksum)))
        return fail_damaged(name, "the checksum of its head does not match");
    const char *problem = find_head_problem(head);
    return problem ? fail_damaged(name, problem) : ABUT_OK;
}

/* Compares the memory that the head requires with the size of the file, so that a small file cannot
 * cause a large allocation. */
static abut_status check_size(const abuti_source *source, const char *name, const file_head *h) {
    double values = 1, bricks = 1, corners = 1;
    for (int axis = 0; axis < 3; axis++) {
        double along = ceil((h->count[axis] - 1.0) / FIELD_BRICK);
        values *= h->count[axis];
        bricks *= along;
        corners *= along + 1;
    }
    if (h->layout == ABUT_FIELD_SPARSE && h->brick_count > bricks)
        return fail_damaged(name, "it has more bricks than its grid");
    double bytes = 0, each = h->type == ABUT_FIELD_FLOAT ? sizeof(float) : sizeof(int16_t);
    if (h->layout == ABUT_FIELD_SPARSE) {
        bytes = bricks * sizeof(uint32_t) + corners * sizeof(float);
        values = (double)h->brick_count * FIELD_VALUES;
    }
    bytes += values * each;
    if (bytes > 0x1p46)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: its %u x %u x %u cells exceed the address space",
                          name, h->count[0], h->count[1], h->count[2]);
    if (source->total &&
        bytes / BLOCK * (sizeof(block_head) + COMPRESSED_BYTES_MIN) > (double)source->total)
        return fail_truncated(source, name);
    return ABUT_OK;
}

abut_status abuti_field_restore_info(abuti_source *source, const char *name, abut_field_info *info,
                                     unsigned char mesh[ABUTI_DIGEST_BYTES]) {
    file_head h;
    abut_status status = read_file_head(source, name, &h);
    if (!status)
        status = check_size(source, name, &h);
    if (status)
        return status;
    memcpy(mesh, h.digest, sizeof h.digest);
    abut_field field = {.layout = (abut_field_layout)h.layout,
                        .type = (abut_field_type)h.type,
                        .grid = grid_of(&h),
                        .brick_count = h.brick_count,
                        .band = h.band,
                        .step = h.step,
                        .closed = h.closed == CLOSED,
                        .reliability = reliability_of(&h),
                        .sign = (abut_sign_method)h.sign};
    abuti_field_count(&field);
    *info = abut_field_info_default();
    return abut_field_get_info(&field, info);
}

/* Whether a block has valid values. Extends the range of values. */
static bool is_valid_block(const abut_field *field, const block *b, float *lowest, float *highest) {
    size_t count = b->bytes / b->element_bytes;
    if (b->section == SECTION_COARSE)
        return abuti_field_range((const float *)(const void *)b->data, count, lowest, highest);
    if (b->section == SECTION_VALUES)
        return abuti_field_values_range(field, b->data, count, lowest, highest);
    const uint32_t *index = (const uint32_t *)(const void *)b->data;
    for (size_t i = 0; i < count; i++)
        if (index[i] != ABUT_NONE && index[i] >= field->brick_count)
            return false;
    return true;
}

/* Verifies, expands and validates each block while it is in the CPU cache. */
static void expand_task(void *data, size_t chunk, size_t begin, size_t end) {
    batch *b = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const block_head *head = &b->heads[i];
        block to = block_at(b, b->first + i);
        const unsigned char *from = head->method == PLAIN ? to.data : b->stored + i * BLOCK;
        b->lowest[i] = INFINITY;
        b->highest[i] = -INFINITY;
        b->problem[i] = NULL;
        if (abuti_checksum(from, head->bytes) != head->checksum ||
            (head->method == COMPRESSED &&
             !abuti_block_expand(from, head->bytes, to.element_bytes, b->scratch + i * BLOCK,
                                 to.data, to.bytes)))
            b->problem[i] = "the checksum or the compression of a block is wrong";
        else if (!is_valid_block(b->field, &to, &b->lowest[i], &b->highest[i]))
            b->problem[i] = "a value is not a valid distance";
    }
}

static abut_status read_block(abuti_source *source, const char *name, batch *b, size_t i) {
    block_head *head = &b->heads[i];
    block to = block_at(b, b->first + i);
    if (abuti_source_read(source, head, sizeof *head) != sizeof *head)
        return fail_truncated(source, name);
    if (head->method > COMPRESSED || !head->bytes || head->bytes > BLOCK ||
        (head->method == PLAIN && head->bytes != to.bytes))
        return fail_damaged(name, "the size of a block is invalid");
    if (head->method == COMPRESSED && !abuti_block_can_compress())
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: is compressed, and this build has no zstd; build abut with it, or "
                          "build the field again",
                          name);
    unsigned char *room = head->method == PLAIN ? to.data : b->stored + i * BLOCK;
    return abuti_source_read(source, room, head->bytes) == head->bytes
               ? ABUT_OK
               : fail_truncated(source, name);
}

static abut_status read_blocks(abuti_source *source, const char *name, abut_field *field) {
    batch b = {0};
    float lowest = INFINITY, highest = -INFINITY;
    list_sections(field, &b);
    abut_status status = batch_reserve(field->context, &b);
    for (; !status && b.first < b.block_count; b.first += BATCH) {
        b.count = b.block_count - b.first < BATCH ? b.block_count - b.first : BATCH;
        for (size_t i = 0; i < b.count && !status; i++)
            status = read_block(source, name, &b, i);
        if (status)
            break;
        abuti_parallel_for(field->context, b.count, 1, expand_task, &b);
        for (size_t i = 0; i < b.count && !status; i++) {
            lowest = b.lowest[i] < lowest ? b.lowest[i] : lowest;
            highest = b.highest[i] > highest ? b.highest[i] : highest;
            if (b.problem[i])
                status = fail_damaged(name, b.problem[i]);
        }
        if (!status)
            status = abuti_progress(field->context, "reading the field",
                                    (double)(b.first + b.count) / (double)b.block_count);
    }
    batch_release(field->context, &b);
    unsigned char more;
    if (!status && abuti_source_read(source, &more, 1))
        status = fail_damaged(name, "it has extra bytes at its end");
    if (!status)
        abuti_field_finish_with(field, lowest, highest);
    return status;
}

static abut_status fill_from_file(abuti_source *source, const char *name, const file_head *h,
                                  abut_field *field) {
    field->layout = (abut_field_layout)h->layout;
    field->type = (abut_field_type)h->type;
    field->sign = (abut_sign_method)h->sign;
    field->closed = h->closed == CLOSED;
    field->reliability = reliability_of(h);
    field->grid = grid_of(h);
    field->band = h->band;
    field->step = h->step;
    field->brick_count = h->brick_count;
    field->has_digest = h->has_digest;
    memcpy(field->digest, h->digest, sizeof field->digest);
    abut_status status = abuti_field_reserve(field);
    return status ? status : read_blocks(source, name, field);
}

abut_status abuti_field_restore(abuti_source *source, const char *name, abut_field **field) {
    file_head head;
    abut_field *made;
    abut_status status;
    if ((status = read_file_head(source, name, &head)) ||
        (status = check_size(source, name, &head)) ||
        (status = abuti_field_new(source->context, &made)))
        return status;
    status = fill_from_file(source, name, &head, made);
    if (status)
        abut_field_destroy(made);
    else
        *field = made;
    return status;
}

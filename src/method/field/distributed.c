/* One sparse field, built by several processes that write one file.
 *
 * Problem: a field that is too large for one machine, with the same bytes in the file as from one
 * process. Method: values are floats of exact distances, so they do not depend on the process. The
 * work is divided, and each process computes the position of its part in the file.
 *   1. Corners of bricks: blocks of 8 x 8 x 8 corners, a range of blocks for each process. All
 *      processes receive all corners.
 *   2. Bricks: each process numbers all of them, which is fast.
 *   3. Values: the file stores them in blocks of 256 KiB, in the order of bricks. A process owns
 *      a range of blocks and computes all bricks that have a part in them. Bricks at the two ends
 *      are computed by two processes. Ranges have equal lengths, and so equal numbers of bricks.
 *   4. Compressed blocks have different sizes. All processes exchange them, and each sums up the
 *      sizes before its own.
 *
 * Each process holds the mesh, its BVH and features, the index and all corners (8 bytes for each
 * brick of the grid), and its part of the values. Guarantee: the bytes of abut_field_write(), for
 * any number of processes. A failure of one process fails all: before each exchange they exchange
 * their status.
 */
#include "field/field.h"

#include <math.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 252, CHUNK_BYTES = 64 << 20, TEAM_MAX = 1 << 20 };

/* Status and error message of a process. */
typedef struct outcome {
    int32_t status;
    char message[MESSAGE_BYTES];
} outcome;

/* What a process contributes to the file. */
typedef struct contribution {
    uint64_t bytes[SECTION_COUNT];
    double lowest, highest;
} contribution;

typedef struct team {
    const abut_field_team *with;
    abut_context *context;
    abut_bvh *bvh;
    abut_field *field;
    void *work;
    uint64_t *sizes; /* one per process; so are the next two */
    outcome *outcomes;
    contribution *all, own;
    unsigned char *stored[SECTION_COUNT]; /* blocks of this process as they are in the file */
} team;

/* The first of the `count` elements that belong to a process; elements are divided evenly. */
static uint64_t share_begin(const abut_field_team *with, uint64_t count, uint32_t rank) {
    return count / with->count * rank + count % with->count * rank / with->count;
}

/* ---- exchange ---- */

static abut_status fail_exchange(void) {
    return abuti_fail(ABUT_ERROR_FILE, "abut_field_write_distributed: the exchange of data between "
                                       "the processes failed, so the field is incomplete");
}

/* Gathers the same number of bytes from each process in all processes. */
static abut_status gather_equal(team *t, const void *own, size_t bytes, void *all) {
    for (uint32_t i = 0; i < t->with->count; i++)
        t->sizes[i] = bytes;
    return t->with->gather(t->with->user, own, t->sizes, all) ? ABUT_OK : fail_exchange();
}

/* Returns the first failure of any process, in all of them. Collective. */
static abut_status exchange_status(team *t, abut_status status) {
    outcome own = {.status = (int32_t)status};
    if (status)
        snprintf(own.message, sizeof own.message, "%s", abut_last_error());
    abut_status sent = gather_equal(t, &own, sizeof own, t->outcomes);
    if (sent)
        return status ? status : sent;
    for (uint32_t i = 0; i < t->with->count; i++) {
        const outcome *o = &t->outcomes[i];
        if (o->status && i == t->with->rank)
            return status;
        if (o->status)
            return abuti_fail((abut_status)o->status, "process %u of %u: %.*s", i, t->with->count,
                              MESSAGE_BYTES, o->message);
    }
    return ABUT_OK;
}

/* ---- corners ---- */

static void store_packed_block(void *data, size_t at, const uint32_t begin[3],
                               const float *values) {
    (void)begin;
    memcpy((float *)data + at * BLOCK_CELLS, values, BLOCK_CELLS * sizeof *values);
}

/* Computes the corners of this process, and receives those of the others. Values of cells beyond
 * the grid are undefined, also in exchanged data. */
static abut_status compute_corners(team *t) {
    const abut_grid grid = field_corners(t->field);
    const size_t bytes = BLOCK_CELLS * sizeof(float);
    field_job job = {.bvh = t->bvh,
                     .grid = &grid,
                     .band = INFINITY,
                     .table = t->work,
                     .store = store_packed_block,
                     .to = 0.2};
    for (int k = 0; k < 3; k++)
        job.blocks[k] = (t->field->bricks[k] + 1 + FIELD_BRICK - 1) / FIELD_BRICK;
    const uint32_t *blocks = job.blocks, rank = t->with->rank;
    const uint64_t all = (uint64_t)blocks[0] * blocks[1] * blocks[2];
    const uint64_t first = share_begin(t->with, all, rank);
    const size_t count = (size_t)(share_begin(t->with, all, rank + 1) - first);
    float *own = abuti_allocate_zeroed(t->context, count, bytes);
    float *packed = abuti_allocate(t->context, (size_t)all, bytes);
    uint32_t *wanted = abuti_allocate(t->context, count, sizeof *wanted);
    abut_status status = own && packed && wanted ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < count && !status; i++)
        wanted[i] = (uint32_t)(first + i);
    job.wanted = wanted;
    job.wanted_count = count;
    job.data = own;
    if (!status && count)
        status = abuti_field_compute(&job);
    status = exchange_status(t, status);
    for (uint32_t i = 0; i < t->with->count && !status; i++)
        t->sizes[i] = (share_begin(t->with, all, i + 1) - share_begin(t->with, all, i)) * bytes;
    if (!status && !t->with->gather(t->with->user, own, t->sizes, packed))
        status = fail_exchange();
    for (uint64_t i = 0; i < all && !status; i++) {
        const uint32_t begin[3] = {(uint32_t)(i % blocks[0]) * FIELD_BRICK,
                                   (uint32_t)(i / blocks[0] % blocks[1]) * FIELD_BRICK,
                                   (uint32_t)(i / blocks[0] / blocks[1]) * FIELD_BRICK};
        abuti_field_store_corners(t->field, begin, packed + i * BLOCK_CELLS);
    }
    ABUTI_RELEASE(t->context, own, packed, wanted);
    return status;
}

/* ---- values ---- */

/* The range of blocks of a section that a process owns. */
static void range_of_blocks(const team *t, field_section section, uint64_t *begin, uint64_t *end) {
    const uint64_t bytes = abuti_field_section_bytes(t->field, section),
                   blocks = bytes / FIELD_FILE_BLOCK + (bytes % FIELD_FILE_BLOCK != 0);
    *begin = share_begin(t->with, blocks, t->with->rank);
    *end = share_begin(t->with, blocks, t->with->rank + 1);
}

/* Computes the bricks that have a part in the blocks of this process. */
static abut_status compute_own_bricks(team *t) {
    abut_field *field = t->field;
    const uint64_t brick = FIELD_VALUES * field_value_bytes(field);
    double reach = 0;
    uint64_t begin, end;
    abut_status status = abuti_field_number_bricks(field, &reach);
    if (status)
        return status;
    range_of_blocks(t, SECTION_VALUES, &begin, &end);
    uint64_t first = begin * FIELD_FILE_BLOCK / brick,
             last = (end * FIELD_FILE_BLOCK + brick - 1) / brick;
    last = last < field->brick_count ? last : field->brick_count;
    first = begin < end ? first : last;
    status = abuti_field_reserve_bricks(field, (uint32_t)first, (uint32_t)(last - first));
    if (!status && last > first)
        status = abuti_field_on_cpu.bricks(field, t->bvh, t->work, reach);
    if (!status)
        abuti_field_finish(field);
    return status;
}

static abut_status compress_own_blocks(team *t, bool plain) {
    abut_status status = ABUT_OK;
    for (int s = 0; s < SECTION_COUNT && !status; s++) {
        uint64_t begin, end;
        size_t used = 0;
        range_of_blocks(t, (field_section)s, &begin, &end);
        t->stored[s] = abuti_allocate(t->context, (size_t)(end - begin),
                                      FIELD_FILE_BLOCK_HEAD + FIELD_FILE_BLOCK);
        status = t->stored[s] ? abuti_field_save_blocks(t->field, (field_section)s, plain, begin,
                                                        end, t->stored[s], &used)
                              : ABUT_ERROR_MEMORY;
        t->own.bytes[s] = used;
    }
    t->own.lowest = t->field->lowest;
    t->own.highest = t->field->highest;
    return status;
}

/* ---- the file ---- */

/* Writes in chunks. All processes write the same number of chunks, since writing is collective. */
static bool write_collectively(team *t, uint64_t offset, const unsigned char *data, uint64_t bytes,
                               uint64_t most) {
    bool fine = true;
    for (uint64_t at = 0; at < most; at += CHUNK_BYTES) {
        uint64_t left = at < bytes ? bytes - at : 0, some = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        fine = t->with->write(t->with->user, offset + (some ? at : 0), some ? data + at : data,
                              (size_t)some) &&
               fine;
    }
    return fine;
}

static abut_status write_file(team *t) {
    const uint32_t rank = t->with->rank;
    unsigned char head[FIELD_FILE_HEAD] = {0};
    uint64_t offset = FIELD_FILE_HEAD;
    abut_status status = gather_equal(t, &t->own, sizeof t->own, t->all);
    if (status)
        return status;
    if (rank == 0)
        abuti_field_save_head(t->field, head);
    bool fine = write_collectively(t, 0, head, rank == 0 ? FIELD_FILE_HEAD : 0, FIELD_FILE_HEAD);
    for (int s = 0; s < SECTION_COUNT; s++) {
        uint64_t before = 0, whole = 0, most = 0;
        for (uint32_t i = 0; i < t->with->count; i++) {
            const uint64_t bytes = t->all[i].bytes[s];
            before += i < rank ? bytes : 0;
            whole += bytes;
            most = bytes > most ? bytes : most;
        }
        fine = write_collectively(t, offset + before, t->stored[s], t->own.bytes[s], most) && fine;
        offset += whole;
    }
    if (!fine)
        status = abuti_fail(ABUT_ERROR_FILE,
                            "abut_field_write_distributed: the write function of the team failed");
    return exchange_status(t, status);
}

/* The properties of the field, with the range of the values of all processes. */
static abut_status write_info(const team *t, abut_field_info *info) {
    abut_field_info made = abut_field_info_default();
    abut_field_get_info(t->field, &made);
    for (uint32_t i = 0; i < t->with->count; i++) {
        made.lowest = real_min(t->all[i].lowest, made.lowest);
        made.highest = real_max(t->all[i].highest, made.highest);
    }
    return abuti_info_write(info, &made, sizeof made, "abut_field_write_distributed");
}

/* ---- entry point ---- */

static abut_status prepare_team(team *t, abut_mesh *mesh, const abut_field_options *options) {
    abut_field_options o;
    abut_sign_options sign = abut_sign_options_default();
    abut_status status = abuti_field_read_options(options, &o);
    if (status)
        return status;
    if (o.layout != ABUT_FIELD_SPARSE || o.device || o.cache)
        return abuti_fail(
            ABUT_ERROR_UNSUPPORTED,
            "abut_field_write_distributed: only sparse fields on CPUs without a cache are "
            "supported; set options->layout to ABUT_FIELD_SPARSE, device and cache to null");
    sign.method = o.sign;
    t->all = abuti_allocate(t->context, t->with->count, sizeof *t->all);
    if (!t->all)
        return ABUT_ERROR_MEMORY;
    if ((status = abut_bvh_create(mesh, NULL, &t->bvh)) ||
        (status = abut_sign_prepare(t->bvh, &sign)) ||
        (status = abuti_field_new(t->context, &t->field)))
        return status;
    t->field->mesh = abut_mesh_retain(mesh);
    if ((status = abuti_field_set_up(t->bvh, &o, t->field)))
        return status;
    t->field->step = abuti_field_step(t->field);
    if ((status = abuti_field_reserve_index(t->field)))
        return status;
    return abuti_field_on_cpu.begin(t->field, t->bvh, &t->work);
}

/* Runs all steps. Every process takes part in the same exchanges. */
static abut_status run_team(team *t, abut_mesh *mesh, const abut_field_options *options, bool plain,
                            abut_field_info *info) {
    abut_status status = ABUT_OK;
    if (info)
        status = abuti_info_check(info, sizeof *info, "abut_field_write_distributed");
    if (!status)
        status = prepare_team(t, mesh, options);
    if ((status = exchange_status(t, status)) || (status = compute_corners(t)))
        return status;
    status = compute_own_bricks(t);
    if (!status)
        status = compress_own_blocks(t, plain);
    if ((status = exchange_status(t, status)) || (status = write_file(t)))
        return status;
    return info ? write_info(t, info) : ABUT_OK;
}

static abut_status check_team(const abut_mesh *mesh, const abut_field_team *with) {
    if (!mesh || !with)
        return abuti_null("abut_field_write_distributed", mesh ? "team" : "mesh");
    if (!with->gather || !with->write || with->size != sizeof *with || !with->count ||
        with->count > TEAM_MAX || with->rank >= with->count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_field_write_distributed: the team has rank %u of %u processes; it "
                          "must have its size, a rank below the count, gather and write",
                          with->rank, with->count);
    return ABUT_OK;
}

abut_status abut_field_write_distributed(abut_mesh *mesh, const abut_field_options *options,
                                         bool plain, const abut_field_team *with,
                                         abut_field_info *info) {
    abut_status status = check_team(mesh, with);
    if (status)
        return status;
    team t = {.with = with, .context = mesh->context};
    t.sizes = abuti_allocate(t.context, with->count, sizeof *t.sizes);
    t.outcomes = abuti_allocate(t.context, with->count, sizeof *t.outcomes);
    status = t.sizes && t.outcomes ? run_team(&t, mesh, options, plain, info) : ABUT_ERROR_MEMORY;
    if (t.field)
        abuti_field_on_cpu.end(t.field, t.bvh, t.work);
    abut_field_destroy(t.field);
    abut_bvh_destroy(t.bvh);
    for (int s = 0; s < SECTION_COUNT; s++)
        abuti_release(t.context, t.stored[s]);
    ABUTI_RELEASE(t.context, t.sizes, t.outcomes, t.all);
    return status;
}

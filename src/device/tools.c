/* The host's side of scan.cl and sort.cl: how work is cut into groups, and scratch memory. */
#include "device/tools.h"

/* As in the kernels. */
#define GROUP 256
#define SCAN_TILE 4096
#define DIGITS 256
#define DIGIT_BITS 8
#define GROUP_ROOM (GROUP + GROUP / 16)
#define PADDED(count) ((count) + (count) / 32)
/* Counters, room of a scan, two words a digit, 16 KiB of keys. */
#define SORT_BYTES (4 * (PADDED(8 * GROUP) + GROUP_ROOM + 2 * DIGITS + PADDED(4096)))

typedef struct sort_kernels {
    abuti_kernel count, scatter;
} sort_kernels;

struct abuti_tools {
    abut_device *device; /* held */
    abuti_queue *queue;
    uint32_t most_groups; /* that keep the device busy */
    abuti_kernel scan_sums, scan_runs, compact_sums, compact_runs, reduce_words, reduce_parts;
    abuti_kernel segment_owners;
    sort_kernels
        sorts[2]; /* 32 and 64 bits; made when first needed, since they take long to build */
    abuti_buffer sums, total, wide_total, counts, spare_keys, spare_values;
};

static const uint32_t sort_tiles[2] = {4096, 2048};

/* ---- create ---- */

static abut_status make_kernels(abuti_tools *tools) {
    const struct {
        abuti_kernel *kernel;
        const char *name;
    } list[] = {{&tools->scan_sums, "scan_sums"},          {&tools->scan_runs, "scan_runs"},
                {&tools->compact_sums, "compact_sums"},    {&tools->compact_runs, "compact_runs"},
                {&tools->reduce_words, "reduce_words"},    {&tools->reduce_parts, "reduce_parts"},
                {&tools->segment_owners, "segment_owners"}};
    abuti_program *program;
    abut_status status = abuti_program_get(tools->device, "scan", "", &program);
    for (size_t i = 0; !status && i < sizeof list / sizeof *list; i++)
        status = abuti_kernel_create(program, tools->device, list[i].name, list[i].kernel);
    return status;
}

abut_status abuti_tools_create(abuti_queue *queue, abuti_tools **tools) {
    abut_device *device = queue->device;
    abuti_tools *made = abuti_allocate_zeroed(device->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->device = abuti_device_retain(device);
    made->queue = queue;
    /* A GPU holds several groups on a unit, to have others to run while one waits for memory. */
    uint32_t each = device->info.kind == ABUT_DEVICE_KIND_CPU ? 2 : 8;
    uint32_t units = device->info.compute_units < 256 ? device->info.compute_units : 256;
    made->most_groups = units * each;
    abut_status status = make_kernels(made);
    if (!status)
        status = abuti_buffer_create(device, made->most_groups, sizeof(uint64_t), &made->sums);
    if (!status)
        status = abuti_buffer_create(device, 1, sizeof(uint32_t), &made->total);
    if (!status)
        status = abuti_buffer_create(device, 1, sizeof(uint64_t), &made->wide_total);
    if (status) {
        abuti_tools_destroy(made);
        return status;
    }
    *tools = made;
    return ABUT_OK;
}

void abuti_tools_destroy(abuti_tools *tools) {
    if (!tools)
        return;
    abuti_kernel *kernels[] = {&tools->scan_sums,        &tools->scan_runs,
                               &tools->compact_sums,     &tools->compact_runs,
                               &tools->reduce_words,     &tools->reduce_parts,
                               &tools->segment_owners,   &tools->sorts[0].count,
                               &tools->sorts[0].scatter, &tools->sorts[1].count,
                               &tools->sorts[1].scatter};
    abuti_buffer *buffers[] = {&tools->sums,   &tools->total,      &tools->wide_total,
                               &tools->counts, &tools->spare_keys, &tools->spare_values};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        abuti_kernel_destroy(kernels[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
    abut_device *device = tools->device;
    abuti_release(device->context, tools);
    abut_device_destroy(device);
}

/* ---- how work is cut ---- */

typedef struct cut {
    uint32_t groups, run_tiles; /* run_tiles consecutive tiles a group */
} cut;

static cut cut_into(size_t count, uint32_t tile, uint32_t most_groups) {
    uint32_t tiles = (uint32_t)(count / tile + (count % tile != 0));
    uint32_t groups = tiles < most_groups ? tiles : most_groups;
    if (!groups)
        return (cut){1, 0};
    uint32_t run = tiles / groups + (tiles % groups != 0);
    return (cut){tiles / run + (tiles % run != 0), run};
}

static abut_status check_words(const char *what, const abuti_buffer *buffer, size_t count,
                               size_t word_bytes) {
    if (count > ABUTI_TOOLS_MOST)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %zu elements; at most 2^31 fit one call", what,
                          count);
    if (buffer->device && buffer->bytes / word_bytes >= count)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: a buffer of %zu bytes is too small for %zu words",
                      what, buffer->bytes, count);
}

/* ---- scan, compact, reduce ---- */

static abut_status run_scan(abuti_tools *tools, const abuti_kernel *sums, const abuti_kernel *runs,
                            const abuti_buffer *in, abuti_buffer *out, size_t count,
                            abuti_buffer *total, size_t total_at) {
    cut how = cut_into(count, SCAN_TILE, tools->most_groups);
    uint32_t words = (uint32_t)count, at = (uint32_t)total_at;
    abut_status status = ABUT_OK;
    if (how.groups > 1) /* the sums before the first group's run are never read */
        status = ABUTI_LAUNCH(tools->queue, sums, how.groups, GROUP, ABUTI_BUFFER(in),
                              ABUTI_BUFFER(&tools->sums), ABUTI_VALUE(words),
                              ABUTI_VALUE(how.run_tiles), ABUTI_LOCAL_MEMORY(4 * GROUP_ROOM));
    if (status)
        return status;
    return ABUTI_LAUNCH(tools->queue, runs, how.groups, GROUP, ABUTI_BUFFER(in), ABUTI_BUFFER(out),
                        ABUTI_BUFFER(&tools->sums), ABUTI_BUFFER(total), ABUTI_VALUE(at),
                        ABUTI_VALUE(words), ABUTI_VALUE(how.run_tiles),
                        ABUTI_LOCAL_MEMORY(16 * GROUP_ROOM));
}

abut_status abuti_tools_scan(abuti_tools *tools, const abuti_buffer *in, abuti_buffer *out,
                             size_t count, abuti_buffer *total, size_t total_at) {
    abut_status status = check_words("scan", in, count, sizeof(uint32_t));
    if (!status)
        status = check_words("scan", out, count, sizeof(uint32_t));
    if (!status && total)
        status = check_words("scan", total, total_at + 1, sizeof(uint32_t));
    if (status)
        return status;
    return run_scan(tools, &tools->scan_sums, &tools->scan_runs, in, out, count,
                    total ? total : &tools->total, total ? total_at : 0);
}

abut_status abuti_tools_compact(abuti_tools *tools, const abuti_buffer *flags, abuti_buffer *out,
                                size_t count, abuti_buffer *total) {
    abut_status status = check_words("compact", flags, count, sizeof(uint32_t));
    if (!status)
        status = check_words("compact", out, count, sizeof(uint32_t));
    if (!status)
        status = check_words("compact", total, 1, sizeof(uint32_t));
    if (status)
        return status;
    return run_scan(tools, &tools->compact_sums, &tools->compact_runs, flags, out, count, total, 0);
}

abut_status abuti_tools_reduce(abuti_tools *tools, abuti_reduction how, const abuti_buffer *in,
                               size_t count, abuti_buffer *out) {
    abut_status status = check_words("reduce", in, count, sizeof(uint32_t));
    if (!status)
        status = check_words("reduce", out, 1, sizeof(uint64_t));
    if (status)
        return status;
    uint32_t words = (uint32_t)count, which = (uint32_t)how;
    uint32_t groups = cut_into(count, SCAN_TILE, tools->most_groups).groups;
    uint64_t empty = how == ABUTI_REDUCE_MIN ? UINT32_MAX : 0;
    status = ABUTI_LAUNCH(tools->queue, &tools->reduce_words, groups, GROUP, ABUTI_BUFFER(in),
                          ABUTI_BUFFER(&tools->sums), ABUTI_VALUE(words), ABUTI_VALUE(which),
                          ABUTI_VALUE(empty), ABUTI_LOCAL_MEMORY(8 * GROUP));
    if (status)
        return status;
    return ABUTI_LAUNCH(tools->queue, &tools->reduce_parts, 1, GROUP, ABUTI_BUFFER(&tools->sums),
                        ABUTI_BUFFER(out), ABUTI_VALUE(groups), ABUTI_VALUE(which),
                        ABUTI_VALUE(empty), ABUTI_LOCAL_MEMORY(8 * GROUP));
}

/* ---- lists in segments ---- */

abut_status abuti_tools_segments(abuti_tools *tools, const abuti_segments *segments,
                                 abuti_buffer *begin, abuti_buffer *items, uint64_t *total) {
    size_t count = segments->count;
    uint64_t most =
        segments->most && segments->most < ABUTI_TOOLS_MOST ? segments->most : ABUTI_TOOLS_MOST;
    uint64_t sum = 0;
    if (count >= ABUTI_TOOLS_MOST)
        return abuti_fail(ABUT_ERROR_LIMIT, "segments: %zu of them; at most 2^31 fit one call",
                          count);
    abut_status status = abuti_buffer_reserve(tools->device, count + 1, sizeof(uint32_t), begin);
    if (!status && count)
        status = segments->measure(segments->user, begin);
    /* In 64 bits, since the scan's own total wraps around. */
    if (!status)
        status = abuti_tools_reduce(tools, ABUTI_REDUCE_SUM, begin, count, &tools->wide_total);
    if (!status)
        status = abuti_tools_scan(tools, begin, begin, count, begin, count);
    if (!status)
        status = abuti_buffer_download(tools->queue, &tools->wide_total, 0, &sum, sizeof sum);
    if (!status && sum > most)
        status = abuti_fail(ABUT_ERROR_LIMIT, "segments: %llu items; at most %llu fit",
                            (unsigned long long)sum, (unsigned long long)most);
    if (total && (!status || status == ABUT_ERROR_LIMIT))
        *total = sum;
    if (!status)
        status = abuti_buffer_reserve(tools->device, (size_t)sum, segments->item_bytes, items);
    if (!status && sum)
        status = segments->fill(segments->user, begin, items, (uint32_t)sum);
    return status;
}

abut_status abuti_tools_owners(abuti_tools *tools, const abuti_buffer *begin, size_t count,
                               size_t total, abuti_buffer *owners) {
    abut_status status = check_words("owners", begin, count + 1, sizeof(uint32_t));
    if (!status)
        status = check_words("owners", owners, total, sizeof(uint32_t));
    if (!status && total && !count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "owners: %zu items, but no segments", total);
    if (status || !total)
        return status;
    uint32_t segment_count = (uint32_t)count, items = (uint32_t)total;
    return ABUTI_LAUNCH(tools->queue, &tools->segment_owners, (total + GROUP - 1) / GROUP, GROUP,
                        ABUTI_BUFFER(begin), ABUTI_BUFFER(owners), ABUTI_VALUE(segment_count),
                        ABUTI_VALUE(items));
}

/* ---- sort ---- */

static abut_status prepare_sort(abuti_tools *tools, int wide, size_t count, uint32_t groups) {
    sort_kernels *kernels = &tools->sorts[wide];
    abuti_program *program;
    abut_status status = ABUT_OK;
    if (!kernels->scatter.device) {
        status = abuti_program_get(tools->device, "sort", wide ? "-DKEY_BITS=64" : "-DKEY_BITS=32",
                                   &program);
        if (!status && !kernels->count.device)
            status = abuti_kernel_create(program, tools->device, "sort_count", &kernels->count);
        if (!status)
            status = abuti_kernel_create(program, tools->device, "sort_scatter", &kernels->scatter);
    }
    if (!status)
        status = abuti_buffer_reserve(tools->device, (size_t)groups * DIGITS, sizeof(uint32_t),
                                      &tools->counts);
    if (!status)
        status = abuti_buffer_reserve(tools->device, count, wide ? 8 : 4, &tools->spare_keys);
    if (!status)
        status = abuti_buffer_reserve(tools->device, count, sizeof(uint32_t), &tools->spare_values);
    return status;
}

/* One pass over the digit at `shift`. */
static abut_status sort_pass(abuti_tools *tools, int wide, cut how, const abuti_buffer *from[2],
                             abuti_buffer *to[2], uint32_t count, uint32_t shift, uint32_t mask) {
    const sort_kernels *kernels = &tools->sorts[wide];
    abut_status status =
        ABUTI_LAUNCH(tools->queue, &kernels->count, how.groups, GROUP, ABUTI_BUFFER(from[0]),
                     ABUTI_BUFFER(&tools->counts), ABUTI_VALUE(count), ABUTI_VALUE(how.run_tiles),
                     ABUTI_VALUE(shift), ABUTI_VALUE(mask), ABUTI_LOCAL_MEMORY(4 * DIGITS));
    if (!status)
        status = abuti_tools_scan(tools, &tools->counts, &tools->counts,
                                  (size_t)how.groups * DIGITS, NULL, 0);
    if (status)
        return status;
    return ABUTI_LAUNCH(tools->queue, &kernels->scatter, how.groups, GROUP, ABUTI_BUFFER(from[0]),
                        ABUTI_BUFFER(from[1]), ABUTI_BUFFER(to[0]), ABUTI_BUFFER(to[1]),
                        ABUTI_BUFFER(&tools->counts), ABUTI_VALUE(count),
                        ABUTI_VALUE(how.run_tiles), ABUTI_VALUE(shift), ABUTI_VALUE(mask),
                        ABUTI_LOCAL_MEMORY(SORT_BYTES));
}

abut_status abuti_tools_sort(abuti_tools *tools, uint32_t key_bits, abuti_buffer *keys,
                             abuti_buffer *values, size_t count, uint32_t bit_first,
                             uint32_t bit_last) {
    if ((key_bits != 32 && key_bits != 64) || bit_first > bit_last || bit_last > key_bits)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "sort: bits %u to %u of keys of %u bits", bit_first,
                          bit_last, key_bits);
    int wide = key_bits == 64;
    abut_status status = check_words("sort", keys, count, key_bits / 8);
    if (!status)
        status = check_words("sort", values, count, sizeof(uint32_t));
    if (status || count < 2 || bit_first == bit_last)
        return status;
    cut how = cut_into(count, sort_tiles[wide], tools->most_groups);
    status = prepare_sort(tools, wide, count, how.groups);
    abuti_buffer *here[2] = {keys, values};
    abuti_buffer *there[2] = {&tools->spare_keys, &tools->spare_values};
    for (uint32_t shift = bit_first; !status && shift < bit_last; shift += DIGIT_BITS) {
        uint32_t left = bit_last - shift;
        uint32_t mask = left < DIGIT_BITS ? (1u << left) - 1 : DIGITS - 1;
        const abuti_buffer *from[2] = {here[0], here[1]};
        status = sort_pass(tools, wide, how, from, there, (uint32_t)count, shift, mask);
        for (int i = 0; i < 2; i++) {
            abuti_buffer *swap = here[i];
            here[i] = there[i];
            there[i] = swap;
        }
    }
    if (!status && here[0] != keys) { /* an odd number of passes ends in the spare buffers */
        status = abuti_buffer_copy(tools->queue, here[0], keys, count * (key_bits / 8));
        if (!status)
            status = abuti_buffer_copy(tools->queue, here[1], values, count * sizeof(uint32_t));
    }
    return status;
}

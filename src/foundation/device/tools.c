/* Host side of scan.cl and sort.cl: how work is split into work-groups, and scratch memory. */
#include "device/tools.h"

#include "device/kit.h"
#include "device/tools_shared.h"

enum { SCAN_SUMS, SCAN_RUNS, SEGMENT_OWNERS, SORT_COUNT, SORT_SCATTER, KERNELS };

enum { SUMS, TOTAL, COUNTS, SPARE_KEYS, SPARE_VALUES, BUFFERS };

/* The sort is slow to compile and not always needed: kernels are created at their first launch.
 */
static const abuti_kernel_source sources[KERNELS] = {
    [SCAN_SUMS] = {"scan", "scan_sums", NULL},
    [SCAN_RUNS] = {"scan", "scan_runs", NULL},
    [SEGMENT_OWNERS] = {"scan", "segment_owners", NULL},
    [SORT_COUNT] = {"sort", "sort_count", NULL},
    [SORT_SCATTER] = {"sort", "sort_scatter", NULL},
};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

struct abuti_tools {
    abut_device *device; /* referenced */
    abuti_kit kit;
    uint32_t groups_max; /* number of work-groups that keeps the device busy */
};

#define MEMORY(which) KIT_BUFFER(&tools->kit, which)

/* ---- create ---- */

abuti_kit_plan abuti_tools_plan(void) {
    return (abuti_kit_plan){&table, "", SCAN_SUMS};
}

abut_status abuti_tools_create(abuti_queue *queue, abuti_tools **tools) {
    abut_device *device = queue->device;
    abuti_tools *created = abuti_allocate_zeroed(device->context, 1, sizeof *created);
    if (!created)
        return ABUT_ERROR_MEMORY;
    created->device = abuti_device_retain(device);
    /* A GPU keeps several work-groups on a unit, so that others run while one waits for memory. */
    uint32_t each = device->info.kind == ABUT_DEVICE_KIND_CPU ? 2 : 8;
    uint32_t units = device->info.compute_units < 256 ? device->info.compute_units : 256;
    created->groups_max = units * each;
    abut_status status = abuti_kit_open(queue, &table, "", &created->kit);
    if (status)
        abuti_tools_destroy(created);
    else
        *tools = created;
    return status;
}

void abuti_tools_destroy(abuti_tools *tools) {
    if (!tools)
        return;
    abut_device *device = tools->device;
    abuti_kit_close(&tools->kit);
    abuti_release(device->context, tools);
    abut_device_destroy(device);
}

/* ---- splitting work ---- */

typedef struct work_split {
    uint32_t groups, run_tiles; /* run_tiles: consecutive tiles of each work-group */
} work_split;

static work_split split_work(size_t count, uint32_t tile, uint32_t groups_max) {
    uint32_t tiles = (uint32_t)(count / tile + (count % tile != 0));
    uint32_t groups = tiles < groups_max ? tiles : groups_max;
    if (!groups)
        return (work_split){1, 0};
    uint32_t run = tiles / groups + (tiles % groups != 0);
    return (work_split){tiles / run + (tiles % run != 0), run};
}

static void check_words(abuti_tools *tools, const char *what, const abuti_buffer *buffer,
                        size_t count, size_t word_bytes) {
    if (abuti_kit_failed(&tools->kit))
        return;
    if (count > ABUTI_TOOLS_MAX)
        abuti_kit_fail(&tools->kit,
                       abuti_fail(ABUT_ERROR_LIMIT,
                                  "%s: there are %zu elements; the limit of one call is 2^31", what,
                                  count));
    else if (!buffer->device || buffer->bytes / word_bytes < count)
        abuti_kit_fail(&tools->kit,
                       abuti_fail(ABUT_ERROR_ARGUMENT,
                                  "%s: a buffer of %zu bytes is too small for %zu words", what,
                                  buffer->bytes, count));
}

/* ---- scan ---- */

void abuti_tools_scan(abuti_tools *tools, const abuti_buffer *in, abuti_buffer *out, size_t count,
                      abuti_buffer *total, size_t total_at) {
    work_split how = split_work(count, SCAN_TILE, tools->groups_max);
    uint32_t words = (uint32_t)count, at = total ? (uint32_t)total_at : 0;
    check_words(tools, "scan", in, count, sizeof(uint32_t));
    check_words(tools, "scan", out, count, sizeof(uint32_t));
    if (total)
        check_words(tools, "scan", total, total_at + 1, sizeof(uint32_t));
    else
        abuti_kit_reserve(&tools->kit, TOTAL, 1, sizeof(uint32_t));
    const abuti_buffer *to = total ? total : &tools->kit.buffers[TOTAL];
    abuti_kit_reserve(&tools->kit, SUMS, tools->groups_max, sizeof(uint32_t));
    if (how.groups > 1) /* with one group, the sums are never read */
        ABUTI_KIT_GROUPS(&tools->kit, SCAN_SUMS, how.groups, GROUP_ITEMS, ABUTI_BUFFER(in),
                         MEMORY(SUMS), ABUTI_VALUE(words), ABUTI_VALUE(how.run_tiles),
                         ABUTI_LOCAL_MEMORY(4 * GROUP_ROOM));
    ABUTI_KIT_GROUPS(&tools->kit, SCAN_RUNS, how.groups, GROUP_ITEMS, ABUTI_BUFFER(in),
                     ABUTI_BUFFER(out), MEMORY(SUMS), ABUTI_BUFFER(to), ABUTI_VALUE(at),
                     ABUTI_VALUE(words), ABUTI_VALUE(how.run_tiles),
                     ABUTI_LOCAL_MEMORY(16 * GROUP_ROOM));
}

/* ---- segments ---- */

void abuti_tools_owners(abuti_tools *tools, const abuti_buffer *begin, size_t count, size_t total,
                        abuti_buffer *owners) {
    uint32_t segment_count = (uint32_t)count, items = (uint32_t)total;
    check_words(tools, "owners", begin, count + 1, sizeof(uint32_t));
    check_words(tools, "owners", owners, total, sizeof(uint32_t));
    if (total && !count)
        abuti_kit_fail(&tools->kit, abuti_fail(ABUT_ERROR_ARGUMENT,
                                               "owners: %zu items, but no segments", total));
    ABUTI_KIT_RUN(&tools->kit, SEGMENT_OWNERS, total, GROUP_ITEMS, ABUTI_BUFFER(begin),
                  ABUTI_BUFFER(owners), ABUTI_VALUE(segment_count), ABUTI_VALUE(items));
}

/* ---- sort ---- */

/* One pass over the digit at `shift`. */
static void sort_pass(abuti_tools *tools, work_split how, abuti_buffer *const from[2],
                      abuti_buffer *const to[2], uint32_t count, uint32_t shift, uint32_t mask) {
    abuti_kit *kit = &tools->kit;
    abuti_buffer *counts = &kit->buffers[COUNTS];
    ABUTI_KIT_GROUPS(kit, SORT_COUNT, how.groups, GROUP_ITEMS, ABUTI_BUFFER(from[0]),
                     ABUTI_BUFFER(counts), ABUTI_VALUE(count), ABUTI_VALUE(how.run_tiles),
                     ABUTI_VALUE(shift), ABUTI_VALUE(mask), ABUTI_LOCAL_MEMORY(4 * SORT_DIGITS));
    abuti_tools_scan(tools, counts, counts, (size_t)how.groups * SORT_DIGITS, NULL, 0);
    ABUTI_KIT_GROUPS(kit, SORT_SCATTER, how.groups, GROUP_ITEMS, ABUTI_BUFFER(from[0]),
                     ABUTI_BUFFER(from[1]), ABUTI_BUFFER(to[0]), ABUTI_BUFFER(to[1]),
                     ABUTI_BUFFER(counts), ABUTI_VALUE(count), ABUTI_VALUE(how.run_tiles),
                     ABUTI_VALUE(shift), ABUTI_VALUE(mask), ABUTI_LOCAL_MEMORY(4 * SORT_ROOM));
}

void abuti_tools_sort(abuti_tools *tools, abuti_buffer *keys, abuti_buffer *values, size_t count,
                      uint32_t bit_first, uint32_t bit_last) {
    abuti_kit *kit = &tools->kit;
    const size_t bytes = sizeof(uint32_t);
    abuti_buffer *here[2] = {keys, values};
    abuti_buffer *there[2] = {&kit->buffers[SPARE_KEYS], &kit->buffers[SPARE_VALUES]};
    if (bit_first > bit_last || bit_last > 32) {
        abuti_kit_fail(kit,
                       abuti_fail(ABUT_ERROR_ARGUMENT,
                                  "sort: bits %u to %u are not a range of the 32 bits of a key",
                                  bit_first, bit_last));
        return;
    }
    for (int i = 0; i < 2; i++)
        check_words(tools, "sort", here[i], count, bytes);
    if (abuti_kit_failed(kit) || count < 2 || bit_first == bit_last)
        return;
    work_split how = split_work(count, SORT_TILE, tools->groups_max);
    abuti_kit_reserve(kit, COUNTS, (size_t)how.groups * SORT_DIGITS, sizeof(uint32_t));
    abuti_kit_reserve(kit, SPARE_KEYS, count, bytes);
    abuti_kit_reserve(kit, SPARE_VALUES, count, bytes);
    for (uint32_t shift = bit_first; shift < bit_last; shift += SORT_DIGIT_BITS) {
        uint32_t left = bit_last - shift;
        uint32_t mask = left < SORT_DIGIT_BITS ? (1u << left) - 1 : SORT_DIGITS - 1;
        sort_pass(tools, how, here, there, (uint32_t)count, shift, mask);
        for (int i = 0; i < 2; i++) {
            abuti_buffer *swap = here[i];
            here[i] = there[i];
            there[i] = swap;
        }
    }
    for (int i = 0; i < 2 && here[0] != keys;
         i++) /* an odd number of passes ends in the spare buffers */
        abuti_kit_copy(kit, here[i], there[i], count * bytes);
}

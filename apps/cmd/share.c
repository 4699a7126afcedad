/* One run of a command by several processes, as abut-mpi starts them. Each process has the whole
 * input and works on some items; the first one collects all results and prints them. Files and
 * tables are equal, byte for byte, to those of a single process.
 *
 * Items are assigned in chunks: process r has chunks r, r + count, and so on. The cost of an
 * item is not known in advance, but expensive items are often consecutive (bodies in one corner,
 * frames of one fold), so that every process gets some of them.
 *
 * Before results are exchanged, all processes exchange their status; a process that failed
 * earlier does so at its end. All processes therefore make the same number of exchanges, or stop
 * at the same one. */
#include "tool.h"

#include <string.h>

enum { MESSAGE_BYTES = 508 };

typedef struct fate {
    int32_t code;
    char words[MESSAGE_BYTES];
} fate;

typedef struct said {
    uint64_t key;
    int32_t level;
    char words[SHARE_REASON];
} said;

bool share_mine(const tool_run *tool, uint64_t item, uint64_t chunk) {
    return !tool->share || item / chunk % tool->share->count == tool->share->rank;
}

bool share_prints(const tool_run *tool) {
    return !tool->share || tool->share->rank == 0;
}

/* Sends the same number of bytes of each process to all. */
static void *gather_equal(tool_share *share, const void *own, size_t bytes) {
    uint64_t *sizes = tool_alloc(share->count * sizeof *sizes);
    void *all = tool_alloc((uint64_t)share->count * bytes);
    for (uint32_t i = 0; i < share->count; i++)
        sizes[i] = bytes;
    share->gather(share->user, own, sizes, all);
    return all;
}

int share_finish(tool_run *tool, int code) {
    tool_share *share = tool->share;
    if (!share || share->over)
        return code;
    fate own = {.code = code};
    if (tool->complaint)
        snprintf(own.words, sizeof own.words, "%s", text_of(tool->complaint));
    fate *all = gather_equal(share, &own, sizeof own);
    for (uint32_t i = 0; i < share->count && !share->over; i++) {
        share->over = all[i].code != CODE_FINE && all[i].code != CODE_FOUND;
        if (share->over && i && !share->rank) {
            tool_text words = {0};
            text_print(&words, "process %u of %u: %s", i, share->count, all[i].words);
            tool_print_failure(tool, "process failed", text_of(&words), CODE_WORK);
        }
        code = share->over ? all[i].code : code;
    }
    return code;
}

void share_agree(tool_run *tool) {
    int code = share_finish(tool, CODE_FINE);
    if (code)
        tool_end(tool, code);
}

void share_worst(tool_run *tool, abut_reliability *reliability, uint64_t key) {
    tool_share *share = tool->share;
    if (!share)
        return;
    said own = {.key = key, .level = (int32_t)reliability->level};
    snprintf(own.words, sizeof own.words, "%s", reliability->reason ? reliability->reason : "");
    said *all = gather_equal(share, &own, sizeof own), *worst = all;
    for (uint32_t i = 1; i < share->count; i++)
        if (all[i].level > worst->level ||
            (all[i].level == worst->level && all[i].key < worst->key))
            worst = &all[i];
    memcpy(share->reason, worst->words, sizeof share->reason);
    *reliability = (abut_reliability){(abut_reliability_level)worst->level, share->reason};
}

/* Merges lists that are sorted by key. */
static void merge_by_key(const tool_share *share, const uint64_t *counts, const uint64_t *keys,
                         const unsigned char *from, size_t bytes, unsigned char *to) {
    uint64_t *at = tool_alloc(2 * share->count * sizeof *at), *end = at + share->count, total = 0;
    for (uint32_t i = 0; i < share->count; i++) {
        at[i] = total;
        end[i] = total += counts[i];
    }
    for (uint64_t k = 0; k < total; k++) {
        uint32_t next = share->count;
        for (uint32_t i = 0; i < share->count; i++)
            if (at[i] < end[i] && (next == share->count || keys[at[i]] < keys[at[next]]))
                next = i;
        memcpy(to + k * bytes, from + at[next]++ * bytes, bytes);
    }
}

void share_collect(tool_run *tool, void *list, uint64_t *count, size_t bytes,
                   const uint64_t *keys) {
    tool_share *share = tool->share;
    if (!share)
        return;
    void *own;
    memcpy(&own, list, sizeof own);
    uint64_t *counts = gather_equal(share, count, sizeof *count), total = 0;
    uint64_t *sizes = tool_alloc(share->count * sizeof *sizes);
    for (uint32_t i = 0; i < share->count; i++)
        total += counts[i];
    const bool first = share->rank == 0;
    unsigned char *all = first ? tool_alloc(total * bytes) : NULL;
    uint64_t *marks = first ? tool_alloc(total * sizeof *marks) : NULL;
    for (uint32_t i = 0; i < share->count; i++)
        sizes[i] = counts[i] * bytes;
    share->collect(share->user, own, sizes, all);
    for (uint32_t i = 0; i < share->count; i++)
        sizes[i] = counts[i] * sizeof *keys;
    share->collect(share->user, keys, sizes, marks);
    if (first) {
        unsigned char *merged = tool_alloc(total * bytes);
        merge_by_key(share, counts, marks, all, bytes, merged);
        memcpy(list, &merged, sizeof merged);
        *count = total;
    }
}

/* The search of a step on a device: launches, buffers, and repetition if a list is too small.
 *
 * All stages are queued before the results of earlier ones are read: kernels read counts on the
 * device. Lists have the capacity that the last steps needed. Afterwards the counts are read once.
 * If a list was too small, its stage only counted and the later stages did nothing; the search is
 * then repeated with a larger list. Candidates that need too much memory are generated in parts. No
 * candidate is lost.
 *
 * ANY and EARLIEST search an eighth of all pairs of blocks first, spread over the scene, then the
 * others. ANY ends after the first of the two parts that has hits. EARLIEST then searches the step
 * up to the earliest of these hits, with smaller boxes. Both return the earliest hit of the pairs
 * they searched, so that the result is reproducible.
 */
#include "geom/sweep.h"
#include "sweep/device.h"

#include <math.h>

enum {
    SINGLE_SEARCH_PAIRS =
        1 << 16, /* pairs of blocks that a single search handles fast: 0.2 ms on an H200 */
    FIRST_PART_DIVISOR = 8, /* ANY and EARLIEST search 1/8 of the pairs of blocks first */
    KEPT_HITS = 1024,       /* hits that are kept in the modes ANY and EARLIEST */
    MAX_PARTS = 1 << 27, /* more than there are pairs of blocks, so that parts can be halved until
                            they are empty */
    STEPS_MIN = 1000,    /* with this many steps, all observed sweeps ended */
};

enum { ROUNDS = MOTION_ROUNDS };
_Static_assert((int)ROUNDS <= (int)SWEEP_ROUNDS, "each round has counters");

typedef struct device_search {
    abut_sweep *motion;
    motion_device *d;
    const motion_search_options *options;
    sweep_scene scene, whole; /* the searched part, and the whole step */
    sweep_limits limits;
    float reach; /* separation and tolerance, rounded up */
    uint32_t counts[SWEEP_COUNTS];
    uint32_t hits; /* of finished parts */
} device_search;

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- boxes and pairs of blocks ---- */

static void queue_boxes(device_search *s) {
    motion_device *d = s->d;
    const sweep_layout *l = &d->layout;
    size_t features = (size_t)l->first[SWEEP_FACES] + l->count[SWEEP_FACES];
    size_t blocks = (size_t)l->node_first[SWEEP_FACES][0] + l->nodes[SWEEP_FACES][0];
    if (!d->ordered) {
        ABUTI_KIT_RUN(&d->kit, MOTION_KEYS, features, SWEEP_ITEMS, MEMORY(MOTION_LAYOUT),
                      ABUTI_VALUE(s->scene), MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES),
                      MEMORY(MOTION_START), MEMORY(MOTION_END), MEMORY(MOTION_POINTS),
                      MEMORY(MOTION_OWNERS), ABUTI_VALUE(d->owner_bits), MEMORY(MOTION_KEY),
                      MEMORY(MOTION_ORDER));
        abuti_tools_sort(d->tools, &d->memory[MOTION_KEY], &d->memory[MOTION_ORDER], features, 0,
                         32);
    }
    ABUTI_KIT_GROUPS(&d->kit, MOTION_BLOCKS, blocks, SWEEP_BLOCK, MEMORY(MOTION_LAYOUT),
                     ABUTI_VALUE(s->scene), MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES),
                     MEMORY(MOTION_START), MEMORY(MOTION_END), MEMORY(MOTION_ORDER),
                     MEMORY(MOTION_SETS), ABUTI_VALUE(d->sets), MEMORY(MOTION_OWNERS),
                     ABUTI_VALUE(d->owner_bits), MEMORY(MOTION_BOXES), MEMORY(MOTION_NODES),
                     ABUTI_LOCAL_MEMORY(4 * SWEEP_BOX_WORDS));
    for (uint32_t level = 1; level < d->levels; level++)
        ABUTI_KIT_GROUPS(&d->kit, MOTION_LEVEL,
                         l->nodes[SWEEP_EDGES][level] + l->nodes[SWEEP_FACES][level], SWEEP_BLOCK,
                         MEMORY(MOTION_LAYOUT), MEMORY(MOTION_NODES), ABUTI_VALUE(level),
                         ABUTI_LOCAL_MEMORY(4 * SWEEP_BOX_WORDS));
}

static void queue_block_pairs(device_search *s, uint32_t fill) {
    motion_device *d = s->d;
    ABUTI_KIT_GROUPS(&d->kit, MOTION_BLOCK_PAIRS, d->walkers, SWEEP_BLOCK, MEMORY(MOTION_LAYOUT),
                     MEMORY(MOTION_NODES), MEMORY(MOTION_PAIRS_BEGIN), MEMORY(MOTION_PAIRS),
                     ABUTI_VALUE(d->pairs.room), ABUTI_VALUE(fill), MEMORY(MOTION_COUNTS),
                     ABUTI_LOCAL_MEMORY(4 * SWEEP_WALK_WORDS));
}

static void queue_block_search(device_search *s) {
    motion_device *d = s->d;
    abuti_buffer *begin = &d->memory[MOTION_PAIRS_BEGIN];
    queue_block_pairs(s, 0);
    abuti_tools_scan(d->tools, begin, begin, d->walkers, begin, d->walkers);
    queue_block_pairs(s, 1);
}

/* ---- one part ---- */

static void queue_candidates(device_search *s, sweep_part part) {
    motion_device *d = s->d;
    ABUTI_KIT_GROUPS(&d->kit, MOTION_CANDIDATES, d->narrow_groups, SWEEP_BLOCK,
                     MEMORY(MOTION_LAYOUT), ABUTI_VALUE(s->scene), MEMORY(MOTION_BOXES),
                     MEMORY(MOTION_NODES), MEMORY(MOTION_PAIRS), MEMORY(MOTION_PAIRS_BEGIN),
                     ABUTI_VALUE(d->walkers), ABUTI_VALUE(d->pairs.room), ABUTI_VALUE(part),
                     MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES), MEMORY(MOTION_START),
                     MEMORY(MOTION_END), MEMORY(MOTION_OWNERS), ABUTI_VALUE(d->flags),
                     MEMORY(MOTION_TRIED), ABUTI_VALUE(d->tried.room), MEMORY(MOTION_COUNTS),
                     ABUTI_LOCAL_MEMORY(4 * SWEEP_CANDIDATE_WORDS));
}

/* Removes candidates that are free by a separating direction: the direction of half the step for
 * all, then one direction per half step for the others. */
static void queue_filter(device_search *s) {
    motion_device *d = s->d;
    for (uint32_t halves = 0; halves < 2; halves++) {
        const uint32_t from = halves ? SWEEP_COUNT_FILTERED : SWEEP_COUNT_EDGE_EDGE;
        const uint32_t to = halves ? SWEEP_COUNT_OPEN : SWEEP_COUNT_FILTERED;
        const uint32_t room = halves ? d->open.room : d->tried.room;
        ABUTI_KIT_GROUPS(&d->kit, MOTION_FILTER, d->wide_groups, SWEEP_NARROW_GROUP,
                         MEMORY(halves ? MOTION_OPEN_NEXT : MOTION_TRIED), ABUTI_VALUE(room),
                         ABUTI_VALUE(from), ABUTI_VALUE(to), ABUTI_VALUE(halves),
                         MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES), MEMORY(MOTION_START),
                         MEMORY(MOTION_END), ABUTI_VALUE(s->reach),
                         MEMORY(halves ? MOTION_OPEN : MOTION_OPEN_NEXT), ABUTI_VALUE(d->open.room),
                         MEMORY(MOTION_COUNTS), ABUTI_LOCAL_MEMORY(4 * SWEEP_NARROW_WORDS));
    }
}

static void queue_round(device_search *s, uint32_t round, int32_t steps) {
    motion_device *d = s->d;
    uint32_t earliest = s->options->mode != ABUT_SWEEP_ALL;
    ABUTI_KIT_GROUPS(&d->kit, MOTION_MARCH, d->wide_groups, SWEEP_NARROW_GROUP,
                     MEMORY(round % 2 ? MOTION_OPEN_NEXT : MOTION_OPEN),
                     MEMORY(round % 2 ? MOTION_OPEN : MOTION_OPEN_NEXT), ABUTI_VALUE(d->open.room),
                     ABUTI_VALUE(round), ABUTI_VALUE(steps), MEMORY(MOTION_EDGES),
                     MEMORY(MOTION_FACES), MEMORY(MOTION_START), MEMORY(MOTION_END),
                     ABUTI_VALUE(s->limits), ABUTI_VALUE(s->whole), ABUTI_VALUE(earliest),
                     MEMORY(MOTION_HITS), ABUTI_VALUE(d->hits.room), MEMORY(MOTION_COUNTS),
                     ABUTI_LOCAL_MEMORY(4 * SWEEP_NARROW_WORDS));
}

static void write_counts(device_search *s) {
    uint32_t *staged = s->d->report->counts[0];
    memcpy(staged, s->counts, sizeof s->counts);
    abuti_kit_send(&s->d->kit, MOTION_COUNTS, 0, staged, SWEEP_COUNTS, sizeof *staged);
}

/* Waits. On failure, the counts are unchanged and the kit keeps the error. */
static void read_counts(device_search *s) {
    uint32_t *staged = s->d->report->counts[1];
    abut_status status =
        abuti_kit_download(&s->d->kit, MOTION_COUNTS, staged, SWEEP_COUNTS, sizeof *staged);
    abuti_kit_fail(&s->d->kit, status);
    if (status)
        return;
    memcpy(s->counts, staged, sizeof s->counts);
    s->d->is_sending = false;
}

/* Resets the counts for the next part; the latest time of interest is kept. */
static void reset_counts(device_search *s) {
    uint32_t latest = s->counts[SWEEP_COUNT_LATEST];
    memset(s->counts, 0, sizeof s->counts);
    s->counts[SWEEP_COUNT_LATEST] = latest;
    s->counts[SWEEP_COUNT_HITS] = s->hits;
}

static void queue_part(device_search *s, sweep_part part) {
    queue_candidates(s, part);
    queue_filter(s);
    for (uint32_t round = 0; round < ROUNDS; round++)
        queue_round(s, round, s->d->round_steps[round]);
}

/* ---- capacity ---- */

/* Grows a list to `count`, or to its limit. */
static bool grow_list(motion_device *d, abuti_kit_list *list, uint64_t count) {
    bool grown = abuti_kit_grow(&d->kit, list, count < list->limit ? count : list->limit);
    if (list == &d->open && grown)
        abuti_kit_reserve(&d->kit, MOTION_OPEN_NEXT, list->room, list->element_bytes);
    if (abuti_kit_failed(&d->kit)) /* the next search allocates again */
        list->room = 0;
    return grown;
}

/* Capacities of the first search: about what cloth at rest needs. */
static void allocate_lists(motion_device *d) {
    const sweep_layout *l = &d->layout;
    uint64_t features = (uint64_t)l->first[SWEEP_FACES] + l->count[SWEEP_FACES];
    const struct {
        abuti_kit_list *list;
        uint64_t count;
    } first[] = {{&d->pairs, 16 * (uint64_t)d->walkers},
                 {&d->tried, 8 * features},
                 {&d->open, features / 4},
                 {&d->hits, features / 16}};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (!first[i].list->room)
            grow_list(d, first[i].list, first[i].count);
}

/* Grows the lists that were too small. Returns whether the part has to be searched again; if
 * `smaller` is set, with fewer pairs of blocks. */
static bool grow_lists(device_search *s, bool *smaller) {
    motion_device *d = s->d;
    const uint32_t *c = s->counts, hits = c[SWEEP_COUNT_HITS];
    uint64_t tried = (uint64_t)c[SWEEP_COUNT_EDGE_EDGE] + c[SWEEP_COUNT_VERTEX_FACE], open = 0;
    for (int list = 0; list <= ROUNDS + 1; list++) {
        const uint32_t *of = c + SWEEP_COUNT_FILTERED + 2 * list;
        uint64_t here = (uint64_t)of[0] + of[1];
        open = here > open ? here : open;
    }
    bool too_many_hits = hits > d->hits.limit && s->options->mode != ABUT_SWEEP_ALL;
    bool again = tried > d->tried.room || open > d->open.room || hits > d->hits.room;
    *smaller = tried > d->tried.limit || too_many_hits;
    d->hits.kept = s->hits; /* those of parts that are done */
    if (tried > d->tried.room)
        grow_list(d, &d->tried, tried);
    else if (open > d->open.room)
        grow_list(d, &d->open, open);
    else if (!too_many_hits)
        abuti_kit_grow(&d->kit, &d->hits, hits);
    return again;
}

/* Grows the list of pairs of blocks if it was too small, and lists them again. */
static bool grow_pairs(device_search *s) {
    uint64_t total = s->counts[SWEEP_COUNT_BLOCKS], many = s->counts[SWEEP_COUNT_BLOCKS_256];
    if (many > s->d->walkers &&
        (many - s->d->walkers) << 8 > total) /* more than 32 bits can count */
        total = (many - s->d->walkers) << 8;
    bool grown = abuti_kit_grow(&s->d->kit, &s->d->pairs, total);
    if (grown)
        queue_block_pairs(s, 1);
    return grown;
}

/* ---- all parts ---- */

/* Finishes the sweeps that exceeded the limits of all rounds. They are few and run without a limit.
 */
static void finish_rounds(device_search *s) {
    const uint32_t *open = s->counts + SWEEP_COUNT_OPEN + 2 * ROUNDS;
    if (!open[0] && !open[1])
        return;
    queue_round(s, ROUNDS, INT32_MAX);
    read_counts(s);
}

/* Searches a part until all lists were large enough; returns true if it has to be smaller. The
 * counts must be reset on entry. */
static bool search_part(device_search *s, sweep_part part) {
    const abuti_kit *kit = &s->d->kit;
    bool again = true, smaller = false;
    while (again && !smaller && !abuti_kit_failed(kit)) {
        queue_part(s, part);
        read_counts(s);
        if (abuti_kit_failed(kit))
            break;
        again = grow_pairs(s) || grow_lists(s, &smaller);
        if (!again && !abuti_kit_failed(kit)) {
            finish_rounds(s);
            again = grow_lists(s, &smaller);
        }
        if (again && !smaller) {
            reset_counts(s);
            write_counts(s);
        }
    }
    return smaller;
}

/* Keeps the order of features along the curve until 1.5 times as many pairs of blocks overlap as
 * when it was made. */
static void update_order(motion_device *d, uint32_t pairs) {
    if (!d->ordered)
        d->ordered_pairs = pairs;
    d->ordered = pairs / 3 <= d->ordered_pairs / 2 + 64;
}

/* ANY and EARLIEST return one hit: moves the first one in order to index 0. */
static void keep_earliest_hit(device_search *s) {
    abuti_kit *kit = &s->d->kit;
    motion_hit *hits = abuti_allocate(s->motion->context, s->hits, sizeof *hits), *first = hits;
    abuti_kit_fail(kit, hits ? abuti_kit_download(kit, MOTION_HITS, hits, s->hits, sizeof *hits)
                             : ABUT_ERROR_MEMORY);
    for (uint32_t i = 1; i < s->hits && !abuti_kit_failed(kit); i++)
        first = abuti_motion_after(first, &hits[i]) ? &hits[i] : first;
    if (!abuti_kit_failed(kit))
        abuti_kit_write(kit, MOTION_HITS, 0, first, 1, sizeof *first);
    abuti_release(s->motion->context, hits);
    s->hits = 1;
}

/* Adds the results of a part. */
static void add_part_results(device_search *s, abut_sweep_counts *counts) {
    counts->edge_edge += s->counts[SWEEP_COUNT_EDGE_EDGE];
    counts->vertex_face += s->counts[SWEEP_COUNT_VERTEX_FACE];
    s->hits = s->counts[SWEEP_COUNT_HITS];
}

/* Searches part by part, or until a part has a hit; `parts` is then at that part. All remaining
 * pairs follow the first part at once, unless a part has to be halved. */
static void search_parts(device_search *s, abuti_parts *parts, bool until_hit,
                         abut_sweep_counts *counts) {
    abuti_kit *kit = &s->d->kit;
    bool first = true, halved = false;
    while (!abuti_kit_failed(kit) && abuti_parts_next(parts)) {
        if (!first) {
            reset_counts(s);
            write_counts(s);
        }
        first = false;
        const sweep_part part = {.from = (uint32_t)parts->begin,
                                 .to = (uint32_t)(parts->begin + parts->count),
                                 .of = MAX_PARTS,
                                 .mixed = until_hit};
        bool smaller = search_part(s, part);
        if (abuti_kit_failed(kit))
            return;
        if (!smaller)
            add_part_results(s, counts);
        if (!smaller && until_hit && s->hits)
            return;
        if (s->options->mode != ABUT_SWEEP_ALL && s->hits > KEPT_HITS)
            keep_earliest_hit(s);
        double done = (double)(smaller ? parts->begin : parts->begin + parts->count) / MAX_PARTS;
        if (smaller && !abuti_parts_halve(parts))
            abuti_kit_fail(kit,
                           abuti_fail(ABUT_ERROR_LIMIT, "abut_sweep_find: %s has too little memory",
                                      s->d->queue.device->info.name));
        halved |= smaller;
        if (!halved)
            parts->each = parts->total;
        abuti_kit_progress(kit, s->motion->context, "sweep", until_hit ? 0.5 * done : 0.99 * done);
    }
}

/* Searches the whole step or, for ANY and EARLIEST, until a hit. Returns whether the whole step was
 * searched. */
static bool search_step(device_search *s, bool until_hit, abut_sweep_counts *counts) {
    abuti_parts parts =
        abuti_parts_by(MAX_PARTS, until_hit ? MAX_PARTS / FIRST_PART_DIVISOR : MAX_PARTS);
    write_counts(s);
    queue_boxes(s);
    queue_block_search(s);
    search_parts(s, &parts, until_hit, counts);
    return !until_hit || parts.begin + parts.count == parts.total;
}

/* Searches for hits before the earliest known one, with boxes of that part of the step. */
static void search_before(device_search *s, abut_sweep_counts *counts) {
    float latest;
    memcpy(&latest, &s->counts[SWEEP_COUNT_LATEST], sizeof latest);
    reset_counts(s);
    /* Sweeps that end early because of the tolerance or rounding are found, since boxes are
     * enlarged by as much. Sweeps that run out of steps are not. */
    if (s->options->steps >= STEPS_MIN) {
        s->scene.window = latest;
        s->scene.margin += s->options->tolerance;
    }
    search_step(s, false, counts);
}

static sweep_scene make_scene(const abut_sweep *m, const motion_search_options *options) {
    sweep_scene scene = {.margin = options->separation - 0.5 * options->separation, .window = 1};
    for (int axis = 0; axis < 3; axis++)
        scene.origin[axis] = v3_get(m->place.box.lo, axis);
    scene.scale = m->place.extent > 0 ? 1024 / m->place.extent : 0;
    if (!(scene.scale < HUGE_VAL))
        scene.scale = 0;
    return scene;
}

uint32_t abuti_motion_device_search(abut_sweep *motion, const motion_search_options *options,
                                    abut_sweep_counts *counts) {
    motion_device *d = motion->on_device;
    device_search s = {.motion = motion, .d = d, .options = options};
    const float latest = 1;
    /* as on the CPU: no pairs remain */
    if (motion->options.skip_self && (motion->mesh_count == 1 || motion->options.skip_pairs))
        return 0;
    s.scene = s.whole = make_scene(motion, options);
    s.limits = (sweep_limits){options->separation, options->tolerance, 1, options->steps};
    s.reach = abuti_sweep_filter_reach(&s.limits);
    memcpy(&s.counts[SWEEP_COUNT_LATEST], &latest, sizeof latest);
    /* With few pairs of blocks, one search is faster than two. */
    const bool at_once = options->mode == ABUT_SWEEP_EARLIEST && d->ordered_pairs > 0 &&
                         d->ordered_pairs < SINGLE_SEARCH_PAIRS;
    allocate_lists(d);
    const bool done = search_step(&s, !at_once && options->mode != ABUT_SWEEP_ALL, counts);
    if (!abuti_kit_failed(&d->kit))
        update_order(d, s.counts[SWEEP_COUNT_BLOCKS]);
    if (!done && options->mode == ABUT_SWEEP_EARLIEST)
        search_before(&s, counts);
    if (s.hits && options->mode != ABUT_SWEEP_ALL)
        keep_earliest_hit(&s);
    return s.hits;
}

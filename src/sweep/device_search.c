/* The search of a step on a device: what is launched, over which memory, and what happens where
 * memory is too small.
 *
 * All stages are queued without a look at what the ones before found: kernels read counts on the
 * device. Lists have room for what the last steps needed. Afterwards the counts are read once;
 * where a list was too small, its stage only counted, those behind it did nothing, and the search
 * is repeated with more room. Candidates that would take too much memory are made part by part.
 * Nothing is ever dropped.
 *
 * ANY and EARLIEST look at an eighth of all pairs of blocks first, spread over the scene, then at
 * the others. ANY is done with the first of the two that hits. EARLIEST then searches the step up
 * to the earliest of these hits, where boxes are smaller. Both give the earliest hit of what they
 * looked at, so that the answer is the same every time.
 */
#include "geom/sweep.h"
#include "sweep/device.h"

#include <math.h>

enum {
    PAIRS_FEW = 1 << 16, /* that are soon done: 0.2 ms on an H200 */
    SAMPLE = 8,          /* see above */
    HITS_FEW = 1024,     /* that are kept where one is wanted */
    MAX_PARTS = 1 << 27, /* more than there are pairs of blocks: of so many parts one is empty */
    STEPS_MIN = 1000,    /* of a sweep that always gets to the end, for all we saw */
};

enum { ROUNDS = MOTION_ROUNDS };
_Static_assert((int)ROUNDS <= (int)SWEEP_ROUNDS, "each round has its counts");

typedef struct searching {
    abut_sweep *motion;
    motion_device *d;
    const motion_search_options *options;
    sweep_scene scene, whole; /* what is looked at, and with the whole step */
    sweep_limits limits;
    float reach; /* separation and tolerance, rounded up */
    uint32_t counts[SWEEP_COUNTS];
    uint32_t hits; /* of parts that are done */
} searching;

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- clocks ---- */

static void start_clock(searching *s) {
    if (s->d->stage_ms)
        abuti_queue_clock_start(&s->d->queue);
}

static void stop_clock(searching *s, motion_stage stage) {
    double ms = 0;
    if (!s->d->stage_ms)
        return;
    abuti_kit_fail(&s->d->kit, abuti_queue_clock_stop(&s->d->queue, &ms));
    s->d->stage_ms[stage] += ms;
}

/* ---- boxes and pairs of blocks ---- */

static void queue_boxes(searching *s) {
    motion_device *d = s->d;
    const sweep_layout *l = &d->layout;
    size_t features = (size_t)l->first[SWEEP_FACES] + l->count[SWEEP_FACES];
    size_t blocks = (size_t)l->node_first[SWEEP_FACES][0] + l->nodes[SWEEP_FACES][0];
    start_clock(s);
    if (!d->ordered) {
        ABUTI_KIT_RUN(&d->kit, MOTION_KEYS, features, SWEEP_ITEMS, MEMORY(MOTION_LAYOUT),
                      ABUTI_VALUE(s->scene), MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES),
                      MEMORY(MOTION_START), MEMORY(MOTION_END), MEMORY(MOTION_POINTS),
                      MEMORY(MOTION_KEY), MEMORY(MOTION_ORDER));
        abuti_tools_sort(d->tools, 32, &d->memory[MOTION_KEY], &d->memory[MOTION_ORDER], features,
                         0, 32);
    }
    ABUTI_KIT_GROUPS(&d->kit, MOTION_BLOCKS, blocks, SWEEP_BLOCK, MEMORY(MOTION_LAYOUT),
                     ABUTI_VALUE(s->scene), MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES),
                     MEMORY(MOTION_START), MEMORY(MOTION_END), MEMORY(MOTION_ORDER),
                     MEMORY(MOTION_SETS), ABUTI_VALUE(d->sets), MEMORY(MOTION_BOXES),
                     MEMORY(MOTION_NODES), ABUTI_LOCAL_MEMORY(4 * SWEEP_BOX_WORDS));
    for (uint32_t level = 1; level < d->levels; level++)
        ABUTI_KIT_GROUPS(&d->kit, MOTION_LEVEL,
                         l->nodes[SWEEP_EDGES][level] + l->nodes[SWEEP_FACES][level], SWEEP_BLOCK,
                         MEMORY(MOTION_LAYOUT), MEMORY(MOTION_NODES), ABUTI_VALUE(level),
                         ABUTI_LOCAL_MEMORY(4 * SWEEP_BOX_WORDS));
    stop_clock(s, MOTION_STAGE_BOXES);
}

static void queue_walk(searching *s, uint32_t fill) {
    motion_device *d = s->d;
    ABUTI_KIT_GROUPS(&d->kit, MOTION_WALK, d->walkers, SWEEP_BLOCK, MEMORY(MOTION_LAYOUT),
                     MEMORY(MOTION_NODES), MEMORY(MOTION_PAIRS_BEGIN), MEMORY(MOTION_PAIRS),
                     ABUTI_VALUE(d->pairs.room), ABUTI_VALUE(fill), MEMORY(MOTION_COUNTS),
                     ABUTI_LOCAL_MEMORY(4 * SWEEP_WALK_WORDS));
}

static void queue_blocks(searching *s) {
    motion_device *d = s->d;
    abuti_buffer *begin = &d->memory[MOTION_PAIRS_BEGIN];
    start_clock(s);
    queue_walk(s, 0);
    abuti_tools_scan(d->tools, begin, begin, d->walkers, begin, d->walkers);
    queue_walk(s, 1);
    stop_clock(s, MOTION_STAGE_BLOCKS);
}

/* ---- a part ---- */

static void queue_candidates(searching *s, sweep_part part) {
    motion_device *d = s->d;
    start_clock(s);
    ABUTI_KIT_GROUPS(&d->kit, MOTION_CANDIDATES, d->narrow_groups, SWEEP_BLOCK,
                     MEMORY(MOTION_LAYOUT), ABUTI_VALUE(s->scene), MEMORY(MOTION_BOXES),
                     MEMORY(MOTION_NODES), MEMORY(MOTION_PAIRS), MEMORY(MOTION_PAIRS_BEGIN),
                     ABUTI_VALUE(d->walkers), ABUTI_VALUE(d->pairs.room), ABUTI_VALUE(part),
                     MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES), MEMORY(MOTION_START),
                     MEMORY(MOTION_END), MEMORY(MOTION_MESH_OF), ABUTI_VALUE(d->flags),
                     MEMORY(MOTION_TRIED), ABUTI_VALUE(d->tried.room), MEMORY(MOTION_COUNTS),
                     ABUTI_LOCAL_MEMORY(4 * SWEEP_CANDIDATE_WORDS));
    stop_clock(s, MOTION_STAGE_CANDIDATES);
}

/* Candidates to those that are not free at once, in two goes: first all, then what is left. */
static void queue_filter(searching *s) {
    motion_device *d = s->d;
    start_clock(s);
    for (uint32_t halves = 0; halves < 2; halves++) {
        const uint32_t from = halves ? SWEEP_COUNT_LEFT : SWEEP_COUNT_EDGE_EDGE;
        const uint32_t to = halves ? SWEEP_COUNT_OPEN : SWEEP_COUNT_LEFT;
        const uint32_t room = halves ? d->open.room : d->tried.room;
        ABUTI_KIT_GROUPS(&d->kit, MOTION_FILTER, d->wide_groups, SWEEP_NARROW_GROUP,
                         MEMORY(halves ? MOTION_LEFT : MOTION_TRIED), ABUTI_VALUE(room),
                         ABUTI_VALUE(from), ABUTI_VALUE(to), ABUTI_VALUE(halves),
                         MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES), MEMORY(MOTION_START),
                         MEMORY(MOTION_END), ABUTI_VALUE(s->reach),
                         MEMORY(halves ? MOTION_OPEN : MOTION_LEFT), ABUTI_VALUE(d->open.room),
                         MEMORY(MOTION_COUNTS), ABUTI_LOCAL_MEMORY(4 * SWEEP_NARROW_WORDS));
    }
    stop_clock(s, MOTION_STAGE_FILTER);
}

static void queue_round(searching *s, uint32_t round, int32_t steps) {
    motion_device *d = s->d;
    uint32_t earliest = s->options->mode != ABUT_SWEEP_ALL;
    ABUTI_KIT_GROUPS(&d->kit, MOTION_SETTLE, d->wide_groups, SWEEP_NARROW_GROUP,
                     MEMORY(round % 2 ? MOTION_LEFT : MOTION_OPEN),
                     MEMORY(round % 2 ? MOTION_OPEN : MOTION_LEFT), ABUTI_VALUE(d->open.room),
                     ABUTI_VALUE(round), ABUTI_VALUE(steps), MEMORY(MOTION_EDGES),
                     MEMORY(MOTION_FACES), MEMORY(MOTION_START), MEMORY(MOTION_END),
                     ABUTI_VALUE(s->limits), ABUTI_VALUE(s->whole), ABUTI_VALUE(earliest),
                     MEMORY(MOTION_HITS), ABUTI_VALUE(d->hits.room), MEMORY(MOTION_COUNTS),
                     ABUTI_LOCAL_MEMORY(4 * SWEEP_NARROW_WORDS));
}

static void write_counts(searching *s) {
    uint32_t *staged = s->d->report->counts[0];
    memcpy(staged, s->counts, sizeof s->counts);
    abuti_kit_send(&s->d->kit, MOTION_COUNTS, 0, staged, SWEEP_COUNTS, sizeof *staged);
}

/* Waits. They are as they were where something failed, and that sticks again. */
static void read_counts(searching *s) {
    uint32_t *staged = s->d->report->counts[1];
    abut_status status =
        abuti_kit_get(&s->d->kit, MOTION_COUNTS, staged, SWEEP_COUNTS, sizeof *staged);
    abuti_kit_fail(&s->d->kit, status);
    if (status)
        return;
    memcpy(s->counts, staged, sizeof s->counts);
    s->d->is_sending = false;
}

/* Counts at the begin of a part; the latest time of interest stays. */
static void reset_counts(searching *s) {
    uint32_t latest = s->counts[SWEEP_COUNT_LATEST];
    memset(s->counts, 0, sizeof s->counts);
    s->counts[SWEEP_COUNT_LATEST] = latest;
    s->counts[SWEEP_COUNT_HITS] = s->hits;
}

static void queue_part(searching *s, sweep_part part) {
    queue_candidates(s, part);
    queue_filter(s);
    start_clock(s);
    for (uint32_t round = 0; round < ROUNDS; round++)
        queue_round(s, round, s->d->round_steps[round]);
    stop_clock(s, MOTION_STAGE_SETTLE);
}

/* ---- room ---- */

/* Room for so many, or for as many as there may be. */
static bool grow_to(motion_device *d, abuti_kit_list *list, uint64_t count) {
    bool grown = abuti_kit_grow(&d->kit, list, count < list->limit ? count : list->limit);
    if (list == &d->open && grown)
        abuti_kit_reserve(&d->kit, MOTION_LEFT, list->room, list->element_bytes);
    if (abuti_kit_failed(&d->kit)) /* the next search starts anew */
        list->room = 0;
    return grown;
}

/* Room for the first search: what cloth at rest needs, about. */
static void make_room(motion_device *d) {
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
            grow_to(d, first[i].list, first[i].count);
}

/* Grows what was too small: whether the part has to be searched once more; if `smaller`, with fewer
 * pairs of blocks. */
static bool grow(searching *s, bool *smaller) {
    motion_device *d = s->d;
    const uint32_t *c = s->counts, hits = c[SWEEP_COUNT_HITS];
    uint64_t tried = (uint64_t)c[SWEEP_COUNT_EDGE_EDGE] + c[SWEEP_COUNT_VERTEX_FACE], open = 0;
    for (int list = 0; list <= ROUNDS + 1; list++) {
        const uint32_t *of = c + SWEEP_COUNT_LEFT + 2 * list;
        uint64_t here = (uint64_t)of[0] + of[1];
        open = here > open ? here : open;
    }
    bool too_many_hits = hits > d->hits.limit && s->options->mode != ABUT_SWEEP_ALL;
    bool again = tried > d->tried.room || open > d->open.room || hits > d->hits.room;
    *smaller = tried > d->tried.limit || too_many_hits;
    d->hits.kept = s->hits; /* those of parts that are done */
    if (tried > d->tried.room)
        grow_to(d, &d->tried, tried);
    else if (open > d->open.room)
        grow_to(d, &d->open, open);
    else if (!too_many_hits)
        abuti_kit_grow(&d->kit, &d->hits, hits);
    return again;
}

/* More pairs of blocks than there is room for? Then they are listed again. */
static bool grow_pairs(searching *s) {
    uint64_t total = s->counts[SWEEP_COUNT_BLOCKS], many = s->counts[SWEEP_COUNT_MANY];
    if (many > s->d->walkers && (many - s->d->walkers) << 8 > total) /* beyond 32 bits */
        total = (many - s->d->walkers) << 8;
    bool grown = abuti_kit_grow(&s->d->kit, &s->d->pairs, total);
    if (grown)
        queue_walk(s, 1);
    return grown;
}

/* ---- all parts ---- */

/* Sweeps that took longer than all rounds. They are few, and go on to the end. */
static void finish_rounds(searching *s) {
    const uint32_t *open = s->counts + SWEEP_COUNT_OPEN + 2 * ROUNDS;
    if (!open[0] && !open[1])
        return;
    start_clock(s);
    queue_round(s, ROUNDS, INT32_MAX);
    stop_clock(s, MOTION_STAGE_SETTLE);
    read_counts(s);
}

/* Searches a part until all of it had room, or gives that it must be smaller. Counts are in place
 * when it begins. */
static bool search_part(searching *s, sweep_part part) {
    const abuti_kit *kit = &s->d->kit;
    bool again = true, smaller = false;
    while (again && !smaller && !abuti_kit_failed(kit)) {
        queue_part(s, part);
        read_counts(s);
        if (abuti_kit_failed(kit))
            break;
        again = grow_pairs(s) || grow(s, &smaller);
        if (!again && !abuti_kit_failed(kit)) {
            finish_rounds(s);
            again = grow(s, &smaller);
        }
        if (again && !smaller) {
            reset_counts(s);
            write_counts(s);
        }
    }
    return smaller;
}

/* From step to step the order of features along the curve is kept, until half as many pairs of
 * blocks again overlap as when it was made. */
static void judge_order(motion_device *d, uint32_t pairs) {
    if (!d->ordered)
        d->ordered_pairs = pairs;
    d->ordered = pairs / 3 <= d->ordered_pairs / 2 + 64;
}

/* ANY and EARLIEST want one hit only. */
static void keep_first(searching *s) {
    motion_device *d = s->d;
    abuti_kit_reserve(&d->kit, MOTION_HIT_ORDER, 1, sizeof(uint32_t));
    ABUTI_KIT_GROUPS(&d->kit, MOTION_EARLIEST_OF, 1, SWEEP_ITEMS, MEMORY(MOTION_HITS),
                     ABUTI_VALUE(s->hits), MEMORY(MOTION_HIT_ORDER),
                     ABUTI_LOCAL_MEMORY(SWEEP_ITEMS * 12));
    s->hits = 1;
}

/* Takes over what a part has found. */
static void take_over(searching *s, abut_sweep_counts *counts) {
    counts->edge_edge += s->counts[SWEEP_COUNT_EDGE_EDGE];
    counts->vertex_face += s->counts[SWEEP_COUNT_VERTEX_FACE];
    s->hits = s->counts[SWEEP_COUNT_HITS];
}

/* Goes on from part to part, or until something hits; then that was in the part `parts` is at.
 * Behind the first part comes all that is left, until a part has to be halved. */
static void search_parts(searching *s, abuti_parts *parts, bool until_hit,
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
            take_over(s, counts);
        if (!smaller && until_hit && s->hits)
            return;
        if (s->options->mode != ABUT_SWEEP_ALL && s->hits > HITS_FEW)
            keep_first(s);
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

static void queue_broad(searching *s) {
    write_counts(s);
    queue_boxes(s);
    queue_blocks(s);
}

/* ANY and EARLIEST: gives whether all of the step was looked at, and not only until a hit. */
static bool search_until_hit(searching *s, abut_sweep_counts *counts) {
    abuti_parts parts = abuti_parts_by(MAX_PARTS, MAX_PARTS / SAMPLE);
    queue_broad(s);
    search_parts(s, &parts, true, counts);
    return parts.begin + parts.count == parts.total;
}

static void search_all(searching *s, abut_sweep_counts *counts) {
    abuti_parts parts = abuti_parts_by(MAX_PARTS, MAX_PARTS);
    queue_broad(s);
    search_parts(s, &parts, false, counts);
}

/* All that could hit before what is known to: boxes until then are smaller. */
static void search_before(searching *s, abut_sweep_counts *counts) {
    float latest;
    memcpy(&latest, &s->counts[SWEEP_COUNT_LATEST], sizeof latest);
    reset_counts(s);
    /* Sweeps that end early by the tolerance or by rounding are found in boxes that are larger by
     * as much; not so those that are short of steps. */
    if (s->options->steps >= STEPS_MIN) {
        s->scene.window = latest;
        s->scene.margin += s->options->tolerance;
    }
    search_all(s, counts);
}

static sweep_scene scene_of(const abut_sweep *m, const motion_search_options *options) {
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
    searching s = {.motion = motion, .d = d, .options = options};
    const float latest = 1;
    /* as on the CPU: no pairs are left */
    if (motion->options.skip_self && (motion->mesh_count == 1 || motion->options.skip_pairs))
        return 0;
    s.scene = s.whole = scene_of(motion, options);
    s.limits = (sweep_limits){options->separation, options->tolerance, 1, options->steps};
    s.reach = abuti_sweep_filter_reach(&s.limits);
    memcpy(&s.counts[SWEEP_COUNT_LATEST], &latest, sizeof latest);
    if (d->stage_ms)
        memset(d->stage_ms, 0, MOTION_STAGES * sizeof *d->stage_ms);
    /* Where there is little to look at, looking twice does not pay. */
    bool done = true, at_once = options->mode == ABUT_SWEEP_EARLIEST && d->ordered_pairs > 0 &&
                                d->ordered_pairs < PAIRS_FEW;
    make_room(d);
    if (at_once || options->mode == ABUT_SWEEP_ALL)
        search_all(&s, counts);
    else
        done = search_until_hit(&s, counts);
    if (!abuti_kit_failed(&d->kit))
        judge_order(d, s.counts[SWEEP_COUNT_BLOCKS]);
    if (!done && options->mode == ABUT_SWEEP_EARLIEST)
        search_before(&s, counts);
    if (s.hits && options->mode != ABUT_SWEEP_ALL)
        keep_first(&s);
    return s.hits;
}

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

/* As in the kernels. */
enum {
    GROUP = 256,
    NARROW_GROUP = 128,
    WALK_BYTES = 4 * (SWEEP_BLOCK * (SWEEP_BLOCK_LEVELS + 1) + 1),
    CANDIDATES_BYTES = 4 * (22 * SWEEP_BLOCK + SWEEP_BLOCK * SWEEP_BLOCK / 2 + 4),
};

enum {
    PAIRS_FEW = 1 << 16,  /* that are soon done: 0.2 ms on an H200 */
    SAMPLE = 8,           /* see above */
    HITS_FEW = 1024,      /* that are kept where one is wanted */
    PARTS_MOST = 1 << 27, /* more than there are pairs of blocks */
    STEPS_LEAST = 1000,   /* of a sweep that always gets to the end, for all we saw */
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

#define MEMORY(which) ABUTI_BUFFER(&d->memory[which])

/* ---- clocks ---- */

static void start_clock(searching *s) {
    if (s->d->stage_ms)
        abuti_queue_clock_start(&s->d->queue);
}

static abut_status stop_clock(searching *s, motion_stage stage) {
    double ms = 0;
    if (!s->d->stage_ms)
        return ABUT_OK;
    abut_status status = abuti_queue_clock_stop(&s->d->queue, &ms);
    s->d->stage_ms[stage] += ms;
    return status;
}

/* ---- boxes and pairs of blocks ---- */

static abut_status queue_boxes(searching *s) {
    motion_device *d = s->d;
    const sweep_layout *l = &d->layout;
    size_t features = (size_t)l->first[SWEEP_FACES] + l->count[SWEEP_FACES];
    size_t blocks = (size_t)l->node_first[SWEEP_FACES][0] + l->nodes[SWEEP_FACES][0];
    abut_status status = ABUT_OK;
    start_clock(s);
    if (!d->ordered)
        status =
            ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_KEYS], (features + GROUP - 1) / GROUP, GROUP,
                         MEMORY(MOTION_LAYOUT), ABUTI_VALUE(s->scene), MEMORY(MOTION_EDGES),
                         MEMORY(MOTION_FACES), MEMORY(MOTION_START), MEMORY(MOTION_END),
                         MEMORY(MOTION_POINTS), MEMORY(MOTION_KEY), MEMORY(MOTION_ORDER));
    if (!status && !d->ordered)
        status = abuti_tools_sort(d->tools, 32, &d->memory[MOTION_KEY], &d->memory[MOTION_ORDER],
                                  features, 0, 32);
    if (!status)
        status = ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_BLOCKS], blocks, SWEEP_BLOCK,
                              MEMORY(MOTION_LAYOUT), ABUTI_VALUE(s->scene), MEMORY(MOTION_EDGES),
                              MEMORY(MOTION_FACES), MEMORY(MOTION_START), MEMORY(MOTION_END),
                              MEMORY(MOTION_ORDER), MEMORY(MOTION_SETS), ABUTI_VALUE(d->sets),
                              MEMORY(MOTION_BOXES), MEMORY(MOTION_NODES),
                              ABUTI_LOCAL_MEMORY(7 * 4 * SWEEP_BLOCK));
    for (uint32_t level = 1; level < d->levels && !status; level++)
        status = ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_LEVEL],
                              l->nodes[SWEEP_EDGES][level] + l->nodes[SWEEP_FACES][level],
                              SWEEP_BLOCK, MEMORY(MOTION_LAYOUT), MEMORY(MOTION_NODES),
                              ABUTI_VALUE(level), ABUTI_LOCAL_MEMORY(7 * 4 * SWEEP_BLOCK));
    return status ? status : stop_clock(s, MOTION_STAGE_BOXES);
}

static abut_status queue_walk(searching *s, uint32_t fill) {
    motion_device *d = s->d;
    return ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_WALK], d->walkers, SWEEP_BLOCK,
                        MEMORY(MOTION_LAYOUT), MEMORY(MOTION_NODES), MEMORY(MOTION_PAIRS_BEGIN),
                        MEMORY(MOTION_PAIRS), ABUTI_VALUE(d->pairs_room), ABUTI_VALUE(fill),
                        MEMORY(MOTION_COUNTS), ABUTI_LOCAL_MEMORY(WALK_BYTES));
}

static abut_status queue_blocks(searching *s) {
    motion_device *d = s->d;
    abuti_buffer *begin = &d->memory[MOTION_PAIRS_BEGIN];
    start_clock(s);
    abut_status status = queue_walk(s, 0);
    if (!status)
        status = abuti_tools_scan(d->tools, begin, begin, d->walkers, begin, d->walkers);
    status = status ? status : queue_walk(s, 1);
    return status ? status : stop_clock(s, MOTION_STAGE_BLOCKS);
}

/* ---- a part ---- */

static abut_status queue_candidates(searching *s, sweep_part part) {
    motion_device *d = s->d;
    start_clock(s);
    abut_status status =
        ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_CANDIDATES], d->narrow_groups, SWEEP_BLOCK,
                     MEMORY(MOTION_LAYOUT), ABUTI_VALUE(s->scene), MEMORY(MOTION_BOXES),
                     MEMORY(MOTION_NODES), MEMORY(MOTION_PAIRS), MEMORY(MOTION_PAIRS_BEGIN),
                     ABUTI_VALUE(d->walkers), ABUTI_VALUE(d->pairs_room), ABUTI_VALUE(part),
                     MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES), MEMORY(MOTION_START),
                     MEMORY(MOTION_END), MEMORY(MOTION_MESH_OF), ABUTI_VALUE(d->flags),
                     MEMORY(MOTION_TRIED), ABUTI_VALUE(d->tried_room), MEMORY(MOTION_COUNTS),
                     ABUTI_LOCAL_MEMORY(CANDIDATES_BYTES));
    return status ? status : stop_clock(s, MOTION_STAGE_CANDIDATES);
}

/* Candidates to those that are not free at once, in two goes: first all, then what is left. */
static abut_status queue_filter(searching *s) {
    motion_device *d = s->d;
    abut_status status = ABUT_OK;
    start_clock(s);
    for (uint32_t halves = 0; halves < 2 && !status; halves++) {
        const uint32_t from = halves ? SWEEP_COUNT_LEFT : SWEEP_COUNT_EDGE_EDGE;
        const uint32_t to = halves ? SWEEP_COUNT_OPEN : SWEEP_COUNT_LEFT;
        const uint32_t room = halves ? d->open_room : d->tried_room;
        status = ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_FILTER], d->wide_groups, NARROW_GROUP,
                              MEMORY(halves ? MOTION_LEFT : MOTION_TRIED), ABUTI_VALUE(room),
                              ABUTI_VALUE(from), ABUTI_VALUE(to), ABUTI_VALUE(halves),
                              MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES), MEMORY(MOTION_START),
                              MEMORY(MOTION_END), ABUTI_VALUE(s->reach),
                              MEMORY(halves ? MOTION_OPEN : MOTION_LEFT), ABUTI_VALUE(d->open_room),
                              MEMORY(MOTION_COUNTS), ABUTI_LOCAL_MEMORY(8));
    }
    return status ? status : stop_clock(s, MOTION_STAGE_FILTER);
}

static abut_status queue_round(searching *s, uint32_t round, int32_t steps) {
    motion_device *d = s->d;
    motion_memory from = round % 2 ? MOTION_LEFT : MOTION_OPEN;
    motion_memory to = round % 2 ? MOTION_OPEN : MOTION_LEFT;
    uint32_t earliest = s->options->mode != ABUT_SWEEP_ALL;
    return ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_SETTLE], d->wide_groups, NARROW_GROUP,
                        MEMORY(from), MEMORY(to), ABUTI_VALUE(d->open_room), ABUTI_VALUE(round),
                        ABUTI_VALUE(steps), MEMORY(MOTION_EDGES), MEMORY(MOTION_FACES),
                        MEMORY(MOTION_START), MEMORY(MOTION_END), ABUTI_VALUE(s->limits),
                        ABUTI_VALUE(s->whole), ABUTI_VALUE(earliest), MEMORY(MOTION_HITS),
                        ABUTI_VALUE(d->hits_room), MEMORY(MOTION_COUNTS), ABUTI_LOCAL_MEMORY(8));
}

static abut_status write_counts(searching *s) {
    uint32_t *staged = s->d->report->counts[0];
    memcpy(staged, s->counts, sizeof s->counts);
    return abuti_buffer_send(&s->d->queue, &s->d->memory[MOTION_COUNTS], 0, staged,
                             sizeof s->counts);
}

static abut_status read_counts(searching *s) {
    uint32_t *staged = s->d->report->counts[1];
    abut_status status = abuti_buffer_download(&s->d->queue, &s->d->memory[MOTION_COUNTS], 0,
                                               staged, sizeof s->counts);
    if (status)
        return status;
    memcpy(s->counts, staged, sizeof s->counts);
    s->d->is_sending = false;
    return ABUT_OK;
}

/* Counts at the begin of a part; the latest time of interest stays. */
static void reset_counts(searching *s) {
    uint32_t latest = s->counts[SWEEP_COUNT_LATEST];
    memset(s->counts, 0, sizeof s->counts);
    s->counts[SWEEP_COUNT_LATEST] = latest;
    s->counts[SWEEP_COUNT_HITS] = s->hits;
}

static abut_status queue_part(searching *s, sweep_part part) {
    abut_status status = queue_candidates(s, part);
    status = status ? status : queue_filter(s);
    start_clock(s);
    for (uint32_t round = 0; round < ROUNDS && !status; round++)
        status = queue_round(s, round, s->d->round_steps[round]);
    return status ? status : stop_clock(s, MOTION_STAGE_SETTLE);
}

/* ---- room ---- */

static uint32_t with_slack(uint64_t count, uint32_t most) {
    uint64_t room = count + count / 4 + 1024;
    return room < most ? (uint32_t)room : most;
}

static abut_status reserve(motion_device *d, motion_memory which, uint32_t room, size_t bytes) {
    return abuti_buffer_reserve(d->queue.device, room, bytes, &d->memory[which]);
}

/* Room for the first search: what cloth at rest needs, about. */
static abut_status make_room(motion_device *d) {
    const sweep_layout *l = &d->layout;
    uint64_t features = (uint64_t)l->first[SWEEP_FACES] + l->count[SWEEP_FACES];
    if (d->pairs_room)
        return ABUT_OK;
    uint32_t pairs = with_slack(16 * (uint64_t)d->walkers, d->pairs_most);
    uint32_t tried = with_slack(8 * features, d->tried_most);
    uint32_t open = with_slack(features / 4, d->tried_most),
             hits = with_slack(features / 16, d->tried_most);
    abut_status status = reserve(d, MOTION_PAIRS, pairs, 2 * sizeof(uint32_t));
    status = status ? status : reserve(d, MOTION_TRIED, tried, 2 * sizeof(uint32_t));
    status = status ? status : reserve(d, MOTION_OPEN, open, 2 * sizeof(uint32_t));
    status = status ? status : reserve(d, MOTION_LEFT, open, 2 * sizeof(uint32_t));
    status = status ? status : reserve(d, MOTION_HITS, hits, sizeof(sweep_hit));
    if (status)
        return status;
    d->pairs_room = pairs;
    d->tried_room = tried;
    d->open_room = open;
    d->hits_room = hits;
    return ABUT_OK;
}

/* Hits of parts that are done stay. */
static abut_status grow_hits(searching *s, uint64_t wanted) {
    motion_device *d = s->d;
    abuti_buffer more = {0};
    if (wanted > d->hits_most)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_sweep_find: more than %u impacts are too many for %s; leave the "
                          "device null to count them on the CPU",
                          d->hits_most, d->queue.device->info.name);
    uint32_t room = with_slack(wanted, d->hits_most);
    abut_status status = abuti_buffer_create(d->queue.device, room, sizeof(sweep_hit), &more);
    if (!status && s->hits)
        status = abuti_buffer_copy(&d->queue, &d->memory[MOTION_HITS], &more,
                                   s->hits * sizeof(sweep_hit));
    if (status) {
        abuti_buffer_destroy(&more);
        return status;
    }
    abuti_buffer_destroy(&d->memory[MOTION_HITS]);
    d->memory[MOTION_HITS] = more;
    d->hits_room = room;
    return ABUT_OK;
}

/* Grows what was too small. `again`: the part has to be searched once more; `smaller`: with fewer
 * pairs of blocks. */
static abut_status grow(searching *s, bool *again, bool *smaller) {
    motion_device *d = s->d;
    const uint32_t *c = s->counts;
    uint64_t tried = (uint64_t)c[SWEEP_COUNT_EDGE_EDGE] + c[SWEEP_COUNT_VERTEX_FACE], open = 0;
    abut_status status = ABUT_OK;
    for (int list = 0; list <= ROUNDS + 1; list++) {
        const uint32_t *of = c + SWEEP_COUNT_LEFT + 2 * list;
        uint64_t here = (uint64_t)of[0] + of[1];
        open = here > open ? here : open;
    }
    bool too_many_hits = c[SWEEP_COUNT_HITS] > d->hits_most && s->options->mode != ABUT_SWEEP_ALL;
    *smaller = tried > d->tried_most || too_many_hits;
    *again = tried > d->tried_room || open > d->open_room || c[SWEEP_COUNT_HITS] > d->hits_room;
    if (tried > d->tried_room) {
        d->tried_room = 0;
        uint32_t room = with_slack(tried, d->tried_most);
        status = reserve(d, MOTION_TRIED, room, 2 * sizeof(uint32_t));
        d->tried_room = status ? 0 : room;
    } else if (open > d->open_room) {
        uint32_t room = with_slack(open, d->tried_most);
        status = reserve(d, MOTION_OPEN, room, 2 * sizeof(uint32_t));
        status = status ? status : reserve(d, MOTION_LEFT, room, 2 * sizeof(uint32_t));
        d->open_room = status ? 0 : room;
    } else if (c[SWEEP_COUNT_HITS] > d->hits_room && !too_many_hits) {
        status = grow_hits(s, c[SWEEP_COUNT_HITS]);
    }
    if (status) /* the next search starts with new ones */
        d->pairs_room = 0;
    return status;
}

/* More pairs of blocks than there is room for? Then they are listed again. */
static abut_status grow_pairs(searching *s, bool *again) {
    motion_device *d = s->d;
    uint32_t total = s->counts[SWEEP_COUNT_BLOCKS];
    *again = false;
    if (s->counts[SWEEP_COUNT_MANY] > (d->pairs_most >> 8) + d->walkers || total > d->pairs_most)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_sweep_find: on %s at most %u pairs of blocks of 32 features can "
                          "overlap; make the step smaller, or leave the device null to search on "
                          "the CPU",
                          d->queue.device->info.name, d->pairs_most);
    if (total <= d->pairs_room)
        return ABUT_OK;
    *again = true;
    uint32_t room = with_slack(total, d->pairs_most);
    abut_status status = reserve(d, MOTION_PAIRS, room, 2 * sizeof(uint32_t));
    d->pairs_room = status ? 0 : room;
    return status ? status : queue_walk(s, 1);
}

/* ---- all parts ---- */

/* Sweeps that took longer than all rounds. They are few, and go on to the end. */
static abut_status finish_rounds(searching *s) {
    const uint32_t *open = s->counts + SWEEP_COUNT_OPEN + 2 * ROUNDS;
    if (!open[0] && !open[1])
        return ABUT_OK;
    start_clock(s);
    abut_status status = queue_round(s, ROUNDS, INT32_MAX);
    status = status ? status : stop_clock(s, MOTION_STAGE_SETTLE);
    return status ? status : read_counts(s);
}

/* Searches a part until all of it had room. Counts are in place when it begins. */
static abut_status search_part(searching *s, sweep_part part, bool *smaller) {
    bool again = true;
    abut_status status = ABUT_OK;
    *smaller = false;
    while (again && !status) {
        status = queue_part(s, part);
        status = status ? status : read_counts(s);
        status = status ? status : grow_pairs(s, &again);
        if (!status && !again)
            status = grow(s, &again, smaller);
        if (!status && !again) {
            status = finish_rounds(s);
            status = status ? status : grow(s, &again, smaller);
        }
        if (!status && *smaller)
            return ABUT_OK;
        if (!status && again) {
            reset_counts(s);
            status = write_counts(s);
        }
    }
    return status;
}

/* From step to step the order of features along the curve is kept, until half as many pairs of
 * blocks again overlap as when it was made. */
static void judge_order(motion_device *d, uint32_t pairs) {
    if (!d->ordered)
        d->ordered_pairs = pairs;
    d->ordered = pairs / 3 <= d->ordered_pairs / 2 + 64;
}

/* What is left, or, once parts had to be halved, as much again. */
static sweep_part next_part(sweep_part part, bool halved) {
    uint32_t width = part.to - part.from;
    part.from = part.to;
    part.to = halved && part.of - part.from > width ? part.from + width : part.of;
    return part;
}

/* Half of the part. */
static sweep_part half_of(sweep_part part) {
    uint32_t fine = part.to - part.from == 1 ? 2 : 1;
    part.from *= fine;
    part.to *= fine;
    part.of *= fine;
    part.to = part.from + (part.to - part.from) / 2;
    return part;
}

/* ANY and EARLIEST want one hit only. */
static abut_status keep_first(searching *s) {
    motion_device *d = s->d;
    abut_status status = reserve(d, MOTION_HIT_ORDER, 1, sizeof(uint32_t));
    if (!status)
        status = ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_EARLIEST_OF], 1, GROUP,
                              MEMORY(MOTION_HITS), ABUTI_VALUE(s->hits), MEMORY(MOTION_HIT_ORDER),
                              ABUTI_LOCAL_MEMORY(GROUP * 12));
    s->hits = 1;
    return status;
}

/* Goes on from a part to the others, or until something hits; then `part` is where that was. */
static abut_status search_parts(searching *s, sweep_part *part, bool until_hit,
                                abut_sweep_counts *counts) {
    abut_status status = ABUT_OK;
    bool smaller, halved = false;
    while (!status && part->from < part->to) {
        if ((status = search_part(s, *part, &smaller)))
            break;
        if (!smaller) {
            counts->edge_edge += s->counts[SWEEP_COUNT_EDGE_EDGE];
            counts->vertex_face += s->counts[SWEEP_COUNT_VERTEX_FACE];
            s->hits = s->counts[SWEEP_COUNT_HITS];
        }
        if (!smaller && until_hit && s->hits)
            break;
        if (s->options->mode != ABUT_SWEEP_ALL && s->hits > HITS_FEW)
            status = keep_first(s);
        if (smaller && part->of > PARTS_MOST)
            return abuti_fail(ABUT_ERROR_LIMIT, "abut_sweep_find: %s has too little memory",
                              s->d->queue.device->info.name);
        halved |= smaller;
        *part = smaller ? half_of(*part) : next_part(*part, halved);
        if (part->from < part->to && !status) {
            reset_counts(s);
            status = write_counts(s);
        }
        double done = (double)part->from / part->of;
        if (!status)
            status =
                abuti_progress(s->motion->context, "sweep", until_hit ? 0.5 * done : 0.99 * done);
    }
    return status;
}

static abut_status queue_broad(searching *s) {
    abut_status status = write_counts(s);
    status = status ? status : queue_boxes(s);
    return status ? status : queue_blocks(s);
}

/* ANY and EARLIEST: gives whether all of the step was looked at, and not only until a hit. */
static abut_status search_until_hit(searching *s, bool *done, abut_sweep_counts *counts) {
    sweep_part part = {.from = 0, .to = 1, .of = SAMPLE, .mixed = 1};
    abut_status status = queue_broad(s);
    status = status ? status : search_parts(s, &part, true, counts);
    *done = part.to == part.of;
    return status;
}

/* All that could hit before what is known to: boxes until then are smaller. */
static abut_status search_before(searching *s, abut_sweep_counts *counts) {
    sweep_part part = {.from = 0, .to = 1, .of = 1};
    float latest;
    memcpy(&latest, &s->counts[SWEEP_COUNT_LATEST], sizeof latest);
    reset_counts(s);
    /* Sweeps that end early by the tolerance or by rounding are found in boxes that are larger by
     * as much; not so those that are short of steps. */
    if (s->options->steps >= STEPS_LEAST) {
        s->scene.window = latest;
        s->scene.margin += s->options->tolerance;
    }
    abut_status status = queue_broad(s);
    return status ? status : search_parts(s, &part, false, counts);
}

static abut_status search_all(searching *s, abut_sweep_counts *counts) {
    sweep_part part = {.from = 0, .to = 1, .of = 1};
    abut_status status = queue_broad(s);
    return status ? status : search_parts(s, &part, false, counts);
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

abut_status abuti_motion_device_search(abut_sweep *motion, const motion_search_options *options,
                                       uint32_t *hits, abut_sweep_counts *counts) {
    motion_device *d = motion->on_device;
    searching s = {.motion = motion, .d = d, .options = options};
    const float latest = 1;
    /* as on the CPU: no pairs are left */
    if (motion->options.no_self && (motion->mesh_count == 1 || motion->options.no_others))
        return ABUT_OK;
    s.scene = s.whole = scene_of(motion, options);
    s.limits = (sweep_limits){options->separation, options->tolerance, 1, options->steps};
    s.reach = abuti_sweep_filter_reach(&s.limits);
    memcpy(&s.counts[SWEEP_COUNT_LATEST], &latest, sizeof latest);
    if (d->stage_ms)
        memset(d->stage_ms, 0, MOTION_STAGES * sizeof *d->stage_ms);
    /* Where there is little to look at, looking twice does not pay. */
    bool done = true, at_once = options->mode == ABUT_SWEEP_EARLIEST && d->ordered_pairs > 0 &&
                                d->ordered_pairs < PAIRS_FEW;
    abut_status status = make_room(d);
    if (!status)
        status = at_once || options->mode == ABUT_SWEEP_ALL ? search_all(&s, counts)
                                                            : search_until_hit(&s, &done, counts);
    if (!status)
        judge_order(d, s.counts[SWEEP_COUNT_BLOCKS]);
    if (!status && !done && options->mode == ABUT_SWEEP_EARLIEST)
        status = search_before(&s, counts);
    if (!status && s.hits && options->mode != ABUT_SWEEP_ALL)
        status = keep_first(&s);
    *hits = s.hits;
    return status;
}

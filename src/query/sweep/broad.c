/* Sorting, boxes and trees of swept features. See broad.h. */
#include "sweep/motion.h"

#include "base/simd.h"

#include <assert.h>
#include <math.h>

enum {
    VERTICES_PER_TASK = 4096,
    GROUPS_PER_TASK = 128,
    AXIS_BITS = 16,
    OWNER_BITS = 64 - 3 * AXIS_BITS,
    FRAME_SAMPLES = 128
};

/* Bound of converted coordinates, so that infinity only marks unused slots. */
#define FRAME_MAX 0x1p100
/* Sorting doubles to trebles the time of a search that finds an impact soon. Without it boxes grow
 * as the surface deforms. */
enum { SORT_INTERVAL = 16 };

/* ---- create ---- */

static abut_status allocate_tree(abut_context *context, sweep_tree *tree, uint32_t count,
                                 uint32_t corners, size_t *groups) {
    tree->count = count;
    tree->corners = corners;
    tree->which = abuti_allocate(context, count, sizeof *tree->which);
    if (corners > 1)
        tree->corner = abuti_allocate(context, count, corners * sizeof *tree->corner);
    if (!tree->which || (corners > 1 && !tree->corner))
        return ABUT_ERROR_MEMORY;
    uint32_t level = 0, left = count;
    do {
        left = left / SWEEP_GROUP + (left % SWEEP_GROUP != 0);
        assert(level < SWEEP_LEVELS); /* 16^8 groups exceed 32-bit counts */
        tree->group_count[level] = left;
        *groups += left;
        level++;
    } while (left > 1 || level < 2); /* one level above the features at least */
    tree->top = level - 1;
    return ABUT_OK;
}

static void assign_level_memory(sweep_tree *tree, sweep_group **memory, uint32_t **owners) {
    for (uint32_t level = 0; level <= tree->top; level++) {
        tree->groups[level] = *memory;
        *memory += tree->group_count[level];
        if (*owners) {
            tree->owner[level] = *owners;
            *owners += tree->group_count[level];
        }
    }
}

/* Marks the vertices that a face has and returns their number. The others are not part of a
 * surface. */
static uint32_t mark_vertices_of_faces(const abut_sweep *m, uint32_t *place) {
    uint32_t used = 0;
    memset(place, 255, m->vertex_count * sizeof *place); /* ABUT_NONE */
    for (size_t i = 0; i < 3 * (size_t)m->face_count; i++) {
        used += place[m->faces[i]] == ABUT_NONE;
        place[m->faces[i]] = 0;
    }
    return used;
}

abut_status abuti_broad_create(abut_sweep *m) {
    sweep_broad *b = &m->broad;
    abut_context *c = m->context;
    size_t groups = 0;
    b->place = abuti_allocate(c, m->vertex_count, sizeof *b->place);
    if (!b->place)
        return ABUT_ERROR_MEMORY;
    uint32_t used = mark_vertices_of_faces(m, b->place);
    abut_status status;
    if ((status = allocate_tree(c, &b->vertices, used, 1, &groups)) ||
        (status = allocate_tree(c, &b->edges, m->edge_count, 2, &groups)) ||
        (status = allocate_tree(c, &b->faces, m->face_count, 3, &groups)))
        return status;
    b->start = abuti_allocate(c, used, sizeof *b->start);
    b->end = abuti_allocate(c, used, sizeof *b->end);
    b->boxes = abuti_allocate(c, used, 8 * sizeof *b->boxes);
    b->memory = abuti_allocate(c, groups, sizeof *b->memory);
    if (!b->start || !b->end || !b->boxes || !b->memory)
        return ABUT_ERROR_MEMORY;
    if (m->mesh_count > 1 && (m->options.skip_self || m->options.skip_pairs) &&
        !(b->owner = abuti_allocate(c, used, sizeof *b->owner)))
        return ABUT_ERROR_MEMORY;
    if (m->by_owner && !(b->owner_memory = abuti_allocate(c, groups, sizeof *b->owner_memory)))
        return ABUT_ERROR_MEMORY;
    sweep_group *memory = b->memory;
    uint32_t *owners = b->owner_memory;
    assign_level_memory(&b->vertices, &memory, &owners);
    assign_level_memory(&b->edges, &memory, &owners);
    assign_level_memory(&b->faces, &memory, &owners);
    return ABUT_OK;
}

void abuti_broad_destroy(abut_sweep *m) {
    sweep_broad *b = &m->broad;
    abuti_release(m->context, b->set_memory);
    void *owned[] = {b->place,       b->owner,        b->start,        b->end,
                     b->boxes,       b->memory,       b->owner_memory, b->vertices.which,
                     b->edges.which, b->edges.corner, b->faces.which,  b->faces.corner};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        abuti_release(m->context, owned[i]);
}

/* ---- sets ---- */

abut_status abuti_broad_set_sets(abut_sweep *m, const unsigned char *sets) {
    sweep_broad *b = &m->broad;
    sweep_tree *const trees[3] = {&b->vertices, &b->edges, &b->faces};
    size_t groups = 0;
    for (int k = 0; k < 3; k++)
        for (uint32_t level = 0; level <= trees[k]->top; level++)
            groups += trees[k]->group_count[level];
    if (sets && !b->set_memory &&
        !(b->set_memory = abuti_allocate(m->context, groups, sizeof *b->set_memory)))
        return ABUT_ERROR_MEMORY;
    sweep_group_sets *memory = b->set_memory;
    b->sets = sets;
    for (int k = 0; k < 3; k++)
        for (uint32_t level = 0; level <= trees[k]->top; level++) {
            trees[k]->sets[level] = sets ? memory : NULL;
            memory += sets ? trees[k]->group_count[level] : 0;
        }
    return ABUT_OK;
}

static void add_set(sweep_group_sets *to, uint32_t at, unsigned set) {
    to->has[0] |= (uint16_t)((set & 1) << at);
    to->has[1] |= (uint16_t)((set >> 1 & 1) << at);
    to->has[2] |= (uint16_t)((set > 3) << at);
}

static void refit_sets(sweep_tree *tree, const unsigned char *sets) {
    for (uint32_t level = 0; level <= tree->top; level++)
        memset(tree->sets[level], 0, tree->group_count[level] * sizeof *tree->sets[level]);
    for (uint32_t i = 0; i < tree->count; i++)
        add_set(&tree->sets[0][i / SWEEP_GROUP], i % SWEEP_GROUP, sets[tree->which[i]]);
    for (uint32_t level = 1; level <= tree->top; level++)
        for (uint32_t i = 0; i < tree->group_count[level - 1]; i++) {
            const uint16_t *has = tree->sets[level - 1][i].has;
            add_set(&tree->sets[level][i / SWEEP_GROUP], i % SWEEP_GROUP,
                    (has[0] ? 1u : 0u) | (has[1] ? 2u : 0u) | (has[2] ? 4u : 0u));
        }
}

/* ---- coordinate frame of floats: origin and scale of most vertices ---- */

typedef struct frame {
    double origin[3], scale; /* a power of two: most coordinates become at most 1 */
} frame;

static frame choose_frame(const abut_sweep *m) {
    const sweep_broad *b = &m->broad;
    const uint32_t count = b->vertices.count,
                   sampled = count < FRAME_SAMPLES ? count : FRAME_SAMPLES;
    double width = 0;
    frame f;
    for (int axis = 0; axis < 3; axis++) {
        double sorted[FRAME_SAMPLES];
        for (uint32_t i = 0; i < sampled; i++) {
            uint32_t v = m->faces[(size_t)i * (3 * (size_t)m->face_count / sampled)];
            double at = v3_get(m->start[v], axis);
            uint32_t j = i;
            for (; j > 0 && sorted[j - 1] > at; j--)
                sorted[j] = sorted[j - 1];
            sorted[j] = at;
        }
        f.origin[axis] = sorted[sampled / 2];
        width = real_max(width, sorted[sampled - 1 - sampled / 16] - sorted[sampled / 16]);
    }
    int exponent = 0;
    frexp(real_max(width > 0 ? width : m->place.extent, 1e-200), &exponent);
    f.scale = ldexp(1, -exponent);
    return f;
}

static float to_frame(const frame *f, double x, int axis) {
    double at = (x - f->origin[axis]) * f->scale;
    return (float)real_clamp(at, -FRAME_MAX, FRAME_MAX);
}

/* ---- order ---- */

/* Morton code of the middle of a swept vertex, within four widths about the origin of the frame. */
static uint64_t morton_code_of(const frame *f, vec3 start, vec3 end) {
    const double most = (1 << AXIS_BITS) - 1;
    uint32_t at[3];
    for (int axis = 0; axis < 3; axis++) {
        double x = 0.5 * v3_get(start, axis) + 0.5 * v3_get(end, axis);
        x = ((x - f->origin[axis]) * f->scale + 2) / 4;
        at[axis] = (uint32_t)(real_clamp(x, 0, 1) * most);
    }
    return morton_code(at[0], at[1], at[2]);
}

/* Sorts features by their lowest vertex, and equal ones by index. `begin` has one entry more than
 * there are vertices. */
static void sort_by_lowest_vertex(sweep_tree *tree, const uint32_t *features, const uint32_t *place,
                                  uint32_t vertex_count, uint32_t *begin) {
    const uint32_t corners = tree->corners;
    memset(begin, 0, ((size_t)vertex_count + 1) * sizeof *begin);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < tree->count; i++) {
            const uint32_t *of = features + (size_t)corners * i;
            uint32_t lowest = place[of[0]];
            for (uint32_t k = 1; k < corners; k++)
                lowest = place[of[k]] < lowest ? place[of[k]] : lowest;
            if (pass) {
                uint32_t at = begin[lowest]++;
                tree->which[at] = i;
                for (uint32_t k = 0; k < corners; k++)
                    tree->corner[(size_t)corners * at + k] = place[of[k]];
            } else {
                begin[lowest + 1]++;
            }
        }
        for (uint32_t i = 0; !pass && i < vertex_count; i++)
            begin[i + 1] += begin[i];
    }
}

/* Most groups have one owner, since features are sorted by owner first. */
static void set_owners(const sweep_broad *b, sweep_tree *tree) {
    for (uint32_t level = 0; level <= tree->top; level++) {
        const uint32_t below = level ? tree->group_count[level - 1] : tree->count;
        for (uint32_t i = 0; i < below; i++) {
            const uint32_t vertex = tree->corner ? tree->corner[(size_t)tree->corners * i] : i,
                           owner = level ? tree->owner[level - 1][i] : b->owner[vertex];
            uint32_t *to = &tree->owner[level][i / SWEEP_GROUP];
            *to = i % SWEEP_GROUP == 0 || *to == owner ? owner : SWEEP_MIXED;
        }
    }
}

/* The high bits of the sort keys of a mesh. Meshes beyond the range share the last value. */
static uint64_t owner_key(const abut_sweep *m, uint32_t mesh) {
    const uint32_t last = (1u << OWNER_BITS) - 1, owner = m->owners[mesh];
    return m->broad.owner_memory ? (uint64_t)(owner < last ? owner : last) << 3 * AXIS_BITS : 0;
}

static abut_status sort_features(abut_sweep *m, const frame *f) {
    sweep_broad *b = &m->broad;
    const uint32_t count = b->vertices.count;
    sort_key *keys = abuti_allocate(m->context, count, sizeof *keys);
    sort_key *spare = abuti_allocate(m->context, count, sizeof *spare);
    uint32_t *begin = abuti_allocate(m->context, (size_t)count + 1, sizeof *begin);
    abut_status status = keys && spare && begin ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        uint32_t used = 0;
        for (uint32_t k = 0; k < m->mesh_count; k++)
            for (uint32_t i = m->vertex_begin[k]; i < m->vertex_begin[k + 1]; i++)
                if (b->place[i] != ABUT_NONE) {
                    keys[used].key = owner_key(m, k) | morton_code_of(f, m->start[i], m->end[i]);
                    keys[used++].value = i;
                }
        const sort_key *sorted = abuti_sort_by_key(keys, spare, count);
        for (uint32_t i = 0; i < count; i++) {
            b->vertices.which[i] = sorted[i].value;
            b->place[sorted[i].value] = i;
        }
        sort_by_lowest_vertex(&b->edges, m->edges, b->place, count, begin);
        sort_by_lowest_vertex(&b->faces, m->faces, b->place, count, begin);
        for (uint32_t k = 0; b->owner && k < m->mesh_count; k++)
            for (uint32_t i = m->vertex_begin[k]; i < m->vertex_begin[k + 1]; i++)
                if (b->place[i] != ABUT_NONE)
                    b->owner[b->place[i]] = m->owners[k];
        sweep_tree *const trees[3] = {&b->vertices, &b->edges, &b->faces};
        for (int k = 0; b->owner_memory && k < 3; k++)
            set_owners(b, trees[k]);
    }
    ABUTI_RELEASE(m->context, keys, spare, begin);
    return status;
}

/* ---- boxes ---- */

/* The box of a vertex in the step up to a time, enlarged by the margin and by the rounding error:
 * sums by half an ulp each, interpolated positions by 2^-45 of the largest coordinate. The latter
 * covers hits that sweep_pair() reports because rounding hides a gap. */
static box3 swept_box(vec3 start, vec3 end, double to, double margin) {
    if (to < 1) {
        margin += 0x1p-45 * v3_max_abs(v3_max(v3_abs(start), v3_abs(end)));
        end = v3_lerp(start, end, to);
    }
    box3 box = {v3_min(start, end), v3_max(start, end)};
    if (margin > 0) {
        vec3 all = v3(margin, margin, margin);
        box.lo = v3_sub(box.lo, all);
        box.hi = v3_add(box.hi, all);
        box.lo = v3_sub(box.lo, v3_scale(v3_abs(box.lo), 0x1p-52));
        box.hi = v3_add(box.hi, v3_scale(v3_abs(box.hi), 0x1p-52));
    }
    return box;
}

static box3 feature_box(const sweep_sides *sides, const sweep_tree *tree, uint32_t place) {
    const sweep_broad *b = sides->broad;
    box3 box = box_empty();
    for (uint32_t k = 0; k < tree->corners; k++) {
        uint32_t v = tree->corner ? tree->corner[(size_t)tree->corners * place + k] : place;
        box = box_join(box, swept_box(b->start[v], b->end[v], 1, sides->margin));
    }
    return box;
}

bool abuti_broad_overlap(const sweep_sides *sides, uint32_t first, uint32_t second) {
    return box_overlaps(feature_box(sides, sides->first, first),
                        feature_box(sides, sides->second, second));
}

typedef struct refit_task {
    abut_sweep *motion;
    frame frame;
    double to, margin; /* end of the part of the step; of each box */
} refit_task;

static void refit_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    const refit_task *f = data;
    sweep_broad *b = &f->motion->broad;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        uint32_t v = b->vertices.which[i];
        b->start[i] = f->motion->start[v];
        b->end[i] = f->motion->end[v];
        box3 box = swept_box(b->start[i], b->end[i], f->to, f->margin);
        float *to = b->boxes + 8 * i;
        for (int axis = 0; axis < 3; axis++) {
            to[axis] = to_frame(&f->frame, v3_get(box.lo, axis), axis);
            to[4 + axis] = -to_frame(&f->frame, v3_get(box.hi, axis), axis);
        }
        to[3] = to[7] = 0;
    }
}

static void set_box(sweep_group *group, uint32_t at, const float box[8]) {
    for (int axis = 0; axis < 3; axis++) {
        group->lo[axis][at] = box[axis];
        group->hi[axis][at] = -box[4 + axis];
    }
}

static const float empty_box[8] = {INFINITY, INFINITY, INFINITY, 0,
                                   INFINITY, INFINITY, INFINITY, 0};

/* Computes the boxes of the features of a group, and of the group on the level above. */
static void refit_group(const sweep_tree *tree, const float *boxes, uint32_t g) {
    const uint32_t corners = tree->corners;
    sweep_group *group = &tree->groups[0][g];
    box4 whole = box4_load(empty_box);
    float box[8];
    for (uint32_t k = 0; k < SWEEP_GROUP; k++) {
        size_t at = SWEEP_GROUP * (size_t)g + k;
        if (at >= tree->count) {
            set_box(group, k, empty_box);
            continue;
        }
        const uint32_t *corner = tree->corner ? tree->corner + corners * at : NULL;
        box4 one = box4_load(boxes + 8 * (corner ? corner[0] : at));
        for (uint32_t c = 1; c < corners; c++)
            one = box4_join(one, box4_load(boxes + 8 * (size_t)corner[c]));
        whole = box4_join(whole, one);
        box4_store(box, one);
        set_box(group, k, box);
    }
    box4_store(box, whole);
    set_box(&tree->groups[1][g / SWEEP_GROUP], g % SWEEP_GROUP, box);
}

/* Group indices run over all three trees. */
static void refit_groups(void *data, size_t chunk, size_t begin, size_t end) {
    const refit_task *f = data;
    const sweep_broad *b = &f->motion->broad;
    const size_t edges = b->vertices.group_count[0], faces = edges + b->edges.group_count[0];
    (void)chunk;
    for (size_t g = begin; g < end; g++) {
        if (g < edges)
            refit_group(&b->vertices, b->boxes, (uint32_t)g);
        else if (g < faces)
            refit_group(&b->edges, b->boxes, (uint32_t)(g - edges));
        else
            refit_group(&b->faces, b->boxes, (uint32_t)(g - faces));
    }
}

static void clear_unused_slots(sweep_tree *tree, uint32_t level) {
    for (uint32_t i = tree->group_count[level - 1]; i < SWEEP_GROUP * tree->group_count[level]; i++)
        set_box(&tree->groups[level][i / SWEEP_GROUP], i % SWEEP_GROUP, empty_box);
}

static void refit_upper_levels(sweep_tree *tree) {
    clear_unused_slots(tree, 1);
    for (uint32_t level = 2; level <= tree->top; level++) {
        for (uint32_t g = 0; g < tree->group_count[level - 1]; g++) {
            const sweep_group *of = &tree->groups[level - 1][g];
            sweep_group *to = &tree->groups[level][g / SWEEP_GROUP];
            for (int axis = 0; axis < 3; axis++) {
                float lo = of->lo[axis][0], hi = of->hi[axis][0];
                for (int k = 1; k < SWEEP_GROUP; k++) {
                    lo = of->lo[axis][k] < lo ? of->lo[axis][k] : lo;
                    hi = of->hi[axis][k] > hi ? of->hi[axis][k] : hi;
                }
                to->lo[axis][g % SWEEP_GROUP] = lo;
                to->hi[axis][g % SWEEP_GROUP] = hi;
            }
        }
        clear_unused_slots(tree, level);
    }
}

abut_status abuti_broad_fit(abut_sweep *m, double to, double margin) {
    sweep_broad *b = &m->broad;
    refit_task f = {.motion = m, .frame = choose_frame(m), .to = to, .margin = margin};
    const size_t groups =
        (size_t)b->vertices.group_count[0] + b->edges.group_count[0] + b->faces.group_count[0];
    if (!b->age || (to >= 1 && b->age >= SORT_INTERVAL)) {
        abut_status status = sort_features(m, &f.frame);
        if (status)
            return status;
        b->age = 0;
    }
    b->age += to >= 1;
    abuti_parallel_for(m->context, b->vertices.count, VERTICES_PER_TASK, refit_vertices, &f);
    abuti_parallel_for(m->context, groups, GROUPS_PER_TASK, refit_groups, &f);
    refit_upper_levels(&b->vertices);
    refit_upper_levels(&b->edges);
    refit_upper_levels(&b->faces);
    if (b->sets) {
        refit_sets(&b->vertices, b->sets);
        refit_sets(&b->edges, b->sets + m->vertex_count);
        refit_sets(&b->faces, b->sets + m->vertex_count + m->edge_count);
    }
    return ABUT_OK;
}

/* What two solids have in common: volume, centroid, areas, and which kind of meeting it is.
 *
 * Let w be how often the surface of the other body winds around a place. Then, over both surfaces,
 * with outward normals n and from any origin,
 *   volume = 1/3 sum of the integrals of w x . n        first moment = 1/4 of those of w (x . n) x
 * by Gauss. On a triangle x . n is constant, so area and first moment of its inside part are all
 * that is needed; those of triangles that are cut come from cut.c.
 *
 * What w is at a vertex: along an edge it changes at crossings, by one each, so that vertices of
 * cut triangles know it relative to each other. One vertex of each such group is asked exactly
 * (abuti_cut_winding); from vertices where it is not 0 it spreads over the triangles that are not
 * cut. So outside nothing is looked at, and inside each triangle once. Connected parts that nothing
 * cuts ask one vertex each.
 *
 * Where a body faces inwards, its windings count the other way round. All but the last steps have
 * the smaller body as b, in whose frame its own vertices are as exact as they came.
 */
#include "pair/cut.h"

#include <math.h>

#define DONE (ABUT_NONE - 1) /* in the place of a record: what w is there has been told */
#define UNKNOWN INT32_MIN    /* in the place of a winding */
#define TOLERANCE 1e-9       /* of the smaller body */
#define ROUNDING 0x1p-47     /* of the largest coordinate of the poses: turned and shifted */
#define NO_AREA 1e-12        /* of a surface: what sums may be wrong by */
#define NO_VOLUME 0x1p-44    /* of an area times a coordinate: the same */

/* ---- windings at vertices ---- */

/* A forest: the winding at a vertex is that at its parent and `more`; at a root, `more`, or
 * UNKNOWN.
 */
typedef struct tied_vertex {
    uint32_t parent; /* ABUT_NONE: of no triangle that is cut */
    int32_t more;
} tied_vertex;

typedef struct common_sums {
    double volume, area;
    vec3 moment, vector;
} common_sums;

enum {
    PLACED = 256,
    STEPS = 4096 /* triangles between two looks at whether to stop */
};

/* Vertices that were placed lately, each in the place of its lowest bits: from the origin of the
 * integrals. */
typedef struct placed_vertices {
    uint32_t vertex[PLACED]; /* or ABUT_NONE */
    vec3 at[PLACED];
} placed_vertices;

typedef struct common_work {
    vec3 origin; /* of the integrals: somewhere inside */
    tied_vertex *tied[2];
    uint32_t *stack;
    size_t stack_room;
    common_sums sums[2];
    cut_work cut;
    placed_vertices placed;
} common_work;

static uint32_t root_of(tied_vertex *tied, uint32_t v, int32_t *more) {
    *more = 0;
    while (tied[v].parent != v) {
        uint32_t up = tied[v].parent;
        if (tied[up].parent != up) {
            tied[v].more += tied[up].more;
            tied[v].parent = tied[up].parent;
        }
        *more += tied[v].more;
        v = tied[v].parent;
    }
    return v;
}

/* The winding at v is that at u and `jump`. */
static void tie(tied_vertex *tied, uint32_t u, uint32_t v, int32_t jump) {
    int32_t more_u, more_v;
    uint32_t root_u = root_of(tied, u, &more_u), root_v = root_of(tied, v, &more_v);
    if (root_u != root_v)
        tied[root_v] = (tied_vertex){root_u, more_u + jump - more_v};
}

static int32_t winding_of(tied_vertex *tied, uint32_t v) {
    int32_t more;
    uint32_t root = root_of(tied, v, &more);
    return tied[root].more == UNKNOWN ? UNKNOWN : tied[root].more + more;
}

static void set_winding(tied_vertex *tied, uint32_t v, int32_t winding) {
    int32_t more;
    uint32_t root = root_of(tied, v, &more);
    tied[root].more = winding - more;
}

/* Ties the vertices of all triangles that are cut. */
static abut_status tie_vertices(common_work *work, int side) {
    const cut_body *body = &work->cut.body[side];
    uint32_t count = body->bvh->mesh->vertex_count;
    tied_vertex *tied = abuti_allocate(work->cut.context, count, sizeof *tied);
    if (!(work->tied[side] = tied))
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < work->cut.count[side]; i++) {
        const uint32_t *corner = body->shell->corner + 3 * (size_t)work->cut.records[side][i].face;
        for (int k = 0; k < 3; k++)
            tied[corner[k]] = (tied_vertex){corner[k], UNKNOWN};
    }
    for (size_t i = 0; i < work->cut.count[side]; i++) {
        const cut_record *r = &work->cut.records[side][i];
        const uint32_t *corner = body->shell->corner + 3 * (size_t)r->face;
        tie(tied, corner[0], corner[1], r->jump[0]);
        tie(tied, corner[1], corner[2], r->jump[1]);
    }
    return ABUT_OK;
}

/* ---- sums ---- */

static void grow_box(cut_work *cut, vec3 p) {
    cut->box = box_grow(cut->box, m3_apply(&cut->world, p));
}

/* A vertex of a triangle that is not cut. */
static vec3 place_whole(common_work *work, int side, uint32_t vertex) {
    placed_vertices *placed = &work->placed;
    uint32_t slot = vertex % PLACED;
    if (placed->vertex[slot] != vertex) {
        vec3 p = cut_place(&work->cut.body[side], vertex);
        grow_box(&work->cut, p);
        placed->vertex[slot] = vertex;
        placed->at[slot] = v3_sub(p, work->origin);
    }
    return placed->at[slot];
}

/* A triangle that is not cut. */
static void add_whole(common_work *work, int side, const uint32_t *corner, int32_t winding) {
    vec3 p[3];
    for (int k = 0; k < 3; k++)
        p[k] = place_whole(work, side, corner[k]);
    vec3 n = v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0]));
    double six = winding * v3_dot(n, p[0]); /* six times the volume that it makes with the origin */
    common_sums *sum = &work->sums[side];
    sum->area += 0.5 * winding * v3_length(n);
    sum->vector = v3_along(sum->vector, 0.5 * winding, n);
    sum->volume += six / 6;
    sum->moment = v3_along(sum->moment, six / 24, v3_add(v3_add(p[0], p[1]), p[2]));
}

/* One that is, once the windings at its corners are known. */
static void add_record(common_work *work, int side, const cut_record *from,
                       const uint32_t *corner) {
    cut_record r = *from;
    double length = v3_length(r.normal);
    int32_t winding[3];
    for (int k = 0; k < 3; k++) {
        winding[k] = winding_of(work->tied[side], corner[k]);
        if (winding[k])
            grow_box(&work->cut, r.at[k]);
    }
    if (!(length > 0))
        return;
    for (int k = 0; k < 3; k++) {
        int next = k == 2 ? 0 : k + 1;
        if (r.crossed[k] && winding[k])
            cut_add(&r, winding[k], r.at[k], r.stop[k]);
        if (r.crossed[k] && winding[next])
            cut_add(&r, winding[next], r.stop[k], r.at[next]);
        if (!r.crossed[k] && winding[k])
            cut_add(&r, winding[k], r.at[k], r.at[next]);
    }
    common_sums *sum = &work->sums[side];
    double area = r.twice / (2 * length);
    vec3 apex = v3_sub(r.apex, work->origin), normal = v3_scale(r.normal, 1 / length);
    double height = v3_dot(normal, apex);
    sum->area += area;
    sum->vector = v3_along(sum->vector, area, normal);
    sum->volume += height * area / 3;
    sum->moment = v3_along(sum->moment, height / 4,
                           v3_along(v3_scale(apex, area), 1 / (6 * length), r.moment));
}

/* ---- spreading ---- */

static abut_status push(common_work *work, size_t *used, uint32_t face) {
    abut_status status = ABUT_OK;
    if (*used == work->stack_room)
        status = abuti_grow(work->cut.context, &work->stack, *used, *used + 64, sizeof *work->stack,
                            &work->stack_room);
    if (!status)
        work->stack[(*used)++] = face;
    return status;
}

/* The faces across an edge of one, among them perhaps itself. */
static uint32_t faces_across(const pair_shell *shell, uint32_t face, int edge,
                             const uint32_t **faces) {
    *faces = shell->view.neighbours + 3 * (size_t)face + edge;
    if (**faces != ABUT_NONE)
        return 1;
    return abuti_edge_faces(&shell->view,
                            shell->view.triangle_edges[3 * (size_t)face + (size_t)edge], faces);
}

/* From a triangle that is not cut to all that are joined to it. */
static abut_status spread(common_work *work, int side, uint32_t face, int32_t winding) {
    const pair_shell *shell = work->cut.body[side].shell;
    uint32_t *record_of = work->cut.record_of[side];
    size_t used = 0;
    uint32_t steps = 0;
    abut_status status = push(work, &used, face);
    record_of[face] = DONE;
    while (used && !status) {
        if (++steps % STEPS == 0 && abuti_stop(work->cut.context, "pairs"))
            return abuti_stop_status("pairs");
        uint32_t here = work->stack[--used];
        const uint32_t *corner = shell->corner + 3 * (size_t)here, *faces;
        add_whole(work, side, corner, winding);
        for (int k = 0; k < 3; k++) {
            uint32_t count = faces_across(shell, here, k, &faces);
            for (uint32_t i = 0; i < count && !status; i++) {
                uint32_t *record = &record_of[faces[i]];
                if (*record == ABUT_NONE) {
                    *record = DONE;
                    status = push(work, &used, faces[i]);
                } else if (*record != DONE) {
                    set_winding(work->tied[side], corner[k], winding);
                }
            }
        }
    }
    return status;
}

/* From the edges of a triangle that is cut. */
static abut_status spread_from(common_work *work, int side, const cut_record *r) {
    const pair_shell *shell = work->cut.body[side].shell;
    const uint32_t *corner = shell->corner + 3 * (size_t)r->face;
    tied_vertex *tied = work->tied[side];
    abut_status status = ABUT_OK;
    if (winding_of(tied, corner[0]) == UNKNOWN)
        set_winding(tied, corner[0], abuti_cut_winding(&work->cut, !side, r->at[0]));
    for (int k = 0; k < 3; k++) {
        const uint32_t *faces;
        int32_t winding = winding_of(tied, corner[k]);
        if (r->crossed[k] || !winding)
            continue;
        uint32_t count =
            abuti_edge_faces(&shell->view,
                             shell->view.triangle_edges[3 * (size_t)r->face + (size_t)k], &faces);
        for (uint32_t i = 0; i < count && !status; i++)
            if (work->cut.record_of[side][faces[i]] == ABUT_NONE)
                status = spread(work, side, faces[i], winding);
    }
    return status;
}

/* Connected parts that nothing cuts. */
static abut_status spread_parts(common_work *work, int side) {
    const cut_body *body = &work->cut.body[side];
    const pair_shell *shell = body->shell;
    uint32_t count = shell->view.component_count, all_cut = 0;
    unsigned char *is_cut = abuti_allocate_zeroed(work->cut.context, count, 1);
    abut_status status = is_cut ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < work->cut.count[side] && !status && all_cut < count; i++) {
        uint32_t part = shell->view.triangle_component[work->cut.records[side][i].face];
        all_cut += !is_cut[part];
        is_cut[part] = 1;
    }
    for (uint32_t part = 0; part < count && !status && all_cut < count; part++) {
        uint32_t face = shell->part_face[part];
        const uint32_t *corner = shell->corner + 3 * (size_t)face;
        if (is_cut[part] || abuti_is_collapsed(corner))
            continue;
        vec3 p = cut_place(body, corner[0]);
        int32_t winding = abuti_cut_winding(&work->cut, !side, p);
        if (winding)
            status = spread(work, side, face, winding);
    }
    abuti_release(work->cut.context, is_cut);
    return status;
}

static abut_status add_side(common_work *work, int side) {
    const pair_shell *shell = work->cut.body[side].shell;
    memset(work->placed.vertex, 0xff, sizeof work->placed.vertex);
    abut_status status = tie_vertices(work, side);
    for (size_t i = 0; i < work->cut.count[side] && !status; i++)
        status = spread_from(work, side, &work->cut.records[side][i]);
    status = status ? status : spread_parts(work, side);
    for (size_t i = 0; i < work->cut.count[side] && !status; i++) {
        const cut_record *r = &work->cut.records[side][i];
        add_record(work, side, r, shell->corner + 3 * (size_t)r->face);
    }
    return status;
}

/* ---- the frame ---- */

static bool same_rotation(const abut_quat *a, const abut_quat *b) {
    return a->x == b->x && a->y == b->y && a->z == b->z && a->w == b->w;
}

/* Puts both bodies into the frame; gives where the first is, seen from the second. */
static abut_pose set_bodies(common_work *work, const abut_posed *a, const abut_posed *b,
                            double unit) {
    const abut_posed *posed[2] = {a, b};
    abuti_motion motion[2];
    for (int side = 0; side < 2; side++) {
        cut_body *body = &work->cut.body[side];
        motion[side] = abuti_motion_of(&posed[side]->pose);
        body->bvh = posed[side]->bvh;
        body->unit = unit;
        body->facing = body->shell->volume < 0 ? -1 : 1;
    }
    cut_body *body = &work->cut.body[0];
    mat3 back = m3_transpose(&motion[1].rotation), turn = m3_multiply(&back, &motion[0].rotation);
    if (same_rotation(&a->pose.rotation, &b->pose.rotation))
        turn = (mat3){{v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)}};
    abut_pose from_b = {quat_multiply(quat_conjugate(quat_normalise(b->pose.rotation)),
                                      quat_normalise(a->pose.rotation)),
                        m3_apply(&back, v3_sub(a->pose.translation, b->pose.translation))};
    body->turns = true;
    for (int i = 0; i < 3; i++)
        body->turn.row[i] = v3_scale(turn.row[i], unit);
    body->shift = v3_scale(v3_sub(v3_add(m3_apply(&turn, a->bvh->mesh->origin), from_b.translation),
                                  b->bvh->mesh->origin),
                           unit);
    work->cut.world = motion[1].rotation;
    return from_b;
}

static double size_of(const abut_bvh *bvh) {
    return v3_max_abs(v3_sub(bvh->mesh->bounds.hi, bvh->mesh->bounds.lo));
}

/* ---- answers ---- */

/* From the frame to the world. */
typedef struct common_frame {
    abuti_motion motion; /* of b */
    vec3 origin;         /* of b's mesh */
    double length;       /* of a unit */
    bool swapped;        /* the caller's a is b */
} common_frame;

static vec3 to_world(const common_frame *frame, vec3 p) {
    return abuti_motion_apply(&frame->motion, v3_along(frame->origin, frame->length, p));
}

static vec3 turn_to_world(const common_frame *frame, vec3 v, double scale) {
    return v3_scale(m3_apply(&frame->motion.rotation, v), scale);
}

/* A box along the world's axes. */
static abut_box box_to_world(const common_frame *frame, box3 box) {
    vec3 at = abuti_motion_apply(&frame->motion, frame->origin);
    return (abut_box){v3_along(at, frame->length, box.lo), v3_along(at, frame->length, box.hi)};
}

/* Whether all of a surface is inside the other or on it. `area` is of what is. */
static bool is_covered(const common_work *work, int side, double area) {
    const cut_body *body = &work->cut.body[side];
    double unit = body->unit / body->bvh->scale, whole = body->shell->area * unit * unit;
    return area > 0 &&
           whole - area <= NO_AREA * whole + 4 * work->cut.tolerance * work->cut.flush.rim;
}

/* Where no volume is: a touch, if anything, and where that is. */
static abut_status answer_touch(const common_work *work, const common_frame *frame,
                                const abut_posed posed[2], abut_common *common) {
    const cut_flush *flush = &work->cut.flush;
    double square = frame->length * frame->length, gap = work->cut.tolerance * frame->length;
    common->kind = ABUT_COMMON_TOUCH;
    if (flush->area[0] > 0) {
        common->flush_area = flush->area[0] * square;
        common->vector = turn_to_world(frame, flush->vector, frame->swapped ? -square : square);
        common->centroid = to_world(frame, v3_scale(flush->moment, 1 / flush->area[0]));
        common->box = box_to_world(frame, flush->box);
        return ABUT_OK;
    }
    bool near;
    unsigned doubt = 0;
    abut_separation found;
    abut_status status = abuti_pair_within(&posed[0], &posed[1], gap, true, NULL, &near, &doubt);
    if (!status && near)
        status = abuti_pair_distance(&posed[0], &posed[1], true, NULL, &found);
    if (status)
        return status;
    common->kind = near ? ABUT_COMMON_TOUCH : ABUT_COMMON_APART;
    if (near) {
        vec3 middle = v3_lerp(found.point_a, found.point_b, 0.5);
        common->centroid = abuti_motion_apply(&frame->motion, middle);
        common->box = (abut_box){common->centroid, common->centroid};
    }
    return ABUT_OK;
}

/* Whether a closed surface holds nothing, as a sheet with two sides. */
static bool is_empty(const cut_body *body) {
    return fabs(body->shell->volume) <=
           NO_VOLUME * body->shell->area * size_of(body->bvh) * body->bvh->scale;
}

/* Which kind of volume it is. */
static abut_pair_common_kind kind_of(const common_work *work, const double area[2], bool swapped) {
    double shared = work->cut.flush.area[1];
    /* Less than nothing is inside where a surface cuts itself. */
    bool covered[2] = {is_covered(work, 0, real_max(area[0], 0) + shared),
                       is_covered(work, 1, real_max(area[1], 0) + shared)};
    if (covered[0] && covered[1])
        return ABUT_COMMON_SAME;
    return covered[swapped]    ? ABUT_COMMON_A_INSIDE
           : covered[!swapped] ? ABUT_COMMON_B_INSIDE
                               : ABUT_COMMON_OVERLAP;
}

static abut_status answer(const common_work *work, const common_frame *frame,
                          const abut_posed posed[2], abut_common *common) {
    const cut_work *cut = &work->cut;
    const cut_flush *flush = &cut->flush;
    const common_sums *sums = work->sums;
    double sign = cut->body[0].facing * cut->body[1].facing, square = frame->length * frame->length;
    double volume = sign * (sums[0].volume + sums[1].volume), shared = flush->area[1];
    double area[2] = {cut->body[1].facing * sums[0].area - flush->inside[0],
                      cut->body[0].facing * sums[1].area - flush->inside[1]};
    double all = fabs(area[0]) + fabs(area[1]) + shared;
    double largest = real_max(v3_max_abs(cut->box.lo), v3_max_abs(cut->box.hi));
    double least = cut->tolerance * all + 2 * flush->depth * flush->area[0] +
                   NO_VOLUME * largest * (all + flush->area[0]);
    bool thin = !(volume > least) || is_empty(&cut->body[0]) || is_empty(&cut->body[1]);
    int a = frame->swapped; /* the caller's */
    common->kind = kind_of(work, area, frame->swapped);
    if (thin && common->kind == ABUT_COMMON_OVERLAP)
        return answer_touch(work, frame, posed, common);
    common->volume = thin ? 0 : volume * square * frame->length;
    common->area_a = real_max(area[a], 0) * square;
    common->area_b = real_max(area[!a], 0) * square;
    common->shared_area = shared * square;
    common->flush_area = flush->area[0] * square;
    common->area = common->area_a + common->area_b + common->shared_area;
    common->vector =
        turn_to_world(frame, v3_sub(v3_scale(sums[a].vector, sign), flush->inside_vector[a]),
                      square);
    common->box = box_to_world(frame, box_join(cut->box, flush->box));
    common->centroid = thin ? box_centre(common->box)
                            : to_world(frame, v3_along(work->origin, sign / volume,
                                                       v3_add(sums[0].moment, sums[1].moment)));
    return ABUT_OK;
}

static abut_advice advice_of(const common_work *work, bool swapped) {
    bool in_a = work->cut.body[swapped].facing < 0, in_b = work->cut.body[!swapped].facing < 0;
    if (in_a || in_b)
        return abuti_guaranteed(in_a && in_b
                                    ? "Both meshes face inwards and were taken the other way round."
                                : in_a ? "A faces inwards and was taken the other way round."
                                       : "B faces inwards and was taken the other way round.");
    return abuti_guaranteed("Both surfaces are closed: the answer is exact but for rounding, where "
                            "neither cuts itself.");
}

/* Of surfaces with a border: no more than whether they touch. */
static abut_status answer_open(const pair_shell *const shell[2], const abut_posed *a,
                               const abut_posed *b, abut_common *common) {
    static const abut_pair_common_kind kinds[] = {ABUT_COMMON_APART, ABUT_COMMON_OVERLAP,
                                                  ABUT_COMMON_A_INSIDE, ABUT_COMMON_B_INSIDE};
    abut_pair_relation relation;
    unsigned doubt = 0;
    abut_status status = abuti_pair_overlap(a, b, false, NULL, &relation, &doubt);
    if (status)
        return status;
    common->kind = kinds[relation];
    bool flipped = shell[0]->flipped || shell[1]->flipped, both = shell[0]->open && shell[1]->open;
    common->advice = abuti_unfit(
        flipped ? "Neighbouring triangles of a mesh face opposite ways, so it bounds no solid and "
                  "nothing is measured: orient the mesh first."
        : both  ? "Both meshes have a border, so they bound no solid and nothing is measured: "
                  "close them."
        : shell[0]->open
            ? "A has a border, so it bounds no solid and nothing is measured: close it."
            : "B has a border, so it bounds no solid and nothing is measured: close it.");
    return ABUT_OK;
}

/* ---- public ---- */

static abut_status measure(common_work *work, const abut_posed *a, const abut_posed *b,
                           double tolerance, bool swapped, abut_common *common) {
    pair_frame frame;
    double unit = real_min(a->bvh->scale, b->bvh->scale);
    abut_posed posed[2] = {{a->bvh, set_bodies(work, a, b, unit)}, {.bvh = b->bvh}};
    abuti_pair_start(&posed[0], &posed[1], &frame);
    double largest =
        real_max(v3_max_abs(a->pose.translation), v3_max_abs(b->pose.translation)) * unit;
    work->cut.tolerance = tolerance > 0
                              ? tolerance * unit
                              : real_max(TOLERANCE * size_of(b->bvh) * unit, ROUNDING * largest);
    frame.pad += (float)(2 * work->cut.tolerance);
    abuti_cut_find(&work->cut, &frame);
    abut_status status = work->cut.status;
    if (!status)
        work->origin = work->cut.count[0]
                           ? work->cut.records[0][0].apex
                           : cut_place(&work->cut.body[1], work->cut.body[1].shell->corner[0]);
    for (int side = 0; side < 2 && !status; side++)
        status = add_side(work, side);
    common_frame to = {abuti_motion_of(&b->pose), b->bvh->mesh->origin, 1 / unit, swapped};
    common->advice = advice_of(work, swapped);
    return status ? status : answer(work, &to, posed, common);
}

abut_status abut_pair_common(const abut_posed *a, const abut_posed *b,
                             const abut_pair_common_options *options, abut_common *common) {
    abut_pair_common_options ours = abut_pair_common_options_default();
    abut_status status = abuti_pair_check(__func__, a, b, common, "common");
    status = status ? status : abuti_options_read(&ours, sizeof ours, options, __func__);
    status = status ? status : abuti_check_length(__func__, "options->tolerance", ours.tolerance);
    if (status)
        return status;
    common_work work;
    memset(&work, 0, offsetof(common_work, cut.leaves)); /* what follows is large and set later */
    const pair_shell *shell[2];
    abut_common found;
    memset(&found, 0, sizeof found);
    work.cut.context = a->bvh->context;
    abut_posed ours_a = *a, ours_b = *b;
    status = abuti_bvh_cpu_tree(a->bvh, &ours_a.bvh);
    status = status ? status : abuti_bvh_cpu_tree(b->bvh, &ours_b.bvh);
    a = &ours_a;
    b = &ours_b;
    status = status ? status : abuti_pair_shell(a->bvh, &shell[0]);
    status = status ? status : abuti_pair_shell(b->bvh, &shell[1]);
    if (!status && (shell[0]->open || shell[1]->open)) {
        status = answer_open(shell, a, b, &found);
    } else if (!status) {
        bool swapped = size_of(b->bvh) > size_of(a->bvh);
        work.cut.body[swapped].shell = shell[0];
        work.cut.body[!swapped].shell = shell[1];
        status = measure(&work, swapped ? b : a, swapped ? a : b, ours.tolerance, swapped, &found);
    }
    if (!status)
        *common = found;
    abut_context *context = work.cut.context;
    for (int side = 0; side < 2; side++)
        ABUTI_RELEASE(context, work.cut.records[side], work.cut.record_of[side], work.tied[side]);
    abuti_release(context, work.stack);
    return status;
}

const char *abut_pair_common_kind_name(abut_pair_common_kind kind) {
    static const char *const names[] = {"apart",    "touch",    "overlap",
                                        "a-inside", "b-inside", "same"};
    return ABUTI_NAME(names, kind);
}

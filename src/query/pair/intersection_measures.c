/* The intersection of two solids: volume, centroid, areas, and the kind of intersection.
 *
 * Let w be the winding number of the surface of the other body. With outward normals n and any
 * origin, over both surfaces, by the divergence theorem:
 *   volume = 1/3 sum of the integrals of w x . n        first moment = 1/4 of those of w (x . n) x
 * On a triangle x . n is constant, so area and first moment of its part inside are sufficient.
 *
 * The part of a crossed triangle that is inside, weighted by the winding number of the other
 * surface, has a boundary of contour segments (contour.c), of pieces of its edges between
 * crossings, and of whole edges. Area and first moment of that part are sums over boundary pieces
 * in any order: nothing is sorted, and no polygon is built. Pieces begin and end near the contour
 * if possible, so that small parts of large triangles are as accurate as the coordinates of
 * crossings.
 *
 * The value of w at a vertex: along an edge it changes by one at each crossing, so the vertices of
 * crossed triangles are linked by known differences. For one vertex of each linked group w is
 * computed exactly (abuti_contour_winding). From vertices where it is not 0 it spreads over the
 * triangles that are not crossed. So triangles outside are not visited, and triangles inside once.
 * For each component without a crossing, w is computed at one vertex.
 *
 * If a body faces inwards, its winding numbers are negated. All steps except the last have the
 * smaller body as b, whose vertices are exact in the frame.
 */
#include "pair/contour.h"

#include <math.h>
#include <string.h>

#define IS_SUMMED (ABUT_NONE - 1) /* in place of a record index: this triangle has been added */
#define UNKNOWN_WINDING INT32_MIN /* in place of a winding number */
#define DEFAULT_TOLERANCE 1e-9    /* relative to the smaller body */
#define POSE_ERROR                                                                                \
    0x1p-47 /* relative to the largest coordinate of the poses: error of rotation and translation \
             */
#define AREA_ERROR 1e-12     /* relative to a surface area: rounding error of the sums */
#define VOLUME_ERROR 0x1p-44 /* relative to an area times a coordinate: the same */

/* ---- crossed triangles ---- */

/* A triangle that the other surface intersects. Its part inside the other body has a boundary of
 * directed pieces x0 x1 with weights: pieces of its edges and of the contour. The record has the
 * sums over those pieces that are known before any winding number is,
 *   twice = normal . sum (x0 - apex) x (x1 - apex)
 *   moment = the same, each term times (x0 - apex) + (x1 - apex). */
typedef struct crossed_face {
    uint32_t face;
    bool crossed[3];
    int32_t jump[3]; /* change of the winding number of the other surface along each edge */
    vec3 at[3], normal;
    vec3 apex;        /* a point of the contour */
    vec3 crossing[3]; /* one crossing on each edge that has any */
    double twice;
    vec3 moment;
} crossed_face;

/* A union-find forest: the winding number at a vertex is that at its parent plus `offset`; at a
 * root it is `offset`, or UNKNOWN_WINDING. */
typedef struct winding_link {
    uint32_t parent; /* uninitialised for vertices without a crossed triangle */
    int32_t offset;
} winding_link;

typedef struct integral_sums {
    double volume, area;
    vec3 moment, vector;
} integral_sums;

enum { FACES_PER_STOP_CHECK = 4096 }; /* triangles between two calls of abuti_stop() */

/* Here b is the smaller body, and the frame is scaled by a power of two so that the larger mesh has
 * coordinates up to 2. */
typedef struct measure_work {
    abut_context *context;
    const closed_surface *surface[2];
    vec3 origin; /* of the integrals: a point near the intersection */
    crossed_face *crossed[2];
    size_t count[2], capacity[2];
    uint32_t *index_of[2]; /* by triangle: in `crossed`, or ABUT_NONE */
    box3 box;              /* of all crossings, along the world axes */
    contour_flush flush;
    winding_link *links[2];
    abuti_vector stack; /* of faces */
    integral_sums sums[2];
    contour_search search; /* large: initialised member by member */
} measure_work;

/* Adds a boundary piece from x0 to x1 to a record. */
static void add_boundary_piece(crossed_face *r, double weight, vec3 x0, vec3 x1) {
    vec3 d0 = v3_sub(x0, r->apex), d1 = v3_sub(x1, r->apex);
    double twice = weight * v3_dot(r->normal, v3_cross(d0, d1));
    r->twice += twice;
    r->moment = v3_along(r->moment, twice, v3_add(d0, d1));
}

static crossed_face *find_or_add_crossed_face(measure_work *work, int side, const contour_face *f,
                                              vec3 apex) {
    uint32_t *index = &work->index_of[side][f->face];
    if (*index != ABUT_NONE)
        return &work->crossed[side][*index];
    size_t count = work->count[side];
    if (!work->search.status && count == work->capacity[side])
        work->search.status = abuti_grow(work->context, &work->crossed[side], count, count + 64,
                                         sizeof *work->crossed[side], &work->capacity[side]);
    if (work->search.status)
        return NULL;
    crossed_face *r = &work->crossed[side][count];
    memset(r, 0, sizeof *r);
    r->face = f->face;
    memcpy(r->at, f->at, sizeof r->at);
    r->normal = f->normal;
    r->apex = apex;
    *index = (uint32_t)count;
    work->count[side]++;
    return r;
}

/* Adds a segment of the contour to both triangles, and its ends to the triangles of their edges. */
static void add_segment(void *data, const contour_pair *pair, const contour_crossing ends[2],
                        int begin) {
    measure_work *work = data;
    crossed_face *r[2];
    for (int side = 0; side < 2; side++)
        if (!(r[side] = find_or_add_crossed_face(work, side, pair->face[side], ends[0].at)))
            return;
    add_boundary_piece(r[0], 1, ends[begin].at, ends[!begin].at);
    add_boundary_piece(r[1], 1, ends[!begin].at, ends[begin].at);
    for (int i = 0; i < 2; i++) {
        const contour_crossing *c = &ends[i];
        crossed_face *own = r[c->side];
        if (own->crossed[c->edge])
            add_boundary_piece(own, c->jump, c->at, own->crossing[c->edge]);
        else
            own->crossing[c->edge] = c->at;
        own->crossed[c->edge] = true;
        own->jump[c->edge] += c->jump;
        work->box = box_grow(work->box, m3_apply(&work->flush.world, c->at));
    }
}

static void add_parallel_faces(void *data, const contour_pair *pair, double cosine) {
    measure_work *work = data;
    abuti_contour_add_coincident(&work->flush, pair, cosine);
}

/* ---- winding numbers at vertices ---- */

static uint32_t find_root(winding_link *links, uint32_t v, int32_t *offset) {
    *offset = 0;
    while (links[v].parent != v) {
        uint32_t up = links[v].parent;
        if (links[up].parent != up) {
            links[v].offset += links[up].offset;
            links[v].parent = links[up].parent;
        }
        *offset += links[v].offset;
        v = links[v].parent;
    }
    return v;
}

/* Links two vertices: the winding number at v is that at u plus `jump`. */
static void link_vertices(winding_link *links, uint32_t u, uint32_t v, int32_t jump) {
    int32_t more_u, more_v;
    uint32_t root_u = find_root(links, u, &more_u), root_v = find_root(links, v, &more_v);
    if (root_u != root_v)
        links[root_v] = (winding_link){root_u, more_u + jump - more_v};
}

static int32_t linked_winding(winding_link *links, uint32_t v) {
    int32_t offset;
    uint32_t root = find_root(links, v, &offset);
    return links[root].offset == UNKNOWN_WINDING ? UNKNOWN_WINDING : links[root].offset + offset;
}

static void set_winding(winding_link *links, uint32_t v, int32_t winding) {
    int32_t offset;
    uint32_t root = find_root(links, v, &offset);
    links[root].offset = winding - offset;
}

/* Links the vertices of all crossed triangles. */
static abut_status link_crossed_faces(measure_work *work, int side) {
    const contour_body *body = &work->search.body[side];
    uint32_t count = body->bvh->mesh->vertex_count;
    winding_link *links = abuti_allocate(work->context, count, sizeof *links);
    if (!(work->links[side] = links))
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < work->count[side]; i++) {
        const uint32_t *corner = body->corner + 3 * (size_t)work->crossed[side][i].face;
        for (int k = 0; k < 3; k++)
            links[corner[k]] = (winding_link){corner[k], UNKNOWN_WINDING};
    }
    for (size_t i = 0; i < work->count[side]; i++) {
        const crossed_face *r = &work->crossed[side][i];
        const uint32_t *corner = body->corner + 3 * (size_t)r->face;
        link_vertices(links, corner[0], corner[1], r->jump[0]);
        link_vertices(links, corner[1], corner[2], r->jump[1]);
    }
    return ABUT_OK;
}

/* ---- sums ---- */

static void grow_box(measure_work *work, vec3 p) {
    work->box = box_grow(work->box, m3_apply(&work->flush.world, p));
}

/* Adds a triangle that is not crossed. */
static void add_uncrossed_face(measure_work *work, int side, const uint32_t *corner,
                               int32_t winding) {
    vec3 p[3];
    for (int k = 0; k < 3; k++) {
        const vec3 at = contour_position(&work->search.body[side], corner[k]);
        grow_box(work, at);
        p[k] = v3_sub(at, work->origin); /* relative to the origin of the integrals */
    }
    vec3 n = v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0]));
    double volume_times_6 =
        winding * v3_dot(n, p[0]); /* six times the volume of the tetrahedron with the origin */
    integral_sums *sum = &work->sums[side];
    sum->area += 0.5 * winding * v3_length(n);
    sum->vector = v3_along(sum->vector, 0.5 * winding, n);
    sum->volume += volume_times_6 / 6;
    sum->moment = v3_along(sum->moment, volume_times_6 / 24, v3_add(v3_add(p[0], p[1]), p[2]));
}

/* Adds a crossed triangle. The winding numbers at its corners are known. */
static void add_crossed_face(measure_work *work, int side, const crossed_face *from,
                             const uint32_t *corner) {
    crossed_face r = *from;
    double length = v3_length(r.normal);
    int32_t winding[3];
    for (int k = 0; k < 3; k++) {
        winding[k] = linked_winding(work->links[side], corner[k]);
        if (winding[k])
            grow_box(work, r.at[k]);
    }
    if (!(length > 0))
        return;
    for (int k = 0; k < 3; k++) {
        int next = k == 2 ? 0 : k + 1;
        if (r.crossed[k] && winding[k])
            add_boundary_piece(&r, winding[k], r.at[k], r.crossing[k]);
        if (r.crossed[k] && winding[next])
            add_boundary_piece(&r, winding[next], r.crossing[k], r.at[next]);
        if (!r.crossed[k] && winding[k])
            add_boundary_piece(&r, winding[k], r.at[k], r.at[next]);
    }
    integral_sums *sum = &work->sums[side];
    double area = r.twice / (2 * length);
    vec3 apex = v3_sub(r.apex, work->origin), normal = v3_scale(r.normal, 1 / length);
    double height = v3_dot(normal, apex);
    sum->area += area;
    sum->vector = v3_along(sum->vector, area, normal);
    sum->volume += height * area / 3;
    sum->moment = v3_along(sum->moment, height / 4,
                           v3_along(v3_scale(apex, area), 1 / (6 * length), r.moment));
}

/* ---- spreading winding numbers ---- */

static abut_status push_face(measure_work *work, uint32_t face) {
    uint32_t *to = ABUTI_PUSH(work->context, &work->stack, uint32_t);
    if (to)
        *to = face;
    return to ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* Returns the faces across an edge; for a non-manifold edge the face itself is among them. */
static uint32_t faces_across(const closed_surface *surface, uint32_t face, int edge,
                             const uint32_t **faces) {
    *faces = surface->view.neighbours + 3 * (size_t)face + edge;
    if (**faces != ABUT_NONE)
        return 1;
    return abuti_edge_faces(&surface->view,
                            surface->view.triangle_edges[3 * (size_t)face + (size_t)edge], faces);
}

/* Adds a triangle that is not crossed and all triangles that are connected to it without a
 * crossing. */
static abut_status spread_winding(measure_work *work, int side, uint32_t face, int32_t winding) {
    const closed_surface *surface = work->surface[side];
    uint32_t *record_of = work->index_of[side];
    uint32_t steps = 0;
    work->stack.count = 0;
    abut_status status = push_face(work, face);
    record_of[face] = IS_SUMMED;
    while (work->stack.count && !status) {
        if (++steps % FACES_PER_STOP_CHECK == 0 && abuti_stop(work->context, "pairs"))
            return abuti_stop_status("pairs");
        uint32_t here = ABUTI_AT(&work->stack, uint32_t, --work->stack.count);
        const uint32_t *corner = surface->corner + 3 * (size_t)here, *faces;
        add_uncrossed_face(work, side, corner, winding);
        for (int k = 0; k < 3; k++) {
            uint32_t count = faces_across(surface, here, k, &faces);
            for (uint32_t i = 0; i < count && !status; i++) {
                uint32_t *record = &record_of[faces[i]];
                if (*record == ABUT_NONE) {
                    *record = IS_SUMMED;
                    status = push_face(work, faces[i]);
                } else if (*record != IS_SUMMED) {
                    set_winding(work->links[side], corner[k], winding);
                }
            }
        }
    }
    return status;
}

/* Spreads the winding numbers of a crossed triangle across its edges without crossings. */
static abut_status spread_from_crossed_face(measure_work *work, int side, const crossed_face *r) {
    const closed_surface *surface = work->surface[side];
    const uint32_t *corner = surface->corner + 3 * (size_t)r->face;
    winding_link *links = work->links[side];
    abut_status status = ABUT_OK;
    if (linked_winding(links, corner[0]) == UNKNOWN_WINDING)
        set_winding(links, corner[0], abuti_contour_winding(&work->search, !side, r->at[0]));
    for (int k = 0; k < 3; k++) {
        const uint32_t *faces;
        int32_t winding = linked_winding(links, corner[k]);
        if (r->crossed[k] || !winding)
            continue;
        uint32_t count =
            abuti_edge_faces(&surface->view,
                             surface->view.triangle_edges[3 * (size_t)r->face + (size_t)k], &faces);
        for (uint32_t i = 0; i < count && !status; i++)
            if (work->index_of[side][faces[i]] == ABUT_NONE)
                status = spread_winding(work, side, faces[i], winding);
    }
    return status;
}

/* Adds the components that have no crossing. */
static abut_status add_uncrossed_components(measure_work *work, int side) {
    const contour_body *body = &work->search.body[side];
    const closed_surface *surface = work->surface[side];
    uint32_t count = surface->view.component_count, crossed_count = 0;
    unsigned char *is_crossed = abuti_allocate_zeroed(work->context, count, 1);
    abut_status status = is_crossed ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < work->count[side] && !status && crossed_count < count; i++) {
        uint32_t component = surface->view.triangle_component[work->crossed[side][i].face];
        crossed_count += !is_crossed[component];
        is_crossed[component] = 1;
    }
    for (uint32_t component = 0; component < count && !status && crossed_count < count;
         component++) {
        uint32_t face = surface->component_face[component];
        const uint32_t *corner = surface->corner + 3 * (size_t)face;
        if (is_crossed[component] || abuti_is_collapsed(corner))
            continue;
        vec3 p = contour_position(body, corner[0]);
        int32_t winding = abuti_contour_winding(&work->search, !side, p);
        if (winding)
            status = spread_winding(work, side, face, winding);
    }
    abuti_release(work->context, is_crossed);
    return status;
}

static abut_status add_side(measure_work *work, int side) {
    const closed_surface *surface = work->surface[side];
    abut_status status = link_crossed_faces(work, side);
    for (size_t i = 0; i < work->count[side] && !status; i++)
        status = spread_from_crossed_face(work, side, &work->crossed[side][i]);
    if (!status)
        status = add_uncrossed_components(work, side);
    for (size_t i = 0; i < work->count[side] && !status; i++) {
        const crossed_face *r = &work->crossed[side][i];
        add_crossed_face(work, side, r, surface->corner + 3 * (size_t)r->face);
    }
    return status;
}

/* ---- the frame ---- */

static bool is_same_rotation(const abut_quat *a, const abut_quat *b) {
    return a->x == b->x && a->y == b->y && a->z == b->z && a->w == b->w;
}

/* Sets up both bodies in the frame. Returns the pose of a relative to b. */
static abut_pose set_up_bodies(measure_work *work, const abuti_posed *a, const abuti_posed *b,
                               double unit) {
    const abuti_posed *posed[2] = {a, b};
    abuti_motion motion[2];
    for (int side = 0; side < 2; side++) {
        contour_body *body = &work->search.body[side];
        motion[side] = abuti_motion_of(&posed[side]->pose);
        body->bvh = posed[side]->bvh;
        body->corner = work->surface[side]->corner;
        body->find_offset = NULL;
        body->is_rotated = !side;
        body->unit = unit;
        work->flush.facing[side] = work->surface[side]->volume < 0 ? -1 : 1;
    }
    contour_body *body = &work->search.body[0];
    mat3 back = m3_transpose(&motion[1].rotation),
         rotation = m3_multiply(&back, &motion[0].rotation);
    if (is_same_rotation(&a->pose.rotation, &b->pose.rotation))
        rotation = (mat3){{v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)}};
    abut_pose from_b = {quat_multiply(quat_conjugate(quat_normalise(b->pose.rotation)),
                                      quat_normalise(a->pose.rotation)),
                        m3_apply(&back, v3_sub(a->pose.translation, b->pose.translation))};
    for (int i = 0; i < 3; i++)
        body->rotation.row[i] = v3_scale(rotation.row[i], unit);
    body->shift =
        v3_scale(v3_sub(v3_add(m3_apply(&rotation, a->bvh->mesh->origin), from_b.translation),
                        b->bvh->mesh->origin),
                 unit);
    work->flush.world = motion[1].rotation;
    return from_b;
}

static double max_extent(const abut_bvh *bvh) {
    return v3_max_abs(v3_sub(bvh->mesh->bounds.hi, bvh->mesh->bounds.lo));
}

/* ---- results ---- */

/* The transformation from the frame to the world. */
typedef struct world_frame {
    abuti_motion motion; /* of b */
    vec3 origin;         /* of b's mesh */
    double length;       /* of a frame unit in the world */
    bool swapped;        /* the caller's a is b here */
} world_frame;

static vec3 to_world(const world_frame *frame, vec3 p) {
    return abuti_motion_apply(&frame->motion, v3_along(frame->origin, frame->length, p));
}

static vec3 rotate_to_world(const world_frame *frame, vec3 v, double scale) {
    return v3_scale(m3_apply(&frame->motion.rotation, v), scale);
}

/* Translates and scales a box that is along the world axes already. */
static abut_box box_to_world(const world_frame *frame, box3 box) {
    vec3 at = abuti_motion_apply(&frame->motion, frame->origin);
    return (abut_box){v3_along(at, frame->length, box.lo), v3_along(at, frame->length, box.hi)};
}

/* Whether all of a surface is inside the other one or on it. `area` is the area that is. */
static bool is_contained(const measure_work *work, int side, double area) {
    const contour_body *body = &work->search.body[side];
    double unit = body->unit / body->bvh->scale, whole = work->surface[side]->area * unit * unit;
    return area > 0 &&
           whole - area <= AREA_ERROR * whole + 4 * work->flush.tolerance * work->flush.perimeter;
}

/* The result without a volume: a touch, with its position, or apart. */
static abut_status measure_touch(const measure_work *work, const world_frame *frame,
                                 const abuti_posed posed[2], abut_pair_measures *measures) {
    const contour_flush *flush = &work->flush;
    double area_unit = frame->length * frame->length, gap = flush->tolerance * frame->length;
    measures->kind = ABUT_PAIR_KIND_TOUCH;
    if (flush->area[0] > 0) {
        measures->flush_area = flush->area[0] * area_unit;
        measures->area_vector =
            rotate_to_world(frame, flush->vector, frame->swapped ? -area_unit : area_unit);
        measures->centroid = to_world(frame, v3_scale(flush->moment, 1 / flush->area[0]));
        measures->bounds = box_to_world(frame, flush->box);
        return ABUT_OK;
    }
    bool is_touching;
    unsigned flags = 0;
    abut_separation found;
    abut_status status =
        abuti_pair_within(&posed[0], &posed[1], gap, true, NULL, &is_touching, &flags);
    if (!status && is_touching)
        status = abuti_pair_distance(&posed[0], &posed[1], true, NULL, &found);
    if (status)
        return status;
    measures->kind = is_touching ? ABUT_PAIR_KIND_TOUCH : ABUT_PAIR_KIND_APART;
    if (is_touching) {
        vec3 middle = v3_lerp(found.point_a, found.point_b, 0.5);
        measures->centroid = abuti_motion_apply(&frame->motion, middle);
        measures->bounds = (abut_box){measures->centroid, measures->centroid};
    }
    return ABUT_OK;
}

/* Whether a closed surface contains no volume, such as a sheet with two sides. */
static bool has_no_volume(const closed_surface *surface) {
    return fabs(surface->volume) <=
           VOLUME_ERROR * surface->area * max_extent(surface->bvh) * surface->bvh->scale;
}

/* The kind of an intersection with a volume. */
static abut_pair_kind classify_intersection(const measure_work *work, const double area[2],
                                            bool swapped) {
    double same_way_area = work->flush.area[1];
    /* The area inside may be negative if a surface intersects itself. */
    bool covered[2] = {is_contained(work, 0, real_max(area[0], 0) + same_way_area),
                       is_contained(work, 1, real_max(area[1], 0) + same_way_area)};
    if (covered[0] && covered[1])
        return ABUT_PAIR_KIND_SAME;
    return covered[swapped]    ? ABUT_PAIR_KIND_A_INSIDE
           : covered[!swapped] ? ABUT_PAIR_KIND_B_INSIDE
                               : ABUT_PAIR_KIND_OVERLAP;
}

static abut_status measure_intersection(const measure_work *work, const world_frame *frame,
                                        const abuti_posed posed[2], abut_pair_measures *measures) {
    const contour_flush *flush = &work->flush;
    const integral_sums *sums = work->sums;
    double sign = flush->facing[0] * flush->facing[1], area_unit = frame->length * frame->length;
    double volume = sign * (sums[0].volume + sums[1].volume), same_way_area = flush->area[1];
    double area[2] = {flush->facing[1] * sums[0].area - flush->inside[0],
                      flush->facing[0] * sums[1].area - flush->inside[1]};
    double total_area = fabs(area[0]) + fabs(area[1]) + same_way_area;
    double largest = real_max(v3_max_abs(work->box.lo), v3_max_abs(work->box.hi));
    double min_volume = flush->tolerance * total_area + 2 * flush->depth * flush->area[0] +
                        VOLUME_ERROR * largest * (total_area + flush->area[0]);
    bool is_flat = !(volume > min_volume) || has_no_volume(work->surface[0]) ||
                   has_no_volume(work->surface[1]);
    int a = frame->swapped; /* the index of the caller's a */
    measures->kind = classify_intersection(work, area, frame->swapped);
    if (is_flat && measures->kind == ABUT_PAIR_KIND_OVERLAP)
        return measure_touch(work, frame, posed, measures);
    measures->volume = is_flat ? 0 : volume * area_unit * frame->length;
    measures->area_a = real_max(area[a], 0) * area_unit;
    measures->area_b = real_max(area[!a], 0) * area_unit;
    measures->shared_area = same_way_area * area_unit;
    measures->flush_area = flush->area[0] * area_unit;
    measures->area = measures->area_a + measures->area_b + measures->shared_area;
    measures->area_vector =
        rotate_to_world(frame, v3_sub(v3_scale(sums[a].vector, sign), flush->inside_vector[a]),
                        area_unit);
    measures->bounds = box_to_world(frame, box_join(work->box, flush->box));
    measures->centroid = is_flat
                             ? box_centre(measures->bounds)
                             : to_world(frame, v3_along(work->origin, sign / volume,
                                                        v3_add(sums[0].moment, sums[1].moment)));
    return ABUT_OK;
}

static abut_reliability reliability_of(const measure_work *work, bool swapped) {
    bool in_a = work->flush.facing[swapped] < 0, in_b = work->flush.facing[!swapped] < 0;
    if (in_a || in_b)
        return abuti_guaranteed(in_a && in_b
                                    ? "Both meshes face inwards; their triangles were reversed."
                                : in_a ? "Mesh a faces inwards; its triangles were reversed."
                                       : "Mesh b faces inwards; its triangles were reversed.");
    return abuti_guaranteed(
        "Both surfaces are closed: the result is exact up to rounding errors if "
        "neither surface intersects itself.");
}

/* Surfaces with boundary edges: only the relation is determined. */
static abut_status classify_open_surfaces(const closed_surface *const surface[2],
                                          const abuti_posed *a, const abuti_posed *b,
                                          abut_pair_measures *measures) {
    static const abut_pair_kind kinds[] = {ABUT_PAIR_KIND_APART, ABUT_PAIR_KIND_OVERLAP,
                                           ABUT_PAIR_KIND_A_INSIDE, ABUT_PAIR_KIND_B_INSIDE};
    abut_pair_relation relation;
    unsigned flags = 0;
    abut_status status = abuti_pair_overlap(a, b, false, NULL, &relation, &flags);
    if (status)
        return status;
    measures->kind = kinds[relation];
    bool flipped = surface[0]->flipped || surface[1]->flipped,
         both = surface[0]->open && surface[1]->open;
    measures->reliability = abuti_unreliable(
        flipped ? "Neighbouring triangles of a mesh face opposite ways, so it bounds no solid and "
                  "nothing is measured: orient the mesh first."
        : both ? "Both meshes have boundary edges, so they bound no solid and nothing is measured: "
                 "close them."
        : surface[0]->open
            ? "Mesh a has boundary edges, so it bounds no solid and nothing is measured: close it."
            : "Mesh b has boundary edges, so it bounds no solid and nothing is measured: close "
              "it.");
    return ABUT_OK;
}

/* ---- public ---- */

static abut_status compute_measures(measure_work *work, const abuti_posed *a, const abuti_posed *b,
                                    double tolerance, bool swapped, abut_pair_measures *measures) {
    pair_frame frame;
    double unit = real_min(a->bvh->scale, b->bvh->scale);
    abuti_posed posed[2] = {{a->bvh, set_up_bodies(work, a, b, unit)}, {.bvh = b->bvh}};
    abuti_pair_frame_init(&posed[0], &posed[1], &frame);
    double largest =
        real_max(v3_max_abs(a->pose.translation), v3_max_abs(b->pose.translation)) * unit;
    work->flush.tolerance = tolerance > 0 ? tolerance * unit
                                          : real_max(DEFAULT_TOLERANCE * max_extent(b->bvh) * unit,
                                                     POSE_ERROR * largest);
    frame.pad += (float)(2 * work->flush.tolerance);
    work->box = work->flush.box = box_empty();
    for (int side = 0; side < 2; side++) {
        size_t count = work->surface[side]->bvh->triangle_count;
        if (!(work->index_of[side] = abuti_allocate(work->context, count, sizeof(uint32_t))))
            return ABUT_ERROR_MEMORY;
        memset(work->index_of[side], 0xff, count * sizeof(uint32_t)); /* ABUT_NONE */
    }
    work->search.visit_segment = add_segment;
    work->search.visit_parallel = add_parallel_faces;
    work->search.data = work;
    work->search.status = ABUT_OK;
    abut_status status = abuti_contour_find(&work->search, &frame, "pairs");
    if (status)
        return status;
    work->origin = work->count[0]
                       ? work->crossed[0][0].apex
                       : contour_position(&work->search.body[1], work->surface[1]->corner[0]);
    for (int side = 0; side < 2 && !status; side++)
        status = add_side(work, side);
    world_frame to = {abuti_motion_of(&b->pose), b->bvh->mesh->origin, 1 / unit, swapped};
    measures->reliability = reliability_of(work, swapped);
    return status ? status : measure_intersection(work, &to, posed, measures);
}

abut_status abut_pair_measure(const abut_collider *first, const abut_collider *second,
                              const abut_pair_measure_options *options,
                              abut_pair_measures *measures) {
    abut_pair_measure_options ours = abut_pair_measure_options_default();
    abuti_posed posed[2];
    const abuti_posed *a = &posed[0], *b = &posed[1];
    abut_status status = abuti_pair_read(__func__, first, second, measures, "measures", posed);
    if (!status)
        status = abuti_options_read(&ours, sizeof ours, options, __func__);
    if (!status)
        status = abuti_check_length(__func__, "options->tolerance", ours.tolerance);
    if (!status)
        status = abuti_info_check(measures, sizeof *measures, __func__);
    if (status)
        return status;
    measure_work work;
    memset(&work, 0, offsetof(measure_work, search));
    const closed_surface *surface[2];
    abut_pair_measures found = abut_pair_measures_default();
    memset(&found, 0, sizeof found);
    work.context = a->bvh->context;
    for (int i = 0; i < 2 && !status; i++) {
        status = abuti_bvh_cpu_tree(posed[i].bvh, &posed[i].bvh);
        if (!status)
            status = abuti_pair_closed_surface(posed[i].bvh, &surface[i]);
    }
    if (!status && (surface[0]->open || surface[1]->open)) {
        status = classify_open_surfaces(surface, a, b, &found);
    } else if (!status) {
        bool swapped = max_extent(b->bvh) > max_extent(a->bvh);
        work.surface[swapped] = surface[0];
        work.surface[!swapped] = surface[1];
        status = compute_measures(&work, swapped ? b : a, swapped ? a : b, ours.tolerance, swapped,
                                  &found);
    }
    if (!status)
        status = abuti_info_write(measures, &found, sizeof found, __func__);
    for (int side = 0; side < 2; side++)
        ABUTI_RELEASE(work.context, work.crossed[side], work.index_of[side], work.links[side]);
    abuti_release(work.context, work.stack.data);
    return status;
}

const char *abut_pair_kind_name(abut_pair_kind kind) {
    static const char *const names[] = {"apart",    "touch",    "overlap",
                                        "a-inside", "b-inside", "same"};
    return ABUTI_NAME(names, kind);
}

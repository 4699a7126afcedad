/* The parts of each skin inside the other body.
 *
 * Problem: which parts of each surface are inside the other body, and which of these parts are
 * connected? No decision may depend on rounded coordinates.
 *
 * Method. Segments and crossings of the contour are exact (pair/contour.c). Along an edge,
 * crossings enter and leave the other body alternately. So crossings determine which vertices are
 * inside. A flood fill over edges without crossings finds the other inside vertices. Segments,
 * inside parts of edges and flood fills that are connected form one region of the overlap.
 *
 * Integrals. Let x0, x1 be the ends of a segment, with the part of a inside b on its left. All sums
 * are additive, so no polygon is constructed:
 *   S   = sum 1/2 x0 x x1      area vector of a inside b: the gradient of the volume of the overlap
 *                              for a shift of a;
 *   a_f = sum 1/2 x0 x x1      over the segments and inside parts of edges of one triangle: area
 *                              vector of its part inside the other body;
 *   V   = 1/3 sum p_f . a_f    over all triangles of both bodies: volume of the overlap.
 * For b, segments are reversed.
 */
#include "contact/patch.h"

#include <stddef.h>
#include <string.h>

/* ---- crossings ---- */

static inline uint32_t next_corner(uint32_t k) {
    return k == 2 ? 0 : k + 1;
}

static bool allocate_marks(patch_work *work) {
    for (uint32_t side = 0; side < 2; side++) {
        const abut_topology_arrays *view = &work->body[side].skin->view;
        patch_marks *marks = &work->marks[side];
        size_t faces = view->triangle_count / 32 + 1, vertices = view->vertex_count / 32 + 1;
        size_t edges = view->edge_count / 32 + 1, all = 2 * faces + vertices + edges;
        uint32_t *bits = abuti_patch_allocate(work->memory, all, sizeof *bits);
        marks->vertex_index =
            abuti_patch_allocate(work->memory, view->vertex_count, sizeof *marks->vertex_index);
        marks->first_crossing =
            abuti_patch_allocate(work->memory, view->edge_count, sizeof *marks->first_crossing);
        if (work->memory->status)
            return false;
        memset(bits, 0, all * sizeof *bits);
        marks->intersected = bits;
        marks->visited = bits + faces;
        marks->inside = bits + 2 * faces;
        marks->crossed = bits + 2 * faces + vertices;
    }
    return true;
}

static bool is_set(const uint32_t *bits, uint32_t i) {
    return bits[i / 32] >> i % 32 & 1;
}

/* Sets a bit. Returns whether it was clear. */
static bool set_bit(uint32_t *bits, uint32_t i) {
    bool was = is_set(bits, i);
    bits[i / 32] |= 1u << i % 32;
    return !was;
}

/* Returns a crossing of the contour. Adds it to the list of its edge, which is sorted along the
 * edge, if it is new. */
static uint32_t find_or_add_crossing(patch_work *work, const contour_pair *pair,
                                     const contour_crossing *c) {
    const uint32_t side = (uint32_t)c->side, k = (uint32_t)c->edge;
    const contour_face *f = pair->face[side];
    const uint32_t edge = work->body[side].skin->view.triangle_edges[3 * (size_t)f->face + k];
    const uint32_t face = pair->face[!side]->face;
    patch_marks *marks = &work->marks[side];
    uint32_t *link = &marks->first_crossing[edge];
    if (set_bit(marks->crossed, edge))
        *link = ABUT_NONE;
    for (uint32_t i = *link; i != ABUT_NONE; i = work->crossings[i].next)
        if (work->crossings[i].face == face)
            return i;
    if (!PATCH_RESERVE_ONE(work->memory, work->crossings, work->crossing_count,
                           work->crossing_capacity))
        return ABUT_NONE;
    while (*link != ABUT_NONE && work->crossings[*link].t <= c->t)
        link = &work->crossings[*link].next;
    const bool up = f->corner[k] < f->corner[next_corner(k)];
    const uint32_t next = *link;
    *link = (uint32_t)work->crossing_count;
    work->crossings[work->crossing_count] =
        (patch_crossing){edge, face, side, (c->jump > 0) == up, next, c->t, c->at};
    return (uint32_t)work->crossing_count++;
}

static void add_segment(void *data, const contour_pair *pair, const contour_crossing ends[2],
                        int begin) {
    patch_work *work = data;
    if (work->memory->status || (!work->marks[0].crossed && !allocate_marks(work))) {
        work->contour.status = work->memory->status;
        return;
    }
    /* Of two edges of one triangle, first the one that begins at their common corner. */
    int first = ends[0].side == ends[1].side && ends[1].edge == ends[0].edge + 1;
    uint32_t crossing[2];
    for (int i = 0; i < 2; i++)
        crossing[i ^ first] = find_or_add_crossing(work, pair, &ends[i ^ first]);
    if (PATCH_RESERVE_ONE(work->memory, work->segments, work->segment_count,
                          work->segment_capacity))
        work->segments[work->segment_count++] =
            (patch_segment){{pair->face[0]->face, pair->face[1]->face},
                            crossing[begin],
                            crossing[!begin]};
    work->contour.status = work->memory->status;
}

/* ---- edges ---- */

static bool is_first_crossing(const patch_work *work, uint32_t i) {
    const patch_crossing *c = &work->crossings[i];
    return work->marks[c->side].first_crossing[c->edge] == i;
}

/* ---- inside surfaces ---- */

/* Marks a vertex as inside, reached by the last flood fill. */
static void mark_inside(patch_work *work, uint32_t side, uint32_t vertex) {
    if (!set_bit(work->marks[side].inside, vertex) ||
        !PATCH_RESERVE_ONE(work->memory, work->vertices, work->vertex_count, work->vertex_capacity))
        return;
    work->marks[side].vertex_index[vertex] = (uint32_t)work->vertex_count;
    work->vertices[work->vertex_count++] =
        (patch_vertex){side, vertex, work->flood_count - 1,
                       patch_skin_position(&work->body[side], vertex)};
}

/* Continues the flood fill over a triangle at an inside vertex. */
static void flood_face(patch_work *work, uint32_t side, uint32_t face, uint32_t vertex) {
    const patch_skin *skin = work->body[side].skin;
    const uint32_t *corner = skin->corner + 3 * (size_t)face;
    if (abuti_is_collapsed(corner)) /* connects separate surfaces */
        return;
    if (is_set(work->marks[side].intersected, face)) {
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t next = corner[next_corner(k)];
            if ((corner[k] == vertex || next == vertex) &&
                !is_set(work->marks[side].crossed, skin->view.triangle_edges[3 * (size_t)face + k]))
                mark_inside(work, side, corner[k] == vertex ? next : corner[k]);
        }
    } else if (set_bit(work->marks[side].visited, face) &&
               PATCH_RESERVE_ONE(work->memory, work->inside_faces, work->inside_face_count,
                                 work->inside_face_capacity)) {
        work->inside_faces[work->inside_face_count++] =
            (patch_inside_face){side, face, work->flood_count - 1};
        for (int k = 0; k < 3; k++)
            mark_inside(work, side, corner[k]);
    }
}

/* Flood fill: marks all vertices that are connected to an inside vertex by edges without
 * crossings. */
static void flood_from_vertex(patch_work *work, uint32_t side, uint32_t vertex) {
    const abut_topology_arrays *view = &work->body[side].skin->view;
    size_t i = work->vertex_count;
    for (mark_inside(work, side, vertex); i < work->vertex_count; i++) {
        uint32_t v = work->vertices[i].vertex;
        for (uint32_t f = view->vertex_face_begin[v]; f < view->vertex_face_begin[v + 1]; f++)
            flood_face(work, side, view->vertex_faces[f], v);
    }
}

/* Returns the index of an inside vertex in `vertices`, or ABUT_NONE. */
static uint32_t inside_index(const patch_marks *marks, uint32_t vertex) {
    return is_set(marks->inside, vertex) ? marks->vertex_index[vertex] : ABUT_NONE;
}

/* Runs a flood fill from an inside vertex unless one has reached it. Joins it to a crossing. */
static void flood_from_crossing(patch_work *work, uint32_t side, uint32_t vertex,
                                uint32_t crossing) {
    const patch_marks *marks = &work->marks[side];
    if (!is_set(marks->inside, vertex)) {
        uint32_t node = (uint32_t)work->crossing_count + work->flood_count;
        if (!PATCH_RESERVE_ONE(work->memory, work->parent, (size_t)node, work->parent_capacity))
            return;
        work->parent[node] = node;
        work->flood_count++;
        flood_from_vertex(work, side, vertex);
    }
    uint32_t index = work->memory->status ? ABUT_NONE : inside_index(marks, vertex);
    if (index != ABUT_NONE)
        abuti_join(work->parent, (uint32_t)work->crossing_count + work->vertices[index].flood,
                   crossing);
}

/* Runs flood fills from all crossed edges, and joins crossings along inside parts of edges. */
static void flood_from_crossings(patch_work *work) {
    for (uint32_t i = 0; i < work->crossing_count; i++) {
        const patch_crossing *c = &work->crossings[i];
        const uint32_t *ends = work->body[c->side].skin->view.edges + 2 * (size_t)c->edge;
        if (!is_first_crossing(work, i))
            continue;
        if (!c->enters)
            flood_from_crossing(work, c->side, ends[0], i);
        uint32_t last = i;
        for (; c->next != ABUT_NONE; c = &work->crossings[last]) {
            if (c->enters)
                abuti_join(work->parent, last, c->next);
            last = c->next;
        }
        if (c->enters)
            flood_from_crossing(work, c->side, ends[1], last);
    }
}

/* ---- integrals ---- */

static void add_facet_area(patch_work *work, uint32_t side, uint32_t face, uint32_t region,
                           vec3 area) {
    bool added;
    assert(side < 2 && region < UINT32_C(1) << 30);
    uint64_t key = (uint64_t)(side + 1) << 62 | (uint64_t)region << 32 | face;
    uint32_t *value = abuti_patch_table_insert(work->memory, &work->facet_index, key,
                                               (uint32_t)work->facet_count, &added);
    if (!value ||
        !PATCH_RESERVE_ONE(work->memory, work->facets, work->facet_count, work->facet_capacity))
        return;
    if (added)
        work->facets[work->facet_count++] = (patch_facet){side, face, region, v3(0, 0, 0)};
    patch_facet *facet = &work->facets[*value];
    facet->area = v3_add(facet->area, area);
}

static vec3 area_vector(vec3 origin, vec3 from, vec3 to) {
    return v3_scale(v3_cross(v3_sub(from, origin), v3_sub(to, origin)), 0.5);
}

/* Returns the region of a node of the union-find forest. Regions are numbered in order of first
 * use. */
static uint32_t find_or_add_region(patch_work *work, uint32_t *region_number, uint32_t node,
                                   vec3 at) {
    uint32_t r = abuti_root(work->parent, node);
    if (region_number[r] == ABUT_NONE) {
        if (!PATCH_RESERVE_ONE(work->memory, work->regions, work->region_count,
                               work->region_capacity))
            return 0;
        region_number[r] = (uint32_t)work->region_count;
        work->regions[work->region_count++] = (patch_region){.origin = at};
    }
    return region_number[r];
}

static void add_segment_areas(patch_work *work, uint32_t *region_number) {
    for (size_t i = 0; i < work->segment_count; i++) {
        const patch_segment *s = &work->segments[i];
        vec3 from = work->crossings[s->from].at, to = work->crossings[s->to].at;
        uint32_t region = find_or_add_region(work, region_number, s->from, from);
        if (work->memory->status)
            return;
        patch_region *r = &work->regions[region];
        double length = v3_length(v3_sub(to, from));
        r->area = v3_add(r->area, area_vector(r->origin, from, to));
        r->length += length;
        r->centre = v3_along(r->centre, 0.5 * length, v3_add(from, to));
        for (uint32_t side = 0; side < 2; side++) {
            const patch_body *body = &work->body[side];
            vec3 origin = contour_cached_position(&work->contour, side,
                                                  body->skin->corner[3 * (size_t)s->face[side]]);
            add_facet_area(work, side, s->face[side], region,
                           area_vector(origin, side ? to : from, side ? from : to));
        }
    }
}

/* Returns the root of a flood fill in the union-find forest. */
static uint32_t flood_root(const patch_work *work, uint32_t flood) {
    return abuti_root(work->parent, (uint32_t)work->crossing_count + flood);
}

/* Adds an inside part of an edge to the areas of the triangles at the edge. */
static void add_edge_part(patch_work *work, const uint32_t *region_number, const patch_crossing *c,
                          uint32_t node, vec3 from, vec3 to) {
    const patch_body *body = &work->body[c->side];
    const uint32_t *faces, region = region_number[abuti_root(work->parent, node)];
    uint32_t count = abuti_edge_faces(&body->skin->view, c->edge, &faces);
    for (uint32_t i = 0; i < count; i++) {
        bool up = abuti_runs_up(&body->skin->view, body->skin->corner, faces[i], c->edge);
        vec3 origin = contour_cached_position(&work->contour, c->side,
                                              body->skin->corner[3 * (size_t)faces[i]]);
        add_facet_area(work, c->side, faces[i], region,
                       area_vector(origin, up ? from : to, up ? to : from));
    }
}

/* Adds the inside parts of edges with crossings. */
static void add_crossed_edges(patch_work *work, const uint32_t *region_number) {
    for (uint32_t i = 0; i < work->crossing_count; i++) {
        const patch_crossing *c = &work->crossings[i];
        const patch_body *body = &work->body[c->side];
        const uint32_t *ends = body->skin->view.edges + 2 * (size_t)c->edge;
        if (!c->enters && is_first_crossing(work, i))
            add_edge_part(work, region_number, c, i,
                          contour_cached_position(&work->contour, c->side, ends[0]), c->at);
        if (c->enters)
            add_edge_part(work, region_number, c, i, c->at,
                          c->next == ABUT_NONE
                              ? contour_cached_position(&work->contour, c->side, ends[1])
                              : work->crossings[c->next].at);
    }
}

/* Adds the inside edges without crossings of a triangle with segments. */
static void add_uncrossed_edges(patch_work *work, const uint32_t *region_number, uint32_t side,
                                uint32_t face) {
    const patch_body *body = &work->body[side];
    const uint32_t *edges = body->skin->view.triangle_edges + 3 * (size_t)face;
    const uint32_t *corner = body->skin->corner + 3 * (size_t)face;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t index = inside_index(&work->marks[side], corner[k]);
        if (index == ABUT_NONE || is_set(work->marks[side].crossed, edges[k]))
            continue;
        add_facet_area(work, side, face,
                       region_number[flood_root(work, work->vertices[index].flood)],
                       area_vector(contour_cached_position(&work->contour, side, corner[0]),
                                   contour_cached_position(&work->contour, side, corner[k]),
                                   contour_cached_position(&work->contour, side,
                                                           corner[next_corner(k)])));
    }
}

/* Computes the area vectors of the inside parts of all triangles. */
static void add_face_areas(patch_work *work, const uint32_t *region_number) {
    add_crossed_edges(work, region_number);
    for (size_t i = 0; i < work->segment_count; i++)
        for (uint32_t side = 0; side < 2; side++)
            if (set_bit(work->marks[side].visited, work->segments[i].face[side]))
                add_uncrossed_edges(work, region_number, side, work->segments[i].face[side]);
    for (size_t i = 0; i < work->inside_face_count; i++) {
        const patch_inside_face *w = &work->inside_faces[i];
        const uint32_t *corner = work->body[w->side].skin->corner + 3 * (size_t)w->face;
        const uint32_t *index = work->marks[w->side].vertex_index;
        if (!PATCH_RESERVE_ONE(work->memory, work->facets, work->facet_count, work->facet_capacity))
            return;
        work->facets[work->facet_count++] =
            (patch_facet){w->side, w->face, region_number[flood_root(work, w->flood)],
                          area_vector(work->vertices[index[corner[0]]].at,
                                      work->vertices[index[corner[1]]].at,
                                      work->vertices[index[corner[2]]].at)};
    }
}

/* Returns the indices of items sorted by their regions, and sets the ranges of the regions. */
static uint32_t *sort_by_region(patch_work *work, const uint32_t *region, size_t count,
                                size_t range_offset) {
    uint32_t *order = abuti_patch_allocate(work->memory, count, sizeof *order), begin = 0;
    unsigned char *ranges = (unsigned char *)work->regions + range_offset;
    if (!order)
        return NULL;
#define RANGE(r) ((patch_range *)(void *)(ranges + (r) * sizeof *work->regions))
    for (size_t i = 0; i < count; i++)
        RANGE(region[i])->end++;
    for (size_t r = 0; r < work->region_count; r++) {
        const uint32_t size = RANGE(r)->end;
        *RANGE(r) = (patch_range){begin, begin};
        begin += size;
    }
    for (size_t i = 0; i < count; i++)
        order[RANGE(region[i])->end++] = (uint32_t)i;
#undef RANGE
    return order;
}

/* Sorts facets, crossings and vertices by region, and completes the integrals. */
static void sort_all_by_region(patch_work *work, const uint32_t *region_number) {
    const size_t crossings = work->crossing_count, vertices = work->vertex_count,
                 facets = work->facet_count;
    uint32_t *crossing_region = abuti_patch_allocate(work->memory, crossings, sizeof(uint32_t));
    uint32_t *vertex_region = abuti_patch_allocate(work->memory, vertices, sizeof(uint32_t));
    uint32_t *facet_region = abuti_patch_allocate(work->memory, facets, sizeof(uint32_t));
    patch_facet *sorted = abuti_patch_allocate(work->memory, facets, sizeof *sorted);
    if (work->memory->status)
        return;
    for (uint32_t i = 0; i < crossings; i++)
        crossing_region[i] = region_number[abuti_root(work->parent, i)];
    for (size_t i = 0; i < vertices; i++)
        vertex_region[i] = region_number[flood_root(work, work->vertices[i].flood)];
    for (size_t i = 0; i < facets; i++)
        facet_region[i] = work->facets[i].region;
    work->crossing_region = crossing_region;
    work->region_crossings =
        sort_by_region(work, crossing_region, crossings, offsetof(patch_region, points));
    work->region_vertices =
        sort_by_region(work, vertex_region, vertices, offsetof(patch_region, vertices));
    const uint32_t *order =
        sort_by_region(work, facet_region, facets, offsetof(patch_region, facets));
    if (work->memory->status)
        return;
    for (size_t i = 0; i < facets; i++) {
        const patch_facet *f = &work->facets[order[i]];
        patch_region *r = &work->regions[f->region];
        vec3 at = contour_cached_position(&work->contour, f->side,
                                          work->body[f->side].skin->corner[3 * (size_t)f->face]);
        sorted[i] = *f;
        r->volume += v3_dot(v3_sub(at, r->origin), f->area) / 3;
    }
    work->facets = sorted;
    work->facet_capacity = facets;
    for (size_t i = 0; i < work->region_count; i++) {
        patch_region *r = &work->regions[i];
        r->centre = r->length > 0 ? v3_scale(r->centre, 1 / r->length) : r->origin;
    }
}

static void compute_regions(patch_work *work) {
    size_t nodes = work->crossing_count + work->flood_count;
    uint32_t *region_number = abuti_patch_allocate(work->memory, nodes, sizeof *region_number);
    if (!region_number)
        return;
    memset(region_number, 0xff, nodes * sizeof *region_number);
    add_segment_areas(work, region_number);
    if (!work->memory->status)
        add_face_areas(work, region_number);
    if (!work->memory->status)
        sort_all_by_region(work, region_number);
}

/* ---- entry ---- */

static void join_segments(patch_work *work) {
    if (!PATCH_RESERVE(work->memory, work->parent, 0, 2 * work->crossing_count + 64,
                       work->parent_capacity))
        return;
    for (size_t i = 0; i < work->crossing_count; i++)
        work->parent[i] = (uint32_t)i;
    for (size_t i = 0; i < work->segment_count; i++) {
        abuti_join(work->parent, work->segments[i].from, work->segments[i].to);
        for (uint32_t side = 0; side < 2; side++)
            set_bit(work->marks[side].intersected, work->segments[i].face[side]);
    }
}

void abuti_patch_find_regions(patch_work *work, const pair_frame *frame) {
    contour_search *contour = &work->contour;
    for (int side = 0; side < 2; side++)
        contour->body[side] = work->body[side].surface;
    contour->visit_segment = add_segment;
    contour->visit_parallel = NULL;
    contour->data = work;
    contour->status = ABUT_OK;
    if (!patch_check(work->memory, abuti_contour_find(contour, frame, "contacts")) ||
        !work->segment_count)
        return;
    join_segments(work);
    if (!work->memory->status)
        flood_from_crossings(work);
    if (!work->memory->status)
        compute_regions(work);
    if (work->memory->status)
        work->region_count = 0; /* their ranges are not set */
}

/* ---- regions without a contour ----
 *
 * A body that is slightly larger than a closed cavity of the other body overlaps it on all sides.
 * Its surface is completely inside the other body, and the surface of the cavity is completely
 * inside it. So no surfaces intersect, but the walls of the cavity enclose the body. All triangles
 * of both surfaces are facets of one region, and all their vertices are inside. Its walls are then
 * measured like those of any other region. */

/* Adds the triangles and vertices of a component to the last region. */
static void add_component(patch_work *work, uint32_t side, uint32_t component) {
    patch_body *body = &work->body[side];
    const abut_topology_arrays *view = &body->skin->view;
    const uint32_t region = (uint32_t)work->region_count - 1;
    patch_region *r = &work->regions[region];
    for (uint32_t t = 0; t < view->triangle_count; t++) {
        if (view->triangle_component[t] != component)
            continue;
        vec3 corner[3];
        for (int k = 0; k < 3; k++)
            corner[k] =
                v3_sub(patch_skin_position(body, body->skin->corner[3 * (size_t)t + (size_t)k]),
                       r->origin);
        const vec3 area =
            v3_scale(v3_cross(v3_sub(corner[1], corner[0]), v3_sub(corner[2], corner[0])), 0.5);
        r->volume += v3_dot(corner[0], area) / 3;
        work->facets[r->facets.end++] = (patch_facet){side, t, region, area};
    }
    for (uint32_t v = 0; v < view->vertex_count; v++) {
        const uint32_t first = view->vertex_face_begin[v];
        if (first == view->vertex_face_begin[v + 1] ||
            view->triangle_component[view->vertex_faces[first]] != component)
            continue;
        work->region_vertices[r->vertices.end++] = (uint32_t)work->vertex_count;
        work->vertices[work->vertex_count++] =
            (patch_vertex){.side = side, .vertex = v, .at = patch_skin_position(body, v)};
    }
}

void abuti_patch_add_cavity_region(patch_work *work, uint32_t side, uint32_t component,
                                   const bool *cavities) {
    const abut_topology_arrays *views[2] = {&work->body[0].skin->view, &work->body[1].skin->view};
    const size_t triangles = (size_t)views[0]->triangle_count + views[1]->triangle_count,
                 vertices = (size_t)views[0]->vertex_count + views[1]->vertex_count;
    const patch_region *last = work->region_count ? &work->regions[work->region_count - 1] : NULL;
    const uint32_t facet_end = last ? last->facets.end : 0,
                   vertex_end = last ? last->vertices.end : 0;
    patch_memory *memory = work->memory;
    size_t inner_capacity = 0;
    if (!PATCH_RESERVE(memory, work->facets, facet_end, facet_end + triangles,
                       work->facet_capacity) ||
        !PATCH_RESERVE(memory, work->vertices, work->vertex_count, work->vertex_count + vertices,
                       work->vertex_capacity) ||
        !PATCH_RESERVE(memory, work->region_vertices, vertex_end, vertex_end + vertices,
                       inner_capacity) ||
        !PATCH_RESERVE_ONE(memory, work->regions, work->region_count, work->region_capacity))
        return;
    const patch_skin *skin = work->body[side].skin;
    const vec3 origin = patch_position(&work->body[side],
                                       skin->corner[3 * (size_t)skin->components[component].face]);
    work->regions[work->region_count++] = (patch_region){.origin = origin,
                                                         .centre = origin,
                                                         .length = skin->size,
                                                         .facets = {facet_end, facet_end},
                                                         .vertices = {vertex_end, vertex_end}};
    add_component(work, side, component);
    for (uint32_t i = 0; i < views[!side]->component_count; i++)
        if (cavities[i])
            add_component(work, !side, i);
    work->facet_count = work->regions[work->region_count - 1].facets.end;
}

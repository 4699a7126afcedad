/* The reader of scenes: seams of cloth, which are read after all bodies, since they join two. */
#include "base/math_shared.h"
#include "base/sort.h"
#include "geom/pose.h"
#include "scene/read.h"

#include <math.h>
#include <string.h>

#ifdef ABUT_HAS_GLTF

#define SEWN_VERTICES 16777216 /* of all boxes: vertices that are tested, and pairs that are */

enum { ABOUT, VERTICES, BOX, TO, TO_VERTICES, TO_BOX, LENGTH, STIFFNESS, SPEED, SEAM_MEMBERS };

/* One edge of a seam: vertices of a sheet. */
typedef struct edge {
    uint32_t body, count;
    uint32_t *list;
} edge;

static abut_status find_other(scene_reader *r, const member *to, uint32_t *body) {
    char word[100];
    if (!to->at)
        return ABUT_OK;
    const name_entry *entry = abuti_scene_find_name(r, to->at);
    abuti_scene_word(r, to->at, word);
    if (!entry || entry->group)
        return abuti_scene_fail(r, "'to': there is no body '%s'", word);
    if (!r->scene->bodies[entry->index].cloth)
        return abuti_scene_fail(r, "'to': '%s' is not cloth", word);
    *body = entry->index;
    return ABUT_OK;
}

/* Indices of vertices in the order of the file. */
static abut_status list_vertices(scene_reader *r, const member *m, edge *to) {
    const abuti_json_value *list = value_at(r, m->at);
    const uint32_t limit = abut_mesh_vertex_count(r->scene->bodies[to->body].mesh);
    to->list = abuti_allocate(r->context, list->is.count, sizeof *to->list);
    if (!to->list)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = m->at + 1; i < list->next; i = value_at(r, i)->next) {
        const abuti_json_value *value = value_at(r, i);
        const double n = value->kind == ABUTI_JSON_NUMBER ? value->is.number : -1;
        if (!(n >= 0 && n < limit && n == floor(n)))
            return abuti_scene_fail(r, "'%s' must be a list of indices of vertices, from 0 to %u",
                                    m->name, limit - 1);
        to->list[to->count++] = (uint32_t)n;
    }
    return ABUT_OK;
}

static abut_status count_work(scene_reader *r, uint64_t work) {
    r->sewn_vertices += work;
    return r->sewn_vertices <= SEWN_VERTICES
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_LIMIT,
                            "%s: %s: boxes of seams have too many vertices; use smaller boxes, or "
                            "'vertices'",
                            r->name, r->place);
}

static abut_status list_box(scene_reader *r, const member *m, edge *to) {
    const abut_mesh *mesh = r->scene->bodies[to->body].mesh;
    abut_status status = count_work(r, abut_mesh_vertex_count(mesh));
    if (status)
        return status;
    to->list = abuti_allocate(r->context, abut_mesh_vertex_count(mesh), sizeof *to->list);
    return to->list ? abuti_scene_find_in_box(r, m, mesh, to->list, &to->count) : ABUT_ERROR_MEMORY;
}

static abut_vec3 start_of(const scene_reader *r, const abuti_motion *motion, uint32_t body,
                          uint32_t vertex) {
    const abut_mesh *mesh = r->scene->bodies[body].mesh;
    return abuti_motion_apply(motion, v3_add(abut_mesh_local_origin(mesh),
                                             abut_mesh_local_positions(mesh)[vertex]));
}

/* Each vertex of the edge that has more of them belongs to the nearest one of the other at the
 * start; of equally near ones, to the first. */
static abut_status pair_boxes(scene_reader *r, edge edges[2]) {
    const uint32_t more = edges[1].count > edges[0].count;
    const edge *from = &edges[more];
    edge *to = &edges[!more];
    const abuti_motion motion[2] = {abuti_motion_of(&r->scene->bodies[from->body].collider.pose),
                                    abuti_motion_of(&r->scene->bodies[to->body].collider.pose)};
    abut_status status = count_work(r, (uint64_t)from->count * to->count);
    if (status)
        return status;
    uint32_t *nearest = abuti_allocate(r->context, from->count, sizeof *nearest);
    if (!nearest)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < from->count; i++) {
        const abut_vec3 at = start_of(r, &motion[0], from->body, from->list[i]);
        double least = HUGE_VAL;
        nearest[i] = to->list[0];
        for (uint32_t k = 0; k < to->count; k++) {
            const abut_vec3 d = v3_sub(start_of(r, &motion[1], to->body, to->list[k]), at);
            const double sq = v3_dot(d, d);
            if (sq < least) {
                least = sq;
                nearest[i] = to->list[k];
            }
        }
    }
    abuti_release(r->context, to->list);
    to->list = nearest;
    to->count = from->count;
    return ABUT_OK;
}

static abut_status read_edges(scene_reader *r, const member *m, edge edges[2]) {
    const bool boxed = m[BOX].at && m[TO_BOX].at;
    if (boxed == (m[VERTICES].at && m[TO_VERTICES].at) || !m[VERTICES].at != !m[TO_VERTICES].at ||
        !m[BOX].at != !m[TO_BOX].at)
        return abuti_scene_fail(
            r, "it needs either 'vertices' and 'to_vertices', or 'box' and 'to_box'");
    abut_status status = ABUT_OK;
    for (int k = 0; k < 2 && !status; k++)
        status = boxed ? list_box(r, &m[k ? TO_BOX : BOX], &edges[k])
                       : list_vertices(r, &m[k ? TO_VERTICES : VERTICES], &edges[k]);
    if (status || boxed)
        return status ? status : pair_boxes(r, edges);
    return edges[0].count == edges[1].count
               ? ABUT_OK
               : abuti_scene_fail(r, "'vertices' has %u entries, and 'to_vertices' %u",
                                  edges[0].count, edges[1].count);
}

static abut_status add_seams(scene_reader *r, const edge edges[2], abut_cloth_seam seam) {
    abut_scene *scene = r->scene;
    abut_status status = abuti_vector_reserve(r->context, &scene->seams,
                                              scene->seams.count + edges[0].count, sizeof seam);
    for (uint32_t i = 0; i < edges[0].count && !status; i++) {
        const uint32_t a = edges[0].list[i], b = edges[1].list[i];
        const bool swapped =
            edges[1].body < edges[0].body || (edges[1].body == edges[0].body && b < a);
        if (edges[0].body == edges[1].body && a == b)
            return abuti_scene_fail(r, "vertex %u is sewn to itself", a);
        seam.sheet_a = edges[swapped].body;
        seam.vertex_a = swapped ? b : a;
        seam.sheet_b = edges[!swapped].body;
        seam.vertex_b = swapped ? a : b;
        ABUTI_AT(&scene->seams, abut_cloth_seam, scene->seams.count++) = seam;
    }
    return status;
}

static abut_status read_seam(scene_reader *r, uint32_t object, uint32_t body) {
    member m[SEAM_MEMBERS] = {[ABOUT] = MEMBER("about", TEXT),
                              [VERTICES] = MEMBER("vertices", LIST),
                              [BOX] = MEMBER("box", LIST),
                              [TO] = MEMBER("to", TEXT),
                              [TO_VERTICES] = MEMBER("to_vertices", LIST),
                              [TO_BOX] = MEMBER("to_box", LIST),
                              [LENGTH] = MEMBER("length", NUMBER),
                              [STIFFNESS] = MEMBER("stiffness", NUMBER),
                              [SPEED] = MEMBER("speed", NUMBER)};
    abut_cloth_seam seam = {0};
    double *const values[3] = {&seam.length, &seam.stiffness, &seam.speed};
    edge edges[2] = {{.body = body}, {.body = body}};
    if (value_at(r, object)->kind != ABUTI_JSON_OBJECT)
        return abuti_scene_fail(r, "it must be an object");
    abut_status status = abuti_scene_members(r, object, m, SEAM_MEMBERS);
    if (!status)
        status = find_other(r, &m[TO], &edges[1].body);
    for (int i = LENGTH; i < SEAM_MEMBERS && !status; i++)
        if (m[i].at)
            status = abuti_scene_range(r, &m[i], 0, i == LENGTH ? ABUT_CLOTH_COORDINATE_MAX : 1e30,
                                       values[i - LENGTH]);
    if (!status)
        status = read_edges(r, m, edges);
    if (!status)
        status = add_seams(r, edges, seam);
    ABUTI_RELEASE(r->context, edges[0].list, edges[1].list);
    return status;
}

/* By their vertices. */
static bool seam_after(const void *a, const void *b) {
    const abut_cloth_seam *p = a, *q = b;
    return p->sheet_a != q->sheet_a     ? p->sheet_a > q->sheet_a
           : p->vertex_a != q->vertex_a ? p->vertex_a > q->vertex_a
           : p->sheet_b != q->sheet_b   ? p->sheet_b > q->sheet_b
                                        : p->vertex_b > q->vertex_b;
}

abut_status abuti_scene_read_seams(scene_reader *r) {
    abut_scene *scene = r->scene;
    abut_status status = ABUT_OK;
    for (size_t k = 0; k < r->seam_count && !status; k++) {
        const body_value list = r->seams[k];
        const uint32_t end = value_at(r, list.at)->next;
        uint32_t index = 0;
        for (uint32_t i = list.at + 1; i < end && !status; i = value_at(r, i)->next) {
            snprintf(r->place, sizeof r->place, "bodies[%u]: seams[%u]", list.body, index++);
            status = read_seam(r, i, list.body);
        }
    }
    snprintf(r->place, sizeof r->place, "bodies");
    if (status)
        return status;
    abuti_sort_items(scene->seams.data, scene->seams.count, sizeof(abut_cloth_seam), seam_after);
    for (size_t i = 1; i < scene->seams.count; i++) {
        const abut_cloth_seam *s = &ABUTI_AT(&scene->seams, abut_cloth_seam, i);
        if (!seam_after(s, s - 1))
            return abuti_scene_fail(r,
                                    "vertex %u of bodies[%u] and vertex %u of bodies[%u] are sewn "
                                    "twice",
                                    s->vertex_a, s->sheet_a, s->vertex_b, s->sheet_b);
    }
    return ABUT_OK;
}

#endif

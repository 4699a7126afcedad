/* Contacts of a mesh with a plane.
 *
 * Vertices below the plane that triangles connect form parts; each part is a patch. Its depth is
 * that of its deepest vertex. Area and volume below the plane are sums over triangles: by the
 * divergence theorem the volume is the integral of the height over the projected triangles.
 */
#include "contact/solid.h"

#include "base/sort.h"

#include <math.h>
#include <string.h>

#define HEIGHT_LEVELS 1024 /* by which vertices that are about equally far out are preferred */

/* A vertex below the plane, or within the margin above it. */
typedef struct low_vertex {
    uint32_t vertex;
    double height, u, v;
} low_vertex;

/* One connected part below the plane. */
typedef struct submerged_part {
    double area, volume;
    uint32_t begin, end; /* its vertices in `order` */
} submerged_part;

typedef struct plane_work {
    solid_call *call;
    vec3 normal, along[2];
    double offset, max_height;
    double flush;   /* tolerance for rounding errors: vertices up to this height lie on the plane */
    bool is_closed; /* otherwise volumes are undefined and reported as 0 */
    uint32_t *triangles;
    size_t triangle_count;
    low_vertex *low;
    size_t low_count;
    uint32_t *low_index; /* index of each vertex into `low`, or ABUT_NONE */
    uint32_t *parent;    /* union-find forest over `low` */
    uint64_t *order;     /* part and index of the low vertices, sorted */
} plane_work;

/* Lists the low vertices in the order of the BVH's triangles, which is deterministic. Returns false
 * after an error. */
static bool find_low_vertices(plane_work *w) {
    const solid_call *call = w->call;
    const size_t vertices = call->bvh->mesh->vertex_count,
                 max_low = 3 * w->triangle_count < vertices ? 3 * w->triangle_count : vertices;
    w->low = abuti_patch_allocate(call->memory, max_low, sizeof *w->low);
    w->low_index = abuti_patch_allocate(call->memory, vertices, sizeof *w->low_index);
    w->parent = abuti_patch_allocate(call->memory, max_low, sizeof *w->parent);
    if (call->memory->status)
        return false;
    memset(w->low_index, 0xff, vertices * sizeof *w->low_index);
    for (size_t i = 0; i < w->triangle_count; i++)
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t vertex = call->skin->corner[3 * (size_t)w->triangles[i] + k];
            const vec3 at = call->positions[vertex];
            double height = v3_dot(w->normal, at) - w->offset;
            if (height > w->max_height || w->low_index[vertex] != ABUT_NONE)
                continue;
            w->parent[w->low_count] = w->low_index[vertex] = (uint32_t)w->low_count;
            w->low[w->low_count++] =
                (low_vertex){vertex, height, v3_dot(at, w->along[0]), v3_dot(at, w->along[1])};
        }
    return true;
}

/* The low corners of a triangle, as indices into `low`. */
static int low_corners(const plane_work *w, uint32_t triangle, uint32_t low[3]) {
    int count = 0;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t at = w->low_index[w->call->skin->corner[3 * (size_t)triangle + k]];
        if (at != ABUT_NONE)
            low[count++] = at;
    }
    return count;
}

/* Adds the area and volume below a triangle's part under the plane. */
static void add_triangle_below(const plane_work *w, uint32_t triangle, submerged_part *part) {
    double u[6], v[6], h[6];
    int count = 0;
    for (uint32_t k = 0; k < 3; k++) {
        vec3 p = solid_corner(w->call, triangle, k),
             q = solid_corner(w->call, triangle, (k + 1) % 3);
        double level = w->offset + w->flush;
        double here = v3_dot(w->normal, p) - level, there = v3_dot(w->normal, q) - level;
        for (int end = 0; end < 2; end++) {
            if (end ? (here <= 0) == (there <= 0) : here > 0)
                continue;
            vec3 at = end ? v3_lerp(p, q, here / (here - there)) : p;
            u[count] = v3_dot(at, w->along[0]);
            v[count] = v3_dot(at, w->along[1]);
            h[count++] = end ? 0 : real_min(here + w->flush, 0);
        }
    }
    for (int i = 1; i + 1 < count; i++) {
        double projected_area =
            0.5 * ((u[i] - u[0]) * (v[i + 1] - v[0]) - (v[i] - v[0]) * (u[i + 1] - u[0]));
        part->area -= projected_area;
        part->volume += projected_area * (h[0] + h[i] + h[i + 1]) / 3;
    }
}

static patch_candidate make_candidate(const plane_work *w, const low_vertex *low) {
    const vec3 at = v3_along(w->call->positions[low->vertex], -0.5 * low->height, w->normal);
    return (patch_candidate){
        {.at = at, .depth = -low->height, .kind = ABUT_CONTACT_VERTEX, .element = low->vertex},
        low->u,
        low->v};
}

/* Adds the outermost of the vertices of a part that are not higher than a limit. Of vertices that
 * are about equally far out, the lowest is preferred. */
static uint32_t add_outermost(const plane_work *w, const submerged_part *part, double max_height,
                              double min_height, patch_candidate found[PATCH_DIRECTIONS]) {
    patch_outermost o;
    abuti_patch_init_outermost(&o, PATCH_DIRECTIONS / 2);
    for (uint32_t i = part->begin; i < part->end; i++) {
        const low_vertex *low = &w->low[(uint32_t)w->order[i]];
        if (low->height > max_height || !abuti_patch_extend_outermost(&o, low->u, low->v))
            continue;
        const patch_candidate c = make_candidate(w, low);
        const double above = (low->height - min_height) / (max_height - min_height);
        const uint64_t level = above > 0 ? (uint64_t)(above * HEIGHT_LEVELS + 0.5) : 0;
        abuti_patch_add_outermost(&o, &c, level << 32 | low->vertex);
    }
    return abuti_patch_copy_outermost(&o, found);
}

/* Adds the patch of a part. Candidates are the lowest vertex, the outermost ones, and the outermost
 * ones of those that are nearly as deep: these support a round body better than shallow vertices
 * further out. */
static void add_patch(plane_work *w, const submerged_part *part) {
    patch_candidate found[2 * PATCH_DIRECTIONS + 1];
    const low_vertex *lowest = &w->low[(uint32_t)w->order[part->begin]];
    for (uint32_t i = part->begin; i < part->end; i++)
        if (w->low[(uint32_t)w->order[i]].height < lowest->height)
            lowest = &w->low[(uint32_t)w->order[i]];
    const double depth = -lowest->height;
    found[0] = make_candidate(w, lowest);
    uint32_t count = 1;
    count += add_outermost(w, part, w->max_height, lowest->height, found + count);
    count += add_outermost(w, part,
                           PATCH_DEEP_FRACTION * lowest->height +
                               (1 - PATCH_DEEP_FRACTION) * w->max_height,
                           lowest->height, found + count);
    patch_answer answer = {.normal = w->normal,
                           .depth = depth,
                           .area = real_max(part->area, 0),
                           .volume = w->is_closed ? real_max(part->volume, 0) : 0};
    patch_choice choice = {.found = found,
                           .count = count,
                           .deepest = depth,
                           .depth_tolerance = 1e-6};
    abuti_patch_choose(&choice, w->call->options->max_contacts, w->max_height, &answer);
    answer.centre = patch_mean_point(&answer);
    abuti_patch_add(w->call->memory, &w->call->answers, &answer);
}

/* Adds the volumes of cavities, which are negative, to that of the largest patch. */
static void subtract_cavities(const solid_call *call, double volume) {
    size_t largest = 0;
    for (size_t i = 1; i < call->answers.count; i++)
        if (call->answers.list[i].volume > call->answers.list[largest].volume)
            largest = i;
    if (call->answers.count)
        call->answers.list[largest].volume =
            real_max(call->answers.list[largest].volume + volume, 0);
}

/* Adds a patch for each part: low vertices that triangles connect. */
static void add_patches(plane_work *w) {
    patch_memory *memory = w->call->memory;
    submerged_part *parts = abuti_patch_allocate(memory, w->low_count, sizeof *parts);
    double cavities = 0;
    uint32_t low[3];
    w->order = abuti_patch_allocate(memory, 2 * w->low_count, sizeof *w->order);
    if (memory->status)
        return;
    for (size_t i = 0; i < w->triangle_count; i++)
        for (int k = low_corners(w, w->triangles[i], low) - 1; k > 0; k--)
            abuti_join(w->parent, low[0], low[k]);
    for (uint32_t i = 0; i < w->low_count; i++) {
        w->parent[i] = abuti_root(w->parent, i);
        w->order[i] = (uint64_t)w->parent[i] << 32 | i;
    }
    abuti_sort_keys(w->order, w->order + w->low_count, w->low_count);
    for (uint32_t i = 0; i < w->low_count; i++) {
        submerged_part *part = &parts[w->order[i] >> 32];
        if (!i || w->order[i] >> 32 != w->order[i - 1] >> 32)
            *part = (submerged_part){.begin = i};
        part->end = i + 1;
    }
    for (size_t i = 0; i < w->triangle_count; i++)
        if (low_corners(w, w->triangles[i], low))
            add_triangle_below(w, w->triangles[i], &parts[w->parent[low[0]]]);
    for (uint32_t i = 0; i < w->low_count; i++)
        if (w->parent[i] == i) {
            add_patch(w, &parts[i]);
            cavities += real_min(parts[i].volume, 0);
        }
    if (w->is_closed)
        subtract_cavities(w->call, cavities);
}

void abuti_solid_plane_contacts(solid_call *call, const solid_view *view, const abut_collider *b) {
    plane_work w = {.call = call,
                    .flush = 1e-15 * call->skin->size,
                    .is_closed = call->skin->reliability.level == ABUT_RELIABILITY_GUARANTEED};
    w.max_height = call->options->margin + w.flush;
    const abut_mesh *mesh = call->bvh->mesh;
    mat3 turn = quat_matrix(b->pose.rotation);
    vec3 up = m3_apply(&turn, v3_normalise(b->shape.plane.normal));
    double offset = b->shape.plane.offset / v3_length(b->shape.plane.normal);
    vec3 on = solid_to_mesh(view, mesh, v3_along(b->pose.translation, offset, up));
    w.normal = v3_normalise(m3_apply(&view->back, up));
    w.offset = v3_dot(w.normal, on);
    abuti_patch_tangents(w.normal, w.along);
    solid_region r = {.plane = true, .normal = w.normal, .limit = w.offset + w.max_height};
    abuti_solid_list_triangles(call, &r, &w.triangles, &w.triangle_count);
    call->is_verified = true; /* no vertex is below the deepest one */
    if (w.triangle_count && find_low_vertices(&w))
        add_patches(&w);
}

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

/* A vertex below the plane, or within the margin above it. */
typedef struct low_vertex {
    uint32_t vertex;
    double height;
} low_vertex;

/* One connected part below the plane. */
typedef struct submerged_part {
    double area, volume;
    uint32_t best[9]; /* the extreme vertices in eight directions, and the deepest */
    double extreme[9];
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
} plane_work;

/* Lists the low vertices in the order of the BVH's triangles, which is deterministic. */
static abut_status find_low_vertices(plane_work *w) {
    const solid_call *call = w->call;
    size_t capacity = 0, parent_capacity = 0, index_capacity = 0,
           vertices = call->bvh->mesh->vertex_count;
    size_t max_low = 3 * w->triangle_count < vertices ? 3 * w->triangle_count : vertices;
    abut_status status =
        abuti_patch_grow(call->memory, &w->low, 0, max_low + 1, sizeof *w->low, &capacity);
    if (!status)
        status = abuti_patch_grow(call->memory, &w->low_index, 0, vertices, sizeof *w->low_index,
                                  &index_capacity);
    if (!status)
        status = abuti_patch_grow(call->memory, &w->parent, 0, max_low + 1, sizeof *w->parent,
                                  &parent_capacity);
    if (status)
        return status;
    memset(w->low_index, 0xff, vertices * sizeof *w->low_index);
    for (size_t i = 0; i < w->triangle_count; i++)
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t vertex = call->skin->corner[3 * (size_t)w->triangles[i] + k];
            double height = v3_dot(w->normal, call->positions[vertex]) - w->offset;
            if (height > w->max_height || w->low_index[vertex] != ABUT_NONE)
                continue;
            w->parent[w->low_count] = w->low_index[vertex] = (uint32_t)w->low_count;
            w->low[w->low_count++] = (low_vertex){vertex, height};
        }
    return ABUT_OK;
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

/* Updates the extreme vertices of a part. Of equally extreme vertices the lowest is kept. */
static void update_extremes(const plane_work *w, uint32_t i, submerged_part *part) {
    static const double direction[8][2] = {{1, 0},  {.75, .75},   {0, 1},  {-.75, .75},
                                           {-1, 0}, {-.75, -.75}, {0, -1}, {.75, -.75}};
    vec3 at = w->call->positions[w->low[i].vertex];
    double u = v3_dot(at, w->along[0]), v = v3_dot(at, w->along[1]);
    double height = w->low[i].height, tolerance = 1e-12 * w->call->skin->size;
    for (int k = 0; k < 9; k++) {
        double here = k == 8 ? -height : u * direction[k][0] + v * direction[k][1];
        double more = here - part->extreme[k];
        bool lower = more >= -tolerance && height < w->low[part->best[k]].height - tolerance;
        if (k == 8 ? more > 0 : more > tolerance || lower) {
            part->extreme[k] = here;
            part->best[k] = i;
        }
    }
}

static abut_status add_patch(plane_work *w, const submerged_part *part) {
    patch_candidate found[9];
    vec3 sum = v3(0, 0, 0);
    uint32_t count = 0;
    for (int k = 8; k >= 0; k--) {
        bool is_duplicate = false;
        for (int i = 8; i > k; i--)
            is_duplicate |= part->best[i] == part->best[k];
        if (is_duplicate)
            continue;
        const low_vertex *low = &w->low[part->best[k]];
        vec3 at = v3_along(w->call->positions[low->vertex], -0.5 * low->height, w->normal);
        found[count++] = (patch_candidate){
            {.at = at, .depth = -low->height, .kind = ABUT_CONTACT_VERTEX, .element = low->vertex},
            v3_dot(at, w->along[0]),
            v3_dot(at, w->along[1])};
        sum = v3_add(sum, at);
    }
    sum = v3_scale(sum, 1.0 / count);
    patch_answer answer = {.normal = w->normal,
                           .depth = part->extreme[8],
                           .area = real_max(part->area, 0),
                           .volume = w->is_closed ? real_max(part->volume, 0) : 0,
                           .centre = sum};
    patch_choice choice = {.found = found,
                           .count = count,
                           .deepest = part->extreme[8],
                           .depth_tolerance = 1e-6};
    abuti_patch_choose(&choice, w->call->options->max_contacts, w->max_height, &answer);
    return abuti_patch_add(w->call->memory, &w->call->answers, &answer);
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
static abut_status add_patches(plane_work *w) {
    submerged_part *parts = NULL;
    size_t capacity = 0;
    double cavities = 0;
    uint32_t low[3];
    for (size_t i = 0; i < w->triangle_count; i++)
        for (int k = low_corners(w, w->triangles[i], low) - 1; k > 0; k--)
            abuti_join(w->parent, low[0], low[k]);
    abut_status status =
        abuti_patch_grow(w->call->memory, &parts, 0, w->low_count + 1, sizeof *parts, &capacity);
    if (status)
        return status;
    for (uint32_t i = 0; i < w->low_count; i++) {
        w->parent[i] = abuti_root(w->parent, i);
        submerged_part *part = &parts[w->parent[i]];
        if (w->parent[i] == i) {
            *part = (submerged_part){.area = 0};
            for (int k = 0; k < 9; k++)
                part->extreme[k] = -INFINITY;
        }
    }
    for (uint32_t i = 0; i < w->low_count; i++)
        update_extremes(w, i, &parts[w->parent[i]]);
    for (size_t i = 0; i < w->triangle_count; i++)
        if (low_corners(w, w->triangles[i], low))
            add_triangle_below(w, w->triangles[i], &parts[w->parent[low[0]]]);
    for (uint32_t i = 0; i < w->low_count && !status; i++)
        if (w->parent[i] == i) {
            status = add_patch(w, &parts[i]);
            cavities += real_min(parts[i].volume, 0);
        }
    if (!status && w->is_closed)
        subtract_cavities(w->call, cavities);
    return status;
}

abut_status abuti_solid_plane_contacts(solid_call *call, const solid_view *view,
                                       const abut_collider *b) {
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
    abut_status status = abuti_solid_list_triangles(call, &r, &w.triangles, &w.triangle_count);
    call->is_verified = true; /* no vertex is below the deepest one */
    if (status || !w.triangle_count)
        return status;
    status = find_low_vertices(&w);
    return status ? status : add_patches(&w);
}

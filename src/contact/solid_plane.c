/* Contacts of a mesh with a plane.
 *
 * The vertices below it, joined by triangles, fall into parts, each of which is a patch. Its depth
 * is that of the deepest vertex. Of what is below, area and volume are sums over triangles: by the
 * divergence theorem the volume is the integral of the height over their shadows.
 */
#include "contact/solid.h"

#include "base/sort.h"

#include <math.h>
#include <string.h>

/* A vertex that is deep enough. */
typedef struct low_vertex {
    uint32_t vertex;
    double height;
} low_vertex;

/* One connected part of what is below. */
typedef struct low_part {
    double area, volume;
    uint32_t best[9]; /* the outermost in eight directions, and the deepest */
    double most[9];
} low_part;

typedef struct plane_work {
    solid_call *call;
    vec3 normal, along[2];
    double offset, gap;
    double flush;   /* by rounding: what is no higher lies on the plane */
    bool is_closed; /* the mesh: otherwise volumes have no meaning and are 0 */
    uint32_t *triangles;
    size_t triangle_count;
    low_vertex *low;
    size_t low_count;
    uint32_t *place;  /* of a vertex among them, or ABUT_NONE */
    uint32_t *parent; /* of them */
} plane_work;

/* The low vertices, in the order of triangles by place, which is always the same. */
static abut_status find_low_vertices(plane_work *w) {
    const solid_call *call = w->call;
    size_t room = 0, parents = 0, places = 0, vertices = call->bvh->mesh->vertex_count;
    size_t most = 3 * w->triangle_count < vertices ? 3 * w->triangle_count : vertices;
    abut_status status =
        abuti_patch_grow(call->memory, &w->low, 0, most + 1, sizeof *w->low, &room);
    if (!status)
        status = abuti_patch_grow(call->memory, &w->place, 0, vertices, sizeof *w->place, &places);
    if (!status)
        status =
            abuti_patch_grow(call->memory, &w->parent, 0, most + 1, sizeof *w->parent, &parents);
    if (status)
        return status;
    memset(w->place, 0xff, vertices * sizeof *w->place);
    for (size_t i = 0; i < w->triangle_count; i++)
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t vertex = call->skin->corner[3 * (size_t)w->triangles[i] + k];
            double height = v3_dot(w->normal, call->positions[vertex]) - w->offset;
            if (height > w->gap || w->place[vertex] != ABUT_NONE)
                continue;
            w->parent[w->low_count] = w->place[vertex] = (uint32_t)w->low_count;
            w->low[w->low_count++] = (low_vertex){vertex, height};
        }
    return ABUT_OK;
}

/* The low corners of a triangle, by their places in the list. */
static int low_corners(const plane_work *w, uint32_t triangle, uint32_t low[3]) {
    int count = 0;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t at = w->place[w->call->skin->corner[3 * (size_t)triangle + k]];
        if (at != ABUT_NONE)
            low[count++] = at;
    }
    return count;
}

/* Adds what is below of a triangle. */
static void add_below(const plane_work *w, uint32_t triangle, low_part *part) {
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
        double shadow =
            0.5 * ((u[i] - u[0]) * (v[i + 1] - v[0]) - (v[i] - v[0]) * (u[i + 1] - u[0]));
        part->area -= shadow;
        part->volume += shadow * (h[0] + h[i] + h[i + 1]) / 3;
    }
}

/* Of those that are as far out the lowest counts. */
static void add_low(const plane_work *w, uint32_t i, low_part *part) {
    static const double way[8][2] = {{1, 0},  {.75, .75},   {0, 1},  {-.75, .75},
                                     {-1, 0}, {-.75, -.75}, {0, -1}, {.75, -.75}};
    vec3 at = w->call->positions[w->low[i].vertex];
    double u = v3_dot(at, w->along[0]), v = v3_dot(at, w->along[1]);
    double height = w->low[i].height, little = 1e-12 * w->call->skin->size;
    for (int k = 0; k < 9; k++) {
        double here = k == 8 ? -height : u * way[k][0] + v * way[k][1];
        double more = here - part->most[k];
        bool lower = more >= -little && height < w->low[part->best[k]].height - little;
        if (k == 8 ? more > 0 : more > little || lower) {
            part->most[k] = here;
            part->best[k] = i;
        }
    }
}

static abut_status add_part(plane_work *w, const low_part *part) {
    patch_candidate found[9];
    vec3 sum = v3(0, 0, 0);
    uint32_t count = 0;
    for (int k = 8; k >= 0; k--) {
        bool again = false;
        for (int i = 8; i > k; i--)
            again |= part->best[i] == part->best[k];
        if (again)
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
                           .depth = part->most[8],
                           .area = real_max(part->area, 0),
                           .volume = w->is_closed ? real_max(part->volume, 0) : 0,
                           .centre = sum};
    patch_choice choice = {.found = found,
                           .count = count,
                           .deepest = part->most[8],
                           .depth_tolerance = 1e-6};
    abuti_patch_choose(&choice, w->call->options->max_contacts, w->gap, &answer);
    return abuti_solid_add(w->call, &answer);
}

/* Subtracts the volume of cavities, which is below 0, from the largest patch. */
static void subtract_cavities(const solid_call *call, double volume) {
    size_t largest = 0;
    for (size_t i = 1; i < call->count; i++)
        if (call->answers[i].volume > call->answers[largest].volume)
            largest = i;
    if (call->count)
        call->answers[largest].volume = real_max(call->answers[largest].volume + volume, 0);
}

/* The parts: low vertices that triangles join. */
static abut_status add_parts(plane_work *w) {
    low_part *parts = NULL;
    size_t room = 0;
    double cavities = 0;
    uint32_t low[3];
    for (size_t i = 0; i < w->triangle_count; i++)
        for (int k = low_corners(w, w->triangles[i], low) - 1; k > 0; k--)
            abuti_join(w->parent, low[0], low[k]);
    abut_status status =
        abuti_patch_grow(w->call->memory, &parts, 0, w->low_count + 1, sizeof *parts, &room);
    if (status)
        return status;
    for (uint32_t i = 0; i < w->low_count; i++) {
        w->parent[i] = abuti_root(w->parent, i);
        low_part *part = &parts[w->parent[i]];
        if (w->parent[i] == i) {
            *part = (low_part){.area = 0};
            for (int k = 0; k < 9; k++)
                part->most[k] = -INFINITY;
        }
    }
    for (uint32_t i = 0; i < w->low_count; i++)
        add_low(w, i, &parts[w->parent[i]]);
    for (size_t i = 0; i < w->triangle_count; i++)
        if (low_corners(w, w->triangles[i], low))
            add_below(w, w->triangles[i], &parts[w->parent[low[0]]]);
    for (uint32_t i = 0; i < w->low_count && !status; i++)
        if (w->parent[i] == i) {
            status = add_part(w, &parts[i]);
            cavities += real_min(parts[i].volume, 0);
        }
    if (!status && w->is_closed)
        subtract_cavities(w->call, cavities);
    return status;
}

abut_status abuti_solid_plane(solid_call *call, const solid_view *view, const abut_solid *b) {
    plane_work w = {.call = call,
                    .flush = 1e-15 * call->skin->size,
                    .is_closed = call->skin->reliability.level == ABUT_RELIABILITY_GUARANTEED};
    w.gap = call->options->margin + w.flush;
    const abut_mesh *mesh = call->bvh->mesh;
    mat3 turn = quat_matrix(b->pose.rotation);
    vec3 up = m3_apply(&turn, v3_normalise(b->shape.plane.normal));
    double offset = b->shape.plane.offset / v3_length(b->shape.plane.normal);
    vec3 on = solid_seen(view, mesh, v3_along(b->pose.translation, offset, up));
    w.normal = v3_normalise(m3_apply(&view->back, up));
    w.offset = v3_dot(w.normal, on);
    abuti_patch_tangents(w.normal, w.along);
    solid_reach r = {.plane = true, .normal = w.normal, .limit = w.offset + w.gap};
    abut_status status = abuti_solid_triangles(call, &r, &w.triangles, &w.triangle_count);
    call->separates = true; /* no vertex is deeper than the deepest */
    if (status || !w.triangle_count)
        return status;
    status = find_low_vertices(&w);
    return status ? status : add_parts(&w);
}

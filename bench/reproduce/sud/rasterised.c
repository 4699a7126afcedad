/* The map: affine maps, the AABB tree with distance bounds, and rasterised polygons. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CORNERS = 72, MOST_PLANES = MOST_CORNERS - 3 };

/* The affine map of a triangle, M = A_t A_s A_r (section 3.3): rotated so that its first edge is
 * along that of its place in the atlas, scaled and sheared, and moved. */
typedef struct affine_map {
    vec3 from;      /* of the triangle */
    vec3 row[2];    /* A_s A_r */
    float to[2];    /* A_t */
    vec3 corner[3]; /* of the triangle, slightly enlarged: see update_affine() */
} affine_map;

/* A node of the AABB tree: its first child follows it. */
typedef struct tree_node {
    box3 box;
    float bound_sq;    /* no point inside is farther from the sites so far */
    uint32_t triangle; /* of a leaf, otherwise ABUT_NONE */
    uint32_t second;   /* child */
} tree_node;

struct sud_map {
    uint32_t resolution, triangle_count;
    float (*places)[3][2]; /* corners in the atlas */
    uint32_t *owner;       /* triangle of each texel: the stencil */
    affine_map *maps;
    tree_node *nodes;
    uint32_t node_count;
    uint32_t *indices; /* of the surface */
    vec3 *positions;
    uint32_t vertex_count;
    abut_vec3 origin;
    box3 domain;
    sud_sites sites;
    float *depth; /* squared distance of each texel */
    sud_texel *texels;
    sud_counts counts;
};

static void *array_of(size_t count, size_t bytes) {
    return calloc(count + 1, bytes);
}

/* ---- the tree ---- */

typedef struct tree_item {
    float key;
    vec3 centre;
    uint32_t triangle;
} tree_item;

static int compare_items(const void *a, const void *b) {
    const tree_item *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->triangle < y->triangle ? -1 : 1;
}

/* Splits at the median along the longest axis. */
static void build_node(sud_map *map, tree_item *items, uint32_t count) {
    tree_node *node = &map->nodes[map->node_count++];
    node->triangle = count == 1 ? items[0].triangle : ABUT_NONE;
    if (count == 1)
        return;
    box3 box = box_empty();
    for (uint32_t i = 0; i < count; i++)
        box = box_grow(box, items[i].centre);
    const int axis = box_longest_axis(box);
    for (uint32_t i = 0; i < count; i++)
        items[i].key = v3_get(items[i].centre, axis);
    qsort(items, count, sizeof *items, compare_items);
    build_node(map, items, count / 2);
    node->second = map->node_count;
    build_node(map, items + count / 2, count - count / 2);
}

static abut_status build_tree(sud_map *map) {
    tree_item *items = array_of(map->triangle_count, sizeof *items);
    if (!items)
        return ABUT_ERROR_MEMORY;
    for (uint32_t t = 0; t < map->triangle_count; t++) {
        items[t].triangle = t;
        for (uint32_t k = 0; k < 3; k++)
            items[t].centre = v3_along(items[t].centre, 1 / 3.0f,
                                       map->positions[map->indices[3 * (size_t)t + k]]);
    }
    build_node(map, items, map->triangle_count);
    free(items);
    return ABUT_OK;
}

/* Refits all boxes, bottom up. */
static void refit_tree(sud_map *map) {
    for (uint32_t i = map->node_count; i-- > 0;) {
        tree_node *node = &map->nodes[i];
        if (node->triangle == ABUT_NONE) {
            node->box = box_join(map->nodes[i + 1].box, map->nodes[node->second].box);
            continue;
        }
        node->box = box_empty();
        for (uint32_t k = 0; k < 3; k++)
            node->box = box_grow(node->box, map->maps[node->triangle].corner[k]);
    }
    map->domain = map->nodes[0].box;
}

/* ---- affine maps ---- */

/* The corners are moved from the centroid by a thousandth, so that rounding in the atlas excludes
 * no texel of the triangle. */
static void update_affine(sud_map *map, uint32_t triangle) {
    affine_map *m = &map->maps[triangle];
    float(*q)[2] = map->places[triangle];
    vec3 p[3], centre = v3(0, 0, 0);
    for (uint32_t k = 0; k < 3; k++) {
        p[k] = map->positions[map->indices[3 * (size_t)triangle + k]];
        centre = v3_along(centre, 1 / 3.0f, p[k]);
    }
    for (uint32_t k = 0; k < 3; k++)
        m->corner[k] = v3_along(p[k], 0x1p-10f, v3_sub(p[k], centre));
    /* A_r: the first edge is along x, the triangle in the plane of x and y */
    const vec3 side = v3_sub(p[1], p[0]), other = v3_sub(p[2], p[0]), x = v3_normalise(side),
               normal = v3_normalise(v3_cross(side, other)), y = v3_cross(normal, x);
    /* A_s: from the sides of both triangles */
    const float length = v3_dot(side, x), height = v3_dot(other, y);
    const float u[2] = {q[1][0] - q[0][0], q[1][1] - q[0][1]},
                v[2] = {q[2][0] - q[0][0], q[2][1] - q[0][1]};
    m->from = p[0];
    for (uint32_t k = 0; k < 2; k++) {
        const float along_x = length > 0 ? u[k] / length : 0;
        const float along_y = height > 0 ? (v[k] - along_x * v3_dot(other, x)) / height : 0;
        m->row[k] = v3_along(v3_scale(x, along_x), along_y, y);
        m->to[k] = q[0][k];
    }
}

/* ---- creation ---- */

void sud_map_destroy(sud_map *map) {
    if (!map)
        return;
    sud_sites_destroy(&map->sites);
    free(map->places);
    free(map->owner);
    free(map->maps);
    free(map->nodes);
    free(map->indices);
    free(map->positions);
    free(map->depth);
    free(map->texels);
    free(map);
}

/* Reads the places of triangles, and which texels belong to each. */
static abut_status read_atlas(const abut_map *atlas, sud_map *map) {
    const uint32_t n = map->resolution;
    for (uint32_t t = 0; t < map->triangle_count; t++) {
        double corners[3][2];
        abut_status status = abut_map_corners(atlas, t, corners);
        if (status)
            return status;
        for (uint32_t k = 0; k < 6; k++)
            map->places[t][k / 2][k % 2] = (float)corners[k / 2][k % 2];
    }
    for (uint32_t i = 0; i < n * n; i++) {
        abut_map_sample sample;
        abut_status status = abut_map_sample_at(atlas, i % n, i / n, &sample);
        if (status)
            return status;
        map->owner[i] = sample.triangle;
    }
    return ABUT_OK;
}

static void read_positions(sud_map *map, const abut_mesh *surface) {
    for (uint32_t v = 0; v < map->vertex_count; v++)
        map->positions[v] = sud_position(surface, v, map->origin);
}

abut_status sud_map_create(const abut_map *atlas, abut_mesh *body, sud_map **to) {
    const abut_mesh *surface = abut_map_mesh(atlas);
    abut_map_info info = abut_map_info_default();
    abut_status status = abut_map_get_info(atlas, &info);
    sud_map *map = calloc(1, sizeof *map);
    if (status || !map) {
        free(map);
        return status ? status : ABUT_ERROR_MEMORY;
    }
    const size_t texels = (size_t)info.resolution * info.resolution;
    map->resolution = info.resolution;
    map->triangle_count = abut_mesh_triangle_count(surface);
    map->vertex_count = abut_mesh_vertex_count(surface);
    map->origin = abut_mesh_local_origin(surface);
    map->places = array_of(map->triangle_count, sizeof *map->places);
    map->maps = array_of(map->triangle_count, sizeof *map->maps);
    map->nodes = array_of(2 * (size_t)map->triangle_count, sizeof *map->nodes);
    map->indices = array_of(3 * (size_t)map->triangle_count, sizeof *map->indices);
    map->positions = array_of(map->vertex_count, sizeof *map->positions);
    map->owner = array_of(texels, sizeof *map->owner);
    map->depth = array_of(texels, sizeof *map->depth);
    map->texels = array_of(texels, sizeof *map->texels);
    if (!map->places || !map->maps || !map->nodes || !map->indices || !map->positions ||
        !map->owner || !map->depth || !map->texels)
        status = ABUT_ERROR_MEMORY;
    if (!status) {
        memcpy(map->indices, abut_mesh_indices(surface),
               3 * (size_t)map->triangle_count * sizeof *map->indices);
        read_positions(map, surface);
    }
    if (status || (status = read_atlas(atlas, map)) || (status = build_tree(map)) ||
        (status = sud_sites_create(body, &map->sites)) ||
        (status = sud_map_set_meshes(map, surface, body))) {
        sud_map_destroy(map);
        return status;
    }
    *to = map;
    return ABUT_OK;
}

abut_status sud_map_set_meshes(sud_map *map, const abut_mesh *surface, const abut_mesh *body) {
    if (abut_mesh_vertex_count(surface) != map->vertex_count ||
        abut_mesh_vertex_count(body) != map->sites.vertex_count)
        return ABUT_ERROR_ARGUMENT;
    read_positions(map, surface);
    for (uint32_t t = 0; t < map->triangle_count; t++)
        update_affine(map, t);
    refit_tree(map);
    sud_sites_set_mesh(&map->sites, body, map->origin, map->domain);
    return ABUT_OK;
}

/* ---- rasterisation ---- */

/* A vertex of a polygon: in space, in the atlas, and its distance vector. */
typedef struct polygon_corner {
    vec3 at, vector;
    float x, y;
} polygon_corner;

/* Intersects a triangle with a polytope; returns the number of corners. */
static uint32_t clip_polygon(const sud_plane *planes, uint32_t plane_count, const vec3 triangle[3],
                             polygon_corner *polygon) {
    polygon_corner other[MOST_CORNERS], *from = polygon, *to = other;
    uint32_t count = 3;
    for (uint32_t k = 0; k < 3; k++)
        from[k].at = triangle[k];
    for (uint32_t i = 0; i < plane_count && count; i++) {
        uint32_t kept = 0;
        float before = v3_dot(planes[i].normal, from[count - 1].at) - planes[i].offset;
        for (uint32_t k = 0; k < count; k++) {
            const vec3 a = from[k ? k - 1 : count - 1].at, b = from[k].at;
            const float here = v3_dot(planes[i].normal, b) - planes[i].offset;
            if ((before > 0) != (here > 0))
                to[kept++].at = v3_lerp(a, b, before / (before - here));
            if (!(here > 0))
                to[kept++].at = b;
            before = here;
        }
        polygon_corner *swap = from;
        from = to;
        to = swap;
        count = kept;
    }
    if (from != polygon)
        memcpy(polygon, from, count * sizeof *polygon);
    return count;
}

/* The ends of a polygon on a row of texels, with the vectors there. Returns false if it does not
 * cross the row. */
static bool cross_row(const polygon_corner *polygon, uint32_t count, float y,
                      polygon_corner end[2]) {
    end[0] = (polygon_corner){.x = INFINITY};
    end[1] = (polygon_corner){.x = -INFINITY};
    for (uint32_t k = 0; k < count; k++) {
        const polygon_corner *a = &polygon[k ? k - 1 : count - 1], *b = &polygon[k];
        if ((a->y <= y) == (b->y <= y))
            continue;
        const float t = (y - a->y) / (b->y - a->y), x = a->x + t * (b->x - a->x);
        const vec3 vector = v3_lerp(a->vector, b->vector, t);
        if (x < end[0].x)
            end[0] = (polygon_corner){.x = x, .vector = vector};
        if (x > end[1].x)
            end[1] = (polygon_corner){.x = x, .vector = vector};
    }
    return end[0].x < end[1].x;
}

static void draw_polygon(sud_map *map, uint32_t triangle, uint32_t site,
                         const polygon_corner *polygon, uint32_t count) {
    const float n = (float)map->resolution;
    float lo = INFINITY, hi = -INFINITY;
    for (uint32_t k = 0; k < count; k++) {
        lo = fminf(lo, polygon[k].y);
        hi = fmaxf(hi, polygon[k].y);
    }
    const int first = (int)ceilf(fmaxf(lo - 0.5f, 0)), last = (int)floorf(fminf(hi, n) - 0.5f);
    for (int row = first; row <= last; row++) {
        polygon_corner end[2];
        if (!cross_row(polygon, count, (float)row + 0.5f, end))
            continue;
        const int begin = (int)ceilf(fmaxf(end[0].x - 0.5f, 0)),
                  until = (int)floorf(fminf(end[1].x, n) - 0.5f);
        const float per_texel = 1 / (end[1].x - end[0].x);
        for (int x = begin; x <= until; x++) {
            const uint32_t texel = (uint32_t)row * map->resolution + (uint32_t)x;
            if (map->owner[texel] != triangle) /* stencil test */
                continue;
            map->counts.fragments++;
            const vec3 vector =
                v3_lerp(end[0].vector, end[1].vector, ((float)x + 0.5f - end[0].x) * per_texel);
            const float depth = v3_length_sq(vector);
            if (!(depth < map->depth[texel])) /* depth test */
                continue;
            map->depth[texel] = depth;
            map->texels[texel] = (sud_texel){0, {vector.x, vector.y, vector.z}, site};
        }
    }
}

/* Lemma 1 for a triangle and a site: vectors at the corners of the polygon, transformed. */
static void draw_pair(sud_map *map, uint32_t triangle, uint32_t which) {
    const sud_site *site = &map->sites.list[which];
    const affine_map *m = &map->maps[triangle];
    polygon_corner polygon[MOST_CORNERS];
    const uint32_t planes = site->count < MOST_PLANES ? site->count : MOST_PLANES;
    const uint32_t count =
        clip_polygon(map->sites.planes + site->first, planes, m->corner, polygon);
    map->counts.pairs++;
    if (!count)
        return;
    map->counts.polygons++;
    for (uint32_t k = 0; k < count; k++) {
        polygon_corner *c = &polygon[k];
        const vec3 at = v3_sub(c->at, m->from);
        c->vector = sud_vector(site, c->at);
        c->x = v3_dot(m->row[0], at) + m->to[0];
        c->y = v3_dot(m->row[1], at) + m->to[1];
    }
    draw_polygon(map, triangle, which, polygon, count);
}

/* ---- culling ---- */

/* Whether an oriented and an axis-aligned box overlap, by the axes of both (not by products of
 * axes). */
static bool obb_overlaps(const sud_obb *obb, const box3 *box) {
    const vec3 between = v3_sub(box_centre(*box), obb->centre);
    const vec3 half = v3_scale(v3_sub(box->hi, box->lo), 0.5f);
    vec3 reach = v3(0, 0, 0);
    for (uint32_t k = 0; k < 3; k++) {
        const vec3 axis = v3_abs(obb->axis[k]);
        if (fabsf(v3_dot(obb->axis[k], between)) > obb->half[k] + v3_dot(axis, half))
            return false;
        reach = v3_along(reach, obb->half[k], axis);
    }
    const vec3 gap = v3_sub(v3_abs(between), v3_add(reach, half));
    return gap.x <= 0 && gap.y <= 0 && gap.z <= 0;
}

static float gap_sq(const box3 *a, const box3 *b) {
    const vec3 zero = v3(0, 0, 0);
    return v3_length_sq(v3_max(v3_max(v3_sub(a->lo, b->hi), v3_sub(b->lo, a->hi)), zero));
}

static void cull_site(sud_map *map, uint32_t which, uint32_t at) {
    const sud_site *site = &map->sites.list[which];
    tree_node *node = &map->nodes[at];
    map->counts.node_tests++;
    if (gap_sq(&node->box, &site->box) > node->bound_sq * (1 + 0x1p-16f))
        return;
    node->bound_sq = fminf(node->bound_sq, sud_far_sq(&node->box, &site->box));
    if (!obb_overlaps(&site->obb, &node->box))
        return;
    if (node->triangle != ABUT_NONE) {
        draw_pair(map, node->triangle, which);
        return;
    }
    cull_site(map, which, at + 1);
    cull_site(map, which, node->second);
    node->bound_sq = fminf(node->bound_sq,
                           fmaxf(map->nodes[at + 1].bound_sq, map->nodes[node->second].bound_sq));
}

sud_counts sud_map_compute(sud_map *map) {
    const size_t texels = (size_t)map->resolution * map->resolution;
    memset(&map->counts, 0, sizeof map->counts);
    for (size_t i = 0; i < texels; i++) {
        map->depth[i] = INFINITY;
        map->texels[i] = (sud_texel){INFINITY, {0, 0, 0}, ABUT_NONE};
    }
    for (uint32_t i = 0; i < map->node_count; i++)
        map->nodes[i].bound_sq = INFINITY;
    for (uint32_t i = 0; i < map->sites.count; i++) {
        const uint32_t which = map->sites.order[i];
        if (map->sites.list[which].kind != SUD_EMPTY)
            cull_site(map, which, 0);
    }
    for (size_t i = 0; i < texels; i++) {
        sud_texel *texel = &map->texels[i];
        if (texel->site == ABUT_NONE)
            continue;
        const vec3 vector = v3(texel->vector[0], texel->vector[1], texel->vector[2]);
        const bool inside = v3_dot(map->sites.list[texel->site].outward, vector) > 0;
        texel->distance = sqrtf(map->depth[i]) * (inside ? -1.0f : 1.0f);
    }
    return map->counts;
}

/* ---- results ---- */

sud_measures sud_map_scan(const sud_map *map) {
    sud_measures m = {INFINITY, -INFINITY, 0, 0};
    for (size_t i = 0; i < (size_t)map->resolution * map->resolution; i++) {
        if (map->texels[i].site == ABUT_NONE)
            continue;
        m.min = fminf(m.min, map->texels[i].distance);
        m.max = fmaxf(m.max, map->texels[i].distance);
        m.samples++;
        m.inside += map->texels[i].distance < 0;
    }
    return m;
}

void sud_map_texels(const sud_map *map, sud_texel *texels) {
    memcpy(texels, map->texels, (size_t)map->resolution * map->resolution * sizeof *texels);
}

/* Patches of texels within the margin, and their contacts.
 *
 * Texels of one triangle are neighbours in the atlas. Across an edge, texels of both triangles
 * along it are neighbours if they belong to the same segment of the edge, which is a few texels
 * long.
 */
#include "map/map.h"

#include "pair/contact_list.h"

#include <string.h>

enum {
    SEGMENT_TEXELS = 4 /* length of a segment of an edge in texels */,
    CONTACTS_DEFAULT = 4,
    CONTACTS_MAX = 8
};

/* A texel within the margin. */
typedef struct near_texel {
    uint32_t sample, rank; /* rank of its triangle */
    uint32_t patch;
    vec3 normal; /* unit, from the other body to this one */
} near_texel;

typedef struct edge_segment {
    uint64_t key; /* edge and segment of it */
    uint32_t other, at;
} edge_segment;

/* The side to which the faces of a body are oriented: outwards, inwards, or either way for a sheet.
 */
typedef enum body_facing { FACING_UNKNOWN = 0, FACING_OUT, FACING_IN, FACING_SHEET } body_facing;

typedef struct patch_search {
    const abut_map *map;
    abut_context *context;
    double margin;
    near_texel *list;
    uint32_t count;
    uint32_t *place;      /* index of each sample in the list, or ABUT_NONE */
    uint32_t *parent;     /* union-find sets of texels */
    body_facing *facings; /* of the other bodies, as far as needed */
    abuti_vector pieces;  /* edge_segment */
} patch_search;

/* ---- texels ---- */

static bool is_within_margin(const patch_search *g, uint32_t sample) {
    const abut_map_texel *answer = &g->map->results[sample];
    return answer->other != ABUT_NONE && answer->distance <= g->margin;
}

/* Whether a sample lies on the other surface, so that the vector has no direction. */
static bool is_flush(const abut_map *map, uint32_t sample) {
    const float *way = map->results[sample].vector;
    double length = v3_length(v3(way[0], way[1], way[2]));
    return !(length > 1e-12 * v3_max_abs(map->points[sample]) && length > 0);
}

static abut_status find_facing(const map_other *other, body_facing *facing) {
    const bvh_interior *interior;
    abut_status status = abuti_bvh_interior(other->posed.bvh, &interior);
    if (status)
        return status;
    bool sheet = !interior->has_solids;
    double volume = 0;
    for (uint32_t i = 0; i < other->mesh->triangle_count && !sheet; i++) {
        abut_triangle t = bvh_triangle(other->mesh, i);
        vec3 middle = v3_lerp(other->mesh->bounds.lo, other->mesh->bounds.hi, 0.5), p[3];
        for (int k = 0; k < 3; k++)
            p[k] = v3_sub(t.corner[k], middle);
        volume += v3_dot(p[0], v3_cross(p[1], p[2]));
    }
    *facing = sheet ? FACING_SHEET : volume < 0 ? FACING_IN : FACING_OUT;
    return ABUT_OK;
}

/* The normal of a sample that lies on the other surface: the outward direction of the other body,
 * which the samples slightly above and below its surface have. For a sheet, and for the surface
 * itself, the opposite of the normal of the sample. */
static vec3 flush_normal(const patch_search *g, uint32_t rank, uint32_t sample) {
    const abut_map *map = g->map;
    const abut_map_texel *answer = &map->results[sample];
    abut_triangle ours = bvh_triangle(map->mesh, map->ranked[rank]);
    const map_other *other = map->last_query == MAP_OTHERS ? &map->others[answer->other] : NULL;
    body_facing facing = other ? g->facings[answer->other] : FACING_SHEET;
    abut_triangle theirs = bvh_triangle(other ? other->mesh : map->mesh, answer->triangle);
    vec3 a = abuti_unit_normal(ours.corner[0], ours.corner[1], ours.corner[2]),
         b = abuti_unit_normal(theirs.corner[0], theirs.corner[1], theirs.corner[2]);
    if (other) {
        mat3 turn = quat_matrix(quat_normalise(other->posed.pose.rotation));
        b = m3_apply(&turn, b);
    }
    if (!(v3_length(a) > 0) && !(v3_length(b) > 0)) /* both are degenerate */
        return v3(0, 0, 1);
    if (!(v3_length(b) > 0))
        return v3_scale(a, -1);
    bool back = facing == FACING_SHEET ? v3_dot(a, b) > 0 : facing == FACING_IN;
    return back ? v3_scale(b, -1) : b;
}

/* The direction between sample and closest point. */
static vec3 normal_of(const patch_search *g, uint32_t rank, uint32_t sample) {
    const abut_map_texel *answer = &g->map->results[sample];
    if (is_flush(g->map, sample))
        return flush_normal(g, rank, sample);
    vec3 way = v3(answer->vector[0], answer->vector[1], answer->vector[2]);
    return v3_scale(way, (answer->distance < 0 ? 1 : -1) / v3_length(way));
}

/* Finds the orientation of all bodies that samples lie on. */
static abut_status find_facings(patch_search *g) {
    const abut_map *map = g->map;
    if (map->last_query != MAP_OTHERS)
        return ABUT_OK;
    g->facings = abuti_allocate_zeroed(g->context, map->other_count, sizeof *g->facings);
    if (!g->facings)
        return ABUT_ERROR_MEMORY;
    for (uint32_t s = 0; s < map->sample_count; s++) {
        if (!is_within_margin(g, s) || !is_flush(map, s))
            continue;
        uint32_t other = map->results[s].other;
        if (g->facings[other] != FACING_UNKNOWN)
            continue;
        abut_status status = find_facing(&map->others[other], &g->facings[other]);
        if (status)
            return status;
    }
    return ABUT_OK;
}

static abut_status list_texels(patch_search *g) {
    const abut_map *map = g->map;
    uint32_t count = 0;
    for (uint32_t s = 0; s < map->sample_count; s++)
        count += is_within_margin(g, s);
    abut_status status =
        ABUTI_ALLOCATE(g->context, ABUTI_ARRAY(g->list, count), ABUTI_ARRAY(g->parent, count),
                       ABUTI_ARRAY(g->place, map->sample_count));
    if (status || (status = find_facings(g)))
        return status;
    for (uint32_t i = 0; i < map->mesh->triangle_count; i++)
        for (uint32_t s = map->first[i]; s < map->first[i + 1]; s++) {
            g->place[s] = is_within_margin(g, s) ? g->count : ABUT_NONE;
            if (g->place[s] == ABUT_NONE)
                continue;
            g->parent[g->count] = g->count;
            g->list[g->count++] = (near_texel){s, i, 0, normal_of(g, i, s)};
        }
    return ABUT_OK;
}

/* ---- neighbours ---- */

/* The near texel at offset dx, dy of the same triangle and body, or ABUT_NONE. Sets `inner` to
 * false if that texel belongs to another triangle. */
static uint32_t near_neighbour(const patch_search *g, const near_texel *t, int dx, int dy,
                               bool *inner) {
    const abut_map *map = g->map;
    const int n = (int)map->atlas.resolution, texel = (int)map->texel[t->sample];
    const int x = texel % n + dx, y = texel / n + dy;
    uint32_t s = x < 0 || y < 0 || x >= n || y >= n ? ABUT_NONE : map->sample[y * n + x];
    if (s == ABUT_NONE || s < map->first[t->rank] || s >= map->first[t->rank + 1]) {
        *inner = false;
        return ABUT_NONE;
    }
    const uint32_t at = g->place[s];
    return at != ABUT_NONE && map->results[s].other == map->results[t->sample].other ? at
                                                                                     : ABUT_NONE;
}

/* Lists the segments of edges along which a texel at the boundary of its triangle lies. */
static abut_status add_segments(patch_search *g, const abut_topology_arrays *topology,
                                uint32_t at) {
    const abut_map *map = g->map;
    const near_texel *t = &g->list[at];
    const uint32_t triangle = map->ranked[t->rank], n = map->atlas.resolution;
    const double reach = abuti_map_reach(&map->atlas.places[triangle], map->mesh, triangle);
    abut_triangle corners = bvh_triangle(map->mesh, triangle);
    double weight[3];
    map_weights(&map->atlas.places[triangle], map->texel[t->sample] % n, map->texel[t->sample] / n,
                weight);
    for (uint32_t k = 0; k < 3; k++) {
        const vec3 *p = corners.corner;
        const uint32_t edge = topology->triangle_edges[3 * (size_t)triangle + k];
        const abut_segment side = {{p[k], p[(k + 1) % 3]}};
        abut_closest_on_segment closest;
        if (edge == ABUT_NONE ||
            abut_segment_closest_point(&side, map->points[t->sample], &closest) ||
            closest.distance > reach)
            continue;
        const double length =
            v3_length(v3_sub(side.end[1], side.end[0])) * map->atlas.scale / SEGMENT_TEXELS;
        const uint32_t pieces = length < 1e6 ? (uint32_t)length + 1 : 1000000;
        const uint32_t from = map->mesh->indices[3 * (size_t)triangle + k];
        double along =
            from == topology->edges[2 * (size_t)edge] ? closest.parameter : 1 - closest.parameter;
        uint32_t which = (uint32_t)(along * pieces);
        edge_segment *piece = ABUTI_PUSH(g->context, &g->pieces, edge_segment);
        if (!piece)
            return ABUT_ERROR_MEMORY;
        *piece = (edge_segment){(uint64_t)edge << 32 | which, map->results[t->sample].other, at};
    }
    return ABUT_OK;
}

static bool segment_after(const void *a, const void *b) {
    const edge_segment *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key;
    return x->other != y->other ? x->other > y->other : x->at > y->at;
}

static abut_status join_neighbours(patch_search *g, const abut_topology_arrays *topology) {
    abut_status status = ABUT_OK;
    for (uint32_t at = 0; at < g->count && !status; at++) {
        bool inner = true;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                uint32_t next = near_neighbour(g, &g->list[at], dx, dy, &inner);
                if (next != ABUT_NONE && next < at)
                    abuti_join(g->parent, next, at);
            }
        if (!inner)
            status = add_segments(g, topology, at);
    }
    if (status)
        return status;
    const edge_segment *pieces = g->pieces.data;
    abuti_sort_items(g->pieces.data, g->pieces.count, sizeof *pieces, segment_after);
    for (size_t i = 1; i < g->pieces.count; i++) {
        const edge_segment *a = &pieces[i - 1], *b = &pieces[i];
        if (a->key == b->key && a->other == b->other)
            abuti_join(g->parent, a->at, b->at);
    }
    return ABUT_OK;
}

/* ---- patches ---- */

static double depth_of(const patch_search *g, uint32_t at) {
    return -(double)g->map->results[g->list[at].sample].distance;
}

static vec3 middle_of(const patch_search *g, uint32_t at) {
    const uint32_t s = g->list[at].sample;
    const float *way = g->map->results[s].vector;
    return v3_along(g->map->points[s], 0.5, v3(way[0], way[1], way[2]));
}

static abut_contact contact_at(const patch_search *g, uint32_t at,
                               const abut_patch_options *options) {
    const near_texel *t = &g->list[at];
    const uint32_t triangle = g->map->ranked[t->rank];
    const uint32_t part = t->sample - g->map->first[t->rank];
    abut_contact contact = {.point = middle_of(g, at),
                            .normal = t->normal,
                            .depth = depth_of(g, at),
                            .a = options->a,
                            .b = options->b + g->map->results[t->sample].other,
                            .kind = ABUT_CONTACT_SURFACE,
                            .element = triangle,
                            .part = part & CONTACT_ID_PART_MAX};
    contact.id = contact_id(0, ABUT_CONTACT_SURFACE, triangle, contact.part);
    return contact;
}

/* Measures a patch with the texels list[members[0..count)]. */
static abut_patch measure_patch(const patch_search *g, const uint32_t *members, uint32_t count) {
    abut_patch patch = {.depth = -HUGE_VAL};
    vec3 normal = v3(0, 0, 0), centre = normal;
    for (uint32_t i = 0; i < count; i++) {
        double area = abuti_map_share(g->map, g->map->ranked[g->list[members[i]].rank]);
        patch.area += area;
        normal = v3_along(normal, area, g->list[members[i]].normal);
        centre = v3_along(centre, area, middle_of(g, members[i]));
        patch.depth = fmax(patch.depth, depth_of(g, members[i]));
    }
    patch.centre = patch.area > 0 ? v3_scale(centre, 1 / patch.area) : middle_of(g, members[0]);
    patch.normal =
        v3_length(normal) > 1e-9 * patch.area ? v3_normalise(normal) : g->list[members[0]].normal;
    return patch;
}

typedef struct patch_order {
    double depth;
    uint32_t begin, count; /* of its members */
    uint32_t first;        /* of its contacts */
    uint32_t other;        /* index of the body */
    double share;          /* of the intersection volume: sum of depths times areas */
} patch_order;

static bool patch_after(const void *a, const void *b) {
    const patch_order *x = a, *y = b;
    return x->depth != y->depth ? x->depth < y->depth : x->begin > y->begin;
}

/* Sorts texels by patches, and patches by depth. `members` has space for all texels, `orders` for
 * all patches. Returns the number of patches. */
static uint32_t order_patches(const patch_search *g, uint32_t *members, patch_order *orders) {
    uint32_t count = 0, begin = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t root = abuti_root(g->parent, i);
        if (root == i) {
            g->list[i].patch = count;
            orders[count++] = (patch_order){.depth = -HUGE_VAL};
        }
        g->list[i].patch = g->list[root].patch;
        patch_order *order = &orders[g->list[i].patch];
        order->count++;
        order->depth = fmax(order->depth, depth_of(g, i));
    }
    for (uint32_t k = 0; k < count; k++) {
        orders[k].begin = begin;
        begin += orders[k].count;
        orders[k].count = 0;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        patch_order *order = &orders[g->list[i].patch];
        members[order->begin + order->count++] = i;
    }
    abuti_sort_items(orders, count, sizeof *orders, patch_after);
    return count;
}

/* Sets volumes: the intersection volume of the map's mesh and a body is computed from their
 * triangles, and divided among the patches of that body by the depths of their texels. */
static abut_status measure_volumes(const patch_search *g, const uint32_t *members,
                                   patch_order *orders, uint32_t count, abut_patch *list) {
    const abut_map *map = g->map;
    abut_collider ours = {0};
    for (uint32_t k = 0; k < count; k++) {
        patch_order *order = &orders[k];
        order->other = map->results[g->list[members[order->begin]].sample].other;
        order->share = 0;
        for (uint32_t i = order->begin; i < order->begin + order->count; i++)
            order->share += fmax(0, depth_of(g, members[i])) *
                            abuti_map_share(map, map->ranked[g->list[members[i]].rank]);
    }
    abut_status status = abuti_map_bvh((abut_map *)(uintptr_t)map, &ours.shape.body.bvh);
    for (uint32_t k = 0; k < count && !status; k++) {
        const uint32_t other = orders[k].other;
        const abuti_posed *at = &map->others[other].posed;
        const abut_collider body = abut_collider_from_bvh(at->bvh, at->pose);
        abut_pair_measures common = abut_pair_measures_default();
        double sum = 0;
        if (!(orders[k].share > 0)) /* separated, or done with an earlier patch */
            continue;
        for (uint32_t i = k; i < count; i++)
            sum += orders[i].other == other ? orders[i].share : 0;
        status = abut_pair_measure(&ours, &body, NULL, &common);
        for (uint32_t i = k; i < count && !status; i++)
            if (orders[i].other == other) {
                list[i].volume = common.volume * (orders[i].share / sum);
                orders[i].share = 0;
            }
    }
    return status;
}

/* Writes the contacts of a patch, deepest first, and reduces them. Returns the number of those
 * kept.
 */
static uint32_t choose_contacts(const patch_search *g, const uint32_t *members, uint32_t count,
                                uint32_t keep, const abut_patch_options *options,
                                abut_contact *list) {
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < count; i++) {
        list[i] = contact_at(g, members[i], options);
        deepest = list[i].depth > list[deepest].depth ? i : deepest;
    }
    const abut_contact first = list[deepest];
    list[deepest] = list[0];
    list[0] = first;
    keep = keep < count ? keep : count;
    abuti_contact_choose(list, count, keep, v3(0, 0, 0)); /* texels have many normals */
    return keep;
}

static abut_status write_patches(const patch_search *g, const abut_patch_options *options,
                                 bool volumes, abut_patches *to) {
    uint32_t *members;
    abut_contact *list;
    patch_order *orders;
    const uint32_t keep = options->max_contacts ? options->max_contacts : CONTACTS_DEFAULT;
    abut_status status = ABUTI_ALLOCATE(g->context, ABUTI_ARRAY(members, g->count),
                                        ABUTI_ARRAY(list, g->count), ABUTI_ARRAY(orders, g->count));
    const uint32_t count = status ? 0 : order_patches(g, members, orders);
    uint32_t contacts = 0;
    for (uint32_t k = 0; k < count; k++) {
        orders[k].first = contacts;
        contacts += choose_contacts(g, members + orders[k].begin, orders[k].count, keep, options,
                                    list + contacts);
    }
    if (!status)
        status = abuti_patches_count("abut_map_contacts", count, contacts, to);
    if (!status) {
        to->is_verified = !count;
        to->reliability = g->map->reliability;
    }
    for (uint32_t k = 0; k < count && !status; k++) {
        const uint32_t end = k + 1 < count ? orders[k + 1].first : contacts;
        to->patches.list[k] = measure_patch(g, members + orders[k].begin, orders[k].count);
        to->patches.list[k].first = orders[k].first;
        to->patches.list[k].count = end - orders[k].first;
    }
    if (!status && volumes && g->map->last_query == MAP_OTHERS)
        status = measure_volumes(g, members, orders, count, to->patches.list);
    if (!status && contacts)
        memcpy(to->contacts.list, list, contacts * sizeof *list);
    ABUTI_RELEASE(g->context, members, list, orders);
    return status;
}

abut_status abuti_map_contacts(const abut_map *map, const abut_patch_options *options, bool volumes,
                               abut_patches *patches) {
    static const char function[] = "abut_map_contacts";
    abut_patch_options ours = abut_patch_options_default();
    abut_status status = abuti_map_check_on_host(function, map);
    if (!status && !patches)
        return abuti_null(function, "patches");
    if (status || (status = abuti_map_check_others(function, map)) ||
        (status = abuti_options_read(&ours, sizeof ours, options, "abut_map_contacts: options")))
        return status;
    if (map->last_query == MAP_THICKNESS)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the last query computed thickness, which has no contacts; call "
                          "abut_map_compute_distance() first",
                          function);
    if (!(ours.margin >= 0 && ours.margin < HUGE_VAL) || ours.max_contacts > CONTACTS_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->margin is %g and options->max_contacts is %u; the margin "
                          "must be finite and at least 0, max_contacts at most %d",
                          function, ours.margin, ours.max_contacts, CONTACTS_MAX);
    status = abuti_patches_check(function, patches);
    if (status)
        return status;
    abut_map *lazy = (abut_map *)(uintptr_t)map; /* maps have one user at a time */
    if (!map->topology && (status = abut_topology_create(map->mesh, &lazy->topology)))
        return status;
    abut_topology_arrays topology = abut_topology_arrays_default();
    abut_topology_get_arrays(map->topology, &topology);
    patch_search g = {.map = map, .context = map->context, .margin = ours.margin};
    if (!(status = list_texels(&g)) && !(status = join_neighbours(&g, &topology)))
        status = write_patches(&g, &ours, volumes, patches);
    ABUTI_RELEASE(g.context, g.list, g.parent, g.place, g.pieces.data, g.facings);
    return status;
}

abut_status abut_map_contacts(const abut_map *map, const abut_patch_options *options,
                              abut_patches *patches) {
    abut_patches ours = abut_patches_default();
    abut_status status = abuti_result_read(&ours, sizeof ours, patches, __func__, "patches");
    if (status)
        return status;
    return abuti_result_write(patches, &ours, abuti_map_contacts(map, options, true, &ours));
}

/* Bounds of penetration depths.
 *
 * Depth of the deepest point of the surface: every point of a triangle is within the reach of a
 * sample of that triangle, and depths are Lipschitz with constant 1. So no point is deeper than the
 * deepest sample of its triangle plus the reach (Sud et al. 2006, sections 5.1 and 6.2).
 *
 * Shift that separates: the deepest sample must leave the body, which takes at least its depth.
 * Along a unit vector n, a shift by max over b of n b - min over a of n a separates the convex
 * hulls of both bodies. Candidates are the direction out of the body at the deepest sample, the
 * mean of these directions over all samples inside, and 26 directions of a cube. The best one is
 * improved by pattern search.
 */
#include "map/map.h"

#include "sign/sign.h"

/* Steps of the pattern search, as tangents of angles. */
#define FIRST_STEP 0.5
#define LAST_STEP 1e-4
enum { ROUNDS_MAX = 200 };

typedef struct hull_overlap {
    const abut_mesh *surface, *body;
    pose motion; /* of the body */
    mat3 inverse;
} hull_overlap;

/* The extent of a mesh along a direction: the largest dot product of a vertex. */
static double extent_along(const abut_mesh *mesh, vec3 along) {
    double most = -HUGE_VAL;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        most = fmax(most, v3_dot(mesh->positions[v], along));
    return most + v3_dot(mesh->origin, along);
}

/* The overlap of the convex hulls along a unit vector: the shift of the surface that ends it. */
static double overlap_along(const hull_overlap *o, vec3 along) {
    const vec3 turned = m3_apply(&o->inverse, along);
    return extent_along(o->body, turned) + v3_dot(o->motion.translation, along) +
           extent_along(o->surface, v3_scale(along, -1));
}

static void try_direction(const hull_overlap *o, vec3 along, double *least, vec3 *best) {
    const double length = v3_length(along);
    if (!(length > 0 && length < HUGE_VAL))
        return;
    const vec3 unit = v3_scale(along, 1 / length);
    const double overlap = overlap_along(o, unit);
    if (overlap < *least) {
        *least = overlap;
        *best = unit;
    }
}

/* Improves a direction by steps in eight tangential directions, which become smaller. */
static void improve_direction(const hull_overlap *o, double *least, vec3 *best) {
    double step = FIRST_STEP;
    for (int round = 0; round < ROUNDS_MAX && step > LAST_STEP && *least > 0; round++) {
        const vec3 from = *best,
                   u = v3_normalise(v3_cross(from, fabs(from.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0)));
        const vec3 v = v3_cross(from, u);
        const double before = *least;
        for (int i = -1; i <= 1; i++)
            for (int j = -1; j <= 1; j++)
                if (i || j)
                    try_direction(o, v3_along(v3_along(from, i * step, u), j * step, v), least,
                                  best);
        step = *least < before ? step : 0.5 * step;
    }
}

/* Sets the shift. `out` are directions out of the body. */
static void find_shift(const abut_map *map, uint32_t other, const vec3 out[2],
                       abut_map_depth *depth) {
    const abuti_posed *posed = &map->others[other].posed;
    const map_motion motion = abuti_map_motion(&posed->pose);
    const hull_overlap o = {map->mesh,
                            map->others[other].mesh,
                            {quat_normalise(posed->pose.rotation), posed->pose.translation},
                            m3_transpose(&motion.turn)};
    double least = HUGE_VAL;
    vec3 best = v3(0, 0, 1);
    for (int k = 0; k < 27; k++)
        try_direction(&o, v3(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1), &least, &best);
    for (int k = 0; k < 2; k++)
        try_direction(&o, out[k], &least, &best);
    improve_direction(&o, &least, &best);
    const double size = fmax(v3_max_abs(o.surface->bounds.lo), v3_max_abs(o.surface->bounds.hi));
    depth->shift_upper =
        fmax(fmax(least, 0) + 4 * (map->rounding + MAP_ROUNDING * size), depth->shift_lower);
    depth->shift = v3_scale(best, depth->shift_upper);
}

static void find_depth(const abut_map *map, uint32_t other, abut_map_depth *depth) {
    double deepest = 0, upper = 0;
    vec3 out[2] = {v3(0, 0, 0), v3(0, 0, 0)}; /* of the deepest sample, and the mean */
    for (uint32_t i = 0; i < map->mesh->triangle_count; i++) {
        const uint32_t triangle = map->ranked[i];
        double least = map->limit;
        for (uint32_t s = map->first[i]; s < map->first[i + 1]; s++) {
            const abut_map_texel *texel = &map->results[s];
            least = fmin(least, texel->distance);
            if (texel->other != other || !(texel->distance < 0))
                continue;
            const vec3 way = v3(texel->vector[0], texel->vector[1], texel->vector[2]);
            out[1] = v3_along(out[1], abuti_map_share(map, triangle), way);
            if (-(double)texel->distance > deepest) {
                deepest = -(double)texel->distance;
                out[0] = way;
            }
        }
        const double reach = abuti_map_reach(&map->atlas.places[triangle], map->mesh, triangle);
        if (least < HUGE_VAL)
            upper = fmax(upper, reach - least + abuti_map_rounding(map, least));
    }
    depth->lower = fmax(deepest - abuti_map_rounding(map, deepest), 0);
    depth->upper = upper;
    depth->shift_lower = depth->lower;
    if (upper > 0)
        find_shift(map, other, out, depth);
}

abut_status abut_map_measure_depth(const abut_map *map, uint32_t other, abut_map_depth *depth) {
    abut_map_depth made = abut_map_depth_default();
    abut_status status = abuti_map_check_results(__func__, map);
    if (!status && !depth)
        return abuti_null(__func__, "depth");
    if (status || (status = abuti_info_check(depth, sizeof *depth, __func__)))
        return status;
    if (map->last_query != MAP_OTHERS)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the last query did not compute distances to other bodies; call "
                          "abut_map_compute_distance() first",
                          __func__);
    if (other >= map->other_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: other is %u; it must be below %u", __func__,
                          other, map->other_count);
    abut_sign_info sign = abut_sign_info_default();
    abut_sign_get_info(map->others[other].posed.bvh, &sign);
    if (!map->has_sign || sign.method == ABUT_SIGN_AUTO)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: distances to others[%u] have no sign; call abut_sign_prepare() for "
                          "it before abut_map_compute_distance()",
                          __func__, other);
    status = abuti_map_check_on_host(__func__, map);
    if (status)
        return status;
    find_depth(map, other, &made);
    return abuti_info_write(depth, &made, sizeof made, __func__);
}

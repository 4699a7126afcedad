/* Statistics of the results of a query. Sums over triangles are added in a fixed order, so that
 * they depend neither on threads nor on the device. */
#include "map/map.h"

#include <assert.h>
#include <string.h>

/* ---- value at a point ---- */

/* The sample nearest to a point of a triangle, in space: among the rows around it within the reach,
 * or among all rows with `all`, if none is there, as at the corners of slivers. Sets *way to the
 * distance. */
static uint32_t nearest_sample(const abut_map *map, uint32_t triangle, const double weight[3],
                               vec3 point, bool all, double *way) {
    const map_place *place = &map->atlas.places[triangle];
    double corners[3][2], x = 0, y = 0;
    abut_map_corners(map, triangle, corners);
    for (int k = 0; k < 3; k++) {
        x += weight[k] * corners[k][0];
        y += weight[k] * corners[k][1];
    }
    uint32_t best = ABUT_NONE;
    for (uint32_t j = 0; j < place->height; j++) {
        uint32_t begin, end;
        map_row(place, j, &begin, &end);
        if (begin == end || (!all && fabs(place->row + j + 0.5 - y) > place->reach_y + 0.001))
            continue;
        double from = floor(x - place->reach_x - 0.501), to = ceil(x + place->reach_x + 0.501);
        for (uint32_t i = begin; i < end; i++) {
            if (!all && (i < from || i > to))
                continue;
            uint32_t sample = map->sample[(place->row + j) * map->atlas.resolution + i];
            double d = v3_length(v3_sub(map->points[sample], point));
            if (best == ABUT_NONE || d < *way) {
                best = sample;
                *way = d;
            }
        }
    }
    return best;
}

abut_status abut_map_evaluate(const abut_map *map, uint32_t triangle, const double barycentric[3],
                              abut_map_value *value) {
    abut_status status = abuti_map_check_on_host(__func__, map);
    if (status)
        return status;
    if (!barycentric || !value)
        return abuti_null(__func__, value ? "barycentric" : "value");
    if (triangle >= map->mesh->triangle_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: triangle is %u; it must be below %u", __func__,
                          triangle, map->mesh->triangle_count);
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        if (!(barycentric[k] >= 0 && barycentric[k] <= 1))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: barycentric[%d] is %g; it must be from 0 to 1", __func__, k,
                              barycentric[k]);
        sum += barycentric[k];
    }
    if (!(fabs(sum - 1) <= 1e-6))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the sum of barycentric coordinates is %g; it must be 1", __func__,
                          sum);
    double way = 0;
    vec3 point = abuti_map_point(map, triangle, barycentric);
    uint32_t sample = nearest_sample(map, triangle, barycentric, point, false, &way);
    if (sample == ABUT_NONE)
        sample = nearest_sample(map, triangle, barycentric, point, true, &way);
    const abut_map_texel *answer = &map->results[sample];
    /* Beyond the limit only a lower bound is known. */
    const double d = answer->distance, error = way + abuti_map_rounding(map, d);
    vec3 to = v3(answer->vector[0], answer->vector[1], answer->vector[2]);
    *value = (abut_map_value){.lower = d - error,
                              .upper = d + error,
                              .vector = v3_sub(v3_add(map->points[sample], to), point),
                              .x = map->texel[sample] % map->atlas.resolution,
                              .y = map->texel[sample] / map->atlas.resolution};
    if (answer->other == ABUT_NONE) {
        value->vector = v3(0, 0, 0);
        value->lower = map->limit - way - abuti_map_rounding(map, 0);
    } else if (d > 0) {
        /* At most the distance to the closest point of the sample, which is the sample plus its
         * vector, rounded to floats. The vector may be far longer than the distance from here. */
        value->upper =
            fmin(value->upper, v3_length(value->vector) + 2 * abuti_map_rounding(map, d));
    }
    if (map->last_query == MAP_THICKNESS) { /* thickness may be discontinuous */
        value->lower = 0;
        value->upper = HUGE_VAL;
    }
    value->distance = real_clamp(d, value->lower, value->upper);
    return ABUT_OK;
}

/* ---- sums ---- */

static void make_witness(const abut_map *map, uint32_t sample, abut_map_texel answer,
                         abut_map_witness *w) {
    memset(w, 0, sizeof *w);
    w->other = w->triangle = w->other_triangle = ABUT_NONE;
    w->distance = HUGE_VAL;
    if (sample == ABUT_NONE)
        return;
    w->x = map->texel[sample] % map->atlas.resolution;
    w->y = map->texel[sample] / map->atlas.resolution;
    w->triangle = map->ranked[abuti_map_rank_of(map, sample)];
    w->point = abuti_map_sample_point(map, sample);
    w->other = answer.other;
    w->other_triangle = answer.triangle;
    w->feature = (abut_feature)answer.feature;
    w->other_point = v3_add(w->point, v3(answer.vector[0], answer.vector[1], answer.vector[2]));
    w->distance = answer.distance;
}

/* Sums over all triangles; sums of distances are weighted by area. */
typedef struct surface_sums {
    double area, found_area, within_area, inside_area;
    double sum, squares;
    double least_reach, greatest_reach; /* bounds over whole triangles */
    float lo, hi;
    uint32_t found, within, inside;
    uint32_t least, greatest; /* samples */
} surface_sums;

static surface_sums add_up_tallies(const abut_map *map, const map_tally *tallies) {
    surface_sums s = {.least_reach = INFINITY,
                      .greatest_reach = -INFINITY,
                      .lo = INFINITY,
                      .hi = -INFINITY,
                      .least = ABUT_NONE,
                      .greatest = ABUT_NONE};
    for (uint32_t i = 0; i < map->mesh->triangle_count; i++) {
        const map_tally *t = &tallies[i];
        const double share = t->area / (map->first[i + 1] - map->first[i]);
        s.area += t->area;
        s.found_area += share * t->found;
        s.within_area += share * t->within;
        s.inside_area += share * t->inside;
        s.sum += share * t->sum;
        s.squares += share * t->squares;
        s.least_reach = real_min(s.least_reach, t->lo - t->reach);
        s.greatest_reach = real_max(s.greatest_reach, t->hi + t->reach);
        s.found += t->found;
        s.within += t->within;
        s.inside += t->inside;
        if (t->lo < s.lo) { /* of equal distances the first sample */
            s.lo = t->lo;
            s.least = t->least;
        }
        if (t->hi > s.hi) {
            s.hi = t->hi;
            s.greatest = t->greatest;
        }
    }
    return s;
}

/* Computes the sums, and the results of the nearest and the farthest sample, if there are any. */
static abut_status sum_up_samples(const abut_map *map, double within, surface_sums *sums,
                                  abut_map_texel extremes[2]) {
    const map_backend *there = map->results_on_host ? &abuti_map_on_cpu : map->backend;
    map_tally *tallies = abuti_allocate(map->context, map->mesh->triangle_count, sizeof *tallies);
    abut_status status = tallies ? there->tally(map, within, tallies) : ABUT_ERROR_MEMORY;
    if (!status)
        *sums = add_up_tallies(map, tallies);
    abuti_release(map->context, tallies);
    for (int k = 0; k < 2 && !status && sums->found; k++) {
        const uint32_t sample = k ? sums->greatest : sums->least;
        assert(sample != ABUT_NONE); /* distances are finite */
        if (map->results_on_host)
            extremes[k] = map->results[sample];
        else
            status = there->fetch(map, sample, 1, &extremes[k]);
    }
    return status;
}

/* ---- quantiles ---- */

/* For each fraction of the area, finds the first distance up to which the area of samples reaches
 * it. */
static abut_status find_quantiles(const abut_map *map, const abut_map_measure_options *options,
                                  const surface_sums *all, double *values) {
    sort_key *keys;
    uint32_t *samples;
    double *shares;
    size_t count = 0;
    abut_status status =
        ABUTI_ALLOCATE(map->context, ABUTI_ARRAY(keys, 2 * (size_t)all->found),
                       ABUTI_ARRAY(samples, all->found), ABUTI_ARRAY(shares, all->found));
    for (uint32_t i = 0; i < map->mesh->triangle_count && !status; i++) {
        const double share = abuti_map_share(map, map->ranked[i]);
        for (uint32_t k = map->first[i]; k < map->first[i + 1]; k++)
            if (map->results[k].other != ABUT_NONE && share > 0) {
                keys[count] =
                    (sort_key){abuti_ordered_bits(map->results[k].distance), (uint32_t)count};
                samples[count] = k;
                shares[count++] = share;
            }
    }
    const sort_key *sorted = status ? NULL : abuti_sort_by_key(keys, keys + count, count);
    for (uint32_t q = 0; q < options->quantile_count && !status; q++) {
        double left = options->quantiles[q] * all->found_area;
        size_t i = 0;
        while (i + 1 < count && shares[sorted[i].value] < left)
            left -= shares[sorted[i++].value];
        values[q] = count ? map->results[samples[sorted[i].value]].distance : HUGE_VAL;
    }
    ABUTI_RELEASE(map->context, keys, samples, shares);
    return status;
}

/* ---- exact minimum ---- */

/* The exact smallest distance of all bodies, from their triangles, starting with the smallest
 * sample. The penetration depth is only known from samples: if bodies overlap, the error is that of
 * samples. */
static abut_status measure_exactly(const abut_map *map, abut_map_measures *m) {
    static const char function[] = "abut_map_measure";
    if (map->last_query != MAP_OTHERS)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->exact needs distances to other bodies; call "
                          "abut_map_compute_distance() first",
                          function);
    abut_collider ours = {0};
    abut_status checked = abuti_map_check_others(function, map);
    if (!checked && !(m->min.distance < 0))
        checked = abuti_map_bvh((abut_map *)(uintptr_t)map, &ours.shape.body.bvh);
    if (checked || m->min.distance < 0)
        return checked;
    const double lower = m->min.distance - m->min_error; /* of all signed distances */
    abut_pair_options options = abut_pair_options_default();
    options.surface_only = true;
    const abut_map_witness sample = m->min;
    for (uint32_t k = 0; k < map->other_count; k++) {
        const abuti_posed *at = &map->others[k].posed;
        const abut_collider body = abut_collider_from_bvh(at->bvh, at->pose);
        abut_separation s;
        abut_pair_cache cache = {0};
        bool within = true;
        abut_status status = ABUT_OK;
        if (k == sample.other)
            cache = (abut_pair_cache){.known = 1,
                                      .triangle_a = sample.triangle,
                                      .triangle_b = sample.other_triangle};
        else
            status = abut_pair_within(&ours, &body, fmin(m->min.distance, map->limit), &options,
                                      NULL, &within, NULL);
        if (!status && within)
            status = abut_pair_distance(&ours, &body, &options, &cache, &s);
        if (status)
            return status;
        if (!within || s.distance > map->limit || !(s.distance <= m->min.distance) ||
            (s.distance == m->min.distance && k > m->min.other && k != sample.other))
            continue;
        m->min.distance = s.distance;
        m->min.point = s.point_a;
        m->min.triangle = s.triangle_a;
        m->min.other = k;
        m->min.other_triangle = s.triangle_b;
        m->min.feature = s.feature_b;
        m->min.other_point = s.point_b;
    }
    /* Surfaces that touch may penetrate each other anywhere. */
    m->min_error = map->has_sign && !(m->min.distance > 0) ? real_max(-lower, 0) : 0;
    return ABUT_OK;
}

static abut_status check_options(const char *function, const abut_map_measure_options *options,
                                 const double *values) {
    if (!(options->within >= 0) && !(options->within < 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: options->within is NaN; it must be a number",
                          function);
    if (options->quantile_count && (!options->quantiles || !values))
        return abuti_null(function, values ? "quantiles" : "values");
    for (uint32_t q = 0; q < options->quantile_count; q++)
        if (!(options->quantiles[q] >= 0 && options->quantiles[q] <= 1))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: options->quantiles[%u] is %g; it must be from 0 to 1", function,
                              q, options->quantiles[q]);
    return ABUT_OK;
}

abut_status abut_map_measure(const abut_map *map, const abut_map_measure_options *options,
                             double *values, abut_map_measures *measures) {
    abut_map_measure_options ours = abut_map_measure_options_default();
    abut_status status = abuti_map_check_results(__func__, map);
    if (!status && !measures)
        return abuti_null(__func__, "measures");
    if (status ||
        (status = abuti_options_read(&ours, sizeof ours, options, "abut_map_measure: options")) ||
        (status = check_options(__func__, &ours, values)) ||
        (status = abuti_info_check(measures, sizeof *measures, __func__)))
        return status;
    abut_map_texel extremes[2] = {map_no_result(), map_no_result()};
    surface_sums all = {0};
    status = sum_up_samples(map, ours.within, &all, extremes);
    if (status)
        return status;
    abut_map_measures m = {.size = sizeof m,
                           .samples = map->sample_count,
                           .found = all.found,
                           .within = all.within,
                           .inside = all.inside,
                           .area = all.area,
                           .found_area = all.found_area,
                           .within_area = all.within_area,
                           .inside_area = all.inside_area};
    make_witness(map, all.least, extremes[0], &m.min);
    make_witness(map, all.greatest, extremes[1], &m.max);
    if (all.found) {
        const double weight = all.found_area > 0 ? all.found_area : 1;
        const double rounding =
            abuti_map_rounding(map, fmax(fabs(m.min.distance), fabs(m.max.distance)));
        m.min_error = m.min.distance - all.least_reach + rounding;
        m.max_error = all.greatest_reach - m.max.distance + rounding;
        if (map->last_query == MAP_THICKNESS)
            m.min_error = m.max_error = HUGE_VAL;
        m.mean = all.sum / weight;
        m.rms = sqrt(all.squares / weight);
    }
    if (ours.exact) {
        abut_context *before = abuti_context_enter(map->context);
        status = measure_exactly(map, &m);
        abuti_context_leave(before);
    }
    if (!status && ours.quantile_count)
        status = abuti_map_check_on_host(__func__, map);
    if (!status && ours.quantile_count)
        status = find_quantiles(map, &ours, &all, values);
    return status ? status : abuti_info_write(measures, &m, sizeof m, __func__);
}

/* ---- histogram, texels below a distance ---- */

abut_status abut_map_histogram(const abut_map *map, double lo, double hi, uint32_t count,
                               double *areas) {
    abut_status status = abuti_map_check_on_host(__func__, map);
    if (status)
        return status;
    if (!count || !(lo < hi && hi - lo < HUGE_VAL))
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: count is %u, lo is %g and hi is %g; count must be at least 1, and hi above lo",
            __func__, count, lo, hi);
    if (!areas)
        return abuti_null(__func__, "areas");
    memset(areas, 0, count * sizeof *areas);
    for (uint32_t i = 0; i < map->mesh->triangle_count; i++) {
        const double share = abuti_map_share(map, map->ranked[i]);
        for (uint32_t k = map->first[i]; k < map->first[i + 1]; k++) {
            if (map->results[k].other == ABUT_NONE)
                continue;
            double bin = (map->results[k].distance - lo) / (hi - lo) * count;
            areas[bin >= count ? count - 1 : bin > 0 ? (uint32_t)bin : 0] += share;
        }
    }
    return ABUT_OK;
}

abut_status abut_map_find_below(const abut_map *map, double distance, abut_index_list *texels) {
    abut_status status = abuti_map_check_on_host(__func__, map);
    if (status)
        return status;
    status = ABUTI_LIST_CHECK(__func__, "texels", texels);
    if (status)
        return status;
    if (isnan(distance))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: distance is NaN; it must be a number",
                          __func__);
    const size_t all = (size_t)map->atlas.resolution * map->atlas.resolution;
    for (int pass = 0; pass < 2; pass++) {
        uint64_t found = 0;
        for (size_t i = 0; i < all; i++) {
            const uint32_t sample = map->sample[i];
            if (sample == ABUT_NONE || map->results[sample].other == ABUT_NONE ||
                !(map->results[sample].distance <= distance))
                continue;
            if (pass)
                texels->list[found] = (uint32_t)i;
            found++;
        }
        status = ABUTI_LIST_COUNT(__func__, "texels", texels, found);
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* Pairs of solids whose bounding boxes overlap, by sort and sweep (Baraff 1992, section 5.2).
 *
 * Boxes are sorted along the axis on which their centres vary most, and each is compared with those
 * that begin before it ends. Exact queries test each pair. Images skip pixels where no two solids
 * overlap, by boxes in the view.
 */
#include "layers/layers.h"

box3 abuti_layers_bounds(const layers_solid *solid) {
    const layers_hull *h = &solid->hull;
    vec3 half = v3_scale(v3_sub(h->box.hi, h->box.lo), 0.5);
    vec3 middle = raster_move(&solid->motion, box_centre(h->box));
    vec3 ball = raster_move(&solid->motion, h->centre), r = v3(h->radius, h->radius, h->radius);
    vec3 reach = v3(v3_dot(v3_abs(solid->motion.rotation.row[0]), half),
                    v3_dot(v3_abs(solid->motion.rotation.row[1]), half),
                    v3_dot(v3_abs(solid->motion.rotation.row[2]), half));
    return (box3){v3_max(v3_sub(middle, reach), v3_sub(ball, r)),
                  v3_min(v3_add(middle, reach), v3_add(ball, r))};
}

/* Sorts the boxes that are not empty along the axis on which their centres vary most. */
static abut_status sort_boxes(abut_layers *layers, const box3 *boxes, int *axis,
                              const sort_key **sorted, size_t *count) {
    const size_t solids = layers->solids.count;
    abut_status status = abuti_layers_resize(layers, &layers->keys, 2 * solids, sizeof(sort_key));
    if (status)
        return status;
    sort_key *keys = layers->keys.data;
    vec3 sum = v3(0, 0, 0), squares = sum;
    *count = 0;
    for (size_t i = 0; i < solids; i++) {
        if (boxes[i].lo.x > boxes[i].hi.x)
            continue;
        const vec3 c = box_centre(boxes[i]);
        sum = v3_add(sum, c);
        squares = v3_add(squares, v3(c.x * c.x, c.y * c.y, c.z * c.z));
        keys[(*count)++].value = (uint32_t)i;
    }
    double most = -1;
    for (int k = 0; k < 3 && *count; k++) {
        const double mean = v3_get(sum, k) / (double)*count,
                     variance = v3_get(squares, k) / (double)*count - mean * mean;
        *axis = variance > most ? k : *axis;
        most = real_max(most, variance);
    }
    for (size_t i = 0; i < *count; i++)
        keys[i].key = abuti_ordered_bits(v3_get(boxes[keys[i].value].lo, *axis));
    *sorted = abuti_sort_by_key(keys, keys + *count, *count);
    return ABUT_OK;
}

static bool boxes_overlap(const box3 *a, const box3 *b) {
    return a->lo.x <= b->hi.x && b->lo.x <= a->hi.x && a->lo.y <= b->hi.y && b->lo.y <= a->hi.y &&
           a->lo.z <= b->hi.z && b->lo.z <= a->hi.z;
}

/* Lists both orders of each pair, unsorted. */
static abut_status list_pairs(abut_layers *layers, const box3 *boxes, abuti_vector *pairs) {
    const sort_key *sorted;
    size_t count;
    int axis = 0;
    abut_status status = sort_boxes(layers, boxes, &axis, &sorted, &count);
    pairs->count = 0;
    for (size_t i = 0; i < count && !status; i++) {
        const uint32_t a = sorted[i].value;
        for (size_t j = i + 1; j < count && !status; j++) {
            const uint32_t b = sorted[j].value;
            if (v3_get(boxes[b].lo, axis) > v3_get(boxes[a].hi, axis))
                break;
            if (!boxes_overlap(&boxes[a], &boxes[b]) ||
                !layers_may_collide(&layers_solids(layers)[a], &layers_solids(layers)[b]))
                continue;
            status =
                abuti_vector_reserve(layers->context, pairs, pairs->count + 2, sizeof(sort_key));
            if (status)
                break;
            sort_key *to = (sort_key *)pairs->data + pairs->count;
            to[0].key = (uint64_t)a << 32 | b;
            to[1].key = (uint64_t)b << 32 | a;
            pairs->count += 2;
        }
    }
    return status;
}

abut_status abuti_layers_sweep(abut_layers *layers) {
    const size_t solids = layers->solids.count;
    abuti_vector pairs = {0};
    abut_status status = list_pairs(layers, layers->boxes.data, &pairs);
    const size_t count = pairs.count;
    if (!status)
        status = abuti_vector_reserve(layers->context, &pairs, 2 * count, sizeof(sort_key));
    if (!status)
        status = abuti_layers_resize(layers, &layers->near_begin, solids + 1, sizeof(size_t));
    if (!status)
        status = abuti_layers_resize(layers, &layers->near, count, sizeof(uint32_t));
    if (!status) {
        sort_key *keys = pairs.data;
        const sort_key *sorted = abuti_sort_by_key(keys, keys + count, count);
        size_t *begin = layers->near_begin.data, at = 0;
        for (size_t i = 0; i <= solids; i++) {
            while (at < count && sorted[at].key >> 32 < i)
                at++;
            begin[i] = at;
        }
        for (size_t i = 0; i < count; i++)
            ((uint32_t *)layers->near.data)[i] = (uint32_t)sorted[i].key;
    }
    abuti_release(layers->context, pairs.data);
    return status;
}

abut_status abuti_layers_find_candidates(abut_layers *layers) {
    abut_status status =
        abuti_layers_resize(layers, &layers->boxes, layers->solids.count, sizeof(box3));
    for (size_t i = 0; i < layers->solids.count && !status; i++) {
        const layers_solid *solid = &layers_solids(layers)[i];
        box3 box = box_empty();
        if (solid->used) {
            box = abuti_layers_bounds(solid);
            /* a bound of the rounding of posed vertices */
            const double more = 0x1p-40 * (v3_max_abs(box.lo) + v3_max_abs(box.hi) +
                                           v3_max_abs(solid->motion.translation));
            box.lo = v3_sub(box.lo, v3(more, more, more));
            box.hi = v3_add(box.hi, v3(more, more, more));
        }
        ((box3 *)layers->boxes.data)[i] = box;
    }
    return status ? status : abuti_layers_sweep(layers);
}

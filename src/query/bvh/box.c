/* Triangles in a box: boxes of nodes in floats, rounded so that none is missed, then the exact
 * predicate of src/foundation/geom. */
#include "bvh/cull.h"
#include "bvh/gather.h"
#include "bvh/points.h"

#include "device/array.h"
#include "geom/intersect_shared.h"

typedef struct box_query {
    const abut_bvh *bvh;
    abut_box box; /* absolute */
    bvh_region frame;
} box_query;

/* Visits all triangles that intersect the box. Writes them unless null. Returns their number. */
static uint32_t visit_box(const box_query *r, uint32_t *triangles) {
    uint32_t stack[BVH_STACK], used = 0, count = 0;
    stack[used++] = 0;
    while (used) {
        uint32_t next = stack[--used];
        if (!(next & BVH_LEAF)) {
            const bvh_node *node = &r->bvh->nodes[next];
            unsigned met = bvh_region_boxes(&r->frame, node);
            for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
                if (met >> slot & 1 && node->child[slot] != ABUT_NONE)
                    stack[used++] = node->child[slot];
            continue;
        }
        uint32_t leaf = next & ~BVH_LEAF;
        for (uint32_t i = 0; i < bvh_leaf_fill(r->bvh, leaf); i++) {
            uint32_t triangle = r->bvh->order[leaf * BVH_WIDTH + i];
            if (!box_triangle_intersect(r->box, bvh_triangle(r->bvh->mesh, triangle)))
                continue;
            if (triangles)
                triangles[count] = triangle;
            count++;
        }
    }
    return count;
}

static bool is_index_after(const void *a, const void *b) {
    return *(const uint32_t *)a > *(const uint32_t *)b;
}

/* Validates a single box, or one of many if the index is not SIZE_MAX. */
static abut_status check_box(const char *function, const abut_box *box, size_t index) {
    char what[32] = "box";
    if (!box)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: box is null; pass its address", function);
    if (index != SIZE_MAX)
        snprintf(what, sizeof what, "boxes[%zu]", index);
    char lo[48], hi[48];
    snprintf(lo, sizeof lo, "%s%slo", what, index == SIZE_MAX ? "->" : ".");
    snprintf(hi, sizeof hi, "%s%shi", what, index == SIZE_MAX ? "->" : ".");
    abut_status status;
    if ((status = abuti_bvh_check_point(function, lo, box->lo)) ||
        (status = abuti_bvh_check_point(function, hi, box->hi)))
        return status;
    if (!(box->lo.x <= box->hi.x && box->lo.y <= box->hi.y && box->lo.z <= box->hi.z))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s has lo (%g, %g, %g) beyond hi (%g, %g, %g); lo must not "
                          "exceed hi on any axis",
                          function, what, box->lo.x, box->lo.y, box->lo.z, box->hi.x, box->hi.y,
                          box->hi.z);
    return ABUT_OK;
}

static bool is_box_valid(const void *items, size_t i) {
    const abut_box *box = (const abut_box *)items + i;
    const double *lo = &box->lo.x, *hi = &box->hi.x;
    bool is_valid = true;
    for (int axis = 0; axis < 3; axis++)
        is_valid = is_valid && -ABUT_COORDINATE_MAX <= lo[axis] && lo[axis] <= hi[axis] &&
                   hi[axis] <= ABUT_COORDINATE_MAX;
    return is_valid;
}

abut_status abut_bvh_find_in_box(const abut_bvh *bvh, const abut_box *box,
                                 abut_index_list *triangles) {
    abut_status status;
    if ((status = abuti_bvh_check(__func__, bvh, triangles, "triangles")) ||
        (status = check_box(__func__, box, SIZE_MAX)) ||
        (status = ABUTI_LIST_CHECK(__func__, "triangles", triangles)))
        return status;
    box_query r = {bvh, *box, bvh_region_of(bvh, box)};
    const uint32_t found =
        visit_box(&r, NULL); /* counted first, so that a list that is too short stays unchanged */
    status = ABUTI_LIST_COUNT(__func__, "triangles", triangles, found);
    if (status)
        return status;
    visit_box(&r, triangles->list);
    abuti_sort_items(triangles->list, found, sizeof *triangles->list, is_index_after);
    return ABUT_OK;
}

/* ---- batches ---- */

typedef struct box_batch {
    const abut_bvh *bvh;
    const abut_box *boxes;
    uint32_t *triangles;
} box_batch;

static uint32_t find_in_box(const void *user, size_t i, bool write, uint64_t at) {
    const box_batch *b = user;
    box_query r = {b->bvh, b->boxes[i], bvh_region_of(b->bvh, &b->boxes[i])};
    uint32_t *to = write ? b->triangles + at : NULL, found = visit_box(&r, to);
    if (write)
        abuti_sort_items(to, found, sizeof *to, is_index_after);
    return found;
}

static abut_status find_in_boxes(const char *function, const abut_bvh *bvh, abut_array boxes,
                                 size_t count, uint64_t capacity, abut_array offsets,
                                 abut_array triangles, uint64_t *total) {
    const box_batch b = {bvh, boxes.host, triangles.host};
    const bvh_gather g = {function,  "boxes", "triangles",      bvh, count,      capacity, offsets,
                          triangles, total,   sizeof(uint32_t), &b,  find_in_box};
    abut_status status = abuti_gather_check(&g);
    if (!status)
        status = abuti_bvh_check_array(function, "boxes", bvh, boxes, count, sizeof(abut_box));
    if (status)
        return status;
    const size_t invalid =
        boxes.host ? abuti_bvh_find_invalid(bvh->context, boxes.host, count, is_box_valid)
                   : SIZE_MAX;
    if (invalid != SIZE_MAX)
        return check_box(function, (const abut_box *)boxes.host + invalid, invalid);
    return bvh->there ? abuti_bvh_boxes_on_device(&g, boxes) : abuti_gather_run(&g);
}

abut_status abut_bvh_find_in_box_batch(const abut_bvh *bvh, abut_array boxes, size_t count,
                                       uint64_t capacity, abut_array offsets, abut_array triangles,
                                       uint64_t *total) {
    void *copy;
    abut_status status = abuti_bvh_check_batch(__func__, bvh, bvh, "bvh");
    if (status)
        return status;
    status = abuti_array_convert(__func__, "boxes", bvh->context, &boxes, count,
                                 sizeof(abut_box) / sizeof(double), &copy);
    if (!status)
        status = find_in_boxes(__func__, bvh, boxes, count, capacity, offsets, triangles, total);
    abuti_release(bvh->context, copy);
    return status;
}

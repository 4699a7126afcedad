/* Triangles in a box: boxes of nodes in floats, rounded so that none is missed, then the exact
 * predicate of src/geom. */
#include "bvh/cull.h"

#include "geom/meet_shared.h"

typedef struct region {
    const abut_bvh *bvh;
    abut_box box; /* absolute */
    bvh_region frame;
} region;

/* Visits all triangles that meet the box; notes them unless null. Gives their number. */
static uint32_t region_visit(const region *r, uint32_t *triangles) {
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
            if (!box_triangle_meet(r->box, bvh_triangle(r->bvh->mesh, triangle)))
                continue;
            if (triangles)
                triangles[count] = triangle;
            count++;
        }
    }
    return count;
}

static bool number_after(const void *a, const void *b) {
    return *(const uint32_t *)a > *(const uint32_t *)b;
}

abut_status abut_bvh_box(const abut_bvh *bvh, const abut_box *box, uint32_t capacity,
                         uint32_t *triangles, uint32_t *count) {
    abut_status status = abuti_bvh_check(__func__, bvh, count, "count");
    if (!status && !box)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: box is null; pass its address", __func__);
    status = status ? status : abuti_bvh_check_point(__func__, "box->lo", box->lo);
    status = status ? status : abuti_bvh_check_point(__func__, "box->hi", box->hi);
    if (!status && !(box->lo.x <= box->hi.x && box->lo.y <= box->hi.y && box->lo.z <= box->hi.z))
        status =
            abuti_fail(ABUT_ERROR_ARGUMENT,
                       "%s: the box has lo (%g, %g, %g) beyond hi (%g, %g, %g); lo must not "
                       "exceed hi on any axis",
                       __func__, box->lo.x, box->lo.y, box->lo.z, box->hi.x, box->hi.y, box->hi.z);
    if (!status && !triangles && capacity)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: triangles is null, but capacity is %u",
                            __func__, capacity);
    if (status)
        return status;
    region r = {bvh, *box, bvh_region_of(bvh, box)};
    uint32_t found = region_visit(&r, NULL); /* first counted: a small buffer stays untouched */
    *count = found;
    if (found > capacity)
        return abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %u triangles, but room for %u only",
                          __func__, found, capacity);
    region_visit(&r, triangles);
    abuti_bvh_sort(triangles, found, sizeof *triangles, number_after);
    return ABUT_OK;
}

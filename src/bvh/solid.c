/* What questions about inside and outside need to know of a mesh: its connected parts and its
 * border, both from indices alone. O(n log n), once, when first wanted. */
#include "bvh/bvh.h"

/* The lowest vertex of each part. `parent` and `list` have room for all vertices; a vertex in no
 * triangle is in no part. */
static uint32_t list_parts(const abut_mesh *mesh, uint32_t *parent, uint32_t *list) {
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        parent[v] = ABUT_NONE;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        parent[mesh->indices[i]] = mesh->indices[i];
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->indices + 3 * t;
        abuti_join(parent, corner[0], corner[1]);
        abuti_join(parent, corner[0], corner[2]);
    }
    uint32_t count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        if (parent[v] == v)
            list[count++] = v;
    return count;
}

/* Sides of triangles as pairs of vertices, the lower one first: from the start those that run up,
 * from the end those that run down. Gives the number of the former; sides of no length are left
 * out. */
static size_t list_sides(const abut_mesh *mesh, uint64_t *sides, size_t *end) {
    size_t up = 0, down = 3 * (size_t)mesh->triangle_count;
    *end = down;
    for (size_t t = 0; t < mesh->triangle_count; t++)
        for (size_t k = 0; k < 3; k++) {
            uint64_t from = mesh->indices[3 * t + k], to = mesh->indices[3 * t + (k + 1) % 3];
            if (from < to)
                sides[up++] = from << 32 | to;
            else if (to < from)
                sides[--down] = to << 32 | from;
        }
    /* close the hole that sides of no length have left */
    size_t count = *end - down;
    memmove(sides + up, sides + down, count * sizeof *sides);
    *end = up + count;
    return up;
}

/* The sides that occur more often in one direction: both lists are sorted, and each pair of equals
 * cancels. Writes them unless null. */
static uint32_t list_border(const uint64_t *sides, size_t up, size_t end, uint32_t (*border)[2]) {
    uint32_t count = 0;
    for (size_t i = 0, j = up; i < up || j < end;) {
        if (i < up && j < end && sides[i] == sides[j]) {
            i++;
            j++;
            continue;
        }
        bool runs_up = j == end || (i < up && sides[i] < sides[j]);
        uint64_t side = runs_up ? sides[i++] : sides[j++];
        if (border) {
            border[count][0] = (uint32_t)(runs_up ? side >> 32 : side);
            border[count][1] = (uint32_t)(runs_up ? side : side >> 32);
        }
        count++;
    }
    return count;
}

static bvh_solid *make_solid(const abut_bvh *bvh) {
    const abut_mesh *mesh = bvh->mesh;
    abut_context *context = bvh->context;
    size_t side_count = 3 * (size_t)mesh->triangle_count, end;
    uint64_t *sides = abuti_allocate(context, side_count, 2 * sizeof *sides);
    uint32_t *work = abuti_allocate(context, mesh->vertex_count, 2 * sizeof *work);
    bvh_solid *solid = NULL;
    if (sides && work) {
        uint32_t *list = work + mesh->vertex_count, part_count = list_parts(mesh, work, list);
        size_t up = list_sides(mesh, sides, &end);
        abuti_sort_keys(sides, sides + side_count, up);
        abuti_sort_keys(sides + up, sides + side_count, end - up);
        uint32_t border_count = list_border(sides, up, end, NULL);
        size_t bytes =
            sizeof *solid + ((size_t)part_count + 2 * (size_t)border_count) * sizeof(uint32_t);
        solid = abuti_allocate(context, 1, bytes);
        if (solid) {
            solid->part_count = part_count;
            solid->border_count = border_count;
            solid->border = (uint32_t(*)[2])(solid + 1);
            solid->parts = (uint32_t *)(solid->border + border_count);
            memcpy(solid->parts, list, part_count * sizeof *list);
            list_border(sides, up, end, solid->border);
        }
    }
    abuti_release(context, sides);
    abuti_release(context, work);
    return solid;
}

abut_status abuti_bvh_solid(const abut_bvh *bvh, const bvh_solid **solid) {
    _Atomic(bvh_solid *) *kept = &((abut_bvh *)(uintptr_t)bvh)->solid;
    bvh_solid *made = atomic_load(kept), *none = NULL;
    if (!made) {
        made = make_solid(bvh);
        if (!made)
            return ABUT_ERROR_MEMORY;
        if (!atomic_compare_exchange_strong(kept, &none, made)) {
            abuti_release(bvh->context, made); /* another thread was faster */
            made = none;
        }
    }
    *solid = made;
    return ABUT_OK;
}

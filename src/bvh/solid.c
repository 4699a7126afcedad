/* What questions about inside and outside need to know of a mesh: its connected parts and its
 * border. O(n log n), once, when first wanted. From indices alone where that leaves no border; such
 * a list stays true when vertices move. Else vertices in one place count as one, as long as they
 * stay so. */
#include "bvh/bvh.h"

/* The lowest vertex of each part. `parent` and `list` have room for all vertices; a vertex in no
 * triangle is in no part. */
static uint32_t list_parts(const abut_mesh *mesh, const uint32_t *names, uint32_t *parent,
                           uint32_t *list) {
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        parent[v] = ABUT_NONE;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        parent[mesh->indices[i]] = mesh->indices[i];
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->indices + 3 * t;
        abuti_join(parent, corner[0], corner[1]);
        abuti_join(parent, corner[0], corner[2]);
    }
    for (uint32_t v = 0; names && v < mesh->vertex_count; v++)
        if (parent[v] != ABUT_NONE && parent[names[v]] != ABUT_NONE)
            abuti_join(parent, v, names[v]);
    uint32_t count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        if (parent[v] == v)
            list[count++] = v;
    return count;
}

/* Sides of triangles as pairs of vertices, the lower one first: from the start those that run up,
 * from the end those that run down. Gives the number of the former; sides of no length are left
 * out. */
static size_t list_sides(const abut_mesh *mesh, const uint32_t *names, uint64_t *sides,
                         size_t *end) {
    size_t up = 0, down = 3 * (size_t)mesh->triangle_count;
    *end = down;
    for (size_t t = 0; t < mesh->triangle_count; t++)
        for (size_t k = 0; k < 3; k++) {
            uint32_t tail = mesh->indices[3 * t + k], head = mesh->indices[3 * t + (k + 1) % 3];
            uint64_t from = names ? names[tail] : tail, to = names ? names[head] : head;
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

/* Arrays to work with, for a mesh. */
typedef struct solid_work {
    uint64_t *sides, *buffer; /* as many again to sort with */
    size_t up, end;
    uint32_t *names, *parent, *list; /* a vertex each */
    uint32_t border_count;
} solid_work;

/* Sorts one of the two lists of sides, or both. */
static void sort_task(void *data, size_t chunk, size_t begin, size_t end) {
    const solid_work *work = data;
    (void)chunk;
    for (size_t list = begin; list < end; list++) {
        size_t first = list ? work->up : 0, last = list ? work->end : work->up;
        abuti_sort_keys(work->sides + first, work->buffer + first, last - first);
    }
}

static void find_border(const abut_mesh *mesh, const uint32_t *names, solid_work *work) {
    work->buffer = work->sides + 3 * (size_t)mesh->triangle_count;
    work->up = list_sides(mesh, names, work->sides, &work->end);
    abuti_parallel_for(mesh->context, 2, 1, sort_task, work);
    work->border_count = list_border(work->sides, work->up, work->end, NULL);
}

/* Whether no two vertices are in one place, so that names change nothing. */
static bool all_apart(const uint32_t *names, uint32_t count) {
    for (uint32_t v = 0; v < count; v++)
        if (names[v] != v)
            return false;
    return true;
}

static bvh_solid *fill_solid(const abut_bvh *bvh, const uint32_t *names, const solid_work *work) {
    const abut_mesh *mesh = bvh->mesh;
    uint32_t part_count = list_parts(mesh, names, work->parent, work->list);
    size_t words =
        (size_t)part_count + 2 * (size_t)work->border_count + (names ? mesh->vertex_count : 0);
    bvh_solid *solid = abuti_allocate(bvh->context, 1, sizeof *solid + words * sizeof(uint32_t));
    if (!solid)
        return NULL;
    solid->part_count = part_count;
    solid->border_count = work->border_count;
    solid->border = (uint32_t(*)[2])(solid + 1);
    solid->parts = (uint32_t *)(solid->border + work->border_count);
    solid->names = names ? solid->parts + part_count : NULL;
    memcpy(solid->parts, work->list, part_count * sizeof *work->list);
    list_border(work->sides, work->up, work->end, solid->border);
    if (names)
        memcpy(solid->names, names, mesh->vertex_count * sizeof *names);
    return solid;
}

static bvh_solid *make_solid(const abut_bvh *bvh) {
    const abut_mesh *mesh = bvh->mesh;
    abut_context *context = bvh->context;
    solid_work work;
    memset(&work, 0, sizeof work);
    work.sides = abuti_allocate(context, mesh->triangle_count, 6 * sizeof *work.sides);
    work.names = abuti_allocate(context, mesh->vertex_count, 3 * sizeof *work.names);
    bvh_solid *solid = NULL;
    if (work.sides && work.names) {
        work.parent = work.names + mesh->vertex_count;
        work.list = work.parent + mesh->vertex_count;
        abut_status status = ABUT_OK;
        find_border(mesh, NULL, &work);
        bool named = work.border_count > 0;
        if (named)
            status =
                abuti_coincident_vertices(context, mesh->positions, mesh->vertex_count, work.names);
        if (named && !status && !all_apart(work.names, mesh->vertex_count))
            find_border(mesh, work.names, &work);
        if (!status)
            solid = fill_solid(bvh, named ? work.names : NULL, &work);
    }
    abuti_release(context, work.sides);
    abuti_release(context, work.names);
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

void abuti_bvh_solid_destroy(abut_bvh *bvh) {
    abuti_release(bvh->context, atomic_exchange(&bvh->solid, NULL));
}

bool abuti_bvh_names_hold(const abut_mesh *mesh, const uint32_t *names) {
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        uint32_t v = mesh->indices[i], name = names[v];
        if (name == v)
            continue;
        if (name >= mesh->vertex_count) /* vertices that no triangle uses may have gone */
            return false;
        vec3 p = mesh->positions[v], q = mesh->positions[name];
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            return false;
    }
    return true;
}

void abuti_bvh_solid_fit(abut_bvh *bvh) {
    const bvh_solid *solid = atomic_load(&bvh->solid);
    if (solid && solid->names && !abuti_bvh_names_hold(bvh->mesh, solid->names))
        abuti_bvh_solid_destroy(bvh);
}

/* What questions about inside and outside need to know of a mesh: its connected parts and its
 * border. O(n log n), once, when first wanted; linear where vertices have few sides. From indices
 * alone where that leaves no border; such a list stays true when vertices move. Else vertices in
 * one place count as one, as long as they stay so. */
#include "bvh/bvh.h"

enum { TRIANGLES_A_TASK = 16384 };

/* ---- parts ---- */

typedef struct joining {
    const abut_mesh *mesh;
    uint32_t *parent; /* of a vertex */
} joining;

static void join_task(void *data, size_t chunk, size_t begin, size_t end) {
    const joining *join = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        const uint32_t *corner = join->mesh->indices + 3 * t;
        abuti_join(join->parent, corner[0], corner[1]);
        abuti_join(join->parent, corner[0], corner[2]);
    }
}

/* Joins vertices of a part, and counts parts. A vertex in no triangle is in no part. */
static uint32_t join_parts(const joining *join, const uint32_t *names) {
    const abut_mesh *mesh = join->mesh;
    uint32_t *parent = join->parent, count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        parent[v] = ABUT_NONE;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        parent[mesh->indices[i]] = mesh->indices[i];
    abuti_parallel_for(mesh->context, mesh->triangle_count, TRIANGLES_A_TASK, join_task,
                       (void *)(uintptr_t)join);
    for (uint32_t v = 0; names && v < mesh->vertex_count; v++)
        if (parent[v] != ABUT_NONE && parent[names[v]] != ABUT_NONE)
            abuti_join(parent, v, names[v]);
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        count += parent[v] == v;
    return count;
}

/* Counts the parts that have a border. Marks their roots, so it comes last. */
static uint32_t count_open_parts(const joining *join, const bvh_solid *solid) {
    uint32_t count = 0, *parent = join->parent;
    for (size_t i = 0; i < 2 * (size_t)solid->border_count; i++) {
        uint32_t v = solid->border[i / 2][i % 2];
        while (parent[v] != v && parent[v] != ABUT_NONE)
            v = parent[v];
        count += parent[v] == v;
        parent[v] = ABUT_NONE;
    }
    return count;
}

static abut_status make_parts(const abut_bvh *bvh, const bvh_solid *solid, bvh_solid_parts **made) {
    const abut_mesh *mesh = bvh->mesh;
    joining join = {mesh, abuti_allocate(bvh->context, mesh->vertex_count, sizeof *join.parent)};
    if (!join.parent)
        return ABUT_ERROR_MEMORY;
    size_t count = join_parts(&join, solid->names);
    bvh_solid_parts *parts =
        abuti_allocate(bvh->context, 1, sizeof *parts + count * sizeof *parts->first);
    if (parts) {
        parts->count = 0;
        for (uint32_t v = 0; v < mesh->vertex_count; v++)
            if (join.parent[v] == v)
                parts->first[parts->count++] = v;
        parts->closed_count = parts->count - count_open_parts(&join, solid);
        *made = parts;
    }
    abuti_release(bvh->context, join.parent);
    return parts ? ABUT_OK : ABUT_ERROR_MEMORY;
}

abut_status abuti_bvh_solid_parts(const abut_bvh *bvh, const bvh_solid_parts **parts) {
    const bvh_solid *solid;
    abut_status status = abuti_bvh_solid(bvh, &solid);
    if (status)
        return status;
    _Atomic(bvh_solid_parts *) *kept = &((bvh_solid *)(uintptr_t)solid)->parts;
    bvh_solid_parts *made = atomic_load(kept), *none = NULL;
    if (!made) {
        status = make_parts(bvh, solid, &made);
        if (status)
            return status;
        if (!atomic_compare_exchange_strong(kept, &none, made)) {
            abuti_release(bvh->context, made); /* another thread was faster */
            made = none;
        }
    }
    *parts = made;
    return ABUT_OK;
}

/* ---- all ---- */

/* Whether no two vertices are in one place, so that names change nothing. */
static bool all_apart(const uint32_t *names, uint32_t count) {
    for (uint32_t v = 0; v < count; v++)
        if (names[v] != v)
            return false;
    return true;
}

static bvh_solid *fill_solid(const abut_bvh *bvh, const uint32_t *names,
                             const abuti_border *border) {
    const abut_mesh *mesh = bvh->mesh;
    size_t words = 2 * (size_t)border->count + (names ? mesh->vertex_count : 0);
    bvh_solid *solid =
        abuti_allocate(bvh->context, 1,
                       sizeof *solid + words * sizeof(uint32_t) + border->count * sizeof(bool));
    if (!solid)
        return NULL;
    solid->border_count = border->count;
    solid->flipped = border->flipped;
    solid->border = (uint32_t(*)[2])(solid + 1);
    solid->names = names ? (uint32_t *)(solid->border + border->count) : NULL;
    solid->single = (bool *)((uint32_t *)(solid + 1) + words);
    atomic_init(&solid->parts, NULL);
    atomic_init(&solid->sheet, 0);
    abuti_border_list(border, solid->border, solid->single);
    if (names)
        memcpy(solid->names, names, mesh->vertex_count * sizeof *names);
    return solid;
}

static abut_status make_solid(const abut_bvh *bvh, bvh_solid **made) {
    const abut_mesh *mesh = bvh->mesh;
    abut_context *context = bvh->context;
    uint32_t *names = NULL;
    abuti_border border;
    abut_status status = abuti_border_begin(mesh, &border);
    if (status)
        return status;
    abuti_border_find(&border, NULL);
    bool named = border.count > 0;
    if (named) {
        names = abuti_allocate(context, mesh->vertex_count, sizeof *names);
        status =
            names ? abuti_coincident_vertices(context, mesh->positions, mesh->vertex_count, names)
                  : ABUT_ERROR_MEMORY;
    }
    if (named && !status && !all_apart(names, mesh->vertex_count))
        abuti_border_find(&border, names);
    if (!status && !(*made = fill_solid(bvh, names, &border)))
        status = ABUT_ERROR_MEMORY;
    abuti_border_end(&border);
    abuti_release(context, names);
    return status;
}

abut_status abuti_bvh_solid(const abut_bvh *bvh, const bvh_solid **solid) {
    _Atomic(bvh_solid *) *kept = &((abut_bvh *)(uintptr_t)bvh)->solid;
    bvh_solid *made = atomic_load(kept), *none = NULL;
    if (!made) {
        abut_status status = make_solid(bvh, &made);
        if (status)
            return status;
        if (!atomic_compare_exchange_strong(kept, &none, made)) {
            abuti_release(bvh->context, made); /* another thread was faster */
            made = none;
        }
    }
    *solid = made;
    return ABUT_OK;
}

abut_status abuti_bvh_is_sheet(const abut_bvh *bvh, bool *sheet) {
    const bvh_solid *solid;
    abut_status status = abuti_bvh_solid(bvh, &solid);
    if (status)
        return status;
    atomic_int *kept = &((bvh_solid *)(uintptr_t)solid)->sheet;
    int known = atomic_load(kept);
    if (!known) { /* threads that measure at the same time find the same */
        double share;
        status = abuti_hole_share(bvh->mesh, (const uint32_t(*)[2])solid->border, solid->single,
                                  solid->border_count, &share);
        if (status)
            return status;
        known = share > ABUT_SHEET_HOLE_SHARE ? 2 : 1;
        atomic_store(kept, known);
    }
    *sheet = known == 2;
    return ABUT_OK;
}

void abuti_bvh_solid_destroy(abut_bvh *bvh) {
    bvh_solid *solid = atomic_exchange(&bvh->solid, NULL);
    if (solid)
        abuti_release(bvh->context, atomic_load(&solid->parts));
    abuti_release(bvh->context, solid);
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
    bvh_solid *solid = atomic_load(&bvh->solid);
    if (solid && solid->names && !abuti_bvh_names_hold(bvh->mesh, solid->names))
        abuti_bvh_solid_destroy(bvh);
    else if (solid)
        atomic_store(&solid->sheet, 0);
}

/* Components, boundary and interior of a surface, for queries about inside and outside. O(n log n),
 * once, on first use; linear if vertices have few edges. It is computed from indices only if these
 * leave no boundary; such a result stays valid when vertices move. Otherwise vertices with equal
 * coordinates are merged, and the result is valid as long as they stay equal. */
#include "bvh/bvh.h"

/* ---- components ---- */

static void list_components(const abut_mesh *mesh, const uint32_t *part, bvh_components *parts) {
    for (uint32_t i = 0; i < parts->count; i++)
        parts->vertex[i] = ABUT_NONE;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        const uint32_t v = mesh->indices[i];
        if (v < parts->vertex[part[v]])
            parts->vertex[part[v]] = v;
    }
}

static abut_status create_components(const abut_bvh *bvh, const bvh_solid *solid,
                                     bvh_components **created) {
    const abut_mesh *mesh = bvh->mesh;
    uint32_t *part = abuti_allocate(bvh->context, mesh->vertex_count, sizeof *part);
    if (!part)
        return ABUT_ERROR_MEMORY;
    const size_t count = abuti_vertex_components(mesh, solid->names, part);
    const size_t kept = solid->border_count ? mesh->vertex_count : 0;
    bvh_components *parts =
        abuti_allocate(bvh->context, 1, sizeof *parts + (count + kept) * sizeof *parts->vertex);
    if (parts) {
        parts->count = (uint32_t)count;
        parts->vertex = (uint32_t *)(parts + 1);
        parts->part = kept ? parts->vertex + count : NULL;
        list_components(mesh, part, parts);
        if (kept)
            memcpy(parts->part, part, kept * sizeof *part);
        *created = parts;
    }
    abuti_release(bvh->context, part);
    return parts ? ABUT_OK : ABUT_ERROR_MEMORY;
}

abut_status abuti_bvh_components(const abut_bvh *bvh, const bvh_components **parts) {
    const bvh_solid *solid;
    abut_status status = abuti_bvh_solid(bvh, &solid);
    if (status)
        return status;
    _Atomic(bvh_components *) *kept = &((bvh_solid *)(uintptr_t)solid)->parts;
    bvh_components *created = atomic_load(kept), *none = NULL;
    if (!created) {
        status = create_components(bvh, solid, &created);
        if (status)
            return status;
        if (!atomic_compare_exchange_strong(kept, &none, created)) {
            abuti_release(bvh->context, created); /* another thread was faster */
            created = none;
        }
    }
    *parts = created;
    return ABUT_OK;
}

/* ---- solid ---- */

/* Whether no two vertices have equal coordinates, so that merging changes nothing. */
static bool has_no_duplicates(const uint32_t *names, uint32_t count) {
    for (uint32_t v = 0; v < count; v++)
        if (names[v] != v)
            return false;
    return true;
}

static bvh_solid *allocate_solid(const abut_bvh *bvh, const uint32_t *names,
                                 const abuti_boundary *border) {
    const abut_mesh *mesh = bvh->mesh;
    size_t table = border->count ? 2 : 0;
    while (table < 2 * (size_t)border->count)
        table *= 2;
    size_t words = 2 * (size_t)border->count + table + (names ? mesh->vertex_count : 0);
    bvh_solid *solid =
        abuti_allocate(bvh->context, 1,
                       sizeof *solid + words * sizeof(uint32_t) + border->count * sizeof(bool));
    if (!solid)
        return NULL;
    solid->border_count = border->count;
    solid->flipped = border->flipped;
    solid->border = (uint32_t(*)[2])(solid + 1);
    solid->table_size = table;
    solid->table = (uint32_t *)(solid->border + border->count);
    solid->names = names ? solid->table + table : NULL;
    solid->single = (bool *)((uint32_t *)(solid + 1) + words);
    atomic_init(&solid->parts, NULL);
    atomic_init(&solid->interior, NULL);
    if (border->count) {
        memcpy(solid->border, border->edges, border->count * sizeof *solid->border);
        memcpy(solid->single, border->single, border->count * sizeof *solid->single);
    }
    if (names)
        memcpy(solid->names, names, mesh->vertex_count * sizeof *names);
    return solid;
}

static abut_status create_solid(const abut_bvh *bvh, bvh_solid **created) {
    const abut_mesh *mesh = bvh->mesh;
    abut_context *context = bvh->context;
    uint32_t *names = NULL;
    abuti_boundary border;
    abut_status status = abuti_boundary_find(mesh, NULL, &border);
    if (!status && border.count) {
        names = abuti_allocate(context, mesh->vertex_count, sizeof *names);
        status =
            names ? abuti_coincident_vertices(context, mesh->positions, mesh->vertex_count, names)
                  : ABUT_ERROR_MEMORY;
        if (!status && !has_no_duplicates(names, mesh->vertex_count)) {
            abuti_boundary_release(&border);
            status = abuti_boundary_find(mesh, names, &border);
        }
    }
    if (!status && !(*created = allocate_solid(bvh, names, &border)))
        status = ABUT_ERROR_MEMORY;
    abuti_boundary_release(&border);
    abuti_release(context, names);
    return status;
}

abut_status abuti_bvh_solid(const abut_bvh *bvh, const bvh_solid **solid) {
    _Atomic(bvh_solid *) *kept = &((abut_bvh *)(uintptr_t)bvh)->solid;
    bvh_solid *created = atomic_load(kept), *none = NULL;
    if (!created) {
        abut_status status = create_solid(bvh, &created);
        if (status)
            return status;
        if (!atomic_compare_exchange_strong(kept, &none, created)) {
            abuti_release(bvh->context, created); /* another thread was faster */
            created = none;
        }
    }
    *solid = created;
    return ABUT_OK;
}

/* ---- interior ---- */

/* Lists the boundary of the components that are not sheets. An edge with a difference of two is
 * listed twice in a row. */
static void list_solid_boundary(const bvh_solid *solid, const uint32_t *part, const double *shares,
                                bvh_interior *interior) {
    for (uint32_t i = 0; i < solid->border_count; i++) {
        const uint32_t *edge = solid->border[i];
        uint32_t *last =
            interior->border_count ? interior->border[interior->border_count - 1] : NULL;
        if (shares[part[edge[0]]] > ABUT_SHEET_HOLE_FRACTION)
            continue;
        interior->flipped |= last && last[0] == edge[0] && last[1] == edge[1];
        memcpy(interior->border[interior->border_count++], edge, sizeof *interior->border);
    }
}

static abut_status fill_interior(const abut_bvh *bvh, const bvh_solid *solid, const uint32_t *part,
                                 const double *shares, bool has_solids, bool has_sheets,
                                 bvh_interior **created) {
    const abut_mesh *mesh = bvh->mesh;
    const bool both = has_solids && has_sheets;
    const size_t edges = has_solids ? solid->border_count : 0;
    bvh_interior *interior =
        abuti_allocate(bvh->context, 1,
                       sizeof *interior + edges * sizeof *interior->border +
                           (both ? mesh->triangle_count : 0) * sizeof *interior->is_sheet);
    if (!interior)
        return ABUT_ERROR_MEMORY;
    *interior = (bvh_interior){.has_solids = has_solids, .has_sheets = has_sheets};
    interior->border = (uint32_t(*)[2])(interior + 1);
    interior->is_sheet = both ? (bool *)(interior->border + edges) : NULL;
    if (edges)
        list_solid_boundary(solid, part, shares, interior);
    for (size_t t = 0; both && t < mesh->triangle_count; t++)
        interior->is_sheet[t] = shares[part[mesh->indices[3 * t]]] > ABUT_SHEET_HOLE_FRACTION;
    *created = interior;
    return ABUT_OK;
}

static abut_status create_interior(const abut_bvh *bvh, const bvh_solid *solid,
                                   bvh_interior **created) {
    const bvh_components *parts;
    if (bvh->has_no_inside || !solid->border_count)
        return fill_interior(bvh, solid, NULL, NULL, !bvh->has_no_inside, bvh->has_no_inside,
                             created);
    abut_status status = abuti_bvh_components(bvh, &parts);
    if (status)
        return status;
    double *shares = abuti_allocate(bvh->context, parts->count, sizeof *shares);
    if (!shares)
        return ABUT_ERROR_MEMORY;
    status = abuti_hole_fractions(bvh->mesh, (const uint32_t(*)[2])solid->border, solid->single,
                                  solid->border_count, parts->part, parts->count, shares);
    bool has_solids = false, has_sheets = false;
    for (uint32_t i = 0; i < parts->count && !status; i++) {
        const bool sheet = shares[i] > ABUT_SHEET_HOLE_FRACTION;
        has_sheets |= sheet;
        has_solids |= !sheet;
    }
    if (!status)
        status = fill_interior(bvh, solid, parts->part, shares, has_solids, has_sheets, created);
    abuti_release(bvh->context, shares);
    return status;
}

abut_status abuti_bvh_interior(const abut_bvh *bvh, const bvh_interior **interior) {
    const bvh_solid *solid;
    abut_status status = abuti_bvh_solid(bvh, &solid);
    if (status)
        return status;
    _Atomic(bvh_interior *) *kept = &((bvh_solid *)(uintptr_t)solid)->interior;
    bvh_interior *created = atomic_load(kept), *none = NULL;
    if (!created) {
        status = create_interior(bvh, solid, &created);
        if (status)
            return status;
        if (!atomic_compare_exchange_strong(kept, &none, created)) {
            abuti_release(bvh->context, created); /* another thread was faster */
            created = none;
        }
    }
    *interior = created;
    return ABUT_OK;
}

void abuti_bvh_solid_destroy(abut_bvh *bvh) {
    bvh_solid *solid = atomic_exchange(&bvh->solid, NULL);
    if (solid) {
        abuti_release(bvh->context, atomic_load(&solid->parts));
        abuti_release(bvh->context, atomic_load(&solid->interior));
    }
    abuti_release(bvh->context, solid);
}

bool abuti_bvh_merged_vertices_coincide(const abut_mesh *mesh, const uint32_t *names) {
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        uint32_t v = mesh->indices[i], name = names[v];
        if (name == v)
            continue;
        if (name >= mesh->vertex_count) /* unused vertices may have been removed */
            return false;
        vec3 p = mesh->positions[v], q = mesh->positions[name];
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            return false;
    }
    return true;
}

static uint64_t hash_position(vec3 p) {
    const double numbers[3] = {p.x + 0.0, p.y + 0.0, p.z + 0.0}; /* -0 becomes 0 */
    uint64_t bits[3], hash = 0;
    memcpy(bits, numbers, sizeof bits);
    for (int k = 0; k < 3; k++) {
        hash = (hash ^ bits[k]) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
        hash ^= hash >> 32;
    }
    return hash;
}

/* Whether two vertices of the boundary have become equal, which can close a hole. Each begins one
 * of the edges. Allocates no memory, as a refit guarantees. */
static bool has_equal_boundary_vertices(const abut_bvh *bvh, const bvh_solid *solid) {
    const vec3 *positions = bvh->mesh->positions;
    const size_t mask = solid->table_size - 1;
    for (size_t i = 0; i < solid->table_size; i++)
        solid->table[i] = ABUT_NONE;
    for (uint32_t i = 0; i < solid->border_count; i++) {
        const uint32_t v = solid->border[i][0];
        const vec3 p = positions[v];
        size_t slot = (size_t)hash_position(p) & mask;
        for (; solid->table[slot] != ABUT_NONE && solid->table[slot] != v;
             slot = (slot + 1) & mask) {
            const vec3 q = positions[solid->table[slot]];
            if (p.x == q.x && p.y == q.y && p.z == q.z)
                return true;
        }
        solid->table[slot] = v;
    }
    return false;
}

void abuti_bvh_solid_fit(abut_bvh *bvh) {
    bvh_solid *solid = atomic_load(&bvh->solid);
    if (solid && ((solid->names && !abuti_bvh_merged_vertices_coincide(bvh->mesh, solid->names)) ||
                  (solid->border_count && has_equal_boundary_vertices(bvh, solid))))
        abuti_bvh_solid_destroy(bvh);
    else if (solid)
        abuti_release(bvh->context, atomic_exchange(&solid->interior, NULL));
}

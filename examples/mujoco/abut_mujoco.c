/* See abut_mujoco.h.
 *
 * Geoms of a model become colliders once: meshes by a BVH that all their geoms share, boxes,
 * cylinders, ellipsoids and height fields by a BVH of a mesh of their own, since converting them in
 * every call takes longer than the contacts. A collider function finds the model in a list that is
 * read without locks. */
#include "abut_mujoco.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Values of mjtGeom, which are the rows and columns of mjCOLLISIONFUNC. */
enum { PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF, TYPE_COUNT };

enum {
    STACK_PATCHES = 32,
    STACK_CONTACTS = 128,
    MAX_CONTACTS = 50, /* mjMAXCONPAIR */
    SIDES = 64,        /* of a cylinder and an ellipsoid: within 0.12% of the radius */
    RINGS = 32
};

/* A mesh is convex if its volume is that of its hull within this fraction. Rounding to float
 * changes the volume by about 1e-6. */
#define CONVEX_VOLUME 1e-5

/* mjPreContact, which is the beginning of mjContact. */
typedef struct contact_out {
    double dist, pos[3], normal[3], tangent[3];
} contact_out;

typedef struct solid {
    abut_bvh *bvh; /* null if no geom uses it */
    bool is_convex, is_limited;
} solid;

typedef struct geom {
    int type;
    const abut_bvh *bvh; /* of the shared mesh, or `own`; null for other kinds */
    abut_bvh *own;       /* of a box, cylinder, ellipsoid or height field */
    double size[3];      /* geom_size for which `own` was made */
    bool is_on, is_convex;
} geom;

/* An installed model. Entries are never freed, but reused: other threads may read the list. */
typedef struct entry {
    _Atomic(const struct mjModel_ *) model; /* null = unused */
    abut_context *context, *own_context;
    abut_mujoco_engine engine;
    const double *geom_size;
    solid *meshes;
    geom *geoms;
    uint32_t mesh_count, geom_count;
    bool include_convex;
    atomic_uint_least64_t error_count;
    struct entry *next;
} entry;

static _Atomic(entry *) installed;
static atomic_flag writing = ATOMIC_FLAG_INIT; /* held while the list or the table changes */
static uint32_t installed_count;
static abut_mujoco_collider *original[TYPE_COUNT][TYPE_COUNT];

static void lock_list(void) {
    while (atomic_flag_test_and_set_explicit(&writing, memory_order_acquire))
        ;
}

static void unlock_list(void) {
    atomic_flag_clear_explicit(&writing, memory_order_release);
}

static entry *find_model(const struct mjModel_ *model) {
    for (entry *e = atomic_load_explicit(&installed, memory_order_acquire); e; e = e->next)
        if (atomic_load_explicit(&e->model, memory_order_acquire) == model)
            return e;
    return NULL;
}

/* ---- colliders of geoms ---- */

/* A collider of a geom at its pose in MuJoCo's data. */
static abut_status make_collider(const entry *e, const struct mjData_ *data, int g,
                                 abut_collider *collider) {
    const char *d = (const char *)data;
    const double *p = *(double *const *)(d + e->engine.xpos_offset) + 3 * (size_t)g;
    const double *q = *(double *const *)(d + e->engine.xquat_offset) + 4 * (size_t)g;
    const double *size = e->geom_size + 3 * (size_t)g;
    const geom *shape = &e->geoms[g];
    abut_pose pose = {{q[1], q[2], q[3], q[0]}, {p[0], p[1], p[2]}};
    if (shape->bvh && (!shape->own || !memcmp(shape->size, size, sizeof shape->size))) {
        *collider = abut_collider_from_bvh(shape->bvh, pose);
        return ABUT_OK;
    }
    abut_vec3 end[2] = {{0, 0, -size[1]}, {0, 0, size[1]}};
    switch (shape->type) {
    case PLANE:
        *collider = abut_collider_from_plane((abut_plane){{0, 0, 1}, 0}, pose);
        return ABUT_OK;
    case SPHERE:
        *collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, size[0]}, pose);
        return ABUT_OK;
    case CAPSULE:
        *collider = abut_collider_from_capsule((abut_capsule){{end[0], end[1]}, size[0]}, pose);
        return ABUT_OK;
    case CYLINDER:
        *collider = abut_collider_from_cylinder((abut_cylinder){{end[0], end[1]}, size[0]}, pose);
        return ABUT_OK;
    case BOX:
        *collider = abut_collider_from_box((abut_vec3){size[0], size[1], size[2]}, pose);
        return ABUT_OK;
    default:
        return abut_set_error(
            ABUT_ERROR_UNSUPPORTED,
            "abut_mujoco: the size of an ellipsoid or height field has changed since "
            "abut_mujoco_install(); install the model again");
    }
}

/* ---- contacts ---- */

/* How different two contacts are: points relative to the extent of all, and normals. */
static double difference(const abut_contact *a, const abut_contact *b, double extent) {
    double dx = a->point.x - b->point.x, dy = a->point.y - b->point.y, dz = a->point.z - b->point.z;
    double nx = a->normal.x - b->normal.x, ny = a->normal.y - b->normal.y,
           nz = a->normal.z - b->normal.z;
    return (dx * dx + dy * dy + dz * dz) / (extent * extent) + nx * nx + ny * ny + nz * nz;
}

/* Moves the deepest contact of each patch to the beginning of the list. */
static void move_deepest(abut_contact *list, const abut_patch *patches, uint64_t patch_count) {
    for (uint64_t p = 1; p < patch_count; p++) {
        abut_contact deepest = list[patches[p].first];
        list[patches[p].first] = list[p];
        list[p] = deepest;
    }
}

/* Moves the `keep` contacts that support the bodies best to the beginning of the list: the first,
 * then always the one that differs most from all before it. The first `patch_count` contacts, the
 * deepest of their patches, come before all others. */
static void select_contacts(abut_contact *list, uint64_t count, uint64_t patch_count,
                            uint64_t keep) {
    double nearest[STACK_CONTACTS], extent = 0;
    for (uint64_t i = 0; i < count; i++) {
        nearest[i] = HUGE_VAL;
        extent = fmax(extent, fabs(list[i].point.x - list[0].point.x));
        extent = fmax(extent, fabs(list[i].point.y - list[0].point.y));
        extent = fmax(extent, fabs(list[i].point.z - list[0].point.z));
    }
    extent = extent > 0 ? extent : 1;
    for (uint64_t done = 1; done < keep; done++) {
        uint64_t end = done < patch_count ? patch_count : count, best = done;
        for (uint64_t i = done; i < count; i++)
            nearest[i] = fmin(nearest[i], difference(&list[i], &list[done - 1], extent));
        for (uint64_t i = done + 1; i < end; i++)
            best = nearest[i] > nearest[best] ? i : best;
        abut_contact chosen = list[best];
        list[best] = list[done];
        list[done] = chosen;
        nearest[best] = nearest[done];
    }
}

/* Writes contacts for MuJoCo and returns their number. Contacts beyond a negative margin are
 * omitted. */
static int write_contacts(const abut_contact *list, uint64_t count, double margin,
                          contact_out *out) {
    int written = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (-list[i].depth > margin)
            continue;
        contact_out *c = &out[written++];
        c->dist = -list[i].depth;
        memcpy(c->pos, &list[i].point, sizeof c->pos);
        memcpy(c->normal, &list[i].normal, sizeof c->normal);
        memset(c->tangent, 0, sizeof c->tangent); /* MuJoCo chooses it */
    }
    return written;
}

/* Contacts of a pair. The deepest of each patch come first. */
typedef struct pair_contacts {
    abut_contact list[STACK_CONTACTS];
    uint64_t count, patch_count;
} pair_contacts;

/* Repeats a query whose contacts did not fit, and keeps STACK_CONTACTS of them. */
static abut_status find_many(abut_context *context, const abut_collider *a, const abut_collider *b,
                             const abut_patch_options *options, abut_patches found,
                             pair_contacts *pair) {
    abut_patch *patches = abut_context_allocate(context, found.patches.count, sizeof *patches);
    abut_contact *list = abut_context_allocate(context, found.contacts.count, sizeof *list);
    found.patches = (abut_patch_list){patches, found.patches.count, 0};
    found.contacts = (abut_contact_list){list, found.contacts.count, 0};
    abut_status status =
        patches && list ? abut_contact_find(a, b, options, &found) : ABUT_ERROR_MEMORY;
    if (!status) {
        uint64_t n = 0;
        for (uint64_t p = 0; p < found.patches.count && n < STACK_CONTACTS; p++)
            pair->list[n++] = list[patches[p].first];
        pair->patch_count = n;
        for (uint64_t p = 0; p < found.patches.count; p++)
            for (uint32_t i = 1; i < patches[p].count && n < STACK_CONTACTS; i++)
                pair->list[n++] = list[patches[p].first + i];
        pair->count = n;
    }
    abut_context_free(context, patches);
    abut_context_free(context, list);
    return status;
}

static abut_status find_contacts(const entry *e, const struct mjData_ *data, int g1, int g2,
                                 double margin, pair_contacts *pair) {
    abut_patch patches[STACK_PATCHES];
    abut_patches found = {.size = sizeof found,
                          .patches = {patches, STACK_PATCHES, 0},
                          .contacts = {pair->list, STACK_CONTACTS, 0}};
    abut_patch_options options = abut_patch_options_default();
    abut_collider a, b;
    abut_status status = make_collider(e, data, g2, &a);
    if (!status)
        status = make_collider(e, data, g1, &b);
    if (status)
        return status;
    options.margin = margin > 0 ? margin : 0;
    status = abut_contact_find(&a, &b, &options, &found); /* normals point from g1 to g2 */
    if (status == ABUT_ERROR_BUFFER)
        return find_many(e->context, &a, &b, &options, found, pair);
    if (status)
        return status;
    move_deepest(pair->list, patches, found.patches.count);
    pair->count = found.contacts.count;
    pair->patch_count = found.patches.count;
    return ABUT_OK;
}

static int collide(int row, int column, const struct mjModel_ *model, struct mjData_ *data,
                   struct mjPreContact_ *contacts, int g1, int g2, double margin) {
    entry *e = find_model(model);
    abut_mujoco_collider *own = original[row][column];
    if (!e)
        return own(model, data, contacts, g1, g2, margin);
    const geom *first = &e->geoms[g1], *second = &e->geoms[g2];
    bool is_convex = first->is_convex && second->is_convex;
    if (!first->is_on || !second->is_on || (is_convex && !e->include_convex))
        return own(model, data, contacts, g1, g2, margin);
    pair_contacts pair;
    if (find_contacts(e, data, g1, g2, margin, &pair)) {
        if (!atomic_fetch_add(&e->error_count, 1) && e->engine.warn)
            e->engine.warn(
                "abut: geoms %d and %d collide by MuJoCo's function, and so do all later "
                "pairs with an error: %s",
                g1, g2, abut_last_error());
        return own(model, data, contacts, g1, g2, margin);
    }
    int limit = e->engine.max_contact(model, g1, g2, margin > 0);
    uint64_t keep = limit < 0 ? 0 : limit > MAX_CONTACTS ? MAX_CONTACTS : (uint64_t)limit;
    if (pair.count > keep)
        select_contacts(pair.list, pair.count, pair.patch_count, keep);
    else
        keep = pair.count;
    return write_contacts(pair.list, keep, margin, (contact_out *)contacts);
}

/* One function for each cell of the table, since a function cannot know the types of geoms of a
 * model that is not installed. */
#define CELL(row, column)                                                                         \
    static int collide_##row##_##column(const struct mjModel_ *m, struct mjData_ *d,              \
                                        struct mjPreContact_ *c, int g1, int g2, double margin) { \
        return collide(row, column, m, d, c, g1, g2, margin);                                     \
    }
CELL(PLANE, MESH)
CELL(PLANE, SDF)
CELL(HFIELD, MESH)
CELL(HFIELD, SDF)
CELL(SPHERE, MESH)
CELL(SPHERE, SDF)
CELL(CAPSULE, MESH)
CELL(CAPSULE, SDF)
CELL(ELLIPSOID, MESH)
CELL(ELLIPSOID, SDF)
CELL(CYLINDER, MESH)
CELL(CYLINDER, SDF)
CELL(BOX, MESH)
CELL(BOX, SDF)
CELL(MESH, MESH)
CELL(MESH, SDF)
CELL(SDF, SDF)

static const struct {
    int row, column;
    abut_mujoco_collider *function;
} cells[] = {{PLANE, MESH, collide_PLANE_MESH},
             {PLANE, SDF, collide_PLANE_SDF},
             {HFIELD, MESH, collide_HFIELD_MESH},
             {HFIELD, SDF, collide_HFIELD_SDF},
             {SPHERE, MESH, collide_SPHERE_MESH},
             {SPHERE, SDF, collide_SPHERE_SDF},
             {CAPSULE, MESH, collide_CAPSULE_MESH},
             {CAPSULE, SDF, collide_CAPSULE_SDF},
             {ELLIPSOID, MESH, collide_ELLIPSOID_MESH},
             {ELLIPSOID, SDF, collide_ELLIPSOID_SDF},
             {CYLINDER, MESH, collide_CYLINDER_MESH},
             {CYLINDER, SDF, collide_CYLINDER_SDF},
             {BOX, MESH, collide_BOX_MESH},
             {BOX, SDF, collide_BOX_SDF},
             {MESH, MESH, collide_MESH_MESH},
             {MESH, SDF, collide_MESH_SDF},
             {SDF, SDF, collide_SDF_SDF}};

enum { CELL_COUNT = sizeof cells / sizeof *cells };

/* A pair that has no function in MuJoCo keeps none. */
static void replace_table(abut_mujoco_collider **table) {
    for (int i = 0; i < CELL_COUNT; i++) {
        abut_mujoco_collider **cell = &table[TYPE_COUNT * cells[i].row + cells[i].column];
        if (!*cell || *cell == cells[i].function)
            continue;
        original[cells[i].row][cells[i].column] = *cell;
        *cell = cells[i].function;
    }
}

/* Cells that the program has replaced since are left alone. */
static void restore_table(abut_mujoco_collider **table) {
    for (int i = 0; i < CELL_COUNT; i++) {
        abut_mujoco_collider **cell = &table[TYPE_COUNT * cells[i].row + cells[i].column];
        if (*cell == cells[i].function)
            *cell = original[cells[i].row][cells[i].column];
    }
}

/* ---- installation ---- */

static void *allocate_zeroed(abut_context *context, size_t count, size_t bytes) {
    void *memory = abut_context_allocate(context, count, bytes);
    return memory ? memset(memory, 0, count * bytes) : NULL;
}

static void free_entry(entry *e) {
    for (uint32_t i = 0; e->meshes && i < e->mesh_count; i++)
        abut_bvh_destroy(e->meshes[i].bvh);
    for (uint32_t i = 0; e->geoms && i < e->geom_count; i++)
        abut_bvh_destroy(e->geoms[i].own);
    abut_context_free(e->context, e->meshes);
    abut_context_free(e->context, e->geoms);
    abut_context_destroy(e->own_context);
    e->meshes = NULL;
    e->geoms = NULL;
    e->context = e->own_context = NULL;
    e->mesh_count = e->geom_count = 0;
}

/* Builds the BVH of a mesh with the data that contacts need, and releases the mesh. */
static abut_status build_bvh(abut_mesh *mesh, abut_bvh **bvh) {
    abut_bvh *built = NULL;
    abut_status status = abut_bvh_create(mesh, NULL, &built);
    abut_mesh_destroy(mesh);
    if (!status)
        status = abut_bvh_prepare(built, ABUT_PREPARE_CONTACTS);
    if (status) {
        abut_bvh_destroy(built);
        return status;
    }
    *bvh = built;
    return ABUT_OK;
}

static abut_status examine_mesh(abut_mesh *mesh, abut_mesh_report *report) {
    abut_topology *topology = NULL;
    abut_status status = abut_topology_create(mesh, &topology);
    *report = abut_mesh_report_default();
    if (!status)
        status = abut_mesh_examine(topology, report);
    abut_topology_destroy(topology);
    return status;
}

/* Determines whether a mesh fills its convex hull. */
static abut_status compare_with_hull(entry *e, abut_mesh *mesh, solid *s) {
    uint32_t count = abut_mesh_vertex_count(mesh);
    abut_mesh_report report, hull_report;
    abut_status status = examine_mesh(mesh, &report);
    if (status)
        return status;
    s->is_limited = report.has_boundary || !report.is_solid;
    s->is_convex = false;
    if (s->is_limited)
        return ABUT_OK;
    abut_vec3 *points = abut_context_allocate(e->context, count, sizeof *points);
    abut_mesh *hull = NULL;
    status = points ? abut_mesh_get_positions(mesh, points) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_mesh_create_hull(e->context, points, count, &hull);
    if (!status)
        status = examine_mesh(hull, &hull_report);
    if (!status)
        s->is_convex = report.volume > (1 - CONVEX_VOLUME) * hull_report.volume;
    abut_context_free(e->context, points);
    abut_mesh_destroy(hull);
    return status;
}

static abut_status add_mesh(entry *e, const abut_mujoco_model *m, uint32_t index) {
    abut_mesh_input input =
        abut_mesh_input_floats(m->mesh_vert + 3 * (size_t)m->mesh_vertadr[index],
                               (uint32_t)m->mesh_vertnum[index],
                               m->mesh_face + 3 * (size_t)m->mesh_faceadr[index],
                               (uint32_t)m->mesh_facenum[index]);
    abut_mesh *mesh = NULL;
    abut_status status = abut_mesh_create(e->context, &input, &mesh);
    if (!status)
        status = compare_with_hull(e, mesh, &e->meshes[index]);
    if (status) {
        abut_mesh_destroy(mesh);
        return status;
    }
    return build_bvh(mesh, &e->meshes[index].bvh);
}

/* The mesh of a box, cylinder or ellipsoid. */
static abut_status create_geom_mesh(entry *e, int type, const double *size, abut_mesh **mesh) {
    abut_shape shape = abut_shape_default(type == BOX        ? ABUT_SHAPE_BOX
                                          : type == CYLINDER ? ABUT_SHAPE_CYLINDER
                                                             : ABUT_SHAPE_UVSPHERE);
    abut_mesh *unit = NULL;
    shape.extent = (abut_vec3){2 * size[0], 2 * size[1], 2 * size[2]};
    shape.radius = type == CYLINDER ? size[0] : 1;
    shape.height = 2 * size[1];
    shape.segments = type == BOX ? 1 : SIDES;
    shape.rings = type == CYLINDER ? 1 : RINGS;
    if (type != ELLIPSOID)
        return abut_shape_create(e->context, &shape, mesh);
    abut_status status = abut_shape_create(e->context, &shape, &unit);
    if (status)
        return status;
    uint32_t count = abut_mesh_vertex_count(unit);
    abut_vec3 *points = abut_context_allocate(e->context, count, sizeof *points);
    status = points ? abut_mesh_get_positions(unit, points) : ABUT_ERROR_MEMORY;
    if (!status) {
        for (uint32_t i = 0; i < count; i++)
            points[i] =
                (abut_vec3){size[0] * points[i].x, size[1] * points[i].y, size[2] * points[i].z};
        abut_mesh_input input = abut_mesh_input_doubles(points, count, abut_mesh_indices(unit),
                                                        abut_mesh_triangle_count(unit));
        status = abut_mesh_create(e->context, &input, mesh);
    }
    abut_context_free(e->context, points);
    abut_mesh_destroy(unit);
    return status;
}

/* The i-th of the points around a grid, counterclockwise from row 0 and column 0. */
static uint32_t rim_point(uint32_t rows, uint32_t columns, uint32_t i) {
    const uint32_t last_row = rows - 1, last_column = columns - 1;
    if (i < last_column)
        return i;
    i -= last_column;
    if (i < last_row)
        return i * columns + last_column;
    i -= last_row;
    if (i < last_column)
        return last_row * columns + last_column - i;
    return (last_row - (i - last_column)) * columns;
}

static void put_triangle(uint32_t *indices, uint32_t *count, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t *t = indices + 3 * (*count)++;
    t[0] = a;
    t[1] = b;
    t[2] = c;
}

/* A closed mesh of a height field, with the triangles of MuJoCo: its points, the points of its rim
 * on the level of its base, and the centre of the base. */
static abut_status create_field_mesh(entry *e, const abut_mujoco_model *m, int field,
                                     abut_mesh **mesh) {
    const uint32_t rows = (uint32_t)m->hfield_nrow[field],
                   columns = (uint32_t)m->hfield_ncol[field];
    const uint32_t top = rows * columns, rim = 2 * (rows + columns) - 4, centre = top + rim;
    const float *heights = m->hfield_data + m->hfield_adr[field];
    const double *size = m->hfield_size + 4 * (size_t)field;
    const size_t room = 2 * (size_t)(rows - 1) * (columns - 1) + 3 * (size_t)rim;
    abut_vec3 *points = abut_context_allocate(e->context, (size_t)centre + 1, sizeof *points);
    uint32_t *indices = abut_context_allocate(e->context, room, 3 * sizeof *indices), count = 0;
    abut_status status = ABUT_ERROR_MEMORY;
    if (points && indices) {
        for (uint32_t i = 0; i < top; i++)
            points[i] =
                (abut_vec3){size[0] * (2.0 * (i % columns) / (columns - 1) - 1),
                            size[1] * (2.0 * (i / columns) / (rows - 1) - 1), size[2] * heights[i]};
        for (uint32_t i = 0; i < rim; i++) {
            points[top + i] = points[rim_point(rows, columns, i)];
            points[top + i].z = -size[3];
        }
        points[centre] = (abut_vec3){0, 0, -size[3]};
        for (uint32_t i = 0; i + columns < top; i++) {
            if (i % columns + 1 == columns)
                continue;
            put_triangle(indices, &count, i, i + 1, i + columns + 1);
            put_triangle(indices, &count, i, i + columns + 1, i + columns);
        }
        for (uint32_t i = 0; i < rim; i++) {
            uint32_t next = (i + 1) % rim, a = rim_point(rows, columns, i),
                     b = rim_point(rows, columns, next);
            put_triangle(indices, &count, top + i, top + next, b);
            put_triangle(indices, &count, top + i, b, a);
            put_triangle(indices, &count, centre, top + next, top + i);
        }
        abut_mesh_input input = abut_mesh_input_doubles(points, centre + 1, indices, count);
        status = abut_mesh_create(e->context, &input, mesh);
    }
    abut_context_free(e->context, points);
    abut_context_free(e->context, indices);
    return status;
}

static abut_status add_geom(entry *e, const abut_mujoco_model *m,
                            const abut_mujoco_options *options, uint32_t index) {
    geom *g = &e->geoms[index];
    abut_status status = ABUT_OK;
    g->type = m->geom_type[index];
    g->is_convex = true;
    g->is_on = !options || !options->geoms || options->geoms[index];
    memcpy(g->size, m->geom_size + 3 * (size_t)index, sizeof g->size);
    if (!g->is_on)
        return ABUT_OK;
    if (g->type == MESH || g->type == SDF) {
        int mesh = m->geom_dataid[index];
        g->is_on = mesh >= 0 && (uint32_t)mesh < m->nmesh && m->geom_plugin[index] < 0;
        if (!g->is_on)
            return ABUT_OK;
        if (!e->meshes[mesh].bvh)
            status = add_mesh(e, m, (uint32_t)mesh);
        g->bvh = e->meshes[mesh].bvh;
        /* MuJoCo's own contacts of an sdf are approximate, convex or not. */
        g->is_convex = g->type == MESH && e->meshes[mesh].is_convex;
    } else if (g->type == HFIELD) {
        abut_mesh *mesh = NULL;
        g->is_on = options && options->include_fields;
        g->is_convex = false;
        if (!g->is_on)
            return ABUT_OK;
        status = create_field_mesh(e, m, m->geom_dataid[index], &mesh);
        if (!status)
            status = build_bvh(mesh, &g->own);
        g->bvh = g->own;
    } else if (g->type == BOX || g->type == CYLINDER || g->type == ELLIPSOID) {
        abut_mesh *mesh = NULL;
        status = create_geom_mesh(e, g->type, g->size, &mesh);
        if (!status)
            status = build_bvh(mesh, &g->own);
        g->bvh = g->own;
    }
    return status;
}

static abut_status build_entry(entry *e, const abut_mujoco_engine *engine,
                               const abut_mujoco_model *m, const abut_mujoco_options *options) {
    abut_context_options serial = abut_context_options_default();
    serial.thread_count = 1; /* the program decides about threads */
    e->engine = *engine;
    e->geom_size = m->geom_size;
    e->include_convex = options && options->include_convex;
    e->mesh_count = m->nmesh;
    e->geom_count = m->ngeom;
    atomic_store(&e->error_count, 0);
    e->context = options ? options->context : NULL;
    abut_status status = e->context ? ABUT_OK : abut_context_create(&serial, &e->own_context);
    if (status)
        return status;
    e->context = e->context ? e->context : e->own_context;
    e->meshes = allocate_zeroed(e->context, m->nmesh, sizeof *e->meshes);
    e->geoms = allocate_zeroed(e->context, m->ngeom, sizeof *e->geoms);
    if (!e->meshes || !e->geoms)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < m->ngeom && !status; i++)
        status = add_geom(e, m, options, i);
    return status;
}

/* An unused entry of the list, or a new one at its beginning. The lock is held. */
static entry *reserve_entry(void) {
    entry *e = find_model(NULL);
    if (e)
        return e;
    e = calloc(1, sizeof *e);
    if (e) {
        atomic_init(&e->model, NULL);
        atomic_init(&e->error_count, 0);
        e->next = atomic_load(&installed);
        atomic_store_explicit(&installed, e, memory_order_release);
    }
    return e;
}

abut_status abut_mujoco_install(const abut_mujoco_engine *engine, const abut_mujoco_model *model,
                                const abut_mujoco_options *options) {
    if (!engine || !engine->colliders || !engine->max_contact || !model || !model->model)
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "abut_mujoco_install: engine, its table and its function, and model "
                              "must not be null");
    entry built;
    memset(&built, 0, sizeof built);
    abut_status status = build_entry(&built, engine, model, options);
    if (status) {
        free_entry(&built);
        return status;
    }
    abut_mujoco_uninstall(model->model);
    lock_list();
    entry *e = reserve_entry();
    if (e) {
        e->context = built.context;
        e->own_context = built.own_context;
        e->engine = built.engine;
        e->geom_size = built.geom_size;
        e->meshes = built.meshes;
        e->geoms = built.geoms;
        e->mesh_count = built.mesh_count;
        e->geom_count = built.geom_count;
        e->include_convex = built.include_convex;
        atomic_store(&e->error_count, 0);
        atomic_store_explicit(&e->model, model->model, memory_order_release);
        installed_count++;
        replace_table(engine->colliders);
    }
    unlock_list();
    if (!e) {
        free_entry(&built);
        return abut_set_error(ABUT_ERROR_MEMORY, "abut_mujoco_install: no memory");
    }
    return ABUT_OK;
}

bool abut_mujoco_uninstall(const struct mjModel_ *model) {
    lock_list();
    entry *e = model ? find_model(model) : NULL;
    if (e) {
        atomic_store_explicit(&e->model, NULL, memory_order_release);
        if (--installed_count == 0)
            restore_table(e->engine.colliders);
        free_entry(e);
    }
    unlock_list();
    return e != NULL;
}

bool abut_mujoco_get_info(const struct mjModel_ *model, abut_mujoco_info *info) {
    entry *e = model && info ? find_model(model) : NULL;
    if (!e)
        return false;
    *info = (abut_mujoco_info){0, 0, 0, atomic_load(&e->error_count)};
    for (uint32_t i = e->mesh_count; i-- > 0;) {
        if (!e->meshes[i].bvh)
            continue;
        info->concave_mesh_count += !e->meshes[i].is_convex;
        info->limited_mesh_count += e->meshes[i].is_limited;
        if (e->meshes[i].is_limited)
            info->limited_mesh = i;
    }
    return true;
}

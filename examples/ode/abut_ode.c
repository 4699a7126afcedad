/* A geometry class of ODE: see abut_ode.h.
 *
 * Both libraries define a contact in the same way: its normal points into the first body, and
 * moving that body by the depth along it ends the contact. The caller of ODE limits the number
 * of contacts. Ours are first reduced to a few per patch and sorted, deepest first, so that no
 * important one is cut off. */
#include "abut_ode.h"

#include <math.h>
#include <stdlib.h>

enum { FEW = 256, PATCH = 4, PATCHES = 64 };

typedef struct shape {
    const abut_bvh *bvh;
    const abut_field *field;
    const abut_samples *samples;
    abut_vec3 middle, half; /* of the box of the field, in its own coordinates */
    size_t patch;
} shape;

static int class_number = -1;

static const shape *shape_of(dGeomID geom) {
    return dGeomGetClassData(geom);
}

static abut_pose pose_of(dGeomID geom) {
    const dReal *p = dGeomGetPosition(geom);
    dQuaternion q;
    dGeomGetQuaternion(geom, q);
    return (abut_pose){{q[1], q[2], q[3], q[0]}, {p[0], p[1], p[2]}};
}

static abut_collider body_of(dGeomID geom) {
    const shape *s = shape_of(geom);
    abut_collider body = abut_collider_from_field(s->field, s->samples, pose_of(geom));
    body.shape.body.bvh = s->bvh;
    return body;
}

/* ---- conversion ---- */

static abut_vec3 vector_of(const dReal *v) {
    return (abut_vec3){v[0], v[1], v[2]};
}

static int write_contacts(abut_contact *list, size_t count, dGeomID a, dGeomID b, int flags,
                          dContactGeom *to, int skip) {
    size_t most = (size_t)flags & 0xffff;
    count = abut_contact_reduce(list, count, shape_of(a)->patch, 0);
    count = count < most ? count : most;
    for (size_t i = 0; i < count; i++) {
        dContactGeom *contact = (dContactGeom *)((char *)to + i * (size_t)skip);
        const abut_contact *from = &list[i];
        contact->pos[0] = from->point.x;
        contact->pos[1] = from->point.y;
        contact->pos[2] = from->point.z;
        contact->normal[0] = from->normal.x;
        contact->normal[1] = from->normal.y;
        contact->normal[2] = from->normal.z;
        contact->depth = from->depth;
        contact->g1 = a;
        contact->g2 = b;
        contact->side1 = contact->side2 = -1;
    }
    return (int)count;
}

/* ---- colliders ---- */

typedef abut_status find_contacts(const abut_collider *a, dGeomID other, abut_contacts *contacts);

/* Starts with a small capacity. If an error occurs there are no contacts: ODE has no way to
 * report errors. */
static int collide(find_contacts *find, dGeomID a, dGeomID b, int flags, dContactGeom *to,
                   int skip) {
    abut_contact few[FEW];
    abut_contacts contacts = {.size = sizeof contacts, .list = few, .capacity = FEW};
    abut_collider body = body_of(a);
    int count = 0;
    abut_status status = find(&body, b, &contacts);
    if (status == ABUT_ERROR_BUFFER) {
        contacts.capacity = contacts.count;
        contacts.list = malloc(contacts.capacity * sizeof *contacts.list);
        status = contacts.list ? find(&body, b, &contacts) : ABUT_ERROR_MEMORY;
    }
    if (!status)
        count = write_contacts(contacts.list, contacts.count, a, b, flags, to, skip);
    if (contacts.list != few)
        free(contacts.list);
    return count;
}

static abut_status find_field(const abut_collider *a, dGeomID other, abut_contacts *contacts) {
    abut_collider b = body_of(other);
    return abut_contact_find_sampled(a, &b, NULL, contacts);
}

/* Exact contacts with a primitive. */
static abut_status find_exact(const abut_collider *a, abut_collider b, abut_contacts *contacts) {
    abut_patch patches[PATCHES];
    abut_patches found = {.size = sizeof found,
                          .patches = {.list = patches, .capacity = PATCHES},
                          .contacts = {.list = contacts->list, .capacity = contacts->capacity}};
    abut_status status = abut_contact_find(a, &b, NULL, &found);
    contacts->count = found.contacts.count;
    return status;
}

static abut_status find_plane(const abut_collider *a, dGeomID other, abut_contacts *contacts) {
    dVector4 p;
    dGeomPlaneGetParams(other, p);
    abut_plane plane = {vector_of(p), p[3]};
    return find_exact(a, abut_collider_from_plane(plane, abut_pose_identity()), contacts);
}

static abut_status find_sphere(const abut_collider *a, dGeomID other, abut_contacts *contacts) {
    abut_sphere sphere = {vector_of(dGeomGetPosition(other)), dGeomSphereGetRadius(other)};
    return find_exact(a, abut_collider_from_sphere(sphere, abut_pose_identity()), contacts);
}

/* ODE's capsule is along the z axis of its geom. */
static abut_status find_capsule(const abut_collider *a, dGeomID other, abut_contacts *contacts) {
    dReal radius, length;
    dGeomCapsuleGetParams(other, &radius, &length);
    const dReal *p = dGeomGetPosition(other), *r = dGeomGetRotation(other);
    abut_capsule capsule = {.radius = radius};
    for (int i = 0; i < 2; i++) {
        dReal t = (i ? 0.5 : -0.5) * length;
        capsule.end[i] = (abut_vec3){p[0] + t * r[2], p[1] + t * r[6], p[2] + t * r[10]};
    }
    return find_exact(a, abut_collider_from_capsule(capsule, abut_pose_identity()), contacts);
}

static abut_status find_box(const abut_collider *a, dGeomID other, abut_contacts *contacts) {
    dVector3 sides;
    dGeomBoxGetLengths(other, sides);
    abut_vec3 half = {0.5 * sides[0], 0.5 * sides[1], 0.5 * sides[2]};
    return find_exact(a, abut_collider_from_box(half, pose_of(other)), contacts);
}

#define COLLIDER(name)                                                                       \
    static int collide_##name(dGeomID a, dGeomID b, int flags, dContactGeom *to, int skip) { \
        return collide(find_##name, a, b, flags, to, skip);                                  \
    }
COLLIDER(field)
COLLIDER(plane)
COLLIDER(sphere)
COLLIDER(capsule)
COLLIDER(box)

static dColliderFn *collider_with(int other) {
    return other == class_number    ? collide_field
           : other == dPlaneClass   ? collide_plane
           : other == dSphereClass  ? collide_sphere
           : other == dCapsuleClass ? collide_capsule
           : other == dBoxClass     ? collide_box
                                    : NULL;
}

/* ---- class ---- */

static void find_bounds(dGeomID geom, dReal bounds[6]) {
    const shape *s = shape_of(geom);
    const dReal *p = dGeomGetPosition(geom), *r = dGeomGetRotation(geom);
    for (int axis = 0; axis < 3; axis++) {
        const dReal *row = r + 4 * axis;
        dReal at = p[axis] + row[0] * s->middle.x + row[1] * s->middle.y + row[2] * s->middle.z;
        dReal reach =
            fabs(row[0]) * s->half.x + fabs(row[1]) * s->half.y + fabs(row[2]) * s->half.z;
        bounds[2 * axis] = at - reach;
        bounds[2 * axis + 1] = at + reach;
    }
}

dGeomID abut_ode_create(dSpaceID space, const abut_bvh *bvh, const abut_field *field,
                        const abut_samples *samples) {
    if (class_number < 0) {
        dGeomClass made = {sizeof(shape), collider_with, find_bounds, NULL, NULL};
        class_number = dCreateGeomClass(&made);
    }
    dGeomID geom = class_number < 0 ? NULL : dCreateGeom(class_number);
    if (!geom)
        return NULL;
    shape *s = dGeomGetClassData(geom);
    abut_field_info info = abut_field_info_default();
    abut_field_get_info(field, &info);
    abut_grid grid = info.grid;
    s->bvh = bvh;
    s->field = field;
    s->samples = samples;
    s->patch = PATCH;
    s->half =
        (abut_vec3){0.5 * grid.cell * (grid.count[0] - 1), 0.5 * grid.cell * (grid.count[1] - 1),
                    0.5 * grid.cell * (grid.count[2] - 1)};
    s->middle = (abut_vec3){grid.origin.x + s->half.x, grid.origin.y + s->half.y,
                            grid.origin.z + s->half.z};
    if (space)
        dSpaceAdd(space, geom);
    return geom;
}

void abut_ode_set_patch(dGeomID geom, size_t most) {
    ((shape *)dGeomGetClassData(geom))->patch = most;
}

/* Creation of radial fields, frames, and updates. */
#include "radial/radial.h"
#include "device/array.h"

/* Limit on the samples of all fields: their indices fit into 32 bits and into buffers of a device.
 */
enum { SAMPLES_LOG = 28, CELLS_DEFAULT = 160 };
#define SAMPLES_TOTAL (1u << SAMPLES_LOG)
#define WEIGHT_DEFAULT 0.2

/* ---- frames ---- */

static vec3 apply_to_direction(const abut_character_matrix *m, vec3 d) {
    return v3(m->m[0][0] * d.x + m->m[0][1] * d.y + m->m[0][2] * d.z,
              m->m[1][0] * d.x + m->m[1][1] * d.y + m->m[1][2] * d.z,
              m->m[2][0] * d.x + m->m[2][1] * d.y + m->m[2][2] * d.z);
}

/* If the determinant of the matrix, scaled by its largest entry, is too small for a certain sign,
 * each row is scaled separately. */
static bool is_mirrored(const abut_character_matrix *m) {
    vec3 row[3];
    double most = 0;
    for (int i = 0; i < 3; i++) {
        row[i] = v3(m->m[i][0], m->m[i][1], m->m[i][2]);
        most = fmax(most, v3_max_abs(row[i]));
    }
    const double by = most > 0 ? 1 / most : 1;
    for (int i = 0; i < 3; i++)
        row[i] = v3_scale(row[i], by);
    const double volume = v3_dot(row[0], v3_cross(row[1], row[2]));
    if (fabs(volume) > 1e-9)
        return volume < 0;
    for (int i = 0; i < 3; i++)
        row[i] = v3_normalise(v3(m->m[i][0], m->m[i][1], m->m[i][2]));
    return v3_dot(row[0], v3_cross(row[1], row[2])) < 0;
}

/* Minimum length of an axis, and of the unit of floats: products of inverses and
 * ABUT_COORDINATE_MAX are finite. */
#define LENGTH_MIN 1e-200
#define UNIT_EXPONENT_MIN (-660) /* the same as a power of two */

static radial_frame compute_frame(const radial_axis *axis, const abut_character_matrix *bone,
                                  uint32_t along, double unit) {
    radial_frame f;
    const vec3 begin = matrix_apply(bone, axis->begin), end = matrix_apply(bone, axis->end);
    const vec3 way = v3_sub(end, begin), w = v3_normalise(way);
    vec3 u = v3_normalise(apply_to_direction(bone, axis->normal));
    memset(&f, 0, sizeof f);
    f.origin = begin;
    f.length = v3_dot(way, w);
    f.collapsed = !(f.length > 1e-9 * axis->rest_length && f.length > LENGTH_MIN);
    f.mirrored = is_mirrored(bone) != axis->rest_mirrored;
    f.axis[2] = f.collapsed ? v3(0, 0, 1) : w;
    /* Twice, because of rounding; any direction across if the bone has flattened it. */
    u = v3_along(u, -v3_dot(u, f.axis[2]), f.axis[2]);
    if (!(v3_length(u) > 1e-6)) {
        u = fabs(f.axis[2].x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0);
        u = v3_along(u, -v3_dot(u, f.axis[2]), f.axis[2]);
    }
    u = v3_normalise(u);
    f.axis[0] = v3_normalise(v3_along(u, -v3_dot(u, f.axis[2]), f.axis[2]));
    f.axis[1] = v3_cross(f.axis[2], f.axis[0]);
    if (f.collapsed)
        return f;
    f.to[0] = v3_scale(f.axis[0], 1 / unit);
    f.to[1] = v3_scale(f.axis[1], 1 / unit);
    f.to[2] = v3_scale(f.axis[2], (along - 1) / f.length);
    f.row = f.length / (along - 1) / unit;
    f.step = radial_float(f.row);
    return f;
}

/* Rounds away from the box, since conversion to floats may shrink it. */
static float round_box_outwards(double x, double side, double size) {
    return radial_float(x + side * 1e-6 * (fabs(x) + size));
}

static radial_bound compute_bound(const radial_frame *now, const radial_frame *before,
                                  uint32_t along, vec3 middle, double each) {
    radial_bound b;
    memset(&b, 0, sizeof b);
    if (now->collapsed || before->collapsed) {
        for (int k = 0; k < 3; k++)
            b.lo[k] = INFINITY, b.hi[k] = -INFINITY;
        return b;
    }
    const double more = now->length / (along - 1), size = (now->length + more) * each;
    const vec3 axis = now->axis[2];
    const vec3 a = v3_scale(v3_sub(v3_along(now->origin, -more, axis), middle), each);
    const vec3 e = v3_scale(v3_sub(v3_along(now->origin, now->length + more, axis), middle), each);
    const vec3 was = v3_along(before->origin, before->length / 2, before->axis[2]);
    const vec3 is = v3_along(now->origin, now->length / 2, axis);
    const vec3 centre = v3_scale(v3_sub(was, middle), each);
    const double p[3] = {a.x, a.y, a.z}, q[3] = {e.x, e.y, e.z}, w[3] = {axis.x, axis.y, axis.z};
    const double c[3] = {centre.x, centre.y, centre.z};
    for (int k = 0; k < 3; k++) {
        b.lo[k] = round_box_outwards(p[k] < q[k] ? p[k] : q[k], -1, size);
        b.hi[k] = round_box_outwards(p[k] < q[k] ? q[k] : p[k], 1, size);
        b.side[k] = (float)(sqrt(w[k] * w[k] < 1 ? 1 - w[k] * w[k] : 0) + 0.001);
        b.centre[k] = radial_float(c[k]);
    }
    /* The map from the previous to the current frame minus the identity. By the Frobenius norm, no
     * vector grows by more than the root of the sum of its squares. The matrix is N D B^T - I, with
     * rotations N and B that have the axes as columns, and D the stretch along the last one; N D -
     * B has the same norm. */
    const double stretch = now->length / before->length;
    double squares = 0;
    for (int k = 0; k < 3; k++) {
        const vec3 d = v3_sub(v3_scale(now->axis[k], k == 2 ? stretch : 1), before->axis[k]);
        squares += v3_length_sq(d);
    }
    b.move = radial_float(sqrt(v3_length_sq(v3_sub(is, was))) * each * 1.00001);
    b.turn = radial_float(sqrt(squares) * 1.00001 + 1e-7);
    return b;
}

/* Computes the bounds of all fields, relative to the origin of the first one. */
static void compute_bounds(abut_radial *r) {
    if (r->info.field_count)
        r->middle = r->frames[0][0].origin;
    for (uint32_t i = 0; i < r->info.field_count; i++)
        r->bounds[i] = compute_bound(&r->frames[0][i], &r->frames[1][i], r->fields[i].along,
                                     r->middle, 1 / r->unit);
}

/* ---- directions of columns ---- */

/* Cosine and sine of 2 pi i / n: series within an eighth of a turn, so that all platforms have the
 * same bits. Other octants follow by symmetry, so that opposite columns are exactly opposite. */
static radial_turn compute_direction(uint32_t i, uint32_t n) {
    const uint64_t quarter = 4 * (uint64_t)i / n, rest = 4 * (uint64_t)i % n;
    const bool steep = 2 * rest > n;
    const double angle = 1.5707963267948966 * (double)(steep ? n - rest : rest) / n;
    double c = 1, s = 1, sq = angle * angle;
    for (int k = 18; k > 0; k -= 2) {
        c = 1 - sq / ((k - 1) * k) * c;
        s = 1 - sq / (k * (k + 1)) * s;
    }
    s *= angle;
    const float x = (float)(steep ? s : c), y = (float)(steep ? c : s);
    switch (quarter) {
    case 0:
        return (radial_turn){x, y};
    case 1:
        return (radial_turn){-y, x};
    case 2:
        return (radial_turn){-x, -y};
    default:
        return (radial_turn){y, -x};
    }
}

/* ---- creation ---- */

/* Description of a field before its memory is allocated. */
typedef struct field_plan {
    radial_axis axis;
    double radius; /* determines its samples around */
    uint32_t around, along;
    const uint32_t *triangles;
    uint32_t count;
} field_plan;

typedef struct radial_plan {
    radial_source source;
    abut_radial_options options;
    double cell;
    radial_members members;
    uint32_t *all;      /* all triangles of the mesh */
    abuti_vector parts; /* radial_part: of fitted axes */
    field_plan *fields;
    uint32_t count;
} radial_plan;

static abut_status check_options(const char *function, const radial_plan *p) {
    const abut_radial_options *o = &p->options;
    if (!(o->cell >= 0) || o->cell > ABUT_COORDINATE_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->cell is %g; it must be finite and at least 0", function,
                          o->cell);
    if (!(o->weight >= 0) || o->weight > 1)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: options->weight is %g; it must be from 0 to 1",
                          function, o->weight);
    if (!o->axes && (o->axis_count || !p->source.character))
        return abuti_null(function, "axes");
    return ABUT_OK;
}

static abut_status check_axis(const radial_plan *p, uint32_t i) {
    const abut_radial_axis *a = &p->options.axes[i];
    const char *function = p->source.function;
    const uint32_t triangle_count = p->source.rest->triangle_count;
    if (a->bone >= p->source.bone_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: axes[%u].bone is %u; it must be below %u",
                          function, i, a->bone, p->source.bone_count);
    if (!radial_is_in_range(a->begin) || !radial_is_in_range(a->end) ||
        !radial_is_in_range(a->normal))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: axes[%u] has coordinates that are not finite or beyond %g", function,
                          i, ABUT_COORDINATE_MAX);
    if ((a->around && a->around < 4) || a->around > ABUT_RADIAL_SAMPLES_MAX || a->along == 1 ||
        a->along > ABUT_RADIAL_SAMPLES_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: axes[%u] has %u samples around and %u along; they must be at least "
                          "4 and 2 and at most %u, or 0, which derives them from the cell size",
                          function, i, a->around, a->along, ABUT_RADIAL_SAMPLES_MAX);
    if (!a->triangles && a->triangle_count)
        return abuti_null(function, "triangles");
    for (uint32_t k = 0; k < a->triangle_count; k++)
        if (a->triangles[k] >= triangle_count)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: axes[%u] has triangle %u; it must be below %u", function, i,
                              a->triangles[k], triangle_count);
    return ABUT_OK;
}

/* The mean distance of corners from an axis, in the world at rest. */
static double mean_radius(const radial_plan *p, const field_plan *f) {
    const abut_character_matrix *bone = &p->source.bones[f->axis.bone];
    const vec3 begin = matrix_apply(bone, f->axis.begin);
    const vec3 along = v3_normalise(v3_sub(matrix_apply(bone, f->axis.end), begin));
    double squares = 0;
    for (size_t i = 0; i < 3 * (size_t)f->count; i++) {
        const abut_mesh *mesh = p->source.rest;
        const uint32_t corner = mesh->indices[3 * (size_t)f->triangles[i / 3] + i % 3];
        const vec3 d = v3_sub(abuti_mesh_position(mesh, corner), begin);
        squares += v3_length_sq(v3_along(d, -v3_dot(d, along), along));
    }
    return f->count ? sqrt(squares / (3.0 * f->count)) : 0;
}

static abut_status plan_given_axes(radial_plan *p) {
    p->count = p->options.axis_count;
    p->fields = abuti_allocate(p->source.context, p->count, sizeof *p->fields);
    if (!p->fields)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < p->count; i++) {
        const abut_radial_axis *a = &p->options.axes[i];
        const uint32_t b = a->bone;
        field_plan *f = &p->fields[i];
        *f = (field_plan){.axis = {b, a->begin, a->end, a->normal, 0, false},
                          .around = a->around,
                          .along = a->along,
                          .triangles = a->triangles,
                          .count = a->triangle_count};
        if (!a->triangles && p->source.character) {
            f->triangles = p->members.list + p->members.begin[b];
            f->count = (uint32_t)(p->members.begin[b + 1] - p->members.begin[b]);
        } else if (!a->triangles) {
            f->triangles = p->all;
            f->count = p->source.rest->triangle_count;
        }
        f->radius = mean_radius(p, f);
    }
    return ABUT_OK;
}

static abut_status split_bones(radial_plan *p) {
    abut_status status = ABUT_OK;
    for (uint32_t b = 0; b < p->source.bone_count && !status; b++) {
        const size_t begin = p->members.begin[b], count = p->members.begin[b + 1] - begin;
        abut_character_matrix inverse;
        if (count && abuti_radial_inverse(&p->source.bones[b], &inverse))
            status = abuti_radial_split(&p->source, b, p->members.list + begin, count, p->cell,
                                        &p->parts);
    }
    return status;
}

static abut_status plan_fitted_axes(radial_plan *p) {
    abut_status status = split_bones(p);
    if (status)
        return status;
    p->count = (uint32_t)p->parts.count;
    p->fields = abuti_allocate(p->source.context, p->count, sizeof *p->fields);
    for (uint32_t i = 0; i < p->count && p->fields; i++) {
        const radial_part *part = &ABUTI_AT(&p->parts, radial_part, i);
        abut_character_matrix inverse;
        abuti_radial_inverse(&p->source.bones[part->bone], &inverse);
        p->fields[i] = (field_plan){.axis = {.bone = part->bone,
                                             .begin = matrix_apply(&inverse, part->line.begin),
                                             .end = matrix_apply(&inverse, part->line.end)},
                                    .radius = part->line.radius,
                                    .triangles = part->triangles,
                                    .count = part->count};
    }
    return p->fields ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* Computes counts from sizes, and the properties of the rest pose that frames need. */
static abut_status plan_sizes(const radial_plan *p, field_plan *f) {
    const abut_character_matrix *bone = &p->source.bones[f->axis.bone];
    const vec3 way = v3_sub(matrix_apply(bone, f->axis.end), matrix_apply(bone, f->axis.begin));
    const double length = v3_dot(way, v3_normalise(way)), most = ABUT_RADIAL_SAMPLES_MAX;
    const double along = ceil(length / p->cell) + 1;
    const double around = 4 * ceil(6.283185307179586 * f->radius / p->cell / 4);
    if ((!f->along && !(along <= most)) || (!f->around && !(around <= most)))
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: cells of %g need more than %u samples around or along the axis of "
                          "bone %u; use larger cells",
                          p->source.function, p->cell, ABUT_RADIAL_SAMPLES_MAX, f->axis.bone);
    f->along = f->along ? f->along : (uint32_t)fmax(along, 2);
    f->around = f->around ? f->around : (uint32_t)fmax(around, 8);
    f->axis.rest_length = length;
    f->axis.rest_mirrored = is_mirrored(bone);
    if (v3_max_abs(f->axis.normal) ==
        0) { /* any direction that the bone does not map along the axis */
        const vec3 axis = v3_normalise(v3_sub(f->axis.end, f->axis.begin));
        const vec3 other = fabs(axis.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0);
        f->axis.normal = v3_normalise(v3_along(other, -v3_dot(other, axis), axis));
    }
    return ABUT_OK;
}

/* Adds vertices and triangles of a field. `place` has, for each vertex of the mesh, its index in
 * the list if it was added for this field. */
static void add_members(abut_radial *r, const radial_plan *p, uint32_t i, uint32_t *place) {
    const field_plan *from = &p->fields[i];
    radial_field *f = &r->fields[i];
    f->first_vertex = (uint32_t)r->seen_count;
    for (size_t k = 0; k < from->count; k++) {
        const size_t pair = f->first_triangle + k;
        const uint32_t *corner = p->source.rest->indices + 3 * (size_t)from->triangles[k];
        r->pair_fields[pair] = i;
        r->pair_triangles[pair] = from->triangles[k];
        for (int c = 0; c < 3; c++) {
            uint32_t *at = &place[corner[c]];
            if (*at < f->first_vertex || *at == ABUT_NONE) {
                *at = (uint32_t)r->seen_count;
                r->vertices[r->seen_count++] = corner[c];
            }
            r->triangles[3 * pair + (size_t)c] = *at;
        }
    }
    f->vertex_count = (uint32_t)r->seen_count - f->first_vertex;
}

static uint32_t count_unseen(const abut_radial *r, uint32_t *seen) {
    uint32_t count = r->info.triangle_count;
    memset(seen, 0, count * sizeof *seen);
    for (uint64_t i = 0; i < r->info.pair_count; i++) {
        count -= !seen[r->pair_triangles[i]];
        seen[r->pair_triangles[i]] = 1;
    }
    return count;
}

/* Computes the sizes of all arrays. */
static abut_status count_sizes(abut_radial *r, const radial_plan *p) {
    uint64_t samples = 0, turns = 0, pairs = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const field_plan *f = &p->fields[i];
        samples += (uint64_t)f->around * f->along;
        turns += f->around;
        pairs += f->count;
        if (samples > SAMPLES_TOTAL || pairs > UINT32_MAX / 3)
            return abuti_fail(ABUT_ERROR_LIMIT,
                              "%s: cells of %g need more than %u samples, or there are too many "
                              "triangles; use larger cells or fewer fields",
                              p->source.function, p->cell, SAMPLES_TOTAL);
    }
    r->info = (abut_radial_info){.field_count = p->count,
                                 .bone_count = p->source.bone_count,
                                 .vertex_count = p->source.rest->vertex_count,
                                 .triangle_count = p->source.rest->triangle_count,
                                 .sample_count = samples,
                                 .pair_count = pairs,
                                 .bytes = samples * sizeof(float),
                                 .cell = p->cell};
    r->turn_count = (uint32_t)turns;
    return ABUT_OK;
}

static abut_status reserve_arrays(abut_radial *r) {
    const size_t n = r->info.field_count, pairs = (size_t)r->info.pair_count;
    return ABUTI_ALLOCATE(r->context, ABUTI_ARRAY(r->axes, n), ABUTI_ZEROED(r->fields, n),
                          ABUTI_ARRAY(r->turns, r->turn_count), ABUTI_ARRAY(r->vertices, 3 * pairs),
                          ABUTI_ARRAY(r->triangles, 3 * pairs), ABUTI_ARRAY(r->pair_fields, pairs),
                          ABUTI_ARRAY(r->pair_triangles, pairs), ABUTI_ZEROED(r->frames[0], n),
                          ABUTI_ZEROED(r->frames[1], n),
                          ABUTI_ARRAY(r->radii, (size_t)r->info.sample_count),
                          ABUTI_ZEROED(r->marks, n), ABUTI_ZEROED(r->bounds, n),
                          ABUTI_ARRAY(r->bound_lists, RADIAL_BOUND_NUMBERS * n));
}

static abut_status fill_arrays(abut_radial *r, const radial_plan *p) {
    const size_t vertices = r->info.vertex_count, triangles = r->info.triangle_count;
    const size_t room = vertices > triangles ? vertices : triangles;
    uint32_t *place = abuti_allocate(r->context, room, sizeof *place);
    if (!place)
        return ABUT_ERROR_MEMORY;
    memset(place, 0xff, room * sizeof *place);
    uint32_t sample = 0, turn = 0, pair = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const field_plan *from = &p->fields[i];
        r->axes[i] = from->axis;
        r->fields[i] = (radial_field){.around = from->around,
                                      .along = from->along,
                                      .first = sample,
                                      .first_turn = turn,
                                      .first_triangle = pair,
                                      .triangle_count = from->count};
        for (uint32_t k = 0; k < from->around; k++)
            r->turns[turn++] = compute_direction(k, from->around);
        sample += from->around * from->along;
        pair += from->count;
        add_members(r, p, i, place);
        r->frames[0][i] =
            compute_frame(&from->axis, &p->source.bones[from->axis.bone], from->along, r->unit);
        r->frames[1][i] = r->frames[0][i];
    }
    for (size_t i = 0; i < r->info.sample_count; i++)
        r->radii[i] = INFINITY;
    compute_bounds(r);
    r->info.unseen_count = count_unseen(r, place);
    r->is_on_host = true;
    abuti_release(r->context, place);
    return ABUT_OK;
}

abut_radial *abuti_radial_retain(abut_radial *radial) {
    if (radial)
        atomic_fetch_add_explicit(&radial->holds, 1, memory_order_relaxed);
    return radial;
}

void abut_radial_destroy(abut_radial *radial) {
    if (!radial || atomic_fetch_sub_explicit(&radial->holds, 1, memory_order_acq_rel) != 1)
        return;
    abut_radial *r = radial;
    abut_context *context = r->context;
    if (r->backend)
        r->backend->destroy(r);
    abut_device_destroy(r->device);
    abut_mesh_destroy(r->mesh);
    ABUTI_RELEASE(context, r->axes, r->fields, r->turns, r->vertices, r->triangles, r->pair_fields,
                  r->pair_triangles, r->frames[0], r->frames[1], r->radii, r->marks, r->bounds,
                  r->bound_lists, r);
    abut_context_destroy(context);
}

/* A power of two that scales coordinates of very large or small meshes to the range of floats. */
static double choose_unit(double extent) {
    int exponent;
    if (!(extent > 0) || (extent > 0x1p-20 && extent < 0x1p20))
        return 1;
    frexp(extent, &exponent);
    return ldexp(1, exponent < UNIT_EXPONENT_MIN ? UNIT_EXPONENT_MIN : exponent);
}

static abut_status create_from_plan(const radial_plan *p, double extent, abut_radial **radial) {
    abut_radial *r = abuti_allocate_zeroed(p->source.context, 1, sizeof *r);
    if (!r)
        return ABUT_ERROR_MEMORY;
    r->context = abuti_context_retain(p->source.context);
    atomic_init(&r->holds, 1);
    r->mesh = abut_mesh_retain(p->source.rest);
    r->unit = choose_unit(extent);
    abut_status status = count_sizes(r, p);
    if (!status)
        status = reserve_arrays(r);
    if (!status)
        status = fill_arrays(r, p);
    if (!status) {
        if (p->options.device)
            r->device = abuti_device_retain(p->options.device);
        r->backend = r->device ? &abuti_radial_on_device : &abuti_radial_host;
        status = r->backend->create(r);
    }
    if (status)
        abut_radial_destroy(r);
    else
        *radial = r;
    return status;
}

static abut_status plan_and_create(radial_plan *p, const abut_radial_options *options,
                                   abut_radial **radial) {
    const char *function = p->source.function;
    const vec3 lo = p->source.rest->bounds.lo, hi = p->source.rest->bounds.hi;
    const bool has_triangles = p->source.rest->triangle_count > 0;
    const double extent = has_triangles ? v3_max_abs(v3_sub(hi, lo)) : 0;
    p->options = abut_radial_options_default();
    abut_status status =
        abuti_options_read(&p->options, sizeof p->options, options, "abut_radial_options");
    if (!status)
        status = check_options(function, p);
    for (uint32_t i = 0; i < p->options.axis_count && !status; i++)
        status = check_axis(p, i);
    if (status)
        return status;
    p->cell = p->options.cell > 0 ? p->options.cell : extent > 0 ? extent / CELLS_DEFAULT : 1;
    if (p->source.character)
        status = abuti_radial_members(&p->source,
                                      p->options.weight > 0 ? p->options.weight : WEIGHT_DEFAULT,
                                      &p->members);
    if (!status)
        status = p->options.axes ? plan_given_axes(p) : plan_fitted_axes(p);
    for (uint32_t i = 0; i < p->count && !status; i++)
        status = plan_sizes(p, &p->fields[i]);
    if (!status)
        status = create_from_plan(p, extent, radial);
    for (size_t i = 0; i < p->parts.count; i++)
        abuti_release(p->source.context, ABUTI_AT(&p->parts, radial_part, i).triangles);
    ABUTI_RELEASE(p->source.context, p->members.begin, p->members.list, p->fields, p->parts.data);
    return status;
}

abut_status abut_radial_create(const abut_character *character, const abut_radial_options *options,
                               abut_radial **radial) {
    if (!character || !radial)
        return abuti_null(__func__, character ? "radial" : "character");
    radial_plan p = {.source = {.context = character->context,
                                .function = __func__,
                                .character = character,
                                .rest = character->rest,
                                .bone_count = character->info.bone_count}};
    p.source.bones =
        abuti_allocate(character->context, p.source.bone_count, sizeof *p.source.bones);
    if (!p.source.bones)
        return ABUT_ERROR_MEMORY;
    abut_status status = abut_character_pose(character, NULL, p.source.bones);
    if (!status)
        status = plan_and_create(&p, options, radial);
    abuti_release(character->context, p.source.bones);
    return status;
}

abut_status abut_radial_create_mesh(abut_mesh *mesh, uint32_t bone_count,
                                    const abut_radial_options *options, abut_radial **radial) {
    if (!mesh || !radial)
        return abuti_null(__func__, mesh ? "radial" : "mesh");
    radial_plan p = {.source = {.context = mesh->context,
                                .function = __func__,
                                .rest = mesh,
                                .bone_count = bone_count}};
    p.source.bones = abuti_allocate_zeroed(mesh->context, bone_count, sizeof *p.source.bones);
    p.all = abuti_allocate(mesh->context, mesh->triangle_count, sizeof *p.all);
    abut_status status = p.source.bones && p.all ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; !status && i < 3 * bone_count; i++)
        p.source.bones[i / 3].m[i % 3][i % 3] = 1;
    for (uint32_t i = 0; !status && i < mesh->triangle_count; i++)
        p.all[i] = i;
    if (!status)
        status = plan_and_create(&p, options, radial);
    ABUTI_RELEASE(mesh->context, p.source.bones, p.all);
    return status;
}

/* ---- info ---- */

abut_status abut_radial_get_info(const abut_radial *radial, abut_radial_info *info) {
    if (!radial || !info)
        return abuti_null(__func__, radial ? "info" : "radial");
    return abuti_info_write(info, &radial->info, sizeof radial->info, __func__);
}

void abuti_radial_close_ends(abut_radial *r) {
    for (uint32_t k = 0; k < r->info.field_count; k++) {
        const radial_field *f = &r->fields[k];
        const word32 top = r->marks[k].top, bottom = r->marks[k].bottom;
        for (int end = 0; end < 2; end++) {
            if (!(end ? bottom : top))
                continue;
            const uint32_t row = end ? f->along - bottom : top - 1;
            for (uint32_t i = 0; i < f->around; i++)
                r->radii[f->first + row * f->around + i] =
                    radial_radius(f, r->radii, top, bottom, i, row);
        }
    }
}

abut_status abuti_radial_download(abut_radial *r) {
    if (r->is_on_host) /* then nothing is written: tasks of a world call this concurrently */
        return ABUT_OK;
    abut_status status = r->backend->download(r);
    r->is_on_host = !status;
    return status;
}

static float float_from_bits(word32 bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

abut_status abut_radial_get_field(abut_radial *radial, uint32_t index, abut_radial_view *view) {
    if (!radial || !view)
        return abuti_null(__func__, radial ? "view" : "radial");
    if (index >= radial->info.field_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: index is %u; there are %u fields", __func__,
                          index, radial->info.field_count);
    abut_status status = abuti_radial_download(radial);
    if (status)
        return status;
    abut_radial_view made = abut_radial_view_default();
    const radial_field *f = &radial->fields[index];
    const radial_frame *now = &radial->frames[0][index];
    made.bone = radial->axes[index].bone;
    made.around = f->around;
    made.along = f->along;
    made.triangle_count = f->triangle_count;
    made.begin = now->origin;
    made.end = v3_along(now->origin, now->length, now->axis[2]);
    made.normal = now->axis[0];
    made.tangent = now->axis[1];
    made.axis = now->axis[2];
    made.step = now->collapsed ? 0 : now->length / (f->along - 1);
    made.reach = float_from_bits(radial->marks[index].reach) * radial->unit;
    made.unit = radial->unit;
    made.radii = radial->info.has_samples ? radial->radii + f->first : NULL;
    return abuti_info_write(view, &made, sizeof made, __func__);
}

/* ---- updates ---- */

static abut_status check_pose(const char *function, const abut_radial *r,
                              const abut_character_matrix *bones, abut_array positions) {
    if (!positions.host && !positions.buffer)
        return abuti_null(function, "positions");
    if (positions.buffer && !r->device)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: positions are on a device, but the fields are on the CPU; set options->device",
            function);
    for (uint32_t i = 0; i < r->info.bone_count; i++)
        if (!matrix_is_valid(&bones[i]))
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: bones[%u] is not finite", function, i);
    const vec3 *list = positions.host;
    for (uint32_t i = 0; list && i < r->info.vertex_count; i++)
        if (!radial_is_in_range(list[i]))
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: positions[%u] is not finite or beyond %g",
                              function, i, ABUT_COORDINATE_MAX);
    return ABUT_OK;
}

static abut_status compute_frames(const char *function, const abut_radial *r,
                                  const abut_character_matrix *bones, radial_frame *made) {
    for (uint32_t i = 0; i < r->info.field_count; i++) {
        made[i] = compute_frame(&r->axes[i], &bones[r->axes[i].bone], r->fields[i].along, r->unit);
        if (!radial_is_in_range(made[i].origin) || !(made[i].length <= ABUT_COORDINATE_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: bones[%u] moves an axis beyond %g",
                              function, r->axes[i].bone, ABUT_COORDINATE_MAX);
    }
    return ABUT_OK;
}

/* Then collides particles, unless `order` is null. */
static abut_status update_packed(const char *function, abut_radial *r,
                                 const abut_character_matrix *bones, abut_array positions,
                                 const radial_collision_options *order,
                                 abut_radial_particles *particles) {
    const uint32_t n = r->info.field_count;
    abut_status status = check_pose(function, r, bones, positions);
    if (status)
        return status;
    radial_frame *made = abuti_allocate(r->context, n, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    status = compute_frames(function, r, bones, made);
    if (status) {
        abuti_release(r->context, made);
        return status;
    }
    /* Frames rotate: the new ones replace the oldest. In the first update nothing has moved yet, so
     * both are the new ones; the previous ones were those of the rest pose. */
    radial_frame *now = r->frames[0], *before = r->frames[1];
    const bool is_first = !r->info.has_samples;
    if (is_first)
        memcpy(before, made, n * sizeof *made);
    else
        r->frames[1] = now;
    r->frames[0] = made;
    compute_bounds(r);
    status = r->backend->update(r, positions, order, particles);
    if (status) {
        r->frames[0] = now;
        r->frames[1] = before;
        if (is_first)
            memcpy(before, now, n * sizeof *made);
        compute_bounds(r);
        abuti_release(r->context, made);
        return status;
    }
    abuti_release(r->context, is_first ? now : before);
    r->info.has_samples = true;
    return ABUT_OK;
}

static abut_status update_samples(const char *function, abut_radial *r,
                                  const abut_character_matrix *bones, abut_array positions,
                                  const radial_collision_options *order,
                                  abut_radial_particles *particles) {
    void *copy;
    abut_status status = abuti_array_convert(function, "positions", r->context, &positions,
                                             r->info.vertex_count, 3, &copy);
    if (!status)
        status = update_packed(function, r, bones, positions, order, particles);
    abuti_release(r->context, copy);
    return status;
}

abut_status abut_radial_set_positions(abut_radial *radial, const abut_character_matrix *bones,
                                      abut_array positions) {
    if (!radial || !bones)
        return abuti_null(__func__, radial ? "bones" : "radial");
    return update_samples(__func__, radial, bones, positions, NULL, NULL);
}

abut_status abut_radial_step(abut_radial *radial, const abut_character_matrix *bones,
                             abut_array positions, abut_radial_particles *particles) {
    abut_radial_particles p;
    radial_collision_options order;
    if (!radial || !bones || !particles)
        return abuti_null(__func__, !radial ? "radial" : !bones ? "bones" : "particles");
    abut_status status = abuti_radial_read_particles(__func__, radial, particles, &p, &order);
    if (!status)
        status = update_samples(__func__, radial, bones, positions, p.count ? &order : NULL, &p);
    if (!status) {
        particles->hit_count = p.hit_count;
        particles->odd_count = p.odd_count;
    }
    return status;
}

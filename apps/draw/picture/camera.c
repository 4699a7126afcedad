/* The camera: its direction, and the position that frames everything.
 *
 * Framing. In camera axes (right, up, towards the eye), a point p is inside the frame of an eye at
 * (ex, ey, d) if |px - ex| <= tx (d - pz) and |py - ey| <= ty (d - pz), where tx and ty are the
 * tangents of half the angles of view, minus a margin. The maximum of the linear form of each
 * half-space over all points determines the tightest frame, exactly and in one pass. All points
 * then have d - pz > 0, and a minimum distance keeps it well above zero: no point is behind the
 * eye, and triangles need no clipping.
 *
 * Precision. Everything is computed in doubles relative to the centre of the scene and scaled to
 * unit size, so that a mesh of size 1e-30, 1e30, or far from the origin looks the same.
 */
#include "picture/picture.h"

#define MARGIN 0.06    /* of width and height, on each side */
#define MIN_ANGLE 0.01 /* degrees; smaller angles look orthographic and only lose digits */
#define MIN_EYE_DISTANCE                                                                          \
    0.05 /* minimum distance of the eye from the nearest point, relative to the size of the scene \
          */

static const double pi = 3.14159265358979323846;

abut_status abuti_camera_check(const abut_picture_options *options) {
    const vec3 *vectors[2] = {&options->eye_direction, &options->up};
    static const char *const names[2] = {"eye_direction", "up"};
    for (int i = 0; i < 2; i++)
        if (!isfinite(vectors[i]->x) || !isfinite(vectors[i]->y) || !isfinite(vectors[i]->z))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_picture_create: %s is (%g, %g, %g); it must be finite",
                              names[i], vectors[i]->x, vectors[i]->y, vectors[i]->z);
    if (!isfinite(options->field_of_view) || options->field_of_view >= 170)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_picture_create: field_of_view is %g degrees; it must be less than 170",
            options->field_of_view);
    return ABUT_OK;
}

static vec3 direction_or(vec3 given, vec3 usual) {
    vec3 unit = v3_normalise(given);
    return v3_max_abs(unit) > 0 ? unit : v3_normalise(usual);
}

/* Views along `up` are plans: from above, the front is at the bottom of the picture, from below at
 * its top. The front is -y, or +z if y is up, as in modelling programs. */
static void choose_axes(const abut_picture *picture, picture_camera *out) {
    const abut_picture_options *options = &picture->options;
    vec3 mesh_up = v3(0, 0, 0);
    for (size_t i = 0; i < picture->item_count && !(v3_max_abs(mesh_up) > 0); i++)
        mesh_up = m3_apply(&picture->items[i].rotation, picture->items[i].mesh->up);
    vec3 up = direction_or(options->up, direction_or(mesh_up, v3(0, 0, 1)));
    vec3 usual = up.y > 0.9 ? v3(0.6, 0.55, 1) : v3(0.6, -1, 0.55);
    vec3 back = direction_or(options->eye_direction, usual);
    vec3 right = v3_cross(up, back);
    if (v3_length(right) < 1e-6) {
        vec3 rear = fabs(back.y) < 0.9 ? v3(0, 1, 0) : v3(0, 0, -1);
        right = v3_cross(v3_scale(rear, v3_dot(up, back) < 0 ? -1 : 1), back);
    }
    right = v3_normalise(right);
    out->axes.row[0] = right;
    out->axes.row[1] = v3_cross(back, right);
    out->axes.row[2] = back;
    out->world_up = up;
}

/* ---- reductions over all points ---- */

/* The maxima of some linear forms over a set of points. They do not depend on the order. */
enum { FORM_MAX = 6 };

typedef struct form_maxima {
    const picture_item *item;
    mat3 matrix;
    vec3 offset;
    vec3 forms[FORM_MAX];
    int form_count;
    double (*chunks)[FORM_MAX];
} form_maxima;

enum { TRIANGLES_PER_TASK = 16384 };

static void keep_largest(const form_maxima *forms, vec3 p, double *largest) {
    for (int k = 0; k < forms->form_count; k++)
        largest[k] = real_max(largest[k], v3_dot(forms->forms[k], p));
}

/* Iterates over corners, not vertices: unused vertices must not count. */
static void maximise_chunk(void *data, size_t chunk, size_t begin, size_t end) {
    const form_maxima *p = data;
    const abut_mesh *mesh = p->item->mesh;
    double largest[FORM_MAX];
    for (int k = 0; k < FORM_MAX; k++)
        largest[k] = -DBL_MAX;
    for (size_t i = 3 * begin; i < 3 * end; i++) {
        vec3 v = mesh->positions[mesh->indices[i]];
        keep_largest(p, v3_add(m3_apply(&p->matrix, v), p->offset), largest);
    }
    for (int k = 0; k < FORM_MAX; k++)
        p->chunks[chunk][k] = largest[k];
}

static abut_status maximise_over_item(form_maxima *p, abut_context *context, double *largest) {
    size_t count = p->item->mesh->triangle_count;
    size_t chunks = abuti_chunk_count(count, TRIANGLES_PER_TASK);
    p->chunks = abuti_allocate(context, chunks, sizeof *p->chunks);
    if (!p->chunks)
        return ABUT_ERROR_MEMORY;
    abuti_parallel_for(context, count, TRIANGLES_PER_TASK, maximise_chunk, p);
    for (size_t i = 0; i < chunks; i++)
        for (int k = 0; k < p->form_count; k++)
            largest[k] = real_max(largest[k], p->chunks[i][k]);
    abuti_release(context, p->chunks);
    return ABUT_OK;
}

/* ---- world to camera ---- */

/* The local origin of the mesh is transformed first, so that small details far from the origin keep
 * their precision. */
static vec3 item_origin(const picture_item *item) {
    return v3_add(m3_apply(&item->rotation, item->mesh->origin), item->translation);
}

void abuti_camera_item(const picture_camera *camera, const picture_item *item, mat3 *to_camera,
                       vec3 *offset) {
    mat3 turned = m3_multiply(&camera->axes, &item->rotation);
    for (int i = 0; i < 3; i++)
        to_camera->row[i] = v3_scale(turned.row[i], camera->scale);
    vec3 origin = v3_scale(v3_sub(item_origin(item), camera->centre), camera->scale);
    *offset = m3_apply(&camera->axes, origin);
}

vec3 abuti_camera_point(const picture_camera *camera, vec3 absolute) {
    vec3 about = v3_scale(v3_sub(absolute, camera->centre), camera->scale);
    return m3_apply(&camera->axes, about);
}

/* ---- framing ---- */

/* Centre and size of everything, from the bounding box along the camera axes, so that the centre is
 * behind the nearest point for any shape. A scene of a single point has no size: scale 1. */
static abut_status fit_scene(const abut_picture *picture, picture_camera *out) {
    double largest[FORM_MAX];
    form_maxima p = {.form_count = 6};
    for (int axis = 0; axis < 3; axis++) {
        p.forms[axis] = out->axes.row[axis];
        p.forms[3 + axis] = v3_scale(out->axes.row[axis], -1);
    }
    for (int k = 0; k < FORM_MAX; k++)
        largest[k] = -DBL_MAX;
    for (size_t i = 0; i < picture->item_count; i++) {
        p.item = &picture->items[i];
        p.matrix = p.item->rotation;
        p.offset = item_origin(p.item);
        abut_status status = maximise_over_item(&p, picture->context, largest);
        if (status)
            return status;
    }
    for (size_t i = 0; i < picture->mark_count; i++) {
        keep_largest(&p, picture->marks[i].from, largest);
        keep_largest(&p, picture->marks[i].to, largest);
    }
    out->scale = 1;
    out->centre = v3(0, 0, 0);
    if (largest[0] == -DBL_MAX)
        return ABUT_OK; /* the picture is empty */
    vec3 hi = v3(largest[0], largest[1], largest[2]);
    vec3 lo = v3(-largest[3], -largest[4], -largest[5]);
    mat3 to_world = m3_transpose(&out->axes);
    out->centre = m3_apply(&to_world, v3_add(v3_scale(lo, 0.5), v3_scale(hi, 0.5)));
    double half = v3_max_abs(v3_scale(v3_sub(hi, lo), 0.5));
    /* below the precision of the coordinates, only rounding errors would be enlarged */
    double finest = real_max(1e-290, v3_max_abs(out->centre) * 1e-14);
    out->scale = half > finest ? 1 / half : half > 0 ? 1 / finest : 1;
    return ABUT_OK;
}

/* Maxima of the given forms over the scene in camera coordinates. */
static abut_status maximise_over_scene(const abut_picture *picture, const picture_camera *camera,
                                       form_maxima *p, double *largest) {
    for (int k = 0; k < FORM_MAX; k++)
        largest[k] = -DBL_MAX;
    for (size_t i = 0; i < picture->item_count; i++) {
        p->item = &picture->items[i];
        abuti_camera_item(camera, p->item, &p->matrix, &p->offset);
        abut_status status = maximise_over_item(p, picture->context, largest);
        if (status)
            return status;
    }
    for (size_t i = 0; i < picture->mark_count; i++) {
        keep_largest(p, abuti_camera_point(camera, picture->marks[i].from), largest);
        keep_largest(p, abuti_camera_point(camera, picture->marks[i].to), largest);
    }
    for (int k = 0; k < p->form_count; k++)
        if (largest[k] == -DBL_MAX)
            largest[k] = 0;
    return ABUT_OK;
}

abut_status abuti_camera_frame(const abut_picture *picture, picture_camera *out) {
    const abut_picture_options *options = &picture->options;
    *out =
        (picture_camera){.half_width = 0.5 * options->width, .half_height = 0.5 * options->height};
    choose_axes(picture, out);
    abut_status status = fit_scene(picture, out);
    if (status)
        return status;
    double aspect = out->half_width / out->half_height;
    bool parallel = options->field_of_view < 0;
    double angle = options->field_of_view > 0 ? real_max(options->field_of_view, MIN_ANGLE) : 30;
    double tangent = parallel ? 1 : tan(angle / 2 * pi / 180);
    double ty = tangent * (1 - 2 * MARGIN), tx = ty * aspect;
    double slope_x = parallel ? 0 : tx, slope_y = parallel ? 0 : ty;
    vec3 down = v3_scale(m3_apply(&out->axes, out->world_up), -1);
    form_maxima p = {.form_count = 6,
                     .forms = {v3(1, 0, slope_x), v3(-1, 0, slope_x), v3(0, 1, slope_y),
                               v3(0, -1, slope_y), v3(0, 0, 1), down}};
    double largest[FORM_MAX];
    status = maximise_over_scene(picture, out, &p, largest);
    if (status)
        return status;
    out->eye_x = (largest[0] - largest[1]) / 2;
    out->eye_y = (largest[2] - largest[3]) / 2;
    double half_x = (largest[0] + largest[1]) / 2 / tx, half_y = (largest[2] + largest[3]) / 2 / ty;
    double reach = real_max(half_x, half_y);
    if (parallel) {
        out->focal = out->half_height / (reach > 1e-6 ? reach : 1);
    } else {
        out->distance = real_max(reach, largest[4] + MIN_EYE_DISTANCE);
        out->focal = out->half_height / tangent;
    }
    out->floor = -largest[5];
    /* seen from below, the floor would hide the scene; edge-on it is invisible */
    vec3 eye = v3(out->eye_x, out->eye_y, out->distance);
    double above = parallel ? -down.z : -v3_dot(down, eye) - out->floor;
    out->ground = options->ground && above > 0.02 && picture->item_count > 0;
    return ABUT_OK;
}

unprojection abuti_camera_back(const picture_camera *camera) {
    double pixel = camera->distance > 0 ? camera->distance / camera->focal : 1 / camera->focal;
    return (unprojection){.half_width = (float)camera->half_width,
                          .half_height = (float)camera->half_height,
                          .eye_x = (float)camera->eye_x,
                          .eye_y = (float)camera->eye_y,
                          .distance = (float)camera->distance,
                          .pixel = (float)pixel};
}

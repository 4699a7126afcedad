/* Gathers all items of a picture into one scene in screen and camera coordinates. */
#include "picture/picture.h"

#include <string.h>

enum { ELEMENTS_PER_TASK = 8192 };

/* ---- one item ---- */

typedef struct gather_task {
    picture_scene *scene;
    const picture_item *item;
    uint32_t number; /* index of the item */
    mat3 to_camera, turn;
    vec3 offset;
    size_t first_vertex, first_triangle, first_smooth;
} gather_task;

static void gather_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    const gather_task *g = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec3 p = v3_add(m3_apply(&g->to_camera, g->item->mesh->positions[i]), g->offset);
        g->scene->screen[g->first_vertex + i] = camera_project(&g->scene->camera, p);
    }
}

/* Normals are computed in mesh coordinates first: normals.c compares them there. */
static void gather_triangles(void *data, size_t chunk, size_t begin, size_t end) {
    const gather_task *g = data;
    const abut_mesh *mesh = g->item->mesh;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        const uint32_t *corner = mesh->indices + 3 * t;
        vec3 a = mesh->positions[corner[0]], b = mesh->positions[corner[1]],
             c = mesh->positions[corner[2]];
        /* unit vectors, because the product of two edges of length 1e-200 would underflow */
        vec3 e = v3_normalise(v3_sub(b, a)), f = v3_normalise(v3_sub(c, a));
        g->scene->face_normals[g->first_triangle + t] = f3_of(v3_normalise(v3_cross(e, f)));
        g->scene->triangle_item[g->first_triangle + t] = g->number;
        for (int k = 0; k < 3; k++)
            g->scene->corners[3 * (g->first_triangle + t) + (size_t)k] =
                (uint32_t)(g->first_vertex + corner[k]);
    }
}

static f3 rotate_normal(const mat3 *turn, f3 n) {
    return f3_of(m3_apply(turn, v3(n.x, n.y, n.z)));
}

static void rotate_normals(void *data, size_t chunk, size_t begin, size_t end) {
    const gather_task *g = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        f3 *face = &g->scene->face_normals[g->first_triangle + t];
        *face = rotate_normal(&g->turn, *face);
        for (size_t k = 0; g->item->smooth && k < 3; k++) {
            f3 *corner = &g->scene->corner_normals[g->first_smooth + 3 * t + k];
            *corner = rotate_normal(&g->turn, *corner);
        }
    }
}

static abut_status gather_item(gather_task *g) {
    picture_scene *s = g->scene;
    const abut_mesh *mesh = g->item->mesh;
    abuti_camera_item(&s->camera, g->item, &g->to_camera, &g->offset);
    g->turn = m3_multiply(&s->camera.axes, &g->item->rotation);
    abuti_parallel_for(s->context, mesh->vertex_count, ELEMENTS_PER_TASK, gather_vertices, g);
    abuti_parallel_for(s->context, mesh->triangle_count, ELEMENTS_PER_TASK, gather_triangles, g);
    scene_item *made = &s->items[g->number];
    *made = (scene_item){.paint = g->item->paint,
                         .back = abuti_back_colour(g->item->paint.colour),
                         .triangle_paint = g->item->triangle_paint,
                         .first_triangle = (uint32_t)g->first_triangle,
                         .edges = g->item->edges,
                         .two_sided = g->item->two_sided};
    f3 *corners = g->item->smooth ? s->corner_normals + g->first_smooth : NULL;
    made->corner_normals = corners;
    abut_status status = abuti_corner_normals(s->context, mesh, s->face_normals + g->first_triangle,
                                              s->creases + 3 * g->first_triangle, corners);
    if (status)
        return status;
    abuti_parallel_for(s->context, mesh->triangle_count, ELEMENTS_PER_TASK, rotate_normals, g);
    g->first_vertex += mesh->vertex_count;
    g->first_triangle += mesh->triangle_count;
    if (g->item->smooth)
        g->first_smooth += 3 * (size_t)mesh->triangle_count;
    return ABUT_OK;
}

/* ---- centring ---- */

static void extend_frame(f3 p, float frame[4]) {
    frame[0] = float_min(frame[0], p.x);
    frame[1] = float_min(frame[1], p.y);
    frame[2] = float_max(frame[2], p.x);
    frame[3] = float_max(frame[3], p.y);
}

/* The frame is tight on two opposite sides. On the other two, perspective makes margins unequal:
 * near parts extend farther than far parts. Shifting the image, like the lens of a view camera,
 * makes these margins equal too. */
static void centre_image(picture_scene *s) {
    float frame[4] = {FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX};
    for (size_t i = 0; i < 3 * s->triangle_count; i++)
        extend_frame(s->screen[s->corners[i]], frame);
    for (size_t i = 0; i < s->mark_count; i++) {
        extend_frame(s->marks[i].from, frame);
        extend_frame(s->marks[i].to, frame);
    }
    if (frame[0] > frame[2])
        return;
    float dx = 0.5f * ((float)s->width - frame[0] - frame[2]);
    float dy = 0.5f * ((float)s->height - frame[1] - frame[3]);
    f3 shift = f3_make(dx, dy, 0);
    for (size_t i = 0; i < s->vertex_count; i++)
        s->screen[i] = f3_add(s->screen[i], shift);
    for (size_t i = 0; i < s->mark_count; i++) {
        s->marks[i].from = f3_add(s->marks[i].from, shift);
        s->marks[i].to = f3_add(s->marks[i].to, shift);
    }
    s->camera.half_width += dx;
    s->camera.half_height += dy;
    s->back = abuti_camera_back(&s->camera);
}

/* ---- opaque and transparent ---- */

/* Sorts transparent triangles from far to near by their centroids. glass.c relies on this order if
 * there are more layers than it can sort by sample. */
static abut_status sort_glass(picture_scene *s) {
    sort_key *keys = abuti_allocate(s->context, s->glass_count, 2 * sizeof *keys);
    if (!keys)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < s->glass_count; i++) {
        const uint32_t *corner = s->corners + 3 * (size_t)s->glass[i];
        float q = s->screen[corner[0]].z + s->screen[corner[1]].z + s->screen[corner[2]].z;
        keys[i] = (sort_key){ordered_bits(q), s->glass[i]};
    }
    const sort_key *sorted = abuti_sort_by_key(keys, keys + s->glass_count, s->glass_count);
    for (size_t i = 0; i < s->glass_count; i++)
        s->glass[i] = sorted[i].value;
    abuti_release(s->context, keys);
    return ABUT_OK;
}

static abut_status split_by_opacity(picture_scene *s) {
    for (size_t t = 0; t < s->triangle_count; t++)
        if (triangle_paint_of(s, (uint32_t)t).alpha < 1)
            s->glass_count++;
    s->opaque_count = s->triangle_count - s->glass_count;
    s->opaque = abuti_allocate(s->context, s->opaque_count, sizeof *s->opaque);
    s->glass = abuti_allocate(s->context, s->glass_count, sizeof *s->glass);
    if (!s->opaque || !s->glass)
        return ABUT_ERROR_MEMORY;
    size_t opaque = 0, glass = 0;
    for (size_t t = 0; t < s->triangle_count; t++)
        if (triangle_paint_of(s, (uint32_t)t).alpha < 1)
            s->glass[glass++] = (uint32_t)t;
        else
            s->opaque[opaque++] = (uint32_t)t;
    return sort_glass(s);
}

/* ---- create ---- */

static abut_status allocate_arrays(const abut_picture *picture, picture_scene *s) {
    size_t smooth = 0;
    for (size_t i = 0; i < picture->item_count; i++)
        if (picture->items[i].smooth)
            smooth += picture->items[i].mesh->triangle_count;
    abut_context *context = s->context;
    s->vertex_count = (size_t)picture->vertex_count;
    s->triangle_count = (size_t)picture->triangle_count;
    s->item_count = picture->item_count;
    s->mark_count = picture->mark_count;
    s->items = abuti_allocate(context, s->item_count, sizeof *s->items);
    s->screen = abuti_allocate(context, s->vertex_count, sizeof *s->screen);
    s->corners = abuti_allocate(context, s->triangle_count, 3 * sizeof *s->corners);
    s->triangle_item = abuti_allocate(context, s->triangle_count, sizeof *s->triangle_item);
    s->face_normals = abuti_allocate(context, s->triangle_count, sizeof *s->face_normals);
    s->corner_normals = abuti_allocate(context, smooth, 3 * sizeof *s->corner_normals);
    s->creases = abuti_allocate(context, s->triangle_count, 3);
    s->marks = abuti_allocate(context, s->mark_count, sizeof *s->marks);
    if (!s->items || !s->screen || !s->corners || !s->triangle_item || !s->face_normals ||
        !s->corner_normals || !s->creases || !s->marks)
        return ABUT_ERROR_MEMORY;
    return ABUT_OK;
}

abut_status abuti_scene_create(const abut_picture *picture, picture_scene *out) {
    *out = (picture_scene){.context = picture->context, .options = &picture->options};
    abut_status status = abuti_camera_frame(picture, &out->camera);
    out->width = picture->options.width;
    out->height = picture->options.height;
    abuti_raster_size(&out->lens, out->width, out->height, COVER_BITS);
    out->back = abuti_camera_back(&out->camera);
    if (!status)
        status = allocate_arrays(picture, out);
    gather_task g = {.scene = out};
    for (size_t i = 0; !status && i < picture->item_count; i++) {
        g.item = &picture->items[i];
        g.number = (uint32_t)i;
        status = gather_item(&g);
    }
    for (size_t i = 0; !status && i < picture->mark_count; i++) {
        const picture_mark *mark = &picture->marks[i];
        vec3 from = abuti_camera_point(&out->camera, mark->from);
        vec3 to = abuti_camera_point(&out->camera, mark->to);
        out->marks[i] = (scene_mark){.from = camera_project(&out->camera, from),
                                     .to = camera_project(&out->camera, to),
                                     .radius = 0.5f * mark->width,
                                     .is_point = mark->is_point,
                                     .paint = mark->paint};
    }
    if (status)
        return status;
    centre_image(out);
    return split_by_opacity(out);
}

void abuti_scene_destroy(picture_scene *s) {
    abut_context *context = s->context;
    ABUTI_RELEASE(context, s->items, s->screen, s->corners, s->triangle_item, s->face_normals,
                  s->corner_normals, s->creases, s->opaque, s->glass, s->marks, s->depth,
                  s->enclosure);
    abuti_shadow_destroy(context, s->shadow);
}

/* A piece of cloth: an isosurface of the distance from the body, blended with a cone for skirts,
 * clipped, and remeshed evenly.
 *
 * The clipping function is defined in space too: where it is positive, the surface is removed. The
 * largest remaining component is the piece; others are, for example, hands at the height of
 * trousers.
 */
#include "garment/garment.h"

#include "mannequin/remesh.h"

#include <math.h>

typedef struct piece_builder {
    figure_level surface;
    const garment_body *body;
    const garment_piece *piece;
} piece_builder;

/* ---- functions of space ---- */

static double level_at(const figure_level *surface, vec3 p) {
    const piece_builder *t = (const piece_builder *)surface;
    abut_field_value value;
    const garment_piece *piece = t->piece;
    /* Cubic near the surface, where the gradient has to be continuous. */
    if (abut_field_evaluate(t->body->field, p, ABUT_INTERPOLATION_LINEAR, &value) ||
        (fabs(value.distance - piece->ease) < 3 * t->surface.cell &&
         abut_field_evaluate(t->body->field, p, ABUT_INTERPOLATION_CUBIC, &value)))
        return t->surface.cell;
    double d = value.distance - piece->ease;
    return piece->has_skirt
               ? figure_smooth_min(d, abuti_part_distance(&piece->skirt, p), piece->skirt_blend)
               : d;
}

/* Positive beyond the end of a sleeve: on the arm, but not on the trunk, which is behind the same
 * plane if the arm points down. */
static double beyond_sleeve(const piece_builder *t, vec3 p, int side) {
    const garment_body *b = t->body;
    double at = t->piece->sleeve;
    vec3 from = at < 1 ? b->arm[side] : b->forearm[side];
    vec3 to = at < 1 ? b->forearm[side] : b->hand[side];
    vec3 end = v3_lerp(from, to, at < 1 ? at : at - 1), way = v3_normalise(v3_sub(to, from));
    double arm = abuti_garment_arm_distance(b, p, side), trunk = abuti_garment_trunk_distance(b, p);
    double on_arm = fmin(trunk - arm - 0.3 * b->girth, 0.11 * b->scale + t->piece->ease - arm);
    return fmin(v3_dot(v3_sub(p, end), way), on_arm);
}

/* Whether the nearest part of the body is beyond the sleeves: forearms and hands, or the whole arm
 * if there are no sleeves. Objects in a hand can be anywhere. */
static bool is_bare(const piece_builder *t, vec3 p) {
    const garment_body *b = t->body;
    garment_part first = t->piece->sleeve < 0   ? PART_ARM
                         : t->piece->sleeve < 1 ? PART_FOREARM
                                                : PART_HAND;
    abut_nearest near;
    if (abut_nearest_point(b->bvh, p, 1.5 * t->piece->ease, &near) || near.triangle == ABUT_NONE)
        return false; /* a skirt may be nearer to a hand than to a leg */
    int corner = 0;
    for (int i = 1; i < 3; i++)
        corner = near.barycentric[i] > near.barycentric[corner] ? i : corner;
    return b->parts[b->mesh->indices[3 * (size_t)near.triangle + (size_t)corner]] >= first;
}

static double clip_at(const piece_builder *t, vec3 p) {
    const garment_piece *piece = t->piece;
    const garment_body *b = t->body;
    double height = garment_height(b, p);
    double cut = fmax(height - piece->top, piece->bottom - height);
    if (piece->sleeve >= 0)
        cut = fmax(cut, fmax(beyond_sleeve(t, p, 0), beyond_sleeve(t, p, 1)));
    vec3 from_axis = v3_sub(p, b->hips);
    double ahead = v3_dot(from_axis, b->forward), aside = fabs(v3_dot(from_axis, b->left));
    if (piece->slit > 0)
        cut = fmax(cut, fmin(piece->slit - aside, ahead));
    if (piece->back)
        cut = fmax(cut, ahead - v3_dot(v3_sub(b->neck, b->hips), b->forward));
    return cut <= 0 && is_bare(t, p) ? t->surface.cell : cut;
}

/* ---- the surface ---- */

static abut_status extract_level(piece_builder *t, abut_mesh **mesh) {
    const garment_body *b = t->body;
    box3 box = b->mesh->bounds;
    double margin = t->piece->ease + 4 * t->surface.cell;
    if (t->piece->has_skirt) {
        const figure_part *s = &t->piece->skirt;
        vec3 ends[2] = {s->a, v3_add(s->a, s->along)};
        double radii[2] = {s->ra, s->rb};
        for (int i = 0; i < 2; i++) {
            vec3 r = v3(radii[i], radii[i], radii[i]);
            box = box_grow(box_grow(box, v3_add(ends[i], r)), v3_sub(ends[i], r));
        }
    }
    vec3 m = v3(margin, margin, margin), extent = v3_add(v3_sub(box.hi, box.lo), v3_scale(m, 2));
    t->surface.origin = v3_sub(box.lo, m);
    t->surface.count[0] = (uint32_t)(extent.x / t->surface.cell) + 2;
    t->surface.count[1] = (uint32_t)(extent.y / t->surface.cell) + 2;
    t->surface.count[2] = (uint32_t)(extent.z / t->surface.cell) + 2;
    return abuti_level_extract(b->context, b->who, &t->surface, mesh);
}

/* ---- clipping ---- */

typedef struct clip {
    abut_context *context;
    const abut_mesh *mesh;
    double *clip_values; /* of vertices */
    uint32_t *numbers;   /* new indices of vertices that stay */
    vec3 *positions;
    uint32_t *indices;
    size_t vertex_count, triangle_count;
} clip;

static void add_triangle(clip *c, uint32_t a, uint32_t b, uint32_t d) {
    uint32_t *to = c->indices + 3 * c->triangle_count++;
    to[0] = a, to[1] = b, to[2] = d;
}

static abut_status prepare_clip(clip *c, const piece_builder *t) {
    const abut_mesh *mesh = c->mesh;
    size_t triangles = mesh->triangle_count;
    c->clip_values = abuti_allocate(c->context, mesh->vertex_count, sizeof *c->clip_values);
    c->numbers = abuti_allocate(c->context, mesh->vertex_count, sizeof *c->numbers);
    c->positions =
        abuti_allocate(c->context, mesh->vertex_count + 2 * triangles, sizeof *c->positions);
    c->indices = abuti_allocate(c->context, 6 * triangles, sizeof *c->indices);
    if (!c->clip_values || !c->numbers || !c->positions || !c->indices)
        return ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        vec3 p = abuti_mesh_position(mesh, v);
        double cut = clip_at(t, p);
        c->clip_values[v] = fabs(cut) < 0.05 * t->surface.cell ? 0.05 * t->surface.cell
                                                               : cut; /* avoids tiny triangles */
        c->numbers[v] = ABUT_NONE;
        if (c->clip_values[v] <= 0) {
            c->numbers[v] = (uint32_t)c->vertex_count;
            c->positions[c->vertex_count++] = p;
        }
    }
    return ABUT_OK;
}

/* Adds the vertex at which an edge is clipped: for both of its triangles at the same position. */
static uint32_t clip_edge(clip *c, uint32_t a, uint32_t b) {
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    const double share = c->clip_values[low] / (c->clip_values[low] - c->clip_values[high]);
    c->positions[c->vertex_count] =
        v3_lerp(abuti_mesh_position(c->mesh, low), abuti_mesh_position(c->mesh, high), share);
    return (uint32_t)c->vertex_count++;
}

static void clip_triangles(clip *c) {
    const abut_mesh *mesh = c->mesh;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *v = mesh->indices + 3 * t;
        int inside = 0, odd = 0;
        for (int i = 0; i < 3; i++)
            inside += c->clip_values[v[i]] <= 0;
        if (inside == 3)
            add_triangle(c, c->numbers[v[0]], c->numbers[v[1]], c->numbers[v[2]]);
        if (inside != 1 && inside != 2)
            continue;
        for (int i = 0; i < 3; i++) /* the one that is alone on its side */
            if ((c->clip_values[v[i]] <= 0) == (inside == 1))
                odd = i;
        uint32_t a = v[odd], b = v[(odd + 1) % 3], d = v[(odd + 2) % 3];
        uint32_t ab = clip_edge(c, a, b), ad = clip_edge(c, a, d);
        if (inside == 1) {
            add_triangle(c, c->numbers[a], ab, ad);
        } else {
            add_triangle(c, ab, c->numbers[b], c->numbers[d]);
            add_triangle(c, ab, c->numbers[d], ad);
        }
    }
}

/* The component with the most triangles; splitting welds the clipped edges. */
static abut_status keep_largest_component(const abut_mesh *mesh, abut_mesh **made) {
    abut_mesh_list parts = {NULL, 0, 0};
    abut_status status = abut_mesh_split(mesh, &parts);
    if (status == ABUT_ERROR_BUFFER) {
        parts.capacity = parts.count;
        parts.list = abuti_allocate(mesh->context, (size_t)parts.count, sizeof *parts.list);
        status = parts.list ? abut_mesh_split(mesh, &parts) : ABUT_ERROR_MEMORY;
    }
    uint64_t largest = 0;
    for (uint64_t i = 1; i < parts.count && !status; i++)
        if (parts.list[i]->triangle_count > parts.list[largest]->triangle_count)
            largest = i;
    if (!status)
        *made = abut_mesh_retain(parts.list[largest]);
    for (uint64_t i = 0; i < parts.count && !status; i++)
        abut_mesh_destroy(parts.list[i]);
    abuti_release(mesh->context, parts.list);
    return status;
}

static abut_status clip_mesh(const piece_builder *t, const abut_mesh *mesh, abut_mesh **made) {
    clip c = {.context = t->body->context, .mesh = mesh};
    abut_mesh *clipped = NULL;
    abut_status status = prepare_clip(&c, t);
    if (!status) {
        clip_triangles(&c);
        if (!c.triangle_count)
            status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                "%s: a piece of cloth is empty after clipping; the body has "
                                "unusual proportions",
                                t->body->who);
    }
    if (!status) { /* the mesh takes ownership of the arrays */
        status = abuti_mesh_adopt(c.context, t->body->who, c.positions, c.vertex_count, c.indices,
                                  c.triangle_count, &clipped);
        c.positions = NULL;
        c.indices = NULL;
    }
    if (!status)
        status = keep_largest_component(clipped, made);
    abut_mesh_destroy(clipped);
    ABUTI_RELEASE(c.context, c.clip_values, c.numbers, c.positions, c.indices);
    return status;
}

abut_status abuti_garment_create_piece(const garment_body *body, const garment_piece *piece,
                                       abut_mesh **mesh) {
    piece_builder t = {.surface = {.level = level_at, .cell = 0.011 * body->scale},
                       .body = body,
                       .piece = piece};
    abut_mesh *whole = NULL, *rough = NULL;
    abut_status status = extract_level(&t, &whole);
    if (!status)
        status = clip_mesh(&t, whole, &rough);
    if (!status) {
        const abuti_remesh how = {.project = abuti_level_project,
                                  .data = &t,
                                  .vertices = piece->particles,
                                  .rounds = 8};
        rough->up = body->mesh->up;
        status = abuti_mesh_remesh(rough, body->who, &how, mesh);
    }
    abut_mesh_destroy(whole);
    abut_mesh_destroy(rough);
    return status;
}

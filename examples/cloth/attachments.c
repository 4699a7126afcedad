/* Attachments of vertices to moving targets: pins and springs, at positions that the caller sets
 * or at points of the solid. */
#include "parts.h"

#include <stdio.h>

/* ---- binding ---- */

/* Expresses a point near a triangle by barycentric weights of its corners and a height above it.
 * The weights are those of the foot of the perpendicular, which may be outside the triangle. */
static void express_in_triangle(const vec *corner, vec at, const abut_nearest *n,
                                cloth_hold *hold) {
    vec ab = vec_sub(corner[1], corner[0]), ac = vec_sub(corner[2], corner[0]);
    vec normal = vec_cross(ab, ac), off = vec_sub(at, corner[0]);
    double area = vec_length(normal), sq = vec_dot(normal, normal);
    memcpy(hold->weight, n->barycentric, sizeof hold->weight);
    if (!(area > 0) || !(sq > 0))
        return;
    double v = vec_dot(vec_cross(off, ac), normal) / sq,
           w = vec_dot(vec_cross(ab, off), normal) / sq;
    double far = fmax(fmax(fabs(v), fabs(w)), fabs(1 - v - w));
    if (far < 4) { /* on thin triangles, weights outside the triangle would amplify its rotation */
        hold->weight[0] = 1 - v - w;
        hold->weight[1] = v;
        hold->weight[2] = w;
    }
    hold->offset = vec_dot(off, normal) / area;
}

abut_status cloth_bind(cloth *c, const uint32_t *vertices, uint32_t count, double stiffness,
                       cloth_hold *holds) {
    if (!c || !c->solid || (count && (!vertices || !holds)))
        return abut_set_error(
            ABUT_ERROR_ARGUMENT,
            "cloth_bind: needs a cloth with a solid, vertices and room for holds");
    abut_status status = cloth_fit(c, 1);
    const uint32_t *corners = abut_mesh_indices(c->solid);
    for (uint32_t i = 0; i < count && !status; i++) {
        abut_nearest n;
        if (vertices[i] >= c->vertices)
            return abut_set_error(ABUT_ERROR_ARGUMENT, "cloth_bind: there is no such vertex");
        vec at = c->position[vertices[i]];
        status = abut_nearest_point(c->bvhs[1].bvh, at, (double)INFINITY, &n);
        if (!status && n.triangle == ABUT_NONE)
            status = abut_set_error(ABUT_ERROR_ARGUMENT, "cloth_bind: the solid has no triangles");
        if (status)
            break;
        vec corner[3];
        for (uint32_t k = 0; k < 3; k++)
            corner[k] = c->position[c->vertices + corners[3 * (size_t)n.triangle + k]];
        cloth_hold hold = {vertices[i], n.triangle, {0, 0, 0}, 0, stiffness};
        express_in_triangle(corner, at, &n, &hold);
        holds[i] = hold;
    }
    return status;
}

/* ---- adding ---- */

static abut_status refuse(uint32_t i, const char *why) {
    char sentence[160];
    snprintf(sentence, sizeof sentence, "cloth_add_holds: hold %u %s", i, why);
    return abut_set_error(ABUT_ERROR_ARGUMENT, sentence);
}

static bool is_sane(double number) {
    return number >= -1e15 && number <= 1e15;
}

static abut_status check(const cloth *c, const cloth_hold *holds, uint32_t count) {
    uint32_t triangles = c->solid ? abut_mesh_triangle_count(c->solid) : 0;
    unsigned char *seen = abut_context_allocate(c->context, c->vertices, 1);
    abut_status status = seen ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (seen)
        memset(seen, 0, c->vertices);
    for (uint32_t i = 0; i < count && !status; i++) {
        const cloth_hold *h = &holds[i];
        bool at_solid = h->triangle != ABUT_NONE;
        if (h->vertex >= c->vertices)
            status = refuse(i, "is of a vertex that there is not");
        else if (seen[h->vertex])
            status = refuse(i, "is the second one of its vertex");
        else if (at_solid && h->triangle >= triangles)
            status = refuse(i, "is at a triangle that the solid does not have");
        else if (at_solid && !(is_sane(h->weight[0]) && is_sane(h->weight[1]) &&
                               is_sane(h->weight[2]) && is_sane(h->offset)))
            status = refuse(i, "has a weight or an offset that is not finite");
        else if (!(h->stiffness >= 0 && h->stiffness <= 1e30))
            status = refuse(i, "has a stiffness that is not finite or below 0");
        if (!status)
            seen[h->vertex] = 1;
    }
    abut_context_free(c->context, seen);
    return status;
}

abut_status cloth_add_holds(cloth *c, const cloth_hold *holds, uint32_t count) {
    if (!c || !holds || !count || c->held || c->is_prepared)
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "cloth_add_holds: needs a cloth without holds, and holds");
    abut_status status = check(c, holds, count);
    if (status)
        return status;
    c->held = abut_context_allocate(c->context, count, sizeof *c->held);
    c->given = abut_context_allocate(c->context, count, 2 * sizeof *c->given);
    if (!c->held || !c->given) {
        cloth_free_holds(c);
        return ABUT_ERROR_MEMORY;
    }
    memset(c->held, 0, count * sizeof *c->held);
    for (uint32_t i = 0; i < count; i++) {
        const cloth_hold *h = &holds[i];
        cloth_held *held = &c->held[i];
        held->vertex = h->vertex;
        held->triangle = h->triangle;
        memcpy(held->weight, h->weight, sizeof held->weight);
        held->offset = h->offset;
        held->compliance = h->stiffness > 0 ? 1 / h->stiffness : 0;
        c->given[2 * (size_t)i] = c->given[2 * (size_t)i + 1] = c->position[h->vertex];
        if (!(held->compliance > 0))
            c->inverse_mass[h->vertex] = 0;
    }
    c->held_count = count;
    return ABUT_OK;
}

abut_status cloth_move_holds(cloth *c, const abut_vec3 *targets) {
    if (!c || !c->held || !targets)
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "cloth_move_holds: needs a cloth with holds, and targets");
    for (uint32_t i = 0; i < c->held_count; i++)
        if (c->held[i].triangle == ABUT_NONE && !vec_is_near(targets[i]))
            return abut_set_error(
                ABUT_ERROR_ARGUMENT,
                "cloth_move_holds: a target is not finite, or further away than 1e15");
    for (uint32_t i = 0; i < c->held_count; i++)
        c->given[2 * (size_t)i + 1] = targets[i];
    return ABUT_OK;
}

/* ---- a step ---- */

abut_status cloth_find_held(cloth *c) {
    if (!c->held_count || c->held_of)
        return ABUT_OK;
    c->held_of = cloth_room(c, c->vertices, sizeof *c->held_of);
    if (!c->held_of)
        return ABUT_ERROR_MEMORY;
    memset(c->held_of, 0xff, c->vertices * sizeof *c->held_of);
    for (uint32_t i = 0; i < c->held_count; i++)
        c->held_of[c->held[i].vertex] = i;
    return ABUT_OK;
}

void cloth_finish_holds(cloth *c) {
    for (size_t i = 0; i < c->held_count; i++)
        c->given[2 * i] = c->given[2 * i + 1];
}

void cloth_free_holds(cloth *c) {
    CLOTH_FREE(c, c->held, c->given, c->held_of);
    c->held = NULL;
    c->given = NULL;
}

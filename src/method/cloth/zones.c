/* Impact zones: the fail-safe of collision response if bodies may lag.
 *
 * Method: the vertices of impacts that barriers do not resolve are joined into zones, which grow
 * from round to round (Provot 1997, "Collision and self-collision handling in cloth model dedicated
 * to design garments"). All vertices x of a zone move by t + w x (x - m). At every time s of the
 * step this is an affine map with determinant 1 + s^2 |w|^2 of the positions at its start, so
 * nothing in the zone collides. t and w are the least-squares fit to the planned motion of the
 * vertices of bodies in the zone: cloth between two parts of a body that approach each other moves
 * along with both, and so do the two places. If vertices stopped in space instead, a character that
 * runs or turns would leave them behind, and the places around them would have to stop, too. */
#include "cloth/cloth.h"

#include "base/sort.h"

/* The motion of a zone, at its root. While it is computed, sums. */
typedef struct cloth_zone {
    vec3 middle, shift, turn; /* m, t, w */
    double inertia[6];        /* about the middle: xx, yy, zz, xy, yz, zx */
    uint32_t bodies, count;   /* vertices of bodies; vertices that are fitted */
    uint32_t part;            /* of the first vertex of a body */
} cloth_zone;

struct cloth_zones {
    uint32_t *parent; /* all_vertices: union-find */
    cloth_zone *zones;
};

abut_status abuti_cloth_create_zones(abut_cloth *c) {
    cloth_zones *z = c->zones = abuti_allocate_zeroed(c->context, 1, sizeof *z);
    abut_status status = z ? ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(z->parent, c->all_vertices),
                                            ABUTI_ARRAY(z->zones, c->all_vertices))
                           : ABUT_ERROR_MEMORY;
    if (status)
        abuti_cloth_release_zones(c);
    return status;
}

void abuti_cloth_release_zones(abut_cloth *c) {
    if (c->zones)
        ABUTI_RELEASE(c->context, c->zones->parent, c->zones->zones);
    abuti_release(c->context, c->zones);
    c->zones = NULL;
}

void abuti_cloth_clear_zones(abut_cloth *c) {
    for (uint32_t v = 0; v < c->all_vertices; v++)
        c->zones->parent[v] = v;
}

void abuti_cloth_join_zone(abut_cloth *c, const uint32_t vertices[4]) {
    for (int k = 0; k < 4; k++) {
        c->halvings[vertices[k]] |= 1;
        abuti_join(c->zones->parent, vertices[0], vertices[k]);
    }
}

void abuti_cloth_join_all(abut_cloth *c) {
    for (uint32_t v = 0; v < c->all_vertices; v++) {
        c->halvings[v] |= 1;
        c->zones->parent[v] = 0;
    }
}

/* The zone that a vertex is fitted to; null if it is in none, or one of cloth on a body. */
static cloth_zone *fitted_zone(const abut_cloth *c, uint32_t v) {
    const cloth_zones *z = c->zones;
    if (!c->halvings[v])
        return NULL;
    cloth_zone *zone = &z->zones[abuti_root(z->parent, v)];
    return v < c->vertices && zone->bodies ? NULL : zone;
}

/* Finds middles and shifts. Vertices of bodies are first. */
static void fit_shifts(abut_cloth *c) {
    for (uint32_t i = 0; i < c->all_vertices; i++) {
        const uint32_t v = (i + c->vertices) % c->all_vertices;
        cloth_zone *zone = fitted_zone(c, v);
        if (!zone)
            continue;
        zone->middle = v3_add(zone->middle, c->position[v]);
        zone->shift = v3_add(zone->shift, v3_sub(c->aim[v], c->position[v]));
        if (!zone->bodies)
            zone->part = c->part_of[v];
        zone->bodies += v >= c->vertices;
        zone->count++;
    }
    for (uint32_t v = 0; v < c->all_vertices; v++) {
        cloth_zone *zone = &c->zones->zones[v];
        if (zone->count) {
            zone->middle = v3_scale(zone->middle, 1.0 / zone->count);
            zone->shift = v3_scale(zone->shift, 1.0 / zone->count);
        }
    }
}

/* Solves the inertia times w = the angular momentum. Zones that are nearly a line do not turn. */
static vec3 solve_turn(const double i[6], vec3 momentum) {
    const vec3 a = v3(i[0], i[3], i[5]), b = v3(i[3], i[1], i[4]), d = v3(i[5], i[4], i[2]);
    const vec3 ab = v3_cross(a, b), bd = v3_cross(b, d), da = v3_cross(d, a);
    const double determinant = v3_dot(a, bd), trace = i[0] + i[1] + i[2];
    if (!(determinant > 1e-4 * trace * trace * trace))
        return v3(0, 0, 0);
    return v3_scale(v3_add(v3_add(v3_scale(bd, momentum.x), v3_scale(da, momentum.y)),
                           v3_scale(ab, momentum.z)),
                    1 / determinant);
}

static void fit_turns(abut_cloth *c) {
    for (uint32_t v = 0; v < c->all_vertices; v++) {
        cloth_zone *zone = fitted_zone(c, v);
        if (!zone)
            continue;
        const vec3 r = v3_sub(c->position[v], zone->middle);
        const double sq = v3_dot(r, r);
        const double inertia[6] = {sq - r.x * r.x, sq - r.y * r.y, sq - r.z * r.z,
                                   -r.x * r.y,     -r.y * r.z,     -r.z * r.x};
        zone->turn = v3_add(zone->turn, v3_cross(r, v3_sub(c->aim[v], c->position[v])));
        for (int k = 0; k < 6; k++)
            zone->inertia[k] += inertia[k];
    }
    for (uint32_t v = 0; v < c->all_vertices; v++) {
        cloth_zone *zone = &c->zones->zones[v];
        if (zone->count)
            zone->turn = solve_turn(zone->inertia, zone->turn);
    }
}

abut_status abuti_cloth_move_zones(abut_cloth *c, bool bodies_too, abut_cloth_report *report) {
    const uint32_t count = bodies_too ? c->all_vertices : c->vertices;
    const cloth_zones *z = c->zones;
    memset(z->zones, 0, c->all_vertices * sizeof *z->zones);
    fit_shifts(c);
    fit_turns(c);
    for (uint32_t v = 0; v < count; v++) {
        if (!c->halvings[v])
            continue;
        const cloth_zone *zone = &z->zones[abuti_root(z->parent, v)];
        if (v < c->vertices && zone->bodies && abuti_cloth_add_stop(c, v, zone->part))
            return ABUT_ERROR_MEMORY;
        const vec3 turned = v3_cross(zone->turn, v3_sub(c->position[v], zone->middle));
        c->end[v] = cloth_round(v3_add(v3_add(c->position[v], zone->shift), turned));
        report->halvings++;
    }
    return ABUT_OK;
}

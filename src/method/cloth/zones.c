/* Impact zones: the fail-safe of collision response if bodies may lag.
 *
 * Method: the vertices of impacts that barriers do not resolve are joined into zones, which grow
 * from round to round. All vertices of a zone move by the same vector, so nothing in it collides
 * (Provot 1997, "Collision and self-collision handling in cloth model dedicated to design
 * garments"; translations only). The vector is the mean motion of the vertices of bodies in the
 * zone: cloth between two parts of a body that approach each other moves along with both, and so
 * do the two places. If vertices stopped in space instead, a character that runs would leave them
 * behind, and the places around them would have to stop, too. */
#include "cloth/cloth.h"

#include "base/sort.h"

/* The motion of the vertices of a zone, at its root. */
typedef struct cloth_zone {
    vec3 sum;
    uint32_t bodies, count; /* vertices of bodies; of what is summed */
} cloth_zone;

struct cloth_zones {
    uint32_t *parent; /* all_vertices: union-find */
    cloth_zone *zones;
};

abut_status abuti_cloth_create_zones(abut_cloth *c) {
    cloth_zones *z = c->zones = abuti_allocate_zeroed(c->context, 1, sizeof *z);
    return z ? ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(z->parent, c->all_vertices),
                              ABUTI_ARRAY(z->zones, c->all_vertices))
             : ABUT_ERROR_MEMORY;
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
        c->halvings[vertices[k]] = 1;
        abuti_join(c->zones->parent, vertices[0], vertices[k]);
    }
}

void abuti_cloth_join_all(abut_cloth *c) {
    for (uint32_t v = 0; v < c->all_vertices; v++) {
        c->halvings[v] = 1;
        c->zones->parent[v] = 0;
    }
}

/* Sums the motion of the vertices from `begin` to `end` of zones without `bodies`. */
static void sum_motion(abut_cloth *c, uint32_t begin, uint32_t end) {
    const cloth_zones *z = c->zones;
    for (uint32_t v = begin; v < end; v++) {
        if (!c->halvings[v])
            continue;
        cloth_zone *zone = &z->zones[abuti_root(z->parent, v)];
        if (v < c->vertices && zone->bodies)
            continue;
        zone->sum = v3_add(zone->sum, v3_sub(c->aim[v], c->position[v]));
        zone->bodies += v >= c->vertices;
        zone->count++;
    }
}

void abuti_cloth_move_zones(abut_cloth *c, bool bodies_too, abut_cloth_report *report) {
    const uint32_t count = bodies_too ? c->all_vertices : c->vertices;
    const cloth_zones *z = c->zones;
    memset(z->zones, 0, c->all_vertices * sizeof *z->zones);
    sum_motion(c, c->vertices, c->all_vertices);
    sum_motion(c, 0, c->vertices);
    for (uint32_t v = 0; v < count; v++) {
        if (!c->halvings[v])
            continue;
        const cloth_zone *zone = &z->zones[abuti_root(z->parent, v)];
        c->end[v] = cloth_round(v3_along(c->position[v], 1.0 / zone->count, zone->sum));
        report->halvings++;
    }
}

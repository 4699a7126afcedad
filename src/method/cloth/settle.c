/* Steps of a cloth without forces, velocities and motion of bodies, after untangling: contacts push
 * surfaces apart until they keep the thickness, and constraints restore lengths. Steps are those of
 * every cloth, so sweeps keep the state free of intersections. */
#include "cloth/untangle.h"

enum { SETTLE_STEPS = 30 };
#define SETTLE_SECONDS (1.0 / 60)
#define SETTLE_GAP 0.5     /* thicknesses: enough for the next step */
#define SETTLE_MOTION 0.05 /* mean lengths of edges per step: constraints are almost satisfied */

/* What steps must not change or use. */
typedef struct motion_backup {
    vec3 *velocity, *aim, *target, *goal, *given;
    cloth_hold *holds;
    abut_cloth_options options;
    uint32_t block_count;
} motion_backup;

static abut_status store_motion(const abut_cloth *c, motion_backup *s) {
    const size_t bodies = c->all_vertices - c->vertices, holds = c->holds.count;
    abut_status status =
        ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(s->velocity, c->vertices),
                       ABUTI_ARRAY(s->aim, c->all_vertices), ABUTI_ARRAY(s->target, bodies),
                       ABUTI_ARRAY(s->goal, c->goal ? bodies : 0), ABUTI_ARRAY(s->given, 2 * holds),
                       ABUTI_ARRAY(s->holds, holds));
    if (status)
        return status;
    memcpy(s->velocity, c->velocity, c->vertices * sizeof *s->velocity);
    memcpy(s->aim, c->aim, c->all_vertices * sizeof *s->aim);
    if (bodies)
        memcpy(s->target, c->target, bodies * sizeof *s->target);
    if (c->goal && bodies)
        memcpy(s->goal, c->goal, bodies * sizeof *s->goal);
    if (holds) {
        memcpy(s->given, c->given.data, 2 * holds * sizeof *s->given);
        memcpy(s->holds, c->holds.data, holds * sizeof *s->holds);
    }
    s->options = c->options;
    s->block_count = c->block_count;
    return ABUT_OK;
}

static void restore_motion(abut_cloth *c, motion_backup *s) {
    const size_t bodies = c->all_vertices - c->vertices, holds = c->holds.count;
    memcpy(c->velocity, s->velocity, c->vertices * sizeof *s->velocity);
    memcpy(c->aim, s->aim, c->all_vertices * sizeof *s->aim);
    if (bodies)
        memcpy(c->target, s->target, bodies * sizeof *s->target);
    if (c->goal && bodies)
        memcpy(c->goal, s->goal, bodies * sizeof *s->goal);
    if (holds) {
        memcpy(c->given.data, s->given, 2 * holds * sizeof *s->given);
        memcpy(c->holds.data, s->holds, holds * sizeof *s->holds);
    }
    c->options = s->options;
    c->block_count = s->block_count;
    c->holds_changed = true;
}

/* Bodies stay where they are, and attached vertices are held where they are. */
static void remove_motion(abut_cloth *c) {
    const vec3 *at = c->position + c->vertices;
    for (uint32_t i = 0; i < c->all_vertices - c->vertices; i++) {
        c->target[i] = at[i];
        if (c->goal)
            c->goal[i] = at[i];
    }
    for (size_t h = 0; h < c->holds.count; h++) {
        cloth_hold *hold = &ABUTI_AT(&c->holds, cloth_hold, h);
        hold->triangle = ABUT_NONE;
        for (size_t k = 0; k < 2; k++)
            ABUTI_AT(&c->given, vec3, 2 * h + k) = c->position[hold->vertex];
    }
    c->holds_changed = true;
    c->options.gravity = c->options.wind = v3(0, 0, 0);
    c->options.drag = 0;
    c->options.body_may_lag = false;
    c->block_count = 0; /* no pressure */
}

/* Makes a step. Writes the smallest gap at its start and the largest motion of a vertex. */
static abut_status settle_step(abut_cloth *c, double *gap, double *motion) {
    abut_cloth_report report = abut_cloth_report_default();
    report.fraction = 1;
    memset(c->velocity, 0, c->vertices * sizeof *c->velocity);
    if (c->backend->changed)
        c->backend->changed(c);
    abut_status status = abuti_cloth_plan_step(c, SETTLE_SECONDS, &report);
    *gap = cloth_from_bits(c->totals.thinnest);
    if (!status)
        status = abuti_cloth_resolve_impacts(c, &report);
    if (status)
        return status;
    *motion = 0;
    for (uint32_t v = 0; v < c->vertices; v++)
        *motion = fmax(*motion, cloth_length(v3_sub(c->end[v], c->position[v])));
    c->groups[SHEETS].moved++;
    c->backend->finish(c, true);
    return ABUT_OK;
}

abut_status abuti_cloth_settle(abut_cloth *c, double *gap) {
    motion_backup s = {0};
    abut_status status = store_motion(c, &s);
    if (!status) {
        remove_motion(c);
        for (int i = 0; i < SETTLE_STEPS && !status; i++) {
            double motion = 0;
            status = settle_step(c, gap, &motion);
            if (*gap >= SETTLE_GAP * c->thickness && motion < SETTLE_MOTION * c->mean_edge)
                break;
        }
        restore_motion(c, &s);
        if (c->backend->changed)
            c->backend->changed(c);
    }
    ABUTI_RELEASE(c->context, s.velocity, s.aim, s.target, s.goal, s.given, s.holds);
    return status;
}

/* See rigid.h.
 *
 * A contact restricts the relative velocity of two surfaces along its normal. ODE solves for
 * velocities at the end of the step, so a gap g permits an approach with g / seconds. Bodies that
 * would bounce within the step get the velocity after the impact at once: otherwise the gap would
 * slow them down first, and they would bounce with what remains. */
#include "rigid.h"

#include <ode/ode.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CORRECTION 1.0   /* m/s: largest speed at which depths are corrected */
#define BOUNCE_SPEED 0.3 /* m/s: slower bodies come to rest instead of bouncing */

typedef struct member {
    dBodyID body;
    abut_vec3 centre;
} member;

struct rigid_world {
    dWorldID ode;
    dJointGroupID joints;
    member *members;
    uint32_t count, room;
};

static abut_vec3 along(abut_vec3 a, double t, abut_vec3 b) {
    return (abut_vec3){a.x + t * b.x, a.y + t * b.y, a.z + t * b.z};
}

static double dot(abut_vec3 a, abut_vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static abut_vec3 cross(abut_vec3 a, abut_vec3 b) {
    return (abut_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static abut_vec3 vector_of(const dReal *v) {
    return (abut_vec3){v[0], v[1], v[2]};
}

abut_status rigid_create(abut_vec3 gravity, rigid_world **world) {
    rigid_world *w = calloc(1, sizeof *w);
    if (!w)
        return abut_set_error(ABUT_ERROR_MEMORY, "there is no memory for rigid bodies");
    dInitODE();
    dRandSetSeed(1); /* of the order in which contacts are solved: runs are equal */
    w->ode = dWorldCreate();
    w->joints = dJointGroupCreate(0);
    dWorldSetGravity(w->ode, gravity.x, gravity.y, gravity.z);
    dWorldSetERP(w->ode, 0.2);
    dWorldSetCFM(w->ode, 1e-7);
    dWorldSetContactMaxCorrectingVel(w->ode, CORRECTION);
    dWorldSetQuickStepNumIterations(w->ode, 60);
    *world = w;
    return ABUT_OK;
}

void rigid_destroy(rigid_world *w) {
    if (!w)
        return;
    dJointGroupDestroy(w->joints);
    dWorldDestroy(w->ode);
    dCloseODE();
    free(w->members);
    free(w);
}

abut_status rigid_add(rigid_world *w, const rigid_body *body, uint32_t *index) {
    const double *i = body->inertia;
    const abut_quat q = body->pose.rotation;
    abut_pose turn = {q, {0, 0, 0}};
    abut_vec3 arm;
    dMass mass;
    if (w->count == w->room) {
        const uint32_t room = 2 * w->room + 16;
        member *more = realloc(w->members, room * sizeof *more);
        if (!more)
            return abut_set_error(ABUT_ERROR_MEMORY, "there is no memory for rigid bodies");
        w->members = more;
        w->room = room;
    }
    abut_status status = abut_pose_apply(&turn, body->centre, &arm);
    if (status)
        return status;
    member *m = &w->members[w->count];
    m->body = dBodyCreate(w->ode);
    m->centre = body->centre;
    dMassSetParameters(&mass, body->mass, 0, 0, 0, i[0], i[1], i[2], i[3], i[5], i[4]);
    dBodySetMass(m->body, &mass);
    dBodySetQuaternion(m->body, (dQuaternion){q.w, q.x, q.y, q.z});
    const abut_vec3 p = along(body->pose.translation, 1, arm), s = body->spin,
                    v = along(body->velocity, 1, cross(s, arm));
    dBodySetPosition(m->body, p.x, p.y, p.z);
    dBodySetLinearVel(m->body, v.x, v.y, v.z);
    dBodySetAngularVel(m->body, s.x, s.y, s.z);
    *index = w->count++;
    return ABUT_OK;
}

/* The pose of the mesh, from the rotation and the place of the centre of mass. */
static abut_pose pose_about(const member *m, abut_quat rotation, abut_vec3 place) {
    abut_pose made = {rotation, {0, 0, 0}};
    abut_vec3 arm = {0, 0, 0};
    (void)abut_pose_apply(&made, m->centre, &arm);
    made.translation = along(place, -1, arm);
    return made;
}

abut_pose rigid_pose(const rigid_world *w, uint32_t body) {
    const member *m = &w->members[body];
    const dReal *q = dBodyGetQuaternion(m->body);
    return pose_about(m, (abut_quat){q[1], q[2], q[3], q[0]}, vector_of(dBodyGetPosition(m->body)));
}

abut_pose rigid_pose_after(const rigid_world *w, uint32_t body, double seconds) {
    const member *m = &w->members[body];
    const abut_vec3 spin = vector_of(dBodyGetAngularVel(m->body));
    const double angle = fmin(seconds * sqrt(dot(spin, spin)), 3);
    const dReal *q = dBodyGetQuaternion(m->body);
    abut_pose turned = {{q[1], q[2], q[3], q[0]}, {0, 0, 0}}, turn;
    if (angle > 0 && !abut_pose_from_axis_angle(spin, angle, (abut_vec3){0, 0, 0}, &turn))
        (void)abut_pose_compose(&turn, &turned, &turned);
    return pose_about(m, turned.rotation,
                      along(vector_of(dBodyGetPosition(m->body)), seconds,
                            vector_of(dBodyGetLinearVel(m->body))));
}

abut_vec3 rigid_velocity(const rigid_world *w, uint32_t body, abut_vec3 point) {
    dVector3 v = {0, 0, 0, 0};
    dBodyGetPointVel(w->members[body].body, point.x, point.y, point.z, v);
    return vector_of(v);
}

double rigid_energy(const rigid_world *w) {
    double sum = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const abut_vec3 v = vector_of(dBodyGetLinearVel(w->members[i].body)),
                        s = vector_of(dBodyGetAngularVel(w->members[i].body));
        dVector3 own;
        dMass m;
        dBodyGetMass(w->members[i].body, &m);
        dBodyVectorFromWorld(w->members[i].body, s.x, s.y, s.z, own);
        sum += 0.5 * m.mass * dot(v, v);
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++)
                sum += 0.5 * own[k] * m.I[4 * k + j] * own[j];
    }
    return sum;
}

rigid_state rigid_get_state(const rigid_world *w, uint32_t body) {
    const dBodyID b = w->members[body].body;
    rigid_state state = {.place = vector_of(dBodyGetPosition(b)),
                         .velocity = vector_of(dBodyGetLinearVel(b)),
                         .spin = vector_of(dBodyGetAngularVel(b))};
    for (int k = 0; k < 4; k++)
        state.rotation[k] = dBodyGetQuaternion(b)[k];
    return state;
}

/* dBodySetQuaternion() normalises, which may change the last bits of a unit quaternion. So the
 * numbers are also stored where ODE has them, with the matrix that a step derives from them. */
void rigid_set_state(rigid_world *w, uint32_t body, const rigid_state *state) {
    const dBodyID b = w->members[body].body;
    const abut_vec3 p = state->place, v = state->velocity, s = state->spin;
    dQuaternion q;
    dMatrix3 turn;
    for (int k = 0; k < 4; k++)
        q[k] = state->rotation[k];
    dBodySetPosition(b, p.x, p.y, p.z);
    dBodySetLinearVel(b, v.x, v.y, v.z);
    dBodySetAngularVel(b, s.x, s.y, s.z);
    dBodySetQuaternion(b, q);
    dQtoR(q, turn);
    memcpy((dReal *)(uintptr_t)dBodyGetQuaternion(b), q, sizeof q);
    memcpy((dReal *)(uintptr_t)dBodyGetRotation(b), turn, sizeof turn);
}

uint64_t rigid_get_seed(void) {
    return dRandGetSeed();
}

void rigid_set_seed(uint64_t seed) {
    dRandSetSeed((unsigned long)seed);
}

void rigid_push(rigid_world *w, uint32_t body, abut_vec3 impulse, abut_vec3 moment) {
    dBodyID b = w->members[body].body;
    dMass m;
    dVector3 own, spin;
    dMatrix3 inverse;
    dBodyGetMass(b, &m);
    const abut_vec3 v = along(vector_of(dBodyGetLinearVel(b)), 1 / m.mass, impulse);
    dBodySetLinearVel(b, v.x, v.y, v.z);
    if (!dInvertPDMatrix(m.I, inverse, 3))
        return;
    dBodyVectorFromWorld(b, moment.x, moment.y, moment.z, own);
    dVector3 change;
    dMultiply0_331(change, inverse, own);
    dBodyVectorToWorld(b, change[0], change[1], change[2], spin);
    const abut_vec3 s = along(vector_of(dBodyGetAngularVel(b)), 1, vector_of(spin));
    dBodySetAngularVel(b, s.x, s.y, s.z);
}

void rigid_touch(rigid_world *w, const rigid_contact *c, double seconds) {
    const bool is_first = c->a != ABUT_NONE; /* ODE needs a body first */
    const uint32_t first = is_first ? c->a : c->b, second = is_first ? c->b : ABUT_NONE;
    const abut_vec3 n = {is_first ? c->normal.x : -c->normal.x,
                         is_first ? c->normal.y : -c->normal.y,
                         is_first ? c->normal.z : -c->normal.z};
    const abut_vec3 surface =
        second == ABUT_NONE ? c->velocity : rigid_velocity(w, second, c->point);
    const double moved = second == ABUT_NONE ? dot(surface, n) : 0,
                 closing = -dot(along(rigid_velocity(w, first, c->point), -1, surface), n);
    dContact contact;
    memset(&contact, 0, sizeof contact);
    const bool bounces = c->bounce > 0 && closing > BOUNCE_SPEED && closing * seconds > -c->depth;
    /* With dContactBounce, the largest speed of corrections does not limit motionN. */
    contact.surface.mode = dContactApprox1 | dContactMotionN | dContactBounce;
    contact.surface.mu = c->friction;
    contact.surface.motionN = moved + (c->depth < 0 && !bounces ? c->depth / seconds : 0);
    contact.surface.bounce = bounces ? c->bounce : 0;
    if (second == ABUT_NONE) { /* friction drags the body along with the surface */
        const abut_vec3 side = along(surface, -moved, n);
        const double speed = sqrt(dot(side, side));
        if (speed > 1e-9) {
            contact.surface.mode |= dContactFDir1 | dContactMotion1;
            contact.surface.motion1 = speed;
            for (int k = 0; k < 3; k++)
                contact.fdir1[k] = (&side.x)[k] / speed;
        }
    }
    contact.geom.depth = c->depth > 0 ? c->depth : 0;
    for (int k = 0; k < 3; k++) {
        contact.geom.pos[k] = (&c->point.x)[k];
        contact.geom.normal[k] = (&n.x)[k];
    }
    dJointAttach(dJointCreateContact(w->ode, w->joints, &contact), w->members[first].body,
                 second == ABUT_NONE ? NULL : w->members[second].body);
}

void rigid_step(rigid_world *w, double seconds) {
    dWorldQuickStep(w->ode, seconds);
    dJointGroupEmpty(w->joints);
}

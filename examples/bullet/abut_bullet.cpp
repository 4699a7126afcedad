// See abut_bullet.h.
#include "abut_bullet.h"

#include <LinearMath/btTransformUtil.h>
#include <algorithm>
#include <cstdio>

namespace abut_bullet {

namespace {

btVector3 to_bullet(const abut_vec3 &v) {
    return btVector3(btScalar(v.x), btScalar(v.y), btScalar(v.z));
}

abut_vec3 to_abut(const btVector3 &v) {
    return {v.x(), v.y(), v.z()};
}

abut_pose to_pose(const btTransform &t) {
    const btQuaternion q = t.getRotation();
    return {{q.x(), q.y(), q.z(), q.w()}, to_abut(t.getOrigin())};
}

} // namespace

// ---- shapes ----

mesh_shape::mesh_shape(const abut_bvh *hierarchy, btScalar margin)
    : bvh(hierarchy), scaling(1, 1, 1) {
    abut_box box = abut_mesh_bounds(abut_bvh_mesh(hierarchy));
    m_shapeType = CUSTOM_CONCAVE_SHAPE_TYPE;
    lo = to_bullet(box.lo);
    hi = to_bullet(box.hi);
    setMargin(margin);
}

void mesh_shape::getAabb(const btTransform &pose, btVector3 &low, btVector3 &high) const {
    btTransformAabb(lo, hi, getMargin(), pose, low, high);
}

bool mesh_shape::inertia(btScalar mass, btVector3 &diagonal) const {
    abut_topology *topology = nullptr;
    abut_mesh_report report = abut_mesh_report_default();
    abut_status status = abut_topology_create(abut_bvh_mesh(bvh), &topology);
    if (!status)
        status = abut_mesh_examine(topology, &report);
    abut_topology_destroy(topology);
    if (status || !(report.volume > 0))
        return false;
    const double *i = report.inertia;
    double scale = mass / report.volume;
    diagonal = to_bullet({scale * i[0], scale * i[1], scale * i[2]});
    return true;
}

void mesh_shape::calculateLocalInertia(btScalar mass, btVector3 &diagonal) const {
    if (!inertia(mass, diagonal))
        diagonal.setValue(0, 0, 0); // zero means to Bullet: no rotation
}

// For Bullet's own drawing and rays; contacts do not use it.
void mesh_shape::processAllTriangles(btTriangleCallback *callback, const btVector3 &low,
                                     const btVector3 &high) const {
    abut_mesh *mesh = abut_bvh_mesh(bvh);
    abut_vec3 o = abut_mesh_local_origin(mesh);
    const uint32_t *indices = abut_mesh_indices(mesh);
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        btVector3 corner[3];
        for (uint32_t k = 0; k < 3; k++)
            corner[k] =
                to_bullet(o) + to_bullet(abut_mesh_local_positions(mesh)[indices[3 * i + k]]);
        if (TestTriangleAgainstAabb2(corner, low, high))
            callback->processTriangle(corner, 0, (int)i);
    }
}

// ---- the dispatcher ----

mesh_dispatcher::mesh_dispatcher(btCollisionConfiguration *configuration, btScalar gap)
    : btCollisionDispatcher(configuration), margin(gap) {
    abut_world_options options = abut_world_options_default();
    options.margin = gap;
    if (abut_world_create(nullptr, &options, &world))
        std::fprintf(stderr, "abut_bullet: %s\n", abut_last_error());
}

mesh_dispatcher::~mesh_dispatcher() {
    release_manifolds();
    abut_world_destroy(world);
}

bool mesh_dispatcher::add(btCollisionObject *body) {
    abut_world_item item = abut_world_item_default();
    uint32_t id = 0;
    const auto *shape = static_cast<const mesh_shape *>(body->getCollisionShape());
    item.collider = abut_collider_from_bvh(shape->bvh, to_pose(body->getWorldTransform()));
    item.motion = body->isStaticObject() ? ABUT_WORLD_STATIC : ABUT_WORLD_DYNAMIC;
    if (!world || abut_world_add(world, &item, &id))
        return false;
    bodies.resize(std::max<size_t>(bodies.size(), id + 1), nullptr);
    bodies[id] = body;
    return true;
}

void mesh_dispatcher::remove(btCollisionObject *body) {
    const auto at = std::find(bodies.begin(), bodies.end(), body);
    if (at == bodies.end() || abut_world_remove(world, uint32_t(at - bodies.begin())))
        return;
    *at = nullptr;
    release_manifolds();
}

void mesh_dispatcher::release_manifolds() {
    for (btPersistentManifold *manifold : manifolds)
        releaseManifold(manifold);
    manifolds.clear();
    keys.clear();
}

void mesh_dispatcher::keep_old() {
    size_t i = 0;
    old.clear();
    for (const btPersistentManifold *manifold : manifolds)
        for (int k = 0; k < manifold->getNumContacts(); k++)
            old.emplace(keys[i++], manifold->getContactPoint(k));
    release_manifolds();
}

// Contacts of a pair come one after the other. abut's points are halfway between both surfaces,
// Bullet's on each of them.
void mesh_dispatcher::add_point(uint32_t a, uint32_t b, const abut_vec3 &at,
                                const abut_vec3 &direction, double depth, const contact_key &key) {
    btPersistentManifold *manifold = manifolds.empty() ? nullptr : manifolds.back();
    if (!manifold || manifold->getBody0() != bodies[a] || manifold->getBody1() != bodies[b] ||
        manifold->getNumContacts() == MANIFOLD_CACHE_SIZE) {
        manifold = getNewManifold(bodies[a], bodies[b]);
        manifolds.push_back(manifold);
    }
    const btVector3 normal = to_bullet(direction), middle = to_bullet(at);
    const btScalar distance = btScalar(-depth);
    const btVector3 on_a = middle + normal * (0.5f * distance),
                    on_b = middle - normal * (0.5f * distance);
    btManifoldPoint point(bodies[a]->getWorldTransform().invXform(on_a),
                          bodies[b]->getWorldTransform().invXform(on_b), normal, distance);
    point.m_positionWorldOnA = on_a;
    point.m_positionWorldOnB = on_b;
    point.m_combinedFriction = btManifoldResult::calculateCombinedFriction(bodies[a], bodies[b]);
    point.m_combinedRestitution =
        btManifoldResult::calculateCombinedRestitution(bodies[a], bodies[b]);
    const auto last = old.find(key); // warm start
    if (last != old.end()) {
        point.m_appliedImpulse = last->second.m_appliedImpulse;
        point.m_prevRHS = last->second.m_prevRHS;
        point.m_appliedImpulseLateral1 = last->second.m_appliedImpulseLateral1;
        point.m_appliedImpulseLateral2 = last->second.m_appliedImpulseLateral2;
        point.m_lifeTime = last->second.m_lifeTime + 1;
    }
    manifold->addManifoldPoint(point, true); // gaps too
    keys.push_back(key);
}

bool mesh_dispatcher::set_poses() {
    std::vector<uint32_t> ids;
    std::vector<abut_pose> poses;
    for (uint32_t i = 0; i < bodies.size(); i++)
        if (bodies[i]) {
            ids.push_back(i);
            poses.push_back(to_pose(bodies[i]->getWorldTransform()));
        }
    return !abut_world_set_poses(world, ids.data(), abut_array_host(poses.data()), ids.size());
}

bool mesh_dispatcher::find_contacts() {
    abut_contacts found = abut_contacts_default();
    abut_status status;
    do {
        contacts.resize(std::max<size_t>(contacts.size(), found.count));
        found.list = contacts.data();
        found.capacity = contacts.size();
        status = abut_world_contacts(world, &found);
    } while (status == ABUT_ERROR_BUFFER);
    for (uint64_t i = 0; i < found.count && !status; i++) {
        const abut_contact &c = contacts[i];
        add_point(c.a, c.b, c.point, c.normal, c.depth, {c.a, c.b, c.id});
    }
    return !status;
}

// Impacts of bodies that move far in a step are gaps, too: bodies may approach until they touch.
bool mesh_dispatcher::sweep(btScalar seconds) {
    std::vector<uint32_t> ids;
    std::vector<abut_pose> ends;
    for (uint32_t i = 0; i < bodies.size(); i++) {
        const btRigidBody *body = btRigidBody::upcast(bodies[i]);
        btTransform end;
        if (!body || body->isStaticOrKinematicObject())
            continue;
        const auto *shape = static_cast<const mesh_shape *>(body->getCollisionShape());
        btVector3 middle;
        btScalar radius;
        shape->getBoundingSphere(middle, radius);
        const btScalar speed =
            body->getLinearVelocity().length() + radius * body->getAngularVelocity().length();
        if (speed * seconds < 0.5f * margin)
            continue;
        btTransformUtil::integrateTransform(body->getWorldTransform(), body->getLinearVelocity(),
                                            body->getAngularVelocity(), seconds, end);
        ids.push_back(i);
        ends.push_back(to_pose(end));
    }
    if (ids.empty())
        return true;
    abut_world_impacts found = abut_world_impacts_default();
    abut_status status;
    do {
        impacts.resize(std::max<size_t>(impacts.size(), found.count));
        found.list = impacts.data();
        found.capacity = impacts.size();
        status = abut_world_sweep(world, ids.data(), abut_array_host(ends.data()), ids.size(),
                                  nullptr, &found);
    } while (status == ABUT_ERROR_BUFFER);
    for (uint64_t i = 0; i < found.count && !status; i++) {
        const abut_world_impact &m = impacts[i];
        btVector3 closing(0, 0, 0);
        for (const uint32_t id : {m.a, m.b}) {
            const btRigidBody *body = btRigidBody::upcast(bodies[id]);
            if (!body)
                continue;
            const btVector3 arm = to_bullet(m.result.point) - body->getWorldTransform().getOrigin();
            closing += body->getVelocityInLocalPoint(arm) * btScalar(id == m.a ? -1 : 1);
        }
        const double gap = m.result.time * closing.dot(to_bullet(m.result.normal)) * seconds;
        if (gap > 0.5 * margin) // nearer ones are contacts already
            add_point(m.a, m.b, m.result.point, m.result.normal, -gap, {m.a, m.b, ~uint64_t(0)});
    }
    return !status;
}

void mesh_dispatcher::dispatchAllCollisionPairs(btOverlappingPairCache *pairs,
                                                const btDispatcherInfo &info,
                                                btDispatcher *dispatcher) {
    btCollisionDispatcher::dispatchAllCollisionPairs(pairs, info, dispatcher);
    keep_old();
    if (!set_poses() || !find_contacts() || !sweep(info.m_timeStep)) // Bullet reports no errors
        std::fprintf(stderr, "abut_bullet: %s\n", abut_last_error());
}

} // namespace abut_bullet

// See abut_bullet.h.
#include "abut_bullet.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <vector>

namespace abut_bullet {

namespace {

btVector3 to_bullet(const abut_vec3 &v) {
    return btVector3(btScalar(v.x), btScalar(v.y), btScalar(v.z));
}

abut_vec3 to_abut(const btVector3 &v) {
    return {v.x(), v.y(), v.z()};
}

abut_collider to_collider(const btCollisionObjectWrapper *object) {
    const btTransform &t = object->getWorldTransform();
    btQuaternion q = t.getRotation();
    const auto *shape = static_cast<const mesh_shape *>(object->getCollisionShape());
    return abut_collider_from_bvh(shape->bvh,
                                  {{q.x(), q.y(), q.z(), q.w()}, to_abut(t.getOrigin())});
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

// ---- contacts ----

namespace {

// Two bodies whose boxes overlap, as long as they do.
class overlapping_pair {
  public:
    explicit overlapping_pair(btDispatcher *owner) : dispatcher(owner) {}
    ~overlapping_pair() {
        for (btPersistentManifold *manifold : manifolds)
            dispatcher->releaseManifold(manifold);
    }
    overlapping_pair(const overlapping_pair &) = delete;
    overlapping_pair &operator=(const overlapping_pair &) = delete;

    std::vector<btPersistentManifold *> manifolds; // one per patch

    void process(const btCollisionObjectWrapper *first, const btCollisionObjectWrapper *second) {
        size_t used = 0;
        find(first, second);
        keep_old();
        for (uint64_t p = 0; p < found.patches.count; p++) {
            const abut_patch &patch = patches[p];
            btPersistentManifold *manifold =
                manifold_at(used++, first->getCollisionObject(), second->getCollisionObject());
            for (uint32_t i = 0; i < std::min<uint32_t>(patch.count, MANIFOLD_CACHE_SIZE); i++)
                add(manifold, first, second, contacts[patch.first + i]);
        }
        for (; manifolds.size() > used; manifolds.pop_back())
            dispatcher->releaseManifold(manifolds.back());
    }

  private:
    btDispatcher *dispatcher;
    std::vector<btManifoldPoint> old;
    std::vector<abut_patch> patches{8};
    std::vector<abut_contact> contacts{32};
    abut_patches found = abut_patches_default();
    abut_vec3 hint = {0, 0, 0}; // contact normal of the first patch in the previous step

    void find(const btCollisionObjectWrapper *first, const btCollisionObjectWrapper *second) {
        abut_collider a = to_collider(first), b = to_collider(second);
        abut_patch_options options = abut_patch_options_default();
        options.margin = std::max(first->getCollisionShape()->getMargin(),
                                  second->getCollisionShape()->getMargin());
        options.hint = hint;
        abut_status status = ABUT_ERROR_BUFFER;
        while (status == ABUT_ERROR_BUFFER) {
            patches.resize(std::max<size_t>(patches.size(), found.patches.count));
            contacts.resize(std::max<size_t>(contacts.size(), found.contacts.count));
            found = abut_patches_default();
            found.patches = {patches.data(), patches.size(), 0};
            found.contacts = {contacts.data(), contacts.size(), 0};
            status = abut_contact_find(&a, &b, &options, &found);
        }
        if (status) { // Bullet cannot report an error here
            std::fprintf(stderr, "abut_bullet: %s\n", abut_last_error());
            found.patches.count = 0;
        }
        if (found.patches.count)
            hint = patches[0].normal;
    }

    void keep_old() {
        old.clear();
        for (btPersistentManifold *manifold : manifolds) {
            for (int i = 0; i < manifold->getNumContacts(); i++)
                old.push_back(manifold->getContactPoint(i));
            manifold->setNumContacts(0);
        }
    }

    btPersistentManifold *manifold_at(size_t i, const btCollisionObject *first,
                                      const btCollisionObject *second) {
        if (i == manifolds.size())
            manifolds.push_back(dispatcher->getNewManifold(first, second));
        return manifolds[i];
    }

    // Copies the impulses of the nearest point of the previous step, on the first body, if it is
    // near.
    void warm_start(btManifoldPoint &point, btScalar near) const {
        const btManifoldPoint *best = nullptr;
        btScalar least = near * near;
        for (const btManifoldPoint &last : old) {
            btScalar distance = (last.m_localPointA - point.m_localPointA).length2();
            if (distance < least && last.m_normalWorldOnB.dot(point.m_normalWorldOnB) > 0.9f) {
                least = distance;
                best = &last;
            }
        }
        if (!best)
            return;
        point.m_appliedImpulse = best->m_appliedImpulse;
        point.m_prevRHS = best->m_prevRHS;
        point.m_appliedImpulseLateral1 = best->m_appliedImpulseLateral1;
        point.m_appliedImpulseLateral2 = best->m_appliedImpulseLateral2;
        point.m_lifeTime = best->m_lifeTime + 1;
    }

    // abut's points are halfway between both surfaces, Bullet's on each of them.
    void add(btPersistentManifold *manifold, const btCollisionObjectWrapper *first,
             const btCollisionObjectWrapper *second, const abut_contact &contact) const {
        btVector3 normal = to_bullet(contact.normal), middle = to_bullet(contact.point);
        btScalar distance = btScalar(-contact.depth);
        btVector3 on_a = middle + normal * (0.5f * distance),
                  on_b = middle - normal * (0.5f * distance);
        const btCollisionObject *a = first->getCollisionObject(), *b = second->getCollisionObject();
        btManifoldPoint point(first->getWorldTransform().invXform(on_a),
                              second->getWorldTransform().invXform(on_b), normal, distance);
        point.m_positionWorldOnA = on_a;
        point.m_positionWorldOnB = on_b;
        point.m_combinedFriction = btManifoldResult::calculateCombinedFriction(a, b);
        point.m_combinedRestitution = btManifoldResult::calculateCombinedRestitution(a, b);
        warm_start(point, manifold->getContactBreakingThreshold());
        manifold->addManifoldPoint(point, true); // gaps too
    }
};

// The algorithm that Bullet calls. Its memory for these has a fixed size, so the data are behind a
// pointer.
class mesh_algorithm : public btCollisionAlgorithm {
  public:
    explicit mesh_algorithm(const btCollisionAlgorithmConstructionInfo &info)
        : btCollisionAlgorithm(info), both(new overlapping_pair(info.m_dispatcher1)) {}

    void processCollision(const btCollisionObjectWrapper *first,
                          const btCollisionObjectWrapper *second, const btDispatcherInfo &,
                          btManifoldResult *) override {
        both->process(first, second);
    }
    btScalar calculateTimeOfImpact(btCollisionObject *, btCollisionObject *,
                                   const btDispatcherInfo &, btManifoldResult *) override {
        return 1;
    }
    void getAllContactManifolds(btManifoldArray &all) override {
        for (btPersistentManifold *manifold : both->manifolds)
            all.push_back(manifold);
    }

  private:
    std::unique_ptr<overlapping_pair> both;
};

struct mesh_create : btCollisionAlgorithmCreateFunc {
    btCollisionAlgorithm *CreateCollisionAlgorithm(btCollisionAlgorithmConstructionInfo &info,
                                                   const btCollisionObjectWrapper *,
                                                   const btCollisionObjectWrapper *) override {
        void *memory = info.m_dispatcher1->allocateCollisionAlgorithm(sizeof(mesh_algorithm));
        return new (memory) mesh_algorithm(info);
    }
};

} // namespace

void register_meshes(btCollisionDispatcher &dispatcher) {
    static mesh_create create;
    dispatcher.registerCollisionCreateFunc(CUSTOM_CONCAVE_SHAPE_TYPE, CUSTOM_CONCAVE_SHAPE_TYPE,
                                           &create);
}

} // namespace abut_bullet

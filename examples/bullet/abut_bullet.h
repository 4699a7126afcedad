// Triangle meshes that collide by exact contacts of abut, in the Bullet physics engine.
//
//   abut_bullet::mesh_dispatcher dispatcher(&configuration, 0.005f); // of a Bullet world
//   abut_bullet::mesh_shape shape(bvh, 0.005f);                      // for any number of bodies
//   body = new btRigidBody({mass, state, &shape, inertia});
//   dispatcher.add(body);
//
// The dispatcher computes the contacts of all such bodies with each other in one abut_world. Gaps
// up to the margin are contacts too, which allow bodies to approach by exactly the gap. Impulses of
// contacts with the same id are kept. Bodies that move further than half the margin in a step are
// swept, so that they do not pass through thin ones.
#ifndef ABUT_BULLET_H
#define ABUT_BULLET_H

#include <abut/abut.h>
#include <btBulletDynamicsCommon.h>

#include <map>
#include <tuple>
#include <vector>

namespace abut_bullet {

// A mesh with its BVH, which it does not own. The origin of the mesh's coordinates is that of the
// body: its centroid should be there.
class mesh_shape : public btConcaveShape {
  public:
    mesh_shape(const abut_bvh *hierarchy, btScalar margin);
    // Computes the inertia of the mesh as a solid, about its axes, which should be the principal
    // ones. Returns false if it has no volume.
    bool inertia(btScalar mass, btVector3 &diagonal) const;

    void getAabb(const btTransform &pose, btVector3 &lo, btVector3 &hi) const override;
    void calculateLocalInertia(btScalar mass, btVector3 &diagonal) const override;
    void processAllTriangles(btTriangleCallback *callback, const btVector3 &lo,
                             const btVector3 &hi) const override;
    void setLocalScaling(const btVector3 &) override {} // not supported
    const btVector3 &getLocalScaling() const override {
        return scaling;
    }
    const char *getName() const override {
        return "abut mesh";
    }
    const abut_bvh *bvh;

  private:
    btVector3 lo, hi, scaling;
};

// A dispatcher of Bullet that also collides bodies with mesh shapes.
class mesh_dispatcher : public btCollisionDispatcher {
  public:
    mesh_dispatcher(btCollisionConfiguration *configuration, btScalar margin);
    ~mesh_dispatcher() override;
    mesh_dispatcher(const mesh_dispatcher &) = delete;
    mesh_dispatcher &operator=(const mesh_dispatcher &) = delete;

    // Adds a body whose shape is a mesh_shape. Returns false if that fails: see abut_last_error().
    bool add(btCollisionObject *body);
    // Removes a body; call it before the body is destroyed.
    void remove(btCollisionObject *body);

    void dispatchAllCollisionPairs(btOverlappingPairCache *pairs, const btDispatcherInfo &info,
                                   btDispatcher *dispatcher) override;

  private:
    using contact_key = std::tuple<uint32_t, uint32_t, uint64_t>; // items, id
    abut_world *world = nullptr;
    btScalar margin;
    std::vector<btCollisionObject *> bodies; // by id; null: free
    std::vector<btPersistentManifold *> manifolds;
    std::map<contact_key, btManifoldPoint> old; // contacts of the previous step
    std::vector<contact_key> keys;              // of the current ones, in the order of manifolds
    std::vector<abut_contact> contacts{256};
    std::vector<abut_world_impact> impacts{64};

    bool set_poses();
    bool find_contacts();
    bool sweep(btScalar seconds);
    void keep_old();
    void release_manifolds();
    void add_point(uint32_t a, uint32_t b, const abut_vec3 &at, const abut_vec3 &normal,
                   double depth, const contact_key &key);
};

} // namespace abut_bullet

#endif

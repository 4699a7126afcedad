// Triangle meshes that collide by exact contacts of abut, in the Bullet physics engine.
//
//   abut_bullet::register_meshes(dispatcher);            // once
//   abut_bullet::mesh_shape shape(bvh, 0.005f);          // for any number of bodies
//   body = new btRigidBody({mass, state, &shape, inertia});
//
// Bullet's world then computes contacts of such bodies with each other: a contact patch
// (abut_contact_find) is a manifold. Gaps up to the margin are contacts too, which allow bodies
// to approach by exactly the gap. Impulses of persistent points are kept.
#ifndef ABUT_BULLET_H
#define ABUT_BULLET_H

#include <abut/abut.h>
#include <btBulletDynamicsCommon.h>

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

// Enables collisions between the bodies of a world that have such shapes.
void register_meshes(btCollisionDispatcher &dispatcher);

} // namespace abut_bullet

#endif

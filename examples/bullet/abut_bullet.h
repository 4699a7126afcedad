// Triangle meshes that collide by exact contacts of abut, in the Bullet physics engine.
//
//   abut_bullet::register_meshes(dispatcher);            // once
//   abut_bullet::mesh_shape shape(bvh, 0.005f);          // for any number of bodies
//   body = new btRigidBody({mass, state, &shape, inertia});
//
// From there on Bullet's world knows how such bodies meet each other: a patch of contact
// (abut_contact_patches) is a manifold, and its gaps, up to the margin, are contacts as well, which
// let bodies come together by just that much. Impulses of points that last are kept.
#ifndef ABUT_BULLET_H
#define ABUT_BULLET_H

#include <abut/abut.h>
#include <btBulletDynamicsCommon.h>

namespace abut_bullet {

// A mesh with its hierarchy, which it does not own. The origin of the mesh's coordinates is that of
// the body: its centroid should be there.
class mesh_shape : public btConcaveShape {
  public:
    mesh_shape(const abut_bvh *hierarchy, btScalar margin);
    // Of the mesh as a solid, about its axes: those of the body should be the principal ones. False
    // where it has no volume.
    bool inertia(btScalar mass, btVector3 &diagonal) const;

    void getAabb(const btTransform &pose, btVector3 &lo, btVector3 &hi) const override;
    void calculateLocalInertia(btScalar mass, btVector3 &diagonal) const override;
    void processAllTriangles(btTriangleCallback *callback, const btVector3 &lo,
                             const btVector3 &hi) const override;
    void setLocalScaling(const btVector3 &) override {} // it has none
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

// Lets the bodies of a world that have such shapes collide with each other.
void register_meshes(btCollisionDispatcher &dispatcher);

} // namespace abut_bullet

#endif

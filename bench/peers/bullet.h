// What the comparisons with Bullet share: poses, and the narrow phase of two objects.
#ifndef ABUT_PEER_BULLET_H
#define ABUT_PEER_BULLET_H

#include "peer.h"

#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <btBulletCollisionCommon.h>

namespace peer {

inline btTransform to_transform(const abut_pose &pose) {
    const abut_quat &q = pose.rotation;
    const abut_vec3 &t = pose.translation;
    return btTransform(btQuaternion((float)q.x, (float)q.y, (float)q.z, (float)q.w),
                       btVector3((float)t.x, (float)t.y, (float)t.z));
}

class bullet_world {
  public:
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher;
    btDbvtBroadphase broad;
    btCollisionWorld world;

    bullet_world() : dispatcher(&configuration), world(&dispatcher, &broad, &configuration) {
        btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher);
    }
    // Calls the algorithm of two objects. `Contacts` is a btManifoldResult that keeps all contacts;
    // Bullet's own manifold keeps four.
    template <class Contacts> Contacts collide(btCollisionObject &a, btCollisionObject &b) {
        btCollisionObjectWrapper first(nullptr, a.getCollisionShape(), &a, a.getWorldTransform(),
                                       -1, -1);
        btCollisionObjectWrapper second(nullptr, b.getCollisionShape(), &b, b.getWorldTransform(),
                                        -1, -1);
        btCollisionAlgorithm *algorithm =
            dispatcher.findAlgorithm(&first, &second, nullptr, BT_CONTACT_POINT_ALGORITHMS);
        Contacts found(&first, &second);
        algorithm->processCollision(&first, &second, world.getDispatchInfo(), &found);
        algorithm->~btCollisionAlgorithm();
        dispatcher.freeCollisionAlgorithm(algorithm);
        return found;
    }
};

} // namespace peer

#endif

// Bodies of triangles: abut against Bullet's GImpact meshes and its static ones.
//
// Usage: peer-bullet [--out FILE] [--quick] [MODEL...]   (see peer.h)
//
// Bullet is built with floats (Debian's default) and has one thread here. `build` and `refit` are
// those of btGImpactMeshShape, its only mesh that collides with other meshes; `build-static` is
// that of btBvhTriangleMeshShape, which meets only convex bodies and rays (its boxes are
// quantised).
//
// Two bodies are asked by the algorithm that its world would call for them, and all contacts are
// kept (its own manifold keeps four); contactPairTest finds nothing between GImpact meshes in this
// version, since they are not in its table. Bullet has no question that stops at the first contact,
// so that `overlap` pays for all. A body inside another has no contact.
#include "peer.h"

#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <btBulletCollisionCommon.h>

#include <memory>

namespace {

using peer::model;
using peer::vec;

// The vertices and indices that Bullet works on, its own copy: refits change them.
struct body {
    std::vector<vec> vertices;
    std::vector<int> indices;
    btTriangleIndexVertexArray array;
    std::unique_ptr<btGImpactMeshShape> shape;

    explicit body(const model &m)
        : vertices(m.vertices), indices(m.indices.begin(), m.indices.end()),
          array((int)m.triangle_count(), indices.data(), 12, (int)vertices.size(),
                &vertices.data()->x, sizeof(vec)) {
        build();
    }
    void build() {
        shape = std::make_unique<btGImpactMeshShape>(&array);
        shape->setMargin(0); // the shape's own, in lengths: it would count bodies that are apart
        shape->updateBound();
    }
    void refit(const std::vector<vec> &moved) {
        std::copy(moved.begin(), moved.end(), vertices.begin());
        shape->postUpdate();
        shape->updateBound();
    }
};

void compare_static(peer::report &report, const model &m, peer::side &ours, body &theirs) {
    std::unique_ptr<btBvhTriangleMeshShape> shape;
    peer::times build = peer::race(
        report.rounds(), [&] { ours.build(); },
        [&] { shape = std::make_unique<btBvhTriangleMeshShape>(&theirs.array, true); });
    report.add({"build-static", m.name, 1, build, (double)m.triangle_count(), "triangle"});
}

// Keeps all contacts, where Bullet's own keeps four.
struct contacts : btManifoldResult {
    std::vector<btVector3> points;

    contacts(const btCollisionObjectWrapper *a, const btCollisionObjectWrapper *b)
        : btManifoldResult(a, b) {}
    void addContactPoint(const btVector3 &normal, const btVector3 &point, btScalar depth) override {
        (void)normal;
        if (depth <= 0)
            points.push_back(point);
    }
};

// Two bodies in a world.
class meeting {
  public:
    meeting(const body &first, const body &second)
        : dispatcher(&configuration), world(&dispatcher, &broad, &configuration) {
        btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher);
        a.setCollisionShape(first.shape.get());
        b.setCollisionShape(second.shape.get());
    }
    // How many contacts there are.
    size_t collide(const abut_pose &pose) {
        const abut_quat &q = pose.rotation;
        const abut_vec3 &t = pose.translation;
        b.setWorldTransform(
            btTransform(btQuaternion((float)q.x, (float)q.y, (float)q.z, (float)q.w),
                        btVector3((float)t.x, (float)t.y, (float)t.z)));
        btCollisionObjectWrapper first(nullptr, a.getCollisionShape(), &a, a.getWorldTransform(),
                                       -1, -1);
        btCollisionObjectWrapper second(nullptr, b.getCollisionShape(), &b, b.getWorldTransform(),
                                        -1, -1);
        btCollisionAlgorithm *algorithm =
            dispatcher.findAlgorithm(&first, &second, nullptr, BT_CONTACT_POINT_ALGORITHMS);
        contacts found(&first, &second);
        algorithm->processCollision(&first, &second, world.getDispatchInfo(), &found);
        algorithm->~btCollisionAlgorithm();
        dispatcher.freeCollisionAlgorithm(algorithm);
        return found.points.size();
    }

  private:
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher;
    btDbvtBroadphase broad;
    btCollisionWorld world;
    btCollisionObject a, b;
};

void compare_pairs(peer::report &report, const model &m, const model &other, bool small) {
    body first(m), second(other);
    meeting both(first, second);
    peer::pair_queries queries(m, other, report.amount(100));
    peer::compare_overlap(report, small ? "overlap-small" : "overlap", m.name, queries,
                          "it makes all contacts",
                          [&](const abut_pose &pose) { return both.collide(pose) > 0; });
    if (!small)
        peer::compare_contacts(report, m.name, queries, "",
                               [&](const abut_pose &pose) { return both.collide(pose); });
}

void compare(peer::report &report, const model &m) {
    peer::side ours(m, 1);
    body theirs(m);
    peer::times build = peer::race(
        report.rounds(), [&] { ours.build(); }, [&] { theirs.build(); });
    report.add({"build", m.name, 1, build, (double)m.triangle_count(), "triangle"});
    compare_static(report, m, ours, theirs);
    peer::compare_refit(report, m, ours,
                        [&](const std::vector<vec> &moved) { theirs.refit(moved); });
    compare_pairs(report, m, m, false);
    compare_pairs(report, m, peer::scaled(m, 0.25f), true);
}

} // namespace

int main(int count, char **words) {
    char label[32];
    std::snprintf(label, sizeof label, "Bullet %d.%02d", btGetVersion() / 100,
                  btGetVersion() % 100);
    peer::report report("bullet", label, count, words);
    for (const model &m : report.models)
        compare(report, m);
    return report.finish();
}

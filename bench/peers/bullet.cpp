// Bodies of triangles: abut against Bullet's GImpact meshes and its static ones.
//
// Usage: peer-bullet [--out FILE] [--quick] [MODEL...]   (see peer.h)
//
// Bullet is built with floats (Debian's default) and has one thread here. `build` and `refit` are
// those of btGImpactMeshShape, its only mesh that collides with other meshes; `build-static` and
// `refit-static` are those of btBvhTriangleMeshShape, which meets only convex bodies and rays (its
// boxes are quantised).
#include "peer.h"

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

void compare(peer::report &report, const model &m) {
    peer::side ours(m, 1);
    body theirs(m);
    peer::times build = peer::race(
        report.rounds(), [&] { ours.build(); }, [&] { theirs.build(); });
    report.add({"build", m.name, 1, build, (double)m.triangle_count(), "triangle"});
    compare_static(report, m, ours, theirs);
    peer::compare_refit(report, m, ours,
                        [&](const std::vector<vec> &moved) { theirs.refit(moved); });
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

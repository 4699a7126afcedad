// Triangle meshes: abut against Bullet's GImpact meshes and its static ones; and values of distance
// fields against its btMiniSDF.
//
// Usage: peer-bullet [--out FILE] [--quick] [--part mesh|sweep|field|crowd] [MODEL...]   (see
// peer.h)
//
// Bullet is built with floats (Debian's default) and has one thread here. `build` and `refit` are
// those of btGImpactMeshShape, its only mesh that collides with other meshes; `build-static` is
// that of btBvhTriangleMeshShape, which collides only with convex bodies and rays (its boxes are
// quantised).
//
// Pairs use the algorithm that its world would call for them, and all contacts are kept (its own
// manifold keeps four); contactPairTest finds nothing between GImpact meshes in this version, since
// they are not in its table. Bullet has no query that stops at the first contact, so `overlap`
// includes the time of all. A body inside another has no contact.
//
// Rigid paths: Bullet sweeps convex bodies only, by conservative advancement on GJK. `convex` has
// two balls of 320 triangles, as hulls for Bullet (btContinuousConvexCollision); `static` such a
// ball, a quarter as large as the model, against the model as a btBvhTriangleMeshShape
// (objectQuerySingle, as convexSweepTest calls it). Margins are 0, as our bodies have none.
//
// Bullet has no builder of distance fields. Here its btMiniSDF gets the exact signed distances of
// abut_sign_nearest() at its nodes, which neighbouring cells share, as in the files that it reads:
// 32 per cell, the corners and two points on each edge. Values with gradients are evaluated at
// random points of a grid of 64 cells along each side; ours has one value per cell. The note has
// the mean errors of both against the exact distance, in cells: cubic interpolation with 32 nodes
// is more accurate than ours.
//
// Many bodies: its world with a btDbvtBroadphase; spheres and steps are hulls of their vertices, as
// its users would choose, with margins of 0 (crowd.h). Everything is ten times as large for it: its
// tolerances are lengths, and of the 5,000 spheres it misses one pair in six otherwise. Pairs with
// a contact of a depth of at least 0 overlap.
#include "bullet.h"
#include "crowd.h"
#include "field.h"
#include "paths.h"

#include <BulletCollision/CollisionShapes/btMiniSDF.h>
#include <BulletCollision/NarrowPhaseCollision/btContinuousConvexCollision.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkEpaPenetrationDepthSolver.h>
#include <BulletCollision/NarrowPhaseCollision/btVoronoiSimplexSolver.h>

#include <memory>

namespace {

using peer::model;
using peer::to_transform;
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
        shape->setMargin(0); // the shape's own, in lengths: it would count separate bodies
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

struct contacts : btManifoldResult {
    std::vector<btVector3> points;

    using btManifoldResult::btManifoldResult;
    void addContactPoint(const btVector3 &, const btVector3 &point, btScalar depth) override {
        if (depth <= 0)
            points.push_back(point);
    }
};

// Two bodies in a world.
class colliding_pair {
  public:
    colliding_pair(const body &first, const body &second) {
        a.setCollisionShape(first.shape.get());
        b.setCollisionShape(second.shape.get());
    }
    // Returns the number of contacts.
    size_t collide(const abut_pose &pose) {
        b.setWorldTransform(to_transform(pose));
        return all.collide<contacts>(a, b).points.size();
    }

  private:
    peer::bullet_world all;
    btCollisionObject a, b;
};

void compare_pairs(peer::report &report, const model &m, const model &other, bool small) {
    body first(m), second(other);
    colliding_pair both(first, second);
    peer::pair_queries queries(m, other, report.amount(100));
    peer::compare_overlap(report, small ? "overlap-small" : "overlap", m.name, queries,
                          "it makes all contacts",
                          [&](const abut_pose &pose) { return both.collide(pose) > 0; });
    if (!small)
        peer::compare_contacts(report, m.name, queries, "",
                               [&](const abut_pose &pose) { return both.collide(pose); });
}

btConvexHullShape hull_of(const model &m) {
    btConvexHullShape hull(&m.vertices.data()->x, (int)m.vertices.size(), sizeof(vec));
    hull.setMargin(0);
    return hull;
}

double sweep_convex(const btConvexShape &a, const btConvexShape &b, const peer::path &path) {
    btVoronoiSimplexSolver simplex;
    btGjkEpaPenetrationDepthSolver depth;
    btContinuousConvexCollision cast(&a, &b, &simplex, &depth);
    btConvexCast::CastResult result;
    result.m_fraction = 1;
    const btTransform still = btTransform::getIdentity();
    bool hit =
        cast.calcTimeOfImpact(still, still, to_transform(path.from), to_transform(path.to), result);
    return hit ? result.m_fraction : 2;
}

double sweep_static(btCollisionObject &mesh, const btConvexShape &b, const peer::path &path) {
    btTransform from = to_transform(path.from), to = to_transform(path.to);
    btCollisionWorld::ClosestConvexResultCallback result(from.getOrigin(), to.getOrigin());
    btCollisionWorld::objectQuerySingle(&b, from, to, &mesh, mesh.getCollisionShape(),
                                        mesh.getWorldTransform(), result, 0);
    return result.hasHit() ? result.m_closestHitFraction : 2;
}

const char *kind_of(bool across, bool convex) {
    return across   ? convex ? "sweep-across-convex" : "sweep-across-static"
           : convex ? "sweep-step-convex"
                    : "sweep-step-static";
}

void compare_convex(peer::report &report, const model &ball) {
    btConvexHullShape hull = hull_of(ball);
    for (bool across : {true, false}) {
        peer::path_queries queries(ball, ball, report.amount(200), across);
        peer::compare_paths(report, kind_of(across, true), ball.name, queries, "",
                            [&](const peer::path &path) { return sweep_convex(hull, hull, path); });
    }
}

void compare_sweeps(peer::report &report, const model &m, const model &ball) {
    model small = peer::scaled(ball, (float)(0.25 * m.diagonal() / ball.diagonal()));
    btConvexHullShape hull = hull_of(small);
    body theirs(m);
    btBvhTriangleMeshShape shape(&theirs.array, true);
    btCollisionObject fixed;
    shape.setMargin(0);
    fixed.setCollisionShape(&shape);
    fixed.setWorldTransform(btTransform::getIdentity());
    for (bool across : {true, false}) {
        peer::path_queries queries(m, small, report.amount(200), across);
        peer::compare_paths(report, kind_of(across, false), m.name, queries, "",
                            [&](const peer::path &path) {
                                return sweep_static(fixed, hull, path);
                            });
    }
}

// A position among the nodes of a grid of cells, in thirds of a cell.
struct node {
    uint32_t at[3];
};

// The nodes of one cell in Bullet's order: where one of its shape functions is 1.
std::vector<node> nodes_of_cell(const btMiniSDF &sdf) {
    std::vector<node> nodes(32);
    for (uint32_t i = 0; i < 64; i++) {
        node n = {{i % 4, i / 4 % 4, i / 16}};
        int between = 0;
        for (uint32_t c : n.at)
            between += c % 3 != 0;
        if (between > 1)
            continue;
        auto place = [&](int k) { return (btScalar)(2.0 / 3 * n.at[k] - 1); };
        btShapeMatrix shape = sdf.shape_function_(btVector3(place(0), place(1), place(2)));
        for (int k = 0; k < 32; k++)
            if (shape[k] > 0.99)
                nodes[k] = n;
    }
    return nodes;
}

// The exact signed distances at many points.
std::vector<abut_nearest> ask(const peer::side &ours, const std::vector<abut_vec3> &points) {
    std::vector<abut_nearest> nearest(points.size());
    abut_array batch = abut_array_host(points.data());
    peer::check(abut_sign_nearest_batch(ours.bvh, batch, points.size(), HUGE_VAL,
                                        abut_array_host(nearest.data())));
    return nearest;
}

// Bullet's field over a cube of cells, the first of which begins at `lo`.
void fill(btMiniSDF &sdf, const peer::side &ours, abut_vec3 lo, double cell, uint32_t cells) {
    btVector3 first((float)lo.x, (float)lo.y, (float)lo.z);
    btScalar side = (btScalar)(cell * cells), each = (btScalar)cell;
    sdf.m_domain = btAlignedBox3d(first, first + btVector3(side, side, side));
    sdf.m_cell_size.setValue(each, each, each);
    sdf.m_inv_cell_size.setValue(1 / each, 1 / each, 1 / each);
    for (unsigned &resolution : sdf.m_resolution)
        resolution = cells;
    sdf.m_n_cells = (size_t)cells * cells * cells;
    sdf.m_n_fields = 1;
    std::vector<node> local = nodes_of_cell(sdf);
    const size_t across = 3 * (size_t)cells + 1;
    std::vector<unsigned> number(across * across * across, ABUT_NONE);
    std::vector<abut_vec3> points;
    btAlignedObjectArray<btCell32> list;
    btAlignedObjectArray<unsigned> map;
    for (unsigned c = 0; c < sdf.m_n_cells; c++) {
        const unsigned at[3] = {c % cells, c / cells % cells, c / cells / cells};
        btCell32 made;
        for (int n = 0; n < 32; n++) {
            size_t p[3];
            for (int k = 0; k < 3; k++)
                p[k] = 3 * (size_t)at[k] + local[n].at[k];
            unsigned &index = number[(p[2] * across + p[1]) * across + p[0]];
            if (index == ABUT_NONE) {
                index = (unsigned)points.size();
                points.push_back({lo.x + cell / 3 * (double)p[0], lo.y + cell / 3 * (double)p[1],
                                  lo.z + cell / 3 * (double)p[2]});
            }
            made.m_cells[n] = index;
        }
        list.push_back(made);
        map.push_back(c);
    }
    btAlignedObjectArray<double> values;
    for (const abut_nearest &nearest : ask(ours, points))
        values.push_back(nearest.distance);
    sdf.m_nodes.push_back(values);
    sdf.m_cells.push_back(list);
    sdf.m_cell_map.push_back(map);
    sdf.m_isValid = true;
}

void compare_field(peer::report &report, const model &m, peer::side &ours) {
    const uint32_t cells = report.quick ? 16 : 64;
    const size_t count = report.amount(200000);
    peer::check(abut_sign_prepare(ours.bvh, nullptr));
    peer::field field(ours, m, peer::make_grid(m, cells));
    const abut_grid &grid = field.options.grid;
    field.build();
    btMiniSDF sdf;
    fill(sdf, ours, peer::centre_of(grid, -0.5, -0.5, -0.5), grid.cell, cells);
    std::vector<abut_vec3> points; // floats, two cells or more from the boundary
    peer::random numbers(3);
    auto place = [&] { return numbers.uniform(2, cells - 3); };
    for (size_t i = 0; i < count; i++) {
        double x = place(), y = place(), z = place();
        abut_vec3 p = peer::centre_of(grid, x, y, z);
        points.push_back({(float)p.x, (float)p.y, (float)p.z});
    }
    std::vector<abut_nearest> exact = ask(ours, points);
    for (bool cubic : {false, true}) {
        std::vector<abut_field_value> values(count);
        std::vector<double> distances(count);
        std::vector<btVector3> gradients(count);
        abut_interpolation how = cubic ? ABUT_INTERPOLATION_CUBIC : ABUT_INTERPOLATION_LINEAR;
        peer::times time = peer::race(
            report.rounds(),
            [&] {
                for (size_t i = 0; i < count; i++)
                    peer::check(abut_field_evaluate(field.made, points[i], how, &values[i]));
            },
            [&] {
                for (size_t i = 0; i < count; i++) {
                    const abut_vec3 &p = points[i];
                    sdf.interpolate(0, distances[i], btVector3((float)p.x, (float)p.y, (float)p.z),
                                    &gradients[i]);
                }
            });
        double sums[2] = {0, 0};
        peer::result r = {
            cubic ? "field-value-cubic" : "field-value", m.name, 1, time, (double)count, "query"};
        for (size_t i = 0; i < count; i++) {
            sums[0] += std::fabs(values[i].distance - exact[i].distance);
            sums[1] += std::fabs(distances[i] - exact[i].distance);
            r.disagreements += std::fabs(values[i].distance - distances[i]) > grid.cell;
            r.answer = peer::hash(r.answer, &values[i].distance, sizeof values[i].distance);
        }
        char note[96];
        std::snprintf(note, sizeof note, "mean error %.2g cells, its %.2g",
                      sums[0] / (double)count / grid.cell, sums[1] / (double)count / grid.cell);
        r.note = note;
        report.add(r);
    }
}

// Overlaps in a world that has all bodies.
class crowd_world {
    static constexpr btScalar scale = 10;

    static btTransform placed(const abut_pose &pose) {
        btTransform made = to_transform(pose);
        made.setOrigin(scale * made.getOrigin());
        return made;
    }

  public:
    explicit crowd_world(const peer::crowd &all)
        : scene(all), ball(hull_of(all.ball)), step(hull_of(all.step)) {
        ball.setLocalScaling(btVector3(scale, scale, scale));
        step.setLocalScaling(btVector3(scale, scale, scale));
        for (size_t i = 0; i < all.poses[0].size(); i++) {
            bool fixed = i < peer::STEPS;
            objects.push_back(std::make_unique<btCollisionObject>());
            objects.back()->setCollisionShape(fixed ? &step : &ball);
            objects.back()->setUserIndex((int)i);
            objects.back()->setContactProcessingThreshold(0);
            objects.back()->setWorldTransform(placed(all.poses[0][i]));
            bullet.world.addCollisionObject(objects.back().get(), fixed ? 2 : 1, fixed ? 1 : 3);
        }
    }
    ~crowd_world() {
        for (auto &object : objects)
            bullet.world.removeCollisionObject(object.get());
    }
    peer::name_set find(int frame) {
        for (size_t i = 0; i < objects.size(); i++)
            objects[i]->setWorldTransform(placed(scene.poses[frame][i]));
        bullet.world.performDiscreteCollisionDetection();
        peer::name_set found;
        for (int i = 0; i < bullet.dispatcher.getNumManifolds(); i++) {
            const btPersistentManifold *manifold = bullet.dispatcher.getManifoldByIndexInternal(i);
            auto a = (uint32_t)manifold->getBody0()->getUserIndex(),
                 b = (uint32_t)manifold->getBody1()->getUserIndex();
            for (int k = 0; k < manifold->getNumContacts(); k++)
                if (manifold->getContactPoint(k).getDistance() <= 0)
                    found.emplace(std::min(a, b), std::max(a, b));
        }
        return found;
    }

  private:
    const peer::crowd &scene;
    btConvexHullShape ball, step;
    peer::bullet_world bullet;
    std::vector<std::unique_ptr<btCollisionObject>> objects;
};

void compare_crowds(peer::report &report) {
    peer::each_crowd(report, [&](peer::crowd &scene) {
        crowd_world theirs(scene);
        peer::compare_crowd(report, scene, "hulls, in floats; contacts as well",
                            [&](int frame) { return theirs.find(frame); });
    });
}

void compare_mesh(peer::report &report, const model &m, peer::side &ours) {
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

void compare(peer::report &report, const model &m, const model &ball) {
    if (report.wants("mesh")) {
        peer::side ours(m, 1);
        compare_mesh(report, m, ours);
    }
    if (report.wants("sweep"))
        compare_sweeps(report, m, ball);
    if (report.wants("field")) { // from a BVH of its own: refits have moved the other
        peer::side ours(m, 1);
        compare_field(report, m, ours);
    }
}

} // namespace

int main(int count, char **words) {
    char label[32];
    std::snprintf(label, sizeof label, "Bullet %d.%02d", btGetVersion() / 100,
                  btGetVersion() % 100);
    peer::report report("bullet", label, count, words, {"mesh", "sweep", "field", "crowd"});
    if (report.wants("crowd"))
        compare_crowds(report);
    model ball = peer::generate_model(ABUT_SHAPE_ICOSPHERE, 4);
    if (report.wants("sweep"))
        compare_convex(report, ball);
    for (const model &m : report.models)
        compare(report, m, ball);
    return report.finish();
}

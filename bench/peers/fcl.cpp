// Two posed meshes: abut against FCL (BVHModel<OBBRSS<double>>), on the same poses alternately.
//
// Usage: peer-fcl [--out FILE] [--quick] [--part mesh|pairs|sweep|crowd] [MODEL...]   (see peer.h)
//
// One thread, one query after the other. FCL's collide() stops at the first contact, as ours does,
// but does not detect a body inside another: the note counts such poses. Its distance() returns
// points but no features of triangles; for overlapping bodies it returns no distance, so only the
// others are compared, although it runs to the end of its search there as well. `grazing` poses are
// all at one distance, where half of them overlap; the others at any. In `pairs` every model is
// paired with every other one, a quarter as large as itself.
//
// Rigid paths, rotating about the origin of the model: FCL's conservative advancement
// (`advancement`: on RSS, since with OBBRSS it misses nearly all; with RSS it misses most, see its
// issues 120 and 555), its sampling at 100 times (`sampled`), and conservative advancement
// implemented on its distance() (`distance`).
//
// Many bodies: its DynamicAABBTreeCollisionManager for overlapping boxes, and collide() for each;
// spheres and steps are BVHModels as above (crowd.h).
#include "crowd.h"
#include "paths.h"

#include <fcl/config.h>
#include <fcl/fcl.h>

#include <memory>

namespace {

using peer::model;
using peer::vec;

typedef fcl::BVHModel<fcl::OBBRSSd> body;
typedef fcl::BVHModel<fcl::RSSd> round_body;

std::vector<fcl::Vector3d> to_vertices(const std::vector<vec> &from) {
    std::vector<fcl::Vector3d> vertices;
    for (vec v : from)
        vertices.emplace_back(v.x, v.y, v.z);
    return vertices;
}

template <class Body = body> std::shared_ptr<Body> build(const model &m) {
    auto made = std::make_shared<Body>();
    std::vector<fcl::Triangle> triangles;
    for (size_t i = 0; i < m.indices.size(); i += 3)
        triangles.emplace_back(m.indices[i], m.indices[i + 1], m.indices[i + 2]);
    made->beginModel();
    made->addSubModel(to_vertices(m.vertices), triangles);
    made->endModel();
    return made;
}

void refit(body &theirs, const std::vector<vec> &moved) {
    theirs.beginReplaceModel();
    theirs.replaceSubModel(to_vertices(moved));
    theirs.endReplaceModel(true, true);
}

fcl::Transform3d to_transform(const abut_pose &pose) {
    const abut_quat &q = pose.rotation;
    fcl::Transform3d t = fcl::Transform3d::Identity();
    t.linear() = fcl::Quaterniond(q.w, q.x, q.y, q.z).toRotationMatrix();
    t.translation() = fcl::Vector3d(pose.translation.x, pose.translation.y, pose.translation.z);
    return t;
}

void compare_distance(peer::report &report, const char *what, const std::string &name,
                      const peer::pair_queries &queries, const body &a, const body &b) {
    const fcl::Transform3d still = fcl::Transform3d::Identity();
    size_t count = queries.poses.size(), differing = 0;
    std::vector<abut_separation> ours(count);
    std::vector<double> distances(count);
    peer::spread each = peer::race_each(
        count, report.pair_rounds(),
        [&](size_t i) { ours[i] = queries.separation(queries.poses[i]); },
        [&](size_t i) {
            fcl::DistanceRequestd request(true);
            fcl::DistanceResultd result;
            fcl::distance(&a, still, &b, to_transform(queries.poses[i]), request, result);
            distances[i] = result.min_distance;
        });
    uint64_t answer = 0;
    for (size_t i = 0; i < count; i++) {
        differing += ours[i].relation == ABUT_PAIR_APART &&
                     std::fabs(ours[i].distance - distances[i]) > 1e-9 * (1 + ours[i].distance);
        answer = peer::hash(answer, &ours[i].distance, sizeof ours[i].distance);
    }
    report.add({what, name, 1, each.mean, 1, "pose", differing, "", answer}, each);
}

void compare_pairs(peer::report &report, const model &m, const model &other, const char *kind) {
    std::string name = m.name == other.name ? m.name : m.name + "+" + other.name;
    std::shared_ptr<body> a = build(m), b = build(other);
    peer::pair_queries queries(m, other, report.amount(500), !std::strcmp(kind, "-grazing"));
    const fcl::Transform3d still = fcl::Transform3d::Identity();
    peer::compare_overlap(report, (std::string("overlap") + kind).c_str(), name, queries, "",
                          [&](const abut_pose &pose) {
                              fcl::CollisionRequestd request(1, false);
                              fcl::CollisionResultd result;
                              return fcl::collide(a.get(), still, b.get(), to_transform(pose),
                                                  request, result) > 0;
                          });
    compare_distance(report, (std::string("distance") + kind).c_str(), name, queries, *a, *b);
}

// About the origin; the constructor from two transforms leaves that point unset.
fcl::InterpMotion<double> to_motion(const peer::path &path) {
    fcl::Transform3d from = to_transform(path.from), to = to_transform(path.to);
    return {from.linear(), from.translation(), to.linear(), to.translation(),
            fcl::Vector3d::Zero()};
}

const peer::path still_path = {{{0, 0, 0, 1}, {0, 0, 0}}, {{0, 0, 0, 1}, {0, 0, 0}}};

template <class Body>
double sweep(const Body &a, const Body &b, const peer::path &path, fcl::CCDSolverType solver) {
    fcl::ContinuousCollisionRequestd request(100, 1e-4, fcl::CCDM_LINEAR, fcl::GST_LIBCCD, solver);
    fcl::ContinuousCollisionResultd result;
    fcl::InterpMotion<double> stays = to_motion(still_path), moves = to_motion(path);
    fcl::continuousCollide(&a, &stays, &b, &moves, request, result);
    return result.is_collide ? result.time_of_contact : 2;
}

// Conservative advancement on distance(): no point of b moves faster than its origin plus the
// rotation of its furthest vertex, so bodies are free for the time that this speed needs for the
// distance. It ends within 1e-4 of b's size: a hundred times our tolerance.
double sweep_by_distance(const body &a, const body &b, const model &moving,
                         const peer::path &path) {
    fcl::InterpMotion<double> moves = to_motion(path);
    float radius = 0;
    for (vec v : moving.vertices)
        radius = std::max(radius, std::sqrt(dot(v, v)));
    double speed = moves.getLinearVelocity().norm() + moves.getAngularVelocity() * radius;
    double enough = 1e-4 * moving.diagonal();
    for (double t = 0; t <= 1;) {
        fcl::Transform3d at;
        moves.integrate(t);
        moves.getCurrentTransform(at);
        fcl::DistanceRequestd request;
        fcl::DistanceResultd result;
        fcl::distance(&a, fcl::Transform3d::Identity(), &b, at, request, result);
        if (result.min_distance <= enough)
            return t;
        t += result.min_distance / speed;
    }
    return 2;
}

void compare_sweeps(peer::report &report, const model &m, const model &other, const char *kind,
                    bool across) {
    std::shared_ptr<body> a = build(m), b = build(other);
    auto round_a = build<round_body>(m), round_b = build<round_body>(other);
    // Its advancement takes a second or more for large meshes.
    size_t count = std::clamp<size_t>(400000 / m.triangle_count(), 10, 200);
    peer::path_queries queries(m, other, report.quick ? 2 : count, across);
    auto race = [&](const char *method, auto theirs) {
        peer::compare_paths(report, (std::string(kind) + method).c_str(), m.name, queries, "",
                            theirs);
    };
    race("-advancement", [&](const peer::path &path) {
        return sweep(*round_a, *round_b, path, fcl::CCDC_CONSERVATIVE_ADVANCEMENT);
    });
    race("-sampled", [&](const peer::path &path) { return sweep(*a, *b, path, fcl::CCDC_NAIVE); });
    race("-distance",
         [&](const peer::path &path) { return sweep_by_distance(*a, *b, other, path); });
}

void compare_sweeps(peer::report &report, const model &m) {
    compare_sweeps(report, m, m, "sweep-across", true);
    compare_sweeps(report, m, m, "sweep-step", false);
    compare_sweeps(report, m, peer::scaled(m, 0.25f), "sweep-small", true);
}

void compare_mesh(peer::report &report, const model &m) {
    peer::side ours(m, 1);
    std::shared_ptr<body> theirs;
    peer::times time = peer::race(
        report.rounds(), [&] { ours.build(); }, [&] { theirs = build(m); });
    report.add({"build", m.name, 1, time, (double)m.triangle_count(), "triangle"});
    peer::compare_refit(report, m, ours,
                        [&](const std::vector<vec> &moved) { refit(*theirs, moved); });
    compare_pairs(report, m, m, "");
    compare_pairs(report, m, m, "-grazing");
    compare_pairs(report, m, peer::scaled(m, 0.25f), "-small");
}

void compare_with_others(peer::report &report, const model &m) {
    for (const model &other : report.models)
        if (other.name != m.name) {
            float factor = (float)(0.25 * m.diagonal() / other.diagonal());
            compare_pairs(report, m, peer::scaled(other, factor), "-small");
        }
}

void compare(peer::report &report, const model &m) {
    if (report.wants("mesh"))
        compare_mesh(report, m);
    if (report.wants("pairs"))
        compare_with_others(report, m);
    if (report.wants("sweep"))
        compare_sweeps(report, m);
}

// Overlaps by a manager that has all bodies.
class crowd_manager {
  public:
    explicit crowd_manager(const peer::crowd &all) : scene(all) {
        std::shared_ptr<body> ball = build(all.ball), step = build(all.step);
        for (size_t i = 0; i < all.poses[0].size(); i++) {
            objects.push_back(
                std::make_unique<fcl::CollisionObjectd>(i < peer::STEPS ? step : ball));
            objects.back()->setUserData(reinterpret_cast<void *>(i));
            manager.registerObject(objects.back().get());
        }
        manager.setup();
    }
    peer::name_set find(int frame) {
        for (size_t i = 0; i < objects.size(); i++) {
            objects[i]->setTransform(to_transform(scene.poses[frame][i]));
            objects[i]->computeAABB();
        }
        manager.update();
        found.clear();
        manager.collide(&found, visit);
        return found;
    }

  private:
    const peer::crowd &scene;
    std::vector<std::unique_ptr<fcl::CollisionObjectd>> objects;
    fcl::DynamicAABBTreeCollisionManagerd manager;
    peer::name_set found;

    static bool visit(fcl::CollisionObjectd *a, fcl::CollisionObjectd *b, void *to) {
        auto first = reinterpret_cast<size_t>(a->getUserData()),
             second = reinterpret_cast<size_t>(b->getUserData());
        fcl::CollisionRequestd request(1, false);
        fcl::CollisionResultd result;
        if (peer::crowd::tried(first, second) && fcl::collide(a, b, request, result) > 0)
            static_cast<peer::name_set *>(to)->emplace(std::min(first, second),
                                                       std::max(first, second));
        return false;
    }
};

void compare_crowds(peer::report &report) {
    peer::each_crowd(report, [&](peer::crowd &scene) {
        crowd_manager theirs(scene);
        peer::compare_crowd(report, scene, "", [&](int frame) { return theirs.find(frame); });
    });
}

} // namespace

int main(int count, char **words) {
    peer::report report("fcl", "FCL " FCL_VERSION, count, words,
                        {"mesh", "pairs", "sweep", "crowd"});
    if (report.wants("crowd"))
        compare_crowds(report);
    for (const model &m : report.models)
        compare(report, m);
    return report.finish();
}

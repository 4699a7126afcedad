// Two posed meshes: abut against FCL (BVHModel<OBBRSS<double>>), on the same poses in turn.
//
// Usage: peer-fcl [--out FILE] [--quick] [MODEL...]   (see peer.h)
//
// One thread, one query after the other. FCL's collide() stops at the first contact, as ours does,
// but does not see a body inside another: such poses are named in the note. Its distance() gives
// points and no triangles' features; where bodies overlap it gives no distance, so that only the
// others are compared, and it runs to the end of its search there as well. `grazing` poses are all
// at one distance, where half of them overlap; the others at any.
#include "peer.h"

#include <fcl/config.h>
#include <fcl/fcl.h>

#include <memory>

namespace {

using peer::model;
using peer::vec;

typedef fcl::BVHModel<fcl::OBBRSSd> body;

std::vector<fcl::Vector3d> to_vertices(const std::vector<vec> &from) {
    std::vector<fcl::Vector3d> vertices;
    for (vec v : from)
        vertices.emplace_back(v.x, v.y, v.z);
    return vertices;
}

std::shared_ptr<body> build(const model &m) {
    auto made = std::make_shared<body>();
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
    std::shared_ptr<body> a = build(m), b = build(other);
    peer::pair_queries queries(m, other, report.amount(500), !std::strcmp(kind, "-grazing"));
    const fcl::Transform3d still = fcl::Transform3d::Identity();
    peer::compare_overlap(report, (std::string("overlap") + kind).c_str(), m.name, queries, "",
                          [&](const abut_pose &pose) {
                              fcl::CollisionRequestd request(1, false);
                              fcl::CollisionResultd result;
                              return fcl::collide(a.get(), still, b.get(), to_transform(pose),
                                                  request, result) > 0;
                          });
    compare_distance(report, (std::string("distance") + kind).c_str(), m.name, queries, *a, *b);
}

void compare(peer::report &report, const model &m) {
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

} // namespace

int main(int count, char **words) {
    peer::report report("fcl", "FCL " FCL_VERSION, count, words);
    for (const model &m : report.models)
        compare(report, m);
    return report.finish();
}

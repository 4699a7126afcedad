// Nearest points and rays: abut against CGAL's AABB_tree with the kernel EPICK.
//
// Usage: peer-cgal [--out FILE] [--quick] [MODEL...]   (see peer.h)
//
// Both compute in doubles. Whether a ray meets a triangle is exact in both (EPICK: exact
// predicates); points of intersection and distances are rounded in both. CGAL's tree has one
// thread and no batch, so ours gets one thread; it is measured one query at a time and as a batch.
// CGAL has no refit: a moved mesh means a new tree. accelerate_distance_queries() makes its k-d
// tree of hints; it counts as part of its build.
#include "peer.h"

#include <CGAL/AABB_traits.h>
#include <CGAL/AABB_tree.h>
#include <CGAL/AABB_triangle_primitive.h>
#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/version.h>

#include <memory>

namespace {

using peer::model;
using peer::vec;

using kernel = CGAL::Exact_predicates_inexact_constructions_kernel;
using triangles = std::vector<kernel::Triangle_3>;
using primitive = CGAL::AABB_triangle_primitive<kernel, triangles::const_iterator>;
using tree = CGAL::AABB_tree<CGAL::AABB_traits<kernel, primitive>>;

kernel::Point_3 to_point(vec v) {
    return {v.x, v.y, v.z};
}

// A triangle without area is no Triangle_3 that CGAL's queries may see.
triangles make_triangles(const model &m) {
    triangles list;
    for (size_t i = 0; i < m.indices.size(); i += 3) {
        kernel::Triangle_3 t(to_point(m.vertices[m.indices[i]]),
                             to_point(m.vertices[m.indices[i + 1]]),
                             to_point(m.vertices[m.indices[i + 2]]));
        if (!t.is_degenerate())
            list.push_back(t);
    }
    return list;
}

void compare_nearest(peer::report &report, const model &m, const peer::side &ours,
                     const tree &theirs) {
    for (bool near : {false, true}) {
        const size_t count = report.amount(20000);
        std::vector<vec> points = peer::make_points(m, count, near);
        std::vector<abut_nearest> nearest(count);
        std::vector<double> distances(count);
        auto run_theirs = [&] {
            for (size_t i = 0; i < count; i++) {
                kernel::Point_3 p = to_point(points[i]);
                auto [point, id] = theirs.closest_point_and_primitive(p);
                distances[i] = std::sqrt((point - p).squared_length());
                (void)id;
            }
        };
        abut_points batch = abut_points_default();
        batch.points = points.data();
        batch.type = ABUT_SCALAR_FLOAT32;
        batch.count = count;
        for (bool single : {true, false}) {
            peer::times time = peer::race(
                report.rounds(),
                [&] {
                    if (!single)
                        peer::check(
                            abut_bvh_nearest_batch(ours.bvh, &batch, HUGE_VAL, nearest.data()));
                    for (size_t i = 0; single && i < count; i++)
                        peer::check(abut_bvh_nearest(ours.bvh,
                                                     {points[i].x, points[i].y, points[i].z},
                                                     HUGE_VAL, &nearest[i]));
                },
                run_theirs);
            std::string what =
                std::string(near ? "nearest-near" : "nearest-uniform") + (single ? "-single" : "");
            peer::result r = {what.c_str(), m.name, 1, time, (double)count, "query"};
            for (size_t i = 0; i < count; i++)
                r.disagreements +=
                    std::fabs(nearest[i].distance - distances[i]) > 1e-9 * m.diagonal();
            r.answer = peer::hash(0, nearest.data(), count * sizeof nearest[0]);
            report.add(r);
        }
    }
}

void compare_rays(peer::report &report, const model &m, const peer::side &ours,
                  const tree &theirs) {
    for (bool coherent : {false, true}) {
        const size_t count = report.amount(20000);
        std::vector<peer::ray> rays = peer::make_rays(m, count, coherent);
        std::vector<abut_ray> our_rays = peer::to_rays(rays);
        std::vector<abut_bvh_hit> hits(count);
        std::vector<double> distances(count); // -1 on a miss
        peer::times time = peer::race(
            report.rounds(),
            [&] {
                peer::check(
                    abut_bvh_ray_batch(ours.bvh, our_rays.data(), count, HUGE_VAL, hits.data()));
            },
            [&] {
                for (size_t i = 0; i < count; i++) {
                    kernel::Point_3 o = to_point(rays[i].origin);
                    kernel::Ray_3 ray(o, kernel::Vector_3(rays[i].direction.x, rays[i].direction.y,
                                                          rays[i].direction.z));
                    auto hit = theirs.first_intersection(ray);
                    distances[i] = -1;
                    if (!hit)
                        continue;
                    if (const auto *p = boost::get<kernel::Point_3>(&hit->first))
                        distances[i] = std::sqrt((*p - o).squared_length());
                    else if (const auto *s = boost::get<kernel::Segment_3>(&hit->first))
                        distances[i] = std::sqrt(std::min((s->source() - o).squared_length(),
                                                          (s->target() - o).squared_length()));
                }
            });
        peer::result r = {coherent ? "ray-first-coherent" : "ray-first-uniform",
                          m.name,
                          1,
                          time,
                          (double)count,
                          "query"};
        for (size_t i = 0; i < count; i++) {
            bool hit = hits[i].triangle != ABUT_NONE;
            double length = std::sqrt(peer::dot(rays[i].direction, rays[i].direction));
            r.disagreements +=
                hit != (distances[i] >= 0) ||
                (hit && std::fabs(hits[i].parameter * length - distances[i]) > 1e-6 * m.diagonal());
        }
        r.answer = peer::hash_hits(hits);
        report.add(r);
    }
}

void compare(peer::report &report, const model &m) {
    peer::side ours(m, 1);
    triangles list = make_triangles(m);
    std::unique_ptr<tree> theirs;
    peer::times build = peer::race(
        report.rounds(), [&] { ours.build(); },
        [&] {
            theirs = std::make_unique<tree>(list.begin(), list.end());
            theirs->build();
            theirs->accelerate_distance_queries();
        });
    report.add({"build", m.name, 1, build, (double)m.triangle_count(), "triangle"});
    compare_nearest(report, m, ours, *theirs);
    compare_rays(report, m, ours, *theirs);
}

} // namespace

int main(int count, char **words) {
    peer::report report("cgal", "CGAL " CGAL_VERSION_STR, count, words);
    for (const model &m : report.models)
        compare(report, m);
    return report.finish();
}

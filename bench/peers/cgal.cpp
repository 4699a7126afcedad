// Nearest points and rays: abut against CGAL's AABB_tree with the kernel EPICK.
//
// Usage: peer-cgal [--out FILE] [--quick] [MODEL...]   (see peer.h)
//
// Both compute in doubles. Whether a ray intersects a triangle is exact in both (EPICK: exact
// predicates); points of intersection and distances are rounded in both. CGAL's tree has one thread
// and no batch, so ours uses one thread; it is measured one query at a time and as a batch. CGAL
// has no refit: a moved mesh needs a new tree. accelerate_distance_queries() builds its k-d tree of
// hints; it counts as part of its build.
//
// Pairs use Rigid_triangle_mesh_collision_detection, which counts containment as we do, but only in
// closed meshes, and requires an oriented manifold: of other models only the rest is compared.
// Intersection volumes are those of balls and tori of some 1,000 triangles.
#include "peer.h"

#include <CGAL/AABB_traits.h>
#include <CGAL/AABB_tree.h>
#include <CGAL/AABB_triangle_primitive.h>
#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Polygon_mesh_processing/corefinement.h>
#include <CGAL/Polygon_mesh_processing/measure.h>
#include <CGAL/Polygon_mesh_processing/polygon_soup_to_polygon_mesh.h>
#include <CGAL/Polygon_mesh_processing/transform.h>
#include <CGAL/Rigid_triangle_mesh_collision_detection.h>
#include <CGAL/Surface_mesh.h>
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

// CGAL's queries do not support triangles without area.
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
        abut_array batch = abut_array_floats(points.data());
        for (bool single : {true, false}) {
            peer::times time = peer::race(
                report.rounds(),
                [&] {
                    if (!single)
                        peer::check(abut_nearest_point_batch(ours.bvh, batch, count, HUGE_VAL,
                                                             abut_array_host(nearest.data())));
                    for (size_t i = 0; single && i < count; i++)
                        peer::check(abut_nearest_point(ours.bvh,
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
        std::vector<abut_ray_hit> hits(count);
        std::vector<double> distances(count); // -1 on a miss
        peer::times time = peer::race(
            report.rounds(),
            [&] {
                peer::check(abut_ray_first_batch(ours.bvh, abut_array_host(our_rays.data()), count,
                                                 HUGE_VAL, abut_array_host(hits.data())));
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

using surface = CGAL::Surface_mesh<kernel::Point_3>;

// Returns false if CGAL cannot represent the triangles as a mesh.
bool make_surface(const model &m, surface &mesh) {
    namespace processing = CGAL::Polygon_mesh_processing;
    std::vector<kernel::Point_3> points;
    std::vector<std::vector<size_t>> faces;
    for (vec v : m.vertices)
        points.push_back(to_point(v));
    for (size_t i = 0; i < m.indices.size(); i += 3)
        faces.push_back({m.indices[i], m.indices[i + 1], m.indices[i + 2]});
    if (!processing::is_polygon_soup_a_polygon_mesh(faces))
        return false;
    processing::polygon_soup_to_polygon_mesh(points, faces, mesh);
    return true;
}

void compare_pairs(peer::report &report, const model &m, const model &other, bool small) {
    surface first, second;
    if (!make_surface(m, first) || !make_surface(other, second)) {
        std::printf("overlap: %s is no oriented manifold and left out\n", m.name.c_str());
        return;
    }
    CGAL::Rigid_triangle_mesh_collision_detection<surface> bodies;
    bodies.add_mesh(first);
    size_t moving = bodies.add_mesh(second);
    peer::pair_queries queries(m, other, report.amount(200));
    peer::compare_overlap(report, small ? "overlap-small" : "overlap", m.name, queries, "",
                          [&](const abut_pose &pose) {
                              peer::matrix p = peer::to_matrix(pose);
                              bodies.set_transformation(moving, CGAL::Aff_transformation_3<kernel>(
                                                                    p.r[0][0], p.r[0][1], p.r[0][2],
                                                                    p.t[0], p.r[1][0], p.r[1][1],
                                                                    p.r[1][2], p.t[1], p.r[2][0],
                                                                    p.r[2][1], p.r[2][2], p.t[2]));
                              return !bodies.get_all_intersections_and_inclusions(moving).empty();
                          });
}

// Intersection volumes of two closed bodies: CGAL constructs the solid and measures it, with points
// rounded to doubles (its corefinement with this kernel).
void compare_common(peer::report &report, const model &m) {
    namespace processing = CGAL::Polygon_mesh_processing;
    surface first, second;
    if (!make_surface(m, first) || !make_surface(m, second))
        peer::fail("cgal: a generated model is no manifold");
    peer::pair_queries queries(m, m, report.amount(60));
    std::vector<double> ours(queries.poses.size()), theirs(queries.poses.size(), NAN);
    const abut_collider still = abut_collider_from_bvh(queries.a.bvh, abut_pose_identity());
    peer::spread each = peer::race_each(
        queries.poses.size(), report.pair_rounds(),
        [&](size_t i) {
            abut_collider moved = abut_collider_from_bvh(queries.b.bvh, queries.poses[i]);
            abut_pair_measures common = abut_pair_measures_default();
            peer::check(abut_pair_measure(&still, &moved, nullptr, &common));
            ours[i] = common.volume;
        },
        [&](size_t i) {
            peer::matrix p = peer::to_matrix(queries.poses[i]);
            surface a = first, b = second, common;
            processing::transform(CGAL::Aff_transformation_3<kernel>(
                                      p.r[0][0], p.r[0][1], p.r[0][2], p.t[0], p.r[1][0], p.r[1][1],
                                      p.r[1][2], p.t[1], p.r[2][0], p.r[2][1], p.r[2][2], p.t[2]),
                                  b);
            if (processing::corefine_and_compute_intersection(a, b, common))
                theirs[i] = CGAL::is_empty(common) ? 0 : processing::volume(common);
        });
    peer::result r = {"common", m.name, 1, each.mean, 1, "pose"};
    for (size_t i = 0; i < ours.size(); i++)
        r.disagreements += !(std::fabs(ours[i] - theirs[i]) <= 1e-9 * std::pow(m.diagonal(), 3));
    r.note = "it makes the solid; ours has areas and centroid as well";
    r.answer = peer::hash(0, ours.data(), ours.size() * sizeof ours[0]);
    report.add(r, each);
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
    compare_pairs(report, m, m, false);
    compare_pairs(report, m, peer::scaled(m, 0.25f), true);
}

} // namespace

int main(int count, char **words) {
    peer::report report("cgal", "CGAL " CGAL_VERSION_STR, count, words);
    for (const model &m : report.models)
        compare(report, m);
    compare_common(report, peer::generate_model(ABUT_SHAPE_ICOSPHERE, 8));
    compare_common(report, peer::generate_model(ABUT_SHAPE_TORUS, 24));
    return report.finish();
}

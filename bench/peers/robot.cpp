/* The arm of bench/robot_scene.h among its obstacles: configurations and distances by abut and by
 * FCL, or by Coal with -DPEER_COAL, in one run on one thread. The other library gets the poses of
 * the links from abut, in arrays, and does what a planner does with it: a broad phase for the
 * obstacles, and a list of pairs of links. Processor time; both answers are compared. A motion is
 * sampled, since neither library has motions of whole arms.
 *
 * Usage: peer-robot [STATES]
 */
#include "../robot_scene.h"

#ifdef PEER_COAL
#include <coal/BVH/BVH_model.h>
#include <coal/broadphase/broadphase.h>
#include <coal/broadphase/default_broadphase_callbacks.h>
#include <coal/collision.h>
#include <coal/distance.h>
#include <coal/shape/geometric_shapes.h>
namespace peer = coal;
using Vec = coal::Vec3s;
using Turn = coal::Matrix3s;
using Place = coal::Transform3s;
using Model = coal::BVHModel<coal::OBBRSS>;
using Cuboid = coal::Box;
using Body = coal::CollisionObject;
using Geometry = std::shared_ptr<coal::CollisionGeometry>;
using Manager = coal::DynamicAABBTreeCollisionManager;
#define PEER "coal"
#else
#include <fcl/fcl.h>
namespace peer = fcl;
using Vec = fcl::Vector3d;
using Turn = fcl::Matrix3d;
using Place = fcl::Transform3d;
using Model = fcl::BVHModel<fcl::OBBRSSd>;
using Cuboid = fcl::Boxd;
using Body = fcl::CollisionObjectd;
using Geometry = std::shared_ptr<fcl::CollisionGeometryd>;
using Manager = fcl::DynamicAABBTreeCollisionManagerd;
#define PEER "fcl"
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

static double seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

static void demand(abut_status status) {
    if (status) {
        std::fprintf(stderr, "peer-robot: %s\n", abut_last_error());
        std::exit(1);
    }
}

static Geometry model_of(const abut_bvh *bvh) {
    const abut_mesh *mesh = abut_bvh_mesh(bvh);
    std::vector<abut_vec3> at(abut_mesh_vertex_count(mesh));
    const uint32_t *corner = abut_mesh_indices(mesh);
    demand(abut_mesh_get_positions(mesh, at.data()));
    auto model = std::make_shared<Model>();
    model->beginModel();
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        Vec p[3];
        for (int k = 0; k < 3; k++) {
            const abut_vec3 &v = at[corner[3 * i + uint32_t(k)]];
            p[k] = Vec(v.x, v.y, v.z);
        }
        model->addTriangle(p[0], p[1], p[2]);
    }
    model->endModel();
    return model;
}

static void place(Body &body, const abut_pose &pose) {
    double m[12];
    demand(abut_pose_to_matrix(&pose, m));
    Turn turn;
    turn << m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10];
    const Vec shift(m[3], m[7], m[11]);
#ifdef PEER_COAL
    body.setTransform(turn, shift);
#else
    body.setTransform(turn, shift);
#endif
    body.computeAABB();
}

#ifdef PEER_COAL
using Collide = coal::CollisionCallBackDefault;
using Distance = coal::DistanceCallBackDefault;
static bool touch(Body &a, Body &b) {
    coal::CollisionRequest request;
    coal::CollisionResult result;
    return coal::collide(&a, &b, request, result) > 0;
}
static double apart(Body &a, Body &b) {
    coal::DistanceRequest request;
    coal::DistanceResult result;
    return coal::distance(&a, &b, request, result);
}
#else
static bool touch(Body &a, Body &b) {
    fcl::CollisionRequestd request;
    fcl::CollisionResultd result;
    return fcl::collide(&a, &b, request, result) > 0;
}
static double apart(Body &a, Body &b) {
    fcl::DistanceRequestd request;
    fcl::DistanceResultd result;
    return fcl::distance(&a, &b, request, result);
}
#endif

struct Scene {
    std::vector<std::unique_ptr<Body>> links, obstacles;
    std::vector<std::pair<int, int>> pairs;
    Manager manager;
};

static bool collides(Scene &s, const abut_pose *poses) {
    for (size_t i = 0; i < s.links.size(); i++)
        place(*s.links[i], poses[i]);
    for (size_t i = s.links.size(); i-- > 0;) {
#ifdef PEER_COAL
        Collide call;
        s.manager.collide(s.links[i].get(), &call);
        if (call.data.result.isCollision())
            return true;
#else
        fcl::DefaultCollisionData<double> data;
        s.manager.collide(s.links[i].get(), &data, fcl::DefaultCollisionFunction<double>);
        if (data.result.isCollision())
            return true;
#endif
    }
    for (const auto &pair : s.pairs) {
        Body &a = *s.links[size_t(pair.first)], &b = *s.links[size_t(pair.second)];
        if (a.getAABB().overlap(b.getAABB()) && touch(a, b))
            return true;
    }
    return false;
}

static double distance(Scene &s, const abut_pose *poses) {
    double best = 1e300;
    for (size_t i = 0; i < s.links.size(); i++)
        place(*s.links[i], poses[i]);
    for (auto &link : s.links) {
#ifdef PEER_COAL
        Distance call;
        call.data.result.min_distance = best;
        s.manager.distance(link.get(), &call);
        best = std::min(best, double(call.data.result.min_distance));
#else
        fcl::DefaultDistanceData<double> data;
        data.result.min_distance = best;
        s.manager.distance(link.get(), &data, fcl::DefaultDistanceFunction<double>);
        best = std::min(best, data.result.min_distance);
#endif
    }
    for (const auto &pair : s.pairs) {
        Body &a = *s.links[size_t(pair.first)], &b = *s.links[size_t(pair.second)];
        if (a.getAABB().distance(b.getAABB()) < best)
            best = std::min(best, apart(a, b));
    }
    return best;
}

int main(int count, char **words) {
    const size_t states = count > 1 ? size_t(std::atol(words[1])) : 2000;
    robot_scene scene;
    demand(robot_scene_create(&scene, false));
    Scene s;
    const size_t links = ROBOT_JOINTS + 1;
    for (uint32_t i = 0; i < links; i++) {
        abut_robot_geometry part;
        demand(abut_robot_get_geometry(scene.robot, i, &part));
        s.links.push_back(std::make_unique<Body>(model_of(part.collider.shape.body.bvh)));
        for (uint32_t k = 0; k < i; k++)
            if (!abut_robot_is_allowed(scene.robot, k, i))
                s.pairs.emplace_back(k, i);
    }
    for (const abut_collider &c : scene.colliders) {
        Geometry shape = c.kind == ABUT_COLLIDER_BOX
                             ? std::make_shared<Cuboid>(2 * c.shape.half.x, 2 * c.shape.half.y,
                                                        2 * c.shape.half.z)
                             : model_of(c.shape.body.bvh);
        s.obstacles.push_back(std::make_unique<Body>(shape));
        place(*s.obstacles.back(), c.pose);
        s.manager.registerObject(s.obstacles.back().get());
    }
    s.manager.setup();

    std::vector<double> q(states * ROBOT_JOINTS), free_states;
    std::vector<abut_pose> poses(states * links);
    std::vector<abut_robot_hit> hits(states);
    uint64_t random = 9;
    for (size_t i = 0; i < states; i++)
        robot_configuration(&scene, &random, &q[i * ROBOT_JOINTS]);
    double ours[2] = {0, 0}, theirs[2] = {0, 0};
    size_t differ = 0, colliding = 0;
    for (int round = 0; round < 2; round++) { /* the first one warms up */
        double start = seconds();
        demand(abut_robot_test(scene.robot, scene.obstacles, q.data(), states, hits.data(), NULL));
        ours[0] = seconds() - start;
        start = seconds();
        demand(abut_robot_compute_poses(scene.robot, q.data(), states, poses.data()));
        differ = colliding = 0;
        for (size_t i = 0; i < states; i++) {
            const bool hit = collides(s, &poses[i * links]);
            differ += hit != hits[i].collides;
            colliding += hit;
        }
        theirs[0] = seconds() - start;
    }
    std::printf("state: %zu states, %zu collide, %zu differ; abut %.2f us, " PEER " %.2f us\n",
                states, colliding, differ, 1e6 * ours[0] / double(states),
                1e6 * theirs[0] / double(states));

    const size_t some = std::min<size_t>(states, 200);
    std::vector<abut_robot_separation> near(some);
    double error = 0, start = seconds();
    demand(abut_robot_distance(scene.robot, scene.obstacles, q.data(), some, 0, near.data(), NULL));
    ours[1] = seconds() - start;
    start = seconds();
    for (size_t i = 0; i < some; i++)
        if (!hits[i].collides)
            error = std::max(error, std::abs(distance(s, &poses[i * links]) - near[i].distance));
        else
            distance(s, &poses[i * links]);
    theirs[1] = seconds() - start;
    std::printf("distance: %zu states, largest difference %.2g; abut %.1f us, " PEER " %.1f us\n",
                some, error, 1e6 * ours[1] / double(some), 1e6 * theirs[1] / double(some));

    /* free motions of up to 0.5 radians: ours proves, theirs samples every degree and every 0.1 */
    std::vector<double> from, to;
    for (size_t i = 0; i < states && from.size() < 100 * ROBOT_JOINTS; i++) {
        double end[ROBOT_JOINTS];
        abut_robot_motion motion;
        for (int k = 0; k < ROBOT_JOINTS; k++)
            end[k] = std::clamp(q[i * ROBOT_JOINTS + size_t(k)] + robot_random(&random, -0.5, 0.5),
                                scene.lower[k], scene.upper[k]);
        demand(abut_robot_sweep(scene.robot, scene.obstacles, &q[i * ROBOT_JOINTS], end, 1, NULL,
                                &motion, NULL));
        if (motion.touches)
            continue;
        from.insert(from.end(), &q[i * ROBOT_JOINTS], &q[i * ROBOT_JOINTS] + ROBOT_JOINTS);
        to.insert(to.end(), end, end + ROBOT_JOINTS);
    }
    const size_t motions = from.size() / ROBOT_JOINTS;
    std::vector<abut_robot_motion> found(motions);
    start = seconds();
    demand(abut_robot_sweep(scene.robot, scene.obstacles, from.data(), to.data(), motions, NULL,
                            found.data(), NULL));
    const double proof = seconds() - start;
    std::printf("motion: %zu free motions; abut %.1f us (proof)", motions,
                1e6 * proof / double(motions));
    for (double step : {0.01745, 0.001745}) {
        size_t samples = 0;
        start = seconds();
        for (size_t i = 0; i < motions; i++) {
            double largest = 0, at[ROBOT_JOINTS];
            abut_pose pose[ROBOT_JOINTS + 1];
            for (size_t k = i * ROBOT_JOINTS; k < (i + 1) * ROBOT_JOINTS; k++)
                largest = std::max(largest, std::abs(to[k] - from[k]));
            const int steps = int(largest / step) + 1;
            for (int t = 0; t <= steps; t++, samples++) {
                for (size_t k = 0; k < ROBOT_JOINTS; k++)
                    at[k] = from[i * ROBOT_JOINTS + k] +
                            (to[i * ROBOT_JOINTS + k] - from[i * ROBOT_JOINTS + k]) * t / steps;
                demand(abut_robot_compute_poses(scene.robot, at, 1, pose));
                differ += collides(s, pose);
            }
        }
        std::printf(", " PEER " %.1f us (%.0f samples)",
                    1e6 * (seconds() - start) / double(motions), double(samples) / double(motions));
    }
    std::printf("\n");
    robot_scene_destroy(&scene);
    return differ != 0;
}

// Two posed meshes: abut against FCL (BVHModel<OBBRSS<double>>), on the same poses in turn.
//
// Usage: peer-fcl [MODEL...]   (files that abut reads; default: generated models)
//
// Each model meets itself at 500 poses: both centred and of unit diagonal, the second turned at
// random and shifted in a random direction by a distance at which about half of the poses overlap.
// One thread, one query after the other, ours and theirs for each pose in turn; the least of three
// rounds for each pose counts. FCL's collide() stops at the first contact, as ours does, but does
// not see containment: such poses are counted apart. Its distance() gives points and no features.
#include <abut/abut.h>

#include <fcl/fcl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

namespace {

typedef fcl::BVHModel<fcl::OBBRSSd> fcl_model;

double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

uint64_t state = 1;
double uniform() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}
double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
}

void fail() {
    std::fprintf(stderr, "%s\n", abut_last_error());
    std::exit(1);
}

// The mesh about its middle, of unit diagonal.
abut_mesh *unit(abut_mesh *mesh) {
    abut_box box = abut_mesh_bounds(mesh);
    double x = box.hi.x - box.lo.x, y = box.hi.y - box.lo.y, z = box.hi.z - box.lo.z;
    double scale = 1 / std::sqrt(x * x + y * y + z * z);
    abut_pose pose = {{0, 0, 0, 0},
                      {-scale * (box.lo.x + x / 2), -scale * (box.lo.y + y / 2),
                       -scale * (box.lo.z + z / 2)}};
    abut_mesh *moved;
    if (abut_mesh_transform(mesh, scale, pose, &moved))
        fail();
    abut_mesh_destroy(mesh);
    return moved;
}

std::shared_ptr<fcl_model> fcl_build(const abut_mesh *mesh) {
    auto model = std::make_shared<fcl_model>();
    std::vector<fcl::Vector3d> vertices;
    std::vector<fcl::Triangle> triangles;
    abut_vec3 o = abut_mesh_origin(mesh);
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        abut_vec3 p = abut_mesh_positions(mesh)[i];
        vertices.emplace_back(o.x + p.x, o.y + p.y, o.z + p.z);
    }
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        const uint32_t *c = abut_mesh_indices(mesh) + 3 * (size_t)i;
        triangles.emplace_back(c[0], c[1], c[2]);
    }
    model->beginModel();
    model->addSubModel(vertices, triangles);
    model->endModel();
    return model;
}

struct poses {
    std::vector<abut_pose> ours;
    std::vector<fcl::Transform3d> theirs;
};

// Turns and directions first, so that only the distance differs from try to try.
poses make_poses(const abut_bvh *bvh, size_t count) {
    poses p;
    std::vector<abut_vec3> direction(count);
    p.ours.resize(count);
    for (size_t i = 0; i < count; i++) {
        p.ours[i].rotation = {normal(), normal(), normal(), normal()};
        abut_vec3 d = {normal(), normal(), normal()};
        double length = std::sqrt(d.x * d.x + d.y * d.y + d.z * d.z);
        direction[i] = {d.x / length, d.y / length, d.z / length};
    }
    double near = 0, far = 2;
    std::vector<abut_pair_relation> relations(count);
    for (int step = 0; step < 20; step++) {
        double away = (near + far) / 2;
        for (size_t i = 0; i < count; i++)
            p.ours[i].translation = {away * direction[i].x, away * direction[i].y,
                                     away * direction[i].z};
        abut_pair_poses batch = abut_pair_poses_default();
        batch.a = batch.b = bvh;
        batch.poses_b = p.ours.data();
        batch.count = count;
        if (abut_pair_overlap_batch(&batch, nullptr, relations.data()))
            fail();
        size_t touching = 0;
        for (abut_pair_relation r : relations)
            touching += r != ABUT_PAIR_APART;
        if (touching == count / 2)
            break;
        (touching > count / 2 ? near : far) = away;
    }
    for (const abut_pose &pose : p.ours) {
        const abut_quat &q = pose.rotation;
        fcl::Transform3d t = fcl::Transform3d::Identity();
        t.linear() = fcl::Quaterniond(q.w, q.x, q.y, q.z).normalized().toRotationMatrix();
        t.translation() = fcl::Vector3d(pose.translation.x, pose.translation.y, pose.translation.z);
        p.theirs.push_back(t);
    }
    return p;
}

struct times {
    std::vector<double> each;
    explicit times(size_t count) : each(count, 1e9) {}
    void add(size_t i, double time) {
        each[i] = std::min(each[i], time);
    }
    double mean() const {
        double sum = 0;
        for (double t : each)
            sum += t;
        return 1e6 * sum / (double)each.size();
    }
    double part(double p) const {
        std::vector<double> sorted = each;
        std::sort(sorted.begin(), sorted.end());
        return 1e6 * sorted[(size_t)(p * (double)(sorted.size() - 1))];
    }
};

// Runs both for all poses in turn and prints what it took, in microseconds.
void race(const char *name, const char *what, size_t count, const std::function<void(size_t)> &ours,
          const std::function<void(size_t)> &theirs) {
    times abut(count), fcl(count);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < count; i++) {
            double start = seconds();
            ours(i);
            double middle = seconds();
            theirs(i);
            abut.add(i, middle - start);
            fcl.add(i, seconds() - middle);
        }
    std::printf("%-20s %-9s mean abut %8.2f fcl %8.2f ratio %.3f   p50 %8.2f %8.2f %.3f   "
                "p95 %8.2f %8.2f %.3f us\n",
                name, what, abut.mean(), fcl.mean(), abut.mean() / fcl.mean(), abut.part(0.5),
                fcl.part(0.5), abut.part(0.5) / fcl.part(0.5), abut.part(0.95), fcl.part(0.95),
                abut.part(0.95) / fcl.part(0.95));
}

void compare(const char *name, abut_mesh *from) {
    const size_t count = 500;
    abut_mesh *mesh = unit(from);
    abut_bvh *bvh;
    double start = seconds();
    if (abut_bvh_create(mesh, nullptr, &bvh))
        fail();
    double middle = seconds();
    std::shared_ptr<fcl_model> model = fcl_build(mesh);
    std::printf("%-20s %u triangles; build abut %.2f ms, fcl %.2f ms\n", name,
                abut_mesh_triangle_count(mesh), 1e3 * (middle - start), 1e3 * (seconds() - middle));
    poses p = make_poses(bvh, count);
    abut_posed a = {bvh, {{0, 0, 0, 0}, {0, 0, 0}}};
    fcl::Transform3d still = fcl::Transform3d::Identity();

    std::vector<abut_pair_relation> relations(count);
    std::vector<char> collides(count);
    race(
        name, "overlap", count,
        [&](size_t i) {
            abut_posed b = {bvh, p.ours[i]};
            if (abut_pair_overlap(&a, &b, nullptr, nullptr, &relations[i]))
                fail();
        },
        [&](size_t i) {
            fcl::CollisionRequestd request(1, false);
            fcl::CollisionResultd result;
            collides[i] =
                fcl::collide(model.get(), still, model.get(), p.theirs[i], request, result) > 0;
        });
    std::vector<abut_separation> separations(count);
    std::vector<double> distances(count);
    race(
        name, "distance", count,
        [&](size_t i) {
            abut_posed b = {bvh, p.ours[i]};
            if (abut_pair_distance(&a, &b, nullptr, nullptr, &separations[i]))
                fail();
        },
        [&](size_t i) {
            fcl::DistanceRequestd request(true);
            fcl::DistanceResultd result;
            fcl::distance(model.get(), still, model.get(), p.theirs[i], request, result);
            distances[i] = result.min_distance;
        });
    size_t touching = 0, contained = 0, differ = 0;
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        bool inside = relations[i] == ABUT_PAIR_A_INSIDE || relations[i] == ABUT_PAIR_B_INSIDE;
        touching += relations[i] != ABUT_PAIR_APART;
        contained += inside;
        differ += !inside && (relations[i] != ABUT_PAIR_APART) != (collides[i] != 0);
        differ += separations[i].relation != relations[i];
        if (relations[i] == ABUT_PAIR_APART)
            worst = std::max(worst, std::fabs(separations[i].distance - distances[i]));
    }
    std::printf("%-20s %zu of %zu poses overlap, %zu of them by containment (not for FCL); other "
                "answers differ %zu times, distances by %.1e at most\n",
                name, touching, count, contained, differ, worst);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

} // namespace

int main(int count, char **words) {
    for (int i = 1; i < count; i++) {
        abut_mesh *mesh;
        if (abut_mesh_read(nullptr, words[i], nullptr, &mesh))
            fail();
        const char *slash = words[i];
        for (const char *at = words[i]; *at; at++)
            slash = *at == '/' ? at + 1 : slash;
        compare(slash, mesh);
    }
    if (count > 1)
        return 0;
    const struct {
        const char *name;
        abut_shape_kind kind;
        uint32_t segments;
    } models[] = {{"icosphere", ABUT_SHAPE_ICOSPHERE, 59},
                  {"teapot-solid", ABUT_SHAPE_TEAPOT_SOLID, 33}};
    for (auto &which : models) {
        abut_shape shape = abut_shape_default(which.kind);
        shape.segments = which.segments;
        abut_mesh *mesh;
        if (abut_shape_create(nullptr, &shape, &mesh))
            fail();
        compare(which.name, mesh);
    }
    return 0;
}

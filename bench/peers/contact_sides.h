// Contacts of a pair by abut, ODE's trimesh and Bullet's GImpact, and measures of their quality.
#ifndef ABUT_PEER_CONTACT_SIDES_H
#define ABUT_PEER_CONTACT_SIDES_H

#include "bullet.h"

#include <memory>
#include <ode/ode.h>

namespace peer {

enum { ODE_CONTACTS = 4096, FRAMES = 3 };
enum way { ABUT, ABUT_MARGIN, ODE, BULLET, WAYS };
const char *const way_name[] = {"abut", "abut, margin 0.5%", "ODE", "Bullet"};
constexpr double MARGIN = 0.005;

// ---- results ----

// The contacts of a pair: a shift of the first body by `deepest` along `normal` should separate.
struct answer {
    size_t count = 0;
    double deepest = -1;
    abut_vec3 normal = {0, 0, 0};

    void add(double depth, double x, double y, double z) {
        count++;
        if (depth > deepest) {
            deepest = depth;
            normal = {x, y, z};
        }
    }
};

inline abut_vec3 along(abut_vec3 p, double s, abut_vec3 d) {
    return {p.x + s * d.x, p.y + s * d.y, p.z + s * d.z};
}

inline abut_pose shifted(abut_pose pose, double s, abut_vec3 d) {
    pose.translation = along(pose.translation, s, d);
    return pose;
}

// A model for all libraries.
class body {
  public:
    side ours;
    double size;
    std::vector<vec> vertices;
    std::vector<int> indices;
    dTriMeshDataID ode;
    btTriangleIndexVertexArray array;
    std::unique_ptr<btGImpactMeshShape> bullet;

    explicit body(const model &m)
        : ours(m, 1), vertices(m.vertices), indices(m.indices.begin(), m.indices.end()),
          ode(dGeomTriMeshDataCreate()),
          array((int)m.triangle_count(), indices.data(), 12, (int)vertices.size(),
                &vertices.data()->x, sizeof(vec)),
          bullet(std::make_unique<btGImpactMeshShape>(&array)) {
        vec d = m.hi - m.lo;
        size = std::max(d.x, std::max(d.y, d.z));
        dGeomTriMeshDataBuildSingle(ode, vertices.data(), sizeof(vec), (int)vertices.size(),
                                    indices.data(), (int)indices.size(), 3 * sizeof(dTriIndex));
        bullet->setMargin(0);
        bullet->updateBound();
    }
    ~body() {
        dGeomTriMeshDataDestroy(ode);
    }
    body(const body &) = delete;
    body &operator=(const body &) = delete;
};

inline bool overlaps(const body &a, const abut_pose &at, const body &b, const abut_pose &to) {
    abut_collider first = abut_collider_from_bvh(a.ours.bvh, at),
                  second = abut_collider_from_bvh(b.ours.bvh, to);
    abut_overlap found;
    check(abut_pair_overlap(&first, &second, nullptr, nullptr, &found));
    return found.relation != ABUT_PAIR_APART;
}

// The smallest shift of a along a direction that separates, by doubling and bisection; at most
// `most`.
inline double find_shift(const body &a, const abut_pose &at, const body &b, const abut_pose &to,
                         abut_vec3 direction, double most) {
    double low = 0, high = std::min(most, 1e-5 * a.size);
    while (high < most && overlaps(a, shifted(at, high, direction), b, to)) {
        low = high;
        high = std::min(most, 2 * high);
    }
    if (high >= most && overlaps(a, shifted(at, most, direction), b, to))
        return most;
    for (int i = 0; i < 12; i++) {
        double middle = 0.5 * (low + high);
        (overlaps(a, shifted(at, middle, direction), b, to) ? low : high) = middle;
    }
    return high;
}

// The quality of the contacts of one library over many pairs.
struct quality {
    size_t asked = 0, missed = 0, contacts = 0; // of all pairs
    size_t judged = 0, separated = 0;           // of those that are shifted
    std::vector<double> ratios;

    void count(const answer &found) {
        asked++;
        contacts += found.count;
        missed += !found.count;
    }
    void judge(const answer &found, const body &a, const abut_pose &at, const body &b,
               const abut_pose &to, double referee) {
        judged++;
        if (!found.count)
            return;
        double slack = 1e-4 * found.deepest + 1e-7 * a.size;
        separated += !overlaps(a, shifted(at, found.deepest + slack, found.normal), b, to);
        ratios.push_back(found.deepest / referee);
    }
    double percentile(double p) const {
        std::vector<double> list = ratios;
        std::sort(list.begin(), list.end());
        return list.empty() ? 0 : list[(size_t)(p * (double)(list.size() - 1))];
    }
};

inline double find_referee(const body &a, const abut_pose &at, const body &b, const abut_pose &to,
                           double known, const answer *answers) {
    double least = known;
    for (int i = 0; i < 27; i++) {
        abut_vec3 d = {(double)(i % 3 - 1), (double)(i / 3 % 3 - 1), (double)(i / 9 - 1)};
        double length = std::sqrt(d.x * d.x + d.y * d.y + d.z * d.z);
        if (length > 0)
            least = find_shift(a, at, b, to, along({0, 0, 0}, 1 / length, d), least);
    }
    for (int w = 0; w < WAYS; w++)
        if (answers[w].count)
            least = find_shift(a, at, b, to, answers[w].normal, least);
    return least;
}

// ---- contacts of a pair ----

inline answer ask_abut(const body &a, const abut_pose &at, const body &b, const abut_pose &to,
                       double margin) {
    static std::vector<abut_patch> list(4096);
    static std::vector<abut_contact> contacts(16384);
    abut_collider first = abut_collider_from_bvh(a.ours.bvh, at),
                  second = abut_collider_from_bvh(b.ours.bvh, to);
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = abut_patches_default();
    options.margin = margin;
    found.patches = {list.data(), list.size(), 0};
    found.contacts = {contacts.data(), contacts.size(), 0};
    check(abut_contact_find(&first, &second, &options, &found));
    answer said;
    for (uint64_t i = 0; i < found.contacts.count; i++) {
        const abut_contact &c = contacts[i];
        said.add(c.depth, c.normal.x, c.normal.y, c.normal.z);
    }
    return said;
}

class ode_geometry {
  public:
    dGeomID id;

    ode_geometry(dSpaceID space, const body &of)
        : id(dCreateTriMesh(space, of.ode, nullptr, nullptr, nullptr)) {}
    void place(const abut_pose &pose) {
        const dQuaternion q = {pose.rotation.w, pose.rotation.x, pose.rotation.y, pose.rotation.z};
        dGeomSetPosition(id, pose.translation.x, pose.translation.y, pose.translation.z);
        dGeomSetQuaternion(id, q);
    }
};

inline answer ask_ode(dGeomID a, dGeomID b) {
    static std::vector<dContactGeom> contacts(ODE_CONTACTS);
    int count = dCollide(a, b, ODE_CONTACTS, contacts.data(), sizeof(dContactGeom));
    answer said;
    for (int i = 0; i < count; i++) {
        const dReal *n = contacts[(size_t)i].normal;
        said.add(contacts[(size_t)i].depth, n[0], n[1], n[2]);
    }
    return said;
}

struct bullet_contacts : btManifoldResult {
    answer said;

    using btManifoldResult::btManifoldResult;
    void addContactPoint(const btVector3 &normal, const btVector3 &, btScalar depth) override {
        bool is_swapped =
            m_manifoldPtr && m_manifoldPtr->getBody0() != m_body0Wrap->getCollisionObject();
        double sign = is_swapped ? -1 : 1;
        if (depth <= 0)
            said.add(-depth, sign * normal.x(), sign * normal.y(), sign * normal.z());
    }
};

inline answer ask_bullet(bullet_world &all, btCollisionObject &a, btCollisionObject &b) {
    return all.collide<bullet_contacts>(a, b).said;
}

} // namespace peer

#endif

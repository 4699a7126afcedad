// Triangle meshes: abut against ODE's trimesh (OPCODE).
//
// Usage: peer-ode [--out FILE] [--quick] [MODEL...]   (see peer.h)
//
// Debian's ODE computes in doubles on float vertices; OPCODE itself in floats. One thread. ODE's
// refit reads the new positions from the same array and needs no copy. Its contacts are points with
// normal and depth for pairs of triangles; ours are pairs with their segments. It returns at most
// 65,535. `overlap` requests exactly one contact (CONTACTS_UNIMPORTANT), which is the nearest
// equivalent; a body inside another has no contact. It does not allow one mesh against itself, so
// each body has its own data.
#include "peer.h"

#include <ode/ode.h>
#include <ode/version.h>

namespace {

using peer::model;
using peer::vec;

class body {
  public:
    std::vector<vec> vertices;
    dTriMeshDataID data = nullptr;

    explicit body(const model &m) : vertices(m.vertices), indices(m.indices) {
        build();
    }
    ~body() {
        dGeomTriMeshDataDestroy(data);
    }
    body(const body &) = delete;
    body &operator=(const body &) = delete;

    void build() {
        if (data)
            dGeomTriMeshDataDestroy(data);
        data = dGeomTriMeshDataCreate();
        dGeomTriMeshDataBuildSingle(data, vertices.data(), sizeof(vec), (int)vertices.size(),
                                    indices.data(), (int)indices.size(), 3 * sizeof(dTriIndex));
    }
    void refit(const std::vector<vec> &moved) {
        std::copy(moved.begin(), moved.end(), vertices.begin());
        dGeomTriMeshDataUpdate(data);
    }

  private:
    std::vector<dTriIndex> indices;
};

// A body in the world, at a pose.
class geometry {
  public:
    dGeomID id;

    explicit geometry(const body &from)
        : id(dCreateTriMesh(nullptr, from.data, nullptr, nullptr, nullptr)) {}
    ~geometry() {
        dGeomDestroy(id);
    }
    geometry(const geometry &) = delete;
    geometry &operator=(const geometry &) = delete;

    void place(const abut_pose &pose) {
        const dQuaternion q = {pose.rotation.w, pose.rotation.x, pose.rotation.y, pose.rotation.z};
        dGeomSetPosition(id, pose.translation.x, pose.translation.y, pose.translation.z);
        dGeomSetQuaternion(id, q);
    }
};

void compare_pairs(peer::report &report, const model &m, const model &other, bool small) {
    body first(m), second(other);
    geometry a(first), b(second);
    peer::pair_queries queries(m, other, report.amount(200));
    std::vector<dContactGeom> contacts(65535);
    auto collide = [&](const abut_pose &pose, int flags) {
        b.place(pose);
        return dCollide(a.id, b.id, flags, contacts.data(), sizeof(dContactGeom));
    };
    peer::compare_overlap(report, small ? "overlap-small" : "overlap", m.name, queries, "",
                          [&](const abut_pose &pose) {
                              return collide(pose, 1 | CONTACTS_UNIMPORTANT) > 0;
                          });
    if (!small)
        peer::compare_contacts(report, m.name, queries, "",
                               [&](const abut_pose &pose) { return (size_t)collide(pose, 65535); });
}

void compare(peer::report &report, const model &m) {
    peer::side ours(m, 1);
    body theirs(m);
    peer::times build = peer::race(
        report.rounds(), [&] { ours.build(); }, [&] { theirs.build(); });
    report.add({"build", m.name, 1, build, (double)m.triangle_count(), "triangle"});
    peer::compare_refit(report, m, ours,
                        [&](const std::vector<vec> &moved) { theirs.refit(moved); });
    compare_pairs(report, m, m, false);
    compare_pairs(report, m, peer::scaled(m, 0.25f), true);
}

// ODE warns of full contact tables, which are only slower.
void keep_quiet(int, const char *, va_list) {}

} // namespace

int main(int count, char **words) {
    dInitODE2(0);
    dSetMessageHandler(keep_quiet);
    peer::report report("ode", "ODE " dODE_VERSION, count, words);
    for (const model &m : report.models)
        compare(report, m);
    int code = report.finish();
    dCloseODE();
    return code;
}

// Bodies of triangles: abut against ODE's trimesh (OPCODE).
//
// Usage: peer-ode [--out FILE] [--quick] [MODEL...]   (see peer.h)
//
// Debian's ODE computes in doubles on float vertices; OPCODE itself in floats. One thread. ODE's
// refit takes the new places through the same array and needs no copy.
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

void compare(peer::report &report, const model &m) {
    peer::side ours(m, 1);
    body theirs(m);
    peer::times build = peer::race(
        report.rounds(), [&] { ours.build(); }, [&] { theirs.build(); });
    report.add({"build", m.name, 1, build, (double)m.triangle_count(), "triangle"});
    peer::compare_refit(report, m, ours,
                        [&](const std::vector<vec> &moved) { theirs.refit(moved); });
}

} // namespace

int main(int count, char **words) {
    dInitODE2(0);
    peer::report report("ode", "ODE " dODE_VERSION, count, words);
    for (const model &m : report.models)
        compare(report, m);
    int code = report.finish();
    dCloseODE();
    return code;
}

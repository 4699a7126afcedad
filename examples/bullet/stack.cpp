// Cubes on each other, all meshes, the floor too, in the Bullet physics engine with abut's
// contacts.
//
// Usage: abut-bullet-stack [CUBES [SECONDS]]   (default: 10 cubes, 10 seconds)
// Tells the largest tilt, how far cubes went aside and sank, and the kinetic energy at the end. The
// exit code is 1 if a cube is not where it belongs.
#include "abut_bullet.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

constexpr btScalar STEP = 0.005f, MARGIN = 0.005f;

[[noreturn]] void fail() {
    std::fprintf(stderr, "%s\n", abut_last_error());
    std::exit(2);
}

// A box as a mesh, and its shape for Bullet.
struct box {
    abut_bvh *bvh = nullptr;
    std::unique_ptr<abut_bullet::mesh_shape> shape;

    explicit box(abut_vec3 size) {
        abut_shape wanted = abut_shape_default(ABUT_SHAPE_BOX);
        abut_mesh *mesh = nullptr;
        wanted.extent = size;
        wanted.segments = 1;
        abut_status status = abut_shape_create(nullptr, &wanted, &mesh);
        status = status ? status : abut_bvh_create(mesh, nullptr, &bvh);
        abut_mesh_destroy(mesh);
        if (status)
            fail();
        shape = std::make_unique<abut_bullet::mesh_shape>(bvh, MARGIN);
    }
    ~box() {
        shape.reset();
        abut_bvh_destroy(bvh);
    }
};

class scene {
  public:
    explicit scene(int cubes)
        : dispatcher(&configuration), world(&dispatcher, &broad, &solver, &configuration),
          floor({40, 40, 1}), cube({1, 1, 1}) {
        abut_bullet::register_meshes(dispatcher);
        world.setGravity(btVector3(0, 0, -9.81f));
        world.getSolverInfo().m_numIterations = 50;
        add(floor, 0, btVector3(0, 0, -0.5f));
        for (int i = 0; i < cubes; i++)
            add(cube, 1,
                btVector3(0.003f * (btScalar)(i % 3), -0.002f * (btScalar)(i % 2),
                          0.5f + 1.001f * (btScalar)i));
    }
    ~scene() {
        for (auto &body : bodies)
            world.removeRigidBody(body.get());
    }
    void run(double seconds) {
        for (int i = 0; i < (int)(seconds / STEP); i++)
            world.stepSimulation(STEP, 0);
    }
    // Whether all are in their places.
    bool tell() const {
        double tilt = 0, aside = 0, sunk = 0, energy = 0;
        for (size_t i = 1; i < bodies.size(); i++) {
            const btRigidBody &body = *bodies[i];
            const btTransform &pose = body.getWorldTransform();
            btVector3 at = pose.getOrigin(), start = starts[i];
            double up = std::min(1.0, (double)pose.getBasis()[2][2]);
            tilt = std::max(tilt, std::acos(up) * 57.29577951308232);
            aside = std::max(aside, (double)std::hypot(at.x() - start.x(), at.y() - start.y()));
            sunk = std::max(sunk, std::fabs(at.z() - ((double)i - 0.5)));
            btVector3 spin = pose.getBasis().transpose() * body.getAngularVelocity();
            energy += 0.5 * (body.getLinearVelocity().length2() +
                             (spin * spin).dot(body.getLocalInertia()));
        }
        std::printf("%zu cubes: tilt %.4f degrees, aside %.2g, out of height %.2g, kinetic energy "
                    "%.2g J\n",
                    bodies.size() - 1, tilt, aside, sunk, energy);
        return tilt < 0.5 && aside < 0.02 && sunk < 0.02;
    }

  private:
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher;
    btDbvtBroadphase broad;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld world;
    box floor, cube;
    std::vector<std::unique_ptr<btRigidBody>> bodies;
    std::vector<btVector3> starts;

    void add(const box &of, btScalar mass, btVector3 at) {
        btVector3 inertia(0, 0, 0);
        if (mass > 0 && !of.shape->inertia(mass, inertia))
            fail();
        btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, of.shape.get(), inertia);
        info.m_startWorldTransform.setOrigin(at);
        info.m_friction = 0.8f;
        bodies.push_back(std::make_unique<btRigidBody>(info));
        starts.push_back(at);
        world.addRigidBody(bodies.back().get());
    }
};

} // namespace

int main(int count, char **words) {
    int cubes = count > 1 ? std::atoi(words[1]) : 10;
    double seconds = count > 2 ? std::atof(words[2]) : 10;
    if (cubes < 1 || cubes > 100 || !(seconds > 0 && seconds <= 1000)) {
        std::fprintf(stderr, "usage: abut-bullet-stack [CUBES [SECONDS]]\n");
        return 2;
    }
    scene stack(cubes);
    stack.run(seconds);
    return stack.tell() ? 0 : 1;
}

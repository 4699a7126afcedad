// Tight fits in the Bullet physics engine, by exact contacts of abut or by its own collision of
// moving triangle meshes (GImpact).
//
// Usage: abut-bullet-fits [--own | --compare] [--seconds S] [--png FILE] [SCENE]...: see fits.h
#include "abut_bullet.h"
#include "fits.h"

#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <cmath>
#include <memory>
#include <vector>

namespace {

// GImpact keeps surfaces apart by twice the margin, so bodies fit only if it is below half of the
// clearance.
constexpr btScalar OWN_MARGIN = btScalar(0.25 * FIT_CLEARANCE);

// A mesh of a scene as a shape of either kind.
class shape {
  public:
    shape(abut_mesh *mesh, const abut_bvh *hierarchy, bool is_own)
        : exact(hierarchy, btScalar(FIT_MARGIN)) {
        if (!is_own)
            return;
        const abut_vec3 origin = abut_mesh_local_origin(mesh);
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
            const abut_vec3 p = abut_mesh_local_positions(mesh)[i];
            positions.emplace_back(btScalar(origin.x + p.x), btScalar(origin.y + p.y),
                                   btScalar(origin.z + p.z));
        }
        const uint32_t *from = abut_mesh_indices(mesh);
        const int triangles = int(abut_mesh_triangle_count(mesh));
        indices.assign(from, from + 3 * triangles);
        array =
            std::make_unique<btTriangleIndexVertexArray>(triangles, indices.data(),
                                                         int(3 * sizeof(int)),
                                                         int(positions.size()), &positions[0][0],
                                                         int(sizeof(btVector3)));
        own = std::make_unique<btGImpactMeshShape>(array.get());
        own->setMargin(OWN_MARGIN);
        own->updateBound();
    }
    btCollisionShape *get() {
        return own ? static_cast<btCollisionShape *>(own.get()) : &exact;
    }
    // The mass is the volume. Returns false if there is none.
    bool inertia(btScalar &mass, btVector3 &diagonal) const {
        abut_topology *topology = nullptr;
        abut_mesh_report report = abut_mesh_report_default();
        abut_status status = abut_topology_create(abut_bvh_mesh(exact.bvh), &topology);
        if (!status)
            status = abut_mesh_examine(topology, &report);
        abut_topology_destroy(topology);
        mass = status ? 0 : btScalar(report.volume);
        return !status && exact.inertia(mass, diagonal);
    }

  private:
    abut_bullet::mesh_shape exact;
    std::vector<btVector3> positions;
    std::vector<int> indices;
    std::unique_ptr<btTriangleIndexVertexArray> array;
    std::unique_ptr<btGImpactMeshShape> own;
};

class engine {
  public:
    engine(fit_scene *of, bool is_own)
        : scene(of), is_own_collision(is_own), dispatcher(&configuration, btScalar(FIT_MARGIN)),
          world(&dispatcher, &broad, &solver, &configuration) {
        if (is_own)
            btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher);
        world.setGravity(btVector3(0, 0, btScalar(-9.81)));
        world.getSolverInfo().m_numIterations = 50;
        for (uint32_t i = 0; i < scene->mesh_count; i++)
            shapes.push_back(
                std::make_unique<shape>(scene->meshes[i], scene->hierarchies[i], is_own));
    }
    ~engine() {
        for (auto &body : bodies) {
            dispatcher.remove(body.get());
            world.removeRigidBody(body.get());
        }
    }
    abut_status run() {
        for (uint32_t i = 0; i < scene->body_count; i++)
            if (!add(scene->bodies[i]))
                return ABUT_ERROR_ARGUMENT;
        const int steps = int(scene->seconds / FIT_STEP);
        abut_status status = ABUT_OK;
        for (int i = 1; i <= steps && !status; i++) {
            world.stepSimulation(btScalar(FIT_STEP), 0);
            if (i % 20 == 0 || i == steps)
                status = observe();
        }
        return status;
    }

  private:
    fit_scene *scene;
    bool is_own_collision;
    btDefaultCollisionConfiguration configuration;
    abut_bullet::mesh_dispatcher dispatcher;
    btDbvtBroadphase broad;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld world;
    std::vector<std::unique_ptr<shape>> shapes;
    std::vector<std::unique_ptr<btRigidBody>> bodies;

    bool add(const fit_body &of) {
        btVector3 inertia(0, 0, 0);
        btScalar mass = 0;
        if (!of.is_fixed && !shapes[of.mesh]->inertia(mass, inertia))
            return false;
        const abut_quat q = of.start.rotation;
        const abut_vec3 p = of.start.translation;
        btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, shapes[of.mesh]->get(),
                                                      inertia);
        info.m_startWorldTransform =
            btTransform(btQuaternion(btScalar(q.x), btScalar(q.y), btScalar(q.z), btScalar(q.w)),
                        btVector3(btScalar(p.x), btScalar(p.y), btScalar(p.z)));
        info.m_friction =
            btScalar(std::sqrt(FIT_FRICTION)); // Bullet multiplies those of two bodies
        bodies.push_back(std::make_unique<btRigidBody>(info));
        bodies.back()->setLinearVelocity(
            btVector3(btScalar(of.velocity.x), btScalar(of.velocity.y), btScalar(of.velocity.z)));
        bodies.back()->setAngularVelocity(
            btVector3(btScalar(of.spin.x), btScalar(of.spin.y), btScalar(of.spin.z)));
        world.addRigidBody(bodies.back().get());
        return is_own_collision || dispatcher.add(bodies.back().get());
    }
    abut_status observe() {
        std::vector<abut_pose> poses;
        double energy = 0;
        for (const auto &body : bodies) {
            const btTransform &at = body->getWorldTransform();
            const btQuaternion q = at.getRotation();
            const btVector3 p = at.getOrigin();
            poses.push_back({{q.x(), q.y(), q.z(), q.w()}, {p.x(), p.y(), p.z()}});
            if (body->getInvMass() <= 0)
                continue;
            const btVector3 spin = at.getBasis().transpose() * body->getAngularVelocity();
            energy += 0.5 * (body->getLinearVelocity().length2() / body->getInvMass() +
                             (spin * spin).dot(body->getLocalInertia()));
        }
        return fit_observe(scene, poses.data(), energy);
    }
};

abut_status run_in_bullet(fit_scene *scene, bool is_own) {
    return engine(scene, is_own).run();
}

} // namespace

int main(int argc, char **argv) {
    return fits_main(argc, argv, "Bullet", run_in_bullet);
}

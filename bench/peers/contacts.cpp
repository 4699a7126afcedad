// Contacts for a physics engine: exact patches of abut beside ODE's trimesh and Bullet's GImpact,
// in one run, on one thread.
//
// Usage: peer-contacts [--quick] [--poses FOLDER] [--markdown FILE] [--out FILE] [MODEL...]
//
// Pairs: cubes that stand on each other, balls of 1,280 triangles 5% deep, and each model with
// itself 2% and 20% deep and with a torus 2% deep, where depths are of the longest side. Without
// models a generated one is taken. A pose is made by moving one body from outside until it touches,
// then on by the depth, so that a shift of this length separates.
//
// Piles: 100, 300 and 1,000 bodies of some 500 triangles in a pen, all bodies moved at each step.
// FOLDER/pile-N.csv has the poses; if it is missing, the pile is settled in ODE by contacts of abut
// and the file is written. Broad phase included.
//
// Quality is judged by exact overlap tests of abut. "missed": overlapping pairs without a contact.
// "separated": pairs that a shift by the deepest contact, along its normal, separates (with 0.01%
// of slack; patches of abut that face several ways are only promised to separate together).
// "depth": the deepest contact (of some 300 pairs of a pile) over a shift that separates, the
// shortest found along 26 directions, the direction of the pose and the normals: above 1 is too
// deep, far below 1 leaves bodies in each other. Peers report points of intersecting triangles with
// their depths: no areas, no ids, no gaps within a margin, no contact of a body inside another;
// these cost abut time that they do not spend. Their vertices are the same floats; ODE computes in
// doubles, Bullet in floats.
#include "contact_sides.h"

#include <fstream>
#include <map>
#include <sstream>
#include <thread>

namespace {

using namespace peer;

// ---- results ----

const char *const PAGE =
    "# Contacts beside ODE and Bullet\n\n"
    "Exact patches of abut, ODE's trimesh and Bullet's GImpact in one run, on one thread, by "
    "turns: "
    "the best of three (pairs)\nor six (piles) in processor time. "
    "`bench/peers/contacts.cpp` says what is measured. This file is made by\n\n"
    "```sh\n"
    "bench/peers/setup\n"
    "build/release/peers/peer-contacts --markdown bench/results/contacts.md "
    "spot.obj horse.ply stanford-bunny.obj\n"
    "```\n\n"
    "| column | |\n|---|---|\n"
    "| time | of a pair, or of a step of a pile with its broad phase; all bodies move |\n"
    "| missed | overlapping pairs without a contact |\n"
    "| separated | pairs that a shift by the deepest contact, along its normal, separates. abut "
    "promises this of all patches of a pair together; ODE and Bullet promise nothing |\n"
    "| depth | of the deepest contact, over the shortest shift found that separates. Above 1 "
    "throws "
    "bodies apart, below 1 leaves them in each other |\n\n"
    "ODE and Bullet report points of intersecting triangles and a depth for each. They compute no "
    "regions, areas, volumes or ids,\nno gaps within a margin, no check that a shift separates, "
    "and "
    "no contact of a body inside another. abut does, which is part\nof its time. ODE computes in "
    "doubles on vertices in floats, Bullet in floats; all have the same vertices.\n\n";

std::string find_processor() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("model name", 0) == 0)
            return "an " + line.substr(line.find(':') + 2);
    return "an unknown processor";
}

class results {
  public:
    bool quick = false;

    void add(const std::string &name, const double *times, const quality *q, const char *unit) {
        std::printf("%s\n", name.c_str());
        for (int w = 0; w < WAYS; w++) {
            char line[512];
            double n = (double)q[w].asked;
            const bool is_long = times[w] > 1000 && !std::strcmp(unit, "us");
            std::snprintf(line, sizeof line,
                          "| %s | %s | %.3g %s | %.1f | %zu of %zu | %.1f%% | %.3g, %.3g, %.3g |",
                          w ? "" : name.c_str(), way_name[w], is_long ? 1e-3 * times[w] : times[w],
                          is_long ? "ms" : unit, (double)q[w].contacts / n, q[w].missed, q[w].asked,
                          100 * (double)q[w].separated / (double)q[w].judged, q[w].percentile(0.5),
                          q[w].percentile(0.99), q[w].percentile(1));
            rows.push_back(line);
            std::printf("  %s\n", line);
            std::snprintf(line, sizeof line,
                          "{\"case\": \"%s\", \"way\": \"%s\", \"time\": %.6g, \"unit\": \"%s\", "
                          "\"pairs\": %zu, \"contacts\": %zu, \"missed\": %zu, \"judged\": %zu, "
                          "\"separated\": %zu, "
                          "\"depth_p50\": %.6g, \"depth_p99\": %.6g, \"depth_max\": %.6g}",
                          name.c_str(), way_name[w], times[w], unit, q[w].asked, q[w].contacts,
                          q[w].missed, q[w].judged, q[w].separated, q[w].percentile(0.5),
                          q[w].percentile(0.99), q[w].percentile(1));
            objects.push_back(line);
        }
        std::fflush(stdout);
    }
    void write(const std::string &markdown, const std::string &json) const {
        if (!markdown.empty()) {
            std::ofstream out(markdown);
            out << PAGE << "Measured on " << std::thread::hardware_concurrency() << " cores of "
                << find_processor() << ".\n\n"
                << "| case | by | time | contacts a pair | missed | separated | depth: p50, p99, "
                   "max "
                   "|\n|---|---|---|---|---|---|---|\n";
            for (const std::string &row : rows)
                out << row << "\n";
            if (!out.flush())
                peer::fail(("cannot write " + markdown).c_str());
        }
        if (!json.empty()) {
            std::ofstream out(json);
            out << "{\"format\": \"abut-contacts 1\", \"quick\": " << (quick ? "true" : "false")
                << ", \"cases\": [";
            for (size_t i = 0; i < objects.size(); i++)
                out << (i ? ",\n" : "\n") << objects[i];
            out << "\n]}\n";
            if (!out.flush())
                peer::fail(("cannot write " + json).c_str());
        }
    }

  private:
    std::vector<std::string> rows, objects;
};

// ---- pairs ----

struct pair_pose {
    abut_pose a, b;
    double shift; // that separates
};

// Computes the contacts of poses by all libraries, alternately; times are means over poses of the
// best of three rounds.
void compare_pair(results &out, const std::string &name, const body &a, const body &b,
                  const std::vector<pair_pose> &poses) {
    bullet_world bullet;
    ode_geometry ode_a(nullptr, a), ode_b(nullptr, b);
    btCollisionObject bullet_a, bullet_b;
    bullet_a.setCollisionShape(a.bullet.get());
    bullet_b.setCollisionShape(b.bullet.get());
    double sums[WAYS] = {};
    quality judged[WAYS];
    for (const pair_pose &p : poses) {
        answer said[WAYS];
        double best[WAYS];
        ode_a.place(p.a);
        ode_b.place(p.b);
        bullet_a.setWorldTransform(to_transform(p.a));
        bullet_b.setWorldTransform(to_transform(p.b));
        std::fill(best, best + WAYS, 1e9);
        for (int round = 0; round < (out.quick ? 1 : 3); round++)
            for (int w = 0; w < WAYS; w++)
                best[w] = std::min(best[w], peer::time_of(
                                                [&] {
                                                    said[w] =
                                                        w == ODE ? ask_ode(ode_a.id, ode_b.id)
                                                        : w == BULLET
                                                            ? ask_bullet(bullet, bullet_a, bullet_b)
                                                            : ask_abut(a, p.a, b, p.b,
                                                                       w * MARGIN * a.size);
                                                },
                                                1));
        double referee = find_referee(a, p.a, b, p.b, p.shift, said);
        for (int w = 0; w < WAYS; w++) {
            sums[w] += 1e6 * best[w] / (double)poses.size();
            judged[w].count(said[w]);
            judged[w].judge(said[w], a, p.a, b, p.b, referee);
        }
    }
    dGeomDestroy(ode_a.id);
    dGeomDestroy(ode_b.id);
    out.add(name, sums, judged, "us");
}

// Body a approaches from outside until it touches b, and continues by `depth`.
std::vector<pair_pose> make_pair_poses(const body &a, const body &b, size_t count, double depth) {
    peer::random numbers(11);
    std::vector<pair_pose> poses;
    for (int tries = 0; poses.size() < count && tries < 1000 * (int)count; tries++) {
        abut_pose at = {peer::random_rotation(numbers), {0, 0, 0}};
        abut_pose to = {peer::random_rotation(numbers), {0, 0, 0}};
        peer::matrix m = peer::to_matrix({peer::random_rotation(numbers), {0, 0, 0}});
        const abut_vec3 back = {m.r[0][0], m.r[1][0], m.r[2][0]};
        double s = 2 * (a.size + b.size), stride = 0.01 * a.size;
        bool touches = false;
        while (s > 0 && !touches) { // by the distance, at least by a stride
            abut_collider first = abut_collider_from_bvh(a.ours.bvh, shifted(at, s, back)),
                          second = abut_collider_from_bvh(b.ours.bvh, to);
            abut_separation gap;
            check(abut_pair_distance(&first, &second, nullptr, nullptr, &gap));
            s -= std::max(gap.distance, stride);
            touches = overlaps(a, shifted(at, s, back), b, to);
        }
        double low = s, high = s + stride;
        if (!touches || overlaps(a, shifted(at, high, back), b, to))
            continue;
        for (int i = 0; i < 40; i++) {
            double middle = 0.5 * (low + high);
            (overlaps(a, shifted(at, middle, back), b, to) ? low : high) = middle;
        }
        abut_pose deep = shifted(at, high - depth, back);
        if (overlaps(a, deep, b, to))
            poses.push_back({deep, to, depth});
    }
    return poses;
}

void compare_cubes(results &out) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = {1, 1, 1};
    shape.segments = 1;
    abut_mesh *mesh;
    check(abut_shape_create(nullptr, &shape, &mesh));
    const model cube = peer::make_model("cube", mesh);
    body a(cube), b(cube);
    peer::random numbers(6);
    std::vector<pair_pose> poses;
    for (int i = 0; i < (out.quick ? 4 : 200); i++) {
        double angle = i % 2 ? 0.5 * numbers.uniform(-1, 1) : 0;
        double x = numbers.uniform(-0.4, 0.4), y = numbers.uniform(-0.4, 0.4);
        poses.push_back({{{0, 0, std::sin(angle), std::cos(angle)}, {x, y, 0.999}},
                         {{0, 0, 0, 1}, {0, 0, 0}},
                         0.001});
    }
    compare_pair(out, "cube on cube, 0.1% deep", a, b, poses);
}

void compare_models(results &out, const std::vector<model> &models) {
    const model ball = peer::generate_model(ABUT_SHAPE_ICOSPHERE, 8);
    body first(ball), second(ball);
    compare_pair(out, "balls of 1,280 triangles, 5% deep", first, second,
                 make_pair_poses(first, second, out.quick ? 4 : 100, 0.05 * first.size));
    for (const model &m : models) {
        body a(m), b(m);
        const std::string name = m.name + " (" + std::to_string(m.triangle_count()) + ")";
        for (double depth : {0.02, 0.2})
            compare_pair(out, name + " with itself, " + (depth > 0.1 ? "20% deep" : "2% deep"), a,
                         b, make_pair_poses(a, b, out.quick ? 1 : 20, depth * a.size));
        model ring = peer::generate_model(ABUT_SHAPE_TORUS, 32);
        vec d = ring.hi - ring.lo;
        body torus(peer::scaled(ring, (float)(a.size / std::max(d.x, std::max(d.y, d.z)))));
        compare_pair(out, name + " and a torus, 2% deep", a, torus,
                     make_pair_poses(a, torus, out.quick ? 1 : 40, 0.02 * a.size));
    }
}

// ---- piles ----

typedef std::pair<uint32_t, uint32_t> names;

class pile {
  public:
    pile(size_t count, const std::string &folder) {
        side = std::max(2.0, std::ceil(std::sqrt((double)count / 4)));
        const double wide = 1.3 * side;
        add_shape(ABUT_SHAPE_TORUS, 20, 12, 1);
        add_shape(ABUT_SHAPE_CAPSULE, 16, 6, 1);
        add_shape(ABUT_SHAPE_LETTER_E, 8, 0, 1);
        add_shape(ABUT_SHAPE_ICOSPHERE, 5, 0, 0.8);
        add_shape(ABUT_SHAPE_TEAPOT_SOLID, 3, 0, 1);
        add_box({wide + 2, wide + 2, 1});
        add_box({0.5, wide + 1, 12});
        add_box({wide + 1, 0.5, 12});
        const double wall = 0.5 * wide + 0.25;
        const abut_vec3 fixed[] = {
            {0, 0, -0.5}, {wall, 0, 6}, {-wall, 0, 6}, {0, wall, 6}, {0, -wall, 6}};
        for (size_t i = 0; i < PEN; i++) {
            kinds.push_back(SHAPES + (i + 1) / 2);
            frames[0].push_back({{0, 0, 0, 1}, fixed[i]});
        }
        for (size_t i = 0; i < count; i++)
            kinds.push_back(i % SHAPES);
        read_or_settle(count,
                       folder.empty() ? "" : folder + "/pile-" + std::to_string(count) + ".csv");
        peer::random numbers(9);
        for (int f = 1; f < FRAMES; f++) { // so that no pair keeps its pose
            frames[f] = frames[0];
            for (size_t i = PEN; i < kinds.size(); i++)
                frames[f][i].translation =
                    along(frames[0][i].translation, 1,
                          {numbers.uniform(-1e-5, 1e-5), numbers.uniform(-1e-5, 1e-5),
                           numbers.uniform(-1e-5, 1e-5)});
        }
    }

    void compare(results &out) {
        std::unique_ptr<abut_runner> exact[2] = {std::make_unique<abut_runner>(*this, 0),
                                                 std::make_unique<abut_runner>(*this, MARGIN)};
        ode_runner ode(*this);
        bullet_runner bullet(*this);
        double best[WAYS];
        std::fill(best, best + WAYS, 1e9);
        for (int round = 0; round < (out.quick ? 1 : 2 * FRAMES); round++)
            for (int w = 0; w < WAYS; w++) {
                const std::vector<abut_pose> &poses = frames[(round + 1) % FRAMES];
                best[w] = std::min(best[w], 1e3 * peer::time_of(
                                                      [&] {
                                                          if (w == ODE)
                                                              ode.step(poses);
                                                          else if (w == BULLET)
                                                              bullet.step(poses);
                                                          else
                                                              exact[w]->step(poses);
                                                      },
                                                      1));
            }
        // the last frame of all libraries is that of the last round
        judge(out, best, frames[(out.quick ? 1 : 2 * FRAMES) % FRAMES], exact[0]->candidates(),
              {&exact[0]->found, &exact[1]->found, &ode.found, &bullet.found});
    }

  private:
    enum { SHAPES = 5, PEN = 5 };
    double side;
    std::vector<std::unique_ptr<body>> bodies; // shapes, then floor and walls
    std::vector<size_t> kinds;                 // by item: the pen, then what moves
    std::vector<abut_pose> frames[FRAMES];

    const body &shape(size_t item) const {
        return *bodies[kinds[item]];
    }
    // Centred at the origin, of this size.
    void add_shape(abut_shape_kind kind, uint32_t segments, uint32_t rings, double size) {
        abut_shape shape = abut_shape_default(kind);
        shape.segments = segments;
        shape.rings = rings ? rings : shape.rings;
        abut_mesh *mesh;
        check(abut_shape_create(nullptr, &shape, &mesh));
        model m = peer::make_model(abut_shape_kind_name(kind), mesh);
        vec d = m.hi - m.lo, c = m.centre();
        for (vec &v : m.vertices)
            v = (float)(size / std::max(d.x, std::max(d.y, d.z))) * (v - c);
        m.lo = {-0.5f, -0.5f, -0.5f};
        m.hi = {0.5f, 0.5f, 0.5f};
        bodies.push_back(std::make_unique<body>(m));
    }
    void add_box(abut_vec3 extent) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
        shape.extent = extent;
        shape.segments = 1;
        abut_mesh *mesh;
        check(abut_shape_create(nullptr, &shape, &mesh));
        bodies.push_back(std::make_unique<body>(peer::make_model("box", mesh)));
    }

    // Runs a step by abut: contacts of all pairs.
    struct abut_runner {
        const pile &of;
        abut_world *world = nullptr;
        std::vector<abut_contact> list;
        std::vector<abut_world_event> events;
        uint64_t event_count = 0;
        std::map<names, answer> found;

        abut_runner(const pile &from, double margin) : of(from), list(1 << 18), events(1 << 16) {
            abut_world_options options = abut_world_options_default();
            options.margin = margin;
            check(abut_world_create(from.bodies[0]->ours.context, &options, &world));
            for (size_t i = 0; i < from.kinds.size(); i++) {
                abut_world_item item = abut_world_item_default();
                uint32_t id;
                item.collider =
                    abut_collider_from_bvh(from.shape(i).ours.bvh, abut_pose_identity());
                item.motion = i < PEN ? ABUT_WORLD_STATIC : ABUT_WORLD_DYNAMIC;
                check(abut_world_add(world, &item, &id));
            }
        }
        ~abut_runner() {
            abut_world_destroy(world);
        }
        std::vector<names> candidates() const {
            std::vector<abut_world_pair> pairs(1 << 18);
            std::vector<names> both;
            abut_world_pair_list listed = {pairs.data(), pairs.size(), 0};
            check(abut_world_pairs(world, &listed));
            for (uint64_t p = 0; p < listed.count; p++)
                both.emplace_back(pairs[p].a, pairs[p].b);
            return both;
        }
        void step(const std::vector<abut_pose> &poses) {
            abut_contacts all = abut_contacts_default();
            all.list = list.data();
            all.capacity = list.size();
            check(
                abut_world_set_poses(world, nullptr, abut_array_host(poses.data()), poses.size()));
            check(abut_world_contacts(world, &all));
            abut_world_event_list listed = {events.data(), events.size(), 0};
            check(abut_world_events(world, &listed));
            event_count = listed.count;
            found.clear();
            for (uint64_t i = 0; i < event_count; i++)
                for (uint64_t k = events[i].first; k < events[i].first + events[i].count; k++)
                    found[{events[i].a, events[i].b}].add(list[k].depth, list[k].normal.x,
                                                          list[k].normal.y, list[k].normal.z);
        }
    };

    struct ode_runner {
        dSpaceID space;
        std::vector<ode_geometry> geometries;
        std::map<names, answer> found;

        explicit ode_runner(const pile &from)
            : space(dSweepAndPruneSpaceCreate(nullptr, dSAP_AXES_XYZ)) {
            for (size_t i = 0; i < from.kinds.size(); i++) {
                geometries.emplace_back(space, from.shape(i));
                dGeomSetData(geometries[i].id, (void *)i);
            }
        }
        ~ode_runner() {
            dSpaceDestroy(space);
        }
        static void near(void *data, dGeomID a, dGeomID b) {
            ode_runner *self = static_cast<ode_runner *>(data);
            uint32_t i = (uint32_t)(size_t)dGeomGetData(a), k = (uint32_t)(size_t)dGeomGetData(b);
            if (i > k) {
                std::swap(i, k);
                std::swap(a, b);
            }
            answer said = k < PEN ? answer() : ask_ode(a, b);
            if (said.count)
                self->found[{i, k}] = said;
        }
        void step(const std::vector<abut_pose> &poses) {
            found.clear();
            for (size_t i = 0; i < geometries.size(); i++)
                geometries[i].place(poses[i]);
            dSpaceCollide(space, this, near);
        }
    };

    struct bullet_runner {
        bullet_world all;
        std::vector<std::unique_ptr<btCollisionObject>> objects;
        std::map<names, answer> found;

        explicit bullet_runner(const pile &from) {
            for (size_t i = 0; i < from.kinds.size(); i++) {
                objects.push_back(std::make_unique<btCollisionObject>());
                objects[i]->setCollisionShape(from.shape(i).bullet.get());
                objects[i]->setUserIndex((int)i);
                if (i < PEN)
                    objects[i]->setCollisionFlags(btCollisionObject::CF_STATIC_OBJECT);
                all.world.addCollisionObject(objects[i].get(), i < PEN ? 1 : 2,
                                             i < PEN ? 2 : 3); // the pen not with itself
            }
        }
        ~bullet_runner() {
            for (auto &object : objects)
                all.world.removeCollisionObject(object.get());
        }
        void step(const std::vector<abut_pose> &poses) {
            found.clear();
            for (size_t i = 0; i < objects.size(); i++)
                objects[i]->setWorldTransform(to_transform(poses[i]));
            all.world.updateAabbs();
            all.world.computeOverlappingPairs();
            btBroadphasePairArray &pairs =
                all.broad.getOverlappingPairCache()->getOverlappingPairArray();
            for (int i = 0; i < pairs.size(); i++) {
                auto *a = static_cast<btCollisionObject *>(pairs[i].m_pProxy0->m_clientObject);
                auto *b = static_cast<btCollisionObject *>(pairs[i].m_pProxy1->m_clientObject);
                if (a->getUserIndex() > b->getUserIndex())
                    std::swap(a, b);
                answer said = ask_bullet(all, *a, *b);
                if (said.count)
                    found[{(uint32_t)a->getUserIndex(), (uint32_t)b->getUserIndex()}] = said;
            }
        }
    };

    // Exact tests of all pairs with overlapping boxes decide which are missed.
    void judge(results &out, const double *best, const std::vector<abut_pose> &poses,
               const std::vector<names> &candidates,
               const std::vector<const std::map<names, answer> *> &found) const {
        quality judged[WAYS];
        size_t pairs = 0, stride = 1 + found[ABUT]->size() / 300;
        for (const names &each : candidates) {
            const auto [i, k] = each;
            const body &a = shape(i), &b = shape(k);
            if (!overlaps(a, poses[i], b, poses[k]))
                continue;
            answer said[WAYS];
            for (int w = 0; w < WAYS; w++) {
                auto at = found[(size_t)w]->find(each);
                if (at != found[(size_t)w]->end())
                    said[w] = at->second;
            }
            // every pair is counted; the depth is measured for some 300
            double referee = pairs++ % stride ? 0 : find_referee(a, poses[i], b, poses[k], 1, said);
            for (int w = 0; w < WAYS; w++) {
                judged[w].count(said[w]);
                if (referee > 0)
                    judged[w].judge(said[w], a, poses[i], b, poses[k], referee);
            }
        }
        char name[96];
        std::snprintf(name, sizeof name, "pile of %zu, %zu pairs overlap", kinds.size() - PEN,
                      pairs);
        out.add(name, best, judged, "ms");
    }

    void read_or_settle(size_t count, const std::string &path) {
        std::ifstream in(path);
        std::string line;
        for (size_t i = 0; i < count && std::getline(in, line); i++) {
            std::istringstream numbers(line);
            double x[7];
            char comma;
            for (int k = 0; k < 7; k++)
                numbers >> x[k] >> comma;
            double length = std::sqrt(x[3] * x[3] + x[4] * x[4] + x[5] * x[5] + x[6] * x[6]);
            frames[0].push_back(
                {{x[3] / length, x[4] / length, x[5] / length, x[6] / length}, {x[0], x[1], x[2]}});
        }
        if (frames[0].size() == PEN + count)
            return;
        frames[0].resize(PEN);
        settle(count);
        if (path.empty())
            return;
        std::ofstream out(path);
        for (size_t i = PEN; i < PEN + count; i++) {
            char row[256];
            const abut_pose &p = frames[0][i];
            std::snprintf(row, sizeof row, "%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f\n", p.translation.x,
                          p.translation.y, p.translation.z, p.rotation.x, p.rotation.y,
                          p.rotation.z, p.rotation.w);
            out << row;
        }
        if (!out.flush())
            peer::fail(("cannot write " + path).c_str());
    }

    // 2.5 s in ODE, by contacts of abut without a margin and soft joints: bodies rest some 0.2%
    // deep in each other, as in engines.
    void settle(size_t count) {
        const double step = 0.01;
        peer::random numbers(8);
        dWorldID world = dWorldCreate();
        dJointGroupID joints = dJointGroupCreate(0);
        std::vector<dBodyID> ode(PEN + count, nullptr);
        dWorldSetGravity(world, 0, 0, -9.81);
        dWorldSetQuickStepNumIterations(world, 20);
        dWorldSetContactMaxCorrectingVel(world, 1);
        dWorldSetLinearDamping(world, 0.01);
        dWorldSetAngularDamping(world, 0.02);
        for (size_t i = 0; i < count; i++) {
            const size_t layer = i / (size_t)(side * side), k = i % (size_t)(side * side);
            const double x = (double)(k % (size_t)side), y = (double)(k / (size_t)side);
            abut_quat q = peer::random_rotation(numbers);
            dMass mass;
            dMassSetSphereTotal(&mass, 0.2, 0.4);
            dBodyID b = ode[PEN + i] = dBodyCreate(world);
            dBodySetMass(b, &mass);
            dBodySetPosition(b, 1.3 * (x + 0.5 - 0.5 * side), 1.3 * (y + 0.5 - 0.5 * side),
                             0.75 + 1.25 * (double)layer);
            const dQuaternion turn = {q.w, q.x, q.y, q.z};
            dBodySetQuaternion(b, turn);
        }
        frames[0].resize(PEN + count);
        abut_runner exact(*this, 0);
        for (int s = 0; s <= 250; s++) {
            for (size_t i = PEN; i < PEN + count; i++) {
                const dReal *p = dBodyGetPosition(ode[i]), *q = dBodyGetQuaternion(ode[i]);
                frames[0][i] = {{q[1], q[2], q[3], q[0]}, {p[0], p[1], p[2]}};
            }
            exact.step(frames[0]);
            for (uint64_t i = 0; i < exact.event_count; i++) {
                const abut_world_event &e = exact.events[i];
                for (uint64_t k = e.first; k < e.first + e.count; k++) {
                    const abut_contact &c = exact.list[k];
                    dContact contact;
                    std::memset(&contact, 0, sizeof contact);
                    contact.surface.mode = dContactApprox1 | dContactSoftCFM | dContactSoftERP;
                    contact.surface.mu = 0.5;
                    contact.surface.soft_cfm = 0.02;
                    contact.surface.soft_erp = 0.2;
                    contact.geom.depth = c.depth;
                    const double sign = ode[e.a] ? 1 : -1; // joints have a body first
                    const double normal[] = {c.normal.x, c.normal.y, c.normal.z},
                                 point[] = {c.point.x, c.point.y, c.point.z};
                    for (int j = 0; j < 3; j++) {
                        contact.geom.pos[j] = point[j];
                        contact.geom.normal[j] = sign * normal[j];
                    }
                    dJointAttach(dJointCreateContact(world, joints, &contact),
                                 ode[e.a] ? ode[e.a] : ode[e.b], ode[e.a] ? ode[e.b] : nullptr);
                }
            }
            dWorldQuickStep(world, step);
            dJointGroupEmpty(joints);
        }
        dJointGroupDestroy(joints);
        dWorldDestroy(world);
    }
};

// ODE warns of full contact tables, which are only slower.
void keep_quiet(int, const char *, va_list) {}

} // namespace

int main(int count, char **words) {
    std::string folder, markdown, json;
    std::vector<model> models;
    results out;
    dInitODE2(0);
    dSetMessageHandler(keep_quiet);
    for (int i = 1; i < count; i++) {
        const std::string word = words[i];
        if (word == "--quick")
            out.quick = true;
        else if (word == "--poses" && i + 1 < count)
            folder = words[++i];
        else if (word == "--markdown" && i + 1 < count)
            markdown = words[++i];
        else if (word == "--out" && i + 1 < count)
            json = words[++i];
        else if (word[0] == '-')
            peer::fail("usage: peer-contacts [--quick] [--poses FOLDER] [--markdown FILE] "
                       "[--out FILE] [MODEL...]");
        else
            models.push_back(peer::read_model(words[i]));
    }
    if (models.empty())
        models.push_back(peer::generate_model(ABUT_SHAPE_TEAPOT_SOLID, out.quick ? 4 : 33));
    compare_cubes(out);
    compare_models(out, models);
    for (size_t n : {100u, 300u, 1000u})
        if (!out.quick || n == 100)
            pile(n, folder).compare(out);
    out.write(markdown, json);
    dCloseODE();
    return 0;
}

// Which of many bodies overlap: 11 steps and 60 to 5,000 spheres above and in them, of 80 to 5,120
// triangles, the same for every peer with a broad phase. All poses are set each time.
//
// abut has three methods: a world for overlapping boxes and abut_pair_overlap() for each (`world`);
// images of 1,024 pixels in three views (`images`), which also measure each overlap and may miss
// overlaps that are smaller than a pixel; and both (`exact`). One thread for either library.
#ifndef ABUT_PEER_CROWD_H
#define ABUT_PEER_CROWD_H

#include "peer.h"

#include <iterator>
#include <set>

namespace peer {

typedef std::pair<uint32_t, uint32_t> names; // lower, higher
typedef std::set<names> name_set;

enum { STEPS = 11 };

class crowd {
  public:
    const model ball, step;
    std::vector<abut_pose> poses[2]; // used alternately; the steps come first

    crowd(size_t spheres, uint32_t segments)
        : ball(sphere(spheres, segments)), step(box()), ours_ball(ball, 1), ours_step(step, 1) {
        random numbers(7);
        for (auto &list : poses) {
            for (int i = 0; i < STEPS; i++)
                list.push_back({{0, 0, 0, 1}, {i + 0.5, 0, (STEPS - 1 - i) * 0.5 + 0.25}});
            for (size_t i = 0; i < spheres; i++) {
                double x = numbers.uniform(0, STEPS);
                list.push_back({random_rotation(numbers),
                                {x, numbers.uniform(-2.4, 2.4),
                                 (STEPS - std::floor(x)) * 0.5 + numbers.uniform(0.05, 1.2)}});
            }
        }
        fill();
    }
    ~crowd() {
        abut_layers_destroy(layers);
        abut_world_destroy(world);
    }
    crowd(const crowd &) = delete;
    crowd &operator=(const crowd &) = delete;

    const model &shape(size_t i) const {
        return i < STEPS ? step : ball;
    }
    // Steps are not tested against each other.
    static bool tried(size_t a, size_t b) {
        return a >= STEPS || b >= STEPS;
    }

    name_set by_world(int frame) {
        std::vector<abut_world_pair> list(64 * poses[0].size());
        abut_world_pair_list pairs = {list.data(), list.size(), 0};
        check(abut_world_set_poses(world, nullptr, abut_array_host(poses[frame].data()),
                                   poses[frame].size()));
        check(abut_world_pairs(world, &pairs));
        name_set found;
        for (uint64_t i = 0; i < pairs.count; i++) {
            abut_collider a = abut_collider_from_bvh(tree(list[i].a), poses[frame][list[i].a]),
                          b = abut_collider_from_bvh(tree(list[i].b), poses[frame][list[i].b]);
            abut_overlap overlap;
            check(abut_pair_overlap(&a, &b, nullptr, nullptr, &overlap));
            if (overlap.relation != ABUT_PAIR_APART)
                found.emplace_hint(found.end(), list[i].a, list[i].b);
        }
        return found;
    }
    name_set by_images(int frame, bool exact) {
        std::vector<abut_layers_pair> list(16 * poses[0].size());
        abut_layers_query query = abut_layers_query_default();
        abut_layers_result result = abut_layers_result_default();
        result.pairs = {list.data(), list.size(), 0};
        query.is_exact = exact;
        check(abut_layers_set_poses(layers, nullptr, abut_array_host(poses[frame].data()),
                                    poses[frame].size()));
        check(abut_layers_find(layers, &query, &result));
        name_set found;
        for (uint64_t i = 0; i < result.pairs.count; i++)
            found.emplace_hint(found.end(), list[i].a, list[i].b);
        return found;
    }

  private:
    side ours_ball, ours_step;
    abut_layers *layers = nullptr;
    abut_world *world = nullptr;

    // The radius gives each sphere about the same number of overlaps.
    static model sphere(size_t spheres, uint32_t segments) {
        double radius = 0.12 * std::cbrt(250.0 / (double)spheres);
        model unit = generate_model(ABUT_SHAPE_ICOSPHERE, segments);
        return scaled(unit, (float)(2 * radius) / (unit.hi.z - unit.lo.z));
    }
    static model box() {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
        abut_mesh *mesh;
        shape.extent = {0.99, 5, 0.5};
        shape.segments = 1;
        check(abut_shape_create(nullptr, &shape, &mesh));
        return make_model("step", mesh);
    }
    const abut_bvh *tree(size_t i) const {
        return i < STEPS ? ours_step.bvh : ours_ball.bvh;
    }
    void fill() {
        check(abut_layers_create(ours_ball.context, nullptr, &layers));
        check(abut_world_create(ours_ball.context, nullptr, &world));
        for (size_t i = 0; i < poses[0].size(); i++) {
            abut_layers_item item = abut_layers_item_default();
            item.collider =
                abut_collider_from_mesh(i < STEPS ? ours_step.mesh : ours_ball.mesh, poses[0][i]);
            item.group = i < STEPS ? 2 : 1;
            item.mask = i < STEPS ? 1 : 3;
            check(abut_layers_add(layers, &item, nullptr));
            abut_world_item body = abut_world_item_default();
            uint32_t id;
            body.collider = abut_collider_from_bvh(tree(i), poses[0][i]);
            body.group = item.group;
            body.mask = item.mask;
            check(abut_world_add(world, &body, &id));
        }
    }
};

// Calls visit(scene) for each of the scenes.
template <class Visit> void each_crowd(const report &report, Visit visit) {
    const std::pair<size_t, uint32_t> sizes[] = {{60, 4},  {250, 4}, {1000, 4}, {5000, 4},
                                                 {250, 2}, {250, 8}, {250, 16}};
    for (auto [spheres, segments] : sizes) {
        crowd scene(report.amount(spheres), segments);
        visit(scene);
    }
}

// theirs(frame) sets all poses of that frame and returns the pairs that overlap.
template <class Theirs>
void compare_crowd(report &report, crowd &scene, const char *note, Theirs theirs) {
    const size_t spheres = scene.poses[0].size() - STEPS;
    const char *ways[] = {"world", "images", "exact"};
    for (int way = 0; way < 3; way++) {
        name_set ours, them;
        int turn = 0, other = 0;
        times time = race(
            report.quick ? 1 : 5,
            [&] {
                ours = way ? scene.by_images(turn++ % 2, way == 2) : scene.by_world(turn++ % 2);
            },
            [&] { them = theirs(other++ % 2); });
        std::vector<names> differ;
        std::set_symmetric_difference(ours.begin(), ours.end(), them.begin(), them.end(),
                                      std::back_inserter(differ));
        uint64_t answer = 0;
        for (const names &pair : ours)
            answer = hash(answer, &pair, sizeof pair);
        std::string what = std::string("pairs-") + ways[way],
                    name = "stairs-" + std::to_string(spheres) + "x" +
                           std::to_string(scene.ball.triangle_count());
        report.add({what.c_str(), name, 1, time, (double)(spheres + STEPS), "body", differ.size(),
                    note, answer});
    }
}

} // namespace peer

#endif

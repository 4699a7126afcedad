/* Cloth that starts crossed: abut_cloth_untangle(). */
#include "tangled.h"

#include <stdio.h>

static bool prints(void) {
    return getenv("ABUT_TEST_PRINT") != NULL;
}

TEST(random_tangles) {
    for (int kind = getenv("KIND") ? atoi(getenv("KIND")) : 0; kind < TANGLE_COUNT; kind++) {
        test_random random = {(uint64_t)kind + 1};
        uint32_t rounds = test_rounds(100), solved = 0, iterations = 0, pairs = 0, most = 0;
        double seconds = 0;
        for (uint32_t round = 0; round < rounds; round++) {
            tangle t = make_tangle(serial, (tangle_kind)kind, &random);
            abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
            assert_ok(abut_cloth_untangle(t.c, NULL, &report));
            assert_int_equal(report.is_free, is_free(t.c));
            if (prints() && getenv("EACH"))
                printf("  %s %u: %s, %u iterations, %llu -> %llu pairs, moved %u by %.3g, gap %.3g, %.2f s\n",
                       tangle_names[kind], round, report.is_free ? "free" : "FAILED",
                       report.iterations, (unsigned long long)report.pairs_before,
                       (unsigned long long)report.pairs, report.moved, report.distance, report.gap,
                       report.seconds);
            if (!report.is_free && getenv("EACH")) {
                abut_cloth_intersection l[64];
                abut_cloth_intersection_list f = {l, 64, 0};
                assert_ok(abut_cloth_find_intersections(t.c, &f));
                for (uint64_t i = 0; i < f.count; i++) {
                    printf("    sheet %u tri %u, sheet %d body %d tri %u\n", l[i].sheet, l[i].triangle, (int)l[i].other_sheet, (int)l[i].other_body, l[i].other_triangle);
                    for (int q = 0; q < 2; q++) {
                        const uint32_t sh = q ? l[i].other_sheet : l[i].sheet, tr = q ? l[i].other_triangle : l[i].triangle;
                        if (sh != ABUT_NONE)
                            printf("      %u %u %u\n", abut_mesh_indices(t.meshes[sh])[3*tr], abut_mesh_indices(t.meshes[sh])[3*tr+1], abut_mesh_indices(t.meshes[sh])[3*tr+2]);
                    }
                }
            }
            solved += report.is_free;
            iterations += report.iterations;
            most = report.iterations > most && report.is_free ? report.iterations : most;
            pairs += (uint32_t)report.pairs_before;
            seconds += report.seconds;
            destroy_tangle(&t);
        }
        if (prints())
            printf("%-26s %3u of %3u, %5.1f pairs, %5.1f iterations (max %u), %.3f s each\n",
                   tangle_names[kind], solved, rounds, (double)pairs / rounds,
                   (double)iterations / rounds, most, seconds / rounds);
    }
}

int main(void) {
    return run_serial();
}

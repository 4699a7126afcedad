/* Every enum has a name for each of its values, all different, and null beyond the last. */
#include "support/support.h"

#include <abut/abut.h>

#define CHECK(type, last)                                            \
    do {                                                             \
        for (unsigned i = 0; i <= (unsigned)(last); i++) {           \
            const char *name = type##_name((type)i);                 \
            assert_non_null(name);                                   \
            for (unsigned k = 0; k < i; k++)                         \
                assert_string_not_equal(name, type##_name((type)k)); \
        }                                                            \
        assert_null(type##_name((type)((unsigned)(last) + 1)));      \
        assert_null(type##_name((type)-1));                          \
    } while (0)

TEST(all_values_have_names) {
    CHECK(abut_status, ABUT_ERROR_DEVICE);
    CHECK(abut_log_level, ABUT_LOG_WARNING);
    CHECK(abut_character_target, ABUT_CHARACTER_TARGET_MORPH);
    CHECK(abut_character_interpolation, ABUT_CHARACTER_INTERPOLATION_CUBIC);
    CHECK(abut_character_problem, ABUT_CHARACTER_PROBLEM_SEAM_VERTEX);
    CHECK(abut_character_skinning, ABUT_CHARACTER_SKINNING_DUAL);
    CHECK(abut_character_figure, ABUT_CHARACTER_FIGURE_OGRE);
    CHECK(abut_garment_kind, ABUT_GARMENT_DRESS);
    CHECK(abut_garment_joint, ABUT_GARMENT_RIGHT_FOOT);
    CHECK(abut_device_kind, ABUT_DEVICE_KIND_OTHER);
    CHECK(abut_feature, ABUT_FEATURE_VERTEX_2);
    CHECK(abut_intersection, ABUT_INTERSECTION_COPLANAR);
    CHECK(abut_scalar_type, ABUT_SCALAR_FLOAT32);
    CHECK(abut_index_type, ABUT_INDEX_UINT16);
    CHECK(abut_mesh_format, ABUT_MESH_FORMAT_OTHER);
    CHECK(abut_triangulation, ABUT_TRIANGULATION_FAN);
    CHECK(abut_problem_kind, ABUT_PROBLEM_SELF_INTERSECTION);
    CHECK(abut_reliability_level, ABUT_RELIABILITY_UNRELIABLE);
    CHECK(abut_shape_kind, ABUT_SHAPE_COUNT - 1);
    CHECK(abut_pair_relation, ABUT_PAIR_B_INSIDE);
    CHECK(abut_sign_method, ABUT_SIGN_NORMAL);
    CHECK(abut_field_layout, ABUT_FIELD_SPARSE);
    CHECK(abut_field_type, ABUT_FIELD_INT16);
    CHECK(abut_field_format, ABUT_FIELD_FORMAT_RAW);
    CHECK(abut_interpolation, ABUT_INTERPOLATION_CUBIC);
    CHECK(abut_combination, ABUT_COMBINATION_DIFFERENCE);
    CHECK(abut_sample_kind, ABUT_SAMPLE_SURFACE);
    CHECK(abut_contact_kind, ABUT_CONTACT_OVERLAP);
    CHECK(abut_collider_kind, ABUT_COLLIDER_MESH);
    CHECK(abut_world_motion, ABUT_WORLD_STATIC);
    CHECK(abut_world_method, ABUT_WORLD_LAYERS);
    CHECK(abut_world_guarantee, ABUT_WORLD_GUARANTEE_LIMITED);
    CHECK(abut_world_event_kind, ABUT_WORLD_EVENT_END);
    CHECK(abut_robot_joint_kind, ABUT_ROBOT_PRISMATIC);
    CHECK(abut_impact_kind, ABUT_IMPACT_EDGE_EDGE);
    CHECK(abut_layers_show, ABUT_LAYERS_SECOND);
    CHECK(abut_live_event_kind, ABUT_LIVE_EVENT_KEY);
    CHECK(abut_map_thickness, ABUT_MAP_THICKNESS_BALL);
    CHECK(abut_pair_kind, ABUT_PAIR_KIND_SAME);
    CHECK(abut_self_fallback, ABUT_SELF_IMPACTS);
    CHECK(abut_self_scheme, ABUT_SELF_COMPLETE);
    CHECK(abut_self_set, ABUT_SELF_VIOLATED);
    CHECK(abut_collider_kind, ABUT_COLLIDER_MESH);
    CHECK(abut_sweep_mode, ABUT_SWEEP_ALL);
}

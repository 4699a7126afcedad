/* abut version: the version and the features of this build. */
#include "tool.h"

#include <sys/utsname.h>

typedef struct {
    const char *name, *with, *without;
} feature;

static const feature threads = {"threads", "multithreading", "single thread only"},
                     png = {"png", "pictures as .png and .ppm", "pictures only as .ppm"};
static const feature features[] = {
    {"gltf", "reads glTF and GLB", "glTF and GLB cannot be read"},
    {"urdf", "reads robots from URDF and MJCF", "URDF and MJCF cannot be read"},
    {"assimp", "reads FBX, Collada and others with --from other",
     "FBX, Collada and others cannot be read"},
    {"opencl", "OpenCL devices: see 'abut devices'", "CPU only"},
    {"zstd", "field files are compressed",
     "field files are not compressed; compressed ones cannot be read"},
};
/* Features of the command, not of the library. */
static const feature physics = {"ode", "'abut demo drop' runs a physics engine",
                                "'abut demo drop' is not available"};

#ifdef ABUT_HAS_ODE
enum { HAS_ODE = true };
#else
enum { HAS_ODE = false };
#endif

static const char *compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown";
#endif
}

static void print_feature(tool_output *out, const feature *f, bool there) {
    json_boolean(out, f->name, there);
    out_shade(out, there ? SHADE_GOOD : SHADE_WARN);
    print_fact(out, f->name, "%s%s", there ? "" : "not built in: ", there ? f->with : f->without);
}

static int run_version(tool_run *tool, const tool_arguments *arguments) {
    (void)arguments;
    tool_output *out = &tool->out;
    const char *list = abut_features();
    out_object(out, NULL);
    print_line(out, "abut %s", abut_version());
    json_text(out, "version", abut_version());
    json_object(out, "features");
    print_feature(out, &threads, word_in(threads.name, list));
    print_feature(out, &png, abut_picture_has_png());
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        print_feature(out, &features[i], word_in(features[i].name, list));
    print_feature(out, &physics, HAS_ODE);
    json_end(out);
    fact_text(out, "compiler", compiler());
    struct utsname name;
    tool_text words = {0};
    if (uname(&name) == 0)
        text_print(&words, "%s %s", name.sysname, name.machine);
    fact_text(out, "platform", words.data ? words.data : "unknown");
    out_end(out);
    answer(tool, "%s", abut_version());
    return CODE_FINE;
}

const tool_command command_version = {
    .name = "version",
    .operands = "",
    .summary = "print the version and the features of this build",
    .about = "Prints the version, the optional features that this build has, what the missing ones "
             "would add, the compiler and the platform.",
    .examples = "  abut version\n  abut version --json | jq .features.png\n",
    .operand_kind = OPERAND_NONE,
    .operand_range = {0, 0},
    .run = run_version,
};

/* Declarations that the files of the command share.
 *
 * The command is a table of commands (COMMANDS below). Each command has a table of options in its
 * own file, from which parsing, help and shell completion follow. A command uses the public
 * library only, and prints its results with the writer of output.h, as text or as JSON. */
#ifndef ABUT_TOOL_H
#define ABUT_TOOL_H

#include "apps/get.h"
#include "output.h"

/* Exit codes of the process; `abut help exit-codes` explains them. A command that searches for
 * something returns CODE_FOUND if it finds it, so that `&&` continues only if the result is
 * certain. A cancelled run ends by the signal that cancelled it, which shells show as 128 + its
 * number: 130 for Ctrl-C. */
enum { CODE_FINE = 0, CODE_WORK = 1, CODE_USAGE = 2, CODE_FOUND = 3, CODE_CANCELLED = 130 };

/* ---- options.c ---- */

typedef enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,      /* validated by the command; `choices` are for help and completion */
    OPTION_CHOICE,    /* one of `choices` */
    OPTION_NUMBER,    /* finite */
    OPTION_POSITIVE,  /* finite and above 0 */
    OPTION_TOLERANCE, /* finite and at least 0; optional value: --name or --name=T */
    OPTION_COUNT,     /* integer, at least 1 */
    OPTION_VECTOR,    /* X,Y,Z */
    OPTION_SIZE,      /* X,Y,Z or X,Y or one number for all, none negative */
    OPTION_PIXELS,    /* WxH */
    OPTION_COLOUR
} option_kind;

typedef struct tool_option {
    const char *name;     /* without dashes; null ends a table */
    const char *argument; /* name of the value in the help; null for flags */
    option_kind kind;
    const char *help;    /* a phrase, wrapped by help */
    const char *choices; /* "a|b|c" or null */
    bool repeats;        /* repeatable */
} tool_option;

/* Entries of a table of options. */
#define FLAG(name, help) \
    { name, NULL, OPTION_FLAG, help, NULL, false }
#define OPTION(name, argument, kind, help) \
    { name, argument, OPTION_##kind, help, NULL, false }
#define REPEATED(name, argument, kind, help) \
    { name, argument, OPTION_##kind, help, NULL, true }
#define CHOICE(name, argument, kind, help, choices) \
    { name, argument, OPTION_##kind, help, choices, false }
/* The camera of a picture. */
#define CAMERA_OPTIONS(default_view)                                                              \
    CHOICE(                                                                                       \
        "view", "VIEW", TEXT,                                                                     \
        "view direction: front, back, left, right, top, bottom, iso, or X,Y,Z from the model to " \
        "the camera (default: " default_view ")",                                                 \
        "front|back|left|right|top|bottom|iso"),                                                  \
        CHOICE("up", "AXIS", TEXT,                                                                \
               "up axis: x, y, z, -x, -y, -z or X,Y,Z (default: that of the first file that has " \
               "one, otherwise z)",                                                               \
               "x|y|z|-x|-y|-z")

/* One option of the command line. */
typedef struct tool_given {
    const tool_option *option;
    const char *words; /* the value as typed; null for flags and omitted values */
    double numbers[3];
    uint32_t counts[2];
    abut_colour colour;
} tool_given;

typedef struct tool_arguments {
    tool_given *given;
    size_t given_count;
    const char **operands;
    size_t operand_count;
} tool_arguments;

extern const tool_option global_options[];

struct tool_command;

/* Parses the words after the name of the command. */
void options_parse(struct tool_run *tool, const struct tool_command *command, int count,
                   char **words, tool_arguments *arguments);
/* The option of a command, which may be null, or of all commands; null if there is none. */
const tool_option *option_find(const struct tool_command *command, const char *name, size_t length);
/* Returns the last occurrence of an option, or null. */
const tool_given *option_given(const tool_arguments *arguments, const char *name);
/* The same for any of the options "a|b|c". */
const tool_given *option_any(const tool_arguments *arguments, const char *names);
/* The number, count or words of an option, or a default if it was not given. */
double option_number(const tool_arguments *arguments, const char *name, double otherwise);
uint32_t option_count(const tool_arguments *arguments, const char *name, uint32_t otherwise);
const char *option_words(const tool_arguments *arguments, const char *name, const char *otherwise);
/* Reports an error with the value, the range and the unit, unless the option was not given (null)
 * or its number is from `min` to `max`. */
void option_range(struct tool_run *tool, const tool_given *given, double min, double max,
                  const char *unit);
/* The same for a length: from 0 to ABUT_COORDINATE_MAX. */
void option_length(struct tool_run *tool, const tool_given *given);

/* ---- view.h: pages ---- */

/* The entry of --html in a table of options. */
#define PAGE_OPTION              \
    OPTION("html", "FILE", TEXT, \
           "write an interactive page for a browser: one HTML file, no network access")

/* The entries of --live. */
#define LIVE_OPTIONS(help)                                                                    \
    FLAG("live", help), OPTION("port", "N", COUNT,                                            \
                               "--live: port of the page on this machine (default: any that " \
                               "is free)")

/* ---- device.c ---- */

/* The entry of --device in a table of options. */
#define DEVICE_OPTION                                                                           \
    CHOICE("device", "NAME", TEXT,                                                              \
           "compute device: cpu (default), gpu, or the number or part of the name of a device " \
           "of 'abut devices'",                                                                 \
           "cpu|gpu")

/* The value of --device; null for the CPU, which is the default. */
const char *device_named(const tool_arguments *arguments);
/* Opens the device of --device; null for the CPU. */
abut_device *device_open(struct tool_run *tool, const tool_arguments *arguments);
/* Prints the name of the device; in JSON also "cpu" if it is null. */
void device_print(struct tool_output *out, const abut_device *device);
/* Builds the BVH of a mesh on a device, or on the CPU if `device` is null. */
void device_bvh(abut_mesh *mesh, abut_device *device, abut_bvh **bvh);

/* ---- commands: one file each, and one word below ---- */

typedef enum operand_kind {
    OPERAND_FILES,
    OPERAND_SHAPE,
    OPERAND_TOPIC,
    OPERAND_NONE
} operand_kind;

typedef struct tool_command {
    const char *name;
    const char *operands; /* as in the usage line */
    const char *summary;  /* one line of general help; null hides the command */
    const char *about;    /* paragraphs, wrapped by help; lines that start with a space are kept */
    const char *examples; /* lines */
    const char *found; /* meaning of CODE_FOUND, after "3 found: "; null if it is never returned */
    const tool_option *options;
    operand_kind operand_kind;
    uint32_t operand_range[2]; /* the least and the largest number */
    int (*run)(struct tool_run *tool, const tool_arguments *arguments);
    bool forks; /* runs in child processes, which make their own contexts */
} tool_command;

extern const tool_command *const commands[]; /* ends with null */
const tool_command *command_find(const char *name);

/* All commands, in the order in which help lists them. */
/* clang-format off */
#define COMMANDS(X) \
    X(info) X(convert) X(make) X(picture) X(view) X(character) X(radial) X(nearest) \
    X(inside) X(ray) X(overlap) X(distance) X(selfcheck) X(map) X(clearance) X(deviation) \
    X(thickness) X(sweep) X(replay) X(field) X(slice) X(offset) X(samples) X(contacts) X(query) \
    X(compare) X(interfere) X(simulate) X(robot) X(batch) X(cache) X(demo) X(devices) X(bench) X(version) X(help) \
    X(completion) X(manual)
/* clang-format on */
#define DECLARE_COMMAND(name) extern const tool_command command_##name;
COMMANDS(DECLARE_COMMAND)

/* ---- field_options.c: signed distance fields from command lines ---- */

/* The option of all commands that build fields. */
#define CACHE_OPTION                                                                       \
    FLAG("cache",                                                                          \
         "read the field from the disk cache if it is there, otherwise add it; see 'abut " \
         "cache'")

/* The options that define a field: a list for tables of options. */
#define FIELD_OPTIONS                                                                            \
    OPTION("cells", "N", COUNT, "cells along the longest side (default: 64)"),                   \
        OPTION("cell", "SIZE", POSITIVE, "cell size, instead of --cells"),                       \
        OPTION("margin", "SIZE", POSITIVE,                                                       \
               "margin of the grid around the bounding box of the mesh (default: 2 cells)"),     \
        OPTION("band", "SIZE", POSITIVE,                                                         \
               "narrow band: largest distance from the surface to compute (default: unlimited; " \
               "--sparse: 3 cells)"),                                                            \
        CHOICE("sign", "METHOD", CHOICE,                                                         \
               "how the inside is determined: by winding numbers, which tolerate holes, or by "  \
               "pseudo-normals (default: auto)",                                                 \
               "auto|winding|normal"),                                                           \
        CACHE_OPTION, DEVICE_OPTION

/* Wall-clock times of field_build(). On a device the first build of a process also opens the
 * device and compiles its kernels. With --time the field is then built again: `ms` is the second
 * time. */
typedef struct field_times {
    double ms;
    double first_ms; /* 0: built once */
} field_times;

/* Builds the field of a mesh with these options. `times` may be null. */
void field_build(struct tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                 abut_field_options *options, field_times *times, abut_field **field);
/* Reads the options only. */
void field_options(struct tool_run *tool, const tool_arguments *arguments,
                   abut_field_options *options);
/* Reads a whole stream; false after an error, cancellation is one. */
bool stream_read(FILE *file, tool_text *bytes);
/* Reads all of standard input. */
void input_read(struct tool_run *tool, tool_text *bytes);
/* Reads a field or a mesh, depending on the bytes. */
void field_or_mesh(struct tool_run *tool, const char *path, abut_field **field, abut_mesh **mesh);

#include "drawing.h"

/* ---- main.c: one run of the command ---- */

typedef struct tool_run {
    const tool_command *command; /* null until parsed */
    bool quiet;
    bool input_taken; /* standard input is used by an operand */
    uint32_t threads; /* 0 = all of the machine */
    abut_context *context;
    tool_output out;
    struct progress *progress;
    struct tool_view *view;   /* the page of --html, or null */
    struct tool_live *live;   /* the page of --live, or null */
    abut_vec3 up;             /* up axis of the first mesh that defines one; all zero = none */
    const char *where;        /* prefix of messages about an invalid command line; null = none */
    tool_text *complaint;     /* receives errors instead of standard error; null = standard error */
    int error_pipe;           /* a child of `abut batch`: receives the complaint; 0 = none */
    struct tool_share *share; /* the processes of the same run; null = a single process */
} tool_run;

/* Runs the command of the words after the first. Returns the exit code. */
int tool_main(int count, char **words, struct tool_share *share);
/* Called, if it is not null, when a signal requests the end of the process: mpirun does not wait
 * long. Must be async-signal-safe. */
extern void (*tool_last_act)(void);

/* ---- share.c: one run by several processes ---- */

enum { SHARE_REASON = 500 };

typedef struct tool_share {
    uint32_t rank, count; /* index of this process, and their number */
    void *user;
    /* Sends sizes[i] bytes of each process i to all, concatenated. */
    void (*gather)(void *user, const void *own, const uint64_t *sizes, void *all);
    /* The same to the first process only; `all` is null in others. */
    void (*collect)(void *user, const void *own, const uint64_t *sizes, void *all);
    /* Ends all processes. */
    void (*give_up)(void *user, const char *why);
    /* Ends the communication of a process that ends by an error. */
    void (*end)(void *user);
    /* Builds a field together and writes it; the file is complete or absent. */
    abut_status (*write_field)(void *user, abut_mesh *mesh, const abut_field_options *options,
                               const char *path, bool plain, abut_field_info *info);
    bool over; /* a process has failed, and all have been notified */
    char reason[SHARE_REASON];
} tool_share;

/* Returns whether an item belongs to this process; always for a single process. */
bool share_mine(const tool_run *tool, uint64_t item, uint64_t chunk);
/* Returns whether this process has all results and prints them. */
bool share_prints(const tool_run *tool);
/* Ends this process if another one has failed; the first process reports the error. All processes
 * call it equally often, or end. */
void share_agree(tool_run *tool);
/* The exit code of the first process that failed, otherwise `code`, that of this one. */
int share_finish(tool_run *tool, int code);

/* Collects the lists of all processes in the first one, sorted by keys, of which there is one
 * for each element. `list` is the address of the array. Call after share_agree(). */
void share_collect(tool_run *tool, void *list, uint64_t *count, size_t bytes, const uint64_t *keys);
/* The least reliable level of all processes; of equal ones that with the lowest key. */
void share_worst(tool_run *tool, abut_reliability *reliability, uint64_t key);

/* Errors end the process, with their exit code, after the message was printed to standard error;
 * with --json an error object replaces the output. Files are never left incomplete: the library
 * writes them aside. */

/* Ends the process with the error of the library. */
_Noreturn void tool_fail(tool_run *tool, abut_status status);
/* The same unless the call succeeded. */
void ensure(abut_status status);
/* Returns whether a list was too small; other errors end the process. */
bool lacks_room(abut_status status);
/* Calls a function that fills a list (ABUT_LIST) of unknown length, again with the capacity that it
 * requires. */
#define FILL_LIST(found, call)                                                         \
    do                                                                                 \
        if (lacks_room(call)) {                                                        \
            (found)->capacity = (found)->count;                                        \
            (found)->list = tool_array((size_t)(found)->count, sizeof *(found)->list); \
            ensure(call);                                                              \
        }                                                                              \
    while (0)
/* The same for a function that fills abut_patches. */
#define FILL_PATCHES(found, call)                                                            \
    do                                                                                       \
        if (lacks_room(call)) {                                                              \
            (found)->patches.capacity = (found)->patches.count;                              \
            (found)->contacts.capacity = (found)->contacts.count;                            \
            (found)->patches.list =                                                          \
                tool_array((size_t)(found)->patches.count, sizeof *(found)->patches.list);   \
            (found)->contacts.list =                                                         \
                tool_array((size_t)(found)->contacts.count, sizeof *(found)->contacts.list); \
            ensure(call);                                                                    \
        }                                                                                    \
    while (0)
/* Errors outside the library: a kind such as "file error" or "format error", and a message. */
_Noreturn void tool_fail_with(tool_run *tool, const char *kind, const char *format, ...)
    TOOL_PRINTF(3, 4);
/* An invalid command line. */
_Noreturn void tool_refuse(tool_run *tool, const char *format, ...) TOOL_PRINTF(2, 3);
/* An invalid command line that the library detected. */
_Noreturn void tool_refuse_last(tool_run *tool);
/* Ends the process with an exit code, after its output. */
_Noreturn void tool_end(tool_run *tool, int code);
/* Prints an error that ends the run. */
void tool_print_failure(tool_run *tool, const char *kind, const char *sentence, int code);
/* Prints the lines of JSON so far, one for each step, for a reader of the pipe. */
void tool_flush_lines(tool_run *tool);
/* The health report of a mesh. */
abut_status mesh_report(abut_mesh *mesh, abut_mesh_report *report);
/* Only prints the error, for commands that continue; its JSON is written at the current
 * position. */
int tool_report_error(tool_run *tool, abut_status status);
/* The error message of the library without the name of the function at its start, which is not
 * relevant on the command line. */
const char *tool_error_message(const char *sentence);
/* Returns whether a signal requested cancellation. */
bool tool_cancelled(void);

/* Threads, progress and messages of the contexts of a run. */
abut_context_options tool_context_options(tool_run *tool);
/* Makes the context of a run. */
void tool_make_context(tool_run *tool);

/* The log callback of the context, with the run as user pointer: prints a line to standard
 * error. */
void tool_log(void *tool, abut_log_level level, const char *message);

/* The path to read, where "-" is standard input, which can be used once: otherwise returns null
 * with the error of the library set. */
const char *tool_input(tool_run *tool, const char *path);
/* The path to write, where "-" is standard output; text then goes to standard error. */
const char *tool_target(tool_run *tool, const char *path);
/* targets.c: ends the run if a file cannot be written, before its work. */
void target_check(tool_run *tool, const char *path);
/* Whether two paths are of the same regular file, which need not exist yet. */
bool target_is_same(const char *a, const char *b);
/* Reads a mesh with progress under its file name; through Assimp in a child process. */
abut_status tool_read(tool_run *tool, const char *path, const abut_mesh_read_options *options,
                      abut_mesh **mesh);
/* The same for a file that must be readable. */
abut_mesh *mesh_read(tool_run *tool, const char *path);
/* Adds "12 vertices, 20 triangles". */
void text_mesh_size(tool_text *to, const abut_mesh *mesh);
/* Writes a mesh in a format. */
void mesh_write(tool_run *tool, abut_mesh *mesh, const char *path, abut_mesh_format format);
/* apart.c: reads a mesh in a child process with limits on memory and time. */
abut_status tool_read_apart(tool_run *tool, const char *path, const abut_mesh_read_options *options,
                            abut_mesh **mesh);
/* The format of a word such as "ply"; ABUT_MESH_FORMAT_AUTO for other words. */
abut_mesh_format tool_format(const char *word);
/* Checks that a mesh can be written to `path`: by `to` (may be null), otherwise by the
 * extension. */
void tool_output_format(tool_run *tool, const char *path, const tool_given *to,
                        abut_mesh_format *format);
/* Prints the reliability of a result. Text: a line on standard error if it is not guaranteed, or
 * if a mesh is a sheet, which has no interior. JSON: "reliability" and "reason" of the open
 * object. */
void tool_print_reliability(tool_run *tool, const abut_reliability *reliability);
void json_reliability(tool_output *out, const abut_reliability *reliability);
/* The exit code of a search, and its word for --quiet. If nothing was found and the meshes do
 * not allow a reliable result, neither means "free". */
int tool_outcome(bool found, const abut_reliability *reliability);
const char *tool_yes_or_no(bool found, const abut_reliability *reliability);

/* ---- plot.c: curves over frames ---- */

typedef struct tool_curve {
    const char *name;
    abut_colour colour;
    const double *values; /* one for each frame; a gap if not finite */
} tool_curve;

typedef struct tool_plot {
    const char *title;
    const tool_curve *curves;
    uint32_t curve_count;
    const char *ends[2]; /* labels of the first and the last point; null = numbers of frames */
} tool_plot;

/* Draws plots below each other, all with the same number of frames. */
void plots_write(tool_run *tool, const tool_plot *plots, uint32_t count, size_t frames,
                 const char *path);

/* ---- apps/demos: scenes of `abut demo`, each with its exit code ---- */

int demo_clash(tool_run *tool, const tool_arguments *arguments); /* known interferences */
int demo_cloth(tool_run *tool, const tool_arguments *arguments); /* ball to garments */
#define DEMO_GARMENTS "dress|cape|overcoat|trousers-and-top"     /* abut_garment_kind_name() */
int demo_falls(tool_run *tool, const tool_arguments *arguments); /* stairs, snow, bounce */
int demo_letters(tool_run *tool, const tool_arguments *arguments);
int demo_line(tool_run *tool, const tool_arguments *arguments);
int demo_stand(tool_run *tool, const tool_arguments *arguments); /* stack to bowl */

/* ---- progress.c ---- */

/* Seconds of a monotonic clock. */
double seconds_now(void);

struct progress *progress_create(bool wanted, bool unicode);
/* Sets the subject of the progress bar and starts its clock. */
void progress_start(struct progress *progress, const char *subject);
/* Sets the number of the subject and the total, shown before its name; 0 of 0 = not shown. */
void progress_number(struct progress *progress, size_t number, size_t total);
/* The progress callback of the context, with the progress as user pointer. Returns false once
 * cancelled. */
bool progress_report(void *progress, const char *stage, double fraction);
/* The same for a step of a loop; ends the run once cancelled. */
void progress_step(tool_run *tool, const char *stage, uint64_t number, uint64_t count);
/* The same with the stage "frame N of COUNT". */
void progress_frame(tool_run *tool, uint64_t number, uint64_t count);
/* Erases the bar; call it before anything else is printed. */
void progress_erase(struct progress *progress);
bool terminal_width(int descriptor, size_t *width);

/* ---- help.c ---- */

void help_general(tool_text *to);
/* Adds the help of an option, with its choices if the text does not name all of them. */
void option_help(tool_text *to, const tool_option *option);
void help_command(tool_run *tool, const tool_command *command);
extern const char *const help_topics[];   /* names, ends with null */
const char *help_topic(const char *name); /* its text; null for an unknown topic */

/* ---- points.c ---- */

typedef struct tool_points {
    abut_vec3 *list;
    size_t count, room;
} tool_points;

/* Uniform random numbers from 0 to 1, and between two numbers (splitmix64). */
double random_uniform(uint64_t *state);
double random_between(uint64_t *state, double lo, double hi);

/* A file of lines, or standard input ("-"). */
typedef struct tool_lines {
    FILE *file;
    const char *path;
    size_t number; /* line number, from 1 */
    bool has_rows; /* a row, or one of names, was read */
    char line[4096];
} tool_lines;
/* */
void lines_open(tool_run *tool, const char *path, tool_lines *lines);
/* Reads the next line; sets `more` to whether there is one. Lines that exceed the buffer are an
 * error, except comments. */
void lines_next(tool_run *tool, tool_lines *lines, bool *more);
void lines_close(tool_lines *lines);
/* Reads the numbers of the next line that has any, as row_read(), and skips a first line of names.
 * Returns 0 at the end. */
int lines_row(tool_run *tool, tool_lines *lines, double *numbers, int most);

/* Reads rows of numbers separated by commas, semicolons or blanks; skips empty lines, # comments
 * and a first line of names. Each group of three of the first `columns` (3 or 6) numbers is a
 * point. */
void points_read(tool_run *tool, const char *path, uint32_t columns, tool_points *points);
/* Reads the points of a file of numbers (.csv, .txt, .xyz, or standard input) or the vertices of
 * a mesh. */
void points_load(tool_run *tool, const char *path, tool_points *points);
/* Adds `count` random points: in the bounding box of the mesh scaled by 1.2, or, with `near`
 * above 0, within that fraction of its diagonal from the surface. */
void points_random(const abut_mesh *mesh, size_t count, uint64_t seed, double near,
                   tool_points *points);
void points_add(tool_points *points, abut_vec3 point);

/* The options of commands with points: --random, --near, --seed. */
#define POINTS_OPTIONS                                                                             \
    OPTION("random", "N", COUNT,                                                                   \
           "N random points in the bounding box of the mesh, scaled by 1.2"),                      \
        OPTION(                                                                                    \
            "near", "F", POSITIVE,                                                                 \
            "random points near the surface instead: within this fraction of the diagonal of the " \
            "bounding box"),                                                                       \
        OPTION("seed", "S", COUNT, "seed of the random numbers (default: 1)")
/* Checks that either the second operand or --random gives the points. */
void points_choose(tool_run *tool, const tool_arguments *arguments);
/* Reads or generates the points of the command line. */
void points_get(tool_run *tool, const tool_arguments *arguments, const abut_mesh *mesh,
                tool_points *points);

/* ---- table.c: tables of results ---- */

#define TABLE_COLUMNS 24

typedef enum column_kind {
    COLUMN_REAL,
    COLUMN_WHOLE,
    COLUMN_WORD,
    COLUMN_NAME /* the index of a body; its name in comma-separated values */
} column_kind;

typedef struct tool_column {
    const char *name;
    column_kind kind;
    const char *(*name_of)(unsigned value); /* for COLUMN_WORD: such as abut_feature_name */
} tool_column;

#define REAL(name) \
    { name, COLUMN_REAL, NULL }
#define WHOLE(name) \
    { name, COLUMN_WHOLE, NULL }
#define NAME(name) \
    { name, COLUMN_NAME, NULL }
#define WORD(name, name_of) \
    { name, COLUMN_WORD, name_of }

typedef struct tool_table {
    const tool_column *columns;
    size_t column_count, row_count;
    /* Fills a row; NaN for missing values. */
    void (*row)(const void *data, size_t row, double *values);
    const void *data;
} tool_table;

/* Writes a table to a file, which is replaced only when complete: PLY or NPY by the extension,
 * otherwise comma-separated values; "-" is standard output. A null path prints comma-separated
 * values unless --json is given. */
void table_write(tool_run *tool, const char *path, const tool_table *table);
/* The same for tables with COLUMN_NAME columns of these bodies. */
void table_put_bodies(tool_run *tool, const char *path, const tool_table *table,
                      const abut_scene_body *bodies);
void table_vector(double *values, abut_vec3 v);
const char *table_boolean(unsigned value); /* "false", "true" */

/* ---- pose.c: poses on the command line and in files ---- */

/* Reads "x,90", "y,-45" or any axis, "1,1,0,30": a rotation in degrees. */
bool rotation_read(const char *words, abut_quat *turn);
/* The rotation b followed by a. */
abut_quat rotation_after(abut_quat a, abut_quat b);
/* Reads "X,Y,Z" (translation), "X,Y,Z@ROTATION" (rotation first), "@ROTATION@ROTATION", or
 * "X,Y,Z,QX,QY,QZ,QW". */
bool pose_read(const char *words, abut_pose *pose);

typedef struct tool_poses {
    abut_pose *list;
    size_t count, room;
} tool_poses;
/* Reads rows of numbers as for points: x y z, or x y z and a quaternion x y z w. */
void poses_load(tool_run *tool, const char *path, tool_poses *poses);
/* Reads up to `most` numbers of a line, separated by commas, semicolons or blanks. Returns their
 * number, or -1 if there are other words. */
int row_read(const char *line, double *numbers, int most);

/* ---- solid.c: primitives on the command line ---- */

/* Reads plane:NX,NY,NZ,D and so on, at a pose. */
void solid_read(tool_run *tool, const char *words, const abut_pose *pose, abut_collider *solid);
/* Makes the mesh of a primitive for a picture, and its pose; a plane is as large as a mesh near
 * it. */
void solid_mesh(tool_run *tool, const abut_collider *solid, const abut_mesh *near, abut_mesh **mesh,
                abut_pose *pose);

/* ---- pair.c: two posed meshes ---- */

typedef struct tool_pair {
    abut_bvh *bvh[2];
    abut_pose pose[2];
    tool_poses poses; /* of the second mesh; none = pose[1] only */
    abut_pair_options options;
} tool_pair;

/* The poses of two bodies: a list for tables of options. */
#define POSE_OPTIONS                                                                              \
    OPTION(                                                                                       \
        "pose", "POSE", TEXT,                                                                     \
        "pose of B: X,Y,Z (translation), @z,30 (rotation by 30 degrees about z), X,Y,Z@1,1,0,30 " \
        "(rotation, then translation) or X,Y,Z,QX,QY,QZ,QW (with a quaternion)"),                 \
        OPTION("pose-a", "POSE", TEXT, "pose of A")
/* The options of all commands about two meshes. */
#define PAIR_OPTIONS                                                                            \
    POSE_OPTIONS,                                                                               \
        OPTION("poses", "FILE", TEXT,                                                           \
               "many poses of B, one on each line: x y z, or x y z qx qy qz qw; prints a line " \
               "for each"),                                                                     \
        FLAG("surfaces", "surfaces only: a body inside another one does not touch it"),         \
        OPTION("out", "FILE", TEXT, "write the table to FILE and print a summary"),             \
        OPTION("png", "FILE", TEXT, "draw both meshes and the result"), PAGE_OPTION,            \
        CAMERA_OPTIONS("perpendicular to the result")

/* Reads the pose of an option; otherwise stores the identity and returns false. */
bool pose_option(tool_run *tool, const tool_arguments *arguments, const char *name,
                 abut_pose *pose);
/* Reads the meshes, or the only one, and the poses of a command line. */
void pair_load(tool_run *tool, const tool_arguments *arguments, abut_device *device,
               tool_pair *pair);
void pair_free(tool_pair *pair);
abut_collider pair_posed(const tool_pair *pair, int side);
/* The functions of a command for one pose and for many; many poses may run on a device. They
 * return the exit code. */
typedef int tool_pair_one(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair);
typedef int tool_pair_many(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                           const abut_pair_poses *poses);
/* Loads a pair, opens the device, and calls `one` or `many`. */
int pair_run(tool_run *tool, const tool_arguments *arguments, tool_pair_one *one,
             tool_pair_many *many);
/* The diagonal of the bounding box of a mesh. */
double mesh_diagonal(const abut_mesh *mesh);
/* Opens the object of the result, with the names of both files. */
void pair_begin(tool_output *out, const tool_arguments *arguments);
/* Draws both meshes and segments between pairs of points, if --png or --html is given. */
void pair_picture(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                  const abut_segment *segments, size_t count, bool dots);
/* Writes a table to --out, or prints it. */
void pair_table(tool_run *tool, const tool_arguments *arguments, const tool_table *table);
/* Prints the reliability with the names of the affected meshes, as far as the health report
 * shows them. */
void print_reliability_of(tool_run *tool, const abut_reliability *reliability,
                          abut_mesh *const *meshes, const char *const *names, uint32_t count);
/* Prints a note about units if one mesh is hundreds of times larger than the other, as with
 * millimetres and metres. Only for separate meshes: a small ball on a terrain is plausible. */
void print_unit_note(tool_run *tool, const char *name_a, const abut_mesh *a, const char *name_b,
                     const abut_mesh *b);

/* ---- moving.c: motions between meshes ---- */

/* Mesh files of a folder, by their extension, sorted by name with numbers in their order. */
typedef struct tool_frames {
    char **paths;
    size_t count, room;
} tool_frames;
/* */
void frames_list(tool_run *tool, const char *folder, tool_frames *frames);
bool frames_is_folder(const char *path);
/* Writes the meshes of a folder as a recording, and returns their number. */
uint64_t frames_record(tool_run *tool, const char *folder, const char *path);

/* A deforming mesh: whole, or with a mesh for each component. */
typedef struct tool_moving {
    abut_sweep *motion;
    abut_mesh **parts;
    abut_topology **topologies; /* of the parts */
    uint32_t part_count, vertex_count;
    uint32_t *begin;    /* first vertex of each component in `vertices` */
    uint32_t *vertices; /* vertices of the mesh, sorted by component */
    abut_vec3 *start, *end;
} tool_moving;
/* With `parts`, each component (connected through shared vertices) is a mesh. */
void moving_create(tool_run *tool, abut_mesh *mesh, bool parts, const abut_sweep_options *options,
                   tool_moving *moving);
void moving_free(tool_moving *moving);
/* Sets the step from one mesh to another with the same triangles; reports an error otherwise. */
void moving_step(tool_run *tool, tool_moving *moving, const char *start_path, abut_mesh *start,
                 const char *end_path, abut_mesh *end);
/* The same between positions of all vertices of the mesh. */
void moving_step_to(tool_moving *moving, const abut_vec3 *start, const abut_vec3 *end);
/* The four vertices of an impact, as indices of the mesh. */
void moving_vertices(const tool_moving *moving, const abut_impact *impact, uint32_t vertices[4]);

/* ---- recording.c: a recording as one mesh with several components ---- */

typedef struct tool_recording {
    abut_frames *frames;
    abut_frames_info info;
    bool aims;            /* steps end at the aims: positions before collision response */
    uint64_t first, last; /* frames that steps end at */
    uint32_t *indices;    /* of all meshes */
    abut_vec3 *room[3];   /* buffers */
    uint64_t read;        /* the frame whose successor needs no reading of its start; or 0 */
    const abut_vec3 *start, *end; /* of the current step */
} tool_recording;
/* Opens the first operand with --from and --to, or --picture for one step, and --frames-only. */
void recording_open(tool_run *tool, const tool_arguments *arguments, tool_recording *recording);
/* Reads the step that ends at a frame, at least 1. */
void recording_read(tool_recording *recording, uint64_t frame);
/* Whether a path is that of a recording; prints its properties into the open object. */
bool recording_is(const char *path);
abut_status recording_print(tool_run *tool, const char *path);
/* Makes one mesh of all meshes, at the start of the step. */
void recording_mesh(tool_run *tool, const tool_recording *recording, abut_mesh **mesh);

/* ---- apps/draw ---- */

/* Checks --png, and that --view and --up are not used without a picture. Returns as
 * picture_given(). */
const tool_given *picture_options_check(tool_run *tool, const tool_arguments *arguments);
/* Reads the camera of --view, --up and --fov. */
void camera_read(tool_run *tool, const tool_arguments *arguments, abut_picture_options *options);

/* Draws an SDF: the mesh and its cells (--png), or a movable slice and isosurfaces (--html). */
void field_draw(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                const abut_field *field);
/* Draws a mesh and its samples. */
void samples_draw(tool_run *tool, const tool_arguments *arguments,
                  const abut_picture_options *options, abut_mesh *mesh,
                  const abut_samples_arrays *view);
/* Draws a mesh and its self-intersections. */
void selfcheck_draw(tool_run *tool, const tool_arguments *arguments,
                    const abut_picture_options *options, abut_mesh *mesh,
                    const abut_pair_self_intersection *pairs, uint64_t count);
/* Draws the mesh at the time of the first impact, with all impacts of a step. */
void sweep_draw(tool_run *tool, const tool_arguments *arguments, const tool_moving *moving,
                const abut_impact *impacts, size_t count, const abut_mesh *const mesh[2]);

/* ---- info.c ---- */

/* Adds self-intersections to a report. If there are too many candidate pairs, the report stays
 * without them, and `given_up` is set. */
void tool_examine_self(abut_mesh *mesh, abut_mesh_report *report, bool *given_up);

/* ---- defects.c: the health report as lines and dots in a picture ---- */

/* Writes the page of `abut info`: all readable meshes with their defects marked. */
void defects_page(tool_run *tool, const tool_arguments *arguments);
/* Draws only; the second function also prints the legend. */
void defects_mark(abut_picture *picture, abut_mesh *mesh, tool_legend *legend);
void defects_draw(tool_run *tool, abut_picture *picture, const char *path, abut_mesh *mesh,
                  tool_legend *legend);

#endif

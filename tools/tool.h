/* What the files of the command share.
 *
 * The command is a table of commands (commands.c); each has a table of options (its own file) from
 * which parsing, help and shell completion all follow. A command works through the public library
 * and says its results through the writer of output.h, once for people and programs alike.
 */
#ifndef ABUT_TOOL_H
#define ABUT_TOOL_H

#include "output.h"

/* What the process returns; explained by `abut help exit-codes`. A command that can find something
 * returns CODE_FOUND where it does, so that `&&` goes on only where all is certainly free. A
 * cancelled run ends by the signal that cancelled it, which shells show as 128 + its number: 130
 * for Ctrl-C. */
enum { CODE_FINE = 0, CODE_WORK = 1, CODE_USAGE = 2, CODE_FOUND = 3, CODE_CANCELLED = 130 };

/* ---- options.c ---- */

typedef enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,      /* the command reads it; `choices` are for help and completion */
    OPTION_CHOICE,    /* one of `choices` */
    OPTION_NUMBER,    /* finite */
    OPTION_POSITIVE,  /* finite and above 0 */
    OPTION_TOLERANCE, /* finite and at least 0; may be left out: --name or --name=T */
    OPTION_COUNT,     /* whole, at least 1 */
    OPTION_VECTOR,    /* X,Y,Z */
    OPTION_SIZE,      /* X,Y,Z or X,Y or one for all, none below 0 */
    OPTION_PIXELS,    /* WxH */
    OPTION_COLOUR
} option_kind;

typedef struct tool_option {
    const char *name;     /* without dashes; null ends a table */
    const char *argument; /* what help calls the value; null for flags */
    option_kind kind;
    const char *help;    /* a phrase, wrapped by help */
    const char *choices; /* "a|b|c" or null */
    bool repeats;        /* may be given more than once */
} tool_option;

/* One option as it was given. */
typedef struct tool_given {
    const tool_option *option;
    const char *words; /* the value as typed; null for flags and values left out */
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

/* Reads what follows the command's name. 0, or an exit code after the error was reported. The
 * arguments are to be freed in either case. */
int options_parse(struct tool_run *tool, const struct tool_command *command, int count,
                  char **words, tool_arguments *arguments);
void arguments_free(tool_arguments *arguments);
/* The last time that an option was given, or null. */
const tool_given *option_given(const tool_arguments *arguments, const char *name);
/* 0 if the option was not given (null) or its number is from `least` to `most`; otherwise the exit
 * code after a sentence with the value, the range and the unit. */
int option_range(struct tool_run *tool, const tool_given *given, double least, double most,
                 const char *unit);
/* The same for a length: from 0 to ABUT_COORDINATE_MAX. */
int option_length(struct tool_run *tool, const tool_given *given);

/* ---- view.h: pages ---- */

/* The line of --html in tables of options. */
#define PAGE_OPTION                                                                            \
    {                                                                                          \
        "html", "FILE", OPTION_TEXT,                                                           \
            "show the same in a page for a browser, to turn and to ask: one file, no network", \
            NULL, false                                                                        \
    }

/* ---- device.c ---- */

/* The line of --device in a command's table of options. */
#define DEVICE_OPTION                                                                  \
    {                                                                                  \
        "device", "NAME", OPTION_TEXT,                                                 \
            "where to work: cpu (default), gpu, or a number or a part of a name from " \
            "'abut devices'",                                                          \
            "cpu|gpu", false                                                           \
    }

/* What --device names; null for the CPU path, which is the default. */
const char *device_named(const tool_arguments *arguments);
/* Opens the device that --device names: *device is null for the CPU path. A command that has no
 * other passes a null `device`: all but "cpu" is refused then. 0 or the exit code. */
int device_open(struct tool_run *tool, const tool_arguments *arguments, abut_device **device);
/* The hierarchy of a mesh on a device, or on the CPU where that is null. */
abut_status device_bvh(abut_mesh *mesh, abut_device *device, abut_bvh **bvh);

/* ---- commands.c ---- */

typedef enum operand_kind {
    OPERAND_FILES,
    OPERAND_SHAPE,
    OPERAND_TOPIC,
    OPERAND_NONE
} operand_kind;

typedef struct tool_command {
    const char *name;
    const char *operands; /* as usage shows them */
    const char *summary;  /* one line of general help; null hides the command */
    const char *about;    /* paragraphs, wrapped by help; a line that starts with a space is kept */
    const char *examples; /* lines */
    const char *found; /* what CODE_FOUND means here, after "3 "; null where it is not returned */
    const tool_option *options;
    operand_kind operand_kind;
    uint32_t operand_least, operand_most;
    int (*run)(struct tool_run *tool, const tool_arguments *arguments);
} tool_command;

extern const tool_command *const commands[]; /* ends with null */
const tool_command *command_find(const char *name);

extern const tool_command command_info, command_character, command_radial, command_convert,
    command_make, command_picture, command_view, command_nearest, command_inside, command_ray,
    command_overlap, command_distance, command_selfcheck, command_map, command_clearance,
    command_deviation, command_thickness, command_sweep, command_replay, command_field,
    command_slice, command_offset, command_samples, command_contacts, command_interfere,
    command_batch, command_cache, command_demo, command_devices, command_bench, command_version,
    command_help, command_completion, command_manual;

/* ---- field.c: fields from command lines ---- */

/* The option of all commands that build fields. */
#define CACHE_OPTION                                                                             \
    {                                                                                            \
        "cache", NULL, OPTION_FLAG,                                                              \
            "look for the field on disk first, and keep it there; see 'abut cache'", NULL, false \
    }

/* The options that say how a field is built: a list for tables. */
#define FIELD_OPTIONS                                                                            \
    {"cells", "N", OPTION_COUNT, "cells along the longest side (default: 64)", NULL, false},     \
        {"cell", "SIZE", OPTION_POSITIVE, "length of a cell, instead of --cells", NULL, false},  \
        {"margin",                                                                               \
         "SIZE",                                                                                 \
         OPTION_POSITIVE,                                                                        \
         "between the box of the mesh and that of the grid (default: 2 cells)",                  \
         NULL,                                                                                   \
         false},                                                                                 \
        {"band",                                                                                 \
         "SIZE",                                                                                 \
         OPTION_POSITIVE,                                                                        \
         "look no further than this from the surface (default: no limit; "                       \
         "--sparse: 3 cells)",                                                                   \
         NULL,                                                                                   \
         false},                                                                                 \
        {"sign",                                                                                 \
         "METHOD",                                                                               \
         OPTION_CHOICE,                                                                          \
         "what is inside: by winding numbers, which bear holes, or by pseudo-normals (default: " \
         "auto)",                                                                                \
         "auto|winding|normal",                                                                  \
         false},                                                                                 \
        CACHE_OPTION, DEVICE_OPTION

/* Wall-clock times of field_build(). On a device the first build of a process also opens the device
 * and compiles its kernels. With --time the field is then built again: `ms` is the second time.
 */
typedef struct field_times {
    double ms;
    double first_ms; /* 0: built once */
} field_times;

/* Builds the field of a mesh as these options say. 0, or the exit code after the error was
 * reported. `times` may be null.
 */
int field_build(struct tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                abut_field_options *options, field_times *times, abut_field **field);
/* Reads them alone. 0, or the exit code after the error was reported. */
int field_options(struct tool_run *tool, const tool_arguments *arguments,
                  abut_field_options *options);
/* Reads all of standard input. 0, or the exit code after the error was reported. */
int input_read(struct tool_run *tool, tool_text *bytes);
/* Reads a field or a mesh, whichever the bytes are. 0, or the exit code after the error was
 * reported. */
int field_or_mesh(struct tool_run *tool, const char *path, abut_field **field, abut_mesh **mesh);

#include "drawing.h"

/* ---- main.c: one run of the command ---- */

typedef struct tool_run {
    const tool_command *command; /* null until known */
    bool quiet;
    bool input_taken; /* standard input was named */
    uint32_t threads; /* 0 = as many as the machine offers */
    abut_context *context;
    tool_output out;
    struct progress *progress;
    struct tool_view *view;   /* of the page that --html asks for; else null */
    abut_vec3 up;             /* of the first mesh read that tells; all zero = none did */
    tool_text *complaint;     /* where errors go instead of standard error; null = there */
    struct tool_share *share; /* with the processes that do the same run; null = it is alone */
} tool_run;

/* Runs the command that the words after the first name. Gives the exit code. */
int tool_main(int count, char **words, struct tool_share *share);
/* Called, where it is not null, when a signal asks the process to end: mpirun does not wait long.
 * Only system calls that signal handlers may make. */
extern void (*tool_last_act)(void);

/* ---- share.c: one run by several processes ---- */

enum { SHARE_REASON = 500 };

typedef struct tool_share {
    uint32_t rank, count; /* which of how many this is */
    void *user;
    /* Gives sizes[i] bytes of each process i to all, one after the other. */
    void (*gather)(void *user, const void *own, const uint64_t *sizes, void *all);
    /* The same to the first alone; `all` is null in others. */
    void (*collect)(void *user, const void *own, const uint64_t *sizes, void *all);
    /* Ends all processes. */
    void (*give_up)(void *user, const char *why);
    /* Builds a field together and writes it, all or nothing. */
    abut_status (*write_field)(void *user, abut_mesh *mesh, const abut_field_options *options,
                               const char *path, bool plain, abut_field_info *info);
    bool over; /* a process has failed, and all know it */
    char reason[SHARE_REASON];
} tool_share;

/* Whether an item is for this process. Alone: always. */
bool share_mine(const tool_run *tool, uint64_t item, uint64_t chunk);
/* Whether this process has all results and tells them. */
bool share_tells(const tool_run *tool);
/* The exit code of the first process that failed, whose error the first one reports; else the
 * process's own. All call it equally often, or end. */
int share_agree(tool_run *tool, int code);
/* The lists of all processes for the first one, in the order of keys, of which there is one for
 * each element: `list` is the address of the array, from malloc. After share_agree(). */
void share_collect(tool_run *tool, void *list, uint64_t *count, size_t bytes, const uint64_t *keys);
/* The worst advice of all processes, and of equally bad ones that with the lowest key. */
void share_worst(tool_run *tool, abut_advice *advice, uint64_t key);

/* Says on standard error what went wrong and gives the exit code for it; with --json the error
 * becomes the whole output. The sentence is abut_last_error()'s. */
int tool_fail(tool_run *tool, abut_status status);
/* The same for what failed outside the library: "file error" or "format error" with a sentence. */
int tool_fail_with(tool_run *tool, const char *kind, const char *format, ...) TOOL_PRINTF(3, 4);
/* The same for a wrong command line, with a sentence of our own. */
int tool_refuse(tool_run *tool, const char *format, ...) TOOL_PRINTF(2, 3);
/* A wrong command line that only the library could see; the sentence is abut_last_error()'s. */
int tool_refuse_last(tool_run *tool);
/* Only says it, for commands that go on; the JSON of the error goes where the writer stands. */
int tool_complain(tool_run *tool, abut_status status);
/* A sentence of the library without the name of the function that may stand first: people at the
 * command line did not call any. */
const char *tool_sentence(const char *sentence);
/* Whether a signal asked to stop. */
bool tool_cancelled(void);

/* The context's log, with the run as its user: a line on standard error. */
void tool_log(void *tool, abut_log_level level, const char *message);

/* The path to read where "-" stands for standard input, which is there once only: null with the
 * error of the library set where it was named before. */
const char *tool_input(tool_run *tool, const char *path);
/* The path to write where "-" stands for standard output; what is said goes to standard error from
 * then on. */
const char *tool_target(tool_run *tool, const char *path);
/* Reads a mesh with progress under the name of its file; what goes through Assimp, apart. */
abut_status tool_read(tool_run *tool, const char *path, const abut_mesh_read_options *options,
                      abut_mesh **mesh);
/* apart.c: reads a mesh in a child process with limits on memory and time. */
abut_status tool_read_apart(tool_run *tool, const char *path, const abut_mesh_read_options *options,
                            abut_mesh **mesh);
/* The format that a word such as "ply" stands for; ABUT_MESH_FORMAT_AUTO for others. */
abut_mesh_format tool_format(const char *word);
/* Checks that a mesh can be written to `path`: by `to` (may be null), else by the ending. 0 with
 * the format, or the exit code after the error was reported. */
int tool_output_format(tool_run *tool, const char *path, const tool_given *to,
                       abut_mesh_format *format);
/* The reliability of an answer: for people a line on standard error if it is not guaranteed, or if
 * a mesh counts as a sheet, which has no inside; for programs "verdict" and "reason" of the object
 * that is being written. */
void tool_advise(tool_run *tool, const abut_advice *advice);
void json_advice(tool_output *out, const abut_advice *advice);
/* The exit code of a search, and its bare answer: where nothing was found on meshes that do not
 * allow an answer, that does not read as free. */
int tool_outcome(bool found, const abut_advice *advice);
const char *tool_yes_or_no(bool found, const abut_advice *advice);

/* ---- plot.c: curves over frames ---- */

typedef struct tool_curve {
    const char *name;
    abut_colour colour;
    const double *values; /* one a frame; what is not finite is a gap */
} tool_curve;

typedef struct tool_plot {
    const char *title;
    const tool_curve *curves;
    uint32_t curve_count;
    const char *ends[2]; /* what the first and the last point are; null = numbers of frames */
} tool_plot;

/* Draws plots below each other, of as many frames all. 0, or the exit code. */
int plots_write(tool_run *tool, const tool_plot *plots, uint32_t count, size_t frames,
                const char *path);

/* ---- demo_clash.c ---- */

/* An assembly whose interferences are known. The exit code. */
int demo_clash(tool_run *tool, const tool_arguments *arguments);

/* ---- demo_cloth.c ---- */

/* Runs the demo that the operand names: ball, sleeve or sheet. */
int demo_cloth(tool_run *tool, const tool_arguments *arguments);

/* ---- demo_falls.c ---- */

/* Runs stairs, snow or bounce. */
int demo_falls(tool_run *tool, const tool_arguments *arguments);

/* ---- demo_letters.c ---- */

/* Two letters that deform and pass each other. The exit code. */
int demo_letters(tool_run *tool, const tool_arguments *arguments);

/* ---- demo_line.c ---- */

/* Runs the scene `line`. The exit code. */
int demo_line(tool_run *tool, const tool_arguments *arguments);

/* ---- demo_stand.c ---- */

/* Stacks, walls, plates and a shot. */
int demo_stand(tool_run *tool, const tool_arguments *arguments);

/* ---- progress.c ---- */

/* On a clock that only goes on. */
double seconds_now(void);

struct progress *progress_create(bool wanted, bool unicode);
void progress_free(struct progress *progress);
/* Names what is being worked on and starts the clock. */
void progress_start(struct progress *progress, const char *subject);
/* Which of how many is worked on, shown before the name; 0 of 0 = not shown. */
void progress_number(struct progress *progress, size_t number, size_t total);
/* The context's callback, with the progress as its user. False once cancelled. */
bool progress_report(void *progress, const char *stage, double fraction);
/* Erases the bar; call before anything else is printed. */
void progress_erase(struct progress *progress);
bool terminal_width(int descriptor, size_t *width);

/* ---- help.c ---- */

void help_general(tool_text *to);
/* What an option is for, with its choices where the words do not name all of them. */
void option_help(tool_text *to, const tool_option *option);
int help_command(tool_run *tool, const tool_command *command);
extern const char *const help_topics[];   /* names, ends with null */
const char *help_topic(const char *name); /* its words; null where there is no such topic */

/* ---- points.c ---- */

typedef struct tool_points {
    abut_vec3 *list; /* from malloc */
    size_t count, room;
} tool_points;

/* A file of lines, or standard input ("-"). */
typedef struct tool_lines {
    FILE *file;
    const char *path;
    size_t number; /* of the line, from 1 */
    char line[4096];
} tool_lines;
/* 0, or the exit code after the error was reported; to be closed in either case. */
int lines_open(tool_run *tool, const char *path, tool_lines *lines);
/* Reads the next line; `more` tells whether there was one. Longer ones than fit are refused, but
 * for remarks. 0, or the exit code after the error was reported. */
int lines_next(tool_run *tool, tool_lines *lines, bool *more);
void lines_close(tool_lines *lines);

/* Rows of numbers, a line each, separated by commas, semicolons or blanks; empty lines, # remarks
 * and a first line of names are skipped. Each group of three of the first `columns` (3 or 6)
 * numbers becomes a point. 0, or the exit code after the error was reported. */
int points_read(tool_run *tool, const char *path, uint32_t columns, tool_points *points);
/* The points of a file of numbers (.csv, .txt, .xyz, or standard input) or the vertices of a mesh.
 */
int points_load(tool_run *tool, const char *path, tool_points *points);
/* Adds `count` random points: in the box of the mesh x 1.2, or, with `near` above 0, within that
 * part of its diagonal from the surface. False when out of memory. */
bool points_random(const abut_mesh *mesh, size_t count, uint64_t seed, double near,
                   tool_points *points);
bool points_add(tool_points *points, abut_vec3 point);
void points_free(tool_points *points);

/* The options of commands that take points: --random, --near, --seed. */
#define POINTS_OPTIONS                                                                       \
    {"random", "N",  OPTION_COUNT, "N random points in the box of the mesh, a fifth larger", \
     NULL,     false},                                                                       \
        {"near",                                                                             \
         "F",                                                                                \
         OPTION_POSITIVE,                                                                    \
         "random points within this part of the box's diagonal from the surface instead",    \
         NULL,                                                                               \
         false},                                                                             \
    {                                                                                        \
        "seed", "S", OPTION_COUNT, "start of the random numbers (default: 1)", NULL, false   \
    }
/* Whether the second operand or --random names the points, and not both. */
int points_choose(tool_run *tool, const tool_arguments *arguments);
/* Gets the points that were asked for. */
int points_get(tool_run *tool, const tool_arguments *arguments, const abut_mesh *mesh,
               tool_points *points);

/* ---- table.c: tables of results ---- */

#define TABLE_COLUMNS 24

typedef enum column_kind {
    COLUMN_REAL,
    COLUMN_WHOLE,
    COLUMN_WORD,
    COLUMN_NAME /* a number that stands for a body: its name as comma-separated values */
} column_kind;

typedef struct tool_column {
    const char *name;
    column_kind kind;
    const char *(*name_of)(unsigned value); /* of COLUMN_WORD: such as abut_feature_name */
} tool_column;

typedef struct tool_table {
    const tool_column *columns;
    size_t column_count, row_count;
    /* Gives a row; NaN stands for what is not there. */
    void (*row)(const void *data, size_t row, double *values);
    const void *data;
} tool_table;

/* Writes a table to a file, which is there only when complete: as PLY or NPY by its ending, else as
 * comma-separated values; "-" is standard output. To a null path those go there too, unless --json
 * is in effect.
 * 0, or the exit code after the error was reported. */
int table_put(tool_run *tool, const char *path, const tool_table *table);
/* The same where columns are COLUMN_NAME, of these bodies. */
int table_put_bodies(tool_run *tool, const char *path, const tool_table *table,
                     const abut_scene_body *bodies);
void table_vector(double *values, abut_vec3 v);
const char *table_boolean(unsigned value); /* "false", "true" */

/* ---- pose.c: poses as people write them ---- */

/* "x,90", "y,-45" or an axis of any direction, "1,1,0,30": a turn in degrees. */
bool rotation_read(const char *words, abut_quat *turn);
/* First b, then a. */
abut_quat rotation_after(abut_quat a, abut_quat b);
/* "X,Y,Z" (a shift), "X,Y,Z@TURN" (first the turn), "@TURN@TURN", or "X,Y,Z,QX,QY,QZ,QW". */
bool pose_read(const char *words, abut_pose *pose);

typedef struct tool_poses {
    abut_pose *list; /* from malloc */
    size_t count, room;
} tool_poses;
/* Rows of numbers as for points: x y z, or x y z and a quaternion x y z w. 0, or the exit code
 * after the error was reported. */
int poses_load(tool_run *tool, const char *path, tool_poses *poses);
/* Reads up to `most` numbers of a line, which commas, semicolons or blanks separate; gives how many
 * there are, or -1 for other words. */
int row_read(const char *line, double *numbers, int most);

/* ---- solid.c: solids of the command line ---- */

/* Reads plane:NX,NY,NZ,D and so on, at a pose. 0, or the exit code after the error was reported. */
int solid_read(tool_run *tool, const char *words, const abut_pose *pose, abut_solid *solid);
/* Makes its mesh for a picture, a plane as large as a mesh near it, and the pose of that. */
abut_status solid_mesh(tool_run *tool, const abut_solid *solid, const abut_mesh *near,
                       abut_mesh **mesh, abut_pose *pose);

/* ---- pair.c: two posed meshes ---- */

typedef struct tool_pair {
    abut_bvh *bvh[2];
    abut_pose pose[2];
    tool_poses poses; /* of the second mesh; none = only pose[1] */
    abut_pair_options options;
} tool_pair;

/* The options that all commands about two meshes have: a list for their tables. */
#define PAIR_OPTIONS                                                                                \
    {"pose",                                                                                        \
     "POSE",                                                                                        \
     OPTION_TEXT,                                                                                   \
     "where B is: X,Y,Z (shifted), @z,30 (turned by 30 degrees about z), X,Y,Z@1,1,0,30 (turned, "  \
     "then shifted) or X,Y,Z,QX,QY,QZ,QW (with a quaternion)",                                      \
     NULL,                                                                                          \
     false},                                                                                        \
        {"pose-a", "POSE", OPTION_TEXT, "where A is", NULL, false},                                 \
        {"poses",     "FILE",                                                                       \
         OPTION_TEXT, "many poses of B: x y z or x y z qx qy qz qw a line; prints a line for each", \
         NULL,        false},                                                                       \
        {"surfaces", NULL, OPTION_FLAG, "a body inside another does not touch it", NULL, false},    \
        {"out", "FILE", OPTION_TEXT, "write the table there and print a summary", NULL, false},     \
        {"png", "FILE", OPTION_TEXT, "draw both meshes and what was found into FILE", NULL, false}, \
        PAGE_OPTION,                                                                                \
        {"view",                                                                                    \
         "VIEW",                                                                                    \
         OPTION_TEXT,                                                                               \
         "where to look from: front, back, left, right, top, bottom, iso, or X,Y,Z (default: "      \
         "across what was found)",                                                                  \
         "front|back|left|right|top|bottom|iso",                                                    \
         false},                                                                                    \
    {                                                                                               \
        "up", "AXIS", OPTION_TEXT, "which way is up: x, y, z, -x, -y, -z or X,Y,Z (default: z)",    \
            "x|y|z|-x|-y|-z", false                                                                 \
    }

/* Reads the meshes, or the only one, and poses of a command line. 0, or the exit code after the
 * error was reported; to be freed in either case. */
int pair_load(tool_run *tool, const tool_arguments *arguments, abut_device *device,
              tool_pair *pair);
void pair_free(tool_pair *pair);
abut_posed pair_posed(const tool_pair *pair, int side);
/* What a command does at one pose, and at many: with `there` both hierarchies are on a device. The
 * exit code. */
typedef int tool_pair_one(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair);
typedef int tool_pair_many(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                           const abut_pair_poses *poses);
/* Loads a pair, opens the device, and goes on with one pose or many. */
int pair_run(tool_run *tool, const tool_arguments *arguments, tool_pair_one *one,
             tool_pair_many *many);
/* Opens the object of the answer, with the names of both files. */
void pair_begin(tool_output *out, const tool_arguments *arguments);
/* Draws both meshes and segments between two points each, if --png asks for it. */
int pair_picture(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                 const abut_segment *segments, size_t count, bool dots);
/* Puts a table where it belongs: into --out, or to people. */
int pair_table(tool_run *tool, const tool_arguments *arguments, const tool_table *table);
/* Advice with the names of those meshes that it is about, as far as the health report tells. */
void advise_of(tool_run *tool, const abut_advice *advice, abut_mesh *const *meshes,
               const char *const *names, uint32_t count);
/* Asks about units where one mesh is hundreds of times as large as the other, as millimetres are
 * beside metres. For what was found to be apart: a ball may well lie on a mountain. */
void units_remark(tool_run *tool, const char *name_a, const abut_mesh *a, const char *name_b,
                  const abut_mesh *b);

/* ---- parts.c ---- */

/* Makes a mesh of each solid that a mesh holds. 0, or the exit code after the error was reported;
 * the list is from malloc, and to be released in either case. */
int mesh_parts(tool_run *tool, abut_mesh *mesh, abut_mesh ***parts, uint32_t *count);

/* ---- moving.c: a mesh from one file to the next ---- */

/* Files of a folder that are meshes by their ending, sorted by name with numbers in their order. */
typedef struct tool_frames {
    char **paths; /* from malloc, each too */
    size_t count, room;
} tool_frames;
/* 0, or the exit code after the error was reported; to be freed in either case. */
int frames_list(tool_run *tool, const char *folder, tool_frames *frames);
void frames_free(tool_frames *frames);
bool frames_is_folder(const char *path);

/* A mesh as a motion: whole, or each connected part a mesh of its own. */
typedef struct tool_moving {
    abut_sweep *motion;
    abut_mesh **parts;          /* from malloc, as all */
    abut_topology **topologies; /* of the parts */
    uint32_t part_count, vertex_count;
    uint32_t *begin;    /* of the vertices of each part in `vertices` */
    uint32_t *vertices; /* of the mesh, part by part */
    abut_vec3 *start, *end;
} tool_moving;
/* With `parts` the connected ones, through shared vertices, are meshes of their own. */
int moving_create(tool_run *tool, abut_mesh *mesh, bool parts, const abut_sweep_options *options,
                  tool_moving *moving);
void moving_free(tool_moving *moving);
/* Takes the step from one mesh to another of the same triangles; refuses others, by their names. */
int moving_step(tool_run *tool, tool_moving *moving, const char *start_path, abut_mesh *start,
                const char *end_path, abut_mesh *end);
/* The same between positions of all vertices of the mesh. */
int moving_step_to(tool_run *tool, tool_moving *moving, const abut_vec3 *start,
                   const abut_vec3 *end);
/* The four vertices of an impact, by the numbers of the mesh. */
void moving_vertices(const tool_moving *moving, const abut_impact *impact, uint32_t vertices[4]);

/* ---- recording.c: a recorded motion as one mesh of several parts ---- */

typedef struct tool_recording {
    abut_frames *frames;
    abut_frames_info info;
    bool aims;                    /* steps go to where vertices were about to go */
    uint64_t first, last;         /* frames that steps lead to */
    uint32_t *indices;            /* of all meshes; from malloc */
    abut_vec3 *room[3];           /* the same */
    uint64_t read;                /* the frame that can follow without its start being read; or 0 */
    const abut_vec3 *start, *end; /* of the step that was read */
} tool_recording;
/* Opens the first operand for the steps that --from, --to and --frames-only ask for. 0, or the exit
 * code; to be closed in either case. */
int recording_open(tool_run *tool, const tool_arguments *arguments, tool_recording *recording);
void recording_close(tool_recording *recording);
/* Reads the step that leads to a frame, at least 1. */
int recording_read(tool_run *tool, tool_recording *recording, uint64_t frame);
/* All meshes as one, at the start of the step. */
int recording_mesh(tool_run *tool, const tool_recording *recording, abut_mesh **mesh);

/* ---- command_picture.c ---- */

/* The camera that --view, --up and --fov ask for. */
int camera_read(tool_run *tool, const tool_arguments *arguments, abut_picture_options *options);

/* ---- command_info.c ---- */

/* Completes a report with self-intersections. Where there are too many pairs to look at, the report
 * says as before that it did not, and `given_up` is set. */
abut_status tool_examine_self(abut_mesh *mesh, abut_mesh_report *report, bool *given_up);

/* ---- defects.c: the health report as lines and dots in a picture ---- */

/* Only draws; the other prints the legend as well. */
abut_status defects_mark(tool_run *tool, abut_picture *picture, abut_mesh *mesh,
                         tool_legend *legend);
abut_status defects_draw(tool_run *tool, abut_picture *picture, const char *path, abut_mesh *mesh,
                         tool_legend *legend);

#endif

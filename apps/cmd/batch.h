/* Jobs of `abut batch`: a job is another command of this program on one input with one output. */
#ifndef ABUT_TOOL_BATCH_H
#define ABUT_TOOL_BATCH_H

#include "tool.h"

typedef enum batch_product {
    PRODUCT_OPERAND, /* the output is the second operand */
    PRODUCT_OPTION,  /* it is the value of --out */
    PRODUCT_JSON     /* it is the output of --json */
} batch_product;

typedef struct batch_kind {
    const tool_command *command;
    batch_product product;
    const char *endings; /* "a|b|c": extensions of outputs; the first is the default */
} batch_kind;

typedef enum batch_state { JOB_OPEN, JOB_SKIPPED, JOB_DONE, JOB_FAILED } batch_state;

/* The last line of the manifest about an output. */
typedef struct batch_record {
    uint64_t key, bytes;
    uint64_t at; /* offset of the line + 1; 0 = no line */
    bool done;
} batch_record;

typedef struct batch_job {
    const batch_kind *kind;
    const char *words;  /* the command and its options, for words_split() */
    const char *input;  /* as given */
    const char *output; /* relative to the folder; valid UTF-8 */
    const char *error;  /* reason of the failure, or null */
    batch_state state;
    batch_record record;
} batch_job;

typedef struct batch_jobs {
    batch_job *list;
    batch_job **sorted; /* by output */
    size_t count, room;
    const char *base; /* the folder that names are relative to, or null */
} batch_jobs;

/* Builds the list of all jobs of the command line, validated, in their order, with distinct
 * outputs. */
void jobs_collect(tool_run *tool, const tool_arguments *arguments, batch_jobs *jobs);
/* The job with an output, or null. */
batch_job *jobs_find(const batch_jobs *jobs, const char *output);

/* Splits a line like a shell: blanks, '...', "...", backslashes; no variables, no patterns. The
 * words are in `line`, which is modified. Returns false if a quote is not closed. */
bool words_split(char *line, char ***words, size_t *count);

enum { FLAT_MEMBERS = 24 };
typedef struct flat_object {
    struct {
        char *key, *value; /* a string without its quotes, otherwise the literal */
    } members[FLAT_MEMBERS];
    size_t count;
} flat_object;

/* Parses a JSON object without nested objects or lists, in place; empty after a syntax error. */
flat_object flat_parse(char *line);
/* The value of a member, or null. */
const char *flat_value(const flat_object *object, const char *key);

/* ---- batch_index.c ---- */

/* The size of a regular file, or -1. */
int64_t batch_file_bytes(const char *path);
/* Writes FOLDER/index.html. */
void batch_write_index(tool_run *tool, const char *folder, const batch_jobs *jobs);

#endif

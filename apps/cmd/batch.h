/* Declarations of `abut batch`: jobs, the manifest that records them, and the claims that
 * prevent two processes from running the same job.
 *
 * A job is another command of this program on one input with one output. It has four steps. Each
 * is atomic: if the process is killed, it either happened or did not.
 *
 *   1. The command writes FOLDER/.abut-batch/KEY/output.EXTENSION (to a temporary file that is
 *      renamed, as for all files of abut).
 *   2. A line with "done" is added to the manifest and synced to disk.
 *   3. The file is renamed to its final name.
 *   4. The folder KEY is removed, and the claim is released.
 *
 * KEY is a hash of command, options, input with its size and time, and output. An output in a
 * folder of that name is therefore the complete output of exactly this job: a process that finds
 * one continues with step 2 or 3, and no finished work is repeated. A job is done if its last
 * line has this key and "done", there is no such output, and the file has the size in the line.
 *
 * A folder KEY without an output, of a job that is not claimed, shows that a process ended
 * during the job, for example for lack of memory. Such a job is run last.
 *
 * Claims are locks on bytes of the manifest far beyond its end. The system releases them when
 * their process ends, in any way. */
#ifndef ABUT_TOOL_BATCH_H
#define ABUT_TOOL_BATCH_H

#include "tool.h"

/* ---- batch_words.c: words, flat JSON, hashes ---- */

/* Splits a line like a shell: blanks, '...', "...", backslashes; no variables, no patterns. The
 * words are in `line`, which is modified. Returns false if a quote is not closed or memory runs
 * out. */
bool words_split(char *line, char ***words, size_t *count);
/* Adds a word quoted for words_split(), with a blank before it unless it is the first. */
void words_join(tool_text *to, const char *word);

typedef struct flat_member {
    char *key, *value; /* a string without its quotes, otherwise the literal */
} flat_member;

/* Parses a JSON object without nested objects or lists, in place. Returns the number of members;
 * 0 on a syntax error or for more than `most` members. */
size_t flat_parse(char *line, flat_member *members, size_t most);
const char *flat_value(const flat_member *members, size_t count, const char *key);

/* FNV-1a of 64 bits; start with HASH_START. */
#define HASH_START 0xcbf29ce484222325u
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count);

/* ---- batch_jobs.c: lists of jobs ---- */

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

typedef struct batch_job {
    const batch_kind *kind;
    char *words;  /* the command and its options, for words_split() */
    char *input;  /* as given */
    char *output; /* relative to the folder; valid UTF-8 */
    char *error;  /* reason of the failure, or null */
    batch_state state;
} batch_job;

typedef struct batch_jobs {
    batch_job *list;
    size_t count, room;
    const char *base; /* the folder that names are relative to, or null */
} batch_jobs;

/* Builds the list of all jobs of the command line, validated, in their order, with distinct
 * outputs. Returns 0, or the exit code after the error was reported. */
int jobs_collect(tool_run *tool, const tool_arguments *arguments, batch_jobs *jobs);
void jobs_free(batch_jobs *jobs);

/* ---- batch_index.c ---- */

/* Writes FOLDER/index.html: all inputs, with pictures of them and links to their outputs. */
abut_status batch_index(tool_run *tool, const char *folder, const batch_jobs *jobs);

/* ---- batch_manifest.c ---- */

/* The last line of the manifest for an output. */
typedef struct batch_record {
    char *output; /* null: no record */
    uint64_t key, bytes, at;
    bool done;
} batch_record;

typedef struct batch_manifest {
    int file; /* -1: not open */
    char *path;
    uint64_t read_to,
        begun; /* in bytes: end of the part that was read, and the end at the start of the run */
    batch_record *records; /* a hash table; its size is a power of two */
    size_t count, room;
    char *buffer;
    size_t buffer_bytes;
} batch_manifest;

/* Opens the manifest, creates it unless `look` is set, and reads it. Takes ownership of the
 * path. Returns 0, or the exit code after the error was reported; close it in either case. */
int manifest_open(tool_run *tool, batch_manifest *manifest, char *path, bool look);
void manifest_close(batch_manifest *manifest);
/* Reads the lines that other processes have added. Returns false with the error of the library
 * set. */
bool manifest_refresh(batch_manifest *manifest);
/* The last record of an output, or null. */
const batch_record *manifest_find(const batch_manifest *manifest, const char *output);
/* Adds a line, which ends with a newline, and syncs it to disk. Returns false with the error of
 * the library set; then the manifest is unchanged. */
bool manifest_append(batch_manifest *manifest, const tool_text *line);
/* Claims an output. Returns false if another process has it, or once cancelled. With `wait`,
 * waits for it. */
bool manifest_claim(const batch_manifest *manifest, const char *output, bool wait);
void manifest_release(const batch_manifest *manifest, const char *output);

#endif

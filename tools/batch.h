/* What the files of `abut batch` share: jobs, the manifest that remembers them, and the claims that
 * keep two processes from doing the same one.
 *
 * A job is another command of this program on one input with one output. It is done in four steps,
 * each of which either happened or did not, whenever the process is killed:
 *
 *   1. the command writes FOLDER/.abut-batch/KEY/output.ENDING (aside and renamed, as all files
 *      of abut);
 *   2. a line that says "done" is added to the manifest, and is on disk;
 *   3. the file is renamed to its final name;
 *   4. the folder KEY goes, and the claim ends.
 *
 * KEY stands for command, options, input with its size and time, and output. An output in a folder
 * of that name is therefore the complete output of exactly this job: who finds one goes on with
 * step 2 or 3, and nothing finished is computed again. A job is done where its last line says so
 * with this key, there is no such output, and the file has the size that the line says.
 *
 * Who finds a folder KEY without an output, of a job that nobody has claimed, does that job last:
 * it may be what ended a process, for want of memory say.
 *
 * Claims are locks on bytes of the manifest far beyond its end. The system drops them when their
 * process ends, however it ends. */
#ifndef ABUT_TOOL_BATCH_H
#define ABUT_TOOL_BATCH_H

#include "tool.h"

/* ---- batch_words.c: words, flat JSON, hashes ---- */

/* Splits a line as a shell would: blanks, '...', "...", backslashes; no variables, no patterns. The
 * words are in `line`, which is changed. False where a quote is not closed or memory runs out. */
bool words_split(char *line, char ***words, size_t *count);
/* Adds a word so that words_split() finds it again, with a blank before it where it is not the
 * first. */
void words_join(tool_text *to, const char *word);

typedef struct flat_member {
    char *key, *value; /* a string without its quotes, else the value as it stands */
} flat_member;

/* Reads a JSON object without objects or lists in it, in place. How many members there are; 0 where
 * it is none or has more than `most`. */
size_t flat_parse(char *line, flat_member *members, size_t most);
const char *flat_value(const flat_member *members, size_t count, const char *key);

/* FNV-1a of 64 bits; start with HASH_START. */
#define HASH_START 0xcbf29ce484222325u
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count);

/* ---- batch_jobs.c: lists of jobs ---- */

typedef enum batch_product {
    PRODUCT_OPERAND, /* the output is the second operand */
    PRODUCT_OPTION,  /* it is the value of --out */
    PRODUCT_JSON     /* it is what --json prints */
} batch_product;

typedef struct batch_kind {
    const tool_command *command;
    batch_product product;
    const char *endings; /* "a|b|c" that outputs may have; the first is the default */
} batch_kind;

typedef enum batch_state { JOB_OPEN, JOB_SKIPPED, JOB_DONE, JOB_FAILED } batch_state;

typedef struct batch_job {
    const batch_kind *kind;
    char *words;  /* the command and its options, for words_split() */
    char *input;  /* as it was given */
    char *output; /* within the folder; valid UTF-8 */
    char *error;  /* why it failed, or null */
    batch_state state;
} batch_job;

typedef struct batch_jobs {
    batch_job *list;
    size_t count, room;
    const char *base; /* the folder whose part of names is left out, or null */
} batch_jobs;

/* Makes the list of all jobs that the command line asks for, checked, in their order, each output
 * once. 0, or the exit code after the error was reported. */
int jobs_collect(tool_run *tool, const tool_arguments *arguments, batch_jobs *jobs);
void jobs_free(batch_jobs *jobs);

/* ---- batch_index.c ---- */

/* Writes FOLDER/index.html: all inputs, with pictures of them and links to their outputs. */
abut_status batch_index(tool_run *tool, const char *folder, const batch_jobs *jobs);

/* ---- batch_manifest.c ---- */

/* The last line about an output. */
typedef struct batch_record {
    char *output; /* null: no record */
    uint64_t key, bytes, at;
    bool done;
} batch_record;

typedef struct batch_manifest {
    int file; /* -1: there is none */
    char *path;
    uint64_t read_to, begun; /* in bytes: how far it was read, and where it ended at the start */
    batch_record *records;   /* a hash table; its size is a power of two */
    size_t count, room;
    char *buffer;
    size_t buffer_bytes;
} batch_manifest;

/* Opens the manifest, creates it unless `look` only, and reads it. Takes the path over. 0, or the
 * exit code after the error was reported; to be closed in either case. */
int manifest_open(tool_run *tool, batch_manifest *manifest, char *path, bool look);
void manifest_close(batch_manifest *manifest);
/* Reads what processes have added since. False with the error of the library set. */
bool manifest_refresh(batch_manifest *manifest);
/* The last that is known about an output, or null. */
const batch_record *manifest_find(const batch_manifest *manifest, const char *output);
/* Adds a line, which ends with a newline, and waits until it is on disk. False with the error of
 * the library set; then the manifest is as it was. */
bool manifest_append(batch_manifest *manifest, const tool_text *line);
/* Claims an output: false where another process has it, or once cancelled. With `wait`, waits. */
bool manifest_claim(const batch_manifest *manifest, const char *output, bool wait);
void manifest_release(const batch_manifest *manifest, const char *output);

#endif

/* Stands between a program and the C library (LD_PRELOAD) and makes one of its calls on files fail, or kills the program
   just before or just after it. Counted, from 1, are: making a file, setting its length, writing at a position or at the
   cursor (not to the standard streams), changing its mode, flushing a file or a folder, renaming, removing.

   FAULT_LOG   a file that gets the name of every counted call, a line each
   FAULT_AT    which call; 0 for all of them
   FAULT_DO    errno:N, kill-before, kill-after, or short (write half of what was asked) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum action { PASS, FAIL, SHORT, KILL_AFTER };

static atomic_int count;

/* Counts a call, writes it down, and says what is to happen to it. Raw system calls: ours must not be counted. */
static enum action counted(const char *name) {
    int number = ++count;
    const char *log = getenv("FAULT_LOG");
    if (log) {
        long fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        char line[64];
        size_t length = strlen(name);
        memcpy(line, name, length);
        line[length] = '\n';
        syscall(SYS_write, fd, line, length + 1);
        syscall(SYS_close, fd);
    }
    const char *at = getenv("FAULT_AT"), *action = getenv("FAULT_DO");
    if (!at || !action || (atoi(at) != 0 && atoi(at) != number)) return PASS;
    if (strcmp(action, "kill-before") == 0) syscall(SYS_kill, getpid(), SIGKILL);
    if (strcmp(action, "kill-after") == 0) return KILL_AFTER;
    if (strcmp(action, "short") == 0) return SHORT;
    errno = atoi(action + strlen("errno:"));
    return FAIL;
}

/* The body of a replacement: what is to happen, the real call, and the end of the program where that is due. */
#define INSTEAD(name, result, function, types, ...)                            \
    static result(*real) types;                                                \
    if (!real) real = (result(*) types)dlsym(RTLD_NEXT, function);             \
    enum action action = counted(name);                                        \
    if (action == FAIL) return -1;                                             \
    result done = real(__VA_ARGS__);                                           \
    if (action == KILL_AFTER) syscall(SYS_kill, getpid(), SIGKILL);            \
    return done

static const char *flush_name(int fd) {
    struct stat found;
    return fstat(fd, &found) == 0 && S_ISDIR(found.st_mode) ? "flush folder" : "flush";
}

static size_t cut(enum action action, size_t length) { return action == SHORT && length > 1 ? length / 2 : length; }

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    INSTEAD("write", ssize_t, "pwrite64", (int, const void *, size_t, off64_t), fd, bytes, cut(action, length), at);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    if (fd <= 2) return syscall(SYS_write, fd, bytes, length);
    INSTEAD("write", ssize_t, "write", (int, const void *, size_t), fd, bytes, cut(action, length));
}

int ftruncate64(int fd, off64_t length) {
    INSTEAD("set length", int, "ftruncate64", (int, off64_t), fd, length);
}

int fchmod(int fd, mode_t mode) {
    INSTEAD("change mode", int, "fchmod", (int, mode_t), fd, mode);
}

int fsync(int fd) {
    INSTEAD(flush_name(fd), int, "fsync", (int), fd);
}

int fdatasync(int fd) {
    INSTEAD(flush_name(fd), int, "fdatasync", (int), fd);
}

int rename(const char *from, const char *to) {
    INSTEAD("rename", int, "rename", (const char *, const char *), from, to);
}

int unlink(const char *path) {
    INSTEAD("remove", int, "unlink", (const char *), path);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (!(flags & O_CREAT)) return syscall(SYS_openat, AT_FDCWD, path, flags, 0);
    INSTEAD("make", int, "open64", (const char *, int, ...), path, flags, mode);
}

/* A disk that keeps a record and fails when told: loaded before the C library into a process that writes a store.
 *
 * KEYLOOM_DISK_FILE   the file to watch, and with it its logs FILE.redo0 and FILE.redo1; or a folder, and all files in it
 *                     but those called LOG, which tell people what happened
 * KEYLOOM_DISK_LOG    where to record its writes and syncs, in their order; FILE.marks is recorded as marks
 * KEYLOOM_DISK_FAULT  a file whose text says what fails as long as it is there: space, short, sync or root
 *
 * A record is a letter, the number of the file (0, or 1 and 2 for the logs; in a folder that of its inode), the offset and
 * the length (64 bits each, as the machine has them), and the bytes:
 * W written, D written and synced at once (O_DSYNC), S all synced, T cut or grown to the offset, M marked. In a folder, where
 * the bytes are names: C made, R renamed (two names with a zero between them), L linked (two), U unlinked, F all of that synced.
 *
 * Pages that are written to in a map of a file are recorded as written before whatever is recorded next.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static ssize_t raw_write(int fd, const void *bytes, size_t length) {
    REAL(ssize_t, "write", int, const void *, size_t);
    return real(fd, bytes, length);
}

/* Whether fd is the file that the variable names, with this at the end of its name. */
static int is(int fd, const char *variable, const char *end) {
    const char *name = getenv(variable);
    char path[4096];
    struct stat one, two;
    if (!name || snprintf(path, sizeof path, "%s%s", name, end) >= (int)sizeof path) return 0;
    return !fstat(fd, &one) && !stat(path, &two) && one.st_ino == two.st_ino && one.st_dev == two.st_dev;
}

/* What stands behind the name of the watched folder in a path, "/" and a name; NULL if nothing does, or a LOG. */
static const char *in_folder(const char *path) {
    const char *folder = getenv("KEYLOOM_DISK_FILE");
    size_t length = folder ? strlen(folder) : 0;
    if (!length || strncmp(path, folder, length) || path[length] != '/') return NULL;
    return strncmp(path + length, "/LOG", 4) ? path + length : NULL;
}

/* The number of the file that fd is, or -1 if it is none of those that are watched. */
static int64_t number(int fd) {
    static const char *ends[] = { "", ".redo0", ".redo1" };
    char link[64], path[4096];
    struct stat file;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        if (in_folder(path)) return fstat(fd, &file) ? -1 : (int64_t)file.st_ino;
    }
    for (int i = 0; i < 3; i++)
        if (is(fd, "KEYLOOM_DISK_FILE", ends[i])) return i;
    return -1;
}

static int watched(int fd) { return number(fd) >= 0; }

static int fails(const char *what) {
    const char *name = getenv("KEYLOOM_DISK_FAULT");
    char text[16] = {0};
    int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    return length > 0 && !strncmp(text, what, strlen(what));
}

static void record_one(char kind, int64_t file, int64_t offset, const struct iovec *parts, int count, int64_t length) {
    static int log = -1;
    const char *name = getenv("KEYLOOM_DISK_LOG");
    if (!name) return;
    if (log < 0) log = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    raw_write(log, &kind, 1);
    raw_write(log, &file, 8);
    raw_write(log, &offset, 8);
    raw_write(log, &length, 8);
    for (int i = 0; i < count && length > 0; i++) {
        size_t part = parts[i].iov_len < (size_t)length ? parts[i].iov_len : (size_t)length;
        raw_write(log, parts[i].iov_base, part);
        length -= part;
    }
}

/* Maps of watched files that can be written to, and what was in them when last looked at. */
static struct map { char *start, *seen; size_t length; int64_t file; } maps[8];
#define EACH_MAP(map) (struct map *map = maps; map < maps + sizeof maps / sizeof *maps; map++)
#define PAGE 4096

/* Records the pages of maps that were written to since. */
static void collect(void) {
    char page[PAGE];
    for EACH_MAP(map)
        for (size_t at = 0; map->start && at < map->length; at += PAGE) {
            size_t length = map->length - at < PAGE ? map->length - at : PAGE;
            memcpy(page, map->start + at, length);
            if (!memcmp(page, map->seen + at, length)) continue;
            memcpy(map->seen + at, page, length);
            struct iovec part = { page, length };
            record_one('W', map->file, at, &part, 1, length);
        }
}

static void record(char kind, int64_t file, int64_t offset, const struct iovec *parts, int count, int64_t length) {
    collect();
    record_one(kind, file, offset, parts, count, length);
}

static void *map_with(const char *symbol, void *place, size_t length, int access, int flags, int fd, off64_t offset) {
    void *(*real)(void *, size_t, int, int, int, off64_t) =
        (void *(*)(void *, size_t, int, int, int, off64_t))dlsym(RTLD_NEXT, symbol);
    char *start = real(place, length, access, flags, fd, offset);
    if (start == MAP_FAILED || !(flags & MAP_SHARED) || !(access & PROT_WRITE) || fd < 0 || !watched(fd)) return start;
    char *seen = malloc(length);
    /* What is not recorded must not look as if it were. */
    if (offset || !seen) abort();
    memcpy(seen, start, length);
    pthread_mutex_lock(&lock);
    for EACH_MAP(map)
        if (!map->start) {
            *map = (struct map){ start, seen, length, number(fd) };
            pthread_mutex_unlock(&lock);
            return start;
        }
    abort();
}

void *mmap(void *place, size_t length, int access, int flags, int fd, off_t offset) {
    return map_with("mmap", place, length, access, flags, fd, offset);
}
void *mmap64(void *place, size_t length, int access, int flags, int fd, off64_t offset) {
    return map_with("mmap64", place, length, access, flags, fd, offset);
}

int munmap(void *start, size_t length) {
    REAL(int, "munmap", void *, size_t);
    for EACH_MAP(map)
        if (map->start && map->start == start) {
            pthread_mutex_lock(&lock);
            collect();
            free(map->seen);
            *map = (struct map){ 0 };
            pthread_mutex_unlock(&lock);
        }
    return real(start, length);
}

static ssize_t put(int fd, const struct iovec *parts, int count, off_t offset) {
    REAL(ssize_t, "pwritev", int, const struct iovec *, int, off_t);
    int at_once = (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
    if (fails("space")) { errno = ENOSPC; return -1; }
    if (at_once && fails("root")) { errno = EIO; return -1; }
    struct iovec half = { parts[0].iov_base, parts[0].iov_len / 2 };
    if (fails("short")) { parts = &half; count = 1; }
    pthread_mutex_lock(&lock);
    ssize_t length = real(fd, parts, count, offset);
    if (length > 0) record(at_once ? 'D' : 'W', number(fd), offset, parts, count, length);
    pthread_mutex_unlock(&lock);
    return length;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    struct iovec part = { (void *)bytes, length };
    return watched(fd) ? put(fd, &part, 1, offset) : real(fd, bytes, length, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    REAL(ssize_t, "pwritev", int, const struct iovec *, int, off_t);
    return watched(fd) ? put(fd, parts, count, offset) : real(fd, parts, count, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    if (!watched(fd)) return real(fd, parts, count);
    ssize_t length = put(fd, parts, count, lseek(fd, 0, SEEK_CUR));
    if (length > 0) lseek(fd, length, SEEK_CUR);
    return length;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    struct iovec part = { (void *)bytes, length };
    if (watched(fd)) return writev(fd, &part, 1);
    ssize_t written = raw_write(fd, bytes, length);
    if (written > 0 && is(fd, "KEYLOOM_DISK_FILE", ".marks")) {
        pthread_mutex_lock(&lock);
        record('M', 0, 0, &part, 1, written);
        pthread_mutex_unlock(&lock);
    }
    return written;
}

static int sync_with(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    struct stat file;
    int folder = is(fd, "KEYLOOM_DISK_FILE", "") && !fstat(fd, &file) && S_ISDIR(file.st_mode);
    if (!watched(fd)) return real(fd);
    if (fails("sync")) { errno = EIO; return -1; }
    pthread_mutex_lock(&lock);
    /* What comes into a map from here on may not be on the disk. */
    collect();
    int outcome = real(fd);
    if (!outcome) record_one(folder ? 'F' : 'S', number(fd), 0, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return outcome;
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }

static int cut_with(const char *name, int fd, off_t length) {
    int (*real)(int, off_t) = (int (*)(int, off_t))dlsym(RTLD_NEXT, name);
    if (!watched(fd)) return real(fd, length);
    pthread_mutex_lock(&lock);
    int outcome = real(fd, length);
    if (!outcome) record('T', number(fd), length, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return outcome;
}

int ftruncate(int fd, off_t length) { return cut_with("ftruncate", fd, length); }
int ftruncate64(int fd, off64_t length) { return cut_with("ftruncate64", fd, length); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return pwrite(fd, bytes, length, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return pwritev(fd, parts, count, offset); }

/* Records what happened to names of the folder. */
static void named(char kind, int64_t file, const char *one, const char *two) {
    struct iovec parts[2] = { { (void *)one, strlen(one) }, { NULL, 0 } };
    char second[4097] = {0};
    if (two) {
        snprintf(second + 1, sizeof second - 1, "%s", two);
        parts[1].iov_base = second;
        parts[1].iov_len = 1 + strlen(two);
    }
    record(kind, file, 0, parts, 2, parts[0].iov_len + parts[1].iov_len);
}

static int open_with(const char *symbol, const char *path, int flags, mode_t mode) {
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, symbol);
    const char *name = (flags & O_CREAT) ? in_folder(path) : NULL;
    if (!name) return real(path, flags, mode);
    if (fails("space") && access(path, F_OK)) { errno = ENOSPC; return -1; }
    pthread_mutex_lock(&lock);
    int is_new = (flags & O_TRUNC) || access(path, F_OK);
    int fd = real(path, flags, mode);
    if (fd >= 0 && is_new) named('C', number(fd), name, NULL);
    pthread_mutex_unlock(&lock);
    return fd;
}

#define OPEN(symbol) \
    int symbol(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return open_with(#symbol, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

static int two_names(char kind, const char *symbol, const char *from, const char *to) {
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, symbol);
    const char *one = in_folder(from), *two = in_folder(to);
    if (!one || !two) return real(from, to);
    pthread_mutex_lock(&lock);
    int outcome = real(from, to);
    if (!outcome) named(kind, 0, one, two);
    pthread_mutex_unlock(&lock);
    return outcome;
}

int rename(const char *from, const char *to) { return two_names('R', "rename", from, to); }
int link(const char *from, const char *to) { return two_names('L', "link", from, to); }

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    const char *name = in_folder(path);
    if (!name) return real(path);
    pthread_mutex_lock(&lock);
    int outcome = real(path);
    if (!outcome) named('U', 0, name, NULL);
    pthread_mutex_unlock(&lock);
    return outcome;
}

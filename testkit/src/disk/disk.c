/* A disk that keeps a record and fails when told: loaded before the C library into a process that writes a store.
 *
 * KEYLOOM_DISK_FILE   the file to watch, and with it its logs FILE.redo0 and FILE.redo1
 * KEYLOOM_DISK_LOG    where to record its writes and syncs, in their order; FILE.marks is recorded as marks
 * KEYLOOM_DISK_FAULT  a file whose text says what fails as long as it is there: space, short, sync or root
 *
 * A record is a letter, the number of the file (0, or 1 and 2 for the logs), the offset and the length (64 bits each, as the machine has them), and the bytes:
 * W written, D written and synced at once (O_DSYNC), S all synced, T cut or grown to the offset, M marked.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The number of the file that fd is, or -1 if it is none of those that are watched. */
static int number(int fd) {
    static const char *ends[] = { "", ".redo0", ".redo1" };
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

static void record(char kind, int file, int64_t offset, const struct iovec *parts, int count, int64_t length) {
    static int log = -1;
    const char *name = getenv("KEYLOOM_DISK_LOG");
    if (!name) return;
    if (log < 0) log = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char head[2] = { kind, (char)file };
    raw_write(log, head, 2);
    raw_write(log, &offset, 8);
    raw_write(log, &length, 8);
    for (int i = 0; i < count && length > 0; i++) {
        size_t part = parts[i].iov_len < (size_t)length ? parts[i].iov_len : (size_t)length;
        raw_write(log, parts[i].iov_base, part);
        length -= part;
    }
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
    if (!watched(fd)) return real(fd);
    if (fails("sync")) { errno = EIO; return -1; }
    pthread_mutex_lock(&lock);
    int outcome = real(fd);
    if (!outcome) record('S', number(fd), 0, NULL, 0, 0);
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

/* A provider that costs next to nothing: Twilio's create-message call over HTTP/1.1 with kept-alive connections.
 *
 * One thread, one epoll loop. It counts posts and unique attempts (the `attempt=` of the StatusCallback) and keeps when
 * each attempt first came. Prints its port, then serves until it is killed.
 *
 *   GET  /_counts       posts, unique attempts, and when the first and the last post came
 *   GET  /_arrivals     one line per unique attempt: its id, CLOCK_REALTIME and CLOCK_MONOTONIC in nanoseconds
 *   POST /_reset        forget all of it
 *   POST /_delay?ms=50  answer sends that much later
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_BYTES 16384
#define ID_BYTES 56
#define CONNECTIONS 8192

typedef struct { char id[ID_BYTES]; int64_t real, mono; } Arrival;
typedef struct { int fd, used, pending; char in[REQUEST_BYTES]; } Connection;
typedef struct { int64_t due; int fd; uint64_t sid; } Late;

static Connection *connections[CONNECTIONS]; /* by descriptor */
static Arrival *arrivals;                    /* an open-addressing hash set */
static uint64_t capacity = 1 << 16, unique_count, posts, sids, sid_base;
static int64_t first_real, last_real, delay_ns;
static Late late[CONNECTIONS]; /* a ring: every answer waits equally long, so they are due in order */
static unsigned late_head, late_tail;

static int64_t now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static Arrival *slot(const char *id) {
    uint64_t hash = 1469598103934665603ULL;
    for (const char *c = id; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
    hash ^= hash >> 29;
    while (arrivals[hash & (capacity - 1)].id[0] && strcmp(arrivals[hash & (capacity - 1)].id, id)) hash++;
    return &arrivals[hash & (capacity - 1)];
}

static void grow(void) {
    Arrival *old = arrivals;
    uint64_t before = capacity;
    arrivals = calloc(capacity *= 2, sizeof *arrivals);
    for (uint64_t i = 0; i < before; i++)
        if (old[i].id[0]) *slot(old[i].id) = old[i];
    free(old);
}

static void count(const char *body) {
    posts++;
    last_real = now(CLOCK_REALTIME);
    if (!first_real) first_real = last_real;
    const char *found = strstr(body, "attempt%3D");
    if (!found) return;
    char id[ID_BYTES];
    size_t length = strcspn(found += 10, "&%\r\n");
    if (length >= ID_BYTES) length = ID_BYTES - 1;
    memcpy(id, found, length);
    id[length] = 0;
    Arrival *arrival = slot(id);
    if (!length || arrival->id[0]) return;
    strcpy(arrival->id, id);
    arrival->real = last_real;
    arrival->mono = now(CLOCK_MONOTONIC);
    if (++unique_count * 2 > capacity) grow();
}

static void reset(void) {
    memset(arrivals, 0, capacity * sizeof *arrivals);
    unique_count = posts = 0;
    first_real = last_real = 0;
}

static void send_all(int fd, const char *data, size_t length) {
    while (length) {
        ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) { usleep(100); continue; }
        if (sent <= 0) return;
        data += sent;
        length -= sent;
    }
}

static void answer(int fd, const char *status, const char *type, const char *body, size_t length) {
    char head[2048 + 256];
    int used = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", status, type, length);
    if (length <= 2048) { /* in one packet */
        memcpy(head + used, body, length);
        send_all(fd, head, used + length);
    } else {
        send_all(fd, head, used);
        send_all(fd, body, length);
    }
}

static void answer_json(int fd, const char *status, const char *body) {
    answer(fd, status, "application/json", body, strlen(body));
}

/* A whole message resource, as long as a real one, with a text of its own. */
static void answer_send(int fd, uint64_t sid) {
    char body[2048];
    snprintf(body, sizeof body,
        "{\"account_sid\": \"AC00000000000000000000000000000000\", \"api_version\": \"2010-04-01\", "
        "\"body\": \"A text about as long as most of them are, for one segment.\", "
        "\"date_created\": \"Mon, 02 Nov 2026 10:00:00 +0000\", \"date_sent\": null, "
        "\"date_updated\": \"Mon, 02 Nov 2026 10:00:00 +0000\", \"direction\": \"outbound-api\", \"error_code\": null, "
        "\"error_message\": null, \"from\": \"+15005550006\", \"messaging_service_sid\": null, \"num_media\": \"0\", "
        "\"num_segments\": \"1\", \"price\": null, \"price_unit\": \"USD\", \"sid\": \"SM%016llx%016llx\", "
        "\"status\": \"queued\", \"subresource_uris\": {\"media\": \"/2010-04-01/Accounts/AC0/Messages/SM0/Media.json\"}, "
        "\"to\": \"+15005550001\", \"uri\": \"/2010-04-01/Accounts/AC0/Messages/SM0.json\"}",
        (unsigned long long)sid_base, (unsigned long long)sid);
    answer_json(fd, "201 Created", body);
}

static void answer_counts(int fd) {
    char body[256];
    snprintf(body, sizeof body, "{\"posts\": %llu, \"unique\": %llu, \"first_ns\": %lld, \"last_ns\": %lld}",
        (unsigned long long)posts, (unsigned long long)unique_count, (long long)first_real, (long long)last_real);
    answer_json(fd, "200 OK", body);
}

static void answer_arrivals(int fd) {
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    for (uint64_t i = 0; i < capacity; i++)
        if (arrivals[i].id[0])
            fprintf(file, "%s %lld %lld\n", arrivals[i].id, (long long)arrivals[i].real, (long long)arrivals[i].mono);
    fclose(file);
    answer(fd, "200 OK", "text/plain", text, length);
    free(text);
}

static void serve(Connection *c, char *body) {
    char *line = c->in;
    if (!strncmp(line, "POST ", 5) && strstr(line, "/Messages.json ")) {
        count(body);
        if (delay_ns) {
            late[late_tail++ % CONNECTIONS] = (Late){now(CLOCK_MONOTONIC) + delay_ns, c->fd, ++sids};
            c->pending++;
        } else answer_send(c->fd, ++sids);
    } else if (!strncmp(line, "GET /_counts", 12)) answer_counts(c->fd);
    else if (!strncmp(line, "GET /_arrivals", 14)) answer_arrivals(c->fd);
    else if (!strncmp(line, "POST /_reset", 12)) { reset(); answer_json(c->fd, "200 OK", "{}"); }
    else if (!strncmp(line, "POST /_delay?ms=", 16)) {
        delay_ns = atof(line + 16) * 1e6;
        answer_json(c->fd, "200 OK", "{}");
    } else if (!strncmp(line, "GET ", 4) && strstr(line, "/Messages.json")) /* a search: none is there */
        answer_json(c->fd, "200 OK", "{\"messages\": [], \"next_page_uri\": null}");
    else answer_json(c->fd, "404 Not Found", "{}");
}

/* Serve every whole request that has come. Returns 0 if the connection is to be closed. */
static int take(Connection *c) {
    for (;;) {
        c->in[c->used] = 0;
        char *end = strstr(c->in, "\r\n\r\n");
        if (!end) return c->used < REQUEST_BYTES - 1;
        char *length = strcasestr(c->in, "\r\nContent-Length:");
        int size = (int)(end + 4 - c->in) + (length && length < end ? atoi(length + 17) : 0);
        if (size >= REQUEST_BYTES) return 0;
        if (c->used < size) return 1;
        char next = c->in[size];
        c->in[size] = 0;
        serve(c, end + 4);
        c->in[size] = next;
        memmove(c->in, c->in + size, c->used - size);
        c->used -= size;
    }
}

static void answer_late(void) {
    while (late_head != late_tail && late[late_head % CONNECTIONS].due <= now(CLOCK_MONOTONIC)) {
        Late *l = &late[late_head++ % CONNECTIONS];
        if (connections[l->fd] && connections[l->fd]->pending) {
            connections[l->fd]->pending--;
            answer_send(l->fd, l->sid);
        }
    }
}

int main(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    arrivals = calloc(capacity, sizeof *arrivals);
    sid_base = now(CLOCK_REALTIME);
    int listener = socket(AF_INET, SOCK_STREAM, 0), loop = epoll_create1(0), yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (void *)&address, size) || listen(listener, 1024)) return 1;
    getsockname(listener, (void *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
    epoll_ctl(loop, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int wait = -1;
        if (late_head != late_tail) {
            int64_t left = late[late_head % CONNECTIONS].due - now(CLOCK_MONOTONIC);
            wait = left > 0 ? (int)((left + 999999) / 1000000) : 0;
        }
        int ready = epoll_wait(loop, events, 256, wait);
        answer_late();
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                if ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) < 0) continue;
                if (fd >= CONNECTIONS) { close(fd); continue; }
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                connections[fd] = calloc(1, sizeof(Connection));
                connections[fd]->fd = fd;
                event = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
                epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
                continue;
            }
            Connection *c = connections[fd];
            ssize_t got = recv(fd, c->in + c->used, REQUEST_BYTES - 1 - c->used, 0);
            if (got > 0) c->used += got;
            if ((got > 0 && take(c)) || (got < 0 && errno == EAGAIN)) continue;
            close(fd);
            free(c);
            connections[fd] = NULL;
        }
    }
}

// SPDX-License-Identifier: GPL-3.0-or-later
//
// The minimum cost of an ANCS consumer: plain C, one blocking socket, no state beyond what the next line needs. It makes
// the same requests for a notification as ancsd, and prints the same line, without `seq`. It trusts the phone, and has
// one phone, no timeouts, no clients and no history; whatever else a daemon does comes on top.
//
//     cc -O2 consumer.c -o consumer && ./consumer SOCKET

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// UUIDs as they are on the air, least significant byte first.
#define UUID_BYTES 16
static const uint8_t ANCS[UUID_BYTES] = {0xD0, 0x00, 0x2D, 0x12, 0x1E, 0x4B, 0x0F, 0xA4,
                                         0x99, 0x4E, 0xCE, 0xB5, 0x31, 0xF4, 0x05, 0x79};
static const uint8_t NOTIFICATION_SOURCE[UUID_BYTES] = {0xBD, 0x1D, 0xA2, 0x99, 0xE6, 0x25, 0x58, 0x8C,
                                                        0xD9, 0x42, 0x01, 0x63, 0x0D, 0x12, 0xBF, 0x9F};
static const uint8_t CONTROL_POINT[UUID_BYTES] = {0xD9, 0xD9, 0xAA, 0xFD, 0xBD, 0x9B, 0x21, 0x98,
                                                  0xA8, 0x49, 0xE1, 0x45, 0xF3, 0xD8, 0xD1, 0x69};
static const uint8_t DATA_SOURCE[UUID_BYTES] = {0xFB, 0x7B, 0x7C, 0xCE, 0x6A, 0xB3, 0x44, 0xBE,
                                                0xB5, 0x4B, 0xD6, 0x24, 0xE9, 0xC6, 0xEA, 0x22};

// Opcodes of ATT (Vol 3 Part F, 3.4.8).
enum {
    ERROR_RESPONSE = 0x01, EXCHANGE_MTU = 0x02, FIND_BY_TYPE_VALUE = 0x06, READ_BY_TYPE = 0x08, WRITE = 0x12,
    NOTIFICATION = 0x1B, INDICATION = 0x1D, CONFIRMATION = 0x1E,
};

// The attributes of a notification by their numbers (ANCS specification, NotificationAttributeID).
enum { APP_ID, TITLE, SUBTITLE, MESSAGE, MESSAGE_SIZE, DATE, POSITIVE, NEGATIVE, ATTRIBUTES };

static const char *const CHANGES[] = {"added", "modified", "removed"};
static const char *const FLAGS[] = {"silent", "important", "pre-existing", "positive-action", "negative-action"};
static const char *const CATEGORIES[] = {
    "other", "incoming-call", "missed-call", "voicemail", "social", "schedule", "email", "news",
    "health-and-fitness", "business-and-finance", "location", "entertainment",
};

struct text { const uint8_t *bytes; size_t length; };
struct event { uint8_t change, flags, category, count; uint32_t uid; };

static int phone;
static uint16_t source, data, control;
static unsigned long seq;

static struct event waiting[1024];
static unsigned arrived, handled;

static uint8_t answer[1 << 16];  // what the Data Source has sent since the last command
static size_t answered;

static struct { char id[256], name[256]; size_t id_length, name_length; } apps[64];
static unsigned app_count;

static uint16_t u16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }

static uint8_t *put_u16(uint8_t *at, uint16_t value) {
    *at++ = (uint8_t)value;
    *at++ = (uint8_t)(value >> 8);
    return at;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// MARK: ATT

/// Receives a PDU into `pdu`, and sees to notifications and indications. Returns the length of any other, or 0.
static size_t receive(uint8_t *pdu, size_t room) {
    ssize_t length = recv(phone, pdu, room, 0);
    if (length == 0) exit(0);
    if (length < 0) fail("recv");
    if (pdu[0] == NOTIFICATION) {
        uint16_t handle = u16(pdu + 1);
        if (handle == data) {
            memcpy(answer + answered, pdu + 3, (size_t)length - 3);
            answered += (size_t)length - 3;
        } else if (handle == source && length == 11) {
            struct event *event = &waiting[arrived++ % 1024];
            event->change = pdu[3];
            event->flags = pdu[4];
            event->category = pdu[5];
            event->count = pdu[6];
            event->uid = (uint32_t)u16(pdu + 7) | (uint32_t)u16(pdu + 9) << 16;
        }
        return 0;
    }
    if (pdu[0] == INDICATION) {
        const uint8_t confirmation = CONFIRMATION;
        send(phone, &confirmation, 1, 0);
        return 0;
    }
    return (size_t)length;
}

/// Sends a request and returns the length of its response, which is in `response`.
static size_t request(const uint8_t *pdu, size_t length, uint8_t *response, size_t room) {
    if (send(phone, pdu, length, 0) < 0) fail("send");
    size_t received;
    while ((received = receive(response, room)) == 0) {}
    return received;
}

static void subscribe(uint16_t value) {
    uint8_t pdu[5] = {WRITE}, response[64];
    put_u16(put_u16(pdu + 1, value + 1), 1);
    request(pdu, sizeof pdu, response, sizeof response);
}

/// Exchanges MTUs, finds ANCS and subscribes to its sources.
static void set_up(void) {
    uint8_t pdu[32], response[1024], *end;
    pdu[0] = EXCHANGE_MTU;
    request(pdu, (size_t)(put_u16(pdu + 1, 517) - pdu), response, sizeof response);

    pdu[0] = FIND_BY_TYPE_VALUE;
    end = put_u16(put_u16(put_u16(pdu + 1, 1), 0xFFFF), 0x2800);
    memcpy(end, ANCS, UUID_BYTES);
    request(pdu, (size_t)(end - pdu) + UUID_BYTES, response, sizeof response);
    uint16_t first = u16(response + 1), last = u16(response + 3);

    while (first <= last) {
        pdu[0] = READ_BY_TYPE;
        end = put_u16(put_u16(put_u16(pdu + 1, first), last), 0x2803);
        size_t length = request(pdu, (size_t)(end - pdu), response, sizeof response);
        if (response[0] == ERROR_RESPONSE) break;
        for (size_t at = 2; at + response[1] <= length; at += response[1]) {
            const uint8_t *uuid = response + at + 5;
            uint16_t value = u16(response + at + 3);
            if (memcmp(uuid, NOTIFICATION_SOURCE, UUID_BYTES) == 0) source = value;
            if (memcmp(uuid, DATA_SOURCE, UUID_BYTES) == 0) data = value;
            if (memcmp(uuid, CONTROL_POINT, UUID_BYTES) == 0) control = value;
            first = u16(response + at) + 1;
        }
    }
    subscribe(data);
    subscribe(source);
}

// MARK: ANCS

/// Writes a command to the Control Point, and waits until the answer has `count` attributes behind its first `head`
/// bytes; they are in `values`, by their numbers.
static void command(const uint8_t *value, size_t length, size_t head, unsigned count, struct text *values) {
    uint8_t pdu[512] = {WRITE}, response[1024];
    answered = 0;
    memcpy(put_u16(pdu + 1, control), value, length);
    request(pdu, 3 + length, response, sizeof response);
    size_t at = head;
    while (1) {
        while (count > 0 && answered >= at + 3) {
            size_t size = u16(answer + at + 1);
            if (answered < at + 3 + size) break;
            values[answer[at] % ATTRIBUTES] = (struct text){answer + at + 3, size};
            at += 3 + size;
            count -= 1;
        }
        if (count == 0) return;
        receive(response, sizeof response);
    }
}

/// The name of an app, which is fetched once.
static struct text app_name(struct text id) {
    for (unsigned index = 0; index < app_count; index++) {
        if (apps[index].id_length == id.length && memcmp(apps[index].id, id.bytes, id.length) == 0)
            return (struct text){(const uint8_t *)apps[index].name, apps[index].name_length};
    }
    uint8_t value[300] = {1};
    memcpy(value + 1, id.bytes, id.length);
    value[1 + id.length] = 0;
    value[2 + id.length] = 0;  // DisplayName
    struct text name = {0};
    // The app's identifier is in `answer`, which the answer to this command takes.
    memcpy(apps[app_count].id, id.bytes, id.length);
    apps[app_count].id_length = id.length;
    command(value, 3 + id.length, 2 + id.length, 1, (struct text[ATTRIBUTES]){{0}});
    name.bytes = answer + 2 + apps[app_count].id_length + 3;
    name.length = u16(name.bytes - 2);
    memcpy(apps[app_count].name, name.bytes, name.length);
    apps[app_count].name_length = name.length;
    app_count += 1;
    return name;
}

// MARK: The line

static char line[1 << 16], *end;

static void add(const char *text) {
    size_t length = strlen(text);
    memcpy(end, text, length);
    end += length;
}

static void add_number(unsigned long number) {
    char digits[20];
    int count = 0;
    do { digits[count++] = (char)('0' + number % 10); } while (number /= 10);
    while (count > 0) *end++ = digits[--count];
}

static void add_two(unsigned number) {
    *end++ = (char)('0' + number / 10 % 10);
    *end++ = (char)('0' + number % 10);
}

/// A string with what RFC 8259 wants escaped, and DEL and C1.
static void add_string(struct text text) {
    *end++ = '"';
    for (size_t index = 0; index < text.length; index++) {
        uint8_t byte = text.bytes[index];
        int is_c1 = byte == 0xC2 && index + 1 < text.length && text.bytes[index + 1] < 0xA0;
        if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F && !is_c1) {
            *end++ = (char)byte;
            continue;
        }
        if (is_c1) byte = text.bytes[++index];
        const char *found = strchr("\"\"\\\\\bb\tt\nn\ff\rr", byte);
        if (byte != 0 && found) {
            *end++ = '\\';
            *end++ = found[1];
        } else {
            end += sprintf(end, "\\u00%02x", byte);
        }
    }
    *end++ = '"';
}

static void add_member(const char *name, struct text value) {
    add(name);
    add_string(value);
}

static void add_time(void) {
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    add_two((unsigned)(utc.tm_year + 1900) / 100);
    add_two((unsigned)utc.tm_year % 100);
    *end++ = '-'; add_two((unsigned)utc.tm_mon + 1);
    *end++ = '-'; add_two((unsigned)utc.tm_mday);
    *end++ = 'T'; add_two((unsigned)utc.tm_hour);
    *end++ = ':'; add_two((unsigned)utc.tm_min);
    *end++ = ':'; add_two((unsigned)utc.tm_sec);
    *end++ = '.'; *end++ = (char)('0' + now.tv_nsec / 100000000);
    add_two((unsigned)(now.tv_nsec / 1000000 % 100));
    *end++ = 'Z';
}

/// `20261121T070000` as `2026-11-21T07:00:00`.
static void add_date(struct text date) {
    if (date.length != 15) return add("null");
    *end++ = '"';
    for (unsigned index = 0; index < 15; index++) {
        if (index == 4 || index == 6) *end++ = '-';
        if (index == 11 || index == 13) *end++ = ':';
        *end++ = (char)date.bytes[index];
    }
    *end++ = '"';
}

static void print(struct event event, const struct text *values, struct text app) {
    end = line;
    add("{\"event\":\"notification\",\"seq\":");
    add_number(++seq);
    add(",\"time\":\"");
    add_time();
    add("\",\"change\":\"");
    add(CHANGES[event.change % 3]);
    add("\",\"uid\":");
    add_number(event.uid);
    add(",\"category\":");
    if (event.category < 12) {
        *end++ = '"';
        add(CATEGORIES[event.category]);
        *end++ = '"';
    } else {
        add_number(event.category);
    }
    add(",\"category_count\":");
    add_number(event.count);
    add(",\"flags\":[");
    for (unsigned bit = 0, first = 1; bit < 5; bit++) {
        if (!(event.flags >> bit & 1)) continue;
        if (!first) *end++ = ',';
        first = 0;
        *end++ = '"';
        add(FLAGS[bit]);
        *end++ = '"';
    }
    *end++ = ']';
    if (values) {
        add_member(",\"app_id\":", values[APP_ID]);
        add_member(",\"app\":", app);
        add_member(",\"title\":", values[TITLE]);
        add_member(",\"subtitle\":", values[SUBTITLE]);
        add_member(",\"message\":", values[MESSAGE]);
        add(",\"message_size\":");
        memcpy(end, values[MESSAGE_SIZE].bytes, values[MESSAGE_SIZE].length);
        end += values[MESSAGE_SIZE].length;
        add(",\"date\":");
        add_date(values[DATE]);
        if (event.flags & 0x08) add_member(",\"positive\":", values[POSITIVE]);
        if (event.flags & 0x10) add_member(",\"negative\":", values[NEGATIVE]);
    }
    add("}\n");
    if (write(STDOUT_FILENO, line, (size_t)(end - line)) < 0) fail("write");
}

static void tell(struct event event) {
    if (event.change == 2) return print(event, NULL, (struct text){0});
    struct text values[ATTRIBUTES] = {{0}};
    // Titles to 256 bytes, messages to 1,024, the date last, an action's label where there is the action.
    uint8_t value[32] = {0}, *place = put_u16(put_u16(value + 1, (uint16_t)event.uid), (uint16_t)(event.uid >> 16));
    unsigned count = 6;
    *place++ = APP_ID;
    *place++ = TITLE; place = put_u16(place, 256);
    *place++ = SUBTITLE; place = put_u16(place, 256);
    *place++ = MESSAGE; place = put_u16(place, 1024);
    *place++ = MESSAGE_SIZE;
    if (event.flags & 0x08) { *place++ = POSITIVE; count++; }
    if (event.flags & 0x10) { *place++ = NEGATIVE; count++; }
    *place++ = DATE;
    command(value, (size_t)(place - value), 5, count, values);

    // An app's name that is fetched first takes the answer's place, so that the answer is kept meanwhile.
    static uint8_t kept[1 << 16];
    size_t length = answered;
    unsigned known = app_count;
    memcpy(kept, answer, length);
    struct text app = app_name(values[APP_ID]);
    if (app_count != known) {
        for (unsigned index = 0; index < ATTRIBUTES; index++)
            if (values[index].bytes) values[index].bytes = kept + (values[index].bytes - answer);
    }
    print(event, values, app);
}

// It ends by itself, so that whoever counts its instructions hears of the end (qemu-user).
static void stop(int number) {
    _exit(number == SIGTERM ? 0 : 1);
}

int main(int count, char **arguments) {
    signal(SIGTERM, stop);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (count != 2 || strlen(arguments[1]) >= sizeof address.sun_path) {
        fputs("usage: consumer SOCKET\n", stderr);
        return 64;
    }
    strcpy(address.sun_path, arguments[1]);
    phone = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (connect(phone, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    set_up();
    uint8_t pdu[1024];
    while (1) {
        while (handled == arrived) receive(pdu, sizeof pdu);
        tell(waiting[handled++ % 1024]);
    }
}

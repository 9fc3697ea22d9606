/* client SECONDS ROUNDS BURST: the throughput benchmark's client in C, over sd-bus alone. It prints one line of JSON: notifications
 * and write round trips a second, of each round. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

#include "names.h"

static char device[256], notified[512], written[512];
static uint32_t arrived;

static void check(int result, const char *what) {
  if (result >= 0) return;
  fprintf(stderr, "client: %s: %s\n", what, strerror(-result));
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void step(sd_bus *bus) {
  int result = sd_bus_process(bus, NULL);
  check(result, "the bus");
  if (result == 0) check(sd_bus_wait(bus, UINT64_MAX), "waiting");
}

static void call(sd_bus *bus, const char *path, const char *interface, const char *method) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  int result = sd_bus_call_method(bus, "org.bluez", path, interface, method, &error, NULL, "");
  if (result < 0) {
    fprintf(stderr, "client: %s: %s\n", method, error.message ? error.message : strerror(-result));
    exit(1);
  }
}

/* Notes an object if its properties show that it is one of those looked for. */
static int look_at(sd_bus_message *reply, const char *path, const char *interface) {
  int result = sd_bus_message_enter_container(reply, 'a', "{sv}");
  while (result >= 0 && (result = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
    const char *name;
    check(sd_bus_message_read(reply, "s", &name), "a property");
    if (!strcmp(name, "UUID") && !strcmp(interface, "org.bluez.GattCharacteristic1")) {
      const char *uuid;
      check(sd_bus_message_read(reply, "v", "s", &uuid), "a UUID");
      if (!strcmp(uuid, NOTIFIED)) snprintf(notified, sizeof notified, "%s", path);
      if (!strcmp(uuid, WRITTEN)) snprintf(written, sizeof written, "%s", path);
    } else if (!strcmp(name, "UUIDs") && !strcmp(interface, "org.bluez.Device1")) {
      const char *uuid;
      check(sd_bus_message_enter_container(reply, 'v', "as"), "UUIDs");
      check(sd_bus_message_enter_container(reply, 'a', "s"), "UUIDs");
      while (sd_bus_message_read(reply, "s", &uuid) > 0) {
        if (!strcmp(uuid, SERVICE)) snprintf(device, sizeof device, "%s", path);
      }
      check(sd_bus_message_exit_container(reply), "UUIDs");
      check(sd_bus_message_exit_container(reply), "UUIDs");
    } else {
      check(sd_bus_message_skip(reply, "v"), "a value");
    }
    check(sd_bus_message_exit_container(reply), "a property");
  }
  return result < 0 ? result : sd_bus_message_exit_container(reply);
}

static void look(sd_bus *bus) {
  sd_bus_message *reply = NULL;
  check(sd_bus_call_method(bus, "org.bluez", "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL,
                           &reply, ""),
        "the objects");
  check(sd_bus_message_enter_container(reply, 'a', "{oa{sa{sv}}}"), "the objects");
  while (sd_bus_message_enter_container(reply, 'e', "oa{sa{sv}}") > 0) {
    const char *path, *interface;
    check(sd_bus_message_read(reply, "o", &path), "an object");
    check(sd_bus_message_enter_container(reply, 'a', "{sa{sv}}"), "an object");
    while (sd_bus_message_enter_container(reply, 'e', "sa{sv}") > 0) {
      check(sd_bus_message_read(reply, "s", &interface), "an interface");
      check(look_at(reply, path, interface), "the properties");
      check(sd_bus_message_exit_container(reply), "an interface");
    }
    check(sd_bus_message_exit_container(reply), "an object");
    check(sd_bus_message_exit_container(reply), "an object");
  }
  sd_bus_message_unref(reply);
}

static int changed(sd_bus_message *signal, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  const char *interface, *name;
  check(sd_bus_message_read(signal, "s", &interface), "a signal");
  check(sd_bus_message_enter_container(signal, 'a', "{sv}"), "a signal");
  while (sd_bus_message_enter_container(signal, 'e', "sv") > 0) {
    check(sd_bus_message_read(signal, "s", &name), "a signal");
    if (!strcmp(name, "Value")) {
      const void *value;
      size_t length;
      check(sd_bus_message_enter_container(signal, 'v', "ay"), "a value");
      check(sd_bus_message_read_array(signal, 'y', &value, &length), "a value");
      if (length == VALUE_LENGTH) arrived++;
      check(sd_bus_message_exit_container(signal), "a value");
    } else {
      check(sd_bus_message_skip(signal, "v"), "a signal");
    }
    check(sd_bus_message_exit_container(signal), "a signal");
  }
  return 0;
}

static int ignore(sd_bus_message *signal, void *data, sd_bus_error *error) {
  (void)signal, (void)data, (void)error;
  return 0;
}

static void write_count(sd_bus *bus, uint32_t count) {
  uint8_t value[VALUE_LENGTH] = {0};
  memcpy(value, &count, sizeof count);
  sd_bus_message *request = NULL, *reply = NULL;
  sd_bus_error error = SD_BUS_ERROR_NULL;
  check(sd_bus_message_new_method_call(bus, &request, "org.bluez", written, "org.bluez.GattCharacteristic1",
                                       "WriteValue"),
        "a call");
  check(sd_bus_message_append_array(request, 'y', value, sizeof value), "a call");
  check(sd_bus_message_append(request, "a{sv}", 1, "type", "s", "request"), "a call");
  if (sd_bus_call(bus, request, 0, &error, &reply) < 0) {
    fprintf(stderr, "client: WriteValue: %s\n", error.message);
    exit(1);
  }
  sd_bus_message_unref(request);
  sd_bus_message_unref(reply);
}

static double notifications(sd_bus *bus, double seconds, uint32_t burst) {
  double begin = now();
  uint32_t count = 0;
  while (now() - begin < seconds) {
    arrived = 0;
    write_count(bus, burst);
    while (arrived < burst) step(bus);
    count += burst;
  }
  return count / (now() - begin);
}

static double writes(sd_bus *bus, double seconds) {
  double begin = now();
  uint32_t count = 0;
  for (; now() - begin < seconds; count++) write_count(bus, 0);
  return count / (now() - begin);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "client SECONDS ROUNDS BURST\n");
    return 2;
  }
  double seconds = atof(argv[1]);
  int rounds = atoi(argv[2]);
  uint32_t burst = (uint32_t)atoi(argv[3]);
  sd_bus *bus = NULL;
  check(sd_bus_open_system(&bus), "the bus");
  check(sd_bus_set_property(bus, "org.bluez", ADAPTER, "org.bluez.Adapter1", "Powered", NULL, "b", 1), "power");
  check(sd_bus_call_method(bus, "org.bluez", ADAPTER, "org.bluez.Adapter1", "SetDiscoveryFilter", NULL, NULL, "a{sv}", 1,
                           "Transport", "s", "le"),
        "the filter");
  call(bus, ADAPTER, "org.bluez.Adapter1", "StartDiscovery");
  /* Every change wakes it, and then it looks whether the objects that it needs are there. */
  sd_bus_slot *any = NULL;
  check(sd_bus_match_signal(bus, &any, "org.bluez", NULL, NULL, NULL, ignore, NULL), "a match");
  for (look(bus); !device[0]; look(bus)) step(bus);
  call(bus, ADAPTER, "org.bluez.Adapter1", "StopDiscovery");
  call(bus, device, "org.bluez.Device1", "Connect");
  for (look(bus); !notified[0] || !written[0]; look(bus)) step(bus);
  sd_bus_slot_unref(any);
  check(sd_bus_match_signal(bus, NULL, "org.bluez", notified, "org.freedesktop.DBus.Properties", "PropertiesChanged",
                            changed, NULL),
        "a match");
  call(bus, notified, "org.bluez.GattCharacteristic1", "StartNotify");
  printf("{\"notifications\": [");
  notifications(bus, seconds / 4, burst);
  for (int round = 0; round < rounds; round++) printf("%s%.1f", round ? ", " : "", notifications(bus, seconds, burst));
  printf("], \"writes\": [");
  writes(bus, seconds / 4);
  for (int round = 0; round < rounds; round++) printf("%s%.1f", round ? ", " : "", writes(bus, seconds));
  printf("]}\n");
  fflush(stdout);
  call(bus, device, "org.bluez.Device1", "Disconnect");
  return 0;
}

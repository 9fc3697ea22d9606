/* The peripheral of the throughput benchmark: a GATT application of bluetoothd, over sd-bus.
 *
 * One characteristic takes writes. A written value begins with a count, 32 bits little-endian: the peripheral then sends as
 * many notifications from the other characteristic. It prints "ready" when it advertises. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "names.h"

#define ROOT "/org/latchkey/bench"
#define SERVICE_PATH ROOT "/service0"
#define NOTIFIED_PATH SERVICE_PATH "/char0"
#define WRITTEN_PATH SERVICE_PATH "/char1"
#define ADVERTISEMENT_PATH ROOT "/advertisement"

static void check(int result, const char *what) {
  if (result >= 0) return;
  fprintf(stderr, "peripheral: %s: %s\n", what, strerror(-result));
  exit(1);
}

static int string_list(sd_bus_message *reply, const char *text) {
  int result = sd_bus_message_open_container(reply, 'a', "s");
  if (result >= 0 && text) result = sd_bus_message_append(reply, "s", text);
  return result < 0 ? result : sd_bus_message_close_container(reply);
}

static int get(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
               void *data, sd_bus_error *error) {
  (void)bus, (void)interface, (void)data, (void)error;
  if (!strcmp(property, "UUID")) {
    const char *uuid = !strcmp(path, SERVICE_PATH) ? SERVICE : !strcmp(path, NOTIFIED_PATH) ? NOTIFIED : WRITTEN;
    return sd_bus_message_append(reply, "s", uuid);
  }
  if (!strcmp(property, "Primary") || !strcmp(property, "Discoverable")) return sd_bus_message_append(reply, "b", 1);
  if (!strcmp(property, "Service")) return sd_bus_message_append(reply, "o", SERVICE_PATH);
  if (!strcmp(property, "Flags")) return string_list(reply, !strcmp(path, NOTIFIED_PATH) ? "notify" : "write");
  if (!strcmp(property, "Type")) return sd_bus_message_append(reply, "s", "peripheral");
  return string_list(reply, SERVICE);
}

static int nothing(sd_bus_message *call, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  return sd_bus_reply_method_return(call, NULL);
}

static int notify(sd_bus *bus, uint32_t number) {
  uint8_t value[VALUE_LENGTH] = {0};
  memcpy(value, &number, sizeof number);
  sd_bus_message *signal = NULL;
  int result = sd_bus_message_new_signal(bus, &signal, NOTIFIED_PATH, "org.freedesktop.DBus.Properties",
                                         "PropertiesChanged");
  if (result >= 0) result = sd_bus_message_append(signal, "s", "org.bluez.GattCharacteristic1");
  if (result >= 0) result = sd_bus_message_open_container(signal, 'a', "{sv}");
  if (result >= 0) result = sd_bus_message_open_container(signal, 'e', "sv");
  if (result >= 0) result = sd_bus_message_append(signal, "s", "Value");
  if (result >= 0) result = sd_bus_message_open_container(signal, 'v', "ay");
  if (result >= 0) result = sd_bus_message_append_array(signal, 'y', value, sizeof value);
  if (result >= 0) result = sd_bus_message_close_container(signal);
  if (result >= 0) result = sd_bus_message_close_container(signal);
  if (result >= 0) result = sd_bus_message_close_container(signal);
  if (result >= 0) result = sd_bus_message_append(signal, "as", 0);
  if (result >= 0) result = sd_bus_send(bus, signal, NULL);
  sd_bus_message_unref(signal);
  return result;
}

static int write_value(sd_bus_message *call, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  const void *value;
  size_t length;
  uint32_t count = 0;
  int result = sd_bus_message_read_array(call, 'y', &value, &length);
  if (result < 0) return result;
  if (length >= sizeof count) memcpy(&count, value, sizeof count);
  result = sd_bus_reply_method_return(call, NULL);
  for (uint32_t number = 0; number < count && result >= 0; number++) {
    result = notify(sd_bus_message_get_bus(call), number);
  }
  return result;
}

static const sd_bus_vtable service[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("UUID", "s", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Primary", "b", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_VTABLE_END,
};

static const sd_bus_vtable notified[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("UUID", "s", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Service", "o", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Flags", "as", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_METHOD("StartNotify", "", "", nothing, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("StopNotify", "", "", nothing, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static const sd_bus_vtable written[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("UUID", "s", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Service", "o", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Flags", "as", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_METHOD("WriteValue", "aya{sv}", "", write_value, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static const sd_bus_vtable advertisement[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Type", "s", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("ServiceUUIDs", "as", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Discoverable", "b", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_METHOD("Release", "", "", nothing, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static int pending = 2;

static int registered(sd_bus_message *reply, void *data, sd_bus_error *error) {
  (void)error;
  const sd_bus_error *refusal = sd_bus_message_get_error(reply);
  if (refusal) {
    fprintf(stderr, "peripheral: %s: %s\n", (const char *)data, refusal->message);
    exit(1);
  }
  if (--pending == 0) {
    puts("ready");
    fflush(stdout);
  }
  return 0;
}

int main(void) {
  sd_bus *bus = NULL;
  check(sd_bus_open_system(&bus), "the bus");
  check(sd_bus_add_object_manager(bus, NULL, ROOT), "the object manager");
  check(sd_bus_add_object_vtable(bus, NULL, SERVICE_PATH, "org.bluez.GattService1", service, NULL), "the service");
  const char *characteristic = "org.bluez.GattCharacteristic1";
  check(sd_bus_add_object_vtable(bus, NULL, NOTIFIED_PATH, characteristic, notified, NULL), "a characteristic");
  check(sd_bus_add_object_vtable(bus, NULL, WRITTEN_PATH, characteristic, written, NULL), "a characteristic");
  check(sd_bus_add_object_vtable(bus, NULL, ADVERTISEMENT_PATH, "org.bluez.LEAdvertisement1", advertisement, NULL),
        "the advertisement");
  check(sd_bus_set_property(bus, "org.bluez", ADAPTER, "org.bluez.Adapter1", "Powered", NULL, "b", 1), "power");
  check(sd_bus_call_method_async(bus, NULL, "org.bluez", ADAPTER, "org.bluez.GattManager1", "RegisterApplication",
                                 registered, "the application", "oa{sv}", ROOT, 0),
        "the application");
  check(sd_bus_call_method_async(bus, NULL, "org.bluez", ADAPTER, "org.bluez.LEAdvertisingManager1",
                                 "RegisterAdvertisement", registered, "the advertisement", "oa{sv}", ADVERTISEMENT_PATH,
                                 0),
        "the advertisement");
  for (;;) {
    int result = sd_bus_process(bus, NULL);
    check(result, "the bus");
    if (result == 0) check(sd_bus_wait(bus, UINT64_MAX), "waiting");
  }
}

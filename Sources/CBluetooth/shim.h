// Static inline helpers for what Swift can't import: ioctl is variadic, and the list has a flexible array member.
#pragma once
#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/hci_lib.h>
#include <bluetooth/l2cap.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

// The handle of an adapter's LE connection to a device (address: least significant byte first). A negative errno if there
// is none: -EPROTOTYPE if the device is connected only over BR/EDR. `socket` is an HCI socket (HCIGETCONNLIST,
// net/bluetooth/hci_conn.c).
static inline int latchkey_le_connection_handle(int socket, int adapter, const uint8_t *address) {
  enum { most = 64 };
  struct hci_conn_list_req *list = calloc(1, sizeof *list + most * sizeof(struct hci_conn_info));
  if (!list) return -ENOMEM;
  list->dev_id = (uint16_t)adapter;
  list->conn_num = most;
  int result = -ENOTCONN;
  if (ioctl(socket, HCIGETCONNLIST, (void *)list) < 0) {
    result = -errno;
  } else {
    for (int i = 0; i < list->conn_num && i < most; i++) {
      const struct hci_conn_info *connection = &list->conn_info[i];
      // LE_LINK, include/net/bluetooth/hci.h
      if (memcmp(&connection->bdaddr, address, 6) != 0) continue;
      if (connection->type == 0x80) {
        result = connection->handle;
        break;
      }
      result = -EPROTOTYPE;
    }
  }
  free(list);
  return result;
}

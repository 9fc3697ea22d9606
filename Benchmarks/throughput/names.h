/* What the peripheral and the client in C have in common. */
#define SERVICE "7b1c0001-6d2e-4f7a-9a3b-5c1d2e3f4a5b"
#define NOTIFIED "7b1c0002-6d2e-4f7a-9a3b-5c1d2e3f4a5b"
#define WRITTEN "7b1c0003-6d2e-4f7a-9a3b-5c1d2e3f4a5b"
#define ADAPTER "/org/bluez/hci0"
/* What fits into a notification before the MTU is agreed. */
#define VALUE_LENGTH 20

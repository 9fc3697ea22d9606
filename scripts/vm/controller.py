"""One virtual Bluetooth LE controller: Bumble's, with what bluetoothd and the kernel need from a real one.

Bumble's controller answers HCI. This module adds what Bumble lacks or simplifies, each with the section of the
Bluetooth Core Specification (5.4) that defines the behaviour. links.py transports the packets between two
controllers.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any, Protocol

import advertised
from bumble import controller as bumble
from bumble import core, hci

if TYPE_CHECKING:
    from air import Air

Feature = hci.LeFeatureMask

#: Commands that Bumble supports for features that this controller does not claim.
_NOT_SUPPORTED = {
    hci.HCI_LE_ADD_DEVICE_TO_RESOLVING_LIST_COMMAND,
    hci.HCI_LE_REMOVE_DEVICE_FROM_RESOLVING_LIST_COMMAND,
    hci.HCI_LE_CLEAR_RESOLVING_LIST_COMMAND,
    hci.HCI_LE_READ_RESOLVING_LIST_SIZE_COMMAND,
    hci.HCI_LE_READ_PEER_RESOLVABLE_ADDRESS_COMMAND,
    hci.HCI_LE_READ_LOCAL_RESOLVABLE_ADDRESS_COMMAND,
    hci.HCI_LE_SET_ADDRESS_RESOLUTION_ENABLE_COMMAND,
    hci.HCI_LE_SET_RESOLVABLE_PRIVATE_ADDRESS_TIMEOUT_COMMAND,
    hci.HCI_LE_SET_PRIVACY_MODE_COMMAND,
    hci.HCI_LE_SET_DATA_LENGTH_COMMAND,
    hci.HCI_LE_READ_SUGGESTED_DEFAULT_DATA_LENGTH_COMMAND,
    hci.HCI_LE_WRITE_SUGGESTED_DEFAULT_DATA_LENGTH_COMMAND,
    hci.HCI_LE_READ_MAXIMUM_DATA_LENGTH_COMMAND,
    hci.HCI_LE_SET_DEFAULT_PHY_COMMAND,
    hci.HCI_LE_SET_PHY_COMMAND,
    hci.HCI_LE_READ_PHY_COMMAND,
    hci.HCI_LE_READ_BUFFER_SIZE_V2_COMMAND,
}

AdvertisingType = hci.HCI_LE_Set_Advertising_Parameters_Command.AdvertisingType


class Host(Protocol):
    """The receiver of the controller's packets."""

    def on_packet(self, packet: bytes) -> None: ...


class Advertiser(bumble.LegacyAdvertiser):
    """Advertises with a fixed interval in units of 0.625 ms (Vol 4, Part E, 7.8.5), and keeps its phase.

    It has no timer while nothing can hear it, so a machine that only advertises stays idle.
    """

    controller: Controller
    began: float = 0.0
    #: What was last told to be on the air; None for nothing.
    told: dict[str, str] | None = None

    @property
    def interval(self) -> float:
        """Seconds between advertisements; the minimum is 20 ms."""
        return max(self.advertising_interval_min * 0.000625, 0.02)

    @property
    def connectable(self) -> bool:
        return self.advertising_type in (
            AdvertisingType.ADV_IND,
            AdvertisingType.ADV_DIRECT_IND,
            AdvertisingType.ADV_DIRECT_IND_LOW_DUTY,
        )

    def start(self) -> None:
        # The interval counts anew.
        super().stop()
        self.enabled = True
        self.began = time.monotonic()
        self.changed()
        self.resume()

    def changed(self) -> None:
        """Tells what others can receive, if that is not what was told before."""
        content = None
        if self.enabled:
            content = {"interval": f"{self.interval * 1000:g}"}
            content |= advertised.content(self.advertising_data + self.scan_response_data)
        if content != self.told:
            self.told = content
            self.controller.tell("advertising.changed", set="0", on=content is not None, **(content or {}))

    def stop(self) -> None:
        super().stop()
        self.changed()

    def resume(self) -> None:
        """Schedules the next advertisement, if anything can hear it."""
        if not self.enabled or self.timer_handle is not None or not self.controller.air.is_heard(self.controller):
            return
        turns = math.floor((time.monotonic() - self.began) / self.interval) + 1
        delay = max(self.began + turns * self.interval - time.monotonic(), 0)
        self.timer_handle = asyncio.get_running_loop().call_later(delay, self._turn)

    def _turn(self) -> None:
        self.timer_handle = None
        if self.enabled:
            self.controller.air.advertise(self.controller)
            self.resume()


class Controller(bumble.Controller):
    """A controller with legacy advertising, encryption and an accept list, without privacy in the controller."""

    le_features = (
        Feature.LE_ENCRYPTION
        | Feature.CONNECTION_PARAMETERS_REQUEST_PROCEDURE
        | Feature.EXTENDED_REJECT_INDICATION
        | Feature.PERIPHERAL_INITIATED_FEATURE_EXCHANGE
        | Feature.LE_PING
    )
    supported_commands = bumble.Controller.supported_commands - _NOT_SUPPORTED
    le_acl_data_packet_length = 251
    filter_accept_list_size = 32

    def __init__(self, name: str, air: Air, address: str) -> None:
        self.air = air
        self.accept_list: set[tuple[bytes, bool]] = set()
        self.reported: set[tuple[bytes, bytes, bytes]] = set()
        #: Whether the machine has the controller plugged in.
        self.attached = False
        #: Whether it was last told to listen to everybody.
        self.told_scanning = False
        super().__init__(name, link=air, public_address=hci.Address(address, hci.Address.PUBLIC_DEVICE_ADDRESS))
        self.le_legacy_advertiser = Advertiser(self)

    @property
    def advertiser(self) -> Advertiser:
        assert isinstance(self.le_legacy_advertiser, Advertiser)
        return self.le_legacy_advertiser

    # Plugging, and HCI_Reset (Vol 4, Part E, 7.3.2): links and all settings are lost, and the peers notice by their
    # supervision timeouts.

    def attach(self, host: Host | None) -> None:
        self.wipe()
        self.hci_sink = host
        self.attached = host is not None
        if self.attached:
            # From here on all changes are told.
            self.tell("advertising.changed", set="0", on=False)
            self.tell("scanning.changed", on=False)

    def wipe(self) -> None:
        self.advertiser.stop()
        # The kernel also assumes that both are empty after a reset, and does not send empty data.
        self.le_legacy_advertiser.advertising_data = b""
        self.le_legacy_advertiser.scan_response_data = b""
        self.pending_le_connection = None
        self.le_scan_enable = False
        self.scanning_changed()
        self.accept_list.clear()
        self.reported.clear()
        self.air.forget(self)
        self.le_connections.clear()

    def tell(self, event: str, **fields: Any) -> None:
        self.air.tell({"event": event, "name": self.name, **fields})

    # What others can receive (7.8.5, 7.8.7, 7.8.8), and a scan that hears everybody. The kernel's own scan for the devices on
    # its accept list is none of an app's.

    def on_hci_le_set_advertising_data_command(
        self, command: hci.HCI_LE_Set_Advertising_Data_Command
    ) -> hci.HCI_StatusReturnParameters:
        answer = super().on_hci_le_set_advertising_data_command(command)
        self.advertiser.changed()
        return answer

    def on_hci_le_set_scan_response_data_command(
        self, command: hci.HCI_LE_Set_Scan_Response_Data_Command
    ) -> hci.HCI_StatusReturnParameters:
        answer = super().on_hci_le_set_scan_response_data_command(command)
        self.advertiser.changed()
        return answer

    def scanning_changed(self) -> None:
        hears_all = self.le_scan_enable and not self.le_scanning_filter_policy & 1
        if hears_all != self.told_scanning:
            self.told_scanning = hears_all
            self.tell("scanning.changed", on=hears_all)

    def on_hci_reset_command(self, _command: hci.HCI_Reset_Command) -> hci.HCI_StatusReturnParameters:
        self.wipe()
        return _SUCCESS

    def on_hci_command(self, command: hci.HCI_Command) -> hci.HCI_StatusReturnParameters | None:
        # Without an answer the kernel waits two seconds, and does nothing else meanwhile.
        if isinstance(command, hci.HCI_SyncCommand):
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.UNKNOWN_HCI_COMMAND_ERROR)
        self._send_hci_command_status(hci.HCI_ErrorCode.UNKNOWN_HCI_COMMAND_ERROR, command.op_code)
        return None

    # Scanning (7.8.10, 7.8.11) and the accept list (7.8.15 to 7.8.17).

    def on_hci_le_set_scan_enable_command(
        self, command: hci.HCI_LE_Set_Scan_Enable_Command
    ) -> hci.HCI_StatusReturnParameters:
        self.reported.clear()
        answer = super().on_hci_le_set_scan_enable_command(command)
        self.scanning_changed()
        self.air.listeners_changed()
        return answer

    def on_hci_le_clear_filter_accept_list_command(
        self, _command: hci.HCI_LE_Clear_Filter_Accept_List_Command
    ) -> hci.HCI_StatusReturnParameters:
        self.accept_list.clear()
        return _SUCCESS

    def on_hci_le_add_device_to_filter_accept_list_command(
        self, command: hci.HCI_LE_Add_Device_To_Filter_Accept_List_Command
    ) -> hci.HCI_StatusReturnParameters:
        entry = _key(command.address)
        if entry not in self.accept_list and len(self.accept_list) >= self.filter_accept_list_size:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.MEMORY_CAPACITY_EXCEEDED_ERROR)
        self.accept_list.add(entry)
        self.air.listeners_changed()
        return _SUCCESS

    def on_hci_le_remove_device_from_filter_accept_list_command(
        self, command: hci.HCI_LE_Remove_Device_From_Filter_Accept_List_Command
    ) -> hci.HCI_StatusReturnParameters:
        self.accept_list.discard(_key(command.address))
        return _SUCCESS

    @property
    def listens(self) -> bool:
        return self.le_scan_enable or self.pending_le_connection is not None

    def hear(self, peer: Controller) -> None:
        """Receives an advertisement of a peer in range."""
        advertiser = peer.advertiser
        address = advertiser.address
        if advertiser.connectable and self._wants(address):
            self.air.connect(self, peer, address)
            return
        if not self.le_scan_enable or (self.le_scanning_filter_policy & 1 and _key(address) not in self.accept_list):
            return
        seen = (bytes(address), advertiser.advertising_data, advertiser.scan_response_data)
        if self.filter_duplicates and seen in self.reported:
            return
        self.reported.add(seen)
        event_type = hci.HCI_LE_Advertising_Report_Event.EventType
        kinds = {
            AdvertisingType.ADV_IND: event_type.ADV_IND,
            AdvertisingType.ADV_SCAN_IND: event_type.ADV_SCAN_IND,
            AdvertisingType.ADV_NONCONN_IND: event_type.ADV_NONCONN_IND,
        }
        kind = kinds.get(AdvertisingType(advertiser.advertising_type))
        if kind is None:
            return
        self._report(peer, address, kind, advertiser.advertising_data)
        # An active scanner requests the scan response of a scannable advertiser (Vol 6, Part B, 4.4.3.2).
        if self.le_scan_type == 1 and kind != event_type.ADV_NONCONN_IND:
            self._report(peer, address, event_type.SCAN_RSP, advertiser.scan_response_data)

    def _report(self, peer: Controller, address: hci.Address, kind: int, data: bytes) -> None:
        report = hci.HCI_LE_Advertising_Report_Event.Report(
            event_type=kind,
            address_type=address.address_type,
            address=address,
            data=data,
            rssi=self.air.signal(self, peer),
        )
        self.send_hci_packet(hci.HCI_LE_Advertising_Report_Event([report]))

    # Connecting (7.8.12, 7.8.13).

    def _wants(self, address: hci.Address) -> bool:
        wanted = self.pending_le_connection
        if not isinstance(wanted, hci.HCI_LE_Create_Connection_Command):
            return False
        if wanted.initiator_filter_policy == 1:
            return _key(address) in self.accept_list
        return _key(wanted.peer_address) == _key(address)

    def on_hci_le_create_connection_command(self, command: hci.HCI_LE_Create_Connection_Command) -> None:
        super().on_hci_le_create_connection_command(command)
        self.air.listeners_changed()

    def on_hci_le_create_connection_cancel_command(
        self, _command: hci.HCI_LE_Create_Connection_Cancel_Command
    ) -> hci.HCI_StatusReturnParameters:
        wanted = self.pending_le_connection
        if wanted is None:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        self.pending_le_connection = None
        asyncio.get_running_loop().call_soon(
            self.send_hci_packet,
            hci.HCI_LE_Connection_Complete_Event(
                status=hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR,
                connection_handle=0,
                role=0,
                peer_address_type=0,
                peer_address=hci.Address.ANY,
                connection_interval=0,
                peripheral_latency=0,
                supervision_timeout=0,
                central_clock_accuracy=0,
            ),
        )
        return _SUCCESS

    def open_connection(
        self, role: hci.Role, own: hci.Address, peer: hci.Address, interval: int, latency: int, timeout: int
    ) -> bumble.Connection:
        """Sets up this end of a new link. Times are in units of HCI (1.25 ms and 10 ms)."""
        connection = bumble.Connection(
            controller=self,
            handle=self.allocate_connection_handle(),
            role=role,
            self_address=own,
            peer_address=peer,
            link=self.air,
            transport=core.PhysicalTransport.LE,
            link_type=hci.HCI_Connection_Complete_Event.LinkType.ACL,
        )
        self.le_connections[peer] = connection
        self.send_hci_packet(
            hci.HCI_LE_Connection_Complete_Event(
                status=hci.HCI_ErrorCode.SUCCESS,
                connection_handle=connection.handle,
                role=role,
                peer_address_type=peer.address_type,
                peer_address=peer,
                connection_interval=interval,
                peripheral_latency=latency,
                supervision_timeout=timeout,
                central_clock_accuracy=0,
            )
        )
        return connection

    # Established links.

    def on_hci_disconnect_command(self, command: hci.HCI_Disconnect_Command) -> None:
        if self.find_le_connection_by_handle(command.connection_handle) is None:
            error = hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR
            self._send_hci_command_status(error, command.op_code)
            return
        super().on_hci_disconnect_command(command)

    def on_le_disconnected(self, connection: bumble.Connection, reason: int) -> None:
        # The host that ended the link gets this reason; the peer's host gets another one (Vol 1, Part F, 2.22 and
        # 2.19).
        local = hci.HCI_ErrorCode.CONNECTION_TERMINATED_BY_LOCAL_HOST_ERROR
        remote = hci.HCI_ErrorCode.REMOTE_USER_TERMINATED_CONNECTION_ERROR
        by_host = self.air.link_left(self, connection, reason)
        super().on_le_disconnected(connection, local if by_host and reason == remote else reason)

    def on_hci_le_connection_update_command(self, command: hci.HCI_LE_Connection_Update_Command) -> None:
        connection = self.find_le_connection_by_handle(command.connection_handle)
        if connection is not None:
            interval, timeout = command.connection_interval_max, command.supervision_timeout
            self.air.link_updated(self, connection, interval, timeout)
        super().on_hci_le_connection_update_command(command)

    def on_hci_read_rssi_command(self, command: hci.HCI_Read_RSSI_Command) -> hci.HCI_Read_RSSI_ReturnParameters:
        connection = self.find_le_connection_by_handle(command.handle)
        peer = self.air.peer(self, connection) if connection is not None else None
        if peer is None:
            error = hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR
            return hci.HCI_Read_RSSI_ReturnParameters(error, command.handle, 127)
        return hci.HCI_Read_RSSI_ReturnParameters(
            hci.HCI_ErrorCode.SUCCESS, command.handle, self.air.signal(self, peer)
        )

    def on_link_acl_data(self, sender_address: hci.Address, transport: core.PhysicalTransport, data: bytes) -> None:
        connection = self.le_connections.get(sender_address)
        if connection is None:
            return
        # A host receives packets up to its buffer size. The first fragment is marked as such, and the others follow
        # (5.4.2).
        length = self.le_acl_data_packet_length
        for start in range(0, max(len(data), 1), length):
            piece = data[start : start + length]
            self.send_hci_packet(
                hci.HCI_AclDataPacket(connection.handle, 2 if start == 0 else 1, 0, len(piece), piece)
            )


_SUCCESS = hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)


def _key(address: hci.Address) -> tuple[bytes, bool]:
    return bytes(address), address.is_public

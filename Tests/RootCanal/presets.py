# SPDX-License-Identifier: GPL-3.0-or-later
"""The controllers that RootCanal plays."""

from dataclasses import dataclass, field

READ_STORED_LINK_KEY, WRITE_DEFAULT_LINK_POLICY = 0x0C0D, 0x080F
WRITE_AUTHENTICATED_PAYLOAD_TIMEOUT, READ_ERRONEOUS_DATA_REPORTING = 0x0C7C, 0x0C5A
READ_CODECS, READ_PAIRING_OPTIONS, READ_SYNCHRONIZATION_TRAIN = 0x100D, 0x100C, 0x0C77
READ_LOCAL_VERSION, READ_LOCAL_COMMANDS, READ_ADDRESS = 0x1001, 0x1002, 0x1009
LE_READ_LOCAL_FEATURES = 0x2003
LE_CONNECTION_UPDATE = 0x2013

COMMAND_DISALLOWED, UNSUPPORTED_REMOTE_FEATURE = 0x0C, 0x1A


@dataclass(frozen=True)
class Preset:
    """A controller: RootCanal's configuration, and what the bridge to the kernel makes of its packets."""

    name: str
    about: str
    configuration: str
    #: Parameters of the response to commands that RootCanal lacks, or would not survive, by opcode.
    answers: dict[int, str] = field(default_factory=dict)
    #: Commands that the controller refuses, each with its status.
    refuses: dict[int, int] = field(default_factory=dict)
    #: Bytes that replace those of a response, by opcode: offset in the return parameters, and value.
    replaces: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    #: The status with which each LE Connection Update ends that the controller has accepted; None: it is performed.
    update_ends: int | None = None


# RootCanal says to support these, and does not.
MISSING = {
    WRITE_AUTHENTICATED_PAYLOAD_TIMEOUT: "00 {handle}", READ_ERRONEOUS_DATA_REPORTING: "00 00",
    READ_CODECS: "00 00 00", READ_PAIRING_OPTIONS: "00 00 10", READ_SYNCHRONIZATION_TRAIN: "00 0000 00000000 00",
}
WITHOUT = "features { le_extended_advertising: false le_periodic_advertising: false ll_privacy: false }"

PRESETS = {
    preset.name: preset
    for preset in (
        Preset("modern", "of Bluetooth 5.4 (Intel BE200)", "preset: INTEL_BE200", MISSING),
        Preset(
            "plain", "of Bluetooth 5.3 without extended advertising and LE privacy", WITHOUT, MISSING
        ),
        # CSR's chip says 4.2. It lacks Read Stored Link Key, and refuses the link policy that its features
        # promise. Without Connection Parameters Request, which is of 4.1, a peripheral has no use for LE
        # Connection Update.
        Preset(
            "old", "of Bluetooth 4.0", "preset: CSR_RCK_PTS_DONGLE",
            MISSING
            | {READ_STORED_LINK_KEY: "00 0000 0000", WRITE_DEFAULT_LINK_POLICY: "00"},
            {LE_CONNECTION_UPDATE: COMMAND_DISALLOWED},
            {
                READ_LOCAL_VERSION: [(1, "06"), (4, "06")],
                LE_READ_LOCAL_FEATURES: [(1, "01 00 00 00 00 00 00 00")],
                READ_LOCAL_COMMANDS: [(1 + 33, "00 00 00 00 00 00")],
            },
        ),
        Preset(
            "noparam", "of Bluetooth 5.3, without the Connection Parameters Request procedure (MediaTek MT7921)",
            WITHOUT, MISSING, update_ends=UNSUPPORTED_REMOTE_FEATURE,
        ),
        Preset(
            "dongle", "of Bluetooth 5.4, LE only, and without a public address (nRF52 with Zephyr)",
            "preset: LAIRD_BL654", MISSING, replaces={READ_ADDRESS: [(1, "00 00 00 00 00 00")]},
        ),
    )
}

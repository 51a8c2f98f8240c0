// SPDX-License-Identifier: GPL-3.0-or-later

/// The PDUs of the LE link layer (Core Specification Vol 6 Part B): number, name, what it carries.
enum LinkLayerTable {
  /// On the primary advertising channels, and the addresses that each begins with (2.3).
  static let advertising: [UInt8: (name: String, addresses: [String])] = [
    0: ("ADV_IND", ["AdvA"]),
    1: ("ADV_DIRECT_IND", ["AdvA", "TargetA"]),
    2: ("ADV_NONCONN_IND", ["AdvA"]),
    3: ("SCAN_REQ", ["ScanA", "AdvA"]),
    4: ("SCAN_RSP", ["AdvA"]),
    5: ("CONNECT_IND", ["InitA", "AdvA"]),
    6: ("ADV_SCAN_IND", ["AdvA"]),
    7: ("ADV_EXT_IND", []),
  ]

  /// On the secondary ones (2.3.4).
  static let secondary: [UInt8: (name: String, addresses: [String])] = [
    3: ("AUX_SCAN_REQ", ["ScanA", "AdvA"]),
    5: ("AUX_CONNECT_REQ", ["InitA", "AdvA"]),
    7: ("AUX_ADV_IND", []),
    8: ("AUX_CONNECT_RSP", []),
  ]

  /// What a CONNECT_IND carries behind its addresses (2.3.3.1), the map of channels left off.
  static let connection = ParameterList(
    "hex32 Access Address, hex24 CRCInit, u8 WinSize, u16 WinOffset, ms125 Interval, u16 Latency, "
      + "ms10 Timeout")

  /// What the link layers say to each other (2.4.2).
  static let control = HCITable(
    """
    00 LL_CONNECTION_UPDATE_IND | u8 WinSize, u16 WinOffset, ms125 Interval, u16 Latency, \
    ms10 Timeout, u16 Instant
    01 LL_CHANNEL_MAP_IND
    02 LL_TERMINATE_IND | reason
    03 LL_ENC_REQ | hex64 Rand, hex16 EDIV
    04 LL_ENC_RSP
    05 LL_START_ENC_REQ
    06 LL_START_ENC_RSP
    07 LL_UNKNOWN_RSP | hex8 UnknownType
    08 LL_FEATURE_REQ | hex64 FeatureSet
    09 LL_FEATURE_RSP | hex64 FeatureSet
    0A LL_PAUSE_ENC_REQ
    0B LL_PAUSE_ENC_RSP
    0C LL_VERSION_IND | hex8 Version, u16 Company, hex16 Subversion
    0D LL_REJECT_IND | reason
    0E LL_PERIPHERAL_FEATURE_REQ | hex64 FeatureSet
    0F LL_CONNECTION_PARAM_REQ | ms125 Interval min, ms125 Interval max, u16 Latency, ms10 Timeout
    10 LL_CONNECTION_PARAM_RSP | ms125 Interval min, ms125 Interval max, u16 Latency, ms10 Timeout
    11 LL_REJECT_EXT_IND | hex8 RejectOpcode, reason
    12 LL_PING_REQ
    13 LL_PING_RSP
    14 LL_LENGTH_REQ | u16 MaxRxOctets, u16 MaxRxTime, u16 MaxTxOctets, u16 MaxTxTime
    15 LL_LENGTH_RSP | u16 MaxRxOctets, u16 MaxRxTime, u16 MaxTxOctets, u16 MaxTxTime
    16 LL_PHY_REQ | phys TX, phys RX
    17 LL_PHY_RSP | phys TX, phys RX
    18 LL_PHY_UPDATE_IND | phys C to P, phys P to C, u16 Instant
    19 LL_MIN_USED_CHANNELS_IND | phys PHYs, u8 MinUsedChannels
    1A LL_CTE_REQ
    1B LL_CTE_RSP
    1C LL_PERIODIC_SYNC_IND
    1D LL_CLOCK_ACCURACY_REQ
    1E LL_CLOCK_ACCURACY_RSP
    1F LL_CIS_REQ
    20 LL_CIS_RSP
    21 LL_CIS_IND
    22 LL_CIS_TERMINATE_IND
    23 LL_POWER_CONTROL_REQ
    24 LL_POWER_CONTROL_RSP
    25 LL_POWER_CHANGE_IND
    26 LL_SUBRATE_REQ
    27 LL_SUBRATE_IND
    28 LL_CHANNEL_REPORTING_IND
    29 LL_CHANNEL_STATUS_IND
    """)
}

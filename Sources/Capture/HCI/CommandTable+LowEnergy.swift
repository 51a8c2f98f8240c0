// SPDX-License-Identifier: GPL-3.0-or-later

extension CommandTable {
  /// The LE Controller commands (Vol 4 Part E, 7.8).
  static let lowEnergy = """
    2001 LE Set Event Mask | hex64 Mask
    2002 LE Read Buffer Size [v1] | | status, u16 ACL Length, u8 ACL Packets
    2003 LE Read Local Supported Features | | status, hex64 Features
    2005 LE Set Random Address | addr Address
    2006 LE Set Advertising Parameters | ms0625 Minimum Interval, ms0625 Maximum Interval, \
    advtype Type, ownaddr Own Address Type, addrtype Peer Address Type, addr Peer Address, \
    hex8 Channels, hex8 Filter Policy
    2007 LE Read Advertising Physical Channel Tx Power | | status, dbm TX Power
    2008 LE Set Advertising Data | ad Data
    2009 LE Set Scan Response Data | ad Data
    200A LE Set Advertising Enable | bool Advertising
    200B LE Set Scan Parameters | hex8 Type, ms0625 Interval, ms0625 Window, \
    ownaddr Own Address Type, hex8 Filter Policy
    200C LE Set Scan Enable | bool Scanning, bool Filter Duplicates
    200D LE Create Connection | ms0625 Scan Interval, ms0625 Scan Window, hex8 Filter Policy, \
    addrtype Peer Address Type, addr Peer Address, ownaddr Own Address Type, \
    ms125 Minimum Interval, ms125 Maximum Interval, u16 Latency, ms10 Supervision Timeout
    200E LE Create Connection Cancel
    200F LE Read Filter Accept List Size | | status, u8 Size
    2010 LE Clear Filter Accept List
    2011 LE Add Device To Filter Accept List | addrtype Address Type, addr Address
    2012 LE Remove Device From Filter Accept List | addrtype Address Type, addr Address
    2013 LE Connection Update | handle, ms125 Minimum Interval, ms125 Maximum Interval, \
    u16 Latency, ms10 Supervision Timeout
    2014 LE Set Host Channel Classification
    2015 LE Read Channel Map | handle
    2016 LE Read Remote Features | handle
    2017 LE Encrypt
    2018 LE Rand
    2019 LE Enable Encryption | handle
    201A LE Long Term Key Request Reply | handle | status, handle
    201B LE Long Term Key Request Negative Reply | handle | status, handle
    201C LE Read Supported States
    201D LE Receiver Test [v1]
    201E LE Transmitter Test [v1]
    201F LE Test End
    2020 LE Remote Connection Parameter Request Reply | handle, ms125 Minimum Interval, \
    ms125 Maximum Interval, u16 Latency, ms10 Supervision Timeout | status, handle
    2021 LE Remote Connection Parameter Request Negative Reply | handle, reason | status, handle
    2022 LE Set Data Length | handle, u16 TX Octets, u16 TX Time | status, handle
    2023 LE Read Suggested Default Data Length | | status, u16 TX Octets, u16 TX Time
    2024 LE Write Suggested Default Data Length | u16 TX Octets, u16 TX Time
    2025 LE Read Local P-256 Public Key
    2026 LE Generate DHKey [v1]
    2027 LE Add Device To Resolving List | addrtype Address Type, addr Address
    2028 LE Remove Device From Resolving List | addrtype Address Type, addr Address
    2029 LE Clear Resolving List
    202A LE Read Resolving List Size | | status, u8 Size
    202B LE Read Peer Resolvable Address
    202C LE Read Local Resolvable Address
    202D LE Set Address Resolution Enable | bool Resolution
    202E LE Set Resolvable Private Address Timeout | u16 Timeout
    202F LE Read Maximum Data Length | | status, u16 TX Octets, u16 TX Time, u16 RX Octets, \
    u16 RX Time
    2030 LE Read PHY | handle | status, handle, phy TX PHY, phy RX PHY
    2031 LE Set Default PHY | hex8 All PHYs, phys TX PHYs, phys RX PHYs
    2032 LE Set PHY | handle, hex8 All PHYs, phys TX PHYs, phys RX PHYs
    2033 LE Receiver Test [v2]
    2034 LE Transmitter Test [v2]
    2035 LE Set Advertising Set Random Address | u8 Advertising Handle, addr Address
    2036 LE Set Extended Advertising Parameters [v1] | u8 Advertising Handle, hex16 Properties, \
    slots24 Minimum Interval, slots24 Maximum Interval, hex8 Channels, \
    ownaddr Own Address Type, addrtype Peer Address Type, addr Peer Address, \
    hex8 Filter Policy, dbm TX Power | status, dbm Selected TX Power
    2037 LE Set Extended Advertising Data | u8 Advertising Handle, hex8 Operation, \
    hex8 Fragment Preference, ad Data
    2038 LE Set Extended Scan Response Data | u8 Advertising Handle, hex8 Operation, \
    hex8 Fragment Preference, ad Data
    2039 LE Set Extended Advertising Enable | bool Advertising, u8 Number of Sets, \
    u8 Advertising Handle, ms10 Duration, u8 Maximum Events
    203A LE Read Maximum Advertising Data Length | | status, u16 Length
    203B LE Read Number of Supported Advertising Sets | | status, u8 Number
    203C LE Remove Advertising Set | u8 Advertising Handle
    203D LE Clear Advertising Sets
    203E LE Set Periodic Advertising Parameters [v1]
    203F LE Set Periodic Advertising Data
    2040 LE Set Periodic Advertising Enable
    2041 LE Set Extended Scan Parameters
    2042 LE Set Extended Scan Enable | bool Scanning, bool Filter Duplicates
    2043 LE Extended Create Connection [v1] | hex8 Filter Policy, ownaddr Own Address Type, \
    addrtype Peer Address Type, addr Peer Address, phys Initiating PHYs
    2044 LE Periodic Advertising Create Sync
    2045 LE Periodic Advertising Create Sync Cancel
    2046 LE Periodic Advertising Terminate Sync
    2047 LE Add Device To Periodic Advertiser List
    2048 LE Remove Device From Periodic Advertiser List
    2049 LE Clear Periodic Advertiser List
    204A LE Read Periodic Advertiser List Size
    204B LE Read Transmit Power
    204C LE Read RF Path Compensation
    204D LE Write RF Path Compensation
    204E LE Set Privacy Mode | addrtype Address Type, addr Address, hex8 Mode
    204F LE Receiver Test [v3]
    2050 LE Transmitter Test [v3]
    2051 LE Set Connectionless CTE Transmit Parameters
    2052 LE Set Connectionless CTE Transmit Enable
    2053 LE Set Connectionless IQ Sampling Enable
    2054 LE Set Connection CTE Receive Parameters
    2055 LE Set Connection CTE Transmit Parameters
    2056 LE Connection CTE Request Enable
    2057 LE Connection CTE Response Enable
    2058 LE Read Antenna Information
    2059 LE Set Periodic Advertising Receive Enable
    205A LE Periodic Advertising Sync Transfer
    205B LE Periodic Advertising Set Info Transfer
    205C LE Set Periodic Advertising Sync Transfer Parameters
    205D LE Set Default Periodic Advertising Sync Transfer Parameters
    205E LE Generate DHKey [v2]
    205F LE Modify Sleep Clock Accuracy
    2060 LE Read Buffer Size [v2] | | status, u16 ACL Length, u8 ACL Packets, u16 ISO Length, \
    u8 ISO Packets
    2061 LE Read ISO TX Sync
    2062 LE Set CIG Parameters
    2063 LE Set CIG Parameters Test
    2064 LE Create CIS
    2065 LE Remove CIG
    2066 LE Accept CIS Request
    2067 LE Reject CIS Request
    2068 LE Create BIG
    2069 LE Create BIG Test
    206A LE Terminate BIG
    206B LE BIG Create Sync
    206C LE BIG Terminate Sync
    206D LE Request Peer SCA | handle
    206E LE Setup ISO Data Path
    206F LE Remove ISO Data Path
    2070 LE ISO Transmit Test
    2071 LE ISO Receive Test
    2072 LE ISO Read Test Counters
    2073 LE ISO Test End
    2074 LE Set Host Feature [v1] | u8 Bit, bool Value
    2075 LE Read ISO Link Quality
    2076 LE Enhanced Read Transmit Power Level
    2077 LE Read Remote Transmit Power Level
    2078 LE Set Path Loss Reporting Parameters
    2079 LE Set Path Loss Reporting Enable
    207A LE Set Transmit Power Reporting Enable
    207B LE Transmitter Test [v4]
    207C LE Set Data Related Address Changes
    207D LE Set Default Subrate
    207E LE Subrate Request | handle
    207F LE Set Extended Advertising Parameters [v2]
    2082 LE Set Periodic Advertising Subevent Data
    2083 LE Set Periodic Advertising Response Data
    2084 LE Set Periodic Sync Subevent
    2085 LE Extended Create Connection [v2]
    2086 LE Set Periodic Advertising Parameters [v2]

    """
}

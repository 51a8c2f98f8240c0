// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// The UUIDs of services, declarations, descriptors and characteristics that the project uses, each
// declared once, and the names of all that the Bluetooth SIG assigned for LE (Assigned Numbers, 3.4
// to 3.8). Types of values that are only decoded for display are known by their numbers.

/// Services.
extension UUID {
  public static let genericAccess: UUID = 0x1800
  public static let genericAttribute: UUID = 0x1801
  public static let currentTimeService: UUID = 0x1805
  public static let deviceInformation: UUID = 0x180A
  public static let heartRate: UUID = 0x180D
  public static let batteryService: UUID = 0x180F
  public static let humanInterfaceDevice: UUID = 0x1812
}

/// Attribute types of the GATT profile: declarations and descriptors (Core Specification Vol 3 Part G,
/// 3.4).
extension UUID {
  public static let primaryService: UUID = 0x2800
  public static let secondaryService: UUID = 0x2801
  public static let include: UUID = 0x2802
  public static let characteristic: UUID = 0x2803
  public static let extendedProperties: UUID = 0x2900
  public static let userDescription: UUID = 0x2901
  public static let clientConfiguration: UUID = 0x2902
  public static let serverConfiguration: UUID = 0x2903
  public static let presentationFormat: UUID = 0x2904
  public static let aggregateFormat: UUID = 0x2905

  /// Whether it is the attribute type of a declaration (Assigned Numbers, 3.6).
  public var isDeclaration: Bool { short.map { $0 >> 8 == 0x28 } ?? false }
  /// Whether it is the attribute type of a descriptor (Assigned Numbers, 3.7).
  public var isDescriptor: Bool { short.map { $0 >> 8 == 0x29 } ?? false }
}

/// Characteristics.
extension UUID {
  public static let deviceName: UUID = 0x2A00
  public static let appearance: UUID = 0x2A01
  public static let preferredConnectionParameters: UUID = 0x2A04
  public static let serviceChanged: UUID = 0x2A05
  public static let localTimeInformation: UUID = 0x2A0F
  public static let batteryLevel: UUID = 0x2A19
  public static let modelNumber: UUID = 0x2A24
  public static let firmwareRevision: UUID = 0x2A26
  public static let softwareRevision: UUID = 0x2A28
  public static let manufacturerName: UUID = 0x2A29
  public static let currentTime: UUID = 0x2A2B
  public static let centralAddressResolution: UUID = 0x2AA6
  public static let clientSupportedFeatures: UUID = 0x2B29
  public static let databaseHash: UUID = 0x2B2A
  public static let serverSupportedFeatures: UUID = 0x2B3A
}

/// Apple's services and their characteristics.
extension UUID {
  /// The Apple Notification Center Service (ANCS specification, Service Characteristics).
  public static let notificationCenter = UUID(high: 0x7905_F431_B5CE_4E99, low: 0xA40F_4B1E_122D_00D0)
  /// Notified.
  public static let notificationSource = UUID(high: 0x9FBF_120D_6301_42D9, low: 0x8C58_25E6_99A2_1DBD)
  /// Written with response.
  public static let controlPoint = UUID(high: 0x69D1_D8F3_45E1_49A8, low: 0x9821_9BBD_FDAA_D9D9)
  /// Notified.
  public static let dataSource = UUID(high: 0x22EA_C6E9_24D6_4BB5, low: 0xBE44_B36A_CE7C_7BFB)
  /// The Apple Media Service (AMS specification, Service Characteristics).
  public static let mediaService = UUID(high: 0x89D3_502B_0F36_433A, low: 0x8EF4_C502_AD55_F8DC)
  /// Written and notified.
  public static let remoteCommand = UUID(high: 0x9B3C_81D8_57B1_4A8A, low: 0xB8DF_0E56_F7CA_51C2)
  /// Written and notified.
  public static let entityUpdate = UUID(high: 0x2F7C_ABCE_808D_411F, low: 0x9A0C_BB92_BA96_C102)
  /// Written and read.
  public static let entityAttribute = UUID(high: 0xC6B2_F38C_23AB_46D8, low: 0xA6AB_A3A8_70BB_D5D7)
  public static let continuityService = UUID(high: 0xD061_1E78_BBB4_4591, low: 0xA5F8_4879_10AE_4366)
  public static let continuity = UUID(high: 0x8667_556C_9A37_4C91, low: 0x84ED_54EE_27D9_0049)
  public static let nearbyService = UUID(high: 0x9FA4_80E0_4967_4542, low: 0x9390_D343_DC5D_04AE)
  public static let nearby = UUID(high: 0xAF0B_ADB1_5B99_43CD, low: 0x917A_A77B_C549_E3CC)
  /// A service of iOS 26 whose purpose is not known.
  public static let unknownAppleService = UUID(high: 0x410C_D5ED_2F82_4F77, low: 0x8916_AB5F_5010_368F)
  /// Its characteristic: written without response, and notified.
  public static let unknownApple = UUID(high: 0xF7DA_4085_BBE7_42F4, low: 0x9727_6CA6_0FE3_A1A5)
}

/// The names of assigned UUIDs.
public enum AssignedNumbers {
  /// The name assigned to this UUID; nil if it has none.
  public static func name(of uuid: UUID) -> String? {
    services[uuid] ?? attributes[uuid] ?? apple[uuid]
  }

  /// Name and number for display: `Battery Level (2A19)`, or only the number.
  public static func title(of uuid: UUID) -> String {
    name(of: uuid).map { "\($0) (\(uuid))" } ?? uuid.description
  }

  /// A name as typed on the command line: in lower case, with hyphens instead of blanks.
  public static func typedName(_ name: String) -> String {
    String(name.lowercased().map { $0 == " " ? "-" : $0 })
  }

  /// The service of this name, in its assigned or its typed form.
  public static func service(named name: String) -> UUID? {
    uuid(named: name, in: [services, apple])
  }

  /// The characteristic or descriptor of this name, in its assigned or its typed form.
  public static func attributeType(named name: String) -> UUID? {
    uuid(named: name, in: [attributes, apple])
  }

  /// The typed names of all characteristics and descriptors.
  public static var attributeNames: [String] {
    (Array(attributes.values) + apple.values).map(typedName).sorted()
  }

  private static func uuid(named name: String, in tables: [[UUID: String]]) -> UUID? {
    let typed = typedName(name)
    return tables.lazy.compactMap { $0.first { typedName($0.value) == typed }?.key }.first
  }

  private static let services: [UUID: String] = [
    .genericAccess: "Generic Access", .genericAttribute: "Generic Attribute", 0x1802: "Immediate Alert",
    0x1803: "Link Loss", 0x1804: "Tx Power", .currentTimeService: "Current Time", 0x1806: "Reference Time Update",
    0x1807: "Next DST Change", 0x1808: "Glucose", 0x1809: "Health Thermometer",
    .deviceInformation: "Device Information", .heartRate: "Heart Rate", 0x180E: "Phone Alert Status",
    .batteryService: "Battery", 0x1810: "Blood Pressure", 0x1811: "Alert Notification",
    .humanInterfaceDevice: "Human Interface Device", 0x1813: "Scan Parameters", 0x1814: "Running Speed and Cadence",
    0x1815: "Automation IO", 0x1816: "Cycling Speed and Cadence", 0x1818: "Cycling Power",
    0x1819: "Location and Navigation", 0x181A: "Environmental Sensing", 0x181B: "Body Composition", 0x181C: "User Data",
    0x181D: "Weight Scale", 0x181E: "Bond Management", 0x181F: "Continuous Glucose Monitoring",
    0x1820: "Internet Protocol Support", 0x1821: "Indoor Positioning", 0x1822: "Pulse Oximeter", 0x1823: "HTTP Proxy",
    0x1824: "Transport Discovery", 0x1825: "Object Transfer", 0x1826: "Fitness Machine", 0x1827: "Mesh Provisioning",
    0x1828: "Mesh Proxy", 0x1829: "Reconnection Configuration", 0x183A: "Insulin Delivery", 0x183B: "Binary Sensor",
    0x183C: "Emergency Configuration", 0x183D: "Authorization Control", 0x183E: "Physical Activity Monitor",
    0x183F: "Elapsed Time", 0x1840: "Generic Health Sensor", 0x1843: "Audio Input Control", 0x1844: "Volume Control",
    0x1845: "Volume Offset Control", 0x1846: "Coordinated Set Identification", 0x1847: "Device Time",
    0x1848: "Media Control", 0x1849: "Generic Media Control", 0x184A: "Constant Tone Extension",
    0x184B: "Telephone Bearer", 0x184C: "Generic Telephone Bearer", 0x184D: "Microphone Control",
    0x184E: "Audio Stream Control", 0x184F: "Broadcast Audio Scan", 0x1850: "Published Audio Capabilities",
    0x1851: "Basic Audio Announcement", 0x1852: "Broadcast Audio Announcement", 0x1853: "Common Audio",
    0x1854: "Hearing Access", 0x1855: "Telephony and Media Audio", 0x1856: "Public Broadcast Announcement",
    0x1857: "Electronic Shelf Label", 0x1858: "Gaming Audio", 0x1859: "Mesh Proxy Solicitation",
  ]

  /// Declarations, descriptors and characteristics.
  private static let attributes: [UUID: String] = [
    .primaryService: "Primary Service", .secondaryService: "Secondary Service", .include: "Include",
    .characteristic: "Characteristic", .extendedProperties: "Characteristic Extended Properties",
    .userDescription: "Characteristic User Description",
    .clientConfiguration: "Client Characteristic Configuration",
    .serverConfiguration: "Server Characteristic Configuration",
    .presentationFormat: "Characteristic Presentation Format",
    .aggregateFormat: "Characteristic Aggregate Format", 0x2906: "Valid Range",
    0x2907: "External Report Reference", 0x2908: "Report Reference", 0x2909: "Number of Digitals",
    0x290A: "Value Trigger Setting", 0x290B: "Environmental Sensing Configuration",
    0x290C: "Environmental Sensing Measurement", 0x290D: "Environmental Sensing Trigger Setting",
    0x290E: "Time Trigger Setting", 0x290F: "Complete BR-EDR Transport Block Data",
    0x2910: "Observation Schedule", 0x2911: "Valid Range and Accuracy",
    .deviceName: "Device Name", .appearance: "Appearance", 0x2A02: "Peripheral Privacy Flag",
    0x2A03: "Reconnection Address",
    .preferredConnectionParameters: "Peripheral Preferred Connection Parameters",
    .serviceChanged: "Service Changed", 0x2A06: "Alert Level", 0x2A07: "Tx Power Level",
    0x2A08: "Date Time", 0x2A09: "Day of Week", 0x2A0A: "Day Date Time", 0x2A0B: "Exact Time 100",
    0x2A0C: "Exact Time 256", 0x2A0D: "DST Offset", 0x2A0E: "Time Zone",
    .localTimeInformation: "Local Time Information", 0x2A10: "Secondary Time Zone",
    0x2A11: "Time with DST", 0x2A12: "Time Accuracy", 0x2A13: "Time Source",
    0x2A14: "Reference Time Information", 0x2A15: "Time Broadcast",
    0x2A16: "Time Update Control Point", 0x2A17: "Time Update State", 0x2A18: "Glucose Measurement",
    .batteryLevel: "Battery Level", 0x2A1A: "Battery Power State", 0x2A1B: "Battery Level State",
    0x2A1C: "Temperature Measurement", 0x2A1D: "Temperature Type",
    0x2A1E: "Intermediate Temperature", 0x2A1F: "Temperature Celsius",
    0x2A20: "Temperature Fahrenheit", 0x2A21: "Measurement Interval",
    0x2A22: "Boot Keyboard Input Report", 0x2A23: "System ID", .modelNumber: "Model Number String",
    0x2A25: "Serial Number String", .firmwareRevision: "Firmware Revision String",
    0x2A27: "Hardware Revision String", .softwareRevision: "Software Revision String",
    .manufacturerName: "Manufacturer Name String", 0x2A2A: "IEEE 11073-20601 Regulatory Certification Data List",
    .currentTime: "Current Time", 0x2A2C: "Magnetic Declination", 0x2A2F: "Position 2D", 0x2A30: "Position 3D",
    0x2A31: "Scan Refresh", 0x2A32: "Boot Keyboard Output Report", 0x2A33: "Boot Mouse Input Report",
    0x2A34: "Glucose Measurement Context", 0x2A35: "Blood Pressure Measurement", 0x2A36: "Intermediate Cuff Pressure",
    0x2A37: "Heart Rate Measurement", 0x2A38: "Body Sensor Location", 0x2A39: "Heart Rate Control Point",
    0x2A3A: "Removable", 0x2A3B: "Service Required", 0x2A3C: "Scientific Temperature Celsius", 0x2A3D: "String",
    0x2A3E: "Network Availability", 0x2A3F: "Alert Status", 0x2A40: "Ringer Control Point", 0x2A41: "Ringer Setting",
    0x2A42: "Alert Category ID Bit Mask", 0x2A43: "Alert Category ID", 0x2A44: "Alert Notification Control Point",
    0x2A45: "Unread Alert Status", 0x2A46: "New Alert", 0x2A47: "Supported New Alert Category",
    0x2A48: "Supported Unread Alert Category", 0x2A49: "Blood Pressure Feature", 0x2A4A: "HID Information",
    0x2A4B: "Report Map", 0x2A4C: "HID Control Point", 0x2A4D: "Report", 0x2A4E: "Protocol Mode",
    0x2A4F: "Scan Interval Window", 0x2A50: "PnP ID", 0x2A51: "Glucose Feature", 0x2A52: "Record Access Control Point",
    0x2A53: "RSC Measurement", 0x2A54: "RSC Feature", 0x2A55: "SC Control Point", 0x2A56: "Digital",
    0x2A57: "Digital Output", 0x2A58: "Analog", 0x2A59: "Analog Output", 0x2A5A: "Aggregate", 0x2A5B: "CSC Measurement",
    0x2A5C: "CSC Feature", 0x2A5D: "Sensor Location", 0x2A5E: "PLX Spot-Check Measurement",
    0x2A5F: "PLX Continuous Measurement", 0x2A60: "PLX Features", 0x2A62: "Pulse Oximetry Control Point",
    0x2A63: "Cycling Power Measurement", 0x2A64: "Cycling Power Vector", 0x2A65: "Cycling Power Feature",
    0x2A66: "Cycling Power Control Point", 0x2A67: "Location and Speed", 0x2A68: "Navigation",
    0x2A69: "Position Quality", 0x2A6A: "LN Feature", 0x2A6B: "LN Control Point", 0x2A6C: "Elevation",
    0x2A6D: "Pressure", 0x2A6E: "Temperature", 0x2A6F: "Humidity", 0x2A70: "True Wind Speed",
    0x2A71: "True Wind Direction", 0x2A72: "Apparent Wind Speed", 0x2A73: "Apparent Wind Direction",
    0x2A74: "Gust Factor", 0x2A75: "Pollen Concentration", 0x2A76: "UV Index", 0x2A77: "Irradiance", 0x2A78: "Rainfall",
    0x2A79: "Wind Chill", 0x2A7A: "Heat Index", 0x2A7B: "Dew Point", 0x2A7D: "Descriptor Value Changed",
    0x2A7E: "Aerobic Heart Rate Lower Limit", 0x2A7F: "Aerobic Threshold", 0x2A80: "Age",
    0x2A81: "Anaerobic Heart Rate Lower Limit", 0x2A82: "Anaerobic Heart Rate Upper Limit",
    0x2A83: "Anaerobic Threshold", 0x2A84: "Aerobic Heart Rate Upper Limit", 0x2A85: "Date of Birth",
    0x2A86: "Date of Threshold Assessment", 0x2A87: "Email Address", 0x2A88: "Fat Burn Heart Rate Lower Limit",
    0x2A89: "Fat Burn Heart Rate Upper Limit", 0x2A8A: "First Name", 0x2A8B: "Five Zone Heart Rate Limits",
    0x2A8C: "Gender", 0x2A8D: "Heart Rate Max", 0x2A8E: "Height", 0x2A8F: "Hip Circumference", 0x2A90: "Last Name",
    0x2A91: "Maximum Recommended Heart Rate", 0x2A92: "Resting Heart Rate",
    0x2A93: "Sport Type for Aerobic and Anaerobic Thresholds", 0x2A94: "Three Zone Heart Rate Limits",
    0x2A95: "Two Zone Heart Rate Limits", 0x2A96: "VO2 Max", 0x2A97: "Waist Circumference", 0x2A98: "Weight",
    0x2A99: "Database Change Increment", 0x2A9A: "User Index", 0x2A9B: "Body Composition Feature",
    0x2A9C: "Body Composition Measurement", 0x2A9D: "Weight Measurement", 0x2A9E: "Weight Scale Feature",
    0x2A9F: "User Control Point", 0x2AA0: "Magnetic Flux Density - 2D", 0x2AA1: "Magnetic Flux Density - 3D",
    0x2AA2: "Language", 0x2AA3: "Barometric Pressure Trend", 0x2AA4: "Bond Management Control Point",
    0x2AA5: "Bond Management Feature", .centralAddressResolution: "Central Address Resolution",
    0x2AA7: "CGM Measurement", 0x2AA8: "CGM Feature", 0x2AA9: "CGM Status",
    0x2ABC: "TDS Control Point", 0x2AC3: "Object ID", 0x2AC4: "Object Properties",
    0x2AC5: "Object Action Control Point", 0x2AC6: "Object List Control Point",
    0x2AC7: "Object List Filter", 0x2AC8: "Object Changed",
    0x2AC9: "Resolvable Private Address Only",
    .clientSupportedFeatures: "Client Supported Features", .databaseHash: "Database Hash",
    .serverSupportedFeatures: "Server Supported Features", 0x2B93: "Media Player Name",
    0x2B94: "Media Player Icon Object ID", 0x2B95: "Media Player Icon URL", 0x2B96: "Track Changed",
    0x2B97: "Track Title", 0x2B98: "Track Duration", 0x2B99: "Track Position", 0x2B9A: "Playback Speed",
    0x2B9B: "Seeking Speed", 0x2B9C: "Current Track Segments Object ID", 0x2B9D: "Current Track Object ID",
    0x2B9E: "Next Track Object ID", 0x2B9F: "Parent Group Object ID", 0x2BA0: "Current Group Object ID",
    0x2BA1: "Playing Order", 0x2BA2: "Playing Orders Supported", 0x2BA3: "Media State", 0x2BA4: "Media Control Point",
    0x2BA5: "Media Control Point Opcodes Supported", 0x2BBA: "Content Control ID", 0x2BBB: "Status Flags",
    0x2BED: "Battery Level Status",
  ]

  private static let apple: [UUID: String] = [
    .notificationCenter: "Apple Notification Center Service",
    .notificationSource: "Notification Source", .controlPoint: "Control Point",
    .dataSource: "Data Source", .mediaService: "Apple Media Service",
    .remoteCommand: "Remote Command", .entityUpdate: "Entity Update",
    .entityAttribute: "Entity Attribute", .continuityService: "Apple Continuity",
    .continuity: "Continuity", .nearbyService: "Apple Nearby", .nearby: "Nearby",
    .unknownAppleService: "Apple Service 410CD5ED", .unknownApple: "Characteristic F7DA4085",
  ]
}

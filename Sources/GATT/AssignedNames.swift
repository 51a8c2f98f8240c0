// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The names of UUIDs: the Bluetooth SIG's assigned numbers for services, declarations, descriptors
/// and the common characteristics (Assigned Numbers, 3.4 to 3.8), and Apple's.
public enum AssignedNumbers {
  /// The name of what this UUID is the type of; nil where nobody named it.
  public static func name(of uuid: UUID) -> String? {
    if let short = uuid.short { return names[short] }
    return apple[uuid]
  }

  /// Name and number for a person: `Battery Level (2A19)`, or the number alone.
  public static func title(of uuid: UUID) -> String {
    name(of: uuid).map { "\($0) (\(uuid))" } ?? uuid.description
  }

  private static let apple: [UUID: String] = [
    UUID(high: 0x7905_F431_B5CE_4E99, low: 0xA40F_4B1E_122D_00D0):
      "Apple Notification Center Service",
    UUID(high: 0x9FBF_120D_6301_42D9, low: 0x8C58_25E6_99A2_1DBD): "Notification Source",
    UUID(high: 0x69D1_D8F3_45E1_49A8, low: 0x9821_9BBD_FDAA_D9D9): "Control Point",
    UUID(high: 0x22EA_C6E9_24D6_4BB5, low: 0xBE44_B36A_CE7C_7BFB): "Data Source",
    UUID(high: 0x89D3_502B_0F36_433A, low: 0x8EF4_C502_AD55_F8DC): "Apple Media Service",
    UUID(high: 0x9B3C_81D8_57B1_4A8A, low: 0xB8DF_0E56_F7CA_51C2): "Remote Command",
    UUID(high: 0x2F7C_ABCE_808D_411F, low: 0x9A0C_BB92_BA96_C102): "Entity Update",
    UUID(high: 0xC6B2_F38C_23AB_46D8, low: 0xA6AB_A3A8_70BB_D5D7): "Entity Attribute",
    UUID(high: 0xD061_1E78_BBB4_4591, low: 0xA5F8_4879_10AE_4366): "Apple Continuity",
    UUID(high: 0x8667_556C_9A37_4C91, low: 0x84ED_54EE_27D9_0049): "Continuity",
    UUID(high: 0x9FA4_80E0_4967_4542, low: 0x9390_D343_DC5D_04AE): "Apple Nearby",
    UUID(high: 0xAF0B_ADB1_5B99_43CD, low: 0x917A_A77B_C549_E3CC): "Nearby",
  ]

  private static let names: [UInt16: String] = {
    var names: [UInt16: String] = [:]
    for entry in (services + declarations + characteristics).split(separator: ";") {
      let words = entry.split(separator: " ", maxSplits: 1)
      if words.count == 2, let number = UInt16(words[0], radix: 16) {
        names[number] = String(words[1])
      }
    }
    return names
  }()

  private static let services = """
    1800 Generic Access; 1801 Generic Attribute; 1802 Immediate Alert; 1803 Link Loss; \
    1804 Tx Power; 1805 Current Time; 1806 Reference Time Update; 1807 Next DST Change; \
    1808 Glucose; 1809 Health Thermometer; 180A Device Information; 180D Heart Rate; \
    180E Phone Alert Status; 180F Battery; 1810 Blood Pressure; 1811 Alert Notification; \
    1812 Human Interface Device; 1813 Scan Parameters; 1814 Running Speed and Cadence; \
    1815 Automation IO; 1816 Cycling Speed and Cadence; 1818 Cycling Power; \
    1819 Location and Navigation; 181A Environmental Sensing; 181B Body Composition; \
    181C User Data; 181D Weight Scale; 181E Bond Management; 181F Continuous Glucose Monitoring; \
    1820 Internet Protocol Support; 1821 Indoor Positioning; 1822 Pulse Oximeter; \
    1823 HTTP Proxy; 1824 Transport Discovery; 1825 Object Transfer; 1826 Fitness Machine; \
    1827 Mesh Provisioning; 1828 Mesh Proxy; 1829 Reconnection Configuration; \
    183A Insulin Delivery; 183B Binary Sensor; 183C Emergency Configuration; \
    183D Authorization Control; 183E Physical Activity Monitor; 183F Elapsed Time; \
    1840 Generic Health Sensor; 1843 Audio Input Control; 1844 Volume Control; \
    1845 Volume Offset Control; 1846 Coordinated Set Identification; 1847 Device Time; \
    1848 Media Control; 1849 Generic Media Control; 184A Constant Tone Extension; \
    184B Telephone Bearer; 184C Generic Telephone Bearer; 184D Microphone Control; \
    184E Audio Stream Control; 184F Broadcast Audio Scan; 1850 Published Audio Capabilities; \
    1851 Basic Audio Announcement; 1852 Broadcast Audio Announcement; 1853 Common Audio; \
    1854 Hearing Access; 1855 Telephony and Media Audio; 1856 Public Broadcast Announcement; \
    1857 Electronic Shelf Label; 1858 Gaming Audio; 1859 Mesh Proxy Solicitation;
    """

  private static let declarations = """
    2800 Primary Service; 2801 Secondary Service; 2802 Include; 2803 Characteristic; \
    2900 Characteristic Extended Properties; 2901 Characteristic User Description; \
    2902 Client Characteristic Configuration; 2903 Server Characteristic Configuration; \
    2904 Characteristic Presentation Format; 2905 Characteristic Aggregate Format; \
    2906 Valid Range; 2907 External Report Reference; 2908 Report Reference; \
    2909 Number of Digitals; 290A Value Trigger Setting; \
    290B Environmental Sensing Configuration; 290C Environmental Sensing Measurement; \
    290D Environmental Sensing Trigger Setting; 290E Time Trigger Setting; \
    290F Complete BR-EDR Transport Block Data; 2910 Observation Schedule; \
    2911 Valid Range and Accuracy;
    """

  private static let characteristics = """
    2A00 Device Name; 2A01 Appearance; 2A02 Peripheral Privacy Flag; 2A03 Reconnection Address; \
    2A04 Peripheral Preferred Connection Parameters; 2A05 Service Changed; 2A06 Alert Level; \
    2A07 Tx Power Level; 2A08 Date Time; 2A09 Day of Week; 2A0A Day Date Time; \
    2A0B Exact Time 100; 2A0C Exact Time 256; 2A0D DST Offset; 2A0E Time Zone; \
    2A0F Local Time Information; 2A10 Secondary Time Zone; 2A11 Time with DST; \
    2A12 Time Accuracy; 2A13 Time Source; 2A14 Reference Time Information; 2A15 Time Broadcast; \
    2A16 Time Update Control Point; 2A17 Time Update State; 2A18 Glucose Measurement; \
    2A19 Battery Level; 2A1A Battery Power State; 2A1B Battery Level State; \
    2A1C Temperature Measurement; 2A1D Temperature Type; 2A1E Intermediate Temperature; \
    2A1F Temperature Celsius; 2A20 Temperature Fahrenheit; 2A21 Measurement Interval; \
    2A22 Boot Keyboard Input Report; 2A23 System ID; 2A24 Model Number String; \
    2A25 Serial Number String; 2A26 Firmware Revision String; 2A27 Hardware Revision String; \
    2A28 Software Revision String; 2A29 Manufacturer Name String; \
    2A2A IEEE 11073-20601 Regulatory Certification Data List; 2A2B Current Time; \
    2A2C Magnetic Declination; 2A2F Position 2D; 2A30 Position 3D; 2A31 Scan Refresh; \
    2A32 Boot Keyboard Output Report; 2A33 Boot Mouse Input Report; \
    2A34 Glucose Measurement Context; 2A35 Blood Pressure Measurement; \
    2A36 Intermediate Cuff Pressure; 2A37 Heart Rate Measurement; 2A38 Body Sensor Location; \
    2A39 Heart Rate Control Point; 2A3A Removable; 2A3B Service Required; \
    2A3C Scientific Temperature Celsius; 2A3D String; 2A3E Network Availability; \
    2A3F Alert Status; 2A40 Ringer Control Point; 2A41 Ringer Setting; \
    2A42 Alert Category ID Bit Mask; 2A43 Alert Category ID; \
    2A44 Alert Notification Control Point; 2A45 Unread Alert Status; 2A46 New Alert; \
    2A47 Supported New Alert Category; 2A48 Supported Unread Alert Category; \
    2A49 Blood Pressure Feature; 2A4A HID Information; 2A4B Report Map; 2A4C HID Control Point; \
    2A4D Report; 2A4E Protocol Mode; 2A4F Scan Interval Window; 2A50 PnP ID; \
    2A51 Glucose Feature; 2A52 Record Access Control Point; 2A53 RSC Measurement; \
    2A54 RSC Feature; 2A55 SC Control Point; 2A56 Digital; 2A57 Digital Output; 2A58 Analog; \
    2A59 Analog Output; 2A5A Aggregate; 2A5B CSC Measurement; 2A5C CSC Feature; \
    2A5D Sensor Location; 2A5E PLX Spot-Check Measurement; 2A5F PLX Continuous Measurement; \
    2A60 PLX Features; 2A62 Pulse Oximetry Control Point; 2A63 Cycling Power Measurement; \
    2A64 Cycling Power Vector; 2A65 Cycling Power Feature; 2A66 Cycling Power Control Point; \
    2A67 Location and Speed; 2A68 Navigation; 2A69 Position Quality; 2A6A LN Feature; \
    2A6B LN Control Point; 2A6C Elevation; 2A6D Pressure; 2A6E Temperature; 2A6F Humidity; \
    2A70 True Wind Speed; 2A71 True Wind Direction; 2A72 Apparent Wind Speed; \
    2A73 Apparent Wind Direction; 2A74 Gust Factor; 2A75 Pollen Concentration; 2A76 UV Index; \
    2A77 Irradiance; 2A78 Rainfall; 2A79 Wind Chill; 2A7A Heat Index; 2A7B Dew Point; \
    2A7D Descriptor Value Changed; 2A7E Aerobic Heart Rate Lower Limit; 2A7F Aerobic Threshold; \
    2A80 Age; 2A81 Anaerobic Heart Rate Lower Limit; 2A82 Anaerobic Heart Rate Upper Limit; \
    2A83 Anaerobic Threshold; 2A84 Aerobic Heart Rate Upper Limit; 2A85 Date of Birth; \
    2A86 Date of Threshold Assessment; 2A87 Email Address; 2A88 Fat Burn Heart Rate Lower Limit; \
    2A89 Fat Burn Heart Rate Upper Limit; 2A8A First Name; 2A8B Five Zone Heart Rate Limits; \
    2A8C Gender; 2A8D Heart Rate Max; 2A8E Height; 2A8F Hip Circumference; 2A90 Last Name; \
    2A91 Maximum Recommended Heart Rate; 2A92 Resting Heart Rate; \
    2A93 Sport Type for Aerobic and Anaerobic Thresholds; 2A94 Three Zone Heart Rate Limits; \
    2A95 Two Zone Heart Rate Limits; 2A96 VO2 Max; 2A97 Waist Circumference; 2A98 Weight; \
    2A99 Database Change Increment; 2A9A User Index; 2A9B Body Composition Feature; \
    2A9C Body Composition Measurement; 2A9D Weight Measurement; 2A9E Weight Scale Feature; \
    2A9F User Control Point; 2AA0 Magnetic Flux Density - 2D; 2AA1 Magnetic Flux Density - 3D; \
    2AA2 Language; 2AA3 Barometric Pressure Trend; 2AA4 Bond Management Control Point; \
    2AA5 Bond Management Feature; 2AA6 Central Address Resolution; 2AA7 CGM Measurement; \
    2AA8 CGM Feature; 2AA9 CGM Status; 2ABC TDS Control Point; 2AC3 Object ID; \
    2AC4 Object Properties; 2AC5 Object Action Control Point; 2AC6 Object List Control Point; \
    2AC7 Object List Filter; 2AC8 Object Changed; 2AC9 Resolvable Private Address Only; \
    2B29 Client Supported Features; 2B2A Database Hash; 2B3A Server Supported Features; \
    2B93 Media Player Name; 2B94 Media Player Icon Object ID; 2B95 Media Player Icon URL; \
    2B96 Track Changed; 2B97 Track Title; 2B98 Track Duration; 2B99 Track Position; \
    2B9A Playback Speed; 2B9B Seeking Speed; 2B9C Current Track Segments Object ID; \
    2B9D Current Track Object ID; 2B9E Next Track Object ID; 2B9F Parent Group Object ID; \
    2BA0 Current Group Object ID; 2BA1 Playing Order; 2BA2 Playing Orders Supported; \
    2BA3 Media State; 2BA4 Media Control Point; 2BA5 Media Control Point Opcodes Supported; \
    2BBA Content Control ID; 2BBB Status Flags; 2BED Battery Level Status;
    """
}
